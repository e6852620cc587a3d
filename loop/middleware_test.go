package loop_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/trace"
)

// named returns middleware with hooks.
func named(name string, h loop.Hooks) loop.Middleware {
	return loop.Middleware{Name: name, New: func(loop.RunInfo) loop.Hooks { return h }}
}

var none = loop.Decision{}

// The loop calls hooks in the order of the middleware. The first wrap is outermost.
func TestHookOrder(t *testing.T) {
	var log []string
	note := func(name, what string) { log = append(log, what+" "+name) }
	all := func(name string) loop.Middleware {
		return named(name, loop.Hooks{
			Start: func(ctx context.Context) (context.Context, error) { note(name, "start"); return ctx, nil },
			BeforeStep: func(context.Context, *loop.StepInfo) (loop.StepChange, error) {
				note(name, "before")
				return loop.StepChange{}, nil
			},
			WrapModel: func(next loop.ModelFunc) loop.ModelFunc {
				return func(ctx context.Context, c loop.ModelCall) (*llm.Response, error) {
					note(name, "model>")
					defer note(name, "model<")
					return next(ctx, c)
				}
			},
			AfterModel: func(context.Context, *loop.StepInfo, *llm.Response) (loop.Decision, error) {
				note(name, "after-model")
				return none, nil
			},
			BeforeTools: editCalls(func(context.Context, *loop.StepInfo, []*loop.PlannedCall) (loop.Decision, error) {
				note(name, "batch")
				return none, nil
			}),
			WrapTool: func(next loop.ToolFunc) loop.ToolFunc {
				return func(ctx context.Context, c loop.Call) (loop.Output, error) {
					note(name, "tool>")
					defer note(name, "tool<")
					return next(ctx, c)
				}
			},
			AfterStep: func(context.Context, *loop.StepInfo, *loop.Step) (loop.Decision, error) {
				note(name, "after")
				return none, nil
			},
			End: func(_ context.Context, res loop.Result) (loop.Result, error) { note(name, "end"); return res, nil },
		})
	}
	mustRun(t, model(calls("a"), text("x")), loop.Config{Tools: []loop.Tool{echo("a")}, Middleware: []loop.Middleware{all("p"), all("q")}})
	want := strings.Split("start p,start q,before p,before q,model> p,model> q,model< q,model< p,after-model p,after-model q,batch p,batch q,"+
		"tool> p,tool> q,tool< q,tool< p,after p,after q,before p,before q,model> p,model> q,model< q,model< p,after-model p,after-model q,end p,end q", ",")
	if diff := cmp.Diff(want, log); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

// An error or a panic of a hook is the error of the middleware and ends the run.
func TestHooksFail(t *testing.T) {
	boom := errors.New("boom")
	for name, h := range map[string]loop.Hooks{
		"start":         {Start: func(context.Context) (context.Context, error) { return nil, boom }},
		"before":        {BeforeStep: func(context.Context, *loop.StepInfo) (loop.StepChange, error) { return loop.StepChange{}, boom }},
		"before, panic": {BeforeStep: func(context.Context, *loop.StepInfo) (loop.StepChange, error) { panic(boom) }},
		"model, panic": {WrapModel: func(loop.ModelFunc) loop.ModelFunc {
			return func(context.Context, loop.ModelCall) (*llm.Response, error) { panic(boom) }
		}},
		"after model": {AfterModel: func(context.Context, *loop.StepInfo, *llm.Response) (loop.Decision, error) { return none, boom }},
		"batch":       {BeforeTools: editCalls(func(context.Context, *loop.StepInfo, []*loop.PlannedCall) (loop.Decision, error) { return none, boom })},
		"after":       {AfterStep: func(context.Context, *loop.StepInfo, *loop.Step) (loop.Decision, error) { return none, boom }},
		"end":         {End: func(context.Context, loop.Result) (loop.Result, error) { return loop.Result{}, boom }},
		"end, panic":  {End: func(context.Context, loop.Result) (loop.Result, error) { panic(boom) }},
	} {
		res, events, err := ran(t, model(calls("a"), text("x")), loop.Config{Tools: []loop.Tool{echo("a")}, Middleware: []loop.Middleware{named("p", h)}})
		var p *loop.MiddlewareError
		if !errors.As(err, &p) || !errors.Is(err, boom) || !strings.HasPrefix(p.Error(), "the middleware ") {
			t.Errorf("%s: got %v", name, err)
		}
		end := events[len(events)-1].Body.(trace.RunEnd)
		if end.Error == nil || end.Error.Type != "policy" {
			t.Errorf("%s: run.end %+v", name, end)
		}
		if d := of[trace.Decision](events); !strings.HasPrefix(name, "end") && d[len(d)-1].Reason != trace.ReasonMiddleware {
			t.Errorf("%s: decisions %+v", name, d)
		}
		if name == "after model" || name == "batch" {
			if len(res.Pending) != 1 || !slices.Equal(end.Pending, []string{"c1"}) {
				t.Errorf("%s: the call is neither answered nor pending: %+v", name, res)
			}
		}
	}
	_, _, err := ran(t, model(text("x")), loop.Config{Middleware: []loop.Middleware{{Name: "p", New: func(loop.RunInfo) loop.Hooks { panic(boom) }}}})
	if !errors.Is(err, boom) {
		t.Errorf("making the hooks: got %v", err)
	}
}

func TestStartReturnsContext(t *testing.T) {
	type key struct{}
	var got any
	p := named("p", loop.Hooks{
		Start: func(ctx context.Context) (context.Context, error) { return context.WithValue(ctx, key{}, 7), nil },
		End: func(ctx context.Context, res loop.Result) (loop.Result, error) {
			got = ctx.Value(key{})
			return res, nil
		},
	})
	keep := named("q", loop.Hooks{Start: func(context.Context) (context.Context, error) { return nil, nil }}) //nolint:nilnil // nil keeps the context
	var inTool any
	mustRun(t, model(calls("a"), text("x")), loop.Config{Middleware: []loop.Middleware{p, keep}, Tools: []loop.Tool{
		tool("a", func(ctx context.Context) (string, error) { inTool = ctx.Value(key{}); return "", nil }),
	}})
	if got != 7 || inTool != 7 {
		t.Errorf("got %v at the end and %v in a tool", got, inTool)
	}
}

func TestBeforeStep(t *testing.T) {
	other := []llm.Message{llm.User("shorter")}
	var seen [][]llm.Message
	p := named("p", loop.Hooks{BeforeStep: func(_ context.Context, s *loop.StepInfo) (loop.StepChange, error) {
		seen = append(seen, s.History())
		switch s.Step {
		case 0:
			s.Request.System, s.Request.Model = llm.SystemText("be brief"), "small"
			return loop.StepChange{Request: s.Request}, s.Emit("mine", []byte(`{"x":1}`))
		case 1:
			return loop.StepChange{Decision: loop.Decision{Messages: other}}, nil
		case 2:
			if s.Usage.Total() != 6 || len(s.Steps) != 2 {
				t.Errorf("step 2 sees usage %+v, %d steps", s.Usage, len(s.Steps))
			}
			return loop.StepChange{Decision: loop.Decision{Action: trace.Stop, Note: "enough"}}, nil
		}
		return loop.StepChange{}, nil
	}})
	one, two := calls("a"), calls("a#x")
	one.Usage, two.Usage = llm.Usage{InputTokens: 1, OutputTokens: 2}, llm.Usage{InputTokens: 3}
	m := model(one, two, text("never"))
	res, events := mustRun(t, m, loop.Config{Tools: []loop.Tool{echo("a")}, Middleware: []loop.Middleware{p}, System: "base"})
	reqs := m.RecordedRequests()
	if r := reqs[0].Request; r.System.Text() != "be brief" || r.Model != "small" {
		t.Errorf("request 0: %+v", r)
	}
	if r := reqs[1].Request; r.System.Text() != "base" || r.Model != "" || len(r.Messages) != 1 || r.Messages[0].Text() != "shorter" {
		t.Errorf("request 1: %+v", r)
	}
	if len(reqs) != 2 || res.StopReason != trace.ReasonMiddleware || res.Note != "enough" {
		t.Errorf("got %d requests, stop %q (%s)", len(reqs), res.StopReason, res.Note)
	}
	if len(res.Messages) != 4 || len(seen[1]) != 3 || len(seen[2]) != 3 {
		t.Errorf("messages: result %d, seen %d and %d", len(res.Messages), len(seen[1]), len(seen[2]))
	}
	if w := of[trace.HistoryRewrite](events); len(w) != 1 || w[0] != (trace.HistoryRewrite{Reason: "middleware", By: "p"}) {
		t.Errorf("rewrites: %+v", w)
	}
	d := of[trace.Decision](events)
	if last := d[len(d)-1]; last.By != "p" || last.Note != "enough" || last.Action != trace.Stop {
		t.Errorf("last decision: %+v", last)
	}
	if c := of[trace.Custom](events); len(c) != 1 || c[0].Name != "mine" || string(c[0].Data) != `{"x":1}` {
		t.Errorf("custom events: %+v", c)
	}
	if n := len(of[trace.ModelConfig](events)); n != 2 {
		t.Errorf("got %d setups, want one for each that is new", n)
	}
	if q := of[trace.ModelRequest](events); q[1].PrefixMessages != 0 || len(q[1].NewMessages) != 1 {
		t.Errorf("request 1 in the trace: %+v", q[1])
	}
}

func TestAfterModel(t *testing.T) {
	failed := errors.New("tripwire")
	stop := named("p", loop.Hooks{AfterModel: func(_ context.Context, s *loop.StepInfo, _ *llm.Response) (loop.Decision, error) {
		return loop.Decision{Action: trace.Stop, Err: failed}, s.Warn("odd", "very")
	}})
	res, events, err := ran(t, model(calls("a"), text("x")), loop.Config{Tools: []loop.Tool{echo("a")}, Middleware: []loop.Middleware{stop}})
	if err != failed || len(res.Pending) != 1 || res.ToolSteps != 0 || len(res.Steps) != 1 {
		t.Errorf("stop: got %v, %+v", err, res)
	}
	if w := of[trace.Warning](events); len(w) != 1 || w[0] != (trace.Warning{Code: "odd", Message: "very"}) {
		t.Errorf("warnings: %+v", w)
	}
	more := named("more", loop.Hooks{AfterModel: func(_ context.Context, s *loop.StepInfo, response *llm.Response) (loop.Decision, error) {
		if s.Step == 1 {
			return none, nil
		}
		return loop.Decision{Action: trace.Continue, Messages: []llm.Message{llm.User("really?")}}, nil
	}})
	m := model(text("yes"), text("sure"))
	res, events = mustRun(t, m, loop.Config{Middleware: []loop.Middleware{more}})
	if got := m.RecordedRequests()[1].Request.Messages; len(got) != 3 || got[2].Text() != "really?" || res.Text != "sure" {
		t.Errorf("continue: got %+v", got)
	}
	if d := of[trace.Decision](events); d[0] != (trace.Decision{Action: trace.Continue, Reason: trace.ReasonEndHook, By: "more"}) {
		t.Errorf("continue: decided %+v", d)
	}
	// The step limit also applies to a response after which middleware continues.
	always := named("always", loop.Hooks{AfterModel: func(context.Context, *loop.StepInfo, *llm.Response) (loop.Decision, error) {
		return loop.Decision{Action: trace.Continue, Reason: trace.ReasonHandoff, Messages: []llm.Message{llm.User("more")}}, nil
	}})
	res, events = mustRun(t, model(text("1"), text("2"), text("3"), text("4")), loop.Config{Middleware: []loop.Middleware{always}, MaxSteps: 3})
	if res.ModelCalls != 3 || res.StopReason != trace.ReasonMaxSteps {
		t.Errorf("step limit: got %d calls, stop reason %q", res.ModelCalls, res.StopReason)
	}
	if d := of[trace.Decision](events); d[0].Reason != trace.ReasonHandoff {
		t.Errorf("step limit: decided %+v", d)
	}
}

func TestBeforeTools(t *testing.T) {
	p := named("p", loop.Hooks{BeforeTools: editCalls(func(_ context.Context, _ *loop.StepInfo, calls []*loop.PlannedCall) (loop.Decision, error) {
		out := loop.TextOutput("from the policy")
		calls[0].Output = &out
		calls[1].Arguments = `{"edited":true}`
		calls[2].Output = nil // as if the unknown tool could be run
		calls[3].Arguments = "not JSON"
		denied := loop.Output{Content: []llm.Part{llm.Text{Text: "no"}}, IsError: true}
		calls[4].Output, calls[4].Reason = &denied, "denied"
		return none, nil
	})})
	res, events := mustRun(t, model(calls("a", "a", "nope", "a", "a"), text("x")), loop.Config{Tools: []loop.Tool{echo("a")}, Middleware: []loop.Middleware{p}})
	got := resultTexts(res.Messages)
	if got[0] != "from the policy" || got[1] != `{"edited":true}` || !strings.Contains(got[2], "there is no tool") || !strings.Contains(got[3], "not JSON") || got[4] != "no" {
		t.Errorf("results: %q", got)
	}
	var causes []string
	for _, s := range of[trace.ToolSkip](events) {
		causes = append(causes, s.ToolCallID+" "+s.Reason)
	}
	if diff := cmp.Diff([]string{"c1 answered", "c3 unknown_tool", "c4 malformed_arguments", "c5 denied"}, causes); diff != "" {
		t.Errorf("skips (-want +got):\n%s", diff)
	}
	if a := of[trace.ToolArguments](events); len(a) != 1 || a[0] != (trace.ToolArguments{ToolCallID: "c2", Arguments: `{"edited":true}`, Reason: "edit"}) {
		t.Errorf("resolved: %+v", a)
	}
	stop := named("p", loop.Hooks{BeforeTools: editCalls(func(context.Context, *loop.StepInfo, []*loop.PlannedCall) (loop.Decision, error) {
		return loop.Decision{Action: trace.Stop, Reason: trace.ReasonApproval}, nil
	})})
	res, _ = mustRun(t, model(calls("a"), text("x")), loop.Config{Tools: []loop.Tool{echo("a")}, Middleware: []loop.Middleware{stop}})
	if res.StopReason != trace.ReasonApproval || len(res.Pending) != 1 {
		t.Errorf("stop: %+v", res)
	}
}

// The arguments of a hook do not change in later steps.
func TestBeforeToolsCallsKept(t *testing.T) {
	var kept []*loop.PlannedCall
	var infos []*loop.StepInfo
	p := named("p", loop.Hooks{BeforeTools: editCalls(func(_ context.Context, s *loop.StepInfo, calls []*loop.PlannedCall) (loop.Decision, error) {
		kept = append(kept, calls...)
		infos = append(infos, s)
		return none, nil
	})})
	mustRun(t, model(calls("a#1", "b#2"), calls("a#3"), text("x")), loop.Config{Tools: []loop.Tool{echo("a"), echo("b")}, Middleware: []loop.Middleware{p}})
	var got []string
	for _, p := range kept {
		got = append(got, p.Call.ID)
	}
	if diff := cmp.Diff([]string{"1", "2", "3"}, got); diff != "" || infos[0].Step != 0 || infos[1].Step != 1 {
		t.Errorf("steps %d and %d; calls (-want +got):\n%s", infos[0].Step, infos[1].Step, diff)
	}
}

// A wrap changes the arguments of a call, and nothing else about it.
func TestWrapToolIsContained(t *testing.T) {
	wrap := func(f func(next loop.ToolFunc, ctx context.Context, c loop.Call) (loop.Output, error)) loop.Middleware {
		return named("p", loop.Hooks{WrapTool: func(next loop.ToolFunc) loop.ToolFunc {
			return func(ctx context.Context, c loop.Call) (loop.Output, error) { return f(next, ctx, c) }
		}})
	}
	ran := 0
	cfg := func(p loop.Middleware) loop.Config {
		ran = 0
		return loop.Config{Middleware: []loop.Middleware{p}, Tools: []loop.Tool{{Name: "a", Run: func(_ context.Context, c loop.Call) (loop.Output, error) {
			ran++
			return loop.TextOutput(c.Name + c.ID + c.Arguments), nil
		}}}}
	}
	for name, c := range map[string]struct {
		p    loop.Middleware
		want string
		ran  int
	}{
		"twice": {wrap(func(next loop.ToolFunc, ctx context.Context, c loop.Call) (loop.Output, error) {
			_, _ = next(ctx, c)
			return next(ctx, c)
		}), `middleware ran the tool "a" twice for one call, or after the call had its result`, 1},
		"never": {wrap(func(loop.ToolFunc, context.Context, loop.Call) (loop.Output, error) {
			return loop.TextOutput("cached"), nil
		}), "cached", 0},
		"made up": {wrap(func(next loop.ToolFunc, ctx context.Context, _ loop.Call) (loop.Output, error) {
			return next(ctx, loop.Call{Name: "a"})
		}), `middleware made up a call of the tool "a"`, 0},
		"changed": {wrap(func(next loop.ToolFunc, ctx context.Context, c loop.Call) (loop.Output, error) {
			c.Arguments, c.ID, c.Name = `{"x":1}`, "other", "other"
			return next(ctx, c)
		}), `ac1{"x":1}`, 1},
		"not an object": {wrap(func(next loop.ToolFunc, ctx context.Context, c loop.Call) (loop.Output, error) {
			c.Arguments = "[1]"
			return next(ctx, c)
		}), "the arguments are JSON, but not an object; the call was not run", 0},
		"panic": {wrap(func(loop.ToolFunc, context.Context, loop.Call) (loop.Output, error) { panic("no") }), "the tool a panicked: no", 0},
	} {
		res, _ := mustRun(t, model(calls("a"), text("x")), cfg(c.p))
		if got := resultTexts(res.Messages); len(got) != 1 || got[0] != c.want || ran != c.ran {
			t.Errorf("%s: got %q after %d runs, want %q after %d", name, got, ran, c.want, c.ran)
		}
	}
}

// Arguments of a wrap get the defaults of the schema, in the tool and in the trace.
func TestWrapToolDefaults(t *testing.T) {
	wrap := named("p", loop.Hooks{WrapTool: func(next loop.ToolFunc) loop.ToolFunc {
		return func(ctx context.Context, c loop.Call) (loop.Output, error) {
			c.Arguments = `{"x":1}`
			return next(ctx, c)
		}
	}})
	tool, err := loop.RawTool("a", "", []byte(`{"type":"object","properties":{"y":{"type":"integer","default":2}}}`), echo("a").Run)
	if err != nil {
		t.Fatal(err)
	}
	res, events := mustRun(t, model(calls("a"), text("x")), loop.Config{Middleware: []loop.Middleware{wrap}, Tools: []loop.Tool{tool}})
	edits := of[trace.ToolArguments](events)
	if got := resultTexts(res.Messages); got[0] != `{"x":1,"y":2}` || edits[len(edits)-1] != (trace.ToolArguments{ToolCallID: "c1", Arguments: `{"x":1,"y":2}`, Reason: "edit"}) {
		t.Errorf("the tool got %q, the trace has %+v", got, edits)
	}
}

func TestWrapModelIsContained(t *testing.T) {
	wrap := func(response *llm.Response) loop.Middleware {
		return named("p", loop.Hooks{WrapModel: func(loop.ModelFunc) loop.ModelFunc {
			return func(context.Context, loop.ModelCall) (*llm.Response, error) { return response, nil }
		}})
	}
	_, _, err := ran(t, model(), loop.Config{Middleware: []loop.Middleware{wrap(nil)}})
	var p *loop.MiddlewareError
	if !errors.As(err, &p) || !strings.Contains(err.Error(), "neither a response nor an error") {
		t.Errorf("neither response nor error: got %v", err)
	}
	made := &llm.Response{FinishReason: llm.FinishStop, Parts: []llm.Part{
		llm.ToolCall{ID: "c1", Name: "a", Arguments: "{}"}, llm.ToolCall{ID: "c1", Name: "a", Arguments: "{}"}, llm.ToolCall{ID: "c1", Name: "s", ProviderExecuted: true},
	}}
	res, events := mustRun(t, model(), loop.Config{Middleware: []loop.Middleware{wrap(made)}, Tools: []loop.Tool{echo("a")}, MaxSteps: 1})
	if got := res.Steps[0].Calls; len(got) != 2 || got[0].ID != "c1" || got[1].ID != "loop_call_1" || got[1].ProviderID != "c1" || !got[1].IDGenerated {
		t.Errorf("a substitute response: %+v", got)
	}
	if n := len(of[trace.ModelResponse](events)); n != 1 || res.ModelCalls != 0 {
		t.Errorf("a substitute response: %d responses in the trace, %d calls", n, res.ModelCalls)
	}
	if made.Parts[1].(llm.ToolCall).ID != "c1" {
		t.Error("the response of the middleware was changed")
	}
}

// A model call for another purpose is in the trace and in the usage, by purpose.
func TestPurposes(t *testing.T) {
	summary := named("p", loop.Hooks{WrapModel: func(next loop.ModelFunc) loop.ModelFunc {
		return func(ctx context.Context, call loop.ModelCall) (*llm.Response, error) {
			if call.Step == 1 {
				sub := call
				sub.Purpose = trace.PurposeSummary
				sub.Request = &llm.Request{Messages: []llm.Message{llm.User("sum up")}, Model: "lane"}
				if _, err := next(ctx, sub); err != nil {
					return nil, err
				}
			}
			return next(ctx, call)
		}
	}})
	use := func(t fake.Response, n int64) fake.Response {
		t.Usage = llm.Usage{InputTokens: n, OutputTokens: 1, CacheReadInputTokens: 1, CacheCreationInputTokens: 1, ReasoningOutputTokens: 1}
		return t
	}
	m := &fake.Model{Sessions: map[string][]fake.Response{"lane": {use(text("short"), 100)}}, Responses: []fake.Response{use(calls("a"), 1), use(calls("a#x"), 10), use(text("x"), 20)}}
	res, events := mustRun(t, m, loop.Config{Tools: []loop.Tool{echo("a")}, Middleware: []loop.Middleware{summary}})
	want := map[trace.Purpose]llm.Usage{
		trace.PurposeAnswer:  {InputTokens: 31, OutputTokens: 3, CacheReadInputTokens: 3, CacheCreationInputTokens: 3, ReasoningOutputTokens: 3},
		trace.PurposeSummary: {InputTokens: 100, OutputTokens: 1, CacheReadInputTokens: 1, CacheCreationInputTokens: 1, ReasoningOutputTokens: 1},
	}
	if diff := cmp.Diff(want, res.UsageBy); diff != "" {
		t.Errorf("usage by purpose (-want +got):\n%s", diff)
	}
	if res.Usage != (llm.Usage{InputTokens: 131, OutputTokens: 4, CacheReadInputTokens: 4, CacheCreationInputTokens: 4, ReasoningOutputTokens: 4}) || res.ModelCalls != 4 {
		t.Errorf("usage %+v of %d calls", res.Usage, res.ModelCalls)
	}
	var got []string
	for _, ev := range events {
		if q, ok := ev.Body.(trace.ModelRequest); ok {
			got = append(got, fmt.Sprintf("%d/%s.%d kept %d of %d", ev.Step, ev.Purpose, ev.Attempt, q.PrefixMessages, q.PrefixMessages+len(q.NewMessages)))
		}
	}
	if diff := cmp.Diff([]string{"0/.1 kept 0 of 1", "1/summary.1 kept 0 of 1", "1/.1 kept 1 of 3", "2/.1 kept 3 of 5"}, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// No model call starts after the budget is used up, whichever code starts it.
func TestBudgetOfMiddleware(t *testing.T) {
	twice := named("p", loop.Hooks{WrapModel: func(next loop.ModelFunc) loop.ModelFunc {
		return func(ctx context.Context, call loop.ModelCall) (*llm.Response, error) {
			judge := call
			judge.Purpose = trace.PurposeGrade
			if _, err := next(ctx, judge); err != nil {
				return nil, err
			}
			return next(ctx, call)
		}
	}})
	response := text("x")
	response.Usage = llm.Usage{InputTokens: 10}
	m := model(response, response)
	res, _, err := ran(t, m, loop.Config{TokenBudget: 10, Middleware: []loop.Middleware{twice}})
	if !errors.Is(err, loop.ErrBudget) || res.StopReason != trace.ReasonBudget || len(m.RecordedRequests()) != 1 {
		t.Errorf("got %v, stop %q after %d requests", err, res.StopReason, len(m.RecordedRequests()))
	}
}

// Middleware that requests a repair of the response after the budget is used up gets ErrBudget,
// and the run stops with this reason.
func TestBudgetOfRepair(t *testing.T) {
	repair := around("repair", func(ctx context.Context, next loop.ModelFunc, call loop.ModelCall) (*llm.Response, error) {
		if response, err := next(ctx, call); err != nil {
			return response, err
		}
		return next(ctx, call)
	})
	for name, response := range map[string]struct {
		specs   []string
		pending int
	}{"an answer": {nil, 0}, "a call": {[]string{"a"}, 1}} {
		first := calls(response.specs...)
		first.Text, first.Usage = "hm", llm.Usage{InputTokens: 10}
		res, err := runChecked(t, name, inTurn(first), loop.Config{TokenBudget: 10, Middleware: []loop.Middleware{repair}, Tools: []loop.Tool{echo("a")}})
		if !errors.Is(err, loop.ErrBudget) || res.StopReason != trace.ReasonBudget || len(res.Pending) != response.pending {
			t.Errorf("%s: got %v, stop %q, pending %v", name, err, res.StopReason, res.Pending)
		}
	}
}

func TestHooksTools(t *testing.T) {
	p := named("p", loop.Hooks{Tools: []loop.Tool{echo("b")}})
	m := model(calls("a", "b"), text("x"))
	res, events := mustRun(t, m, loop.Config{Tools: []loop.Tool{echo("a")}, Middleware: []loop.Middleware{p}})
	if res.Steps[0].Results[1].IsError || len(m.RecordedRequests()[0].Request.Tools) != 2 || len(of[trace.RunStart](events)[0].Tools) != 2 {
		t.Errorf("got %+v", res.Steps[0])
	}
	_, events, err := ran(t, model(), loop.Config{Tools: []loop.Tool{echo("b")}, Middleware: []loop.Middleware{p}})
	if err == nil || !strings.Contains(err.Error(), `two tools have the name "b"`) || kinds(events) != "run.start decision run.end" {
		t.Errorf("a name twice: got %v, %s", err, kinds(events))
	}
	if _, _, err := ran(t, model(text("x")), loop.Config{Tools: []loop.Tool{echo("b")}}); err != nil {
		t.Errorf("the config's tools were changed: %v", err)
	}
}

func TestStopConditions(t *testing.T) {
	price := func(u llm.Usage) (float64, bool) { return float64(u.OutputTokens) / 10, true }
	unknown := func(llm.Usage) (float64, bool) { return 1000, false }
	never := loop.StopCondition{Stop: func(context.Context, *loop.StepInfo) (bool, error) { return false, nil }}
	for _, c := range []struct {
		name string
		when []loop.StopCondition
		want int // model calls
		stop trace.Reason
	}{
		{"none", nil, 4, trace.ReasonEndTurn},
		{"never", []loop.StopCondition{never}, 4, trace.ReasonEndTurn},
		{"count 0", []loop.StopCondition{loop.StepCountIs(0)}, 1, trace.ReasonStopCondition},
		{"count 1", []loop.StopCondition{loop.StepCountIs(1)}, 1, trace.ReasonStopCondition},
		{"count 2", []loop.StopCondition{never, loop.StepCountIs(2)}, 2, trace.ReasonStopCondition},
		{"count 4, after the end", []loop.StopCondition{loop.StepCountIs(4)}, 4, trace.ReasonEndTurn},
		{"called b", []loop.StopCondition{loop.HasToolCall("b")}, 2, trace.ReasonStopCondition},
		{"called a, before b", []loop.StopCondition{{Stop: func(ctx context.Context, s *loop.StepInfo) (bool, error) {
			if len(s.Steps) < 2 {
				return false, nil
			}
			return loop.HasToolCall("a").Stop(ctx, s)
		}}}, 2, trace.ReasonStopCondition},
		{"called c", []loop.StopCondition{loop.HasToolCall("c")}, 4, trace.ReasonEndTurn},
		{"called a, in the last step alone", []loop.StopCondition{{Stop: func(ctx context.Context, s *loop.StepInfo) (bool, error) {
			if len(s.Steps) < 3 {
				return false, nil
			}
			return loop.HasToolCall("b").Stop(ctx, s)
		}}}, 4, trace.ReasonEndTurn},
		{"60 tokens", []loop.StopCondition{loop.TotalTokensExceed(60)}, 2, trace.ReasonStopCondition},
		{"61 tokens", []loop.StopCondition{loop.TotalTokensExceed(61)}, 3, trace.ReasonStopCondition},
		{"cost 4", []loop.StopCondition{loop.CostExceeds(4, price)}, 2, trace.ReasonStopCondition},
		{"cost 4.1", []loop.StopCondition{loop.CostExceeds(4.1, price)}, 3, trace.ReasonStopCondition},
		{"no price", []loop.StopCondition{loop.CostExceeds(0, nil), loop.CostExceeds(0, unknown)}, 4, trace.ReasonEndTurn},
	} {
		responses := []fake.Response{calls("a#1"), calls("a#4", "b#2"), calls("a#3"), text("x")}
		for i := range responses {
			responses[i].Usage = llm.Usage{InputTokens: 10, OutputTokens: 20}
		}
		res, _ := mustRun(t, model(responses...), loop.Config{Tools: []loop.Tool{echo("a"), echo("b")}, StopWhen: c.when})
		if res.ModelCalls != c.want || res.StopReason != c.stop {
			t.Errorf("%s: got %d calls, stop %q; want %d, %q", c.name, res.ModelCalls, res.StopReason, c.want, c.stop)
		}
	}
	var asked []int
	var when []loop.StopCondition
	for i := range 3 {
		when = append(when, loop.StopCondition{Stop: func(context.Context, *loop.StepInfo) (bool, error) {
			asked = append(asked, i)
			return i == 1, nil
		}})
	}
	if res, _ := mustRun(t, model(calls("a"), text("x")), loop.Config{Tools: []loop.Tool{echo("a")}, StopWhen: when}); !slices.Equal(asked, []int{0, 1}) || res.Note != "condition 1" {
		t.Errorf("evaluated %v, stopped by %s: want each in order, until one is true", asked, res.Note)
	}
	boom := errors.New("boom")
	fails := loop.StopCondition{Stop: func(context.Context, *loop.StepInfo) (bool, error) { return false, boom }}
	for want, when := range map[string][]loop.StopCondition{"StopWhen[0]": {fails, never}, "StopWhen[1]": {never, fails}} {
		res, _, err := ran(t, model(calls("a"), text("x")), loop.Config{Tools: []loop.Tool{echo("a")}, StopWhen: when})
		if !errors.Is(err, boom) || !strings.Contains(err.Error(), want) || len(res.Steps) != 1 {
			t.Errorf("an error of %s: got %v, %+v", want, err, res)
		}
	}
}

// The trace declares the conditions, in order.
func TestStopConditionsAreDeclared(t *testing.T) {
	never := loop.StopCondition{Stop: func(context.Context, *loop.StepInfo) (bool, error) { return false, nil }}
	price := func(llm.Usage) (float64, bool) { return 0, true }
	for want, when := range map[string][]loop.StopCondition{
		"": nil,
		"step_count:3,has_tool_call:b,total_tokens:70,cost:0.5,never": {
			loop.StepCountIs(3), loop.HasToolCall("b"), loop.TotalTokensExceed(70), loop.CostExceeds(0.5, price), loop.CostExceeds(1, nil),
		},
		"custom,quiet": {never, {Name: "quiet", Stop: never.Stop}},
	} {
		_, events := mustRun(t, model(text("x")), loop.Config{StopWhen: when})
		got, ok := of[trace.RunStart](events)[0].Options.Lookup("stop_when")
		if got != want || ok != (want != "") {
			t.Errorf("got %q (%v), want %q", got, ok, want)
		}
	}
}

func TestStepLimits(t *testing.T) {
	for _, c := range []struct {
		max           int
		at            bool
		on            loop.OnStepLimit
		calls, rounds int
		stop          trace.Reason
		text          string
		err           error
	}{
		{2, false, loop.StepLimitReturn, 2, 2, trace.ReasonMaxSteps, "", nil},
		{2, true, loop.StepLimitReturn, 2, 2, trace.ReasonMaxSteps, "", nil},
		{1, false, loop.StepLimitReturn, 1, 1, trace.ReasonMaxSteps, "", nil},
		{-1, false, loop.StepLimitReturn, 1, 1, trace.ReasonMaxSteps, "", nil},
		{-1, true, loop.StepLimitReturn, 0, 0, trace.ReasonMaxSteps, "", nil},
		{2, false, loop.StepLimitForceFinal, 3, 2, trace.ReasonForced, "said", nil},
		{2, true, loop.StepLimitForceFinal, 3, 2, trace.ReasonForced, "said", nil},
		{-1, true, loop.StepLimitForceFinal, 1, 0, trace.ReasonForced, "", nil},
		{2, false, loop.StepLimitError, 2, 2, trace.ReasonMaxSteps, "", loop.ErrMaxSteps},
		{2, true, loop.StepLimitError, 2, 2, trace.ReasonMaxSteps, "", loop.ErrMaxSteps},
		{4, false, loop.StepLimitError, 4, 3, trace.ReasonEndTurn, "done", nil},
	} {
		third := calls("a#3")
		third.Text = "said"
		m := model(calls("a#1"), calls("a#2"), third, text("done"))
		res, events, err := ran(t, m, loop.Config{Tools: []loop.Tool{echo("a")}, MaxSteps: c.max, CheckLimitBeforeStep: c.at, OnStepLimit: c.on, ToolChoice: llm.ToolChoice{Mode: llm.ChooseRequired}})
		if !errors.Is(err, c.err) || res.ModelCalls != c.calls || res.ToolSteps != c.rounds || res.StopReason != c.stop || res.Text != c.text {
			t.Errorf("%+v: got %d calls, %d steps, stop reason %q, text %q, error %v", c, res.ModelCalls, res.ToolSteps, res.StopReason, res.Text, err)
		}
		if c.on != loop.StepLimitForceFinal {
			continue
		}
		last := m.RecordedRequests()[len(m.RecordedRequests())-1].Request
		if last.Tools != nil || last.ToolChoice != (llm.ToolChoice{}) {
			t.Errorf("%+v: the forced request has tools", c)
		}
		end := of[trace.RunEnd](events)[0]
		if res.Pending != nil || end.Pending != nil || len(res.Steps[len(res.Steps)-1].Calls) != 0 {
			t.Errorf("%+v: the calls of the forced response are pending: %+v", c, res)
		}
		for i, msg := range res.Messages {
			if i == len(res.Messages)-1 && len(msg.Calls()) != 0 {
				t.Errorf("%+v: the calls of the forced response are in the history", c)
			}
		}
		forced := 0
		for _, d := range of[trace.Decision](events) {
			if d.Action == trace.ForceFinal {
				forced++
			}
		}
		if forced != 1 {
			t.Errorf("%+v: forced %d times", c, forced)
		}
	}
}

func TestBudget(t *testing.T) {
	for budget, want := range map[int64]int{10: 1, 11: 2, 20: 2, 21: 3} {
		responses := []fake.Response{calls("a#1"), calls("a#2"), text("done")}
		for i := range responses {
			responses[i].Usage = llm.Usage{InputTokens: 6, OutputTokens: 4}
		}
		res, _ := mustRun(t, model(responses...), loop.Config{Tools: []loop.Tool{echo("a")}, TokenBudget: budget, MaxSteps: 2, OnStepLimit: loop.StepLimitForceFinal})
		if res.ModelCalls != want {
			t.Errorf("budget %d: got %d calls, stop %q; want %d", budget, res.ModelCalls, res.StopReason, want)
		}
		if want < 3 && (res.StopReason != trace.ReasonBudget || !strings.Contains(res.Note, "tokens")) {
			t.Errorf("budget %d: stop %q (%s)", budget, res.StopReason, res.Note)
		}
	}
}

func TestRunawayGuard(t *testing.T) {
	type step = string // calls of a step: the tool's name, and ! where it fails; without calls the response is paused
	for _, c := range []struct {
		name  string
		cfg   loop.Config
		steps []step
		want  int // steps with calls until the guard, or all
	}{
		{"three in a row", loop.Config{}, []step{"a!", "a!", "a!", "a!"}, 3},
		{"a success between", loop.Config{}, []step{"a!", "a!", "a", "a!", "a!", "a"}, 6},
		{"and then three", loop.Config{}, []step{"a!", "a!", "a", "a!", "a!", "a!", "a!"}, 6},
		{"several in a step count once", loop.Config{}, []step{"a! a! a!", "a!", "a"}, 3},
		{"several in each", loop.Config{}, []step{"a! a!", "a! a!", "a! a!", "a!"}, 3},
		{"a success in the same step", loop.Config{}, []step{"a!", "a!", "a! a", "a!", "a!", "a"}, 6},
		{"two tools", loop.Config{}, []step{"a!", "b!", "a!", "b!", "a!", "b!"}, 5},
		{"absence counts on", loop.Config{}, []step{"a!", "b", "a!", "b", "a!", "b"}, 5},
		{"absence resets", loop.Config{ResetByAbsence: true}, []step{"a!", "b", "a!", "b", "a!", "a!"}, 6},
		{"absence of one of two", loop.Config{ResetByAbsence: true}, []step{"a! b!", "a!", "a! b!", "a"}, 3},
		{"absence in a step without calls", loop.Config{ResetByAbsence: true}, []step{"a!", "", "a!", "", "a!", "a!", "a!", "a!"}, 5},
		{"absence in the last steps", loop.Config{ResetByAbsence: true}, []step{"a!", "a!", "", "a!", "a!", "a!", "a!"}, 5},
		{"a step without calls counts on", loop.Config{}, []step{"a!", "", "a!", "a!", "a!"}, 3},
		{"off", loop.Config{MaxConsecutiveToolErrors: loop.Disabled}, []step{"a!", "a!", "a!", "a!", "a!"}, 5},
		{"one", loop.Config{MaxConsecutiveToolErrors: 1}, []step{"b", "a!", "a!"}, 2},
	} {
		var responses []fake.Response
		for i, s := range c.steps {
			var specs []string
			for j, name := range strings.Fields(s) {
				arg := ""
				if strings.HasSuffix(name, "!") {
					arg = `{"fail":true}`
				}
				specs = append(specs, fmt.Sprintf("%s#s%dc%d%s", strings.TrimSuffix(name, "!"), i, j, arg))
			}
			response := calls(specs...)
			if specs == nil {
				response = fake.Response{Text: "hm", FinishReason: llm.FinishPause}
			}
			responses = append(responses, response)
		}
		responses = append(responses, text("done"))
		cfg := c.cfg
		for _, name := range []string{"a", "b"} {
			cfg.Tools = append(cfg.Tools, loop.Tool{Name: name, Run: func(_ context.Context, call loop.Call) (loop.Output, error) {
				if strings.Contains(call.Arguments, "fail") {
					return loop.Output{}, errors.New("failed")
				}
				return loop.TextOutput("fine"), nil
			}})
		}
		cfg.MaxSteps = 50
		res, events := mustRun(t, model(responses...), cfg)
		checkInvariants(t, c.name, events)
		tripped := c.want < len(c.steps) || res.StopReason == trace.ReasonRunawayGuard
		if res.ToolSteps != c.want || tripped != (res.StopReason == trace.ReasonRunawayGuard) {
			t.Errorf("%s: got %d steps, stop reason %q (%s); want %d", c.name, res.ToolSteps, res.StopReason, res.Note, c.want)
		}
		if res.StopReason == trace.ReasonRunawayGuard && !strings.HasPrefix(res.Note, "a failed in") {
			t.Errorf("%s: note %q", c.name, res.Note)
		}
	}
}

// The runaway guard ignores failures of neither the tool nor the model.
func TestRunawayGuardIgnores(t *testing.T) {
	deny := named("p", loop.Hooks{BeforeTools: editCalls(func(_ context.Context, _ *loop.StepInfo, calls []*loop.PlannedCall) (loop.Decision, error) {
		for _, p := range calls {
			out := loop.Output{Content: []llm.Part{llm.Text{Text: "no"}}, IsError: true}
			p.Output, p.Reason = &out, "denied"
		}
		return none, nil
	})})
	res, _ := mustRun(t, model(calls("a#1"), calls("a#2"), calls("a#3"), calls("a#4"), text("x")), loop.Config{Tools: []loop.Tool{echo("a")}, Middleware: []loop.Middleware{deny}})
	if res.StopReason != trace.ReasonEndTurn {
		t.Errorf("denied: stop %q (%s)", res.StopReason, res.Note)
	}
	unrun := named("p", loop.Hooks{WrapTool: func(loop.ToolFunc) loop.ToolFunc {
		return func(context.Context, loop.Call) (loop.Output, error) { return loop.Output{IsError: true}, nil }
	}})
	res, _ = mustRun(t, model(calls("a#1"), calls("a#2"), calls("a#3"), calls("a#4"), text("x")), loop.Config{Tools: []loop.Tool{echo("a")}, Middleware: []loop.Middleware{unrun}})
	if res.StopReason != trace.ReasonEndTurn {
		t.Errorf("not run by a wrap: stop %q (%s)", res.StopReason, res.Note)
	}
	answer := named("p", loop.Hooks{BeforeTools: func(_ context.Context, s *loop.StepInfo, _ []loop.PlannedCall) ([]loop.CallDecision, loop.Decision, error) {
		if s.Step != 1 {
			return nil, none, nil
		}
		out := loop.TextOutput("from a cache")
		return []loop.CallDecision{{Output: &out}}, none, nil
	}})
	fails := tool("a", func(context.Context) (string, error) { return "", errors.New("no connection") })
	res, _ = mustRun(t, model(calls("a#1"), calls("a#2"), calls("a#3"), text("x")), loop.Config{Tools: []loop.Tool{fails}, Middleware: []loop.Middleware{answer}, MaxConsecutiveToolErrors: 2})
	if res.StopReason != trace.ReasonRunawayGuard {
		t.Errorf("answered between two failures: stop %q", res.StopReason)
	}
	for _, args := range []string{`{"x"`, `{x}`} { // truncated and malformed
		res, _ = mustRun(t, model(calls("a#1"+args), calls("a#2"+args), calls("a#3"+args), text("x")), loop.Config{Tools: []loop.Tool{echo("a")}})
		if res.StopReason != trace.ReasonRunawayGuard {
			t.Errorf("%s: stop %q", args, res.StopReason)
		}
	}
	res, _ = mustRun(t, model(calls(`n#1`), calls(`n#2`), calls(`n#3`), text("x")), loop.Config{Tools: []loop.Tool{echo("a")}})
	if res.StopReason != trace.ReasonRunawayGuard || res.Note != "n failed in 3 steps in a row" {
		t.Errorf("unknown: stop %q (%s)", res.StopReason, res.Note)
	}
}

func TestDuplicateStep(t *testing.T) {
	same := model(calls(`a#1{"x":1,"y":2}`), calls(`a#2{"y":2, "x":1}`), calls(`a#3{"x":1}`), calls(`a#4{"x":1}`, `b#5`), calls(`a#6{"x":1}`), text("done"))
	res, events := mustRun(t, same, loop.Config{Tools: []loop.Tool{echo("a"), echo("b")}, DuplicateStep: loop.DuplicateSkip})
	got := resultTexts(res.Messages)
	if !strings.HasPrefix(got[1], "not run: ") || res.Steps[1].Results[0].IsError {
		t.Errorf("the second step: %q", got[1])
	}
	if s := of[trace.ToolSkip](events); len(s) != 1 || s[0].Reason != "duplicate" {
		t.Errorf("skips: %+v", s)
	}
	res, _ = mustRun(t, model(calls("nope#1"), calls("nope#2"), text("done")), loop.Config{Tools: []loop.Tool{echo("a")}, DuplicateStep: loop.DuplicateSkip})
	if got := resultTexts(res.Messages)[1]; !strings.HasPrefix(got, "there is no tool") {
		t.Errorf("a call with a result keeps it: %q", got)
	}
}

// Steps are compared by their calls with their number, in any order: fewer or
// more equal calls are another step.
func TestDuplicateStepIgnoresOrder(t *testing.T) {
	responses := []fake.Response{
		calls(`a#1{"n":1}`, `a#2{"n":2}`, "b#3"), calls("b#4", `a#5{"n":2}`, `a#6{"n":1}`), calls(`a#7{"n":1}`, "b#8"), calls("b#9", "b#10", `a#11{"n":1}`), text("done"),
	}
	res, events := mustRun(t, model(responses...), loop.Config{Tools: []loop.Tool{echo("a"), echo("b")}, DuplicateStep: loop.DuplicateSkip})
	var skipped []string
	for _, s := range of[trace.ToolSkip](events) {
		skipped = append(skipped, s.ToolCallID)
	}
	if diff := cmp.Diff([]string{"4", "5", "6"}, skipped); diff != "" || res.Text != "done" {
		t.Errorf("skipped (-want +got):\n%s", diff)
	}
}

// RA-25: a step without calls after which middleware continues separates two steps with calls.
func TestDuplicateStepsAreConsecutive(t *testing.T) {
	more := func(_ context.Context, _ *loop.StepInfo, response *llm.Response) (loop.Decision, error) {
		if response.Text() != "which one?" {
			return loop.Decision{}, nil
		}
		return loop.Decision{Action: trace.Continue, Messages: []llm.Message{llm.User("the same")}}, nil
	}
	asks := loop.Middleware{Name: "asks", New: func(loop.RunInfo) loop.Hooks { return loop.Hooks{AfterModel: more} }}
	responses := []fake.Response{calls("a#1"), text("which one?"), calls("a#2"), calls("a#3"), text("done")}
	_, events := mustRun(t, model(responses...), loop.Config{Tools: []loop.Tool{echo("a")}, DuplicateStep: loop.DuplicateSkip, Middleware: []loop.Middleware{asks}})
	var skipped []string
	for _, s := range of[trace.ToolSkip](events) {
		skipped = append(skipped, s.ToolCallID)
	}
	if diff := cmp.Diff([]string{"3"}, skipped); diff != "" {
		t.Errorf("skipped (-want +got):\n%s", diff)
	}
}

// After N consecutive duplicate steps the loop forces a final answer. A different step between
// them resets the count.
func TestDuplicateStepsForceFinal(t *testing.T) {
	for most, want := range map[int]int{0: 7, 1: 3, 2: 6, 3: 7} {
		same := model(calls("a#1"), calls("a#2"), calls("b#3"), calls("a#4"), calls("a#5"), calls("a#6"), text("done"))
		if most == 1 {
			same = model(calls("a#1"), calls("a#2"), text("done"))
		}
		if most == 2 {
			same = model(calls("a#1"), calls("a#2"), calls("b#3"), calls("b#4"), calls("b#5"), text("done"))
		}
		res, err := runChecked(t, "duplicates", same, loop.Config{Tools: []loop.Tool{echo("a"), echo("b")}, DuplicateStep: loop.DuplicateSkip, MaxDuplicateSteps: most})
		stop := trace.ReasonEndTurn
		if most == 1 || most == 2 {
			stop = trace.ReasonForced
		}
		if err != nil || res.ModelCalls != want || res.StopReason != stop || res.Text != "done" {
			t.Errorf("%d: got %+v, %v", most, res, err)
		}
	}
}

func TestRetries(t *testing.T) {
	busy := func(after time.Duration) fake.Response {
		return fake.Response{Error: &fake.Failure{Status: 429, RetryAfter: after}}
	}
	half := fake.Response{Text: "half", Error: &fake.Failure{Status: 529}}
	fatal := fake.Response{Error: &fake.Failure{Status: 400}}
	usage := fake.Response{Events: []llm.Event{llm.Usage{InputTokens: 3}}, Error: &fake.Failure{Status: 503}}
	for _, c := range []struct {
		name  string
		retry loop.Retry
		rand  float64
		tries []fake.Response
		waits []time.Duration
		fails bool
	}{
		{"none", loop.Retry{}, 0, []fake.Response{busy(0)}, nil, true},
		{"one", loop.Retry{Max: 1}, 0, []fake.Response{busy(0), text("x")}, []time.Duration{500 * time.Millisecond}, false},
		{"too few", loop.Retry{Max: 1}, 0, []fake.Response{busy(0), busy(0), text("x")}, []time.Duration{500 * time.Millisecond}, true},
		{"back off", loop.Retry{Max: 3, Base: time.Second, Factor: 3}, 0, []fake.Response{busy(0), busy(0), busy(0), text("x")},
			[]time.Duration{time.Second, 3 * time.Second, 9 * time.Second}, false},
		{"retry-after", loop.Retry{Max: 3, Base: time.Second}, 0, []fake.Response{busy(7 * time.Second), busy(time.Second), text("x")},
			[]time.Duration{7 * time.Second, 2 * time.Second}, false},
		{"longer than the limit", loop.Retry{Max: 3, MaxWait: time.Second}, 0, []fake.Response{busy(time.Second + 1), text("x")}, nil, true},
		{"just the limit", loop.Retry{Max: 3, MaxWait: time.Second}, 0, []fake.Response{busy(time.Second), text("x")}, []time.Duration{time.Second}, false},
		{"back-off at the limit", loop.Retry{Max: 3, Base: time.Second, Factor: 100, MaxWait: 5 * time.Second}, 0, []fake.Response{busy(0), busy(0), text("x")},
			[]time.Duration{time.Second, 5 * time.Second}, false},
		{"jitter", loop.Retry{Max: 3, Base: time.Second, Jitter: 0.5}, 0.5, []fake.Response{busy(0), text("x")}, []time.Duration{750 * time.Millisecond}, false},
		{"jitter does not cut what is asked for", loop.Retry{Max: 3, Base: time.Second, Jitter: 1}, 0.9, []fake.Response{busy(2 * time.Second), text("x")}, []time.Duration{2 * time.Second}, false},
		{"after a part", loop.Retry{Max: 3}, 0, []fake.Response{half, text("x")}, nil, true},
		{"after usage alone", loop.Retry{Max: 3}, 0, []fake.Response{usage, text("x")}, []time.Duration{500 * time.Millisecond}, false},
		{"fatal", loop.Retry{Max: 3}, 0, []fake.Response{fatal, text("x")}, nil, true},
		{"by choice", loop.Retry{Max: 3, On: func(error) bool { return true }}, 0, []fake.Response{fatal, text("x")}, []time.Duration{500 * time.Millisecond}, false},
	} {
		clock := fake.NewClock()
		m := &fake.Model{Clock: clock, Responses: []fake.Response{{Attempts: c.tries}}}
		cfg := loop.Config{Retry: c.retry, Clock: clock}
		if c.rand > 0 {
			cfg.Rand = func() float64 { return c.rand }
		}
		begun := clock.Now()
		res, events, err := ran(t, m, cfg)
		var waits []time.Duration
		var sum time.Duration
		for _, r := range of[trace.ModelRetry](events) {
			waits = append(waits, r.Wait)
			sum += r.Wait
		}
		if diff := cmp.Diff(c.waits, waits); diff != "" || (err != nil) != c.fails {
			t.Errorf("%s: got %v; waits (-want +got):\n%s", c.name, err, diff)
		}
		if got := clock.Now().Sub(begun); got != sum {
			t.Errorf("%s: waited %v, want %v", c.name, got, sum)
		}
		if res.ModelCalls != len(c.waits)+1 {
			t.Errorf("%s: %d calls, want %d", c.name, res.ModelCalls, len(c.waits)+1)
		}
		if c.name == "after usage alone" && res.Usage.InputTokens != 3 {
			t.Errorf("%s: usage %+v", c.name, res.Usage)
		}
	}
}

// A cancel ends the wait before a retry.
func TestCancelInRetry(t *testing.T) {
	clock := fake.NewClock()
	m := &fake.Model{Clock: clock, Responses: []fake.Response{{Attempts: []fake.Response{{Error: &fake.Failure{Status: 503}}, text("x")}}}}
	res, events, err := ran(t, m, loop.Config{Retry: loop.Retry{Max: 1, Base: time.Minute}, Deadline: time.Second, Clock: clock})
	if !errors.Is(err, loop.ErrDeadline) || res.StopReason != trace.ReasonDeadline || res.ModelCalls != 1 {
		t.Errorf("got %v, %+v, %s", err, res, kinds(events))
	}
}

func TestDeadline(t *testing.T) {
	for _, returns := range []bool{false, true} {
		clock := fake.NewClock()
		tools := &fake.Tools{Clock: clock, List: []fake.Tool{{Name: "slow", Behavior: fake.Behavior{Delay: time.Second}}}}
		slow := loop.Tool{Name: "slow", Run: func(ctx context.Context, c loop.Call) (loop.Output, error) {
			parts, err := tools.Run(context.WithoutCancel(ctx), c.ID, c.Name, c.Arguments)
			return loop.Output{Content: parts}, err
		}}
		m := &fake.Model{Clock: clock, Responses: []fake.Response{calls("slow#1"), calls("slow#2"), calls("slow#3"), text("x")}}
		res, events, err := ran(t, m, loop.Config{Tools: []loop.Tool{slow}, Clock: clock, Deadline: 1500 * time.Millisecond, DeadlineReturns: returns})
		if errors.Is(err, loop.ErrDeadline) == returns || res.ModelCalls != 2 || res.StopReason != trace.ReasonDeadline || res.ToolSteps != 2 {
			t.Errorf("returns=%v: got %v, %+v", returns, err, res)
		}
		if c := of[trace.Canceled](events); len(c) != 1 || c[0].Reason != "deadline" {
			t.Errorf("returns=%v: %s", returns, kinds(events))
		}
	}
}

// Within a model call the deadline is an error in either mode.
func TestDeadlineInModel(t *testing.T) {
	clock := fake.NewClock()
	m := &fake.Model{Clock: clock, Responses: []fake.Response{{Stall: true}}}
	res, _, err := ran(t, m, loop.Config{Clock: clock, Deadline: time.Second, DeadlineReturns: true})
	if !errors.Is(err, loop.ErrDeadline) || res.StopReason != trace.ReasonDeadline {
		t.Errorf("got %v, %+v", err, res)
	}
}

func TestToolTimeout(t *testing.T) {
	clock := fake.NewClock()
	tools := &fake.Tools{Clock: clock, List: []fake.Tool{
		{Name: "slow", Behavior: fake.Behavior{Delay: time.Minute}},
		{Name: "deaf", Behavior: fake.Behavior{Delay: 3 * time.Second, IgnoresCancel: true, Text: "late"}},
		{Name: "fast", Behavior: fake.Behavior{Delay: 999 * time.Millisecond, Text: "in time"}}}}
	var list []loop.Tool
	for _, name := range []string{"slow", "deaf", "fast"} {
		list = append(list, loop.Tool{Name: name, Run: func(ctx context.Context, c loop.Call) (loop.Output, error) {
			parts, err := tools.Run(ctx, c.ID, c.Name, c.Arguments)
			return loop.Output{Content: parts}, err
		}})
	}
	m := &fake.Model{Clock: clock, Responses: []fake.Response{calls("slow", "deaf", "fast"), text("x")}}
	begun := clock.Now()
	res, events := mustRun(t, m, loop.Config{Tools: list, Clock: clock, ToolTimeout: time.Second})
	if diff := cmp.Diff([]string{"the tool took too long (1s)", "the tool took too long (1s)", "in time"}, resultTexts(res.Messages)); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	if got := clock.Now().Sub(begun); got != 3*time.Second {
		t.Errorf("took %v, want to wait for the tool that does not stop", got)
	}
	outcomes := map[string]trace.Outcome{}
	for _, e := range of[trace.ToolEnd](events) {
		outcomes[e.ToolCallID] = e.Outcome
	}
	if diff := cmp.Diff(map[string]trace.Outcome{"c1": "timeout", "c2": "timeout", "c3": "ok"}, outcomes); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
}

// The limit of a tool includes no time of the middleware around it.
func TestToolTimeoutWithinWraps(t *testing.T) {
	clock := fake.NewClock()
	slow := named("slow", loop.Hooks{WrapTool: func(next loop.ToolFunc) loop.ToolFunc {
		return func(ctx context.Context, call loop.Call) (loop.Output, error) {
			if err := clock.Sleep(ctx, time.Minute); err != nil {
				return loop.Output{}, err
			}
			return next(ctx, call)
		}
	}})
	m := &fake.Model{Clock: clock, Responses: []fake.Response{calls(`a{"n":1}`), text("x")}}
	res, _ := mustRun(t, m, loop.Config{Tools: []loop.Tool{echo("a")}, Clock: clock, ToolTimeout: time.Second, Middleware: []loop.Middleware{slow}})
	if diff := cmp.Diff([]string{`{"n":1}`}, resultTexts(res.Messages)); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
}

// A tool that does not stop is abandoned after the grace period. The loop ignores what it
// returns later.
func TestGrace(t *testing.T) {
	for _, n := range []int{1, 2} {
		clock := fake.NewClock()
		deaf := fake.Behavior{Delay: time.Hour, IgnoresCancel: true, Text: "late"}
		tools := &fake.Tools{Clock: clock, List: []fake.Tool{{Name: "deaf", Behavior: deaf}, {Name: "good", Behavior: fake.Behavior{Delay: time.Minute}}}}
		run := func(ctx context.Context, c loop.Call) (loop.Output, error) {
			parts, err := tools.Run(ctx, c.ID, c.Name, c.Arguments)
			return loop.Output{Content: parts}, err
		}
		m := &fake.Model{Clock: clock, Responses: []fake.Response{calls([]string{"deaf", "good"}[:n]...), text("x")}}
		begun := clock.Now()
		res, events, err := ran(t, m, loop.Config{Tools: []loop.Tool{{Name: "deaf", Run: run}, {Name: "good", Run: run}}, Clock: clock, Deadline: time.Second, Grace: 2 * time.Second})
		if !errors.Is(err, loop.ErrDeadline) || clock.Now().Sub(begun) != 3*time.Second {
			t.Errorf("%d: got %v after %v", n, err, clock.Now().Sub(begun))
		}
		if a := of[trace.Abandoned](events); len(a) != 1 || a[0].ToolCallID != "c1" {
			t.Errorf("%d: %s", n, kinds(events))
		}
		texts := resultTexts(res.Messages)
		if len(texts) != n || !strings.Contains(texts[0], "was abandoned") {
			t.Errorf("%d: results %q", n, texts)
		}
		if err := clock.Drain(); err != nil || clock.Live() != 0 {
			t.Errorf("%d: drain %v, %d tasks live", n, err, clock.Live())
		}
		if got := resultTexts(res.Messages); !slices.Equal(got, texts) {
			t.Errorf("%d: the late result changed the run's: %q", n, got)
		}
	}
}

// A grace period that is not needed leaves no goroutine.
func TestGraceUnused(t *testing.T) {
	clock := fake.NewClock()
	m := &fake.Model{Clock: clock, Responses: []fake.Response{calls("a", "a"), calls("a#x"), text("done")}}
	res, events := mustRun(t, m, loop.Config{Tools: []loop.Tool{echo("a")}, Clock: clock, Grace: time.Second})
	if res.Text != "done" || clock.Live() != 0 || len(of[trace.Abandoned](events)) != 0 {
		t.Errorf("got %q, %d tasks live, %s", res.Text, clock.Live(), kinds(events))
	}
	if got := of[trace.RunStart](events)[0].Clock; got != trace.ClockVirtual {
		t.Errorf("the trace names the clock %q", got)
	}
}

func TestPausedResponses(t *testing.T) {
	pause := func(s string) fake.Response {
		return fake.Response{Text: s, FinishReason: llm.FinishPause, Opaque: []byte(`{"container":"x"}`)}
	}
	m := model(pause("one"), pause("two"), text("three"))
	res, events := mustRun(t, m, loop.Config{})
	if res.Text != "three" || res.ModelCalls != 3 || len(res.Messages) != 3 || string(res.Messages[0].Opaque) != `{"container":"x"}` {
		t.Errorf("got %+v", res)
	}
	if d := of[trace.Decision](events); d[0] != (trace.Decision{Action: trace.Continue, Reason: trace.ReasonContinuedResponse}) {
		t.Errorf("decided %+v", d)
	}
	res, _ = mustRun(t, model(pause("1"), pause("2"), pause("3"), text("x")), loop.Config{Continuations: 2})
	if res.ModelCalls != 3 || res.StopReason != trace.ReasonContinuedResponse || res.Note != "continued 2 times" {
		t.Errorf("bounded: %d calls, stop %q (%s)", res.ModelCalls, res.StopReason, res.Note)
	}
	res, _ = mustRun(t, model(pause("1"), text("x")), loop.Config{Continuations: loop.Disabled})
	if res.ModelCalls != 1 || res.StopReason != trace.ReasonContinuedResponse {
		t.Errorf("off: %d calls, stop %q", res.ModelCalls, res.StopReason)
	}
}

// If middleware continues at the step limit, the action for the step limit runs.
func TestStepLimitOfContinuedResponses(t *testing.T) {
	pause := fake.Response{Text: "hm", FinishReason: llm.FinishPause}
	more := named("more", loop.Hooks{AfterModel: func(_ context.Context, s *loop.StepInfo, _ *llm.Response) (loop.Decision, error) {
		return loop.Decision{Action: trace.Continue, Messages: []llm.Message{llm.User("and?")}}, nil
	}})
	for _, c := range []struct {
		on        loop.OnStepLimit
		responses []fake.Response // the first two are to be continued
		more      []loop.Middleware
		stop      trace.Reason
		added     int
		err       error
	}{
		{loop.StepLimitReturn, []fake.Response{pause, pause}, nil, trace.ReasonMaxSteps, 2, nil},
		{loop.StepLimitError, []fake.Response{pause, pause}, nil, trace.ReasonMaxSteps, 2, loop.ErrMaxSteps},
		{loop.StepLimitForceFinal, []fake.Response{pause, pause, text("z")}, nil, trace.ReasonForced, 3, nil},
		{loop.StepLimitForceFinal, []fake.Response{pause, pause, pause}, nil, trace.ReasonForced, 3, nil},
		{loop.StepLimitReturn, []fake.Response{text("a"), text("b")}, []loop.Middleware{more}, trace.ReasonMaxSteps, 3, nil},
		{loop.StepLimitForceFinal, []fake.Response{text("a"), text("b"), text("z")}, []loop.Middleware{more}, trace.ReasonForced, 5, nil},
	} {
		for _, at := range []bool{false, true} {
			name := fmt.Sprintf("%v at %v, %d middlewares", c.on, at, len(c.more))
			m := model(c.responses...)
			res, err := runChecked(t, name, m, loop.Config{MaxSteps: 2, CheckLimitBeforeStep: at, OnStepLimit: c.on, Middleware: c.more, Tools: []loop.Tool{echo("a")}})
			if !errors.Is(err, c.err) || res.StopReason != c.stop || len(res.Messages) != c.added || len(m.RecordedRequests()) != len(c.responses) {
				t.Errorf("%s: got stop %q, %d messages, %d requests, %v", name, res.StopReason, len(res.Messages), len(m.RecordedRequests()), err)
			}
			last := m.RecordedRequests()[len(m.RecordedRequests())-1].Request
			if offers := len(last.Tools) > 0; offers != (c.on != loop.StepLimitForceFinal) {
				t.Errorf("%s: the last request offers %d tools", name, len(last.Tools))
			}
		}
	}
}

func TestToolMessages(t *testing.T) {
	for _, form := range []bool{false, true} {
		m := model(calls("a", "a", "nope"), text("x"))
		res, _ := mustRun(t, m, loop.Config{Tools: []loop.Tool{echo("a")}, OneMessagePerResult: form})
		var sizes []int
		for _, msg := range res.Messages[1 : len(res.Messages)-1] {
			sizes = append(sizes, len(msg.Parts))
		}
		want := []int{3}
		if form {
			want = []int{1, 1, 1}
		}
		if diff := cmp.Diff(want, sizes); diff != "" || len(res.Steps[0].Messages) != len(want)+1 {
			t.Errorf("%v: parts of the tool messages (-want +got):\n%s", form, diff)
		}
	}
}

func TestErrorText(t *testing.T) {
	res, _ := mustRun(t, model(calls("bad", "nope"), text("x")), loop.Config{
		Tools: []loop.Tool{tool("bad", func(context.Context) (string, error) { return "", errors.New("secret") })},
		ErrorText: func(name string, err error) string {
			return "Error: " + name + " / " + strings.ToUpper(err.Error()[:5])
		},
	})
	if diff := cmp.Diff([]string{"Error: bad / SECRE", "Error: nope / THERE"}, resultTexts(res.Messages)); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
}

// A failure without the error flag still counts for the runaway guard and the caller.
func TestOmitErrorFlag(t *testing.T) {
	bad := tool("bad", func(context.Context) (string, error) { return "", errors.New("boom") })
	for _, plain := range []bool{false, true} {
		m := model(calls("bad"), calls("bad#2"), text("x"))
		var mem trace.Memory
		res, err := newAgent(t, m, loop.Config{Tools: []loop.Tool{bad}, OmitErrorFlag: plain, MaxConsecutiveToolErrors: 2, Sink: &mem}).Run(t.Context(), loop.Prompt("go"))
		checkInvariants(t, "plain errors", mem.Events())
		told := res.Messages[1].Parts[0].(llm.ToolResult)
		if err != nil || res.StopReason != trace.ReasonRunawayGuard || !res.Steps[0].Results[0].IsError || told.IsError == plain || told.Text() != "boom" {
			t.Errorf("%v: got %+v, %v; the model gets %+v", plain, res, err, told)
		}
	}
}

// The history contains a response before or after the AfterModel hooks, also when a hook stops
// the run or fails.
func TestAppendAfterHooks(t *testing.T) {
	for _, when := range []bool{false, true} {
		for _, d := range []loop.Decision{{}, {Action: trace.Stop}} {
			for _, fails := range []error{nil, errors.New("boom")} {
				var seen []int
				p := named("p", loop.Hooks{AfterModel: func(_ context.Context, s *loop.StepInfo, _ *llm.Response) (loop.Decision, error) {
					seen = append(seen, len(s.History()))
					return d, fails
				}})
				res, _ := runChecked(t, "append", model(text("x")), loop.Config{AppendAfterHooks: when, Middleware: []loop.Middleware{p}})
				want := map[bool]int{false: 2, true: 1}[when]
				if len(seen) != 1 || seen[0] != want || len(res.Messages) != 1 {
					t.Errorf("%v, %q, %v: the hook saw %v messages, the run added %+v", when, d, fails, seen, res.Messages)
				}
			}
		}
	}
}

// A call of an unknown tool may end the run, like that of a client tool.
// Without BreakWithoutTools a call is one of an unknown tool, also if the request of the step has no tools.
func TestCallsWithoutTools(t *testing.T) {
	bare := named("p", loop.Hooks{BeforeStep: func(_ context.Context, s *loop.StepInfo) (loop.StepChange, error) {
		s.Request.Tools = nil
		return loop.StepChange{Request: s.Request}, nil
	}})
	for want, cfg := range map[string]loop.Config{
		"there is no tool": {},
		"{}":               {Tools: []loop.Tool{echo("a")}, Middleware: []loop.Middleware{bare}, BreakWithoutTools: true},
	} {
		m := model(calls("a"), text("done"))
		res, err := runChecked(t, want, m, cfg)
		if err != nil || res.Text != "done" || !strings.HasPrefix(resultTexts(res.Messages)[0], want) {
			t.Errorf("%s: got %+v, %v", want, res, err)
		}
		if n := len(m.RecordedRequests()[0].Request.Tools); n > 0 {
			t.Errorf("%s: the request has %d tools", want, n)
		}
	}
}

// The request of a BeforeStep hook keeps its own tools, also with tools for the run.
func TestBeforeStepTools(t *testing.T) {
	own := []llm.Tool{{Name: "a", Description: "short", Parameters: []byte(`{"type":"object"}`)}}
	p := named("p", loop.Hooks{BeforeStep: func(_ context.Context, s *loop.StepInfo) (loop.StepChange, error) {
		s.Request.Tools = own
		return loop.StepChange{Request: s.Request, Tools: []loop.Tool{echo("a"), echo("b")}}, nil
	}})
	m := model(text("x"))
	mustRun(t, m, loop.Config{Middleware: []loop.Middleware{p}})
	if diff := cmp.Diff(own, m.RecordedRequests()[0].Request.Tools); diff != "" {
		t.Errorf("tools of the request (-want +got):\n%s", diff)
	}
}

// The first AfterModel hook that continues decides, with its messages.
func TestAfterModelFirstContinues(t *testing.T) {
	ask := func(text string) loop.Middleware {
		return named(text, loop.Hooks{AfterModel: func(_ context.Context, s *loop.StepInfo, _ *llm.Response) (d loop.Decision, err error) {
			if s.Step == 0 {
				d = loop.Decision{Action: trace.Continue, Messages: []llm.Message{llm.User(text)}}
			}
			return d, nil
		}})
	}
	m := model(text("x"), text("y"))
	_, events := mustRun(t, m, loop.Config{Middleware: []loop.Middleware{ask("first"), ask("second")}})
	sent := m.RecordedRequests()[1].Request.Messages
	if by := of[trace.Decision](events)[0].By; by != "first" || sent[len(sent)-1].Text() != "first" {
		t.Errorf("continued by %q with %+v", by, sent)
	}
}

func TestBreakOnUnknownTool(t *testing.T) {
	res, err := runChecked(t, "unknown", model(calls("a", "ghost")), loop.Config{Tools: []loop.Tool{echo("a")}, BreakOnUnknownTool: true})
	if err != nil || res.StopReason != trace.ReasonClientTools || len(res.Pending) != 2 || res.ToolSteps != 0 {
		t.Errorf("got %+v, %v", res, err)
	}
}

// A tool may get an object that its schema does not allow, but never another value.
func TestBadArgumentsPass(t *testing.T) {
	strict, err := loop.RawTool("a", "", []byte(`{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"]}`), func(_ context.Context, c loop.Call) (loop.Output, error) {
		return loop.TextOutput("got " + c.Arguments), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	res, err := runChecked(t, "pass", model(calls(`a{"x":"one"}`, `a{"x"`, `a{"x":1}`), text("x")), loop.Config{Tools: []loop.Tool{strict}, BadArguments: loop.BadArgumentsPass})
	if err != nil {
		t.Fatal(err)
	}
	got := resultTexts(res.Messages)
	if got[0] != `got {"x":"one"}` || !strings.Contains(got[1], "was cut off") || got[2] != `got {"x":1}` {
		t.Errorf("got %q", got)
	}
}

func TestBadArgumentsEmpty(t *testing.T) {
	res, events := mustRun(t, model(calls(`a{"x"`, `a{"y":1}}`, `a{"x":1}`), text("x")), loop.Config{Tools: []loop.Tool{echo("a")}, BadArguments: loop.BadArgumentsEmpty})
	if diff := cmp.Diff([]string{"{}", "{}", `{"x":1}`}, resultTexts(res.Messages)); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	if a := of[trace.ToolArguments](events); len(a) != 2 || a[0].Reason != "empty_object" || a[1].ToolCallID != "c2" {
		t.Errorf("resolved: %+v", a)
	}
}
