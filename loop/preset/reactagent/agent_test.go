package reactagent_test

import (
	"context"
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
	"github.com/looptape/looptape/loop/preset/reactagent"
	"github.com/looptape/looptape/loop/store"
	"github.com/looptape/looptape/trace"
)

// RA-01: options that are not set have the defaults of the reference documentation.
// RA-47: the budget, the deadline and retries are disabled.
func TestDefaults(t *testing.T) {
	b := newBench(t, text("done"))
	a := b.agent(reactagent.Config{})
	b.run(a, "thread", "go")
	req := b.model.RecordedRequests()[0].Request
	if req.System.Text() != "" || len(req.Tools) != 0 || len(a.Stack()) != 0 {
		t.Errorf("got the request %+v, the stack %q", req, a.Stack())
	}
	want := trace.Options{
		{Name: "preset", Value: "reactagent"}, {Name: "max_steps", Value: "24"}, {Name: "cap_at", Value: "top"}, {Name: "on_cap", Value: "force_final"},
		{Name: "concurrency", Value: "unbounded"}, {Name: "tool_message", Value: "one_per_call"}, {Name: "assistant_append", Value: "after_hooks"},
		{Name: "duplicate_round", Value: "skip"},
	}
	if diff := cmp.Diff(want, of[trace.RunStart](b.all)[0].Options); diff != "" {
		t.Errorf("options (-want +got):\n%s", diff)
	}
	b = newBench(t, calling("task", `{"description":"look","subagent_type":"looker"}`), text("looked"), text("done"))
	b.run(b.deep(reactagent.DeepConfig{SubAgents: []reactagent.SubAgent{{Name: "looker", Tools: []loop.Tool{tool("a")}}}}), "", "go")
	starts := of[trace.RunStart](b.all)
	if len(starts) != 2 {
		t.Errorf("got %d runs of an agent and its sub-agent", len(starts))
	}
	for _, s := range starts {
		if diff := cmp.Diff(want, s.Options); diff != "" {
			t.Errorf("options of an agent and its sub-agent (-want +got):\n%s", diff)
		}
	}
	var all []loop.Tool
	names := strings.Fields("write_todos ls task ask_user fetch grep head git_log shell")
	for _, name := range names {
		all = append(all, tool(name))
	}
	b = newBench(t, text("done"))
	b.run(b.agent(reactagent.Config{Config: loop.Config{Tools: all}}), "", "go")
	if diff := cmp.Diff(names, b.offered(0)); diff != "" {
		t.Errorf("offered (-want +got):\n%s", diff)
	}
	if a, err := reactagent.New(b.model, nil); err != nil || len(a.Stack()) != 0 {
		t.Errorf("without a Config: got %v, %v", a, err)
	}
}

// Fill keeps the options that the caller sets.
func TestFillKeeps(t *testing.T) {
	cfg := reactagent.Fill(loop.Config{MaxSteps: 3, Concurrency: 2, MaxConsecutiveToolErrors: 4, ErrorText: func(string, error) string { return "own" }})
	if cfg.MaxSteps != 3 || cfg.Concurrency != 2 || cfg.MaxConsecutiveToolErrors != 4 || cfg.ErrorText("", nil) != "own" {
		t.Errorf("got %+v", cfg)
	}
}

// brings returns middleware that adds tools.
func brings(name string, tools ...string) loop.Middleware {
	var list []loop.Tool
	for _, n := range tools {
		list = append(list, tool(n))
	}
	return loop.Middleware{Name: name, New: func(loop.RunInfo) loop.Hooks { return loop.Hooks{Tools: list} }}
}

// RA-02, RA-03: the agent's tools come first, then those of its middleware, in order.
// Disabled tools are omitted. A call of a disabled tool is a call of an unknown tool.
func TestDisabledTools(t *testing.T) {
	b := newBench(t, calling("b", "{}", "d", "{}", "c", "{}"), text("done"))
	own := []loop.Tool{tool("a"), tool("b")}
	policies := []loop.Middleware{brings("one", "c"), brings("two", "d", "e", "f")}
	a := b.agent(reactagent.Config{Config: loop.Config{Tools: own, Middleware: policies}, DisabledTools: []string{"b", "d", "f", "zzz"}})
	if ok, _ := b.run(a, "", "go"); !ok {
		t.Error("the run failed")
	}
	if diff := cmp.Diff([]string{"a", "c", "e"}, b.offered(0)); diff != "" {
		t.Errorf("offered (-want +got):\n%s", diff)
	}
	want := []string{"user: go", "assistant: bdc", `tool: {"error":"there is no tool \"b\"; the tools are a, c, e"}`, `tool: {"error":"there is no tool \"d\"; the tools are a, c, e"}`, "tool: c"}
	if diff := cmp.Diff(want, b.asked(1)); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if len(own) != 2 || own[1].Name != "b" {
		t.Errorf("the caller's tools are %v now", own)
	}
}

