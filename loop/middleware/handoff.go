package middleware

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/looptape/looptape/internal/jsonio"
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
	Instructions func(vars Scope) string
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

// TransferPrefix is the prefix of the names of transfer tools. The name of the agent follows
// it.
const TransferPrefix = "transfer_to_"

// WarnUnknownAgent is the code of the warning that ActiveAgent names an unknown agent. The
// active agent continues.
const WarnUnknownAgent = "unknown_agent"

// Handoff prepares each step for the agent that ActiveAgent names. It sets the agent's
// instructions, tools and model, and adds a transfer tool for each of its Handoffs. The
// history and the step limits do not change. All agents share the other tools of the run.
//
// A transfer tool only sets ActiveAgent. The other calls of its step are run, and the last
// transfer of a step counts. Handoff requires the middleware [Variables] with the same vars.
// When the agent changes, the step begins with the event "handoff".
//
// Handoff returns an error if names of agents are duplicate or invalid.
func Handoff(root *HandoffAgent, vars Scope) (loop.Middleware, error) {
	members, err := reach(root)
	if err != nil {
		return loop.Middleware{}, fmt.Errorf("middleware: Handoff: %w", err)
	}
	return loop.Middleware{Name: "handoff", New: func(loop.RunInfo) loop.Hooks {
		h := &handoff{root: root, members: members, vars: vars}
		return loop.Hooks{BeforeStep: h.before}
	}}, nil
}

