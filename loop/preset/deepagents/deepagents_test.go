package deepagents_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/loop/preset/deepagents"
	"github.com/looptape/looptape/loop/uistream"
	"github.com/looptape/looptape/trace"
)

// Fill sets the defaults, and values of the caller override them.
func TestFill(t *testing.T) {
	got := deepagents.Fill(loop.Config{})
	if got.Preset != "deepagents" || got.MaxSteps != 25 || got.Concurrency != loop.Unlimited || got.MaxConsecutiveToolErrors != loop.Disabled || len(got.Middleware) != 1 || got.Middleware[0].Name != "repair" {
		t.Errorf("got %+v", got)
	}
	own := []loop.Middleware{{Name: "repair"}, {Name: "x"}}
	got = deepagents.Fill(loop.Config{MaxSteps: 3, Concurrency: 2, MaxConsecutiveToolErrors: 1, Middleware: own})
	if got.MaxSteps != 3 || got.Concurrency != 2 || got.MaxConsecutiveToolErrors != 1 || len(got.Middleware) != 2 {
		t.Errorf("got %+v", got)
	}
	if list := deepagents.Fill(loop.Config{Middleware: own[1:]}).Middleware; len(list) != 2 || list[0].Name != "repair" || list[1].Name != "x" {
		t.Errorf("got the policies %+v", list)
	}
	if list := deepagents.Fill(loop.Config{Middleware: own[:1]}).Middleware; len(list) != 1 {
		t.Errorf("got the policies %+v", list)
	}
}

