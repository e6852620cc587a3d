package loop_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/check"
)

// nilError is an error whose Error method panics while it is nil.
type nilError struct{ text string }

func (e *nilError) Error() string { return e.text }

// badError panics in each of its methods.
type badError struct{ why []string }

func (e badError) Error() string   { return e.why[7] }
func (e badError) Is(error) bool   { return e.why[7] == "" }
func (e badError) Unwrap() []error { return []error{errors.New(e.why[7])} }

// runChecked runs an agent and checks the invariants of its trace.
func runChecked(t *testing.T, name string, m llm.Model, cfg loop.Config) (*loop.Result, error) {
	t.Helper()
	res, events, err := ran(t, m, cfg)
	checkInvariants(t, name, events)
	return res, err
}

// checkInvariants checks the invariants of a trace.
func checkInvariants(t *testing.T, name string, events []trace.Event) {
	t.Helper()
	c := check.New(nil)
	for _, ev := range events {
		c.Add(ev)
	}
	for _, v := range c.Done() {
		t.Errorf("%s: %s: event %d: %s", name, v.Invariant, v.Event, v.Message)
	}
}

// A panic of a method of an error is contained. The error keeps its effect.
func TestErrorMethodsPanic(t *testing.T) {
	var none *nilError
	for name, bad := range map[string]error{"a nil pointer": none, "methods that panic": badError{}} {
		fails := tool("fails", func(context.Context) (string, error) { return "", bad })
		for _, specs := range [][]string{{"fails"}, {"fails", "a"}} {
			res, err := runChecked(t, name, model(calls(specs...), text("done")), loop.Config{Tools: []loop.Tool{fails, echo("a")}})
			if err != nil || !res.Steps[0].Results[0].IsError || res.Text != "done" {
				t.Errorf("a tool's error, %s: got %+v, %v", name, res, err)
			}
		}
		p := named("p", loop.Hooks{BeforeStep: func(context.Context, *loop.StepInfo) (loop.StepChange, error) { return loop.StepChange{}, bad }})
		if _, err := runChecked(t, name, model(text("x")), loop.Config{Middleware: []loop.Middleware{p}}); err == nil {
			t.Errorf("a policy's error, %s: got none", name)
		}
		if _, err := runChecked(t, name, model(fake.Response{Text: "x", Err: bad}), loop.Config{}); err == nil {
			t.Errorf("a model's error, %s: got none", name)
		}
	}
	res, err := runChecked(t, "ErrorText", model(calls("nope", "bad"), text("done")), loop.Config{
		Tools:     []loop.Tool{tool("bad", func(context.Context) (string, error) { return "", errors.New("no") })},
		ErrorText: func(string, error) string { panic("no words") },
	})
	want := "the tool failed, and its error cannot be put into words"
	if diff := cmp.Diff([]string{want, want}, resultTexts(res.Messages)); diff != "" || err != nil {
		t.Errorf("ErrorText panics: %v (-want +got):\n%s", err, diff)
	}
}

// A panic of the consumer reaches the caller unchanged, at each event of the run.
func TestConsumerPanicsAtEachEvent(t *testing.T) {
	wrap := named("p", loop.Hooks{
		WrapModel: func(next loop.ModelFunc) loop.ModelFunc { return next },
		BeforeStep: func(_ context.Context, s *loop.StepInfo) (loop.StepChange, error) {
			return loop.StepChange{}, s.Emit("mine", []byte("1"))
		},
	})
	for n := range 20 {
		a := newAgent(t, model(calls("a", "b"), text("done")), loop.Config{Tools: []loop.Tool{echo("a"), echo("b")}, Middleware: []loop.Middleware{wrap}})
		func() {
			defer func() {
				if v := recover(); v != n && n < 18 {
					t.Errorf("event %d: recovered %v", n, v)
				}
			}()
			seen := 0
			for _, err := range a.Start(t.Context(), loop.Prompt("go")).Events() {
				if err != nil {
					t.Error(err)
				}
				if seen == n {
					panic(n)
				}
				seen++
			}
		}()
	}
}