// memberName matches names that providers accept after TransferPrefix.
var memberName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,52}$`)

// reach returns root and all agents that it can reach.
func reach(root *HandoffAgent) ([]*HandoffAgent, error) {
	if root == nil {
		return nil, errors.New("there is no root, the member that begins")
	}
	members := []*HandoffAgent{root}
	for i := 0; i < len(members); i++ {
		m := members[i]
		if !memberName.MatchString(m.Name) {
			return nil, fmt.Errorf("the name %q of a member: use letters, digits, _ and -, 52 characters at most, since it stands in the name of a tool", m.Name)
		}
		for _, to := range m.Handoffs {
			switch {
			case to == nil:
				return nil, fmt.Errorf("a hand-off of the member %q leads to nobody (nil); take it out", m.Name)
			case slices.Contains(members, to):
			case find(members, to.Name) != nil:
				return nil, fmt.Errorf("two members have the name %q; hand-offs find them by it", to.Name)
			default:
				members = append(members, to)
			}
		}
	}
	return members, nil
}

func find(members []*HandoffAgent, name string) *HandoffAgent {
	if i := slices.IndexFunc(members, func(m *HandoffAgent) bool { return m.Name == name }); i >= 0 {
		return members[i]
	}
	return nil
}

// handoff is the state of one run.
type handoff struct {
	root    *HandoffAgent
	members []*HandoffAgent
	vars    Scope
	common  []loop.Tool   // shared by all agents
	active  *HandoffAgent // in the previous step; nil in the first
	missing string        // the last unknown name that a warning reported
}

func (h *handoff) before(_ context.Context, s *loop.StepInfo) (c loop.StepChange, err error) {
	m, err := h.next(s)
	if err != nil {
		return c, err
	}
	if c.Tools, err = h.tools(s, m); err != nil {
		return c, err
	}
	h.active = m
	c.Request, c.Model = s.Request, m.Model
	if c.Tools != nil {
		c.Request.Tools = nil // the definitions of the tools
	}
	if m.Instructions != nil {
		c.Request.System = m.Instructions(h.vars)
	}
	if m.Model != nil || m.ModelName != "" {
		c.Request.Model = m.ModelName
	}
	return c, nil
}

// next returns the agent for the step.
func (h *handoff) next(s *loop.StepInfo) (*HandoffAgent, error) {
	name, _ := ActiveAgent.Get(h.vars)
	if name == "" {
		return h.root, nil
	}
	if m := find(h.members, name); m != nil {
		return m, nil
	}
	m := h.active
	if m == nil {
		m = h.root
	}
	if name == h.missing {
		return m, nil
	}
	h.missing = name
	return m, s.Warn(WarnUnknownAgent, fmt.Sprintf("the variable %s names the agent %q, which nobody hands over to; %s goes on", ActiveAgent, name, m.Name))
}

// tools returns the tools of a step for an agent, or nil if the agent was already active.
func (h *handoff) tools(s *loop.StepInfo, m *HandoffAgent) ([]loop.Tool, error) {
	switch h.active {
	case m:
		return nil, nil
	case nil:
		h.common = s.Tools()
	default:
		data := append(jsonio.AppendString([]byte(`{"from":`), h.active.Name), `,"to":`...)
		if err := s.Emit("handoff", append(jsonio.AppendString(data, m.Name), '}')); err != nil {
			return nil, err
		}
	}
	tools := append([]loop.Tool{}, slices.Concat(m.Tools, h.common)...) // not nil
	for _, to := range m.Handoffs {
		tools = append(tools, transferTo(to))
	}
	return tools, nil
}

// transferTo returns the tool that hands over to an agent.
func transferTo(m *HandoffAgent) loop.Tool {
	about := "Hands the conversation over to " + m.Name + "."
	if m.Description != "" {
		about += " " + m.Description
	}
	return loop.Tool{Name: TransferPrefix + m.Name, Description: about, Run: func(ctx context.Context, _ loop.Call) (loop.Output, error) {
		vars, ok := VarsFromContext(ctx)
		if !ok {
			return loop.Output{}, errors.New("there are no variables that tell who is active; put middleware.Variables among the policies")
		}
		ActiveAgent.Set(vars, m.Name)
		return loop.TextOutput("transferred to " + m.Name), nil
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
	Vars     Scope
}

// EndHook returns the messages that follow a response that would end the run. Without messages
// the run ends.
type EndHook func(ctx context.Context, e Ended) ([]llm.Message, error)

// DefaultReturns is how often a run returns to its root if the limit is 0.
const DefaultReturns = 5

// PrepareEnd calls the hook if the run would end with a response of an agent other than the
// root. The messages of the hook follow that response, and the root continues in the same run.
// PrepareEnd does this at most limit times; 0 means [DefaultReturns]. The step limits still
// apply. PrepareEnd requires the middleware [Handoff] with the same root and vars.
func PrepareEnd(root *HandoffAgent, vars Scope, hook EndHook, limit int) (loop.Middleware, error) {
	members, err := reach(root)
	switch {
	case err != nil:
		return loop.Middleware{}, fmt.Errorf("middleware: PrepareEnd: %w", err)
	case hook == nil:
		return loop.Middleware{}, errors.New("middleware: PrepareEnd needs a hook, got nil")
	case limit < 0:
		return loop.Middleware{}, fmt.Errorf("middleware: PrepareEnd: the limit is %d; it counts returns to the root, and 0 means %d", limit, DefaultReturns)
	case limit == 0:
		limit = DefaultReturns
	}
	return loop.Middleware{Name: "prepare_end", New: func(loop.RunInfo) loop.Hooks {
		left := limit
		return loop.Hooks{AfterModel: func(ctx context.Context, s *loop.StepInfo, turn *llm.Response) (loop.Decision, error) {
			name, _ := ActiveAgent.Get(vars)
			by := find(members, name)
			if len(turn.Calls()) > 0 || by == nil || by == root || left == 0 {
				return loop.Decision{}, nil
			}
			next, err := hook(ctx, Ended{By: by, Response: turn, History: s.Request.Messages, Vars: vars})
			if err != nil || len(next) == 0 {
				return loop.Decision{}, err
			}
			left--
			ActiveAgent.Set(vars, root.Name)
			return loop.Decision{Action: trace.Continue, Reason: trace.ReasonEndHook, Messages: next, Note: "back to " + root.Name}, nil
		}}
	}}, nil
}
