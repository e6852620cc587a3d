package deepagents_test

import (
	"context"
	"fmt"
	"testing"

	"go.uber.org/goleak"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/loop/preset/deepagents"
	"github.com/looptape/looptape/loop/uistream"
)

// TestMain checks that no goroutine outlives the tests.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func text(s string) fake.Response { return fake.Response{Text: s} }

// calls returns a response that calls tools with the arguments {}. The ids are c1, c2 ….
func calls(tools ...string) fake.Response {
	var t fake.Response
	for i, n := range tools {
		t.Calls = append(t.Calls, fake.Call{ID: fmt.Sprint("c", i+1), Name: n, Arguments: "{}"})
	}
	return t
}

// tool returns a tool that returns its name in capitals.
func tool(name, answer string) loop.Tool {
	return loop.Tool{Name: name, Run: func(context.Context, loop.Call) (loop.Output, error) { return loop.TextOutput(answer), nil }}
}

// agent returns an agent with the instructions "I am NAME of USER".
func agent(name string, m *fake.Model, tools ...loop.Tool) *deepagents.Agent {
	a := &deepagents.Agent{Name: name, Tools: tools, Instructions: func(vars *middleware.Vars) string {
		who, _ := user.Get(vars)
		return "I am " + name + " of " + who
	}}
	if m != nil {
		a.Model = m
	}
	return a
}

const user middleware.Var[string] = "user"

// asked returns the system prompt and the last message of each request to a model.
func asked(m *fake.Model) []string {
	var out []string
	for _, r := range m.RecordedRequests() {
		messages := r.Request.Messages
		last := messages[len(messages)-1]
		out = append(out, fmt.Sprintf("%s: %d, %s", r.Request.System.Text(), len(messages), last.Role))
	}
	return out
}

// entryPoints are the entry points. Each runs an agent until its run ends.
var entryPoints = map[string]func(context.Context, *deepagents.Agent, loop.Input, *middleware.Vars, *deepagents.Options) error{
	"generate": func(ctx context.Context, a *deepagents.Agent, in loop.Input, vars *middleware.Vars, opts *deepagents.Options) error {
		_, err := deepagents.Generate(ctx, a, in, vars, opts)
		return err
	},
	"execute": func(ctx context.Context, a *deepagents.Agent, in loop.Input, vars *middleware.Vars, opts *deepagents.Options) error {
		s, err := deepagents.Execute(ctx, a, in, vars, opts)
		if err == nil {
			_, err = s.Wait()
		}
		return err
	},
	"swarm": func(ctx context.Context, a *deepagents.Agent, in loop.Input, vars *middleware.Vars, opts *deepagents.Options) error {
		parts, err := deepagents.Swarm(ctx, a, in, vars, opts, uistream.Options{})
		if err == nil {
			_ = types(parts)
		}
		return err
	},
}
