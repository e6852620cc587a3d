package middleware_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/trace"
)

// sub returns an agent with a scripted model.
func sub(t *testing.T, clock *fake.Clock, turns ...fake.Response) (*loop.Agent, *fake.Model) {
	t.Helper()
	m := &fake.Model{Responses: turns, Clock: clock}
	a, err := loop.New(m, &loop.Config{Clock: clock, Tools: []loop.Tool{tool}})
	if err != nil {
		t.Fatal(err)
	}
	return a, m
}

// RA-09, RA-54: task runs the named agent below its call. The agent receives only the
// description, and the caller only its final text.
func TestSubAgents(t *testing.T) {
	clock := fake.NewClock()
	reader, readerModel := sub(t, clock, fake.Response{Text: "let me see", Calls: []fake.Call{{Name: "a", Arguments: "{}"}}}, text("it says A"))
	broken, _ := sub(t, clock, fake.Response{Err: errors.New("boom")})
	silent, _ := sub(t, clock, fake.Response{})
	p, err := middleware.SubAgents(
		middleware.SubAgent{Name: "reader", Description: "reads", Agent: reader},
		middleware.SubAgent{Name: "broken", Description: "breaks", Agent: broken},
		middleware.SubAgent{Name: "silent", Description: "says nothing", Agent: silent},
	)
	if err != nil {
		t.Fatal(err)
	}
	task := func(name string) string { return args(t, "description", "read it", "subagent_type", name) }
	o := play(t.Context(), t, loop.Config{Middleware: []loop.Middleware{p}, Clock: clock}, loop.Prompt("go"),
		calling("task", task("reader"), "task", task("broken"), "task", task("silent"), "task", task("nobody"), "task", task("")), text("done"))
	want := []string{
		"it says A", "! the agent failed: loop: step 0: boom", "! the agent ended without a text", "! there is no agent \"nobody\"; the agents are reader, broken, silent",
		"! there is no agent \"\"; the agents are reader, broken, silent",
	}
	if diff := cmp.Diff(want, o.results()); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	first := readerModel.RecordedRequests()[0].Request
	if diff := cmp.Diff([]llm.Message{llm.User("read it")}, first.Messages); diff != "" || len(first.Tools) != 1 {
		t.Errorf("the agent has the tools %v and sees (-want +got):\n%s", first.Tools, diff)
	}
	parents := map[string]*trace.Parent{}
	for _, ev := range o.events {
		if b, ok := ev.Body.(trace.RunStart); ok {
			parents[ev.Run] = b.Parent
		}
	}
	below := func(call string) *trace.Parent { return &trace.Parent{Run: "r1", ToolCallID: call} }
	wantRuns := map[string]*trace.Parent{
		"r1": nil, "r1/loop_call_1": below("loop_call_1"), "r1/loop_call_2": below("loop_call_2"), "r1/loop_call_3": below("loop_call_3"),
	}
	if diff := cmp.Diff(wantRuns, parents); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
	wantTool := "Gives a task to another agent and returns what it says in the end. It knows nothing of this conversation: " +
		"the description has to say all that it needs. The agents are:\n- reader: reads\n- broken: breaks\n- silent: says nothing"
	if got := o.model.RecordedRequests()[0].Request.Tools[0]; got.Name != "task" || got.Description != wantTool {
		t.Errorf("the tool is %+v", got)
	}
}

// Without agents, the tool is missing.
func TestNoSubAgents(t *testing.T) {
	p, err := middleware.SubAgents()
	o := with(t, p, err, text("done"))
	if tools := o.model.RecordedRequests()[0].Request.Tools; len(tools) != 1 {
		t.Errorf("got %v", tools)
	}
}

// The calling agent does not receive text that a guardrail rejected. A run with pending calls
// has no final text.
func TestSubAgentsWithoutFinalText(t *testing.T) {
	clock := fake.NewClock()
	buy, err := loop.ClientTool("buy", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	guarded := func(reason string, kind middleware.GuardrailKind) *loop.Agent {
		var log []string
		g := guard("g", kind, &log, middleware.GuardrailResult{Tripwire: true, Reason: reason})
		return made(t, clock, loop.Config{Middleware: []loop.Middleware{middleware.Guardrails([]middleware.Guardrail{g}, nil)}}, text("the secret"))
	}
	p, err := middleware.SubAgents(
		middleware.SubAgent{Name: "out", Agent: guarded("not for you", middleware.GuardOutput)},
		middleware.SubAgent{Name: "in", Agent: guarded("", middleware.GuardInput)},
		middleware.SubAgent{Name: "waits", Agent: made(t, clock, loop.Config{Tools: []loop.Tool{buy}}, fake.Response{Text: "I bought it", Calls: []fake.Call{{Name: "buy", Arguments: "{}"}}})},
	)
	if err != nil {
		t.Fatal(err)
	}
	task := func(name string) string { return args(t, "description", "do", "subagent_type", name) }
	o := play(t.Context(), t, loop.Config{Middleware: []loop.Middleware{p}, Clock: clock}, loop.Prompt("go"),
		calling("task", task("out"), "task", task("in"), "task", task("waits")), text("done"))
	want := []string{
		"! a guardrail ended the agent's run: not for you", "! a guardrail ended the agent's run: it gave no reason",
		"! the agent's run ended (client_tools) before its call of buy had a result",
	}
	if diff := cmp.Diff(want, o.results()); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
}

// RA-54: the end of the caller's run ends the run of the agent.
func TestSubAgentCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	end := loop.Tool{Name: "end", Run: func(context.Context, loop.Call) (loop.Output, error) {
		cancel()
		return loop.TextOutput("ended"), nil
	}}
	clock := fake.NewClock()
	m := &fake.Model{Responses: []fake.Response{calling("end", "{}"), text("never")}, Clock: clock}
	a, err := loop.New(m, &loop.Config{Clock: clock, Tools: []loop.Tool{end}})
	if err != nil {
		t.Fatal(err)
	}
	p, err := middleware.SubAgents(middleware.SubAgent{Name: "s", Agent: a})
	if err != nil {
		t.Fatal(err)
	}
	o := play(ctx, t, loop.Config{Middleware: []loop.Middleware{p}, Clock: clock}, loop.Prompt("go"), calling("task", args(t, "description", "do", "subagent_type", "s")), text("never"))
	if n := len(m.RecordedRequests()); n != 1 || !errors.Is(o.err, context.Canceled) {
		t.Errorf("the agent made %d requests, want 1; the run ended with %v", n, o.err)
	}
}

// made returns an agent with a configuration and a scripted model.
func made(t *testing.T, clock *fake.Clock, cfg loop.Config, turns ...fake.Response) *loop.Agent {
	t.Helper()
	cfg.Clock = clock
	a, err := loop.New(&fake.Model{Responses: turns, Clock: clock}, &cfg)
	if err != nil {
		t.Fatal(err)
	}
	return a
}
