package middleware_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/check"
)

// played is the result of a run on a virtual clock.
type played struct {
	res    *loop.Result
	err    error
	model  *fake.Model
	events []trace.Event
}

// lines returns the events of some kinds in the text form of the canonical trace, without
// their prefix.
func (p played) lines(kinds ...trace.Kind) (out []string) {
	for line := range strings.Lines(trace.FormatText(trace.Canonical(p.events))) {
		kind, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		for _, k := range kinds {
			if kind == string(k) {
				out = append(out, kind+" "+strings.TrimSpace(rest))
			}
		}
	}
	return out
}

// gated runs responses under middleware, with the tools a, slow (30 ms), bad and panics. It
// checks the trace against the invariants.
func gated(t *testing.T, clock *fake.Clock, policies []loop.Middleware, turns ...fake.Response) played {
	t.Helper()
	m := &fake.Model{Clock: clock, Responses: turns}
	var mem trace.Memory
	agent, err := loop.New(m, &loop.Config{
		Tools: gatedTools(clock), Middleware: policies, Sink: &mem, Clock: clock, Concurrency: loop.Unlimited, MaxConsecutiveToolErrors: loop.Disabled,
	})
	if err != nil {
		t.Fatal(err)
	}
	p := played{model: m}
	p.res, p.err = agent.Run(t.Context(), loop.Prompt("go"))
	p.events = mem.Events()
	c := check.New(nil)
	for _, ev := range p.events {
		c.Add(ev)
	}
	for _, v := range c.Done() {
		t.Errorf("%s: event %d: %s", v.Invariant, v.Event, v.Message)
	}
	return p
}

func gatedTools(clock *fake.Clock) []loop.Tool {
	return []loop.Tool{
		tool,
		{Name: "slow", Run: func(ctx context.Context, _ loop.Call) (loop.Output, error) {
			middleware.SetMetric(ctx, "rows", middleware.Metric{Value: 3, Type: "count"})
			return loop.TextOutput("S"), clock.Sleep(ctx, 30*time.Millisecond)
		}},
		{Name: "bad", Run: func(context.Context, loop.Call) (loop.Output, error) { return loop.Output{}, errors.New("no luck") }},
		{Name: "says_bad", Run: func(context.Context, loop.Call) (loop.Output, error) {
			return loop.Output{Content: []llm.Part{llm.Text{Text: "not today"}}, IsError: true}, nil
		}},
		{Name: "panics", Run: func(context.Context, loop.Call) (loop.Output, error) { panic("oh") }},
	}
}

// asks returns a response that calls tools by name. The id of a call is the name with the
// prefix.
func asks(prefix string, names ...string) fake.Response {
	var t fake.Response
	for _, n := range names {
		t.Calls = append(t.Calls, fake.Call{ID: prefix + n, Name: n, Arguments: "{}"})
	}
	return t
}

func done() fake.Response { return fake.Response{Text: "done"} }

