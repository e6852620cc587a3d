package agentier_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/loop/preset/agentier"
	"github.com/looptape/looptape/trace"
)

// echo returns its arguments after one second.
func echo(clock *fake.Clock) loop.Tool {
	return loop.Tool{Name: "a", Run: func(ctx context.Context, c loop.Call) (loop.Output, error) {
		return loop.TextOutput(c.Arguments), clock.Sleep(ctx, time.Second)
	}}
}

// calling returns a response that calls the tool a once per id.
func calling(ids ...string) fake.Response {
	t := fake.Response{Usage: llm.Usage{InputTokens: 10, OutputTokens: 5}}
	for _, id := range ids {
		t.Calls = append(t.Calls, fake.Call{ID: id, Name: "a", Arguments: `{"id":"` + id + `"}`})
	}
	return t
}

func saying(text string) fake.Response {
	return fake.Response{Text: text, Usage: llm.Usage{InputTokens: 20, OutputTokens: 7}}
}

// newAgent returns an agent with the tool a, these responses and a clock of its own.
func newAgent(t *testing.T, cfg loop.Config, turns ...fake.Response) (*agentier.Agent, *fake.Model) {
	t.Helper()
	clock := fake.NewClock()
	m := &fake.Model{Clock: clock, Responses: turns}
	cfg.Clock = clock
	cfg.Tools = append(cfg.Tools, echo(clock))
	a, err := agentier.New(m, &cfg)
	if err != nil {
		t.Fatal(err)
	}
	return a, m
}