// RA-02: two tools with one name are an error, either of New or at the start of the run.
func TestToolsOfOneName(t *testing.T) {
	if _, err := reactagent.New(fake.NewModel(), &reactagent.Config{Config: loop.Config{Tools: []loop.Tool{tool("a"), tool("a")}}}); err == nil || err.Error() != `reactagent: loop: two tools have the name "a"` {
		t.Errorf("got %v", err)
	}
	b := newBench(t)
	a := b.agent(reactagent.Config{Config: loop.Config{Tools: []loop.Tool{tool("a")}, Middleware: []loop.Middleware{brings("p", "a")}}})
	if ok, events := b.run(a, "", "go"); ok || len(events) != 1 || !strings.Contains(events[0], `two tools have the name \"a\"`) {
		t.Errorf("got %t, %q", ok, events)
	}
	if _, err := reactagent.New(fake.NewModel(), &reactagent.Config{Config: loop.Config{Middleware: []loop.Middleware{{Name: "p"}}}}); err == nil {
		t.Error("a policy without New: got no error")
	}
}

// watcher returns middleware that records its hook calls.
func watcher(name string, seen *[]string) loop.Middleware {
	note := func(format string, args ...any) { *seen = append(*seen, name+" "+fmt.Sprintf(format, args...)) }
	return loop.Middleware{Name: name, New: func(loop.RunInfo) loop.Hooks {
		return loop.Hooks{
			BeforeStep: func(_ context.Context, s *loop.StepInfo) (loop.StepChange, error) {
				note("before %d", len(s.History()))
				return loop.StepChange{}, nil
			},
			AfterModel: func(_ context.Context, s *loop.StepInfo, _ *llm.Response) (loop.Decision, error) {
				note("after %d", len(s.History()))
				return loop.Decision{}, nil
			},
			WrapTool: func(next loop.ToolFunc) loop.ToolFunc {
				return func(ctx context.Context, call loop.Call) (loop.Output, error) {
					note("in")
					defer note("out")
					return next(ctx, call)
				}
			},
		}
	}}
}

// RA-11: hooks after the model call receive the thread without the response. RA-15: both
// hooks of all middleware are called in each step, in the order of the list. RA-17,
// RA-65: the first middleware is outermost around the tools and keeps its position.
func TestHookOrder(t *testing.T) {
	var seen []string
	b := newBench(t, calling("a", "{}"), calling("a", `{"n":2}`), text("done"))
	run := tool("a")
	run.Run = func(context.Context, loop.Call) (loop.Output, error) {
		seen = append(seen, "runs")
		return loop.TextOutput("A"), nil
	}
	a := b.agent(reactagent.Config{Config: loop.Config{Tools: []loop.Tool{run}, Middleware: []loop.Middleware{watcher("x", &seen), watcher("y", &seen)}}})
	b.run(a, "", "go")
	want := []string{
		"x before 1", "y before 1", "x after 1", "y after 1", "x in", "y in", "runs", "y out", "x out",
		"x before 3", "y before 3", "x after 3", "y after 3", "x in", "y in", "runs", "y out", "x out",
		"x before 5", "y before 5", "x after 5", "y after 5",
	}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("seen (-want +got):\n%s", diff)
	}
}

// RA-31: the hooks of all middleware are called for the forced final answer, too.
func TestHooksOfFinalAnswer(t *testing.T) {
	var seen []string
	wrap := loop.Middleware{Name: "wrap", New: func(loop.RunInfo) loop.Hooks {
		return loop.Hooks{WrapModel: func(next loop.ModelFunc) loop.ModelFunc {
			return func(ctx context.Context, call loop.ModelCall) (*llm.Response, error) {
				seen = append(seen, fmt.Sprint("model ", len(call.Request.Tools)))
				return next(ctx, call)
			}
		}}
	}}
	b := newBench(t, calling("a", "{}"), text("done"))
	a := b.agent(reactagent.Config{Config: loop.Config{Tools: []loop.Tool{tool("a")}, MaxSteps: 1, Middleware: []loop.Middleware{watcher("x", &seen), watcher("y", &seen), wrap}}})
	b.run(a, "", "go")
	want := []string{
		"x before 1", "y before 1", "model 1", "x after 1", "y after 1", "x in", "y in", "y out", "x out",
		"x before 3", "y before 3", "model 0", "x after 3", "y after 3",
	}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("seen (-want +got):\n%s", diff)
	}
}

// RA-16: the thread keeps a message that a wrapper omits from a request. The wrapper of
// the first middleware is outermost.
func TestRequestRewritten(t *testing.T) {
	var order []string
	wrap := func(name string, drop bool) loop.Middleware {
		return loop.Middleware{Name: name, New: func(loop.RunInfo) loop.Hooks {
			return loop.Hooks{WrapModel: func(next loop.ModelFunc) loop.ModelFunc {
				return func(ctx context.Context, call loop.ModelCall) (*llm.Response, error) {
					order = append(order, name)
					if drop && call.Step == 1 {
						req := *call.Request
						req.Messages = req.Messages[1:]
						call.Request = &req
					}
					return next(ctx, call)
				}
			}}
		}}
	}
	memory := &reactagent.Memory{}
	b := newBench(t, text("hello"), calling("a", "{}"), text("done"))
	first := b.agent(reactagent.Config{Memory: memory, Config: loop.Config{Tools: []loop.Tool{tool("a")}}})
	b.run(first, "t", "hi")
	a, err := reactagent.New(b.model, &reactagent.Config{Memory: memory, Config: loop.Config{Tools: []loop.Tool{tool("a")}, Middleware: []loop.Middleware{wrap("x", false), wrap("y", true)}}})
	if err != nil {
		t.Fatal(err)
	}
	b.run(a, "t", "go")
	if diff := cmp.Diff([]string{"assistant: hello", "user: go", "assistant: a", "tool: a"}, b.asked(2)); diff != "" {
		t.Errorf("the request (-want +got):\n%s", diff)
	}
	kept, err := memory.Load(t.Context(), "t")
	want := []string{"user: hi", "assistant: hello", "user: go", "assistant: a", "tool: a", "assistant: done"}
	if diff := cmp.Diff(want, short(kept)); diff != "" || err != nil {
		t.Errorf("the thread: %v (-want +got):\n%s", err, diff)
	}
	if fmt.Sprint(order) != "[x y x y]" {
		t.Errorf("got %v", order)
	}
}

