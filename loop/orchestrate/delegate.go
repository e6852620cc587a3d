package orchestrate

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/history"
	"github.com/looptape/looptape/loop/layers"
	"github.com/looptape/looptape/loop/middleware"
)

const owner = "orchestrate"

// Delegate gives a task to an agent that continues a conversation. The agent works on a fork
// of h, which Delegate returns with the task and all messages of the agent; h does not change.
// If the agent has a system prompt, it replaces that of h ([layers.SystemName]). Delegate
// omits a last response with unanswered calls, such as that of the delegating tool.
//
// The error is that of the run. The result is the partial result of the run.
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
			_ = fork.Layers().Set(layers.Fixed(layers.SystemName, c.System, owner)) // it has a name, so Set cannot fail
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

// Chain gives a task to several agents, one after another. The system prompt of each agent
// contains the final text of the agent before it as context. Chain returns the results of the
// started runs. It stops at the first run that fails or has no final text (see
// [middleware.FinalText]), and the error names that agent.
func Chain(ctx context.Context, task string, agents ...*loop.Agent) ([]*loop.Result, error) {
	var results []*loop.Result
	said := ""
	for i, agent := range agents {
		briefed, err := agent.With(func(c *loop.Config) {
			prompt := new(layers.Registry)
			_ = errors.Join(prompt.Set(layers.Fixed(layers.SystemName, c.System, owner)), prompt.Set(layers.Fixed(layers.ContextName, said, owner)))
			c.System = prompt.Flat(layers.View{})
		})
		if err != nil {
			return results, err
		}
		res, err := briefed.Run(ctx, loop.Prompt(task))
		results = append(results, res)
		if err == nil {
			said, err = middleware.FinalText(res)
		}
		if err != nil {
			return results, fmt.Errorf("orchestrate: Chain: agent %d of %d: %w", i+1, len(agents), err)
		}
	}
	return results, nil
}

// Contribution is the result of one of several agents.
type Contribution struct {
	Name string // of the agent
	Text string // see [middleware.FinalText]
	Err  error  // nil if the agent succeeded
}

// Consolidate runs an agent once to combine several contributions into one answer to a task.
// The prompt lists the contributions in order and names those that failed.
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