func mustRun(t *testing.T, a *agentier.Agent, opts *agentier.RunOptions) *agentier.Result {
	t.Helper()
	res, err := a.Run(t.Context(), loop.Prompt("go"), opts)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// AG-40: the result has all fields that the reference documentation lists.
func TestResult(t *testing.T) {
	a, _ := newAgent(t, loop.Config{}, calling("c1", "c2"), saying("done"))
	res := mustRun(t, a, nil)
	result := func(id string) llm.ToolResult {
		return llm.ToolResult{ID: id, Name: "a", Content: []llm.Part{llm.Text{Text: `{"id":"` + id + `"}`}}}
	}
	call := func(id string) agentier.ToolCall {
		return agentier.ToolCall{ID: id, Name: "a", Args: json.RawMessage(`{"id":"` + id + `"}`), Result: result(id), Duration: time.Second}
	}
	want := &agentier.Result{
		Output: "done",
		Stop:   trace.ReasonEndTurn,
		Messages: []llm.Message{
			llm.User("go"),
			llm.Assistant(llm.ToolCall{ID: "c1", Name: "a", Arguments: `{"id":"c1"}`}, llm.ToolCall{ID: "c2", Name: "a", Arguments: `{"id":"c2"}`}),
			llm.ToolResults(result("c1")), llm.ToolResults(result("c2")),
			llm.Assistant(llm.Text{Text: "done"}),
		},
		ToolCalls: []agentier.ToolCall{call("c1"), call("c2")},
		Usage:     agentier.Usage{Usage: llm.Usage{InputTokens: 30, OutputTokens: 12}, Iterations: 2},
		Duration:  time.Second,
	}
	if diff := cmp.Diff(want, res); diff != "" {
		t.Errorf("the result (-want +got):\n%s", diff)
	}
}

// AG-05, AG-08, AG-10: the limits of a run apply to that run only.
func TestRunOptions(t *testing.T) {
	many := make([]fake.Response, 20)
	for i := range many {
		many[i] = calling(fmt.Sprintf("c%d", i))
	}
	a, _ := newAgent(t, loop.Config{MaxSteps: 4, TokenBudget: 75, Deadline: 9500 * time.Millisecond}, many...)
	for name, c := range map[string]struct {
		opts       *agentier.RunOptions
		iterations int
		stop       trace.Reason
	}{
		"the agent's":             {nil, 4, trace.ReasonMaxSteps},
		"nothing changed":         {&agentier.RunOptions{}, 4, trace.ReasonMaxSteps},
		"fewer iterations":        {&agentier.RunOptions{MaxIterations: 2}, 2, trace.ReasonMaxSteps},
		"more iterations":         {&agentier.RunOptions{MaxIterations: 9}, 5, trace.ReasonBudget},
		"none":                    {&agentier.RunOptions{MaxIterations: loop.Disabled}, 0, trace.ReasonMaxSteps},
		"fewer tokens":            {&agentier.RunOptions{MaxTokens: 31}, 3, trace.ReasonBudget},
		"any number of tokens":    {&agentier.RunOptions{MaxTokens: loop.Unlimited, MaxIterations: 9}, 9, trace.ReasonMaxSteps},
		"more time, and tokens":   {&agentier.RunOptions{MaxTokens: 1000, MaxIterations: 15, Timeout: time.Minute}, 15, trace.ReasonMaxSteps},
		"all the time, and token": {&agentier.RunOptions{MaxTokens: 1000, MaxIterations: 15, Timeout: loop.Disabled}, 15, trace.ReasonMaxSteps},
	} {
		res := mustRun(t, a, c.opts)
		if res.Usage.Iterations != c.iterations || res.Stop != c.stop {
			t.Errorf("%s: got %d iterations, stop %q; want %d, %q", name, res.Usage.Iterations, res.Stop, c.iterations, c.stop)
		}
	}
	_, err := a.Run(t.Context(), loop.Prompt("go"), &agentier.RunOptions{Timeout: 1500 * time.Millisecond})
	if e, ok := errors.AsType[*agentier.Error](err); !ok || e.Code != "TIMEOUT" {
		t.Errorf("less time: got %v", err)
	}
	a, _ = newAgent(t, loop.Config{Deadline: loop.Disabled}, fake.Response{Text: "late", Delay: time.Hour})
	if res := mustRun(t, a, nil); res.Output != "late" {
		t.Errorf("an agent without a limit of time: got %+v", res)
	}
}

// callbacks logs each callback, in order, and the state of the tool at that time.
func callbacks(log *[]string) *agentier.RunOptions {
	note := func(format string, args ...any) { *log = append(*log, fmt.Sprintf(format, args...)) }
	return &agentier.RunOptions{
		OnToken:      func(token string) { note("token %s", token) },
		OnToolCall:   func(name string, args json.RawMessage) { note("call %s %s", name, args) },
		OnToolResult: func(name string, result llm.ToolResult) { note("result %s %s", name, result.Text()) },
		OnComplete:   func(res *agentier.Result) { note("complete %q after %v", res.Output, res.Duration) },
		OnError:      func(err error) { note("error %v", err) },
	}
}

// AG-26, AG-27, AG-28: OnToolCall precedes the tool, OnToolResult follows it, and the end
// is reported once.
func TestCallbacks(t *testing.T) {
	var log []string
	spy := middleware.Wrap("spy", func(ctx context.Context, a *middleware.Action, next func(context.Context) error) error {
		if a.Kind == "tool_call" {
			log = append(log, "run "+a.Tool.ID)
		}
		return next(ctx)
	})
	say := calling("c1")
	say.Chunks = []string{"one", " two"}
	a, _ := newAgent(t, loop.Config{Middleware: []loop.Middleware{spy}}, say, saying("done"))
	mustRun(t, a, callbacks(&log))
	want := []string{"token one", "token  two", `call a {"id":"c1"}`, "run c1", `result a {"id":"c1"}`, "token done", `complete "done" after 1s`}
	if diff := cmp.Diff(want, log); diff != "" {
		t.Errorf("what was reported (-want +got):\n%s", diff)
	}
	log = nil
	a, _ = newAgent(t, loop.Config{MaxSteps: 1}, say)
	mustRun(t, a, callbacks(&log))
	if got := log[len(log)-1]; got != `complete "one two" after 1s` {
		t.Errorf("at a limit: got %q last", got)
	}
}

// AG-29, AG-31: a model failure is passed to the callback and then returned with its
// cause, without a result. A tool failure is not passed to the callback.
func TestModelError(t *testing.T) {
	var log []string
	bad := loop.Tool{Name: "bad", Run: func(context.Context, loop.Call) (loop.Output, error) { return loop.Output{}, errors.New("no") }}
	a, _ := newAgent(t, loop.Config{Tools: []loop.Tool{bad}},
		fake.Response{Calls: []fake.Call{{ID: "c1", Name: "bad", Arguments: "{}"}}},
		fake.Response{Error: &fake.Failure{Status: 429, Message: "slow down"}})
	res, err := a.Run(t.Context(), loop.Prompt("go"), callbacks(&log))
	api, isAPI := errors.AsType[*llm.APIError](err)
	if res != nil || !isAPI || api.Status != 429 {
		t.Errorf("got %+v, %v", res, err)
	}
	want := []string{"call bad {}", "error agentier: MODEL_ERROR: loop: step 1: fake: status 429: slow down"}
	if diff := cmp.Diff(want, log); diff != "" {
		t.Errorf("what was reported (-want +got):\n%s", diff)
	}
}

// AG-25: responses are streaming only if the caller sets OnToken.
func TestDelivery(t *testing.T) {
	a, m := newAgent(t, loop.Config{}, saying("x"))
	mustRun(t, a, nil)
	mustRun(t, a, &agentier.RunOptions{OnToken: func(string) {}})
	mustRun(t, a, &agentier.RunOptions{OnComplete: func(*agentier.Result) {}})
	for range a.Parts(t.Context(), loop.Prompt("go"), nil) {
		continue
	}
	var got []llm.ResponseMode
	for _, r := range m.RecordedRequests() {
		got = append(got, r.Request.ResponseMode)
	}
	if diff := cmp.Diff([]llm.ResponseMode{llm.NonStreaming, llm.Streaming, llm.NonStreaming, llm.Streaming}, got); diff != "" {
		t.Errorf("deliveries (-want +got):\n%s", diff)
	}
}

// Parts yields a part for each callback and does not call the caller's callbacks. The run
// ends when the caller stops the iteration.
func TestParts(t *testing.T) {
	var log, got []string
	a, m := newAgent(t, loop.Config{}, calling("c1"), saying("done"))
	for p := range a.Parts(t.Context(), loop.Prompt("go"), callbacks(&log)) {
		got = append(got, p.Type)
	}
	if diff := cmp.Diff([]string{"onToolCall", "onToolResult", "onToken", "onComplete"}, got); diff != "" || log != nil {
		t.Errorf("parts (-want +got):\n%s\ncallbacks: %q", diff, log)
	}
	asked := len(m.RecordedRequests())
	for p := range a.Parts(t.Context(), loop.Prompt("again"), nil) {
		if p.Type == "onToolResult" {
			break
		}
	}
	if n := len(m.RecordedRequests()) - asked; n != 1 {
		t.Errorf("after leaving: got %d requests, want 1", n)
	}
}

// AG-36: middleware is an ordered list that wraps models and tools, the first outermost.
func TestMiddleware(t *testing.T) {
	var log []string
	recorder := func(name string) loop.Middleware {
		return middleware.Wrap(name, func(ctx context.Context, a *middleware.Action, next func(context.Context) error) error {
			log = append(log, name+" "+string(a.Kind))
			err := next(ctx)
			if a.Kind == "model_call" || a.Kind == "tool_call" {
				log = append(log, name+" "+string(a.Kind)+" done")
			}
			return err
		})
	}
	a, _ := newAgent(t, loop.Config{Middleware: []loop.Middleware{recorder("A"), recorder("B")}}, calling("c1"), saying("done"))
	mustRun(t, a, nil)
	nest := func(kind string) []string {
		return []string{"A " + kind, "B " + kind, "B " + kind + " done", "A " + kind + " done"}
	}
	want := []string{"A loop_start", "B loop_start"}
	want = append(want, nest("model_call")...)
	want = append(want, nest("tool_call")...)
	want = append(want, nest("model_call")...)
	want = append(want, "A loop_end", "B loop_end")
	if diff := cmp.Diff(want, log); diff != "" {
		t.Errorf("what was done (-want +got):\n%s", diff)
	}
}

// AG-46: an agent keeps no memory between runs; the caller passes the conversation.
func TestNoMemory(t *testing.T) {
	a, m := newAgent(t, loop.Config{}, saying("one"), saying("two"))
	first := mustRun(t, a, nil)
	mustRun(t, a, nil)
	if got := m.RecordedRequests()[1].Request.Messages; len(got) != 1 {
		t.Errorf("the second run was sent %d messages, want its own", len(got))
	}
	res, err := a.Run(t.Context(), loop.Continue(first.Messages, llm.User("more")), nil)
	if err != nil || res.Output != "two" || len(res.Messages) != 4 {
		t.Errorf("a conversation that was handed on: got %+v, %v", res, err)
	}
}

func TestNew(t *testing.T) {
	if _, err := agentier.New(nil, nil); err == nil || !strings.HasPrefix(err.Error(), "loop: New needs a model") {
		t.Errorf("no model: got %v", err)
	}
	a, err := agentier.New(fake.NewModel(saying("x")), nil)
	if err != nil {
		t.Fatal(err)
	}
	if res := mustRun(t, a, nil); res.Output != "x" {
		t.Errorf("the zero configuration: got %+v", res)
	}
}