// RA-34, RA-35, RA-36: a run succeeds, or its last event contains the reason for its
// failure. A listener is optional. RA-30, RA-32: a run whose final answer is forced succeeds, even if the answer is empty.
func TestRunResult(t *testing.T) {
	boom := errors.New("boom")
	for name, c := range map[string]struct {
		turns []fake.Response
		ok    bool
		want  []string
		limit int
	}{
		"succeeds": {turns: []fake.Response{text("done")}, ok: true, want: []string{`{"type":"token","text":"done"}`, `{"type":"modelCompleted"}`, `{"type":"completed"}`}},
		"limit":    {[]fake.Response{text("forced")}, true, []string{`{"type":"token","text":"forced"}`, `{"type":"modelCompleted"}`, `{"type":"completed"}`}, -1},
		"empty":    {[]fake.Response{{}}, true, []string{`{"type":"modelCompleted"}`, `{"type":"completed"}`}, -1},
		"length":   {turns: []fake.Response{{Text: "do", FinishReason: llm.FinishLength}}, ok: true, want: []string{`{"type":"token","text":"do"}`, `{"type":"modelCompleted"}`, `{"type":"completed"}`}},
		"fails":    {turns: []fake.Response{{Err: boom}}, want: []string{`{"type":"modelCompleted","isError":true}`, `{"type":"failed","error":"loop: step 0: boom"}`}},
	} {
		b := newBench(t, c.turns...)
		cfg := reactagent.Config{Config: loop.Config{MaxSteps: c.limit}}
		ok, events := b.run(b.agent(cfg), "", "go")
		if diff := cmp.Diff(c.want, events); diff != "" || ok != c.ok {
			t.Errorf("%s: got %t (-want +got):\n%s", name, ok, diff)
		}
		b = newBench(t, c.turns...)
		if ok := b.agent(cfg).Run(t.Context(), []llm.Message{llm.User("go")}, "", nil); ok != c.ok {
			t.Errorf("%s, without a listener: got %t", name, ok)
		}
	}
	for moment, want := range map[string][]string{
		"token":          {"token", "modelCompleted", "failed"},
		"modelCompleted": {"token", "modelCompleted", "failed"},
		"toolStarted":    {"token", "modelCompleted", "toolStarted", "toolCompleted", "failed"},
		"toolCompleted":  {"token", "modelCompleted", "toolStarted", "toolCompleted", "failed"},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		first := calling("a", "{}")
		first.Text = "x"
		var got []string
		ok := newBench(t, first, text("done")).agent(reactagent.Config{Config: loop.Config{Tools: []loop.Tool{tool("a")}}}).Run(ctx, []llm.Message{llm.User("go")}, "", func(e reactagent.Event) {
			if got = append(got, e.Type); e.Type == moment {
				cancel()
			}
		})
		if diff := cmp.Diff(want, got); diff != "" || ok {
			t.Errorf("canceled at %s: got %t (-want +got):\n%s", moment, ok, diff)
		}
		cancel()
	}
	b := newBench(t, fake.Response{Err: boom})
	for e := range b.agent(reactagent.Config{}).Events(t.Context(), []llm.Message{llm.User("go")}, "") {
		if e.Type != "modelCompleted" && (e.Type != "failed" || !errors.Is(e.Err, boom)) {
			t.Errorf("got %+v", e)
		}
	}
}

// RA-63: the input is a list that follows the messages of the thread. RA-35: an empty
// input is an error, which the only event contains.
func TestInput(t *testing.T) {
	b := newBench(t, text("one"), text("two"))
	a := b.agent(reactagent.Config{Memory: &reactagent.Memory{}})
	b.run(a, "t", "first")
	if !a.Run(t.Context(), []llm.Message{llm.User("second"), llm.User("third")}, "t", nil) {
		t.Error("the run failed")
	}
	if diff := cmp.Diff([]string{"user: first", "assistant: one", "user: second", "user: third"}, b.asked(1)); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	var events []reactagent.Event
	if a.Run(t.Context(), nil, "t", func(e reactagent.Event) { events = append(events, e) }) {
		t.Error("a run of no input succeeded")
	}
	if len(events) != 1 || events[0].Type != "failed" || events[0].Err.Error() != "reactagent: the input has no messages: add one" {
		t.Errorf("got %+v", events)
	}
}

