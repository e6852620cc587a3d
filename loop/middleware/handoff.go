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

// Member is an agent among others that hand a conversation to each other.
type HandoffAgent struct {
	// Name is unique among those that can be reached from one another. Providers
	// have to take it within the name of a tool.
	Name string
	// Description tells the others what it is good for.
	Description string
	// Instructions make its system prompt, before each of its steps; nil is the run's.
	Instructions func(vars Scope) string
	Tools        []loop.Tool
	// Model answers while it is active, under the provider's name ModelName; nil is
	// the run's own model, under its own name if ModelName is empty.
	Model     llm.Model
	ModelName string
	// Handoffs are the members that it may hand over to; they may lead back to it.
	Handoffs []*HandoffAgent
}

// ActiveAgent is the variable that names the member whose turn it is. Without a
// value it is the root's.
const ActiveAgent Var[string] = "currentActiveAgent"

// TransferPrefix stands before a member's name in the name of the tool that hands
// over to it.
const TransferPrefix = "transfer_to_"

// WarnUnknownAgent is the code of the warning that ActiveAgent names nobody. The member
// that was active goes on.
const WarnUnknownAgent = "unknown_agent"

// Handoff prepares each step for the member that ActiveAgent names: its
// instructions, its tools and a transfer tool for each member that it may hand over
// to, its model. The history stays as it is, the step limits too. Other tools of the
// run, of its Config and its other policies, are everybody's.
//
// A transfer tool does nothing but to set ActiveAgent, so the other calls of its
// step are run, and where a step has several of them the last one counts. It needs
// the policy Variables with the same vars. A step that another member takes than the
// one before begins with the event "handoff".
//
// The error tells of members that cannot be told apart, or not be handed over to.
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

// memberName is what leaves a name that providers take behind TransferPrefix.
var memberName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,52}$`)

// reach returns the members that root can lead to, itself first.
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
	common  []loop.Tool   // everybody's
	active  *HandoffAgent // of the step before; nil in the first
	missing string        // the name of nobody that was warned of
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
		c.Request.Tools = nil // their definitions
	}
	if m.Instructions != nil {
		c.Request.System = m.Instructions(h.vars)
	}
	if m.Model != nil || m.ModelName != "" {
		c.Request.Model = m.ModelName
	}
	return c, nil
}

// next is the member whose turn it is.
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

// tools returns the tools of the run for a member, or nil if it was active before.
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

// transferTo is the tool that hands over to a member.
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

// Ended is a turn that a hand-off's run would end with.
type Ended struct {
	// By is the member that it is of.
	By *HandoffAgent
	// Turn is the answer, and History what stands before it. They are not to be
	// changed.
	Response *llm.Response
	History  []llm.Message
	Vars     Scope
}

// EndHook is asked at such an end what comes behind it; nothing lets it end.
type EndHook func(ctx context.Context, e Ended) ([]llm.Message, error)

// DefaultReturns is how often a run comes back to its root, if nobody says.
const DefaultReturns = 5

// PrepareEnd asks the hook when the run would end with the answer of another member
// than the root: the messages that it returns follow that answer, and the root goes
// on with them in the same run. After it has done so limit times the hook is not
// asked any more; 0 is DefaultReturns. The step limits count on. It stands beside
// Handoff, with the same root and vars.
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
