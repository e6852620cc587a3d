package middleware_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/trace"
)

// spied returns tool hooks that record their calls and call start and failed, which may be
// nil.
func spied(log *[]string, start func(*middleware.ToolStarting), failed func(*middleware.ToolFailed)) loop.Middleware {
	return middleware.ToolHooks{
		Start: func(_ context.Context, s *middleware.ToolStarting) error {
			*log = append(*log, fmt.Sprintf("start %s %d/%d", s.Call.ID, s.Step, s.Index))
			if start != nil {
				start(s)
			}
			return nil
		},
		Done: func(_ context.Context, d middleware.ToolDone) error {
			*log = append(*log, fmt.Sprintf("done %s %s %v %v", d.Call.ID, llm.ToolResult{Content: d.Output.Content}.Text(), d.Latency, d.Metrics))
			return nil
		},
		Failed: func(_ context.Context, f *middleware.ToolFailed) error {
			*log = append(*log, fmt.Sprintf("failed %s %v unknown=%v", f.Call.ID, f.Err, f.Unknown))
			if failed != nil {
				failed(f)
			}
			return nil
		},
	}.Middleware()
}

// calls returns the results of the calls of a run.
func (p played) calls() []string {
	return p.lines(trace.KindToolStart, trace.KindToolEnd, trace.KindToolSkip)
}

// AL-41, AL-48, AL-52: Start is called for each call before any call is run. Done is called
// later with the duration and the metrics, or Failed.
func TestAL41AL48ToolHooks(t *testing.T) {
	var log []string
	p := gated(t, fake.NewClock(), []loop.Middleware{spied(&log, nil, nil)}, asks("c-", "slow", "a", "bad", "says_bad", "panics"), done())
	same(t, "callbacks", []string{
		"start c-slow 0/0", "start c-a 0/1", "start c-bad 0/2", "start c-says_bad 0/3", "start c-panics 0/4",
		"done c-a A 0s map[]", "failed c-bad no luck unknown=false", "failed c-says_bad not today unknown=false",
		"failed c-panics the tool panics panicked: oh unknown=false", "done c-slow S 30ms map[rows:{3 count}]",
	}, log)
	same(t, "calls", []string{
		`tool.start 0   c-slow slow {}`, `tool.end 0   @30ms c-slow ok "S"`, `tool.start 0   c-a a {}`, `tool.end 0   c-a ok "A"`,
		`tool.start 0   c-bad bad {}`, `tool.end 0   c-bad error "no luck" error`, `tool.start 0   c-says_bad says_bad {}`, `tool.end 0   c-says_bad error "not today" error`,
		`tool.start 0   c-panics panics {}`, `tool.end 0   c-panics panic "the tool panics panicked: oh" error`,
	}, p.calls())
	if middleware.SetMetric(t.Context(), "x", middleware.Metric{}) {
		t.Error("a metric was kept outside of a tool")
	}
}

// AL-42, AL-43: Skip and Override set the result of a call, also of an unknown tool or a call
// that other middleware would deny. Skip takes precedence over Override.
func TestAL42AL43SkipAndOverride(t *testing.T) {
	text := func(s string) *loop.Output { out := loop.TextOutput(s); return &out }
	for name, c := range map[string]struct {
		skip     bool
		override *loop.Output
		want     string
	}{
		"skip":              {true, nil, `skipped "skipped: the call was not run"`},
		"skip, override":    {true, text("x"), `skipped "x"`},
		"skip, an error":    {true, &loop.Output{Content: text("x").Content, IsError: true}, `skipped "x"`},
		"skip, nothing":     {true, &loop.Output{}, `skipped ""`},
		"override":          {false, text("x"), `override "x"`},
		"override, empty":   {false, text(""), `override ""`},
		"skip, parts":       {true, &loop.Output{Content: []llm.Part{llm.Text{Text: "x"}, llm.Text{Text: "y"}}}, `skipped (text "x"; text "y")`},
		"override, parts":   {false, &loop.Output{Content: []llm.Part{llm.Text{Text: "x"}, llm.Text{Text: "y"}}}, `override (text "x"; text "y")`},
		"override, nothing": {false, &loop.Output{}, `override ""`},
		"override, errors":  {false, &loop.Output{Content: text("x").Content, IsError: true}, `override "x" error`},
	} {
		t.Run(name, func(t *testing.T) {
			var log, asked []string
			p := gated(t, fake.NewClock(), []loop.Middleware{
				spied(&log, func(s *middleware.ToolStarting) { s.Skip, s.Override = c.skip, c.override }, nil),
				middleware.Permissions(permit(&asked, nil), nil),
			}, asks("", "a", "ghost"), done())
			same(t, "calls", []string{"tool.skip 0   a a " + c.want, "tool.skip 0   ghost ghost " + c.want}, p.calls())
			same(t, "callbacks", []string{"start a 0/0", "start ghost 0/1"}, log)
			if len(asked) != 0 {
				t.Errorf("the approval policy was called: %q", asked)
			}
		})
	}
}

