package middleware

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/trace"
)

// The words that a call of a tool is asked about with.
const (
	SubjectAgent  = "agent"
	KindTool      = "tool"
	ActionExecute = "execute"
)

// ReasonDenied is the Cause of a call that a policy or a person refused.
const ReasonDenied = trace.SkipDenied

// PermissionRequest asks whether a subject may do something.
type PermissionRequest struct {
	Subject   string // SubjectAgent
	Kind      string // KindTool
	Tool      string // its name
	Action    string // ActionExecute
	Call      llm.ToolCall
	Arguments string // what the tool would get
}

// Permission is the answer. Its zero value refuses.
type Permission struct {
	Allow bool
	// Ask leaves it to an approval, whatever Allow says.
	Ask    bool
	Reason string // of a refusal, for the model to read
}

// PermissionPolicy says what an agent may do.
type PermissionPolicy interface {
	Check(ctx context.Context, req PermissionRequest) (Permission, error)
}

// PermissionFunc makes a function a PermissionPolicy.
type PermissionFunc func(ctx context.Context, req PermissionRequest) (Permission, error)

// Check calls f.
func (f PermissionFunc) Check(ctx context.Context, req PermissionRequest) (Permission, error) {
	return f(ctx, req)
}

// Permissions asks a policy about each call that would be run, in order. A call that
// is refused gets an error result with the reason; calls that are to be asked about
// go to approvals together, and are refused if that is nil. An error of the policy
// ends the run.
//
// Policies that change what is run, such as Repair, belong in front of it: a call that
// could not be run when the policy was asked, and can be now, is not run.
func Permissions(policy PermissionPolicy, approvals *Approvals) loop.Middleware {
	if approvals == nil {
		approvals = new(Approvals)
	}
	return loop.Middleware{Name: "permissions", New: func(info loop.RunInfo) loop.Hooks {
		var passed passes
		return loop.Hooks{WrapTool: passed.wrap, BeforeTools: func(ctx context.Context, s *loop.StepInfo, calls []loop.PlannedCall) (decisions []loop.CallDecision, d loop.Decision, err error) {
			var ask []loop.PlannedCall
			passed.begin()
			for _, p := range calls {
				if p.Output != nil {
					passed.stop(p)
					continue
				}
				v, err := policy.Check(ctx, PermissionRequest{SubjectAgent, KindTool, p.Call.Name, ActionExecute, p.Call, p.Arguments})
				switch {
				case err != nil:
					return nil, d, err
				case v.Ask:
					ask = append(ask, p)
				case !v.Allow:
					decisions = append(decisions, answer(p, ReasonDenied, true, cmp.Or(v.Reason, "the permission policy does not allow it")))
				}
			}
			asked, d, err := approvals.decide(ctx, info, s, ask)
			return append(decisions, asked...), d, err
		}}
	}}
}

// passes are the calls of a step that a gate has not looked at, since they had their
// answers. A policy behind the gate may take an answer away; the call is not run then.
// One before it may have kept what runs a call, and use it whenever it likes.
type passes struct {
	mu     sync.Mutex
	unseen map[string]bool
}

func (p *passes) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unseen = nil
}

func (p *passes) stop(call loop.PlannedCall) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.unseen == nil {
		p.unseen = map[string]bool{}
	}
	p.unseen[call.Call.ID] = true
}

var errUnseen = errors.New("not run: the call was mended after it could have been asked about")

func (p *passes) wrap(next loop.ToolFunc) loop.ToolFunc {
	return func(ctx context.Context, call loop.Call) (loop.Output, error) {
		p.mu.Lock()
		unseen := p.unseen[call.ID]
		p.mu.Unlock()
		if unseen {
			return loop.Output{}, errUnseen
		}
		return next(ctx, call)
	}
}

// answer returns the decision that answers a call without running it.
func answer(p loop.PlannedCall, reason string, isError bool, text string) loop.CallDecision {
	out := loop.TextOutput(text)
	out.IsError = isError
	return loop.CallDecision{Index: p.Index, Output: &out, Reason: reason}
}
