package middleware

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
)

// SubAgent is an agent that performs tasks for another agent.
type SubAgent struct {
	Name        string // the name for the model
	Description string // its purpose, for the model
	Agent       *loop.Agent
}

// SubAgents adds the tool task, by which a model gives a task to one of the agents and gets
// its final text. The agent receives only the description of the task. If its run fails or has
// no final text (see [FinalText]), the call gets an error result.
//
// The run is nested: it is recorded below the call, in the sink of the outer run's Input and
// in that of its own Config. Do not add SubAgents to the agent itself. Without agents there is
// no tool. SubAgents returns an error if an agent is nil, or a name is missing or duplicate.
func SubAgents(list ...SubAgent) (m loop.Middleware, err error) {
	agents := map[string]*loop.Agent{}
	var names []string
	description := "Gives a task to another agent and returns what it says in the end. It knows nothing of this conversation: " +
		"the description has to say all that it needs. The agents are:"
	for i, a := range list {
		switch {
		case a.Name == "":
			return m, fmt.Errorf("middleware: SubAgents: agent %d has no Name: set it", i+1)
		case a.Agent == nil:
			return m, fmt.Errorf("middleware: SubAgents: the agent %q is nil: set Agent", a.Name)
		case agents[a.Name] != nil:
			return m, fmt.Errorf("middleware: SubAgents: duplicate name %q: rename one agent", a.Name)
		}
		agents[a.Name] = a.Agent
		names = append(names, a.Name)
		description += "\n- " + a.Name + ": " + a.Description
	}
	if len(list) == 0 {
		return loop.Middleware{Name: "subagents", New: func(loop.RunInfo) loop.Hooks { return loop.Hooks{} }}, nil
	}
	type arguments struct {
		Description string `json:"description"`
		Agent       string `json:"subagent_type"`
	}
	tool := prepared("task", description, `{"type":"object","properties":{"description":{"type":"string","description":"the whole task"},`+
		`"subagent_type":{"type":"string","description":"the name of the agent"}},"required":["description","subagent_type"]}`)
	return loop.Middleware{Name: "subagents", New: func(info loop.RunInfo) loop.Hooks {
		return withTools(func(ctx context.Context, _ loop.Call, in arguments) (string, error) {
			agent := agents[in.Agent]
			if agent == nil {
				return "", fmt.Errorf("there is no agent %q; the agents are %s", in.Agent, strings.Join(names, ", "))
			}
			res, err := agent.Run(ctx, loop.Input{Messages: []llm.Message{llm.User(in.Description)}, Sink: info.Input.Sink})
			if err != nil {
				return "", fmt.Errorf("the agent failed: %w", err)
			}
			text, err := FinalText(res)
			if err == nil && text == "" {
				err = errors.New("the agent ended without a text")
			}
			return text, err
		}, tool)
	}}, nil
}

// FinalText returns the final text of a run for another agent. It returns an error if a
// guardrail ended the run, since the text may be what the guardrail rejected. It also returns
// an error if the last calls of the run have no results.
func FinalText(res *loop.Result) (string, error) {
	switch {
	case res.StopReason == ReasonGuardrail:
		return "", fmt.Errorf("a guardrail ended the agent's run: %s", cmp.Or(res.Note, "it gave no reason"))
	case len(res.Pending) > 0:
		return "", fmt.Errorf("the agent's run ended (%s) before its call of %s had a result", res.StopReason, res.Pending[0].Name)
	}
	return res.Text, nil
}