// AL-44: an unknown tool and invalid arguments are failures. An unknown tool also causes a
// warning.
func TestAL44UnknownTool(t *testing.T) {
	var log []string
	turn := asks("", "ghost", "a")
	turn.Calls[1].Arguments = `{"x":`
	p := gated(t, fake.NewClock(), []loop.Middleware{spied(&log, nil, nil)}, turn, done())
	unknown := `there is no tool "ghost"; the tools are a, slow, bad, says_bad, panics`
	if !slices.Contains(log, "failed ghost "+unknown+" unknown=true") || len(log) != 4 || !strings.HasPrefix(log[3], "failed a ") || !strings.HasSuffix(log[3], "unknown=false") {
		t.Errorf("what was reported: %q", log)
	}
	same(t, "warnings", []string{`warning 0   tool_not_found ` + fmt.Sprintf("%q", unknown)}, p.lines(trace.KindWarning))
	if p.res.Text != "done" || p.res.ModelCalls != 2 {
		t.Errorf("the run ended with %q after %d calls", p.res.Text, p.res.ModelCalls)
	}
}

// AL-48: a hook replaces the result of a failed call, which stays an error.
func TestAL48Fallback(t *testing.T) {
	var log []string
	p := gated(t, fake.NewClock(), []loop.Middleware{spied(&log, nil, func(f *middleware.ToolFailed) {
		f.Fallback = []llm.Part{llm.Text{Text: "x"}, llm.Text{Text: f.Call.ID}}
	})}, asks("", "bad", "ghost", "says_bad", "panics", "a"), done())
	same(t, "calls", []string{
		`tool.start 0   bad bad {}`, `tool.end 0   bad error (text "x"; text "bad") error`, `tool.skip 0   ghost ghost fallback (text "x"; text "ghost") error`,
		`tool.start 0   says_bad says_bad {}`, `tool.end 0   says_bad error (text "x"; text "says_bad") error`,
		`tool.start 0   panics panics {}`, `tool.end 0   panics error (text "x"; text "panics") error`, `tool.start 0   a a {}`, `tool.end 0   a ok "A"`,
	}, p.calls())
	same(t, "events", []string{
		`custom 0   tool.fallback {"call":"bad"}`, `custom 0   tool.fallback {"call":"ghost"}`,
		`custom 0   tool.fallback {"call":"says_bad"}`, `custom 0   tool.fallback {"call":"panics"}`,
	}, p.lines(trace.KindCustom))
	if len(log) != 10 {
		t.Errorf("reported: %q", log)
	}
	p = gated(t, fake.NewClock(), []loop.Middleware{spied(&log, nil, func(f *middleware.ToolFailed) { f.Fallback = []llm.Part{} })}, asks("0", "bad"), asks("1", "a"), done())
	same(t, "of two steps, the first with a fallback", []string{`custom 0   tool.fallback {"call":"0bad"}`}, p.lines(trace.KindCustom))
	if got := p.res.Steps[0].Results[0]; got.Text() != "" || !got.IsError {
		t.Errorf("a fallback of nothing: %+v", got)
	}
}

