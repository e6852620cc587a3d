package loop_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/trace"
)

// modelCalls returns the model calls of a trace: requests, responses, failures, retries and rewrites,
// with the fields that identify them.
func modelCalls(events []trace.Event) []string {
	var out []string
	for _, ev := range events {
		at := fmt.Sprintf("%d/%s.%d ", ev.Step, ev.Purpose, ev.Attempt)
		switch b := ev.Body.(type) {
		case trace.ModelRequest:
			out = append(out, fmt.Sprintf("%srequest %d+%d", at, b.PrefixMessages, len(b.NewMessages)))
		case trace.ModelResponse:
			out = append(out, at+"turn")
		case trace.ModelError:
			out = append(out, at+"error")
		case trace.ModelRetry:
			out = append(out, fmt.Sprintf("%sretry %v %s", at, b.Wait, b.Reason))
		case trace.HistoryRewrite:
			out = append(out, fmt.Sprintf("%d rewrite %s by %s", ev.Step, b.Reason, b.By))
		}
	}
	return out
}

// around returns middleware around the model call.
func around(name string, f func(ctx context.Context, next loop.ModelFunc, call loop.ModelCall) (*llm.Response, error)) loop.Middleware {
	return named(name, loop.Hooks{WrapModel: func(next loop.ModelFunc) loop.ModelFunc {
		return func(ctx context.Context, call loop.ModelCall) (*llm.Response, error) { return f(ctx, next, call) }
	}})
}

// busy returns a retryable failure with the wait that the provider asks for.
func busy(after time.Duration) fake.Response {
	return fake.Response{Error: &fake.Failure{Status: 503, Message: "busy", RetryAfter: after}}
}

// inTurn returns a model that answers its n-th request with the n-th response.
func inTurn(responses ...fake.Response) llm.Model {
	n := 0
	return llm.ModelFunc(func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
		n++
		return fake.NewModel(responses[n-1]).Stream(ctx, req)
	})
}

