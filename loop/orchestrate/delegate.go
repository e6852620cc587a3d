package orchestrate

import (
	"context"
	"fmt"
	"strings"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/history"
	"github.com/looptape/looptape/loop/layers"
	"github.com/looptape/looptape/loop/middleware"
)

// owner is who sets layers here.
const owner = "orchestrate"

// Delegate gives a task to an agent, which knows what was said before: it goes on
// from a fork of h, which it returns with the task and all that the agent added. h
// stays as it is, also when the agent's run fails. The agent's own system prompt, if
// it has one, stands in the place of that of h (layers.SystemName). A last turn whose
// calls are not all answered, such as the one that a tool is delegating from, is left out.
//
// The error is the run's, and the result what there was before it.
func Delegate(ctx context.Context, agent *loop.Agent, h *history.History, task string) (*loop.Result, *history.History, error) {
	fork, said := h.Fork(""), llm.User(task)
	if turn, open := fork.Open(); open != nil {
		if _, err := fork.SpliceRange(turn, fork.Len(), said); err != nil {
			return nil, nil, err
		}
	} else {
		fork.Append(said, history.Meta{})
	}
	briefed, err := agent.With(func(c *loop.Config) {
		if c.System != "" {
			put(fork.Layers(), layers.System(c.System, owner))
		}
		c.System = fork.System()
	})
	if err != nil {
		return nil, nil, err
	}
	res, err := briefed.Run(ctx, loop.Input{Messages: fork.Messages()})
	for _, m := range res.Messages {
		fork.Append(m, history.Meta{})
	}
	return res, fork, err
}

// put sets a layer that has a name, which is all that Set asks for.
func put(r *layers.Registry, l layers.Layer) { _ = r.Set(l) }

// brief returns an agent whose system prompt ends with a context.
func brief(agent *loop.Agent, text string) (*loop.Agent, error) {
	return agent.With(func(c *loop.Config) {
		prompt := new(layers.Registry)
		put(prompt, layers.System(c.System, owner))
		put(prompt, layers.Context(text, owner))
		c.System = prompt.Flat(layers.View{})
	})
}

// Chain gives a task to several agents, one after another: each has in its system
// prompt, as context, what the one before it said. It returns the results of those
// that were run. The first run that fails, or that has nothing for the next agent (see
// middleware.FinalText), ends it, and the error says which it was.
func Chain(ctx context.Context, task string, agents ...*loop.Agent) ([]*loop.Result, error) {
	var results []*loop.Result
	said := ""
	for i, agent := range agents {
		briefed, err := brief(agent, said)
		if err != nil {
			return results, err
		}
		res, err := briefed.Run(ctx, loop.Prompt(task))
		results = append(results, res)
		if err != nil {
			return results, fmt.Errorf("orchestrate: Chain: agent %d of %d: %w", i+1, len(agents), err)
		}
		if said, err = middleware.FinalText(res); err != nil {
			return results, fmt.Errorf("orchestrate: Chain: agent %d of %d: %w", i+1, len(agents), err)
		}
	}
	return results, nil
}

// Contribution is what one of several has come to.
type Contribution struct {
	Name string // who it is from
	Text string // middleware.FinalText has that of a run
	Err  error  // why there is none
}

// Consolidate has an agent make one answer to a task of several contributions, in one
// run. They are told in their order; of one that failed it is told that it did.
func Consolidate(ctx context.Context, agent *loop.Agent, task string, list []Contribution) (*loop.Result, error) {
	var b strings.Builder
	b.WriteString(task)
	for i, c := range list {
		fmt.Fprintf(&b, "\n\n[%d] %s", i+1, c.Name)
		if c.Err != nil {
			fmt.Fprintf(&b, " failed: %v", c.Err)
			continue
		}
		fmt.Fprintf(&b, ":\n%s", c.Text)
	}
	return agent.Run(ctx, loop.Prompt(b.String()))
}
