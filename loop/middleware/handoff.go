package middleware

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/trace"
)

// HandoffAgent is an agent that can hand a conversation to other agents.
type HandoffAgent struct {
	// Name is unique among the agents that can reach each other. Providers must accept it as
	// part of a tool name.
	Name string
	// Description describes the agent's purpose for the other agents.
	Description string
	// Instructions returns the system prompt before each step of the agent; nil means the
	// system prompt of the run.
	Instructions func(vars *Vars) string
	Tools        []loop.Tool
	// Model is called while the agent is active, with the provider's name ModelName. A nil
	// Model means the model of the run; its name is also used if ModelName is empty.
	Model     llm.Model
	ModelName string
	// Handoffs are the agents that this agent may hand over to. Cycles are allowed.
	Handoffs []*HandoffAgent
}

// ActiveAgent is the variable with the name of the active agent. Without a value, the root is
// active.
const ActiveAgent Var[string] = "currentActiveAgent"

// Handoff prepares each step for the agent that ActiveAgent names: its instructions, tools and
// model, and the tool transfer_to_NAME for each of its Handoffs. All agents share the history,
// the step limits and the other tools of the run.
//
// A transfer tool only sets ActiveAgent. The other calls of its step are run, and the last
// transfer of a step counts. Handoff requires the middleware [Variables] with the same vars.
// When the agent changes, the step begins with [EventHandoff].
//
// [ActiveAgent] without a value means root. If it names an unknown agent, the active agent
// continues with a warning. Handoff returns an error if names of agents are duplicate or
// invalid.
func Handoff(root *HandoffAgent, vars *Vars) (m loop.Middleware, err error) {
	agents, err := reachable(root)
	if err != nil {
		return m, fmt.Errorf("middleware: Handoff: %w", err)
	}
	return loop.Middleware{Name: "handoff", New: func(loop.RunInfo) loop.Hooks {
		return loop.Hooks{BeforeStep: (&handoff{agents: agents, vars: vars}).before}
	}}, nil
}