// A wrap may call next again. After a retryable failure the trace contains a retry,
// otherwise a call for another purpose.
func TestWrapRetries(t *testing.T) {
	again := func(ctx context.Context, next loop.ModelFunc, call loop.ModelCall) (*llm.Response, error) {
		response, err := next(ctx, call)
		for n := 0; n < 3 && err != nil; n++ {
			response, err = next(ctx, call)
		}
		return response, err
	}
	replaced := func(ctx context.Context, next loop.ModelFunc, call loop.ModelCall) (*llm.Response, error) {
		if response, err := next(ctx, loop.ModelCall{Request: call.Request, Step: 7}); err == nil {
			return response, nil
		}
		return next(ctx, loop.ModelCall{Request: call.Request})
	}
	twice := func(ctx context.Context, next loop.ModelFunc, call loop.ModelCall) (*llm.Response, error) {
		if _, err := next(ctx, call); err != nil {
			return nil, err
		}
		return next(ctx, call)
	}
	first := func(ctx context.Context, next loop.ModelFunc, call loop.ModelCall) (*llm.Response, error) {
		response, err := next(ctx, call)
		if err != nil {
			return nil, err
		}
		_, err = next(ctx, call)
		return response, err
	}
	judged := func(ctx context.Context, next loop.ModelFunc, call loop.ModelCall) (*llm.Response, error) {
		for range 2 {
			if _, err := next(ctx, loop.ModelCall{Request: call.Request, Purpose: trace.PurposeGrade}); err != nil {
				return nil, err
			}
		}
		return next(ctx, call)
	}
	begun := fake.Response{Text: "I", Error: &fake.Failure{Status: 503}}
	bad := fake.Response{Error: &fake.Failure{Status: 400, Message: "no"}}
	answer := []string{"1/.1 request 1+2", "1/.1 turn"}
	// These end with the response.
	over := func(responses ...fake.Response) []fake.Response { return append(responses, text("done")) }
	for _, c := range []struct {
		name     string
		wrap     func(context.Context, loop.ModelFunc, loop.ModelCall) (*llm.Response, error)
		attempts []fake.Response
		retry    loop.Retry
		want     []string
		rest     []string
	}{
		{"a retry", again, []fake.Response{busy(0), calls("a")}, loop.Retry{},
			[]string{"0/.1 request 0+1", "0/.1 error", "0/.1 retry 0s fake: status 503: busy", "0/.2 request 1+0", "0/.2 turn"}, answer},
		{"a made-up call", replaced, []fake.Response{busy(0), calls("a")}, loop.Retry{},
			[]string{"0/.1 request 0+1", "0/.1 error", "0/.1 retry 0s fake: status 503: busy", "0/.2 request 1+0", "0/.2 turn"}, answer},
		{"a made-up call, with retries", replaced, []fake.Response{busy(0), calls("a")}, loop.Retry{Max: 1, Base: time.Second},
			[]string{"0/.1 request 0+1", "0/.1 error", "0/.1 retry 1s fake: status 503: busy", "0/.2 request 1+0", "0/.2 turn"}, answer},
		{"as long as the provider asks", again, []fake.Response{busy(2 * time.Second), busy(0), calls("a")}, loop.Retry{},
			[]string{"0/.1 request 0+1", "0/.1 error", "0/.1 retry 2s fake: status 503: busy", "0/.2 request 1+0", "0/.2 error", "0/.2 retry 0s fake: status 503: busy", "0/.3 request 1+0", "0/.3 turn"}, answer},
		{"longer than is waited for", again, []fake.Response{busy(time.Hour), calls("a")}, loop.Retry{}, []string{"0/.1 request 0+1", "0/.1 error"}, nil},
		{"an answer that had begun", again, over(begun), loop.Retry{},
			[]string{"0/.1 request 0+1", "0/.1 error", "0/repair.1 request 0+1", "0/repair.1 turn", "0/.0 turn"}, []string{}},
		{"a failure for good", again, over(bad, bad, busy(0)), loop.Retry{},
			[]string{"0/.1 request 0+1", "0/.1 error", "0/repair.1 request 0+1", "0/repair.1 error", "0/repair.1 request 1+0", "0/repair.1 error",
				"0/repair.1 retry 0s fake: status 503: busy", "0/repair.2 request 1+0", "0/repair.2 turn", "0/.0 turn"}, []string{}},
		{"more than Retry.Max", again, over(busy(0), busy(0)), loop.Retry{Max: 1, Base: time.Second},
			[]string{"0/.1 request 0+1", "0/.1 error", "0/.1 retry 1s fake: status 503: busy", "0/.2 request 1+0", "0/.2 error",
				"0/repair.1 request 0+1", "0/repair.1 turn", "0/.0 turn"}, []string{}},
		{"two responses, the second used", twice, []fake.Response{calls("a#x"), calls("a")}, loop.Retry{},
			[]string{"0/.1 request 0+1", "0/.1 turn", "0/repair.1 request 0+1", "0/repair.1 turn", "0/.0 turn"},
			[]string{"1/.1 request 1+2", "1/.1 turn", "1/repair.1 request 1+2", "1/repair.1 turn", "1/.0 turn"}},
		{"two responses, the first used", first, []fake.Response{calls("a"), calls("a#x")}, loop.Retry{},
			[]string{"0/.1 request 0+1", "0/.1 turn", "0/repair.1 request 0+1", "0/repair.1 turn"},
			[]string{"1/.1 request 1+2", "1/.1 turn", "1/repair.1 request 1+2", "1/repair.1 turn"}},
		{"a judge twice", judged, []fake.Response{text("no"), text("no"), calls("a")}, loop.Retry{},
			[]string{"0/grade.1 request 0+1", "0/grade.1 turn", "0/grade.1 request 1+0", "0/grade.1 turn", "0/.1 request 0+1", "0/.1 turn"},
			[]string{"1/grade.1 request 1+2", "1/grade.1 turn", "1/grade.1 request 3+0", "1/grade.1 turn", "1/.1 request 1+2", "1/.1 turn"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := model(fake.Response{Attempts: c.attempts}, text("done"))
			var mem trace.Memory
			res, err := runChecked(t, c.name, m, loop.Config{
				Tools: []loop.Tool{echo("a")}, Middleware: []loop.Middleware{around("mine", c.wrap)}, Retry: c.retry, Clock: fake.NewClock(), Sink: &mem,
			})
			if diff := cmp.Diff(append(c.want, c.rest...), modelCalls(mem.Events())); diff != "" {
				t.Errorf("model calls (-want +got):\n%s", diff)
			}
			if c.rest == nil {
				if err == nil || !strings.Contains(err.Error(), "not retried, since the provider asks to wait 1h0m0s, longer than Retry.MaxWait (2m0s)") {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := res.Steps[0].Calls; res.Text != "done" || len(c.rest) > 0 && (got[0].ID != "c1" || got[0].IDGenerated) {
				t.Errorf("got %q after the calls %+v", res.Text, got)
			}
		})
	}
}

// A retry waits from the failure on. The wait of the wrap itself counts.
func TestWrapRetryWaits(t *testing.T) {
	for own, want := range map[time.Duration]time.Duration{0: 3 * time.Second, 2 * time.Second: 3 * time.Second, 5 * time.Second: 5 * time.Second} {
		clock := fake.NewClock()
		begun := clock.Now()
		wrap := around("mine", func(ctx context.Context, next loop.ModelFunc, call loop.ModelCall) (*llm.Response, error) {
			if response, err := next(ctx, call); err == nil {
				return response, nil
			}
			if err := clock.Sleep(ctx, own); err != nil {
				return nil, err
			}
			return next(ctx, call)
		})
		_, err := runChecked(t, own.String(), model(fake.Response{Attempts: []fake.Response{busy(3 * time.Second), text("done")}}),
			loop.Config{Middleware: []loop.Middleware{wrap}, Clock: clock})
		if got := clock.Now().Sub(begun); got != want || err != nil {
			t.Errorf("with %v of its own: waited %v, want %v; %v", own, got, want, err)
		}
	}
}

// A run that ends while a retry waits makes no further call, with any context of the wrap.
func TestWrapRetryCanceled(t *testing.T) {
	for name, other := range map[string]bool{"its own context": false, "another": true} {
		ctx, cancel := context.WithCancel(t.Context())
		clock := fake.NewClock()
		clock.AfterFunc(time.Second, cancel)
		wrap := around("mine", func(ctx context.Context, next loop.ModelFunc, call loop.ModelCall) (*llm.Response, error) {
			if response, err := next(ctx, call); err == nil {
				return response, nil
			}
			if other {
				ctx = context.WithoutCancel(ctx)
			}
			return next(ctx, call)
		})
		m := model(fake.Response{Attempts: []fake.Response{busy(3 * time.Second), text("done")}})
		a := newAgent(t, m, loop.Config{Middleware: []loop.Middleware{wrap}, Clock: clock})
		res, err := a.Run(ctx, loop.Prompt("go"))
		if !errors.Is(err, context.Canceled) || res.StopReason != trace.ReasonCancel || len(m.RecordedRequests()) != 1 {
			t.Errorf("%s: got %v, stop %q after %d requests", name, err, res.StopReason, len(m.RecordedRequests()))
		}
	}
}

// If middleware sets its own context and it ends while a retry waits, the model call ends
// without another request. The run does not end.
func TestWrapRetryContextEnds(t *testing.T) {
	clock, patience := fake.NewClock(), errors.New("out of patience")
	wrap := around("mine", func(ctx context.Context, next loop.ModelFunc, call loop.ModelCall) (*llm.Response, error) {
		if response, err := next(ctx, call); err == nil {
			return response, nil
		}
		short, cancel := clock.WithTimeout(ctx, time.Second, patience)
		defer cancel()
		_, err := next(short, call)
		if !errors.Is(err, patience) || ctx.Err() != nil {
			t.Errorf("the call that waited ended with %v, the run with %v", err, ctx.Err())
		}
		return nil, err
	})
	m := model(fake.Response{Attempts: []fake.Response{busy(3 * time.Second), text("done")}})
	if _, err := runChecked(t, "gives up", m, loop.Config{Middleware: []loop.Middleware{wrap}, Clock: clock}); !errors.Is(err, patience) || len(m.RecordedRequests()) != 1 {
		t.Errorf("got %v after %d requests", err, len(m.RecordedRequests()))
	}
}

// A wrap may send other messages for one call. The trace contains a rewrite there and another
// where the requests return to the history.
func TestTransientMessages(t *testing.T) {
	reminder := llm.User("be brief")
	at := func(name string, steps ...int) loop.Middleware {
		return around(name, func(ctx context.Context, next loop.ModelFunc, call loop.ModelCall) (*llm.Response, error) {
			if slices.Contains(steps, call.Step) {
				req := *call.Request
				req.Messages = append(slices.Clone(req.Messages), reminder)
				call.Request = &req
			}
			return next(ctx, call)
		})
	}
	only := func(name string) loop.Middleware {
		return around(name, func(ctx context.Context, next loop.ModelFunc, call loop.ModelCall) (*llm.Response, error) {
			req := *call.Request
			req.Messages = []llm.Message{reminder}
			call.Request = &req
			return next(ctx, call)
		})
	}
	mine := "rewrite middleware by mine"
	for _, c := range []struct {
		name        string
		middlewares []loop.Middleware
		responses   []fake.Response
		want        []string
	}{
		{"in no step", []loop.Middleware{at("mine")}, nil,
			[]string{"0/.1 request 0+1", "0/.1 turn", "1/.1 request 1+2", "1/.1 turn", "2/.1 request 3+2", "2/.1 turn"}},
		{"in one step", []loop.Middleware{at("mine", 1)}, nil,
			[]string{"0/.1 request 0+1", "0/.1 turn", "1 " + mine, "1/.1 request 1+3", "1/.1 turn", "2 " + mine, "2/.1 request 3+2", "2/.1 turn"}},
		{"in the first", []loop.Middleware{at("mine", 0)}, nil,
			[]string{"0 " + mine, "0/.1 request 0+2", "0/.1 turn", "1 " + mine, "1/.1 request 1+2", "1/.1 turn", "2/.1 request 3+2", "2/.1 turn"}},
		{"in two steps, one of two", []loop.Middleware{at("mine", 1, 2), at("other")}, nil,
			[]string{"0/.1 request 0+1", "0/.1 turn", "1 rewrite middleware by mine, other", "1/.1 request 1+3", "1/.1 turn",
				"2 rewrite middleware by mine, other", "2/.1 request 3+3", "2/.1 turn"}},
		{"the same in each step", []loop.Middleware{only("mine")}, nil,
			[]string{"0 " + mine, "0/.1 request 0+1", "0/.1 turn", "1 " + mine, "1/.1 request 1+0", "1/.1 turn", "2 " + mine, "2/.1 request 1+0", "2/.1 turn"}},
		{"the same in each step, retried", []loop.Middleware{only("mine")}, []fake.Response{calls("a#1"), busy(0), text("x")},
			[]string{"0 " + mine, "0/.1 request 0+1", "0/.1 turn", "1 " + mine, "1/.1 request 1+0", "1/.1 error", "1/.1 retry 1s fake: status 503: busy", "1/.2 request 1+0", "1/.2 turn"}},
		{"in a call that is retried", []loop.Middleware{at("mine", 0)}, []fake.Response{busy(0), calls("a#1"), text("x")},
			[]string{"0 " + mine, "0/.1 request 0+2", "0/.1 error", "0/.1 retry 1s fake: status 503: busy", "0/.2 request 2+0", "0/.2 turn", "1 " + mine, "1/.1 request 1+2", "1/.1 turn"}},
	} {
		responses := c.responses
		if responses == nil {
			responses = []fake.Response{calls("a#1"), calls("a#2"), text("x")}
		}
		var mem trace.Memory
		res, err := runChecked(t, c.name, inTurn(responses...), loop.Config{
			Tools: []loop.Tool{echo("a")}, Middleware: c.middlewares, Retry: loop.Retry{Max: 1, Base: time.Second}, Clock: fake.NewClock(), Sink: &mem,
		})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, modelCalls(mem.Events())); diff != "" {
			t.Errorf("%s: model calls (-want +got):\n%s", c.name, diff)
		}
		for _, m := range res.Messages {
			if cmp.Equal(m, reminder) {
				t.Errorf("%s: the reminder is in the history", c.name)
			}
		}
	}
}

// The loop rejects invalid messages of a wrap, for each purpose.
func TestTransientMessagesAreChecked(t *testing.T) {
	for _, purpose := range []trace.Purpose{trace.PurposeAnswer, trace.PurposeSummary} {
		wrap := around("mine", func(ctx context.Context, next loop.ModelFunc, call loop.ModelCall) (*llm.Response, error) {
			if n := len(call.Request.Messages); n > 1 {
				req := *call.Request
				req.Messages = req.Messages[:n-1]
				return next(ctx, loop.ModelCall{Request: &req, Purpose: purpose})
			}
			return next(ctx, call)
		})
		m := model(calls("a"), text("x"))
		_, err := runChecked(t, string(purpose), m, loop.Config{Tools: []loop.Tool{echo("a")}, Middleware: []loop.Middleware{wrap}})
		var h *loop.HistoryError
		var p *loop.MiddlewareError
		if !errors.As(err, &h) || !errors.As(err, &p) || p.Middleware != "mine" || len(m.RecordedRequests()) != 1 {
			t.Errorf("for %q: got %v after %d requests", purpose, err, len(m.RecordedRequests()))
		}
	}
}

// Calls that are only in messages of middleware reserve their ids too.
func TestTransientIDs(t *testing.T) {
	example := []llm.Message{
		llm.User("like this"), llm.Assistant(llm.ToolCall{ID: "c1", Name: "a", Arguments: "{}"}),
		llm.ToolResults(llm.ToolResult{ID: "c1", Name: "a", Content: []llm.Part{llm.Text{Text: "{}"}}}),
	}
	wrap := around("mine", func(ctx context.Context, next loop.ModelFunc, call loop.ModelCall) (*llm.Response, error) {
		req := *call.Request
		req.Messages = slices.Concat(example, req.Messages)
		call.Request = &req
		return next(ctx, call)
	})
	before := named("mine", loop.Hooks{BeforeStep: func(_ context.Context, s *loop.StepInfo) (loop.StepChange, error) {
		if s.Step > 0 {
			return loop.StepChange{}, nil
		}
		return loop.StepChange{Decision: loop.Decision{Messages: slices.Concat(example, s.History())}}, nil
	}})
	for name, p := range map[string]loop.Middleware{"a wrap": wrap, "before the step": before} {
		res, err := runChecked(t, name, model(calls("a"), text("x")), loop.Config{Tools: []loop.Tool{echo("a")}, Middleware: []loop.Middleware{p}})
		if err != nil {
			t.Fatal(err)
		}
		if got := res.Steps[0].Calls[0]; got.ID != "loop_call_1" || got.ProviderID != "c1" {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

// Changes to the response of next have no effect, unless the wrap returns another response.
func TestWrapChangesResponse(t *testing.T) {
	var kept *llm.Response
	change := func(own, copied func(*llm.Response)) loop.Middleware {
		return around("mine", func(ctx context.Context, next loop.ModelFunc, call loop.ModelCall) (*llm.Response, error) {
			response, err := next(ctx, call)
			if err != nil || call.Step > 0 {
				return response, err
			}
			if own != nil {
				own(response)
			}
			if copied == nil {
				return response, nil
			}
			changed := *response
			changed.Parts = slices.Clone(response.Parts)
			copied(&changed)
			return &changed, nil
		})
	}
	for _, c := range []struct {
		name      string
		own       func(response *llm.Response) // gets the response of next
		f         func(response *llm.Response) // gets a copy that the wrap returns, if not nil
		want      string                       // the calls with their results
		responses int                          // in the trace
		more      func(step *loop.Step) bool
	}{
		{"left alone", nil, nil, "c1 a c1, c2 b c2", 2, nil},
		{"kept, and changed when it was used", func(response *llm.Response) { kept = response }, nil, "c1 a c1, c2 b c2", 2, nil},
		{"changed in place", func(response *llm.Response) {
			response.Parts[0], response.FinishReason = response.Parts[1], llm.FinishStop
			response.Parts = response.Parts[:1]
		}, nil, "c1 a c1, c2 b c2", 2, func(s *loop.Step) bool { return s.FinishReason == "tool_calls" }},
		{"a call twice", nil, func(response *llm.Response) { response.Parts = append(response.Parts, response.Parts[0]) }, "c1 a c1, c2 b c2, loop_call_1 a loop_call_1", 3, nil},
		{"a call in the place of another", nil, func(response *llm.Response) { response.Parts[1] = response.Parts[0] }, "c1 a c1, loop_call_1 a loop_call_1", 3, nil},
		{"a call less", nil, func(response *llm.Response) { response.Parts = response.Parts[:1] }, "c1 a c1", 3, nil},
		{"a call without a name", nil, func(response *llm.Response) { response.Parts[1] = llm.ToolCall{ID: "c2", Arguments: "{}"} }, "c1 a c1, c2 unnamed_tool c2", 3, nil},
		{"another finish", nil, func(response *llm.Response) { response.FinishReason = llm.FinishStop }, "c1 a c1, c2 b c2", 3,
			func(s *loop.Step) bool { return s.FinishReason == llm.FinishStop }},
		{"another reason", nil, func(response *llm.Response) { response.RawFinishReason = "STOP" }, "c1 a c1, c2 b c2", 3, nil},
		{"another message", nil, func(response *llm.Response) { response.FinishMessage = "so" }, "c1 a c1, c2 b c2", 3, nil},
		{"another response", nil, func(response *llm.Response) { response.ResponseID = "x" }, "c1 a c1, c2 b c2", 3, nil},
		{"another model", nil, func(response *llm.Response) { response.Model = "x" }, "c1 a c1, c2 b c2", 3, nil},
		{"private data", nil, func(response *llm.Response) { response.Opaque = []byte("1") }, "c1 a c1, c2 b c2", 3,
			func(s *loop.Step) bool { return string(s.Messages[0].Opaque) == "1" }},
	} {
		var mem trace.Memory
		res, err := runChecked(t, c.name, model(calls("a", "b"), text("done")), loop.Config{
			Tools: []loop.Tool{echo("a"), echo("b")}, Middleware: []loop.Middleware{change(c.own, c.f)}, Sink: &mem,
			OnStep: func(loop.Step) {
				if kept != nil {
					kept.Parts[0] = llm.Text{Text: "changed"}
				}
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		kept = nil
		var got []string
		for i, call := range res.Steps[0].Calls {
			got = append(got, call.ID+" "+call.Name+" "+res.Steps[0].Results[i].ID)
		}
		if diff := cmp.Diff(c.want, strings.Join(got, ", ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
		if n := len(of[trace.ModelResponse](mem.Events())); n != c.responses || c.more != nil && !c.more(res.Steps[0]) {
			t.Errorf("%s: %d responses in the trace, want %d; %+v", c.name, n, c.responses, res.Steps[0])
		}
	}
}

// If a wrap fails after a response, the trace and the history contain the response. Its
// calls are pending.
func TestWrapFailsAfterResponse(t *testing.T) {
	boom := errors.New("boom")
	wrap := around("mine", func(ctx context.Context, next loop.ModelFunc, call loop.ModelCall) (*llm.Response, error) {
		if _, err := next(ctx, call); err != nil {
			return nil, err
		}
		return nil, boom
	})
	res, err := runChecked(t, "fails", model(calls("a")), loop.Config{Tools: []loop.Tool{echo("a")}, Middleware: []loop.Middleware{wrap}})
	if !errors.Is(err, boom) || len(res.Pending) != 1 || res.Pending[0].ID != "c1" || len(res.Messages) != 1 {
		t.Errorf("got %v, %+v", err, res)
	}
}

// A forced final answer is requested without tools, whatever tools a wrap sets.
func TestWrapSetsToolsOfFinalAnswer(t *testing.T) {
	tools := []llm.Tool{{Name: "a"}}
	wrap := around("mine", func(ctx context.Context, next loop.ModelFunc, call loop.ModelCall) (*llm.Response, error) {
		req := *call.Request
		req.Tools, req.ToolChoice = tools, llm.ToolChoice{Mode: llm.ChooseRequired}
		call.Request = &req
		return next(ctx, call)
	})
	m := model(calls("a"), text("done"))
	_, err := runChecked(t, "forced", m, loop.Config{Tools: []loop.Tool{echo("a")}, Middleware: []loop.Middleware{wrap}, MaxSteps: 1, OnStepLimit: loop.StepLimitForceFinal})
	if err != nil {
		t.Fatal(err)
	}
	first, last := m.RecordedRequests()[0].Request, m.RecordedRequests()[1].Request
	if len(first.Tools) != 1 || len(last.Tools) != 0 || first.ToolChoice.Mode != llm.ChooseRequired || last.ToolChoice != (llm.ToolChoice{}) {
		t.Errorf("got %+v, then %+v", first, last)
	}
}

// The trace contains the messages after the last request if middleware returns its own
// response, fails, or stops the run after a rewrite of the history.
func TestMessagesBeforeRequestAreRecorded(t *testing.T) {
	boom := errors.New("boom")
	rewrite := named("rewrites", loop.Hooks{BeforeStep: func(_ context.Context, s *loop.StepInfo) (loop.StepChange, error) {
		if s.Step == 0 {
			return loop.StepChange{}, nil
		}
		return loop.StepChange{Decision: loop.Decision{Messages: []llm.Message{llm.User("again")}}}, nil
	}})
	stop := named("stops", loop.Hooks{BeforeStep: func(_ context.Context, s *loop.StepInfo) (loop.StepChange, error) {
		if s.Step < 2 {
			return loop.StepChange{}, nil
		}
		return loop.StepChange{Decision: loop.Decision{Action: trace.Stop}}, nil
	}})
	instead := func(response *llm.Response, err error) loop.Middleware {
		return around("instead", func(ctx context.Context, next loop.ModelFunc, call loop.ModelCall) (*llm.Response, error) {
			if call.Step == 1 {
				return response, err
			}
			return next(ctx, call)
		})
	}
	cached := &llm.Response{FinishReason: llm.FinishStop, Parts: []llm.Part{llm.Text{Text: "cached"}}}
	more := &llm.Response{FinishReason: llm.FinishStop, Parts: []llm.Part{llm.ToolCall{ID: "x", Name: "a", Arguments: "{}"}}}
	for name, c := range map[string]struct {
		middlewares []loop.Middleware
		want        string // the texts of the messages that the trace shows, in order
		err         error
	}{
		"a response from a cache":           {[]loop.Middleware{instead(cached, nil)}, "go, c1, result c1, cached", nil},
		"calls from a cache":                {[]loop.Middleware{instead(more, nil)}, "go, c1, result c1, x, result x, loop_call_1, result loop_call_1, done", nil},
		"a failure":                         {[]loop.Middleware{instead(nil, boom)}, "go, c1, result c1", boom},
		"a rewrite, then a failure":         {[]loop.Middleware{rewrite, instead(nil, boom)}, "go, c1, result c1", boom},
		"a rewrite, then a cached response": {[]loop.Middleware{rewrite, instead(cached, nil)}, "go, c1, result c1, cached", nil},
		"a rewrite, then a stop":            {[]loop.Middleware{rewrite, stop}, "go, again, loop_call_1, result loop_call_1", nil},
		"two rewrites without any request":  {[]loop.Middleware{rewrite, instead(more, nil), stop}, "go, c1, result c1, x, result x", nil},
	} {
		var mem trace.Memory
		_, err := runChecked(t, name, inTurn(calls("a"), calls("a#c1"), text("done")), loop.Config{Tools: []loop.Tool{echo("a")}, Middleware: c.middlewares, Sink: &mem})
		if !errors.Is(err, c.err) {
			t.Errorf("%s: got %v", name, err)
		}
		if got := strings.Join(shownTexts(mem.Events()), ", "); got != c.want {
			t.Errorf("%s: the trace shows %s, want %s", name, got, c.want)
		}
	}
}

// shownTexts returns a word for each message of the requests and of the end.
func shownTexts(events []trace.Event) (out []string) {
	for _, ev := range events {
		var list []llm.Message
		switch b := ev.Body.(type) {
		case trace.ModelRequest:
			list = b.NewMessages
		case trace.RunEnd:
			list = b.AppendedMessages
		}
		for _, m := range list {
			for _, p := range m.Parts {
				switch p := p.(type) {
				case llm.Text:
					out = append(out, p.Text)
				case llm.ToolCall:
					out = append(out, p.ID)
				case llm.ToolResult:
					out = append(out, "result "+p.ID)
				}
			}
		}
	}
	return out
}

// Changes of middleware to its StepInfo have no effect.
func TestStepInfoIsCopied(t *testing.T) {
	spoil := func(_ context.Context, s *loop.StepInfo) {
		s.Step = 77
		if s.Emit("spoilt", []byte(`1`)) != nil || s.Warn("spoilt", "") != nil {
			t.Error("no event was taken")
		}
	}
	p := named("spoils", loop.Hooks{
		BeforeStep: func(ctx context.Context, s *loop.StepInfo) (loop.StepChange, error) {
			spoil(ctx, s)
			return loop.StepChange{}, nil
		},
		AfterModel: func(ctx context.Context, s *loop.StepInfo, _ *llm.Response) (loop.Decision, error) {
			spoil(ctx, s)
			return loop.Decision{}, nil
		},
		BeforeTools: editCalls(func(ctx context.Context, s *loop.StepInfo, _ []*loop.PlannedCall) (loop.Decision, error) {
			spoil(ctx, s)
			return loop.Decision{}, nil
		}),
		AfterStep: func(ctx context.Context, s *loop.StepInfo, _ *loop.Step) (loop.Decision, error) {
			spoil(ctx, s)
			return loop.Decision{}, nil
		},
	})
	var mem trace.Memory
	res, err := runChecked(t, "the step's number", model(calls("a", "b"), text("done")), loop.Config{Tools: []loop.Tool{echo("a"), echo("b")}, Middleware: []loop.Middleware{p}, Sink: &mem})
	if err != nil || res.Text != "done" || res.Steps[1].Index != 1 {
		t.Errorf("got %+v, %v", res, err)
	}
	var steps []int
	for _, ev := range mem.Events() {
		if ev.Body.Kind() == trace.KindCustom || ev.Body.Kind() == trace.KindWarning {
			steps = append(steps, ev.Step)
		}
	}
	if diff := cmp.Diff([]int{0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1}, steps); diff != "" {
		t.Errorf("steps of the events of middleware (-want +got):\n%s", diff)
	}
	none := named("empties", loop.Hooks{BeforeStep: func(_ context.Context, s *loop.StepInfo) (loop.StepChange, error) {
		s.Request.System, s.Request.Messages = llm.SystemText("spoilt"), []llm.Message{llm.User("spoilt")}
		s.Request, s.Steps = nil, nil
		return loop.StepChange{}, nil
	}})
	m := model(text("x"))
	if _, err := runChecked(t, "no request", m, loop.Config{Middleware: []loop.Middleware{none}}); err != nil {
		t.Errorf("no request: got %v", err)
	} else if req := m.RecordedRequests()[0].Request; req.System.Text() != "" || len(req.Messages) != 1 || req.Messages[0].Text() != "go" {
		t.Errorf("no request: sent %+v", req)
	}
}

type namedModel struct {
	*fake.Model
	id string
}

func (m namedModel) ModelID() string { return m.id }

// A model with an id gets requests with that id, unless the options or a hook name another. The
// trace has the same ids.
func TestModelID(t *testing.T) {
	for _, c := range []struct{ option, other, want string }{
		{"", "", "own, second"}, {"option", "", "option, second"}, {"", "hook", "own, hook"}, {"option", "hook", "option, hook"},
	} {
		own, second := namedModel{fake.NewModel(fake.Response{Calls: []fake.Call{{Name: "a", Arguments: "{}"}}}), "own"}, namedModel{fake.NewModel(fake.Response{Text: "x"}), "second"}
		var mem trace.Memory
		agent, err := loop.New(own, &loop.Config{
			Model: c.option, Sink: &mem, Tools: []loop.Tool{{Name: "a", Run: func(context.Context, loop.Call) (loop.Output, error) { return loop.TextOutput("1"), nil }}},
			Middleware: []loop.Middleware{{Name: "second", New: func(loop.RunInfo) loop.Hooks {
				return loop.Hooks{BeforeStep: func(_ context.Context, s *loop.StepInfo) (change loop.StepChange, err error) {
					if s.Step == 1 {
						change.Model, change.Request = second, s.Request
						if c.other != "" {
							change.Request.Model = c.other
						}
					}
					return change, nil
				}}
			}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := agent.Run(t.Context(), loop.Prompt("go")); err != nil {
			t.Fatal(err)
		}
		var traced []string
		for _, ev := range mem.Events() {
			if config, ok := ev.Body.(trace.ModelConfig); ok {
				traced = append(traced, config.Model)
			}
		}
		sent := own.RecordedRequests()[0].Request.Model + ", " + second.RecordedRequests()[0].Request.Model
		if sent != c.want || strings.Join(traced, ", ") != c.want {
			t.Errorf("%+v: the requests have %s, the trace has %q", c, sent, traced)
		}
	}
}

// Arguments of a WrapTool hook that the schema does not allow reach the tool only with BadArgumentsPass.
func TestWrapToolBadArguments(t *testing.T) {
	wrap := named("p", loop.Hooks{WrapTool: func(next loop.ToolFunc) loop.ToolFunc {
		return func(ctx context.Context, c loop.Call) (loop.Output, error) {
			c.Arguments = `{"x":"one"}`
			return next(ctx, c)
		}
	}})
	strict, err := loop.RawTool("a", "", []byte(`{"type":"object","properties":{"x":{"type":"integer"}}}`), echo("a").Run)
	if err != nil {
		t.Fatal(err)
	}
	for bad, want := range map[loop.BadArguments]string{loop.BadArgumentsError: "invalid arguments", loop.BadArgumentsPass: `{"x":"one"}`} {
		res, _ := mustRun(t, model(calls("a"), text("x")), loop.Config{Middleware: []loop.Middleware{wrap}, Tools: []loop.Tool{strict}, BadArguments: bad})
		if got := resultTexts(res.Messages)[0]; !strings.HasPrefix(got, want) {
			t.Errorf("%q: the result is %q, want %q", bad, got, want)
		}
	}
}

// A model call fails with the error of the model if only one of the contexts has ended: that of the run, or one that a
// WrapModel hook passes.
func TestWrapModelContexts(t *testing.T) {
	lost := errors.New("connection closed")
	for _, endsRun := range []bool{true, false} {
		run, endRun := context.WithCancel(t.Context())
		var inner error
		wrap := named("p", loop.Hooks{WrapModel: func(next loop.ModelFunc) loop.ModelFunc {
			return func(ctx context.Context, call loop.ModelCall) (*llm.Response, error) {
				own, end := context.WithCancel(context.WithoutCancel(ctx))
				defer end()
				call.Model = llm.ModelFunc(func(context.Context, *llm.Request) iter.Seq2[llm.Event, error] {
					return func(yield func(llm.Event, error) bool) {
						if endsRun {
							endRun()
						} else {
							end()
						}
						yield(nil, lost)
					}
				})
				response, err := next(own, call)
				inner = err
				return response, err
			}
		}})
		_, err := newAgent(t, model(), loop.Config{Middleware: []loop.Middleware{wrap}}).Run(run, loop.Prompt("go"))
		endRun()
		if !errors.Is(inner, lost) || err == nil {
			t.Errorf("the context of the run ends %t: next returns %v, the run %v", endsRun, inner, err)
		}
	}
}

// A model call of a hook waits until the event that another goroutine of the hook adds is recorded.
func TestWrapModelWaitsForEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recorded := make(chan struct{})
		sink := trace.SinkFunc(func(ev trace.Event) error {
			if _, own := ev.Body.(trace.Custom); own {
				<-recorded
			}
			return nil
		})
		wrap := loop.Middleware{Name: "p", New: func(loop.RunInfo) loop.Hooks {
			var info *loop.StepInfo
			return loop.Hooks{
				BeforeStep: func(_ context.Context, s *loop.StepInfo) (loop.StepChange, error) {
					info = s
					return loop.StepChange{}, nil
				},
				WrapModel: func(next loop.ModelFunc) loop.ModelFunc {
					return func(ctx context.Context, call loop.ModelCall) (*llm.Response, error) {
						go func() {
							if err := info.Emit("mine", []byte("{}")); err != nil {
								t.Error(err)
							}
						}()
						synctest.Wait()
						go func() {
							synctest.Wait()
							close(recorded)
						}()
						return next(ctx, call)
					}
				},
			}
		}}
		if _, err := newAgent(t, model(text("x")), loop.Config{Middleware: []loop.Middleware{wrap}, Sink: sink}).Run(t.Context(), loop.Prompt("go")); err != nil {
			t.Error(err)
		}
	})
}