// RA-40, RA-41: a thread is stored under its name, with its calls and results, if there
// is a memory and a name. RA-64: otherwise runs share nothing.
func TestThreads(t *testing.T) {
	stored := []string{"user: one", "assistant: a", "tool: a", "assistant: x", "user: two"}
	for _, c := range []struct {
		memory       *reactagent.Memory
		thread       string
		other        string
		second, last []string // requests
	}{
		{&reactagent.Memory{}, "t", "t", stored, append(slices.Clip(stored), "assistant: y", "user: three")},
		{&reactagent.Memory{}, "t", "tu", []string{"user: two"}, []string{"user: two", "assistant: y", "user: three"}},
		{&reactagent.Memory{}, "", "", []string{"user: two"}, []string{"user: three"}},
		{&reactagent.Memory{Store: &store.Memory{}}, "t", "t", stored, append(slices.Clip(stored), "assistant: y", "user: three")},
		{&reactagent.Memory{Store: &store.Memory{}}, "t", "tu", []string{"user: two"}, []string{"user: two", "assistant: y", "user: three"}},
		{nil, "t", "t", []string{"user: two"}, []string{"user: three"}},
	} {
		b := newBench(t, calling("a", "{}"), text("x"), text("y"), text("z"))
		a := b.agent(reactagent.Config{Memory: c.memory, Config: loop.Config{Tools: []loop.Tool{tool("a")}}})
		if ok, _ := b.run(a, c.thread, "one"); !ok {
			t.Error("the first run failed")
		}
		b.run(a, c.other, "two")
		b.run(a, c.other, "three")
		if diff := cmp.Diff([][]string{c.second, c.last}, [][]string{b.asked(2), b.asked(3)}); diff != "" {
			t.Errorf("%q, then %q (-want +got):\n%s", c.thread, c.other, diff)
		}
	}
	for name, memory := range map[string]*reactagent.Memory{"in memory": {}, "functions": funcMemory(), "a store": {Store: &store.Memory{}}, "a disk": {Store: &store.Disk{Dir: t.TempDir()}}} {
		testThreadsOfNames(t, name, memory)
		testLongThread(t, name, memory)
	}
}

// testThreadsOfNames stores threads with similar names. Each continues with its own messages, which do not
// change with the list that was stored.
func testThreadsOfNames(t *testing.T, kind string, memory *reactagent.Memory) {
	t.Helper()
	names := []string{"thread-1", "thread-2", "Thread-1", "thread-1 ", "thread-11", "1-thread", "2-thread", "thread/1", "thread_1", "../thread-1", "thread-é", "thread-ë"}
	for _, name := range names {
		list := []llm.Message{llm.User("in " + name)}
		if err := memory.Save(t.Context(), name, list); err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		if kind != "functions" {
			list[0] = llm.User("changed")
		}
	}
	for _, name := range names {
		b := newBench(t, text("x"))
		b.run(b.agent(reactagent.Config{Memory: memory}), name, "next")
		if diff := cmp.Diff([]string{"user: in " + name, "user: next"}, b.asked(0)); diff != "" {
			t.Errorf("%s: the thread %q (-want +got):\n%s", kind, name, diff)
		}
	}
}

// testLongThread continues a thread of many turns. The request and what is stored have all of them.
func testLongThread(t *testing.T, kind string, memory *reactagent.Memory) {
	t.Helper()
	b, want := newBench(t, fake.Response{Repeat: 30, Calls: []fake.Call{{ID: "c{n}", Name: "a", Arguments: `{"n":{n}}`}}}, text("x"), text("y")), []string{}
	a := b.agent(reactagent.Config{Memory: memory, Config: loop.Config{MaxSteps: 100, Tools: []loop.Tool{tool("a")}}})
	var before []llm.Message
	for n := range 100 {
		before = append(before, llm.User(fmt.Sprint("turn ", n)), llm.Assistant(llm.Text{Text: fmt.Sprint("answer ", n)}))
	}
	if err := memory.Save(t.Context(), "long", before); err != nil {
		t.Fatalf("%s: %v", kind, err)
	}
	b.run(a, "long", "next")
	want = append(append(want, short(before)...), "user: next")
	if diff := cmp.Diff(want, b.asked(0)); diff != "" {
		t.Errorf("%s: a long thread (-want +got):\n%s", kind, diff)
	}
	for range 30 {
		want = append(want, "assistant: a", "tool: a")
	}
	b.run(a, "long", "last")
	want = append(want, "assistant: x", "user: last")
	if diff := cmp.Diff(want, b.asked(31)); diff != "" {
		t.Errorf("%s: after a long run (-want +got):\n%s", kind, diff)
	}
}

// If middleware ends a run before its first step, the input is stored.
func TestThreadWithoutStep(t *testing.T) {
	stop := loop.Middleware{Name: "stop", New: func(loop.RunInfo) loop.Hooks {
		return loop.Hooks{BeforeStep: func(context.Context, *loop.StepInfo) (loop.StepChange, error) {
			return loop.StepChange{Decision: loop.Decision{Action: trace.Stop}}, nil
		}}
	}}
	memory := &reactagent.Memory{}
	b := newBench(t)
	if ok, _ := b.run(b.agent(reactagent.Config{Memory: memory, Config: loop.Config{Middleware: []loop.Middleware{stop}}}), "t", "go"); !ok {
		t.Error("the run failed")
	}
	if kept, _ := memory.Load(t.Context(), "t"); len(kept) != 1 {
		t.Errorf("kept %q", short(kept))
	}
}