// agentName matches names that providers accept after "transfer_to_".
var agentName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,52}$`)

// reachable returns root and all agents that it can reach, root first.
func reachable(root *HandoffAgent) ([]*HandoffAgent, error) {
	if root == nil {
		return nil, errors.New("the root is nil: set the agent that begins")
	}
	agents := []*HandoffAgent{root}
	for i := 0; i < len(agents); i++ {
		a := agents[i]
		if !agentName.MatchString(a.Name) {
			return nil, fmt.Errorf("invalid agent name %q: use at most 52 letters, digits, _ and -, because the name is part of a tool name", a.Name)
		}
		for _, to := range a.Handoffs {
			switch {
			case to == nil:
				return nil, fmt.Errorf("the agent %q has a nil agent in Handoffs: remove it", a.Name)
			case slices.Contains(agents, to):
			case find(agents, to.Name) != nil:
				return nil, fmt.Errorf("duplicate agent name %q: handoffs find agents by name", to.Name)
			default:
				agents = append(agents, to)
			}
		}
	}
	return agents, nil
}

func find(agents []*HandoffAgent, name string) *HandoffAgent {
	if i := slices.IndexFunc(agents, func(a *HandoffAgent) bool { return a.Name == name }); i >= 0 {
		return agents[i]
	}
	return nil
}

type handoff struct {
	agents []*HandoffAgent // the root first
	vars   *Vars
	common []loop.Tool   // shared by all agents
	active *HandoffAgent // in the previous step; nil in the first
	name   string        // of ActiveAgent in the previous step
}

func (h *handoff) before(_ context.Context, s *loop.StepInfo) (c loop.StepChange, err error) {
	a, err := h.next(s)
	if err == nil {
		c.Tools, err = h.tools(s, a)
	}
	if err != nil {
		return c, err
	}
	h.active = a
	c.Request, c.Model = s.Request, a.Model
	if c.Tools != nil {
		c.Request.Tools = nil // the definitions of the tools
	}
	if a.Instructions != nil {
		c.Request.System = llm.SystemText(a.Instructions(h.vars))
	}
	if a.Model != nil || a.ModelName != "" {
		c.Request.Model = a.ModelName
	}
	return c, nil
}

func (h *handoff) next(s *loop.StepInfo) (*HandoffAgent, error) {
	name, _ := ActiveAgent.Get(h.vars)
	before := h.name
	if h.name = name; name == "" {
		return h.agents[0], nil
	}
	if a := find(h.agents, name); a != nil {
		return a, nil
	}
	a := cmp.Or(h.active, h.agents[0])
	if name == before { // reported
		return a, nil
	}
	return a, s.Warn(WarnUnknownAgent, fmt.Sprintf("the variable %s names the unknown agent %q; %s continues", ActiveAgent, name, a.Name))
}

// tools returns the tools of a step for an agent, or nil if the agent was already active.
func (h *handoff) tools(s *loop.StepInfo, a *HandoffAgent) ([]loop.Tool, error) {
	switch h.active {
	case a:
		return nil, nil
	case nil:
		h.common = s.Tools()
	default:
		if err := emitJSON(s, EventHandoff, map[string]string{"from": h.active.Name, "to": a.Name}); err != nil {
			return nil, err
		}
	}
	tools := append([]loop.Tool{}, slices.Concat(a.Tools, h.common)...) // not nil
	for _, to := range a.Handoffs {
		tools = append(tools, transferTo(to))
	}
	return tools, nil
}

func transferTo(a *HandoffAgent) loop.Tool {
	description := strings.TrimSpace("Hands the conversation over to " + a.Name + ". " + a.Description)
	return loop.Tool{Name: "transfer_to_" + a.Name, Description: description, Run: func(ctx context.Context, _ loop.Call) (loop.Output, error) {
		vars, ok := VarsFromContext(ctx)
		if !ok {
			return loop.Output{}, errors.New("the run has no variables for the active agent: add middleware.Variables")
		}
		ActiveAgent.Set(vars, a.Name)
		return loop.TextOutput("transferred to " + a.Name), nil
	}}
}

// Ended is a response that would end a run with handoffs.
type Ended struct {
	// By is the agent that gave the response.
	By *HandoffAgent
	// Response is the response, and History contains the messages before it. The hook must not
	// change them.
	Response *llm.Response
	History  []llm.Message
	Vars     *Vars
}

// PrepareEnd calls the hook if the run would end with a response of an agent other than the
// root. Messages of the hook follow that response, and the root continues in the same run, at
// most limit times; 0 means 5. Without messages the run ends. PrepareEnd requires the
// middleware [Handoff] with the same root and vars. It returns an error if the hook is nil or
// Handoff would.
func PrepareEnd(root *HandoffAgent, vars *Vars, hook func(context.Context, Ended) ([]llm.Message, error), limit int) (m loop.Middleware, err error) {
	agents, err := reachable(root)
	switch {
	case err != nil:
		return m, fmt.Errorf("middleware: PrepareEnd: %w", err)
	case hook == nil:
		return m, errors.New("middleware: PrepareEnd: missing function: set hook")
	case limit < 0:
		return m, fmt.Errorf("middleware: PrepareEnd: the limit is %d: want the number of returns to the root, or 0 for 5", limit)
	}
	limit = cmp.Or(limit, 5)
	return loop.Middleware{Name: "prepare_end", New: func(loop.RunInfo) loop.Hooks {
		returns, by := 0, root
		return loop.Hooks{AfterModel: func(ctx context.Context, s *loop.StepInfo, response *llm.Response) (d loop.Decision, err error) {
			name, _ := ActiveAgent.Get(vars)
			if a := find(agents, cmp.Or(name, root.Name)); a != nil { // otherwise the active agent continues
				by = a
			}
			if len(response.Calls()) > 0 || by == root || returns == limit {
				return d, nil
			}
			next, err := hook(ctx, Ended{By: by, Response: response, History: s.Request.Messages, Vars: vars})
			if err != nil || len(next) == 0 {
				return d, err
			}
			returns++
			ActiveAgent.Set(vars, root.Name)
			return loop.Decision{Action: trace.Continue, Reason: trace.ReasonEndHook, Messages: next, Note: "back to " + root.Name}, nil
		}}
	}}, nil
}
