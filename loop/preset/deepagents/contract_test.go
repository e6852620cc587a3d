package deepagents_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/loop/preset/deepagents"
	"github.com/looptape/looptape/loop/uistream"
	"github.com/looptape/looptape/trace"
)

// DA-10, DA-11, DA-13: stop conditions alone replace the limit of 25 steps, in the configuration of the
// agent and in the options of a run, which override those of the agent, in each entry point. A step
// is one request, whatever its calls.
func TestStopWhenDA10DA13(t *testing.T) {
	is := func(n ...int) (list []loop.StopCondition) {
		for _, n := range n {
			list = append(list, loop.StepCountIs(n))
		}
		return list
	}
	for _, c := range []struct {
		agent    []loop.StopCondition
		agentMax int
		run      []loop.StopCondition
		runMax   int
		want     int
	}{
		{nil, 0, nil, 0, 25}, {is(50), 0, nil, 0, 50}, {nil, 0, is(50), 0, 50}, {is(3), 0, nil, 0, 3}, {nil, 0, is(3), 0, 3},
		{is(50, 40), 0, nil, 0, 40}, {is(40, 50), 0, nil, 0, 40}, {is(3), 0, is(50), 0, 50}, {nil, 3, is(50), 0, 50}, {is(50), 0, nil, 4, 4}, {is(2), 0, nil, 4, 4}, {is(50), 30, nil, 0, 30},
	} {
		for name, entry := range entryPoints {
			m := fake.NewModel(slices.Repeat([]fake.Response{calls("a", "a")}, 60)...)
			a := agent("root", m, tool("a", "A"))
			a.StopWhen, a.MaxSteps = c.agent, c.agentMax
			var declared trace.Options
			results := 0
			err := entry(t.Context(), a, loop.Prompt("go"), nil, &deepagents.Options{Loop: loop.Config{
				StopWhen: c.run, MaxSteps: c.runMax, OnStep: func(s loop.Step) { results += len(s.Results) }, Sink: trace.SinkFunc(func(ev trace.Event) error {
					if b, ok := ev.Body.(trace.RunStart); ok {
						declared = b.Options
					}
					return nil
				}),
			}})
			if err != nil || len(m.RecordedRequests()) != c.want || results != 2*c.want {
				t.Errorf("%s, agent %d %d, run %d %d: got %d requests, want %d; %v", name, len(c.agent), c.agentMax, len(c.run), c.runMax, len(m.RecordedRequests()), c.want, err)
			}
			if limit, ok := declared.Lookup("max_steps"); ok != (c.want == 25 || c.want == 4 || c.want == 30) {
				t.Errorf("%s, agent %d %d, run %d %d: the trace declares the step limit %q", name, len(c.agent), c.agentMax, len(c.run), c.runMax, limit)
			}
		}
	}
}