// RA-41: nothing is stored for a run that fails or that the caller stops.
func TestFailedRunsAreNotStored(t *testing.T) {
	memory := &reactagent.Memory{}
	b := newBench(t, text("one"), fake.Response{Err: errors.New("boom")}, text("left"))
	a := b.agent(reactagent.Config{Memory: memory})
	b.run(a, "t", "first")
	if ok, _ := b.run(a, "t", "second"); ok {
		t.Error("the second run succeeded")
	}
	for range a.Events(t.Context(), []llm.Message{llm.User("third")}, "t") {
		break
	}
	kept, _ := memory.Load(t.Context(), "t")
	if diff := cmp.Diff([]string{"user: first", "assistant: one"}, short(kept)); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
}

// RA-36: a run is completed after its thread is stored. RA-35: it fails if the memory fails, and
// its last event contains the error.
func TestMemoryFails(t *testing.T) {
	for _, c := range []struct {
		memory *broken
		want   []string
	}{
		{&broken{}, []string{`{"type":"token","text":"x"}`, `{"type":"modelCompleted"}`, `{"type":"completed"}`}},
		{&broken{load: true}, []string{`{"type":"failed","error":"reactagent: loading the thread \"t\": disk on fire"}`}},
		{&broken{save: true}, []string{`{"type":"token","text":"x"}`, `{"type":"modelCompleted"}`, `{"type":"failed","error":"reactagent: saving the thread \"t\": disk on fire"}`}},
		{&broken{load: true, panics: true}, []string{`{"type":"failed","error":"reactagent: loading the thread \"t\": the memory panicked: disk gone"}`}},
		{&broken{save: true, panics: true}, []string{`{"type":"token","text":"x"}`, `{"type":"modelCompleted"}`, `{"type":"failed","error":"reactagent: saving the thread \"t\": the memory panicked: disk gone"}`}},
	} {
		b := newBench(t, text("x"))
		ok, events := b.run(b.agent(reactagent.Config{Memory: c.memory.memory()}), "t", "go")
		if diff := cmp.Diff(c.want, events); diff != "" || ok != !(c.memory.load || c.memory.save) {
			t.Errorf("got %t (-want +got):\n%s", ok, diff)
		}
	}
}

// A run without a listener has the same result and stores the same thread.
func TestRunWithoutListener(t *testing.T) {
	for name, c := range map[string]struct {
		turn   fake.Response
		memory *reactagent.Memory
		input  []llm.Message
		ok     bool
		kept   []string
	}{
		"succeeds":   {text("x"), &reactagent.Memory{}, []llm.Message{llm.User("go")}, true, []string{"user: go", "assistant: x"}},
		"fails":      {fake.Response{Err: errors.New("boom")}, &reactagent.Memory{}, []llm.Message{llm.User("go")}, false, nil},
		"no input":   {text("x"), &reactagent.Memory{}, nil, false, nil},
		"not loaded": {text("x"), (&broken{load: true}).memory(), []llm.Message{llm.User("go")}, false, nil},
		"not kept":   {text("x"), (&broken{save: true}).memory(), []llm.Message{llm.User("go")}, false, nil},
		"panics":     {text("x"), (&broken{save: true, panics: true}).memory(), []llm.Message{llm.User("go")}, false, nil},
	} {
		b := newBench(t, c.turn)
		ok := b.agent(reactagent.Config{Memory: c.memory}).Run(t.Context(), c.input, "t", nil)
		kept, _ := c.memory.Load(t.Context(), "t")
		if diff := cmp.Diff(c.kept, short(kept), cmpopts.EquateEmpty()); ok != c.ok || diff != "" {
			t.Errorf("%s: got %t, kept (-want +got):\n%s", name, ok, diff)
		}
	}
}

// RA-46: a canceled run fails with the cause of its cancel.
func TestRunCanceled(t *testing.T) {
	for _, why := range []error{errors.New("the user went away"), context.Canceled} {
		testRunCanceled(t, why)
	}
}

func testRunCanceled(t *testing.T, why error) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := tool("a")
	stop.Run = func(ctx context.Context, _ loop.Call) (loop.Output, error) {
		cancel(why)
		return loop.Output{}, ctx.Err()
	}
	b := newBench(t, calling("a", "{}"))
	a := b.agent(reactagent.Config{Config: loop.Config{Tools: []loop.Tool{stop}}})
	var last reactagent.Event
	if a.Run(ctx, []llm.Message{llm.User("go")}, "", func(e reactagent.Event) { last = e }) || last.Type != "failed" || !errors.Is(last.Err, why) {
		t.Errorf("got %+v", last)
	}
	ctx, cancel = context.WithCancelCause(t.Context()) // stop calls this cancel
	defer cancel(nil)
	b = newBench(t, calling("a", "{}"))
	if b.agent(reactagent.Config{Config: loop.Config{Tools: []loop.Tool{stop}}}).Run(ctx, []llm.Message{llm.User("go")}, "", nil) {
		t.Errorf("%v: a run without a listener succeeded", why)
	}
}