// The caller's permission policy receives the repaired arguments.
func TestRepairBeforePermissions(t *testing.T) {
	ran := false
	rm, err := loop.RawTool("rm", "", []byte(`{"type":"object","properties":{"path":{"type":"string"}}}`), func(context.Context, loop.Call) (loop.Output, error) {
		ran = true
		return loop.TextOutput("gone"), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var asked []string
	deny := middleware.Permissions(middleware.PermissionPolicy(func(_ context.Context, req middleware.PermissionRequest) (middleware.Permission, error) {
		asked = append(asked, req.Arguments)
		return middleware.Permission{}, nil
	}), nil)
	m := fake.NewModel(fake.Response{Calls: []fake.Call{{ID: "c1", Name: "rm", Arguments: `{"path":1}`}}}, text(`{"path":"/"}`), text("done"))
	cfg := deepagents.Fill(loop.Config{Tools: []loop.Tool{rm}, Middleware: []loop.Middleware{deny}})
	a, err := loop.New(m, &cfg)
	if err != nil {
		t.Fatal(err)
	}
	res, err := a.Run(t.Context(), loop.Prompt("go"))
	if err != nil || ran || !res.Steps[0].Results[0].IsError {
		t.Errorf("the tool ran: %v, %v", ran, err)
	}
	if diff := cmp.Diff([]string{`{"path":"/"}`}, asked); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// DA-01, DA-03, DA-37, DA-40, DA-54: a delta of the response can be read from each stream before the model
// sends the next. The request has the messages, the instructions of the variables and the options.
func TestExecuteStreamsDA01(t *testing.T) {
	said := ""
	var sent *llm.Request
	m := llm.ModelFunc(func(_ context.Context, r *llm.Request) iter.Seq2[llm.Event, error] {
		sent = r
		return func(yield func(llm.Event, error) bool) {
			for _, s := range []string{"a", "b"} {
				said += s
				if !yield(llm.TextDelta{Text: s}, nil) {
					return
				}
			}
			yield(llm.Finish{Reason: llm.FinishStop}, nil)
		}
	})
	root := agent("root", nil)
	root.Model = m
	in, vars := []llm.Message{llm.User("hi"), llm.User("go")}, middleware.NewVars(map[string]any{"user": "Ada"})
	opts := &deepagents.Options{Loop: loop.Config{Settings: llm.Settings{MaxTokens: 7}}}
	execute := func() *deepagents.Stream {
		s, err := deepagents.Execute(t.Context(), root, loop.Input{Messages: in}, vars, opts)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	var got []string
	read := func(delta string) {
		if delta != "" {
			got = append(got, delta+"/"+said)
		}
	}
	ui := func(parts iter.Seq[uistream.Part]) {
		for p := range parts {
			read(p.Delta)
		}
	}
	for name, stream := range map[string]func(){
		"TextStream": func() { execute().TextStream()(func(delta string) bool { read(delta); return true }) },
		"FullStream": func() { execute().FullStream()(func(p deepagents.Part) bool { read(p.TextDelta); return true }) },
		"UI":         func() { ui(execute().UI(uistream.Options{})) },
		"Swarm": func() {
			parts, err := deepagents.Swarm(t.Context(), root, loop.Input{Messages: in}, vars, opts, uistream.Options{})
			if err != nil || said != "" {
				t.Fatalf("%v; the model has sent %q before the first read", err, said)
			}
			ui(parts)
		},
	} {
		said, got = "", nil
		stream()
		if diff := cmp.Diff([]string{"a/a", "b/ab"}, got); diff != "" {
			t.Errorf("%s: deltas and what the model has sent (-want +got):\n%s", name, diff)
		}
	}
	said = ""
	if execute(); said != "" {
		t.Errorf("the model has sent %q before the first read", said)
	}
	if diff := cmp.Diff(in, sent.Messages); diff != "" || sent.System.Text() != "I am root of Ada" || sent.Settings.MaxTokens != 7 {
		t.Errorf("system prompt %q, settings %+v, messages (-want +got):\n%s", sent.System.Text(), sent.Settings, diff)
	}
}

// DA-02, DA-03, DA-05: the three entry points send equal requests, with the options of the run, and
// return equal results.
func TestEntryPointsDA02DA05(t *testing.T) {
	turns := []fake.Response{calls("a"), calls("transfer_to_b"), text("{}")}
	turns[0].Text = "first"
	shape, err := middleware.NewOutput([]byte(`{"type":"object"}`))
	if err != nil {
		t.Fatal(err)
	}
	run := func(entry func(*deepagents.Agent, *middleware.Vars) error) []string {
		m := fake.NewModel(turns...)
		root := agent("root", m, tool("a", "A"))
		root.Handoffs, root.Output = []*deepagents.Agent{agent("b", nil)}, shape
		if err := entry(root, middleware.NewVars(map[string]any{"user": "Ada"})); err != nil {
			t.Fatal(err)
		}
		for i, r := range m.RecordedRequests() {
			if r.Request.Settings.MaxTokens != 7 || r.Request.Settings.OutputSchema == nil {
				t.Errorf("request %d does not have the settings of the options and the schema of the answer: %+v", i, r.Request.Settings)
			}
		}
		return asked(m)
	}
	opts := &deepagents.Options{Loop: loop.Config{Settings: llm.Settings{MaxTokens: 7}}}
	want := []string{"I am root of Ada: 3, user", "I am root of Ada: 5, tool", "I am b of Ada: 7, tool"}
	in := loop.Continue([]llm.Message{llm.User("hi"), llm.Assistant(llm.Text{Text: "ho"})}, llm.User("go"))
	check := func(res *deepagents.Result, err error) error {
		if res.Text != "{}" || len(res.Steps) != 3 || res.Steps[0].Text != "first" || res.Steps[0].Results[0].Text() != "A" || res.Steps[2].Text != "{}" {
			t.Errorf("got %+v", res)
		}
		return err
	}
	swarm := func(a *deepagents.Agent, vars *middleware.Vars) error {
		parts, err := deepagents.Swarm(t.Context(), a, in, vars, opts, uistream.Options{MessageID: "m1"})
		if err != nil {
			return err
		}
		list := slices.Collect(parts)
		if got := types(slices.Values(list)); !strings.HasSuffix(got, "text-start text-delta text-end finish-step finish") || list[0].MessageID != "m1" {
			t.Errorf("swarm: got %s, the message id %q", got, list[0].MessageID)
		}
		return nil
	}
	for name, entry := range map[string]func(*deepagents.Agent, *middleware.Vars) error{
		"generate": func(a *deepagents.Agent, vars *middleware.Vars) error {
			return check(deepagents.Generate(t.Context(), a, in, vars, opts))
		},
		"execute": func(a *deepagents.Agent, vars *middleware.Vars) error {
			s, err := deepagents.Execute(t.Context(), a, in, vars, opts)
			if err != nil {
				return err
			}
			return check(s.Wait())
		},
		"swarm": swarm,
		"swarm with a hook": func(a *deepagents.Agent, vars *middleware.Vars) error {
			a.PrepareEnd = func(context.Context, middleware.Ended) ([]llm.Message, error) { return nil, nil }
			return swarm(a, vars)
		},
	} {
		if diff := cmp.Diff(want, run(entry)); diff != "" {
			t.Errorf("%s: requests (-want +got):\n%s", name, diff)
		}
	}
}

func types(parts iter.Seq[uistream.Part]) string {
	var out []string
	for p := range parts {
		out = append(out, p.Type)
	}
	return strings.Join(out, " ")
}

// DA-49: a long conversation is sent as it is, and the next run of the agent with the same variables
// knows nothing of it.
func TestLongConversationDA49(t *testing.T) {
	in := loop.Input{Messages: []llm.Message{llm.User("one"), llm.Assistant(llm.Text{Text: "two"}), llm.User(strings.Repeat("long ", 300_000))}}
	for name, entry := range entryPoints {
		m := &fake.Model{Responses: []fake.Response{calls("a"), text("x")}, IsolateConversations: true}
		a, vars := agent("root", m, tool("a", "A")), new(middleware.Vars)
		if err := entry(t.Context(), a, in, vars, nil); err != nil {
			t.Fatal(err)
		}
		r := m.RecordedRequests()
		if err := entry(t.Context(), a, loop.Prompt("next"), vars, nil); err != nil || len(m.RecordedRequests()[2].Request.Messages) != 1 {
			t.Errorf("%s: the next run: %+v, %v", name, m.RecordedRequests()[2].Request.Messages, err)
		}
		if len(r) != 2 || !cmp.Equal(in.Messages, r[1].Request.Messages[:3]) || len(r[1].Request.Messages) != 5 {
			t.Errorf("%s: %d requests, the last one with %d messages", name, len(r), len(r[len(r)-1].Request.Messages))
		}
	}
}

// DA-04: a string is one user message, and messages are sent as they are, by each entry point.
func TestInputDA04(t *testing.T) {
	const input = " hi\n\nthere\n" // one message, unchanged
	long := []llm.Message{llm.User("one"), llm.Assistant(llm.Text{Text: "two"}), llm.User("three")}
	for name, entry := range entryPoints {
		m := &fake.Model{Responses: []fake.Response{text("x"), text("y")}, IsolateConversations: true}
		a := agent("root", m)
		for _, in := range []loop.Input{loop.Prompt(input), {Messages: []llm.Message{llm.User(input)}}, {Messages: long}} {
			if err := entry(t.Context(), a, in, nil, nil); err != nil {
				t.Fatal(name, err)
			}
		}
		r := m.Requests()
		if diff := cmp.Diff(r[0], r[1]); diff != "" || r[0].Messages[0].Role != llm.RoleUser || len(r[0].Messages) != 1 {
			t.Errorf("%s: the requests of a string and of a message differ:\n%s", name, diff)
		}
		if diff := cmp.Diff(long, r[2].Messages); diff != "" {
			t.Errorf("%s: messages (-want +got):\n%s", name, diff)
		}
	}
}

// DA-06: the instructions of the next step contain the variables that tools have written.
func TestInstructionsDA06(t *testing.T) {
	rename := loop.Tool{Name: "rename", Run: func(ctx context.Context, _ loop.Call) (loop.Output, error) {
		vars, _ := middleware.VarsFromContext(ctx)
		user.Set(vars, "Bob")
		return loop.TextOutput("ok"), nil
	}}
	for name, entry := range entryPoints {
		vars := middleware.NewVars(map[string]any{"user": "Ada"})
		if err := entry(t.Context(), agent("root", fake.NewModel(calls("rename"), text("done")), rename), loop.Prompt("go"), vars, nil); err != nil || vars.Values()["user"] != "Bob" {
			t.Errorf("DA-21: %s leaves the variables %v, %v", name, vars.Values(), err)
		}
	}
	m := fake.NewModel(calls("rename"), text("done"))
	vars := middleware.NewVars(map[string]any{"user": "Ada"})
	res, err := deepagents.Generate(t.Context(), agent("root", m, rename), loop.Prompt("go"), vars, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"I am root of Ada: 1, user", "I am root of Bob: 3, tool"}, asked(m)); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if got, _ := user.Get(res.State); got != "Bob" || vars.Values()["user"] != "Bob" {
		t.Errorf("DA-21: the state has %q, the caller's variables %v", got, vars.Values())
	}
	limit := &deepagents.Options{Loop: loop.Config{MaxSteps: 1}}
	res, err = deepagents.Generate(t.Context(), agent("root", fake.NewModel(calls("rename")), rename), loop.Prompt("go"), nil, limit)
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := user.Get(res.State); got != "Bob" {
		t.Errorf("DA-21: at the step limit the state has %q", got)
	}
}

// DA-13: the limit of the options overrides that of the agent, in each entry point.
func TestLimitDA13(t *testing.T) {
	for _, c := range []struct{ agent, run, want int }{{0, 0, 25}, {3, 0, 3}, {3, 4, 4}, {30, 2, 2}, {0, 50, 50}} {
		for name, entry := range entryPoints {
			m := fake.NewModel(slices.Repeat([]fake.Response{calls("a")}, 60)...)
			a := agent("root", m, tool("a", "A"))
			a.MaxSteps = c.agent
			steps := 0
			err := entry(t.Context(), a, loop.Prompt("go"), nil, &deepagents.Options{Loop: loop.Config{MaxSteps: c.run, OnStep: func(s loop.Step) {
				if steps++; s.FinishReason != llm.FinishToolCalls || len(s.Results) != 1 {
					t.Errorf("%s, %+v: step %+v", name, c, s)
				}
			}}})
			if err != nil || len(m.RecordedRequests()) != c.want || steps != c.want {
				t.Errorf("%s, %+v: got %d requests, %v", name, c, len(m.RecordedRequests()), err)
			}
		}
	}
}

// DA-14: PrepareStep is called for each model call, with the steps so far and the
// messages, in each entry point, also after a response without calls that the run continues
// and for the final answer that the step limit asks for.
func TestPrepareStepDA14(t *testing.T) {
	for name, entry := range entryPoints {
		var got []string
		spy := loop.Middleware{Name: "spy", New: func(loop.RunInfo) loop.Hooks {
			return loop.Hooks{BeforeStep: func(_ context.Context, s *loop.StepInfo) (loop.StepChange, error) {
				results := 0
				for _, done := range s.Steps {
					results += len(done.Results)
				}
				got = append(got, fmt.Sprintf("%d steps, %d results, %d messages", len(s.Steps), results, len(s.History())))
				return loop.StepChange{}, nil
			}}
		}}
		m := fake.NewModel(calls("a"), calls("a"), fake.Response{Text: "so far", FinishReason: llm.FinishPause}, calls("a"), text("done"))
		limited := loop.Config{Middleware: []loop.Middleware{spy}, MaxSteps: 4, OnStepLimit: loop.StepLimitForceFinal}
		if err := entry(t.Context(), agent("root", m, tool("a", "A")), loop.Prompt("go"), nil, &deepagents.Options{Loop: limited}); err != nil {
			t.Fatal(err)
		}
		want := []string{"0 steps, 0 results, 1 messages", "1 steps, 1 results, 3 messages", "2 steps, 2 results, 5 messages", "3 steps, 2 results, 6 messages", "4 steps, 3 results, 8 messages"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: prepared steps (-want +got):\n%s", name, diff)
		}
	}
}

// DA-24: each agent uses its own model. An agent without a model uses that of the root.
func TestModelsDA24(t *testing.T) {
	for name, entry := range entryPoints {
		rootModel, own := fake.NewModel(calls("transfer_to_b"), text("done")), fake.NewModel(calls("transfer_to_c"))
		root, b, c := agent("root", rootModel), agent("b", own), agent("c", nil)
		root.ModelName, b.ModelName = "big", "small"
		root.Handoffs, b.Handoffs, c.Handoffs = []*deepagents.Agent{b}, []*deepagents.Agent{c}, []*deepagents.Agent{root}
		if err := entry(t.Context(), root, loop.Prompt("go"), nil, nil); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range slices.Concat(rootModel.RecordedRequests(), own.RecordedRequests()) {
			got = append(got, r.Request.Model+"/"+r.Request.System.Text())
		}
		if diff := cmp.Diff([]string{"big/I am root of ", "big/I am c of ", "small/I am b of "}, got); diff != "" {
			t.Errorf("%s: requests (-want +got):\n%s", name, diff)
		}
	}
}

// DA-35, DA-36: the messages are all that the run added, or only the final answer, even
// if results follow it, of Generate and of Execute.
func TestOutputModeDA35DA36(t *testing.T) {
	history := loop.Continue([]llm.Message{llm.User("1"), llm.Assistant(llm.Text{Text: "2"})}, llm.User("3"))
	for _, c := range []struct {
		last  bool
		steps int
		want  string
	}{
		{false, 0, "assistant tool assistant tool assistant"}, {true, 0, "assistant:done"}, {false, 1, "assistant tool"}, {true, 1, "assistant:first"},
		{false, 2, "assistant tool assistant tool"}, {true, 2, "assistant:"},
	} {
		first, second := calls("a"), calls("a")
		first.Text, first.Reasoning, second.Reasoning = "first", "hm", "so"
		m := func() *fake.Model { return fake.NewModel(first, second, text("done")) }
		opts := &deepagents.Options{LastMessage: c.last, Loop: loop.Config{MaxSteps: c.steps}}
		res, err := deepagents.Generate(t.Context(), agent("root", m(), tool("a", "A")), history, nil, opts)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range res.Messages {
			got = append(got, string(m.Role))
			if c.last {
				got[0] += ":" + m.Text()
			}
		}
		var want []llm.Message
		for _, s := range res.Steps {
			if c.last {
				want = nil
			}
			for _, m := range s.Messages {
				if !c.last || m.Role == llm.RoleAssistant {
					want = append(want, m)
				}
			}
		}
		if p := res.Messages[0].Parts; !c.last && len(p) != 3 {
			t.Errorf("at %d steps: the first message has the parts %+v, want reasoning, text and a call", c.steps, p)
		}
		if diff := cmp.Diff(want, res.Messages); diff != "" {
			t.Errorf("LastMessage %t at %d steps: messages (-of the steps +got):\n%s", c.last, c.steps, diff)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("LastMessage %t at %d steps: got %q, want %s", c.last, c.steps, got, c.want)
		}
		s, err := deepagents.Execute(t.Context(), agent("root", m(), tool("a", "A")), history, nil, opts)
		if err != nil {
			t.Fatal(err)
		}
		executed, err := s.Wait()
		if diff := cmp.Diff(res.Messages, executed.Messages); diff != "" || err != nil {
			t.Errorf("LastMessage %t at %d steps, %v: messages (-Generate +Execute):\n%s", c.last, c.steps, err, diff)
		}
	}
	first := calls("a")
	first.Text = "first"
	later := fake.NewModel(first, fake.Response{Error: &fake.Failure{Status: 400}})
	if res, err := deepagents.Generate(t.Context(), agent("root", later, tool("a", "A")), history, nil, &deepagents.Options{LastMessage: true}); err == nil || len(res.Messages) != 1 || res.Messages[0].Text() != "first" {
		t.Errorf("of a run that failed later: got %+v, %v", res.Messages, err)
	}
	broken := fake.NewModel(fake.Response{Error: &fake.Failure{Status: 400}})
	if res, err := deepagents.Generate(t.Context(), agent("root", broken), history, nil, &deepagents.Options{LastMessage: true}); err == nil || res.Messages != nil {
		t.Errorf("without a final answer: got %+v, %v", res, err)
	}
}

// DA-38: the fields of a result. Calls and results are those of the last step.
func TestResultDA38(t *testing.T) {
	one, two := calls("a"), calls("a")
	one.Usage, two.Usage, two.Text = llm.Usage{InputTokens: 10, OutputTokens: 5, ReasoningOutputTokens: 2}, llm.Usage{InputTokens: 20, OutputTokens: 7, CacheReadInputTokens: 4, ReasoningOutputTokens: 1}, "so far"
	vars := middleware.NewVars(nil)
	var seen []int
	res, err := deepagents.Generate(t.Context(), agent("root", fake.NewModel(one, two), tool("a", "A")), loop.Prompt("go"), vars, &deepagents.Options{
		Loop: loop.Config{MaxSteps: 2, OnStep: func(s loop.Step) { seen = append(seen, s.Index) }},
	})
	if err != nil {
		t.Fatal(err)
	}
	if res.Text != "so far" || res.Output != nil || len(res.Steps) != 2 || res.Finish != llm.FinishToolCalls || res.State != vars ||
		(res.Usage != llm.Usage{InputTokens: 30, OutputTokens: 12, CacheReadInputTokens: 4, ReasoningOutputTokens: 3}) || res.Loop.StopReason != trace.ReasonMaxSteps || len(seen) != 2 {
		t.Errorf("got %+v", res)
	}
	if len(res.ToolCalls) != 1 || len(res.ToolResults) != 1 || res.ToolResults[0].Text() != "A" || res.ToolResults[0].ID != res.ToolCalls[0].ID || res.ToolCalls[0].ID != res.Steps[1].Calls[0].ID {
		t.Errorf("got %+v, %+v", res.ToolCalls, res.ToolResults)
	}
	res, err = deepagents.Generate(t.Context(), agent("root", fake.NewModel(one, text("x")), tool("a", "A")), loop.Prompt("go"), nil, nil)
	if err != nil || len(res.Steps) != 2 || res.Text != "x" || res.Finish != llm.FinishStop || res.ToolCalls != nil || res.ToolResults != nil || res.State == nil {
		t.Errorf("after a last step without calls: got %+v, %v", res, err)
	}
}

// DA-41: the run parses only its final answer by the schema. The error for an invalid
// final answer contains its text.
func TestOutputDA41(t *testing.T) {
	type plan struct {
		Plan []string `json:"plan"`
	}
	shape, err := middleware.OutputOf[plan]()
	if err != nil {
		t.Fatal(err)
	}
	first := calls("a")
	first.Text = "let me see"
	m := fake.NewModel(first, text(`{"plan":["x"]}`))
	a := agent("root", m, tool("a", "A"))
	a.Output = shape
	res, err := deepagents.Generate(t.Context(), a, loop.Prompt("go"), nil, nil)
	if err != nil || string(res.Output) != `{"plan":["x"]}` || len(m.RecordedRequests()[0].Request.Settings.OutputSchema) == 0 {
		t.Errorf("got %s, %v", res.Output, err)
	}
	a.Model = fake.NewModel(first, text(`{"plan":["x"]}`))
	s, err := deepagents.Execute(t.Context(), a, loop.Prompt("go"), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if executed, err := s.Wait(); err != nil || string(executed.Output) != `{"plan":["x"]}` {
		t.Errorf("execute: got %s, %v", executed.Output, err)
	}
	var got plan
	_, err = shape.Read(res.Text, &got)
	if diff := cmp.Diff(plan{[]string{"x"}}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	b := agent("b", nil)
	for name, c := range map[string]struct {
		handoffs  []*deepagents.Agent
		responses []fake.Response
	}{
		"one step":                {nil, []fake.Response{text(`{"plan":["x"]}`)}},
		"answer of another agent": {[]*deepagents.Agent{b}, []fake.Response{calls("transfer_to_b"), text(`{"plan":["x"]}`)}},
	} {
		m := fake.NewModel(c.responses...)
		root := agent("root", m)
		root.Output, root.Handoffs = shape, c.handoffs
		res, err := deepagents.Generate(t.Context(), root, loop.Prompt("go"), nil, nil)
		requests := m.Requests()
		if err != nil || string(res.Output) != `{"plan":["x"]}` || len(requests[len(requests)-1].Settings.OutputSchema) == 0 {
			t.Errorf("%s: got %s, %v", name, res.Output, err)
		}
	}
	a.Output, err = middleware.NewOutput([]byte(`{"type":"object","required":["plan"]}`)) // without a Go type
	if err != nil {
		t.Fatal(err)
	}
	for _, answer := range []string{"no plan", `{}`} {
		a.Model = fake.NewModel(text(answer))
		_, err = deepagents.Generate(t.Context(), a, loop.Prompt("go"), nil, nil)
		if bad, is := errors.AsType[*middleware.OutputError](err); !is || bad.Text != answer {
			t.Errorf("got %v", err)
		}
	}
	a.Model = fake.NewModel(first)
	if res, err = deepagents.Generate(t.Context(), a, loop.Prompt("go"), nil, &deepagents.Options{Loop: loop.Config{MaxSteps: 1}}); err != nil || res.Output != nil {
		t.Errorf("at the step limit: got %s, %v", res.Output, err)
	}
}

// DA-43, DA-44: a cancel is an AbortError. No other failure is an AbortError.
func TestAbortDA43DA44(t *testing.T) {
	stopped, over := errors.New("stopped by the user"), fmt.Errorf("budget: %w", context.DeadlineExceeded)
	for name, c := range map[string]struct {
		model *fake.Model
		abort error
		says  string
	}{
		"cancel":              {fake.NewModel(text("x")), stopped, "AbortError: stopped by the user"},
		"cancel for its time": {fake.NewModel(text("x")), over, "AbortError: budget: context deadline exceeded"},
		"late":                {fake.NewModel(text("x")), nil, "context deadline exceeded"},
		"boom":                {fake.NewModel(fake.Response{Error: &fake.Failure{Status: 500, Message: "boom"}}), nil, "fake: status 500: boom"},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		opts := &deepagents.Options{Loop: loop.Config{Sink: trace.SinkFunc(func(ev trace.Event) error {
			switch ev.Body.(type) {
			case trace.ModelRequest:
				if c.abort != nil {
					cancel(c.abort)
				}
			case trace.ModelError: // the run has already failed
				cancel(stopped)
			}
			return nil
		})}}
		if name == "late" {
			ctx = late{ctx}
		}
		_, err := deepagents.Generate(ctx, agent("root", c.model), loop.Prompt("go"), nil, opts)
		abort, is := errors.AsType[*deepagents.AbortError](err)
		if is != (c.abort != nil) || err == nil || err.Error() != c.says || is && (abort.Name() != "AbortError" || !errors.Is(err, c.abort)) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// DA-44: if a model cancels its own call or the call times out, the run fails with an
// ordinary error, also in the stream. The caller of the run did not cancel it.
func TestNoAbortDA44(t *testing.T) {
	for _, own := range []error{context.Canceled, context.DeadlineExceeded} {
		s, err := deepagents.Execute(t.Context(), agent("root", fake.NewModel(fake.Response{Err: own})), loop.Prompt("go"), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := s.Wait()
		if _, is := errors.AsType[*deepagents.AbortError](err); is || !errors.Is(err, own) || res.Loop.StopReason != trace.ReasonError {
			t.Errorf("%v: got %v, stopped by %s", own, err, res.Loop.StopReason)
		}
		var parts []string
		for p := range s.FullStream() {
			parts = append(parts, p.Type)
		}
		if diff := cmp.Diff([]string{"error"}, parts); diff != "" {
			t.Errorf("%v: parts (-want +got):\n%s", own, diff)
		}
	}
}

// DA-50: the active agent in the run of a tool does not affect the parent run, and the
// reverse.
func TestAsToolHandsOverDA50(t *testing.T) {
	expert := agent("expert", nil)
	inner := agent("inner", fake.NewModel(calls("transfer_to_expert"), text("known")))
	inner.Handoffs = []*deepagents.Agent{expert}
	ask, err := deepagents.AsTool(inner, nil)
	if err != nil {
		t.Fatal(err)
	}
	m := fake.NewModel(fake.Response{Calls: []fake.Call{{Name: "inner", Arguments: `{"input":"x"}`}}}, text("done"))
	vars := middleware.NewVars(nil)
	res, err := deepagents.Generate(t.Context(), agent("root", m, ask), loop.Prompt("go"), vars, nil)
	if err != nil || res.Steps[0].Results[0].Text() != "known" {
		t.Errorf("got %+v, %v", res.Steps, err)
	}
	if name, is := middleware.ActiveAgent.Get(vars); is {
		t.Errorf("%s is active in the outer run", name)
	}
}

// DA-50: a final answer that a guardrail rejects is not the result of the tool.
func TestAsToolGuardedDA50(t *testing.T) {
	found := middleware.Guardrail{Name: "g", Kind: middleware.GuardOutput, Check: func(context.Context, middleware.GuardrailCheck) (middleware.GuardrailResult, error) {
		return middleware.GuardrailResult{Tripwire: true, Reason: "not for others"}, nil
	}}
	opts := &deepagents.Options{Loop: loop.Config{Middleware: []loop.Middleware{middleware.Guardrails([]middleware.Guardrail{found}, nil)}}}
	ask, err := deepagents.AsTool(agent("inner", fake.NewModel(text("secret"))), opts)
	if err != nil {
		t.Fatal(err)
	}
	m := fake.NewModel(fake.Response{Calls: []fake.Call{{Name: "inner", Arguments: `{"input":"x"}`}}}, text("done"))
	res, err := deepagents.Generate(t.Context(), agent("root", m, ask), loop.Prompt("go"), middleware.NewVars(nil), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := res.Steps[0].Results[0]; got.Text() != "a guardrail ended the agent's run: not for others" || !got.IsError {
		t.Errorf("got %+v", got)
	}
}

// late is a context with an expired deadline.
type late struct{ context.Context }

func (late) Done() <-chan struct{} {
	done := make(chan struct{})
	close(done)
	return done
}

func (late) Err() error { return context.DeadlineExceeded }

// DA-50: an agent is a tool. It has its own run and its own limit. Its final answer is the
// result of the call, and its failure is an error result.
func TestAsToolDA50(t *testing.T) {
	var mem trace.Memory
	var mu sync.Mutex
	record := &deepagents.Options{Loop: loop.Config{Sink: trace.SinkFunc(func(ev trace.Event) error {
		mu.Lock()
		defer mu.Unlock()
		return mem.Write(ev)
	})}}
	inner := fake.NewModel(append(slices.Repeat([]fake.Response{calls("rename")}, 20), text("found it"))...)
	rename := loop.Tool{Name: "rename", Run: func(ctx context.Context, _ loop.Call) (loop.Output, error) {
		vars, _ := middleware.VarsFromContext(ctx)
		user.Update(vars, func(old string) string { return old + "!" })
		return loop.TextOutput("ok"), nil
	}}
	searcher := agent("searcher", inner, rename)
	searcher.Description, searcher.Handoffs = "Searches.", []*deepagents.Agent{agent("other", nil)}
	search, err := deepagents.AsTool(searcher, record)
	if err != nil {
		t.Fatal(err)
	}
	failing, err := deepagents.AsTool(agent("failing", fake.NewModel(fake.Response{Error: &fake.Failure{Status: 400, Message: "bad"}})), nil)
	if err != nil {
		t.Fatal(err)
	}
	ask := fake.Response{Calls: []fake.Call{{ID: "c1", Name: "searcher", Arguments: `{"input":"cats"}`}, {ID: "c2", Name: "failing", Arguments: `{"input":"x"}`}}}
	root := agent("other", fake.NewModel(ask, text("done")), search, failing) // as an agent of the inner run
	vars := middleware.NewVars(map[string]any{"user": "Ada", "currentActiveAgent": "other"})
	res, err := deepagents.Generate(t.Context(), root, loop.Prompt("go"), vars, record)
	if err != nil {
		t.Fatal(err)
	}
	results := res.Steps[0].Results
	if results[0].Text() != "found it" || results[1].Text() != "loop: step 0: fake: status 400: bad" || !results[1].IsError {
		t.Errorf("results: %+v", results)
	}
	if got := inner.RecordedRequests()[0].Request; got.Messages[0].Text() != "cats" || got.System.Text() != "I am searcher of Ada" {
		t.Errorf("the request of the inner run is %+v", got)
	}
	if got, _ := user.Get(vars); got != "Ada"+strings.Repeat("!", 20) {
		t.Errorf("the inner run has left %q", got)
	}
	if search.Name != "searcher" || search.Description != "Searches." {
		t.Errorf("got the tool %+v", search)
	}
	var parents []trace.Parent
	for _, ev := range mem.Events() {
		if s, ok := ev.Body.(trace.RunStart); ok && s.Parent != nil {
			parents = append(parents, *s.Parent)
		}
	}
	if diff := cmp.Diff([]trace.Parent{{Run: "r1", ToolCallID: "c1"}}, parents); diff != "" {
		t.Errorf("nested runs (-want +got):\n%s", diff)
	}
	alone := agent("alone", fake.NewModel(text("hi")))
	for steps, want := range map[int]string{24: "found it", 40: ""} { // its limit is 25 steps
		m := fake.NewModel(append(slices.Repeat([]fake.Response{calls("a")}, steps), text("found it"))...)
		own, err := deepagents.AsTool(agent("own", m, tool("a", "A")), nil)
		if err != nil {
			t.Fatal(err)
		}
		out, err := own.Run(t.Context(), loop.Call{Arguments: `{"input":"x"}`})
		if err != nil || out.Content[0].(llm.Text).Text != want || len(m.RecordedRequests()) != 25 {
			t.Errorf("%d steps with tools: got %+v, %v after %d model calls", steps, out, err, len(m.RecordedRequests()))
		}
	}
	byItself, err := deepagents.AsTool(alone, nil)
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := byItself.Run(ended, loop.Call{Arguments: `{"input":"x"}`}); !errors.Is(err, context.Canceled) {
		t.Errorf("a canceled call: %v", err)
	}
	if out, err := byItself.Run(t.Context(), loop.Call{Arguments: `{"input":"x"}`}); err != nil || out.Content[0].(llm.Text).Text != "hi" {
		t.Errorf("without variables around it: got %+v, %v", out, err)
	}
}

func TestStartErrors(t *testing.T) {
	twins := agent("a", fake.NewModel(), loop.Tool{Name: "t"}, loop.Tool{Name: "t"})
	for want, c := range map[string]struct {
		agent *deepagents.Agent
		opts  *deepagents.Options
	}{
		`deepagents: missing agent: set it`:                                                     {nil, nil},
		`deepagents: the agent "a" has no Model: set it, because the root needs one`:            {agent("a", nil), nil},
		`deepagents: loop: Config.TokenBudget: negative value -1: set 0 to disable it`:          {twins, &deepagents.Options{Loop: loop.Config{TokenBudget: -1}}},
		`deepagents: middleware: Handoff: the agent "a" has a nil agent in Handoffs: remove it`: {&deepagents.Agent{Name: "a", Model: fake.NewModel(), Handoffs: []*deepagents.Agent{nil}}, nil},
	} {
		_, err := deepagents.Execute(t.Context(), c.agent, loop.Prompt("go"), nil, c.opts)
		if fmt.Sprint(err) != want {
			t.Errorf("got %v, want %s", err, want)
		}
		if res, err := deepagents.Generate(t.Context(), c.agent, loop.Prompt("go"), nil, c.opts); res != nil || fmt.Sprint(err) != want {
			t.Errorf("got %v, %v, want %s", res, err, want)
		}
		if _, err := deepagents.Swarm(t.Context(), c.agent, loop.Prompt("go"), nil, c.opts, uistream.Options{}); fmt.Sprint(err) != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if _, err := deepagents.AsTool(nil, nil); fmt.Sprint(err) != "deepagents: AsTool: missing agent: set it" {
		t.Errorf("got %v", err)
	}
}
