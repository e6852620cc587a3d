package orchestrate_test

import (
	"context"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"iter"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/history"
	"github.com/looptape/looptape/loop/layers"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/loop/orchestrate"
	"github.com/looptape/looptape/trace"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func agent(t *testing.T, m llm.Model, cfg loop.Config) *loop.Agent {
	t.Helper()
	a, err := loop.New(m, &cfg)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func says(text string) fake.Response { return fake.Response{Text: text} }

var errBoom = errors.New("boom")

func fails() fake.Response { return fake.Response{Err: errBoom} }

func same(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// parent returns a history with a system prompt and two messages.
func parent(t *testing.T) *history.History {
	t.Helper()
	h := history.New("p")
	if err := h.Layers().Set(layers.Fixed(layers.SystemName, "parent", "")); err != nil {
		t.Fatal(err)
	}
	h.SetSystem("shared")
	h.Append(llm.User("before"), history.Meta{})
	h.Append(llm.Assistant(llm.Text{Text: "yes"}), history.Meta{})
	return h
}

// AL-94: an agent continues from a fork, and the original does not change.
func TestAL94Delegate(t *testing.T) {
	for _, c := range []struct{ own, want string }{{"child", "child\n\nshared"}, {"", "parent\n\nshared"}} {
		h := parent(t)
		before := h.Export()
		m := fake.NewModel(says("r"))
		res, fork, err := orchestrate.Delegate(t.Context(), agent(t, m, loop.Config{System: c.own}), h, "do it")
		if err != nil || res.Text != "r" {
			t.Fatalf("got %+v, %v", res, err)
		}
		same(t, "the parent's history", before, h.Export())
		req := m.Requests()[0]
		if len(req.Messages) != 3 || req.Messages[2].Text() != "do it" || req.System.Text() != c.want {
			t.Errorf("the request: %d messages, system %q, want %q", len(req.Messages), req.System.Text(), c.want)
		}
		if fork.Len() != 4 || fork.Messages()[3].Text() != "r" {
			t.Errorf("the fork has %d messages", fork.Len())
		}
	}
	tool := loop.Tool{Name: "a", Run: func(context.Context, loop.Call) (loop.Output, error) { return loop.TextOutput("A"), nil }}
	works := agent(t, fake.NewModel(fake.Response{Calls: []fake.Call{{ID: "c1", Name: "a", Arguments: "{}"}}}, says("r")), loop.Config{Tools: []loop.Tool{tool}})
	if res, fork, err := orchestrate.Delegate(t.Context(), works, parent(t), "do it"); err != nil || fork.Len() != 6 || res.Steps[0].Results[0].Text() != "A" {
		t.Errorf("an agent with a tool: %+v, %v", res, err)
	}
	if _, fork, err := orchestrate.Delegate(t.Context(), agent(t, fake.NewModel(says("r")), loop.Config{}), history.New("new"), "do it"); err != nil || fork.Len() != 2 {
		t.Errorf("from a history of nothing: %v", err)
	}
	partly := parent(t)
	partly.Append(llm.Assistant(llm.ToolCall{ID: "1", Name: "a", Arguments: "{}"}, llm.ToolCall{ID: "2", Name: "a", Arguments: "{}"}), history.Meta{})
	partly.Append(llm.ToolResults(llm.ToolResult{ID: "1", Name: "a"}), history.Meta{})
	if _, fork, err := orchestrate.Delegate(t.Context(), agent(t, fake.NewModel(says("r")), loop.Config{}), partly, "do it"); err != nil || fork.Len() != 4 {
		t.Errorf("from a response with some of its results: %v, the fork has %d messages", err, fork.Len())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := orchestrate.Delegate(ctx, agent(t, fake.NewModel(says("r")), loop.Config{}), parent(t), "do it"); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
	h := parent(t)
	res, fork, err := orchestrate.Delegate(t.Context(), agent(t, fake.NewModel(fails()), loop.Config{}), h, "do it")
	if !errors.Is(err, errBoom) || res == nil || fork.Len() != 3 || h.Len() != 2 {
		t.Errorf("a run that fails: %v, the fork has %d messages", err, fork.Len())
	}
}

// AL-94: in a tool, the child does not receive the response that called the tool. The child's
// run is recorded below the call.
func TestAL94DelegateInTool(t *testing.T) {
	h := parent(t)
	m := fake.NewModel(says("r"))
	var mem []trace.Event
	sink := trace.SinkFunc(func(ev trace.Event) error { mem = append(mem, ev); return nil })
	child := agent(t, m, loop.Config{Sink: sink})
	tool, err := loop.NewTool("ask_child", "", func(ctx context.Context, _ struct{}) (string, error) {
		call, _ := loop.CallFromContext(ctx)
		h.Append(llm.Assistant(llm.ToolCall{ID: call.ID, Name: "ask_child", Arguments: "{}"}), history.Meta{})
		res, _, err := orchestrate.Delegate(ctx, child, h, "do it")
		return res.Text, err
	})
	if err != nil {
		t.Fatal(err)
	}
	top := agent(t, fake.NewModel(fake.Response{Calls: []fake.Call{{ID: "c1", Name: "ask_child", Arguments: "{}"}}}, says("done")), loop.Config{Tools: []loop.Tool{tool}, Sink: sink})
	res, err := top.Run(t.Context(), loop.Prompt("go"))
	if err != nil || res.Steps[0].Results[0].Text() != "r" {
		t.Fatalf("got %+v, %v", res, err)
	}
	if got := m.Requests()[0].Messages; len(got) != 3 || got[2].Text() != "do it" || h.Len() != 3 {
		t.Errorf("the request of the child has %d messages", len(got))
	}
	if !slices.ContainsFunc(mem, func(ev trace.Event) bool { return ev.Run == "r1/c1" }) {
		t.Error("the child's run is not recorded under its call")
	}
}

// AL-95: the system prompt of each agent contains the final text of the agent before it.
func TestAL95Chain(t *testing.T) {
	models := []*fake.Model{fake.NewModel(says("one")), fake.NewModel(says("two")), fake.NewModel(says("three"))}
	var agents []*loop.Agent
	for i, m := range models {
		agents = append(agents, agent(t, m, loop.Config{System: fmt.Sprint("role ", i)}))
	}
	results, err := orchestrate.Chain(t.Context(), "the task", agents...)
	if err != nil || len(results) != 3 || results[2].Text != "three" {
		t.Fatalf("got %d results, %v", len(results), err)
	}
	var got []string
	for _, m := range models {
		got = append(got, m.Requests()[0].System.Text()+": "+m.Requests()[0].Messages[0].Text())
	}
	same(t, "what each was asked", []string{"role 0: the task", "role 1\n\none: the task", "role 2\n\ntwo: the task"}, got)

	tool := loop.Tool{Name: "a", Run: func(context.Context, loop.Call) (loop.Output, error) { return loop.TextOutput("A"), nil }}
	works := agent(t, fake.NewModel(fake.Response{Calls: []fake.Call{{ID: "c1", Name: "a", Arguments: "{}"}}}, says("r")), loop.Config{Tools: []loop.Tool{tool}})
	if results, err := orchestrate.Chain(t.Context(), "t", works); err != nil || results[0].Text != "r" || results[0].Steps[0].Results[0].Text() != "A" {
		t.Errorf("an agent with a tool: %+v, %v", results, err)
	}
	last := fake.NewModel(says("never"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := orchestrate.Chain(ctx, "t", agent(t, last, loop.Config{})); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
	results, err = orchestrate.Chain(t.Context(), "t", agent(t, fake.NewModel(says("one")), loop.Config{}), agent(t, fake.NewModel(fails()), loop.Config{}), agent(t, last, loop.Config{}))
	if !errors.Is(err, errBoom) || !strings.HasPrefix(err.Error(), "orchestrate: Chain: agent 2 of 3: ") || len(results) != 2 || len(last.RecordedRequests()) != 0 {
		t.Errorf("a failure within: %d results, %v", len(results), err)
	}

	found := middleware.Guardrail{Name: "g", Kind: middleware.GuardOutput, Check: func(context.Context, middleware.GuardrailCheck) (middleware.GuardrailResult, error) {
		return middleware.GuardrailResult{Tripwire: true, Reason: "not for others"}, nil
	}}
	guarded := loop.Config{Middleware: []loop.Middleware{middleware.Guardrails([]middleware.Guardrail{found}, nil)}}
	results, err = orchestrate.Chain(t.Context(), "t", agent(t, fake.NewModel(says("secret")), guarded), agent(t, last, loop.Config{}))
	if err == nil || err.Error() != "orchestrate: Chain: agent 1 of 2: a guardrail ended the agent's run: not for others" || len(results) != 1 || len(last.RecordedRequests()) != 0 {
		t.Errorf("a guardrail within: %d results, %v", len(results), err)
	}
}

// AL-96: one model call contains all contributions in order.
func TestAL96Consolidate(t *testing.T) {
	m := fake.NewModel(says("all in all"))
	res, err := orchestrate.Consolidate(t.Context(), agent(t, m, loop.Config{}), "Sum up.", []orchestrate.Contribution{{Name: "a", Text: "one"}, {Name: "b", Err: errBoom}, {Name: "c", Text: "three"}})
	if err != nil || res.Text != "all in all" || len(m.RecordedRequests()) != 1 {
		t.Fatalf("got %+v, %v", res, err)
	}
	if _, err := orchestrate.Consolidate(t.Context(), agent(t, fake.NewModel(fails()), loop.Config{}), "Sum up.", nil); !errors.Is(err, errBoom) {
		t.Errorf("a run that fails: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := orchestrate.Consolidate(ctx, agent(t, fake.NewModel(says("r")), loop.Config{}), "Sum up.", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
	same(t, "what it was asked", "Sum up.\n\n[1] a:\none\n\n[2] b failed: boom\n\n[3] c:\nthree", m.Requests()[0].Messages[0].Text())
}

// DA-47: concurrent runs share nothing, and the results have the order of the inputs.
func TestDA47Parallel(t *testing.T) {
	clock := fake.NewClock()
	lanes := map[string][]fake.Response{}
	for i, delay := range []time.Duration{30, 10, 20} {
		lanes[fmt.Sprint("m", i)] = []fake.Response{{Delay: delay * time.Millisecond, Text: fmt.Sprint("answer ", i)}}
	}
	m := &fake.Model{Clock: clock, Sessions: lanes}
	var ended []string
	ask := func(ctx context.Context, i int) (string, error) {
		res, err := agent(t, m, loop.Config{Model: fmt.Sprint("m", i), Clock: clock}).Run(ctx, loop.Prompt("go"))
		ended = append(ended, res.Text)
		return res.Text, err
	}
	begin := clock.Now()
	got, err := orchestrate.Parallel(clock, ask)(t.Context(), []int{0, 1, 2})
	if err != nil || clock.Now().Sub(begin) != 30*time.Millisecond {
		t.Errorf("took %v, %v", clock.Now().Sub(begin), err)
	}
	same(t, "in order", []string{"answer 0", "answer 1", "answer 2"}, got)
	same(t, "as they ended", []string{"answer 1", "answer 2", "answer 0"}, ended)
	for i := range 3 {
		if req := m.Requests()[i]; len(req.Messages) != 1 {
			t.Errorf("a request has %d messages", len(req.Messages))
		}
	}
}

// One failure fails the whole step after all calls have ended, and cancels none.
func TestParallelFails(t *testing.T) {
	for _, clock := range []loop.Clock{nil, fake.NewClock()} {
		got, err := orchestrate.Parallel(clock, func(ctx context.Context, i int) (int, error) {
			switch i {
			case 5:
				if clock != nil { // ends after those that fail
					return 50, clock.Sleep(ctx, time.Second)
				}
			case 1:
				return 0, errBoom
			case 2:
				panic("oh")
			case 3:
				runtime.Goexit()
			}
			return i * 10, nil
		})(t.Context(), []int{4, 1, 2, 3, 5})
		same(t, "what came of the others", []int{40, 0, 0, 0, 50}, got)
		want := "orchestrate: 2 of 5: boom\norchestrate: 3 of 5: the step panicked: oh\norchestrate: 4 of 5: ended its goroutine instead of returning"
		if err == nil || err.Error() != want || !errors.Is(err, errBoom) {
			t.Errorf("got %v", err)
		}
	}
	if got, err := orchestrate.Parallel(nil, func(_ context.Context, i int) (int, error) { return i, nil })(t.Context(), nil); err != nil || len(got) != 0 {
		t.Errorf("of nothing: %v, %v", got, err)
	}
}

// DA-48: plan, search concurrently, write, verify, with typed values between the steps.
func TestDA48Pipeline(t *testing.T) {
	clock := fake.NewClock()
	var order []string
	worker := func(name, answer string) *loop.Agent {
		return agent(t, llmFunc(clock, name, answer, &order), loop.Config{Clock: clock})
	}
	ask := func(name, answer string) orchestrate.Step[string, string] {
		return func(ctx context.Context, question string) (string, error) {
			res, err := worker(name, answer).Run(ctx, loop.Prompt(question))
			return question + ">" + res.Text, err
		}
	}
	plan := orchestrate.Then(ask("plan", "a,b"), func(_ context.Context, text string) ([]string, error) {
		_, list, _ := strings.Cut(text, ">")
		return strings.Split(list, ","), nil
	})
	write := orchestrate.Then(func(_ context.Context, found []string) (string, error) { return strings.Join(found, "+"), nil }, ask("write", "report"))
	pipeline := orchestrate.Then(orchestrate.Then(plan, orchestrate.Parallel(clock, ask("search", "found"))), orchestrate.Then(write, ask("verify", "ok")))
	begin := clock.Now()
	got, err := pipeline(t.Context(), "question")
	if took := clock.Now().Sub(begin); took != 4*time.Millisecond { // one for each agent, and for both searches together
		t.Errorf("took %v", took)
	}
	if err != nil || got != "a>found+b>found>report>ok" {
		t.Errorf("got %q, %v", got, err)
	}
	same(t, "the order", []string{"plan", "search", "search", "write", "verify"}, order)

	order = nil
	broken := orchestrate.Then(orchestrate.Parallel(clock, func(_ context.Context, term string) (string, error) {
		if term == "bad" {
			return "", errBoom
		}
		return "found", nil
	}), write)
	for _, terms := range [][]string{{"bad"}, {"x", "bad"}, {"bad", "x"}} {
		if _, err := broken(t.Context(), terms); !errors.Is(err, errBoom) || len(order) != 0 {
			t.Errorf("the searches %q: %v, then %q", terms, err, order)
		}
	}
}

func llmFunc(clock *fake.Clock, name, answer string, order *[]string) llm.Model {
	m := &fake.Model{Clock: clock, Responses: []fake.Response{{Text: answer, Delay: time.Millisecond}}}
	return llm.ModelFunc(func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
		*order = append(*order, name)
		return m.Stream(ctx, req)
	})
}

// AL-97: no package below package orchestrate imports it.
func TestAL97Outside(t *testing.T) {
	for _, room := range []string{"..", "../middleware", "../history", "../layers", "../preset/agentloop"} {
		files, err := filepath.Glob(filepath.Join(room, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no files in %s: %v", room, err)
		}
		for _, name := range files {
			f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
			if err != nil {
				t.Fatal(err)
			}
			for _, imp := range f.Imports {
				if strings.Contains(imp.Path.Value, "loop/orchestrate") {
					t.Errorf("%s imports %s", name, imp.Path.Value)
				}
			}
		}
	}
}

// A sequence passes a value from step to step and stops at the first error.
func TestSequence(t *testing.T) {
	add := func(s string, err error) orchestrate.Step[string, string] {
		return func(_ context.Context, v string) (string, error) { return v + s, err }
	}
	if got, err := orchestrate.Sequence(add("b", nil), add("c", nil))(t.Context(), "a"); got != "abc" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if got, err := orchestrate.Sequence(add("b", nil), add("x", errBoom), add("c", nil))(t.Context(), "a"); got != "ab" || err == nil || err.Error() != "orchestrate: step 2 of 3: boom" {
		t.Errorf("got %q, %v", got, err)
	}
	if got, err := orchestrate.Sequence[string]()(t.Context(), "a"); got != "a" || err != nil {
		t.Errorf("no steps: %q, %v", got, err)
	}
	if got, err := orchestrate.Then(add("b", nil), add("c", errBoom))(t.Context(), "a"); got != "abc" || !errors.Is(err, errBoom) {
		t.Errorf("the second fails: %q, %v", got, err)
	}
}