// A substitute output without an error is not a failure.
func TestToolHooksSubstituteIsSuccess(t *testing.T) {
	var log []string
	out := loop.TextOutput("cached")
	cache := loop.Middleware{Name: "cache", New: func(loop.RunInfo) loop.Hooks {
		return loop.Hooks{BeforeTools: func(context.Context, *loop.StepInfo, []loop.PlannedCall) ([]loop.CallDecision, loop.Decision, error) {
			return []loop.CallDecision{{Output: &out}}, loop.Decision{}, nil
		}}
	}}
	gated(t, fake.NewClock(), []loop.Middleware{cache, spied(&log, nil, nil)}, asks("", "a"), done())
	same(t, "callbacks", []string{"start a 0/0"}, log)
}

// AL-49: a hook that stops on an error ends the run with the error of the first failed call.
// Each call has its result.
func TestAL49StopOnError(t *testing.T) {
	var log []string
	p := gated(t, fake.NewClock(), []loop.Middleware{spied(&log, nil, func(f *middleware.ToolFailed) { f.Stop = true })}, asks("", "slow", "says_bad", "bad"))
	if p.err == nil || p.err.Error() != "not today" || p.res.StopReason != middleware.ReasonToolError || len(p.res.Pending) != 0 {
		t.Errorf("got %v, stop %q, pending %v", p.err, p.res.StopReason, p.res.Pending)
	}
	same(t, "decisions", []string{`decision 0   continue: 3 calls`, `decision 0   @30ms stop: tool_error by=tool_hooks note="not today"`}, p.lines(trace.KindDecision))
	if len(p.res.Messages) != 2 || len(p.res.Messages[1].Parts) != 3 {
		t.Errorf("the history: %+v", p.res.Messages)
	}
	p = gated(t, fake.NewClock(), []loop.Middleware{spied(&log, nil, func(f *middleware.ToolFailed) { f.Stop = f.Unknown })}, asks("", "bad"), asks("", "ghost"))
	if p.res.StopReason != middleware.ReasonToolError || len(p.res.Steps) != 2 {
		t.Errorf("an unknown tool: stop %q after %d steps", p.res.StopReason, len(p.res.Steps))
	}
}

// A hook that stops in the step that reaches the step limit still fails the run.
func TestStopAtStepLimit(t *testing.T) {
	var log []string
	agent, err := loop.New(fake.NewModel(asks("", "bad")), &loop.Config{
		Tools: gatedTools(fake.NewClock()), MaxSteps: 1, Middleware: []loop.Middleware{spied(&log, nil, func(f *middleware.ToolFailed) { f.Stop = true })},
	})
	if err != nil {
		t.Fatal(err)
	}
	if res, err := agent.Run(t.Context(), loop.Prompt("go")); err == nil || !strings.HasSuffix(err.Error(), "no luck") || res.StopReason != trace.ReasonMaxSteps {
		t.Errorf("got %v, stop %q", err, res.StopReason)
	}
}

// An error of a hook ends the run.
func TestToolHooksFail(t *testing.T) {
	boom := errors.New("boom")
	for name, h := range map[string]middleware.ToolHooks{
		"start":  {Start: func(context.Context, *middleware.ToolStarting) error { return boom }},
		"done":   {Done: func(context.Context, middleware.ToolDone) error { return boom }},
		"failed": {Failed: func(context.Context, *middleware.ToolFailed) error { return boom }},
		"refused": {Failed: func(_ context.Context, f *middleware.ToolFailed) error {
			if f.Unknown {
				return boom
			}
			return nil
		}},
	} {
		p := gated(t, fake.NewClock(), []loop.Middleware{h.Middleware()}, asks("", "a", "bad", "ghost"), done())
		if !errors.Is(p.err, boom) || p.res.ModelCalls != 1 {
			t.Errorf("%s: got %v after %d calls", name, p.err, p.res.ModelCalls)
		}
	}
	if p := gated(t, fake.NewClock(), []loop.Middleware{middleware.ToolHooks{}.Middleware()}, asks("", "a", "bad", "ghost"), done()); p.err != nil || p.res.Text != "done" {
		t.Errorf("without hooks: %q, %v", p.res.Text, p.err)
	}
}