// Middleware that changes its arguments breaks no invariant.
func TestInvalidMiddleware(t *testing.T) {
	batch := func(f func(calls []loop.PlannedCall), decisions ...loop.CallDecision) loop.Middleware {
		return named("p", loop.Hooks{BeforeTools: func(_ context.Context, _ *loop.StepInfo, calls []loop.PlannedCall) ([]loop.CallDecision, loop.Decision, error) {
			f(calls)
			return decisions, loop.Decision{}, nil
		}})
	}
	for name, p := range map[string]loop.Middleware{
		"a call twice":  batch(func(calls []loop.PlannedCall) { calls[1] = calls[0] }, loop.CallDecision{Index: 1}, loop.CallDecision{Index: 1}),
		"calls omitted": batch(func(calls []loop.PlannedCall) { clear(calls) }),
		"another id":    batch(func(calls []loop.PlannedCall) { calls[0].Call.ID = "evil" }),
		"another tool":  batch(func(calls []loop.PlannedCall) { calls[0].Call.Name = "nope" }),
		"another index": batch(func(calls []loop.PlannedCall) { calls[0].Index = 7 }),
		"the response changed": named("p", loop.Hooks{AfterModel: func(_ context.Context, _ *loop.StepInfo, response *llm.Response) (loop.Decision, error) {
			response.Parts[0] = llm.Text{Text: "changed"}
			return loop.Decision{}, nil
		}}),
	} {
		res, err := runChecked(t, name, model(calls("a", "b"), text("done")), loop.Config{Tools: []loop.Tool{echo("a"), echo("b")}, Middleware: []loop.Middleware{p}})
		var got []string
		for i, c := range res.Steps[0].Calls {
			got = append(got, c.ID+" "+c.Name+" "+res.Steps[0].Results[i].ID)
		}
		if diff := cmp.Diff([]string{"c1 a c1", "c2 b c2"}, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
	for _, index := range []int{-1, 2} {
		p := batch(func([]loop.PlannedCall) {}, loop.CallDecision{Index: index, Output: &loop.Output{}})
		res, err := runChecked(t, "no such call", model(calls("a", "b")), loop.Config{Tools: []loop.Tool{echo("a"), echo("b")}, Middleware: []loop.Middleware{p}})
		if pe := (*loop.MiddlewareError)(nil); !errors.As(err, &pe) || len(res.Pending) != 2 {
			t.Errorf("a decision about call %d: got %v, %d pending", index, err, len(res.Pending))
		}
	}
	cut := named("p", loop.Hooks{BeforeStep: func(_ context.Context, s *loop.StepInfo) (loop.StepChange, error) {
		if h := s.History(); len(h) > 1 {
			return loop.StepChange{Decision: loop.Decision{Messages: h[:len(h)-1]}}, nil
		}
		return loop.StepChange{}, nil
	}})
	_, err := runChecked(t, "a history without results", model(calls("a"), text("done")), loop.Config{Tools: []loop.Tool{echo("a")}, Middleware: []loop.Middleware{cut}})
	if h := (*loop.HistoryError)(nil); !errors.As(err, &h) {
		t.Errorf("a history without results: got %v", err)
	}
}

// The cost of a call without an id does not depend on the number of such calls.
func TestManyDuplicateIDs(t *testing.T) {
	var response fake.Response
	for range 300 {
		response.Calls = append(response.Calls, fake.Call{Name: "a", Arguments: "{}"}, fake.Call{ID: "same", Name: "a", Arguments: "{}"})
	}
	res, err := runChecked(t, "many", model(response, text("done")), loop.Config{Tools: []loop.Tool{echo("a")}})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, c := range res.Steps[0].Calls {
		if seen[c.ID] {
			t.Errorf("the id %s is there twice", c.ID)
		}
		seen[c.ID] = true
	}
	if !seen["same"] || len(seen) != 600 {
		t.Errorf("got %d ids", len(seen))
	}
}

// Each call has an empty result of its own.
func TestEmptyResultsAreNotShared(t *testing.T) {
	empty := loop.Tool{Name: "e", Run: func(context.Context, loop.Call) (loop.Output, error) { return loop.Output{}, nil }}
	first, _ := mustRun(t, model(calls("e"), text("x")), loop.Config{Tools: []loop.Tool{empty}})
	first.Steps[0].Results[0].Content[0] = llm.Text{Text: "mine"}
	second, _ := mustRun(t, model(calls("e"), text("x")), loop.Config{Tools: []loop.Tool{empty}})
	if got := second.Steps[0].Results[0].Text(); got != "" {
		t.Errorf("another run's result is %q", got)
	}
}

// A run ends with its own context, also if middleware sets an unrelated context. Then no call
// starts, and the contexts of waiting tools are canceled.
func TestStartReturnsForeignContext(t *testing.T) {
	foreign := named("foreign", loop.Hooks{Start: func(context.Context) (context.Context, error) { return context.Background(), nil }})
	child := named("child", loop.Hooks{Start: func(ctx context.Context) (context.Context, error) {
		return context.WithValue(ctx, foreignKey{}, 1), nil
	}})
	boom := errors.New("boom")
	for name, c := range map[string]struct {
		middlewares []loop.Middleware
		during      string
	}{
		"in a tool":                 {[]loop.Middleware{foreign}, "waits"},
		"in a tool, two policies":   {[]loop.Middleware{foreign, child}, "waits"},
		"in a tool, two that do it": {[]loop.Middleware{foreign, foreign}, "waits"},
		"a child":                   {[]loop.Middleware{child}, "waits"},
		"between tools":             {[]loop.Middleware{foreign}, "ends"},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		later := 0
		var mem trace.Memory
		in := loop.Prompt("go")
		in.Sink = &mem
		res, err := newAgent(t, model(calls("waits", "later"), text("no")), loop.Config{Middleware: c.middlewares, Concurrency: 1, Tools: []loop.Tool{
			tool("waits", func(tool context.Context) (string, error) {
				cancel(boom)
				if c.during == "waits" {
					<-tool.Done()
				}
				return "", nil
			}),
			tool("later", func(context.Context) (string, error) { later++; return "", nil }),
		}}).Run(ctx, in)
		if !errors.Is(err, boom) || later != 0 || len(res.Steps) != 1 || len(of[trace.Canceled](mem.Events())) != 1 {
			t.Errorf("%s: got %v after %d later calls, %s", name, err, later, kinds(mem.Events()))
		}
	}
}

type foreignKey struct{}

// A deadline also ends a run with a foreign context.
func TestDeadlineOfForeignContext(t *testing.T) {
	clock := fake.NewClock()
	foreign := named("foreign", loop.Hooks{Start: func(context.Context) (context.Context, error) { return context.Background(), nil }})
	_, err := runChecked(t, "deadline", model(calls("slow"), text("no")), loop.Config{Deadline: time.Second, Clock: clock, Middleware: []loop.Middleware{foreign}, Tools: []loop.Tool{
		tool("slow", func(ctx context.Context) (string, error) { return "", clock.Sleep(ctx, 2*time.Second) }),
	}})
	if !errors.Is(err, loop.ErrDeadline) {
		t.Errorf("got %v", err)
	}
}

// The context that a Start hook returned ends with the run, and so do its goroutines.
func TestStartContextEndsWithRun(t *testing.T) {
	var kept context.Context
	p := named("p", loop.Hooks{Start: func(context.Context) (context.Context, error) { return context.Background(), nil }, BeforeStep: func(ctx context.Context, _ *loop.StepInfo) (loop.StepChange, error) {
		kept = ctx
		return loop.StepChange{}, nil
	}})
	mustRun(t, model(text("x")), loop.Config{Middleware: []loop.Middleware{p}})
	if kept.Err() == nil {
		t.Error("the context is not canceled")
	}
}

// The loop removes a result in a response with a warning, unless the provider executed its
// call, at any position in the response.
func TestResponseWithResults(t *testing.T) {
	result := func(id string) llm.ToolResult {
		return llm.ToolResult{ID: id, Name: "a", Content: []llm.Part{llm.Text{Text: "made up"}}}
	}
	own := llm.ToolCall{ID: "s1", Name: "search", Arguments: "{}", ProviderExecuted: true}
	call := llm.ToolCall{ID: "c1", Name: "a", Arguments: "{}"}
	for name, c := range map[string]struct {
		parts []llm.Part
		want  []llm.Part
		warns int
	}{
		"for no call":              {[]llm.Part{result("c9"), llm.Text{Text: "so"}}, []llm.Part{llm.Text{Text: "so"}}, 1},
		"nothing else":             {[]llm.Part{result("c9")}, nil, 1},
		"for a call of the loop's": {[]llm.Part{call, result("c1")}, []llm.Part{call}, 1},
		"for the provider's call":  {[]llm.Part{own, result("s1"), result("c1"), call}, []llm.Part{own, result("s1"), call}, 1},
		"before the call":          {[]llm.Part{result("s1"), own, llm.Text{Text: "so"}}, []llm.Part{result("s1"), own, llm.Text{Text: "so"}}, 0},
	} {
		response := fake.Response{}
		for _, p := range c.parts {
			response.Events = append(response.Events, llm.PartDone{Part: p})
		}
		mine := around("mine", func(context.Context, loop.ModelFunc, loop.ModelCall) (*llm.Response, error) {
			return &llm.Response{FinishReason: llm.FinishStop, Parts: c.parts}, nil
		})
		for who, cfg := range map[string]loop.Config{"the model": {}, "a policy": {Middleware: []loop.Middleware{mine}}} {
			cfg.Tools, cfg.MaxSteps = []loop.Tool{echo("a")}, 1
			var warned []trace.Warning
			cfg.Sink = trace.SinkFunc(func(ev trace.Event) error {
				if w, ok := ev.Body.(trace.Warning); ok && w.Code == loop.WarnNoCall {
					warned = append(warned, w)
				}
				return nil
			})
			res, err := runChecked(t, who+", "+name, model(response), cfg)
			if err != nil || len(warned) != c.warns {
				t.Errorf("%s, %s: got %v, warnings %+v", who, name, err, warned)
			}
			var got []llm.Part
			if len(res.Messages) > 0 {
				got = res.Messages[0].Parts
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", who, name, diff)
			}
			if c.warns > 0 && !strings.Contains(warned[0].Message, `the provider executed no call with this id`) {
				t.Errorf("%s, %s: got %q", who, name, warned[0].Message)
			}
		}
	}
}

// Changes of middleware and conditions to their steps do not change those of the result.
func TestStepsChangedByMiddleware(t *testing.T) {
	spoil := func(steps []*loop.Step) {
		for _, s := range steps {
			if s == nil {
				continue
			}
			for i := range s.Messages {
				s.Messages[i] = llm.User("evil")
			}
			clear(s.Calls)
			clear(s.Results)
			*s = loop.Step{Text: "evil"}
		}
		clear(steps)
	}
	before := named("p", loop.Hooks{BeforeStep: func(_ context.Context, s *loop.StepInfo) (loop.StepChange, error) {
		spoil(s.Steps)
		return loop.StepChange{}, nil
	}})
	after := named("p", loop.Hooks{AfterStep: func(_ context.Context, s *loop.StepInfo, step *loop.Step) (loop.Decision, error) {
		if step != s.Steps[len(s.Steps)-1] || step.Index != s.Step || len(step.Calls) != 1 || len(step.Results) != 1 || len(step.Messages) != 2 {
			t.Errorf("after step %d: got %+v", s.Step, step)
		}
		spoil(s.Steps)
		return loop.Decision{}, nil
	}})
	stop := loop.StopCondition{Stop: func(_ context.Context, s *loop.StepInfo) (bool, error) {
		if last := s.Steps[len(s.Steps)-1]; len(last.Calls) != 1 {
			t.Errorf("condition: got %+v", last)
		}
		spoil(s.Steps)
		return false, nil
	}}
	want, err := runChecked(t, "nobody", model(calls("a"), calls("a#x"), text("done")), loop.Config{Tools: []loop.Tool{echo("a")}})
	if err != nil {
		t.Fatal(err)
	}
	for name, cfg := range map[string]loop.Config{
		"before a step":         {Middleware: []loop.Middleware{before}},
		"after a step":          {Middleware: []loop.Middleware{after}},
		"a condition":           {StopWhen: []loop.StopCondition{stop}},
		"before another policy": {Middleware: []loop.Middleware{before}, StopWhen: []loop.StopCondition{loop.HasToolCall("b")}},
	} {
		cfg.Tools = []loop.Tool{echo("a")}
		res, err := runChecked(t, name, model(calls("a"), calls("a#x"), text("done")), cfg)
		if diff := cmp.Diff(want, res, cmpopts.IgnoreUnexported(loop.Step{})); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

// The hook End may return another result. The trace contains how the run ended.
func TestEndChangesResult(t *testing.T) {
	own := loop.Result{Text: "mine", StopReason: "mine", FinishReason: "mine", Usage: llm.Usage{InputTokens: 99}, ModelCalls: 99, Pending: []llm.ToolCall{{ID: "c9"}}}
	judged := around("judged", func(ctx context.Context, next loop.ModelFunc, call loop.ModelCall) (*llm.Response, error) {
		if _, err := next(ctx, loop.ModelCall{Request: call.Request, Purpose: trace.PurposeGrade}); err != nil {
			return nil, err
		}
		return next(ctx, call)
	})
	fill := named("fill", loop.Hooks{End: func(_ context.Context, res loop.Result) (loop.Result, error) {
		clear(res.UsageBy)
		return own, nil
	}})
	said := fake.Response{Text: "x", Usage: llm.Usage{InputTokens: 3}}
	var mem trace.Memory
	res, err := runChecked(t, "fill", inTurn(said, said), loop.Config{Middleware: []loop.Middleware{judged, fill}, Sink: &mem})
	if diff := cmp.Diff(&own, res); diff != "" || err != nil {
		t.Errorf("%v; result (-want +got):\n%s", err, diff)
	}
	want := trace.RunEnd{
		StopReason: trace.ReasonEndTurn, FinishReason: llm.FinishStop, Steps: 1, ModelCalls: 2, Usage: llm.Usage{InputTokens: 6},
		UsageBy:          map[trace.Purpose]llm.Usage{trace.PurposeAnswer: {InputTokens: 3}, trace.PurposeGrade: {InputTokens: 3}},
		AppendedMessages: []llm.Message{llm.Assistant(llm.Text{Text: "x"})},
	}
	if diff := cmp.Diff(want, of[trace.RunEnd](mem.Events())[0]); diff != "" {
		t.Errorf("the trace's end (-want +got):\n%s", diff)
	}
}

// A panic of New, WrapModel or WrapTool is an error of the middleware, and the trace is complete.
func TestPanicWhileWrapping(t *testing.T) {
	for name, p := range map[string]loop.Middleware{
		"New":       {Name: "p", New: func(loop.RunInfo) loop.Hooks { panic("boom") }},
		"WrapModel": named("p", loop.Hooks{WrapModel: func(loop.ModelFunc) loop.ModelFunc { panic("boom") }}),
		"WrapTool":  named("p", loop.Hooks{WrapTool: func(loop.ToolFunc) loop.ToolFunc { panic("boom") }}),
	} {
		_, err := runChecked(t, name, model(text("x")), loop.Config{Middleware: []loop.Middleware{p}})
		if e, ok := errors.AsType[*loop.MiddlewareError](err); !ok || e.Middleware != "p" || !strings.Contains(err.Error(), "boom") {
			t.Errorf("%s: got %v, want a MiddlewareError of p", name, err)
		}
	}
}