func same(t *testing.T, what string, want, got []string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func guard(name string, kind middleware.GuardrailKind, log *[]string, v middleware.GuardrailResult) middleware.Guardrail {
	return middleware.Guardrail{Name: name, Kind: kind, Check: func(_ context.Context, c middleware.GuardrailCheck) (middleware.GuardrailResult, error) {
		answer := "none"
		if c.Response != nil {
			answer = fmt.Sprint(c.Response.Text(), len(c.Response.Calls()))
		}
		*log = append(*log, fmt.Sprintf("%s step %d, %d messages, answer %s", name, c.Step, len(c.Messages), answer))
		return v, nil
	}}
}

// AL-55, AL-56: input guardrails run before each model call and output guardrails after it, in
// their order.
func TestAL55AL56GuardrailsEachStep(t *testing.T) {
	var log []string
	pass := middleware.GuardrailResult{Pass: true, Tripwire: true}
	p := gated(t, fake.NewClock(), []loop.Middleware{middleware.Guardrails([]middleware.Guardrail{
		guard("out", middleware.GuardOutput, &log, pass), guard("in1", middleware.GuardInput, &log, pass), guard("in2", middleware.GuardInput, &log, pass),
	}, nil)}, asks("", "a"), done())
	same(t, "checks", []string{
		"in1 step 0, 1 messages, answer none", "in2 step 0, 1 messages, answer none", "out step 0, 1 messages, answer 1",
		"in1 step 1, 3 messages, answer none", "in2 step 1, 3 messages, answer none", "out step 1, 3 messages, answer done0",
	}, log)
	if p.res.StopReason != trace.ReasonEndTurn || len(p.lines(trace.KindCustom)) != 0 {
		t.Errorf("a passed check with a tripwire: stop %q, events %q", p.res.StopReason, p.lines(trace.KindCustom))
	}
}

// AL-56 to AL-60: the first failed check with a tripwire ends the run before the calls of the
// response are run, whatever the severity of the others. Each failed check is reported.
func TestAL57OutputTripwire(t *testing.T) {
	var log, reported []string
	p := gated(t, fake.NewClock(), []loop.Middleware{middleware.Guardrails([]middleware.Guardrail{
		guard("g1", middleware.GuardOutput, &log, middleware.GuardrailResult{Reason: "odd", Severity: "critical"}),
		guard("g2", middleware.GuardOutput, &log, middleware.GuardrailResult{Tripwire: true, Reason: "secret", Severity: "low"}),
		guard("g3", middleware.GuardOutput, &log, middleware.GuardrailResult{Tripwire: true}),
	}, func(_ context.Context, g middleware.GuardrailTrigger) error {
		reported = append(reported, fmt.Sprint(g.Guardrail, " ", g.Kind, " ", g.Step, " ", g.Tripwire, " ", g.Reason, " ", g.Severity))
		return nil
	})}, asks("", "a"))
	same(t, "asked", []string{"g1 step 0, 1 messages, answer 1", "g2 step 0, 1 messages, answer 1"}, log)
	same(t, "reported", []string{"g1 output 0 false odd critical", "g2 output 0 true secret low"}, reported)
	same(t, "events", []string{
		`custom 0   guardrail {"guardrail":"g1","kind":"output","step":0,"tripwire":false,"reason":"odd","severity":"critical"}`,
		`custom 0   guardrail {"guardrail":"g2","kind":"output","step":0,"tripwire":true,"reason":"secret","severity":"low"}`,
		`decision 0   stop: guardrail by=guardrails note="secret"`,
	}, p.lines(trace.KindCustom, trace.KindDecision, trace.KindToolStart))
	if p.res.StopReason != middleware.ReasonGuardrail || p.res.Note != "secret" || len(p.res.Pending) != 1 || p.err != nil {
		t.Errorf("stop %q (%s), pending %v, error %v", p.res.StopReason, p.res.Note, p.res.Pending, p.err)
	}
}

// AL-58: the model is not called after an input guardrail with a tripwire fails.
func TestAL58InputTripwire(t *testing.T) {
	var log []string
	p := gated(t, fake.NewClock(), []loop.Middleware{middleware.Guardrails([]middleware.Guardrail{
		guard("g", middleware.GuardInput, &log, middleware.GuardrailResult{Tripwire: true}),
	}, nil)}, done())
	if len(p.model.RecordedRequests()) != 0 || p.res.StopReason != middleware.ReasonGuardrail || p.res.ModelCalls != 0 {
		t.Errorf("%d requests, stop %q", len(p.model.RecordedRequests()), p.res.StopReason)
	}
}

// A guardrail with an unknown kind, or without a check, fails the run.
func TestGuardrailsInvalid(t *testing.T) {
	var log []string
	for want, g := range map[string]middleware.Guardrail{
		`middleware guardrails: middleware: the guardrail "g" has the Kind "": want GuardInput or GuardOutput`:       guard("g", "", &log, middleware.GuardrailResult{}),
		`middleware guardrails: middleware: the guardrail "g" has the Kind "Output": want GuardInput or GuardOutput`: guard("g", "Output", &log, middleware.GuardrailResult{}),
		`middleware guardrails: middleware: the guardrail "g" has no Check: set it`:                                  {Name: "g", Kind: middleware.GuardInput},
	} {
		fine := guard("fine", middleware.GuardInput, &log, middleware.GuardrailResult{Pass: true})
		p := gated(t, fake.NewClock(), []loop.Middleware{middleware.Guardrails([]middleware.Guardrail{fine, g, fine}, nil)}, done())
		if p.err == nil || !strings.Contains(p.err.Error(), want) || len(p.model.RecordedRequests()) != 0 || log != nil {
			t.Errorf("got %v, want %s; %d requests, approvals %v", p.err, want, len(p.model.RecordedRequests()), log)
		}
	}
}

// A guardrail that returns an error, or whose event cannot be recorded, ends the run.
func TestGuardrailFails(t *testing.T) {
	boom := errors.New("boom")
	var log []string
	for name, p := range map[string]loop.Middleware{
		"check": middleware.Guardrails([]middleware.Guardrail{{Kind: middleware.GuardInput, Check: func(context.Context, middleware.GuardrailCheck) (middleware.GuardrailResult, error) {
			return middleware.GuardrailResult{Pass: true}, boom
		}}}, nil),
		"callback": middleware.Guardrails([]middleware.Guardrail{guard("g", middleware.GuardInput, &log, middleware.GuardrailResult{})},
			func(context.Context, middleware.GuardrailTrigger) error { return boom }),
	} {
		if got := gated(t, fake.NewClock(), []loop.Middleware{p}, done()); !errors.Is(got.err, boom) {
			t.Errorf("%s: got %v", name, got.err)
		}
	}
}

// permit decides by the name of the tool.
func permit(log *[]string, by map[string]middleware.Permission) middleware.PermissionPolicy {
	return middleware.PermissionPolicy(func(_ context.Context, r middleware.PermissionRequest) (middleware.Permission, error) {
		*log = append(*log, fmt.Sprint(r.Subject, " ", r.Kind, " ", r.Tool, " ", r.Action, " ", r.Call.ID, " ", r.Arguments))
		return by[r.Tool], nil
	})
}

// AL-45, AL-46: each call that could be run needs permission, and a denied call gets an error
// result. Ask takes precedence over Allow; without approvals the call is denied.
func TestAL45AL46Permissions(t *testing.T) {
	var log []string
	p := gated(t, fake.NewClock(), []loop.Middleware{middleware.Permissions(permit(&log, map[string]middleware.Permission{
		"a": {Allow: true}, "slow": {Reason: "too slow"}, "panics": {Allow: true, Ask: true},
	}), nil)}, asks("c-", "a", "slow", "bad", "ghost", "panics"), done())
	same(t, "asked", []string{
		"agent tool a execute c-a {}", "agent tool slow execute c-slow {}", "agent tool bad execute c-bad {}", "agent tool panics execute c-panics {}",
	}, log)
	same(t, "calls", []string{
		`tool.start 0   c-a a {}`, `tool.end 0   c-a ok "A"`,
		`tool.skip 0   c-slow slow denied "too slow" error`, `tool.skip 0   c-bad bad denied "the permission policy does not allow it" error`,
		`tool.skip 0   c-ghost ghost unknown_tool "there is no tool \"ghost\"; the tools are a, slow, bad, says_bad, panics" error`,
		`tool.skip 0   c-panics panics denied "nobody was there to approve it" error`,
	}, p.lines(trace.KindToolStart, trace.KindToolEnd, trace.KindToolSkip))
	boom := errors.New("boom")
	fails := middleware.PermissionPolicy(func(context.Context, middleware.PermissionRequest) (middleware.Permission, error) {
		return middleware.Permission{Allow: true}, boom
	})
	if got := gated(t, fake.NewClock(), []loop.Middleware{middleware.Permissions(fails, nil)}, asks("", "a")); !errors.Is(got.err, boom) {
		t.Errorf("a policy that fails: got %v", got.err)
	}
}

// Middleware may keep the function that runs a call and use it in later steps or after the
// run. Then no tool is run, and permissions and hooks are not affected.
func TestKeptCalls(t *testing.T) {
	var kept sync.WaitGroup
	var ran atomic.Int32
	begun := make(chan struct{}, 100)
	counts := loop.Tool{Name: "a", Run: func(context.Context, loop.Call) (loop.Output, error) {
		ran.Add(1)
		return loop.TextOutput("A"), nil
	}}
	keeps := loop.Middleware{Name: "keeps", New: func(loop.RunInfo) loop.Hooks {
		return loop.Hooks{WrapTool: func(next loop.ToolFunc) loop.ToolFunc {
			return func(ctx context.Context, call loop.Call) (loop.Output, error) {
				out, err := next(ctx, call)
				kept.Go(func() {
					for range 20 {
						begun <- struct{}{}
						_, _ = next(ctx, call)
					}
				})
				<-begun
				return out, err
			}
		}}
	}}
	failed := func(_ context.Context, f *middleware.ToolFailed) error {
		f.Fallback = []llm.Part{llm.Text{Text: "instead"}}
		return nil
	}
	allow := middleware.PermissionPolicy(func(context.Context, middleware.PermissionRequest) (middleware.Permission, error) {
		return middleware.Permission{Allow: true}, nil
	})
	agent, err := loop.New(fake.NewModel(asks("1", "a", "nope"), asks("2", "a", "nope"), done()), &loop.Config{
		Tools: []loop.Tool{counts}, Middleware: []loop.Middleware{keeps, middleware.ToolHooks{Failed: failed}.Middleware(), middleware.Permissions(allow, nil)},
	})
	if err != nil {
		t.Fatal(err)
	}
	res, err := agent.Run(t.Context(), loop.Prompt("go"))
	kept.Wait()
	if err != nil || res.Text != "done" || ran.Load() != 2 {
		t.Errorf("got %q, %v; the tool was run %d times, want once for each of its calls", res.Text, err, ran.Load())
	}
}