// RA-39: one listener receives the events of many concurrent tools, one at a time. RA-64:
// an agent executes many runs concurrently, also with one thread, and makes the hooks of each.
func TestRunsConcurrently(t *testing.T) {
	memory := &reactagent.Memory{}
	var turn []string
	for n := range 8 {
		turn = append(turn, "a", fmt.Sprintf(`{"n":%d}`, n))
	}
	model := llm.ModelFunc(func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
		answer := text("done")
		if req.Messages[len(req.Messages)-1].Role == llm.RoleUser {
			answer = calling(turn...)
		}
		return fake.NewModel(answer).Stream(ctx, req)
	})
	own := loop.Middleware{Name: "own", New: func(loop.RunInfo) loop.Hooks {
		steps := 0
		return loop.Hooks{BeforeStep: func(context.Context, *loop.StepInfo) (c loop.StepChange, err error) {
			if steps++; steps > 2 {
				t.Error("two runs have the same hooks")
			}
			return c, nil
		}}
	}}
	b := newBench(t)
	a, err := reactagent.New(model, &reactagent.Config{Memory: memory, Config: loop.Config{Tools: []loop.Tool{tool("a")}, Middleware: []loop.Middleware{own}, Sink: b}})
	b.made(a, err)
	var all sync.WaitGroup
	for n := range 4 {
		all.Go(func() {
			thread := "shared"
			if n%2 == 0 {
				thread = ""
			}
			var types []string
			ok := a.Run(t.Context(), []llm.Message{llm.User(fmt.Sprint("run ", n))}, thread, func(e reactagent.Event) { types = append(types, e.Type) })
			if !ok || len(types) != 20 || types[19] != "completed" {
				t.Errorf("run %d: got %t, %q", n, ok, types)
			}
		})
	}
	all.Wait()
	if kept, _ := memory.Load(t.Context(), "shared"); len(kept) < 11 {
		t.Errorf("kept %q", short(kept))
	}
}

// RA-48, RA-49: both factories log each message that the agent receives and adds, but not
// the earlier messages of the thread. Those of a step are logged before the next model call. RA-50: a
// failure of the log changes nothing.
func TestLog(t *testing.T) {
	var logged []llm.Message
	log := func(m llm.Message) error {
		logged = append(logged, m)
		return errors.New("full")
	}
	inTime := loop.Middleware{Name: "in time", New: func(loop.RunInfo) loop.Hooks {
		return loop.Hooks{AfterModel: func(_ context.Context, s *loop.StepInfo, _ *llm.Response) (loop.Decision, error) {
			if sent := s.Request.Messages; len(logged) < len(sent) {
				t.Errorf("logged %q before the answer to %q", short(logged), short(sent))
			}
			return loop.Decision{}, nil
		}}
	}}
	base := reactagent.Config{Log: log, Memory: &reactagent.Memory{}, Config: loop.Config{Tools: []loop.Tool{tool("a")}, MaxSteps: 1, Middleware: []loop.Middleware{inTime}}}
	for name, make := range map[string]func(b *bench) *reactagent.Agent{
		"createAgent":     func(b *bench) *reactagent.Agent { return b.agent(base) },
		"createDeepAgent": func(b *bench) *reactagent.Agent { return b.deep(reactagent.DeepConfig{Config: base}) },
	} {
		logged, base.Memory = nil, &reactagent.Memory{}
		first := calling("a", `{"n":1}`)
		first.Text, first.Reasoning = "so", "hm"
		b := newBench(t, first, text("forced"), text("again"))
		a := make(b)
		if ok, _ := b.run(a, "t", "go"); !ok {
			t.Errorf("%s: the run failed", name)
		}
		b.run(a, "t", "more")
		want := []string{"user: go", "assistant: soa", "tool: a", "assistant: forced", "user: more", "assistant: again"}
		if diff := cmp.Diff(want, short(logged)); diff != "" {
			t.Errorf("%s: logged (-want +got):\n%s", name, diff)
		}
		thread, err := base.Memory.Load(t.Context(), "t")
		if diff := cmp.Diff(thread, logged); diff != "" || err != nil {
			t.Errorf("%s: %v, logged (-thread +got):\n%s", name, err, diff)
		}
	}
}

// RA-48: all messages of an input are logged and those of the thread are not, for each
// kind of end.
func TestLogInputs(t *testing.T) {
	var logged []llm.Message
	log := func(m llm.Message) error { logged = append(logged, m); return nil }
	b := newBench(t, calling("a", "{}"), fake.Response{}, text("again"))
	a := b.agent(reactagent.Config{Log: log, Memory: &reactagent.Memory{}, Config: loop.Config{Tools: []loop.Tool{tool("a")}, MaxSteps: 1}})
	input := []llm.Message{llm.User("hi"), llm.Assistant(llm.Text{Text: "hello"}), llm.User("go")}
	if !a.Run(t.Context(), input, "t", nil) {
		t.Error("the run failed")
	}
	b.run(a, "t", "more")
	want := []string{"user: hi", "assistant: hello", "user: go", "assistant: a", "tool: a", "user: more", "assistant: again"}
	if diff := cmp.Diff(want, short(logged)); diff != "" {
		t.Errorf("logged (-want +got):\n%s", diff)
	}
}

// Fill keeps the caller's behavior at the step limit.
func TestCallerStepLimit(t *testing.T) {
	b := newBench(t, calling("a", "{}"))
	ok, events := b.run(b.agent(reactagent.Config{Config: loop.Config{Tools: []loop.Tool{tool("a")}, MaxSteps: 1, OnStepLimit: loop.StepLimitError}}), "", "go")
	if last := events[len(events)-1]; ok || !strings.HasPrefix(last, `{"type":"failed","error":"`+loop.ErrMaxSteps.Error()) {
		t.Errorf("got %t, %q", ok, events)
	}
}

