package mcp

import (
	"testing"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/check"
)

// callsOf returns a model that calls each tool in its own step, and then answers.
func callsOf(tools ...string) *fake.Model {
	var responses []fake.Response
	for _, name := range tools {
		responses = append(responses, fake.Response{Calls: []fake.Call{{Name: name, Arguments: `{"name":"Ada"}`}}})
	}
	return fake.NewModel(append(responses, fake.Response{Text: "done"})...)
}

// runLoop runs an agent and checks the invariants of its trace.
func runLoop(t *testing.T, model *fake.Model, cfg loop.Config) *loop.Result {
	t.Helper()
	mem := &trace.Memory{}
	cfg.Sink = mem
	agent, err := loop.New(model, &cfg)
	if err != nil {
		t.Fatal(err)
	}
	res, err := agent.Run(t.Context(), loop.Prompt("go"))
	if err != nil {
		t.Fatal(err)
	}
	c := check.New(nil)
	for _, ev := range mem.Events() {
		c.Add(ev)
	}
	for _, v := range c.Done() {
		t.Errorf("%s: event %d: %s", v.Invariant, v.Event, v.Message)
	}
	return res
}
