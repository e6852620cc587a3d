package middleware

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
)

// SubAgent is an agent that another one gives tasks to.
type SubAgent struct {
	Name        string // by which the model names it
	Description string // what it is good for, for the model
	Agent       *loop.Agent
}

// SubAgents offers task, by which a model gives a task to one of the agents and gets
// its last text. The agent sees the description of the task and nothing else of the
// conversation. A run of it that fails, or has nothing to say (see Said), is an error
// result.
//
// Its run is there for the call: it is recorded below it, in the sink of the outer
// run's Input, and in its own Config's. An agent that is to have no tasks of its own
// to give gets no such policy. Without agents there is no tool.
func SubAgents(list ...SubAgent) (loop.Middleware, error) {
	byName := map[string]*loop.Agent{}
	var names, about []string
	for i, a := range list {
		switch {
		case a.Name == "":
			return loop.Middleware{}, fmt.Errorf("middleware: SubAgents: agent %d has no name", i+1)
		case a.Agent == nil:
			return loop.Middleware{}, fmt.Errorf("middleware: SubAgents: the Agent of %q is nil", a.Name)
		case byName[a.Name] != nil:
			return loop.Middleware{}, fmt.Errorf("middleware: SubAgents: two agents have the name %q", a.Name)
		}
		byName[a.Name] = a.Agent
		names = append(names, a.Name)
		about = append(about, "\n- "+a.Name+": "+a.Description)
	}
	if len(list) == 0 {
		return loop.Middleware{Name: "subagents", New: func(loop.RunInfo) loop.Hooks { return loop.Hooks{} }}, nil
	}
	tools, err := toolsOf(loop.Tool{
		Name: "task",
		Description: "Gives a task to another agent and returns what it says in the end. It knows nothing of this conversation: " +
			"the description has to say all that it needs. The agents are:" + strings.Join(about, ""),
		Parameters: json.RawMessage(`{"type":"object","properties":{"description":{"type":"string","description":"the whole task"},` +
			`"subagent_type":{"type":"string","description":"the name of the agent"}},"required":["description","subagent_type"]}`),
	})
	if err != nil {
		return loop.Middleware{}, fmt.Errorf("middleware: SubAgents: %w", err)
	}
	return loop.Middleware{Name: "subagents", New: func(info loop.RunInfo) loop.Hooks {
		return loop.Hooks{Tools: running(tools, func(ctx context.Context, call loop.Call) (loop.Output, error) {
			var in struct {
				Description string `json:"description"`
				Agent       string `json:"subagent_type"`
			}
			if err := json.Unmarshal([]byte(call.Arguments), &in); err != nil {
				return loop.Output{}, err
			}
			agent := byName[in.Agent]
			if agent == nil {
				return loop.Output{}, fmt.Errorf("there is no agent %q; the agents are %s", in.Agent, strings.Join(names, ", "))
			}
			text, err := giveTask(ctx, agent, loop.Input{Messages: []llm.Message{llm.User(in.Description)}, Sink: info.Input.Sink})
			return loop.TextOutput(text), err
		})}
	}}, nil
}

func giveTask(ctx context.Context, agent *loop.Agent, in loop.Input) (string, error) {
	res, err := agent.Run(ctx, in)
	if err != nil {
		return "", fmt.Errorf("the agent failed: %w", err)
	}
	text, err := FinalText(res)
	if err == nil && text == "" {
		err = errors.New("the agent ended without a text")
	}
	return text, err
}

// Said returns the text that a run has for others, such as the agent that gave it a
// task. There is none, but an error, of a run that a guardrail ended, since its text
// may be what the guardrail found, and of one whose last calls have no results.
func FinalText(res *loop.Result) (string, error) {
	switch {
	case res.StopReason == ReasonGuardrail:
		return "", fmt.Errorf("a guardrail ended the agent's run: %s", cmp.Or(res.Note, "it gave no reason"))
	case len(res.Pending) > 0:
		return "", fmt.Errorf("the agent's run ended (%s) before its call of %s had a result", res.StopReason, res.Pending[0].Name)
	}
	return res.Text, nil
}