// windowed is a model that reports its context window.
type windowed struct {
	llm.Model
	tokens int
}

func (w windowed) ContextWindow() int { return w.tokens }

// RA-43: the window is the configured number, or else the number that the model reports,
// or else unknown.
func TestContextWindow(t *testing.T) {
	for _, c := range []struct {
		own, model, want int
	}{{0, 0, 0}, {0, 500, 500}, {300, 500, 300}, {300, 0, 300}} {
		a, err := reactagent.New(windowed{fake.NewModel(), c.model}, &reactagent.Config{ContextWindow: c.own})
		if err != nil {
			t.Fatal(err)
		}
		if n, ok := a.ContextWindow(); n != c.want || ok != (c.want > 0) {
			t.Errorf("%+v: got %d, %t", c, n, ok)
		}
	}
	a, err := reactagent.New(fake.NewModel(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if n, ok := a.ContextWindow(); n != 0 || ok {
		t.Errorf("got %d, %t", n, ok)
	}
}

// RA-42, RA-45: Compact summarizes a thread of any length.
func TestCompact(t *testing.T) {
	memory := &reactagent.Memory{}
	var turns []fake.Response
	for n := range 10 {
		turns = append(turns, text(fmt.Sprint("answer ", n)))
	}
	b := newBench(t, append(turns, text("they counted"), text("next"), text("in short"))...)
	a := b.deep(reactagent.DeepConfig{Config: reactagent.Config{Memory: memory, Config: loop.Config{Model: "m"}}, Summary: middleware.Summarizer{Trigger: 1}})
	for n := range 10 {
		b.run(a, "t", fmt.Sprint("question ", n))
	}
	done := a.Compact(t.Context(), "t")
	if done == nil || done.Summary != "they counted" || len(done.Replaced) != 14 {
		t.Fatalf("got %+v", done)
	}
	req := b.model.RecordedRequests()[10].Request
	if req.Model != "m" || len(req.Tools) != 0 || !strings.HasPrefix(req.System.Text(), "You sum up") || !strings.HasPrefix(req.Messages[0].Text(), "user: question 0\nassistant: answer 0\n") {
		t.Errorf("the request for it: %+v", req)
	}
	b.run(a, "t", "and?")
	want := []string{
		"user: This is a summary of the conversation so far:\n\nthey counted", "assistant: I have read the summary and go on from there.",
		"user: question 7", "assistant: answer 7", "user: question 8", "assistant: answer 8", "user: question 9", "assistant: answer 9", "user: and?",
	}
	if diff := cmp.Diff(want, b.asked(11)); diff != "" {
		t.Errorf("the conversation continues (-want +got):\n%s", diff)
	}
	short := []llm.Message{llm.User("a"), llm.Assistant(llm.Text{Text: "b"}), llm.User("c"), llm.Assistant(llm.Text{Text: "d"})}
	if err := memory.Save(t.Context(), "short", short); err != nil {
		t.Fatal(err)
	}
	if done := a.Compact(t.Context(), "short"); done == nil || len(done.Messages) != 4 || len(done.Replaced) != 2 {
		t.Errorf("a short thread: got %+v", done)
	}
}

// RA-42: Compact returns nil if there is nothing to summarize, and if the memory, the model, the
// settings or the archive fails, which then leaves the thread unchanged. It never panics.
func TestCompactNothing(t *testing.T) {
	thread := []llm.Message{llm.User("a"), llm.Assistant(llm.Text{Text: "b"}), llm.User("c")}
	summary := []llm.Message{llm.User("This is a summary of the conversation so far:\n\nshort"), llm.Assistant(llm.Text{Text: "I have read the summary and go on from there."}), llm.User("d")}
	kept := func() *broken {
		b := &broken{}
		if err := errors.Join(b.Save(t.Context(), "t", thread), b.Save(t.Context(), "", thread), b.Save(t.Context(), "s", summary)); err != nil {
			t.Fatal(err)
		}
		return b
	}
	for name, c := range map[string]struct {
		load, save, panics bool
		cfg                reactagent.DeepConfig
		thread             string
		turn               fake.Response
	}{
		"no name":         {thread: "", turn: text("short")}, // also if the memory has such a thread
		"no thread":       {thread: "u"},
		"a summary only":  {thread: "s", turn: text("short")},
		"no summaries":    {thread: "t", cfg: reactagent.DeepConfig{NoSummary: true}},
		"not loaded":      {thread: "t", load: true},
		"not saved":       {thread: "t", save: true, turn: text("short")},
		"panics":          {thread: "t", save: true, panics: true, turn: text("short")},
		"no response":     {thread: "t", turn: fake.Response{Err: errors.New("boom")}},
		"an empty one":    {thread: "t"},
		"not archived":    {thread: "t", turn: text("short"), cfg: archiving(func() error { return errors.New("full") })},
		"archiver panics": {thread: "t", turn: text("short"), cfg: archiving(func() error { panic("full") })},
	} {
		memory := kept()
		memory.load, memory.save, memory.panics = c.load, c.save, c.panics
		c.cfg.Memory = memory.memory()
		if done := newBench(t, c.turn).deep(c.cfg).Compact(t.Context(), c.thread); done != nil {
			t.Errorf("%s: got %+v", name, done)
		}
		memory.load, memory.save = false, false
		if left, err := memory.Load(t.Context(), "t"); err != nil || !cmp.Equal(left, thread) {
			t.Errorf("%s: the thread is %q, %v", name, short(left), err)
		}
	}
	if done := newBench(t).deep(reactagent.DeepConfig{}).Compact(t.Context(), "t"); done != nil {
		t.Errorf("no memory: got %+v", done)
	}
	a := newBench(t, text("short")).deep(reactagent.DeepConfig{Config: reactagent.Config{Memory: kept().memory()}, Summary: middleware.Summarizer{Reserve: 10}})
	a.SetContextWindow(5)
	if done := a.Compact(t.Context(), "t"); done != nil {
		t.Errorf("a window that is too small: got %+v", done)
	}
}

func archiving(archive func() error) reactagent.DeepConfig {
	return reactagent.DeepConfig{Summary: middleware.Summarizer{Archive: func(context.Context, []llm.Message) error { return archive() }}}
}

// Another model may write summaries. It receives its own model name.
func TestCompactByAnotherModel(t *testing.T) {
	memory := &reactagent.Memory{}
	if err := memory.Save(t.Context(), "t", []llm.Message{llm.User("a"), llm.Assistant(llm.Text{Text: "b"}), llm.User("c")}); err != nil {
		t.Fatal(err)
	}
	writer := fake.NewModel(text("short"))
	b := newBench(t)
	a := b.deep(reactagent.DeepConfig{
		Config:  reactagent.Config{Memory: memory, Config: loop.Config{Tools: []loop.Tool{tool("a")}, ToolChoice: llm.ToolChoice{Mode: llm.ChooseTool, Name: "a"}, OnStep: func(loop.Step) { t.Error("a step of the agent's") }}},
		Summary: middleware.Summarizer{Model: writer, ModelName: "small", Prompt: "sum up"},
	})
	done := a.Compact(t.Context(), "t")
	req := writer.RecordedRequests()[0].Request
	if done == nil || done.Summary != "short" || req.Model != "small" || req.System.Text() != "sum up" || req.ToolChoice != (llm.ToolChoice{}) || len(req.Tools) != 0 || len(b.model.RecordedRequests()) != 0 {
		t.Errorf("got %+v, request %+v", done, req)
	}
}

// A thread with a summary of the same run is stored in its new form.
func TestThreadAfterSummary(t *testing.T) {
	memory := &reactagent.Memory{}
	long := strings.Repeat("abc ", 60)
	b := newBench(t, text(long), text(long), text("they talked"), text("done"))
	a := b.deep(reactagent.DeepConfig{Config: reactagent.Config{Memory: memory, ContextWindow: 2000}, NoFilesystem: true, NoGeneralPurpose: true, Summary: middleware.Summarizer{Window: 400, KeepMessages: 1}})
	b.run(a, "t", long)
	b.run(a, "t", "two")
	b.run(a, "t", "three")
	kept, _ := memory.Load(t.Context(), "t")
	got := short(kept)
	if !slices.Contains(got, "user: three") || got[0] != "user: This is a summary of the conversation so far:\n\nthey talked" || got[len(got)-1] != "assistant: done" {
		t.Errorf("kept %q", got)
	}
}

// RA-13: with either factory, each request has all messages and tools in order, and the system prompt
// if there is one. RA-11, RA-37: the events have the text of each response when the model sends it.
func TestTurnRA13(t *testing.T) {
	for _, system := range []string{"", "be brief"} {
		for name, factory := range map[string]func(*bench, reactagent.Config) *reactagent.Agent{
			"createAgent": (*bench).agent,
			"createDeepAgent": func(b *bench, cfg reactagent.Config) *reactagent.Agent {
				cfg.DisabledTools = []string{"write_todos"}
				return b.deep(reactagent.DeepConfig{Config: cfg, NoFilesystem: true})
			},
		} {
			first := calling("a", "{}")
			first.Chunks, first.EventInterval = []string{"s", "o"}, time.Second
			b := newBench(t, first, text("done"))
			clock := fake.NewClock()
			begun := clock.Now()
			b.model.Clock = clock
			a := factory(b, reactagent.Config{Config: loop.Config{Clock: clock, System: system, Tools: []loop.Tool{tool("a"), tool("b")}}})
			var said []string
			if !a.Run(t.Context(), []llm.Message{llm.User("hi"), llm.Assistant(llm.Text{Text: "hello"}), llm.User("go")}, "", func(e reactagent.Event) {
				if e.Type == "token" {
					said = append(said, fmt.Sprint(e.Text, " ", clock.Now().Sub(begun)))
				}
			}) {
				t.Fatalf("%s: the run failed", name)
			}
			if diff := cmp.Diff([]string{"s 0s", "o 1s", "done 5s"}, said); diff != "" {
				t.Errorf("%s: tokens and when they are sent (-want +got):\n%s", name, diff)
			}
			want := []string{"user: hi", "assistant: hello", "user: go", "assistant: soa", "tool: a"}
			for i, r := range b.model.RecordedRequests() {
				got := append(short(r.Request.Messages), b.offered(i)...)
				if diff := cmp.Diff(append(slices.Clone(want[:3+2*i]), "a", "b"), got); diff != "" || r.Request.System.Text() != system {
					t.Errorf("%s, request %d: system %q, messages and tools (-want +got):\n%s", name, i, r.Request.System.Text(), diff)
				}
			}
		}
	}
}