// DA-03, DA-56: only Swarm calls the PrepareEnd hook.
func TestPrepareEndDA56(t *testing.T) {
	hooked := 0
	root := func() *deepagents.Agent {
		hooked = 0
		root := agent("root", fake.NewModel(calls("transfer_to_b"), text("b done"), text("summary")))
		root.Handoffs = []*deepagents.Agent{agent("b", nil)}
		root.PrepareEnd = func(context.Context, middleware.Ended) ([]llm.Message, error) {
			hooked++
			return []llm.Message{llm.User("now summarize")}, nil
		}
		return root
	}
	res, err := deepagents.Generate(t.Context(), root(), loop.Prompt("go"), nil, nil)
	if err != nil || res.Text != "b done" || hooked != 0 {
		t.Errorf("generate: %q after %d hooks, %v", res.Text, hooked, err)
	}
	s, err := deepagents.Execute(t.Context(), root(), loop.Prompt("go"), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := s.Text(); got != "b done" || hooked != 0 || err != nil {
		t.Errorf("execute: %q after %d hooks, %v", got, hooked, err)
	}
	asTool, err := deepagents.AsTool(root(), nil)
	if err != nil {
		t.Fatal(err)
	}
	caller := fake.NewModel(fake.Response{Calls: []fake.Call{{ID: "c1", Name: "root", Arguments: `{"input":"go"}`}}}, text("x"))
	called, err := deepagents.Swarm(t.Context(), agent("caller", caller, asTool), loop.Prompt("go"), nil, nil, uistream.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_ = types(called)
	if got := caller.Requests()[1].Messages[2].Parts[0].(llm.ToolResult).Text(); got != "b done" || hooked != 0 {
		t.Errorf("as a tool: %q after %d hooks", got, hooked)
	}
	parts, err := deepagents.Swarm(t.Context(), root(), loop.Prompt("go"), nil, nil, uistream.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var deltas []string
	for p := range parts {
		if p.Type == "text-delta" {
			deltas = append(deltas, p.Delta)
		}
	}
	if diff := cmp.Diff([]string{"b done", "summary"}, deltas); diff != "" || hooked != 1 {
		t.Errorf("swarm: %d hooks, texts (-want +got):\n%s", hooked, diff)
	}
	for answer, end := range map[string]string{"{}": "finish-step finish", "summary": "finish-step error finish"} { // the schema is that of the final answer
		typed := root()
		if typed.Output, err = middleware.NewOutput([]byte(`{"type":"object"}`)); err != nil {
			t.Fatal(err)
		}
		typed.Model = fake.NewModel(calls("transfer_to_b"), text("b done"), text(answer))
		parts, err := deepagents.Swarm(t.Context(), typed, loop.Prompt("go"), nil, nil, uistream.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := types(parts); !strings.HasSuffix(got, "text-end "+end) || hooked != 1 {
			t.Errorf("swarm with the answer %s: %s after %d hooks", answer, got, hooked)
		}
	}
}

// DA-25, DA-27, DA-28, DA-29: the repair model of the agent repairs, by default with the name
// gpt-oss-20b. Its request has no tools, the schema of the tool for the answer, and the five lines of
// the reference documentation, or the prompt of a repair in the options. The model that made the call
// repairs only without it. The tool gets the same call, once.
func TestRepairModelDA27DA28(t *testing.T) {
	const schema, compact = `{"type": "object", "properties": {"city": {"type": "string"}}}`, `{"type":"object","properties":{"city":{"type":"string"}}}`
	ran := 0
	weather, err := loop.RawTool("weather", "", []byte(schema), func(_ context.Context, c loop.Call) (loop.Output, error) {
		ran++
		return loop.TextOutput(c.ID + " " + c.Name + " " + c.Arguments), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	other := tool("other", "O")
	other.Parameters = []byte(`{"type":"object","required":["x"]}`)
	for _, c := range []struct {
		own    bool // the agent has a repair model
		custom bool // the options have a repair
		after  bool // b calls the tool, with its own model
		name   string
		args   string
		want   string
		lines  string
	}{
		{true, false, false, "", `{"city":7}`, "gpt-oss-20b", `{"city":7}`},
		{true, false, true, "", `{"city":7}`, "gpt-oss-20b", `{"city":7}`},
		{true, false, false, "small", `{ "city" : 7 }`, "small", `{"city":7}`},
		{true, true, false, "small", `{"city":7}`, "custom", ""},
		{true, false, false, "", `{"city":`, "gpt-oss-20b", `"{\"city\":"`},
		{false, false, false, "", `{"city":7}`, "big", `{"city":7}`},
		{false, false, true, "", `{"city":7}`, "big", `{"city":7}`},
	} {
		for name, entry := range entryPoints {
			weather.Name = map[bool]string{false: "weather", true: "forecast"}[c.after]
			bad := fake.Response{Calls: []fake.Call{{ID: "w1", Name: weather.Name, Arguments: c.args}}}
			fast, main := fake.NewModel(text(`{"city":"Bern"}`)), fake.NewModel(bad, text("done"))
			if !c.own {
				main.Responses[1] = text(`{"city":"Bern"}`) // of the repair, and of step 1
			}
			caller := agent("caller", main, other, weather)
			caller.ModelName = "big"
			root := caller
			if c.after {
				root = agent("root", fake.NewModel(calls("transfer_to_caller")))
				root.Handoffs = []*deepagents.Agent{caller}
			}
			if c.own {
				root.RepairModel, root.RepairModelName = fast, c.name
			}
			var results []string
			own := []loop.Middleware{{Name: "own", New: func(loop.RunInfo) loop.Hooks { return loop.Hooks{} }}}
			opts := &deepagents.Options{Loop: loop.Config{Middleware: own, OnStep: func(s loop.Step) {
				for _, r := range s.Results {
					if r.Name == weather.Name {
						results = append(results, r.ID+": "+r.Text())
					}
				}
			}}}
			if c.custom {
				opts.Loop.Middleware = []loop.Middleware{middleware.Repair{Model: fast, ModelName: "custom", Prompt: func(llm.ToolCall, json.RawMessage) string { return "Fix it." }}.Middleware()}
			}
			if err := entry(t.Context(), root, loop.Prompt("go"), nil, opts); err != nil || !slices.Equal(results, []string{"w1: w1 " + weather.Name + ` {"city":"Bern"}`}) {
				t.Fatalf("%s, %+v: got %q, %v", name, c, results, err)
			}
			if ran != 1 {
				t.Errorf("%s, %+v: the tool ran %d times", name, c, ran)
			}
			ran = 0
			requests := fast.RecordedRequests()
			if !c.own {
				requests = main.RecordedRequests()[1:2]
			}
			if n := len(main.RecordedRequests()); len(requests) != 1 || n != map[bool]int{true: 2, false: 3}[c.own] {
				t.Fatalf("%s, %+v: %d repairs, %d requests to the agent's model", name, c, len(requests), n)
			}
			req := requests[0].Request
			if req.Model != c.want || len(req.Tools) != 0 || req.System != nil || string(req.Settings.OutputSchema) != schema {
				t.Errorf("%s, %+v: the model %q, %d tools, the system prompt %q, the schema %s", name, c, req.Model, len(req.Tools), req.System.Text(), req.Settings.OutputSchema)
			}
			want := "The model tried to call \"" + weather.Name + "\" with:\n" + c.lines + "\nThe tool accepts:\n" + compact + "\nPlease fix the inputs."
			if c.custom {
				want = "Fix it."
			}
			if diff := cmp.Diff([]llm.Message{llm.User(want)}, req.Messages); diff != "" {
				t.Errorf("%s, %+v: the prompt (-want +got):\n%s", name, c, diff)
			}
		}
	}
}

// DA-07, DA-08, DA-15 to DA-20, DA-22, DA-23, DA-45: the agents of a graph have their own instructions and
// tools, those of the options, and the transfer tools of their handoffs with the descriptions of
// the targets. A transfer takes effect in the next step, at any depth and back to the root. All
// agents share the step limit.
func TestHandoffsOfGenerate(t *testing.T) {
	failed := 0
	fails := loop.Tool{Name: "y", Run: func(context.Context, loop.Call) (loop.Output, error) {
		failed++
		return loop.Output{}, errors.New("boom")
	}}
	reads := loop.Tool{Name: "x", Description: "Reads.", Run: func(ctx context.Context, _ loop.Call) (loop.Output, error) {
		vars, _ := middleware.VarsFromContext(ctx)
		active, _ := middleware.ActiveAgent.Get(vars)
		return loop.TextOutput("X(" + active + ")"), nil
	}}
	root, b, c, d := agent("root", nil, reads), agent("b", nil, fails), agent("c", nil, tool("z", "Z")), agent("d", nil)
	root.Description, b.Description, c.Description = "Plans.", "Searches.", "Writes."
	root.Handoffs, b.Handoffs, c.Handoffs = []*deepagents.Agent{b}, []*deepagents.Agent{c, d}, []*deepagents.Agent{root, b, d}
	const (
		asRoot = "I am root of  [x: Reads. ours transfer_to_b: Hands the conversation over to b. Searches.]"
		asB    = "I am b of  [y ours transfer_to_c: Hands the conversation over to c. Writes. transfer_to_d: Hands the conversation over to d.]"
		asC    = "I am c of  [z ours transfer_to_root: Hands the conversation over to root. Plans. transfer_to_b: Hands the conversation over to b. Searches. transfer_to_d: Hands the conversation over to d.]"
		asD    = "I am d of  [ours]"
	)
	for name, c := range map[string]struct {
		responses []fake.Response
		active    string
		limit     int
		want      []string // requests
		results   string   // of all steps
	}{
		"to each agent and back": {
			[]fake.Response{calls("transfer_to_b", "x"), calls("y", "ours", "transfer_to_c"), calls("z", "transfer_to_root"), calls("x"), text("done")}, "", 0,
			[]string{asRoot, asB, asC, asRoot, asRoot}, "transferred to b, X(), boom, O, transferred to c, Z, transferred to root, X(root)",
		},
		"three levels deep": {
			[]fake.Response{calls("transfer_to_b"), calls("transfer_to_c"), calls("transfer_to_d"), text("done")}, "", 0,
			[]string{asRoot, asB, asC, asD}, "transferred to b, transferred to c, transferred to d",
		},
		"two transfers":    {[]fake.Response{calls("transfer_to_root", "transfer_to_b"), text("done")}, "c", 0, []string{asC, asB}, "transferred to root, transferred to b"},
		"unknown agent":    {[]fake.Response{calls("x"), text("done")}, "ghost", 0, []string{asRoot, asRoot}, "X(ghost)"},
		"one limit of all": {[]fake.Response{calls("transfer_to_b"), calls("transfer_to_c"), text("never")}, "", 2, []string{asRoot, asB}, "transferred to b, transferred to c"},
	} {
		m := fake.NewModel(c.responses...)
		root.Model, root.MaxSteps = m, c.limit
		vars := new(middleware.Vars)
		middleware.ActiveAgent.Set(vars, c.active)
		res, err := deepagents.Generate(t.Context(), root, loop.Prompt("go"), vars, &deepagents.Options{Loop: loop.Config{Tools: []loop.Tool{tool("ours", "O")}, Concurrency: 1}})
		if err != nil {
			t.Fatal(err)
		}
		var got, results []string
		for _, r := range m.RecordedRequests() {
			var tools []string
			for _, t := range r.Request.Tools {
				tools = append(tools, strings.TrimSuffix(t.Name+": "+t.Description, ": "))
			}
			got = append(got, fmt.Sprint(r.Request.System.Text(), " ", tools))
		}
		for _, s := range res.Steps {
			for _, r := range s.Results {
				results = append(results, r.Text())
			}
		}
		if n := strings.Count(c.results, "boom"); failed != n {
			t.Errorf("%s: the failing tool ran %d times, want %d", name, failed, n)
		}
		failed = 0
		if diff := cmp.Diff(c.want, got); diff != "" || strings.Join(results, ", ") != c.results {
			t.Errorf("%s: results %q, requests (-want +got):\n%s", name, results, diff)
		}
	}
}

// DA-06, DA-14: middleware of the options wraps that of the preset. The system prompt of the options is not
// used, also by an agent without instructions.
func TestOptionsOfGenerate(t *testing.T) {
	var got []string
	spy := func(name string) loop.Middleware {
		return loop.Middleware{Name: name, New: func(loop.RunInfo) loop.Hooks {
			return loop.Hooks{BeforeStep: func(_ context.Context, s *loop.StepInfo) (c loop.StepChange, err error) {
				got = append(got, fmt.Sprintf("%s: %q", name, s.Request.System.Text()))
				return c, nil
			}}
		}}
	}
	b := agent("b", nil)
	b.Instructions = nil
	root := agent("root", fake.NewModel(calls("transfer_to_b"), text("done")))
	root.Handoffs = []*deepagents.Agent{b}
	if _, err := deepagents.Generate(t.Context(), root, loop.Prompt("go"), nil, &deepagents.Options{Loop: loop.Config{System: "other", Middleware: []loop.Middleware{spy("outer")}}}); err != nil {
		t.Fatal(err)
	}
	for _, r := range root.Model.(*fake.Model).RecordedRequests() {
		got = append(got, fmt.Sprintf("request: %q", r.Request.System.Text()))
	}
	if diff := cmp.Diff([]string{`outer: ""`, `outer: ""`, `request: "I am root of "`, `request: ""`}, got); diff != "" {
		t.Errorf("system prompts (-want +got):\n%s", diff)
	}
}

// DA-37, DA-53, DA-58: the text, the steps, the calls and the results can be awaited, each after
// the stream was consumed and without reading anything, also twice. Each step has its own calls
// and results. After a failed run each fails with its error.
func TestAwaitablesDA53DA58(t *testing.T) {
	both := calls("a", "b")
	both.Text = "first "
	for _, consumed := range []bool{true, false} {
		for _, first := range []string{"text", "steps", "calls", "results"} {
			s := execute(t, nil, []loop.Tool{tool("a", "A"), tool("b", "B"), tool("c", "C")}, both, fake.Response{Calls: []fake.Call{{ID: "c3", Name: "c", Arguments: "{}"}}}, text("x"))
			if consumed {
				s.Consume(nil)
			}
			await := map[string]func() string{
				"text": func() string { v, err := s.Text(); return fmt.Sprint(v, " ", err) },
				"steps": func() string {
					steps, err := s.Steps()
					out := ""
					for _, step := range steps {
						for i, c := range step.Calls {
							out += c.Name + "=" + step.Results[i].Text() + " "
						}
						out += "| "
					}
					return fmt.Sprint(out, err)
				},
				"calls":   func() string { v, err := s.ToolCalls(); return fmt.Sprint(len(v), " ", err) },
				"results": func() string { v, err := s.ToolResults(); return fmt.Sprint(len(v), " ", err) },
			}
			want := map[string]string{"text": "x <nil>", "steps": "a=A b=B | c=C | | <nil>", "calls": "0 <nil>", "results": "0 <nil>"}
			if got := await[first](); got != want[first] {
				t.Errorf("%s first: got %q, want %q", first, got, want[first])
			}
			got := map[string]string{}
			for range 2 {
				for name, f := range await {
					got[name] = f()
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s first (-want +got):\n%s", first, diff)
				}
			}
		}
	}
	s := execute(t, &deepagents.Options{Loop: loop.Config{MaxSteps: 1}}, []loop.Tool{tool("a", "A")}, calls("a"))
	if c, err := s.ToolCalls(); err != nil || len(c) != 1 || c[0].Name != "a" {
		t.Errorf("the calls of the last step: %+v, %v", c, err)
	}
	if r, err := s.ToolResults(); err != nil || len(r) != 1 || r[0].Text() != "A" {
		t.Errorf("the results of the last step: %+v, %v", r, err)
	}
	failed := execute(t, nil, nil, fake.Response{Error: &fake.Failure{Status: 500, Message: "boom"}})
	failed.Consume(nil) // DA-59: it settles without an error
	checkAwaitables(t, failed, func(err error) bool { return strings.Contains(err.Error(), "boom") })
}

// checkAwaitables checks that each awaitable of a run fails with an error.
func checkAwaitables(t *testing.T, s *deepagents.Stream, is func(error) bool) {
	t.Helper()
	_, err1 := s.Text()
	_, err2 := s.Steps()
	_, err3 := s.ToolCalls()
	_, err4 := s.ToolResults()
	for i, err := range []error{err1, err2, err3, err4} {
		if err == nil || !is(err) {
			t.Errorf("awaitable %d of a failed run: %v", i, err)
		}
	}
}

// DA-54: the UI stream of an executed run has the parts of a swarm without a hook, with each option,
// at each read.
func TestUIStreamDA54(t *testing.T) {
	first := calls("a")
	first.Text, first.Reasoning = "one", "hm"
	metadata := func(ev trace.Event) json.RawMessage { return json.RawMessage(strconv.Itoa(int(ev.Seq))) }
	for _, opts := range []uistream.Options{{}, {OmitReasoning: true}, {MessageID: "m1", FinishReason: true, Metadata: metadata}, {ErrorText: error.Error}} {
		second := text("two")
		if opts.ErrorText != nil {
			second = fake.Response{Error: &fake.Failure{Status: 500, Message: "boom"}}
		}
		root := func() *deepagents.Agent { return agent("root", fake.NewModel(first, second), tool("a", "A")) }
		s, err := deepagents.Execute(t.Context(), root(), loop.Prompt("go"), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		swarm, err := deepagents.Swarm(t.Context(), root(), loop.Prompt("go"), nil, nil, opts)
		if err != nil {
			t.Fatal(err)
		}
		a, b := slices.Collect(s.UI(opts)), slices.Collect(swarm)
		if diff := cmp.Diff(b, a); diff != "" || len(a) < 10 {
			t.Errorf("%d parts (-swarm +execute):\n%s", len(a), diff)
		}
		if diff := cmp.Diff(a, slices.Collect(s.UI(opts))); diff != "" {
			t.Errorf("parts (-first read +second read):\n%s", diff)
		}
		if got := slices.ContainsFunc(a, func(p uistream.Part) bool { return strings.HasPrefix(p.Type, "reasoning") }); got == opts.OmitReasoning {
			t.Errorf("OmitReasoning %v: the parts contain reasoning: %v", opts.OmitReasoning, got)
		}
	}
}

// DA-57: the output mode changes the returned messages, and nothing else.
func TestOutputModeDA57(t *testing.T) {
	shape, err := middleware.NewOutput([]byte(`{"type":"object"}`))
	if err != nil {
		t.Fatal(err)
	}
	play := func(last bool, limit int) (*deepagents.Result, []*llm.Request) {
		turn := calls("a")
		turn.Usage, turn.Text = llm.Usage{InputTokens: 3, OutputTokens: 1}, "so"
		m := fake.NewModel(turn, text("{}"))
		root := agent("root", m, tool("a", "A"))
		root.Output = shape
		in := loop.Continue([]llm.Message{llm.User("hi"), llm.Assistant(llm.Text{Text: "ho"})}, llm.User("go"))
		opts := &deepagents.Options{LastMessage: last, Loop: loop.Config{MaxSteps: limit}}
		res, err := deepagents.Generate(t.Context(), root, in, middleware.NewVars(map[string]any{"user": "Ada"}), opts)
		if err != nil {
			t.Fatal(err)
		}
		return res, m.Requests()
	}
	for _, c := range []struct {
		limit, messages int
		output          string
	}{{0, 3, "{}"}, {1, 2, ""}} {
		full, requests := play(false, c.limit)
		last, sameRequests := play(true, c.limit)
		if diff := cmp.Diff(requests, sameRequests); diff != "" {
			t.Errorf("requests (-full_history +last_message):\n%s", diff)
		}
		if diff := cmp.Diff(full, last, cmpopts.IgnoreFields(deepagents.Result{}, "Messages", "State"), cmpopts.IgnoreUnexported(loop.Step{})); diff != "" {
			t.Errorf("results (-full_history +last_message):\n%s", diff)
		}
		if diff := cmp.Diff(full.State.Values(), last.State.Values()); diff != "" || len(full.Messages) != c.messages || len(last.Messages) != 1 || string(full.Output) != c.output {
			t.Errorf("%d and %d messages, output %s, states (-full_history +last_message):\n%s", len(full.Messages), len(last.Messages), full.Output, diff)
		}
	}
}

// DA-60: a cancel in the middle of a response ends the context of the model and the stream. The text
// that was read stays read, and the awaitables fail with an AbortError. A cancel after the end
// changes nothing.
func TestAbortDA60(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	clock := fake.NewClock()
	m := &fake.Model{Clock: clock, Responses: []fake.Response{{Chunks: []string{"a", "b", "c", "d"}, EventInterval: time.Second}}}
	var ended error
	root := agent("root", nil)
	root.Model = llm.ModelFunc(func(ctx context.Context, r *llm.Request) iter.Seq2[llm.Event, error] {
		return func(yield func(llm.Event, error) bool) {
			m.Stream(context.WithoutCancel(ctx), r)(func(ev llm.Event, err error) bool {
				more := yield(ev, err)
				ended = ctx.Err()
				return more
			})
		}
	})
	s, err := deepagents.Execute(ctx, root, loop.Prompt("go"), nil, &deepagents.Options{Loop: loop.Config{Clock: clock}})
	if err != nil {
		t.Fatal(err)
	}
	var read []string
	for chunk := range s.TextStream() {
		if read = append(read, chunk); len(read) == 2 {
			cancel()
		}
	}
	if diff := cmp.Diff([]string{"a", "b"}, read); diff != "" || !errors.Is(ended, context.Canceled) {
		t.Errorf("the context of the model: %v; the text (-want +got):\n%s", ended, diff)
	}
	if got := kinds(s); got != "text-delta text-delta abort" {
		t.Errorf("the parts: %s", got)
	}
	var failure error
	s.Consume(func(err error) { failure = err })
	if _, ok := errors.AsType[*deepagents.AbortError](failure); !ok {
		t.Errorf("Consume passes the error %v", failure)
	}
	checkAwaitables(t, s, func(err error) bool {
		aborted, ok := errors.AsType[*deepagents.AbortError](err)
		return ok && aborted.Name() == "AbortError"
	})
	ctx, cancel = context.WithCancel(t.Context())
	whole, err := deepagents.Execute(ctx, agent("root", fake.NewModel(text("x"))), loop.Prompt("go"), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	whole.Consume(nil)
	cancel()
	if got, err := whole.Text(); got != "x" || err != nil {
		t.Errorf("after the end: %q, %v", got, err)
	}
}

// The typed outputs of the finance bot.
type (
	searchPlan struct {
		Searches []searchItem `json:"searches"`
	}
	searchItem struct {
		Query  string `json:"query"`
		Reason string `json:"reason"`
	}
	financeReport struct {
		Summary  string `json:"summary"`
		Markdown string `json:"markdown_report"`
	}
	verification struct {
		Verified bool   `json:"verified"`
		Issues   string `json:"issues"`
	}
)

// typed returns an agent with an output of type T, and a function that runs it and decodes its
// output.
func typed[T any](t *testing.T, name string, m *fake.Model) func(prompt string) (T, error) {
	t.Helper()
	shape, err := middleware.OutputOf[T]()
	if err != nil {
		t.Fatal(err)
	}
	a := agent(name, m)
	a.Output = shape
	return func(prompt string) (v T, err error) {
		res, err := deepagents.Generate(t.Context(), a, loop.Prompt(prompt), nil, nil)
		if err != nil {
			return v, err
		}
		_, err = shape.Read(string(res.Output), &v)
		return v, err
	}
}

// DA-48, DA-51, DA-52: the finance bot. A typed plan, one executed stream for each search, a typed
// report and a typed verification of report.markdown_report, each with the prompt of the reference
// documentation. The searches stream independently: the second one can be read before the first
// has ended, a canceled one leaves the others whole, and the results are in the order of the plan.
func TestFinanceBotDA48DA51DA52(t *testing.T) {
	planModel := fake.NewModel(text(`{"searches":[{"query":"q1","reason":"r1"},{"query":"q2","reason":"r2"},{"query":"q3","reason":"r3"}]}`))
	writeModel, verifyModel := fake.NewModel(text(`{"summary":"s","markdown_report":"# Report"}`)), fake.NewModel(text(`{"verified":true,"issues":"none"}`))
	planner, writer, verifier := typed[searchPlan](t, "planner", planModel), typed[financeReport](t, "writer", writeModel), typed[verification](t, "verifier", verifyModel)
	const query = "How is Apple doing?"

	plan, err := planner("Query: " + query)
	if err != nil {
		t.Fatal(err)
	}
	clock := fake.NewClock()
	begun, delays := clock.Now(), []time.Duration{30, 10, 20}
	var log []string
	results, searched := make([]string, len(plan.Searches)), make([]*fake.Model, len(plan.Searches))
	wait, done := clock.Signal()
	for i, item := range plan.Searches {
		searched[i] = &fake.Model{Clock: clock, Responses: []fake.Response{{Chunks: []string{"found ", item.Query}, EventInterval: delays[i] * time.Millisecond}}}
		s, err := deepagents.Execute(t.Context(), agent("search", searched[i]), loop.Prompt("Search term: "+item.Query+"\nReason: "+item.Reason), nil, &deepagents.Options{Loop: loop.Config{Clock: clock}})
		if err != nil {
			t.Fatal(err)
		}
		clock.Go(func() {
			defer done()
			for chunk := range s.TextStream() {
				log = append(log, fmt.Sprint(clock.Now().Sub(begun), " ", i+1, " ", chunk))
			}
			if results[i], err = s.Text(); err != nil {
				t.Error(err)
			}
		})
	}
	for range plan.Searches {
		wait()
	}
	slices.Sort(log)
	if diff := cmp.Diff([]string{"0s 1 found ", "0s 2 found ", "0s 3 found ", "10ms 2 q2", "20ms 3 q3", "30ms 1 q1"}, log); diff != "" {
		t.Errorf("the chunks of the searches with their times (-want +got):\n%s", diff)
	}
	report, err := writer("Query: " + query + "\nResults: " + strings.Join(results, ", "))
	if err != nil {
		t.Fatal(err)
	}
	verified, err := verifier(report.Markdown)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(verification{true, "none"}, verified); diff != "" || report.Summary != "s" {
		t.Errorf("the report %+v, verification (-want +got):\n%s", report, diff)
	}
	var prompts []string
	for _, m := range slices.Concat([]*fake.Model{planModel}, searched, []*fake.Model{writeModel, verifyModel}) {
		list := m.Requests()
		if typed := !slices.Contains(searched, m); typed != (list[0].Settings.OutputSchema != nil) {
			t.Errorf("the request %q has the output schema %s", list[0].Messages[0].Text(), list[0].Settings.OutputSchema)
		}
		prompts = append(prompts, list[0].Messages[0].Text())
		if len(list) != 1 || len(list[0].Messages) != 1 {
			t.Errorf("%d requests with %d messages", len(list), len(list[0].Messages))
		}
	}
	if diff := cmp.Diff([]string{
		"Query: " + query, "Search term: q1\nReason: r1", "Search term: q2\nReason: r2", "Search term: q3\nReason: r3",
		"Query: " + query + "\nResults: found q1, found q2, found q3", "# Report",
	}, prompts); diff != "" {
		t.Errorf("prompts (-want +got):\n%s", diff)
	}
}

// DA-52: a search that is canceled while the others run leaves them whole.
func TestCancelOneSearchDA52(t *testing.T) {
	texts := make([]string, 3)
	errs := make([]error, 3)
	clock := fake.NewClock()
	wait, done := clock.Signal()
	for i := range 3 {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		m := &fake.Model{Clock: clock, Responses: []fake.Response{{Chunks: []string{"found ", fmt.Sprint(i)}, EventInterval: time.Duration(i+1) * time.Millisecond}}}
		s, err := deepagents.Execute(ctx, agent("search", m), loop.Prompt("go"), nil, &deepagents.Options{Loop: loop.Config{Clock: clock}})
		if err != nil {
			t.Fatal(err)
		}
		clock.Go(func() {
			defer done()
			for range s.TextStream() {
				if i == 1 {
					cancel()
				}
			}
			texts[i], errs[i] = s.Text()
		})
	}
	for range 3 {
		wait()
	}
	if aborted, ok := errors.AsType[*deepagents.AbortError](errs[1]); !ok || errs[0] != nil || errs[2] != nil {
		t.Errorf("errors %v, %v", errs, aborted)
	}
	if diff := cmp.Diff([]string{"found 0", "", "found 2"}, texts); diff != "" {
		t.Errorf("texts (-want +got):\n%s", diff)
	}
}
