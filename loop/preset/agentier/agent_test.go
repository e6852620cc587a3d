package agentier_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

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
	cfg.Clock, cfg.Model = clock, "m"
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

// AG-24: neither a tool that always fails nor equal calls end the run of an agent before its limit.
func TestNoGuardAG24(t *testing.T) {
	bad := loop.Tool{Name: "bad", Run: func(context.Context, loop.Call) (loop.Output, error) { return loop.Output{}, errors.New("no luck") }}
	again := fake.Response{Repeat: 20, Calls: []fake.Call{{Name: "bad", Arguments: "{}"}}}
	a, m := newAgent(t, loop.Config{Tools: []loop.Tool{bad}}, again)
	if res := mustRun(t, a, nil); res.Stop != trace.ReasonMaxSteps || len(m.RecordedRequests()) != 10 || len(res.ToolCalls) != 10 {
		t.Errorf("stop %s after %d model calls and %d tools, want the limit after 10", res.Stop, len(m.RecordedRequests()), len(res.ToolCalls))
	}
}

// AG-40: the result has all fields that the reference documentation lists.
func TestResult(t *testing.T) {
	first := calling("c1", "c2")
	first.Text = "wait"
	first.Usage.CacheReadInputTokens, first.Usage.CacheCreationInputTokens, first.Usage.ReasoningOutputTokens = 4, 3, 2
	a, _ := newAgent(t, loop.Config{}, first, saying("done"))
	res := mustRun(t, a, nil)
	result := func(id string) llm.ToolResult {
		return llm.ToolResult{ID: id, Name: "a", Content: []llm.Part{llm.Text{Text: `{"id":"` + id + `"}`}}}
	}
	call := func(id string) agentier.ToolCall {
		return agentier.ToolCall{ID: id, Name: "a", Args: json.RawMessage(`{"id":"` + id + `"}`), Result: result(id), Value: `{"id":"` + id + `"}`, Duration: time.Second}
	}
	want := &agentier.Result{
		Output: "done",
		Stop:   trace.ReasonEndTurn,
		Messages: []llm.Message{
			llm.User("go"),
			llm.Assistant(llm.Text{Text: "wait"}, llm.ToolCall{ID: "c1", Name: "a", Arguments: `{"id":"c1"}`}, llm.ToolCall{ID: "c2", Name: "a", Arguments: `{"id":"c2"}`}),
			llm.ToolResults(result("c1")), llm.ToolResults(result("c2")),
			llm.Assistant(llm.Text{Text: "done"}),
		},
		ToolCalls: []agentier.ToolCall{call("c1"), call("c2")},
		Usage:     agentier.Usage{Usage: llm.Usage{InputTokens: 30, OutputTokens: 12, CacheReadInputTokens: 4, CacheCreationInputTokens: 3, ReasoningOutputTokens: 2}, Iterations: 2},
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
	a, m := newAgent(t, loop.Config{MaxSteps: 4, TokenBudget: 75, Deadline: 9500 * time.Millisecond}, many...)
	for name, c := range map[string]struct {
		opts       *agentier.RunOptions
		iterations int
		stop       trace.Reason
	}{
		"the agent's":             {nil, 4, trace.ReasonMaxSteps},
		"nothing changed":         {&agentier.RunOptions{}, 4, trace.ReasonMaxSteps},
		"fewer iterations":        {&agentier.RunOptions{MaxIterations: 2, OnToken: func(string) {}}, 2, trace.ReasonMaxSteps},
		"more iterations":         {&agentier.RunOptions{MaxIterations: 9}, 5, trace.ReasonBudget},
		"none":                    {&agentier.RunOptions{MaxIterations: loop.Disabled}, 0, trace.ReasonMaxSteps},
		"fewer tokens":            {&agentier.RunOptions{MaxTokens: 31}, 3, trace.ReasonBudget},
		"any number of tokens":    {&agentier.RunOptions{MaxTokens: loop.Unlimited, MaxIterations: 9}, 9, trace.ReasonMaxSteps},
		"more time, and tokens":   {&agentier.RunOptions{MaxTokens: 1000, MaxIterations: 15, Timeout: time.Minute}, 15, trace.ReasonMaxSteps},
		"all the time, and token": {&agentier.RunOptions{MaxTokens: 1000, MaxIterations: 15, Timeout: loop.Disabled}, 15, trace.ReasonMaxSteps},
	} {
		results := map[string]*agentier.Result{"Run": mustRun(t, a, c.opts)}
		for p := range a.Parts(t.Context(), loop.Prompt("go"), c.opts) {
			results["Parts"] = p.Complete
		}
		var err error
		if _, results["RunFor"], err = agentier.RunFor[count](t.Context(), a, loop.Prompt("go"), 3, c.opts); err != nil {
			t.Errorf("%s: RunFor: %v", name, err)
		}
		for entry, res := range results {
			if res == nil || res.Usage.Iterations != c.iterations || res.Stop != c.stop {
				t.Errorf("%s, %s: got %+v; want %d iterations, stop %q", name, entry, res, c.iterations, c.stop)
			}
		}
	}
	for _, r := range m.RecordedRequests() {
		if n := r.Request.Settings.MaxTokens; n != 0 {
			t.Errorf("a request limits its response to %d tokens", n)
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
		OnToolResult: func(name string, result any) { note("result %s %s", name, result) },
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
	a, _ = newAgent(t, loop.Config{MaxSteps: 1, Middleware: []loop.Middleware{spy}}, say)
	mustRun(t, a, callbacks(&log))
	want = append(want[:5:5], `complete "one two" after 1s`)
	if diff := cmp.Diff(want, log); diff != "" {
		t.Errorf("what was reported at a limit (-want +got):\n%s", diff)
	}
	log = nil
	a, _ = newAgent(t, loop.Config{Middleware: []loop.Middleware{spy}}, saying("done"))
	in := loop.Continue([]llm.Message{llm.User("go"), llm.Assistant(llm.ToolCall{ID: "c9", Name: "a", Arguments: "{}"})})
	in.Resume = &loop.Resume{}
	if _, err := a.Run(t.Context(), in, callbacks(&log)); err != nil {
		t.Error(err)
	}
	want = []string{"call a {}", "run c9", "result a {}", "token done", `complete "done" after 1s`}
	if diff := cmp.Diff(want, log); diff != "" {
		t.Errorf("what was reported of a resumed run (-want +got):\n%s", diff)
	}
}

// AG-29, AG-31: a model failure, also in the middle of a response, is passed to the callback and
// then returned with its cause, without a result. A tool failure is not passed to the callback.
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
	log = nil
	a, _ = newAgent(t, loop.Config{}, fake.Response{Text: "half", Error: &fake.Failure{Status: 500, After: 1, Message: "gone"}})
	if res, err := a.Run(t.Context(), loop.Prompt("go"), callbacks(&log)); res != nil || err == nil {
		t.Errorf("in the middle of a response: got %+v, %v", res, err)
	}
	if n := len(log); n != 2 || log[n-1] != "error agentier: MODEL_ERROR: loop: step 0: fake: status 500: gone" {
		t.Errorf("what was reported in the middle of a response: %q", log)
	}
	errMine := errors.New("no model") // not an error of a provider
	a, _ = newAgent(t, loop.Config{}, fake.Response{Err: errMine})
	_, err = a.Run(t.Context(), loop.Prompt("go"), nil)
	if e, ok := errors.AsType[*agentier.Error](err); !ok || e.Code != "MODEL_ERROR" || !errors.Is(err, errMine) {
		t.Errorf("another error: got %v", err)
	}
}

// inDeltas returns a model that sends each text of its responses in two deltas, whatever the
// mode of the request, and the modes of its requests.
func inDeltas(modes *[]llm.ResponseMode, turns ...fake.Response) llm.Model {
	return llm.ModelFunc(func(_ context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
		*modes = append(*modes, req.ResponseMode)
		turn := turns[(len(*modes)-1)%len(turns)]
		turn.Chunks, turn.Text = []string{turn.Text[:1], turn.Text[1:]}, ""
		return func(yield func(llm.Event, error) bool) {
			for _, ev := range turn.StreamingEvents() {
				if !yield(ev, nil) {
					return
				}
			}
		}
	})
}

// AG-25: with OnToken all requests of a run are streaming, and OnToken gets each delta when the model sends it,
// also of responses with calls. Without it all requests are non-streaming, and no part is a token, even
// if the model sends deltas.
func TestOnToken(t *testing.T) {
	var modes []llm.ResponseMode
	clock := fake.NewClock()
	say := calling("c1")
	say.Text = "ab"
	a, err := agentier.New(inDeltas(&modes, say, saying("cd")), &loop.Config{Model: "m", Clock: clock, Tools: []loop.Tool{echo(clock)}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		opts *agentier.RunOptions
		mode llm.ResponseMode
	}{
		{nil, llm.NonStreaming},
		{&agentier.RunOptions{OnToken: func(string) {}}, llm.Streaming},
		{&agentier.RunOptions{OnComplete: func(*agentier.Result) {}}, llm.NonStreaming},
		{&agentier.RunOptions{OnToolCall: func(string, json.RawMessage) {}}, llm.NonStreaming},
		{&agentier.RunOptions{OnToolResult: func(string, any) {}}, llm.NonStreaming},
		{&agentier.RunOptions{OnError: func(error) {}}, llm.NonStreaming},
	} {
		modes = nil
		mustRun(t, a, c.opts)
		if _, _, err := agentier.RunFor[count](t.Context(), a, loop.Prompt("go"), 0, c.opts); err == nil {
			t.Error("a text became a value")
		}
		if diff := cmp.Diff(slices.Repeat([]llm.ResponseMode{c.mode}, 4), modes); diff != "" {
			t.Errorf("the modes of the requests (-want +got):\n%s", diff)
		}
	}
	var tokens []string
	mustRun(t, a, &agentier.RunOptions{OnToken: func(token string) { tokens = append(tokens, token) }})
	if diff := cmp.Diff([]string{"a", "b", "c", "d"}, tokens); diff != "" {
		t.Errorf("tokens (-want +got):\n%s", diff)
	}
	clock = fake.NewClock()
	begun := clock.Now()
	slow := fake.Response{Chunks: []string{"a", "b"}, EventInterval: time.Second}
	live, err := agentier.New(&fake.Model{Clock: clock, Responses: []fake.Response{slow}}, &loop.Config{Model: "m", Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	tokens = nil
	mustRun(t, live, &agentier.RunOptions{OnToken: func(token string) { tokens = append(tokens, fmt.Sprint(token, " ", clock.Now().Sub(begun))) }})
	if diff := cmp.Diff([]string{"a 0s", "b 1s"}, tokens); diff != "" {
		t.Errorf("tokens and when they are sent (-want +got):\n%s", diff)
	}
	// The callbacks of the trace of a non-streaming run, too.
	var mem trace.Memory
	l, err := loop.New(inDeltas(&modes, saying("ab")), &loop.Config{ResponseMode: llm.NonStreaming, Sink: &mem, Deltas: true})
	if err != nil {
		t.Fatal(err)
	}
	modes = nil
	if _, err := l.Run(t.Context(), loop.Prompt("go")); err != nil {
		t.Fatal(err)
	}
	deltas := 0
	for _, ev := range mem.Events() {
		if _, ok := ev.Body.(trace.ModelDelta); ok {
			deltas++
		}
	}
	var parts []string
	for p := range agentier.Parts(recorded(mem.Events()...)) {
		parts = append(parts, p.Type)
	}
	if diff := cmp.Diff([]string{"onComplete"}, parts); diff != "" || deltas != 2 {
		t.Errorf("a trace with %d deltas has these parts (-want +got):\n%s", deltas, diff)
	}
}

// AG-25 to AG-27, AG-30, AG-52: Parts yields a part for each callback, as it happens, and does not
// call the caller's callbacks. The run ends when the caller stops the iteration.
func TestParts(t *testing.T) {
	var log []string
	a, m := newAgent(t, loop.Config{}, calling("c1"), saying("done"))
	for _, opts := range []*agentier.RunOptions{nil, {}, callbacks(&log)} {
		var got []string
		for p := range a.Parts(t.Context(), loop.Prompt("go"), opts) {
			got = append(got, p.Type)
		}
		if diff := cmp.Diff([]string{"onToolCall", "onToolResult", "onToken", "onComplete"}, got); diff != "" || log != nil {
			t.Errorf("parts (-want +got):\n%s\ncallbacks: %q", diff, log)
		}
	}
	asked := len(m.RecordedRequests())
	for p := range a.Parts(t.Context(), loop.Prompt("go"), nil) {
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

// AG-46: an agent keeps no memory between runs, also after calls, at a limit and after an error; the
// caller passes the conversation.
func TestNoMemory(t *testing.T) {
	a, m := newAgent(t, loop.Config{}, calling("c1"), saying("one"), saying("two"))
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := a.Run(ctx, loop.Prompt("go"), &agentier.RunOptions{OnToolResult: func(string, any) { cancel() }}); err == nil {
		t.Error("the first run did not fail")
	}
	first := mustRun(t, a, nil)
	mustRun(t, a, &agentier.RunOptions{MaxIterations: 1})
	mustRun(t, a, nil)
	var got []int
	for _, r := range m.RecordedRequests() {
		got = append(got, len(r.Request.Messages))
		if r.Request.System != nil {
			t.Errorf("a request has the system prompt %v", r.Request.System)
		}
	}
	if want := []int{1, 1, 3, 1, 1, 3}; !slices.Equal(got, want) {
		t.Errorf("the requests have %v messages, want %v", got, want)
	}
	if first.Messages[0].Text() != "go" || len(first.Messages) != 4 || len(first.ToolCalls) != 1 {
		t.Errorf("the run after an error: got %+v", first)
	}
	res, err := a.Run(t.Context(), loop.Continue(first.Messages, llm.User("more")), nil)
	if err != nil || res.Output != "two" || len(res.Messages) != 6 {
		t.Errorf("a conversation that was handed on: got %+v, %v", res, err)
	}
}

// AG-27: OnToolResult gets the value that the tool returned, not its text. A text stays a text.
func TestRawResults(t *testing.T) {
	type number struct {
		N int `json:"n"`
	}
	tools := make([]loop.Tool, 5)
	var errs [5]error
	tools[0], errs[0] = loop.NewTool("object", "", func(context.Context, struct{}) (number, error) { return number{1}, nil })
	tools[1], errs[1] = loop.NewTool("text", "", func(context.Context, struct{}) (string, error) { return "42", nil })
	tools[2], errs[2] = loop.NewTool("number", "", func(context.Context, struct{}) (int, error) { return 42, nil })
	tools[3], errs[3] = loop.RawTool("raw", "", nil, func(context.Context, loop.Call) (loop.Output, error) { return loop.TextOutput(`{"n":1}`), nil })
	tools[4], errs[4] = loop.NewTool("bad", "", func(context.Context, struct{}) (number, error) { return number{1}, errors.New("no") })
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	turn := fake.Response{}
	for _, tool := range tools {
		turn.Calls = append(turn.Calls, fake.Call{ID: tool.Name, Name: tool.Name, Arguments: "{}"})
	}
	a, m := newAgent(t, loop.Config{Tools: tools, Middleware: []loop.Middleware{middleware.TruncateResults(1)}}, turn, saying("done"))
	got := map[string]any{}
	res := mustRun(t, a, &agentier.RunOptions{OnToolResult: func(name string, result any) { got[name] = result }})
	want := map[string]any{"object": number{1}, "text": "42", "number": 42, "raw": "{\n(cut: the first 1 characters of a longer text)"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	if v := res.ToolCalls[0].Value; v != (number{1}) {
		t.Errorf("the result of the run has the value %v", v)
	}
	if text := m.RecordedRequests()[1].Request.Messages[2].Parts[0].(llm.ToolResult).Text(); !strings.HasPrefix(text, "{") {
		t.Errorf("the model got %q", text)
	}
	for _, c := range []struct {
		value any
		want  string
	}{{number{1}, `{"n":1}`}, {"42", `"42"`}, {42, "42"}} {
		line, err := agentier.Part{Type: "onToolResult", Name: "a", Value: c.value}.MarshalJSON()
		if want := `{"callback":"onToolResult","name":"a","result":` + c.want + `}`; string(line) != want || err != nil {
			t.Errorf("got %s, %v, want %s", line, err, want)
		}
	}
}

// facts are what the keys of an agent's configuration determine.
type facts struct {
	Model, Tools, Middleware string
	Iterations               int
	Stop                     trace.Reason
	Timeout                  time.Duration
	Options, Request         string // of the trace and of the first request, without the values that the other facts have
}

// probe returns the facts of an agent with a configuration.
func probe(t *testing.T, cfg loop.Config) (f facts) {
	t.Helper()
	clock := fake.NewClock()
	var mem trace.Memory
	cfg.Clock, cfg.Sink = clock, &mem
	given := cfg
	many := calling("c1")
	many.Calls[0].ID = "c{n}"
	many.Repeat = 40
	m := &fake.Model{Clock: clock, Responses: []fake.Response{many}}
	a, err := agentier.New(m, &cfg)
	if err != nil {
		t.Fatal(err)
	}
	res := mustRun(t, a, nil)
	req := m.RecordedRequests()[0].Request
	for _, tool := range req.Tools {
		f.Tools += tool.Name
	}
	for _, p := range cfg.Middleware {
		f.Middleware += p.Name
	}
	f.Model, f.Iterations, f.Stop = req.Model, res.Usage.Iterations, res.Stop
	f.Options = fmt.Sprint(mem.Events()[0].Body.(trace.RunStart).Options)
	sent := *req
	sent.Model, sent.Tools = "", nil
	f.Request = string(sent.AppendJSON(nil))
	if diff := cmp.Diff(given, cfg, cmpopts.IgnoreFields(loop.Config{}, "Clock", "Sink", "Tools", "Middleware")); diff != "" {
		t.Errorf("the configuration of the caller (-before +after):\n%s", diff)
	}
	if a, err = agentier.New(&fake.Model{Clock: clock, Responses: []fake.Response{{Stall: true}}}, &cfg); err != nil {
		t.Fatal(err)
	}
	begun := clock.Now()
	_, err = a.Run(t.Context(), loop.Prompt("go"), nil)
	if e, ok := errors.AsType[*agentier.Error](err); !ok || e.Code != "TIMEOUT" {
		t.Errorf("a model that hangs: got %v", err)
	}
	f.Timeout = clock.Now().Sub(begun)
	return f
}

// AG-47: each key of the configuration changes exactly what it names. The provider and the model
// are required.
func TestConfigKeys(t *testing.T) {
	base := facts{Model: "m", Iterations: 10, Stop: trace.ReasonMaxSteps, Timeout: time.Minute}
	base.Options = "[{preset agentier} {delivery buffered} {max_steps 10} {cap_at top} {concurrency unbounded} {deadline 1m0s} {grace 1s} {tool_message one_per_call} {error_flag off}]"
	base.Request = `{"model":"","messages":[{"role":"user","parts":[{"type":"text","text":"go"}]}],"response_mode":"buffered"}`
	declares := func(f *facts, from, to string) {
		if !strings.Contains(f.Options, from) {
			t.Errorf("the trace declares %s, without %q", f.Options, from)
		}
		f.Options = strings.Replace(f.Options, from, to, 1)
	}
	wrapped := 0
	counts := middleware.Wrap("counts", func(ctx context.Context, a *middleware.Action, next func(context.Context) error) error {
		if a.Kind == "model_call" {
			wrapped++
		}
		return next(ctx)
	})
	for name, c := range map[string]struct {
		set  func(*loop.Config)
		want func(*facts)
	}{
		"none":          {func(*loop.Config) {}, func(*facts) {}},
		"model":         {func(c *loop.Config) { c.Model = "gpt-4o" }, func(f *facts) { f.Model = "gpt-4o" }},
		"tools":         {func(c *loop.Config) { c.Tools = []loop.Tool{echo(fake.NewClock()), {Name: "b"}} }, func(f *facts) { f.Tools = "ab" }},
		"middleware":    {func(c *loop.Config) { c.Middleware = []loop.Middleware{middleware.KeepLast(50, 50), counts} }, func(f *facts) { f.Middleware = "keep_lastcounts" }},
		"maxIterations": {func(c *loop.Config) { c.MaxSteps = 15 }, func(f *facts) { f.Iterations = 15; declares(f, "max_steps 10", "max_steps 15") }},
		"maxTokens": {func(c *loop.Config) { c.TokenBudget = 31 }, func(f *facts) {
			f.Iterations, f.Stop = 3, trace.ReasonBudget
			declares(f, "{deadline ", "{token_budget 31} {deadline ")
		}},
		"timeout": {func(c *loop.Config) { c.Deadline = 2 * time.Minute }, func(f *facts) { f.Timeout = 2 * time.Minute; declares(f, "deadline 1m", "deadline 2m") }},
	} {
		cfg, want := loop.Config{Model: "m"}, base
		c.set(&cfg)
		c.want(&want)
		if diff := cmp.Diff(want, probe(t, cfg)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if wrapped != 11 { // 10 iterations, and the one that hangs
		t.Errorf("the middleware got %d model calls", wrapped)
	}
	for want, c := range map[string]struct {
		provider llm.Model
		cfg      *loop.Config
	}{
		"agentier: missing provider: pass a client, such as openai.NewChat(key)": {nil, &loop.Config{Model: "m"}},
		"agentier: missing model: set Config.Model to its name":                  {fake.NewModel(), nil},
	} {
		if _, err := agentier.New(c.provider, c.cfg); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// AG-47: an agent and a run may each have an output schema. That of the run wins.
func TestOutputSchema(t *testing.T) {
	schema, err := middleware.NewOutput([]byte(`{"type":"object","required":["city"]}`))
	if err != nil {
		t.Fatal(err)
	}
	cfg := loop.Config{Middleware: []loop.Middleware{schema.Middleware(0)}}
	a, _ := newAgent(t, cfg, saying(`{"city":"Rome"}`))
	if res := mustRun(t, a, nil); string(res.Value) != `{"city":"Rome"}` {
		t.Errorf("the schema of the agent: got %+v", res)
	}
	again, m := newAgent(t, loop.Config{Middleware: []loop.Middleware{schema.Middleware(1)}}, saying("no"), saying(`{"city":"Rome"}`))
	for n := 2; n <= 4; n += 2 {
		if res := mustRun(t, again, nil); res.Value == nil || len(m.RecordedRequests()) != n {
			t.Errorf("a run that asks again: got %+v after %d requests, want %d", res, len(m.RecordedRequests()), n)
		}
	}
	a, m = newAgent(t, cfg, saying(`{"n":1}`))
	got, _, err := agentier.RunFor[count](t.Context(), a, loop.Prompt("go"), 0, nil)
	if err != nil || got.N != 1 {
		t.Errorf("the schema of the run: got %v, %v", got, err)
	}
	if sent := m.RecordedRequests()[0].Request.Settings.OutputSchema; !strings.Contains(string(sent), `"n"`) {
		t.Errorf("the run sent the schema %s", sent)
	}
	if res, err := a.Run(t.Context(), loop.Prompt("go"), nil); err == nil { // the agent still has its own
		t.Errorf("the next run of the agent: got %+v, want an error", res)
	}
}

// AG-15, AG-18 to AG-20, AG-27, AG-41, AG-42, AG-49, AG-52: each of two calls of a tool in a step has its callbacks,
// its arguments, the signal of the run, its result message and its place in the result of the run, in each step.
func TestEachCall(t *testing.T) {
	type in struct {
		ID string `json:"id"`
	}
	type out struct{ Of string }
	var signals []<-chan struct{}
	tool := func(name string) loop.Tool {
		tool, err := loop.NewTool(name, "", func(ctx context.Context, arguments in) (out, error) {
			signals = append(signals, ctx.Done())
			if name == "bad" {
				return out{}, errors.New("no " + arguments.ID)
			}
			return out{arguments.ID}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return tool
	}
	var turns []fake.Response
	var want, wantCalls, wantMessages []string
	for step := range 2 {
		var turn fake.Response
		var after []string
		wantMessages = append(wantMessages, "assistant/4")
		for _, name := range []string{"good", "bad"} {
			for n := range 2 {
				id := fmt.Sprint(step, name, n)
				arguments := fmt.Sprintf(`{"id":%q}`, id)
				turn.Calls = append(turn.Calls, fake.Call{ID: id, Name: name, Arguments: arguments})
				want = append(want, "call "+name+" "+arguments)
				text := "Error: no " + id
				if name == "good" {
					text = fmt.Sprintf(`{"Of":%q}`, id)
					after = append(after, "result good {"+id+"}")
				}
				wantCalls = append(wantCalls, id+" "+name+" "+arguments+" "+text)
				wantMessages = append(wantMessages, "tool/1 "+id+" "+text)
			}
		}
		want = append(want, after...)
		turns = append(turns, turn)
	}
	a, _ := newAgent(t, loop.Config{Concurrency: 1, Tools: []loop.Tool{tool("good"), tool("bad")}}, append(turns, saying("done"))...)
	var log, gotCalls, gotMessages []string
	res := mustRun(t, a, &agentier.RunOptions{
		OnToolCall:   func(name string, args json.RawMessage) { log = append(log, "call "+name+" "+string(args)) },
		OnToolResult: func(name string, result any) { log = append(log, fmt.Sprint("result ", name, " ", result)) },
	})
	for _, c := range res.ToolCalls {
		gotCalls = append(gotCalls, c.ID+" "+c.Name+" "+string(c.Args)+" "+c.Result.Text())
		if v, typed := c.Value.(out); typed != (c.Name == "good") || typed && v.Of != c.ID {
			t.Errorf("the call %s has the value %v", c.ID, c.Value)
		}
	}
	for _, m := range res.Messages[1 : len(res.Messages)-1] {
		line := fmt.Sprintf("%s/%d", m.Role, len(m.Parts))
		if r, ok := m.Parts[0].(llm.ToolResult); ok {
			line += " " + r.ID + " " + r.Text()
		}
		gotMessages = append(gotMessages, line)
	}
	for _, pair := range [][2][]string{{want, log}, {wantCalls, gotCalls}, {wantMessages, gotMessages}} {
		if diff := cmp.Diff(pair[0], pair[1]); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	for i, done := range signals {
		select {
		case <-done:
		default:
			t.Errorf("the signal of the call %d does not end with the run", i)
		}
	}
	if len(signals) != 8 {
		t.Errorf("got %d tool runs", len(signals))
	}
}

// AG-49: a tool gets its decoded arguments, and a context that ends with the run. A tool without
// a name or a function is an error.
func TestDefineTool(t *testing.T) {
	type in struct {
		URL string `json:"url"`
	}
	ctx, cancel := context.WithCancel(t.Context())
	var got in
	var before, after error
	tool, err := loop.NewTool("fetch_data", "Fetch data from an API", func(ctx context.Context, arguments in) (string, error) {
		got, before = arguments, ctx.Err()
		cancel()
		after = ctx.Err()
		return "data", nil
	})
	if err != nil {
		t.Fatal(err)
	}
	a, m := newAgent(t, loop.Config{Tools: []loop.Tool{tool}}, fake.Response{Calls: []fake.Call{{ID: "c1", Name: "fetch_data", Arguments: `{"url":"https://example.com"}`}}})
	_, err = a.Run(ctx, loop.Prompt("go"), nil)
	if e, ok := errors.AsType[*agentier.Error](err); !ok || e.Code != "ABORTED" {
		t.Errorf("got %v", err)
	}
	if got.URL != "https://example.com" || before != nil || !errors.Is(after, context.Canceled) {
		t.Errorf("the tool got %+v and a context with the errors %v and %v", got, before, after)
	}
	sent := m.RecordedRequests()[0].Request.Tools[0]
	if sent.Name != "fetch_data" || sent.Description != "Fetch data from an API" || !strings.Contains(string(sent.Parameters), `"url":{"type":"string"}`) {
		t.Errorf("the definition is %+v", sent)
	}
	run := func(context.Context, in) (string, error) { return "", nil }
	if _, err := loop.NewTool("", "", run); err == nil || !strings.Contains(err.Error(), `the tool name ""`) {
		t.Errorf("a tool without a name: got %v", err)
	}
	if _, err := loop.NewTool[in, string]("fetch_data", "", nil); err == nil || !strings.Contains(err.Error(), `the tool "fetch_data" has no function`) {
		t.Errorf("a tool without a function: got %v", err)
	}
}

// AG-51: a prompt is one user message, and each option works alone. Concurrent runs of an agent
// share nothing.
func TestRunArguments(t *testing.T) {
	two := []fake.Response{{Calls: []fake.Call{{ID: "c1", Name: "b", Arguments: "{}"}}}, saying("done")}
	tool, err := loop.NewTool("b", "", func(context.Context, struct{}) (int, error) { return 7, nil })
	if err != nil {
		t.Fatal(err)
	}
	run := func(ctx context.Context, opts *agentier.RunOptions) (*agentier.Result, []llm.Message, error) {
		a, m := newAgent(t, loop.Config{Tools: []loop.Tool{tool}}, two...)
		res, err := a.Run(ctx, loop.Prompt("x"), opts)
		return res, m.RecordedRequests()[0].Request.Messages, err
	}
	_, sent, err := run(t.Context(), nil)
	if diff := cmp.Diff([]llm.Message{llm.User("x")}, sent); diff != "" || err != nil {
		t.Errorf("the first request: %v (-want +got):\n%s", err, diff)
	}
	if res, _, _ := run(t.Context(), &agentier.RunOptions{MaxIterations: 1}); res.Usage.Iterations != 1 {
		t.Errorf("maxIterations: got %+v", res)
	}
	var got []string
	note := func(s string) { got = append(got, s) }
	for _, opts := range []*agentier.RunOptions{
		{OnToken: func(token string) { note("token " + token) }},
		{OnToolCall: func(name string, _ json.RawMessage) { note("call " + name) }},
		{OnToolResult: func(name string, result any) { note(fmt.Sprintf("result %s %T", name, result)) }},
		{OnComplete: func(res *agentier.Result) { note("complete " + res.Output) }},
	} {
		if _, _, err := run(t.Context(), opts); err != nil {
			t.Error(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	a, _ := newAgent(t, loop.Config{Tools: []loop.Tool{tool}}, two...)
	_, err = a.Run(ctx, loop.Prompt("x"), &agentier.RunOptions{OnToolCall: func(string, json.RawMessage) { cancel() }})
	if e, ok := errors.AsType[*agentier.Error](err); !ok || e.Code != "ABORTED" { // the signal
		t.Errorf("a canceled context: got %v", err)
	}
	_, err = a.Run(ctx, loop.Prompt("x"), &agentier.RunOptions{OnError: func(err error) { note(fmt.Sprint("error ", errors.Is(err, context.Canceled))) }})
	if diff := cmp.Diff([]string{"token done", "call b", "result b int", "complete done", "error true"}, got); diff != "" || err == nil {
		t.Errorf("callbacks: %v (-want +got):\n%s", err, diff)
	}
	echoes := llm.ModelFunc(func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
		answer := calling("c1")
		if len(req.Messages) > 1 {
			answer = saying(req.Messages[0].Text())
		}
		return fake.NewModel(answer).Stream(ctx, req)
	})
	a, err = agentier.New(echoes, &loop.Config{Model: "m", Tools: []loop.Tool{{Name: "a", Run: func(context.Context, loop.Call) (loop.Output, error) { return loop.TextOutput("A"), nil }}}})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			prompt, calls := fmt.Sprint("run ", n), 0
			res, err := a.Run(t.Context(), loop.Prompt(prompt), &agentier.RunOptions{OnToolCall: func(string, json.RawMessage) { calls++ }})
			if err != nil || res.Output != prompt || len(res.Messages) != 4 || res.Usage.Iterations != 2 || calls != 1 {
				t.Errorf("%s: got %+v, %v", prompt, res, err)
			}
		})
	}
	all.Wait()
}

// AG-52: all five callbacks in one run, and those of a run that fails.
func TestAllCallbacks(t *testing.T) {
	var log []string
	say := calling("c1")
	say.Chunks = []string{"a", "b"}
	a, _ := newAgent(t, loop.Config{}, say, saying("c"))
	mustRun(t, a, callbacks(&log))
	want := []string{"token a", "token b", `call a {"id":"c1"}`, `result a {"id":"c1"}`, "token c", `complete "c" after 1s`}
	if diff := cmp.Diff(want, log); diff != "" {
		t.Errorf("a run (-want +got):\n%s", diff)
	}
	log = nil
	a, _ = newAgent(t, loop.Config{}, fake.Response{Err: errors.New("boom")})
	if _, err := a.Run(t.Context(), loop.Prompt("go"), callbacks(&log)); err == nil {
		t.Error("the second run did not fail")
	}
	if diff := cmp.Diff([]string{"error agentier: MODEL_ERROR: loop: step 0: boom"}, log); diff != "" {
		t.Errorf("a run that fails (-want +got):\n%s", diff)
	}
}

// AG-57: the limits of an agent apply to each run by itself: iterations, tokens and time.
func TestLimitsOfEachRun(t *testing.T) {
	text := saying("done")
	text.Usage = llm.Usage{InputTokens: 15}
	a, _ := newAgent(t, loop.Config{TokenBudget: 50, MaxSteps: 2}, calling("c1"), text)
	for n := range 5 {
		if res := mustRun(t, a, nil); res.Stop != trace.ReasonEndTurn || res.Usage.Total() != 30 || res.Usage.Iterations != 2 {
			t.Errorf("run %d: got %+v", n, res)
		}
	}
	slow := saying("done")
	for _, c := range []struct {
		takes time.Duration
		code  string
	}{{119 * time.Second, ""}, {121 * time.Second, "TIMEOUT"}, {119 * time.Second, ""}} {
		slow.Delay = c.takes
		a, m := newAgent(t, loop.Config{Deadline: 120 * time.Second}, slow, slow)
		for range 2 {
			code := ""
			_, err := a.Run(t.Context(), loop.Prompt("go"), nil)
			if e, ok := errors.AsType[*agentier.Error](err); ok {
				code = e.Code
			}
			if code != c.code || err != nil && code == "" {
				t.Errorf("a run of %v: got %v", c.takes, err)
			}
		}
		if n := len(m.RecordedRequests()); n != 2 {
			t.Errorf("got %d requests", n)
		}
	}
	many := make([]fake.Response, 40)
	for i := range many {
		many[i] = calling(fmt.Sprint("c", i))
	}
	for name, c := range map[string]struct {
		cfg       loop.Config
		own       agentier.RunOptions
		run, next string // with the options, and then without
	}{
		"iterations": {loop.Config{MaxSteps: 15}, agentier.RunOptions{MaxIterations: 25}, "25 max_steps", "15 max_steps"},
		"tokens":     {loop.Config{MaxSteps: 9, TokenBudget: 45}, agentier.RunOptions{MaxTokens: 1000}, "9 max_steps", "3 budget"},
		"time":       {loop.Config{MaxSteps: 9, Deadline: 3500 * time.Millisecond, DeadlineReturns: true}, agentier.RunOptions{Timeout: time.Minute}, "9 max_steps", "4 deadline"},
	} {
		a, _ := newAgent(t, c.cfg, many...)
		var got []string
		for _, opts := range []*agentier.RunOptions{&c.own, nil} {
			res := mustRun(t, a, opts)
			got = append(got, fmt.Sprint(res.Usage.Iterations, " ", res.Stop))
		}
		if diff := cmp.Diff([]string{c.run, c.next}, got); diff != "" {
			t.Errorf("%s of a run, then of the agent (-want +got):\n%s", name, diff)
		}
	}
}
