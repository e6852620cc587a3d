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

// Values of the fields of a [PermissionRequest] for a tool call.
const (
	SubjectAgent  = "agent"
	KindTool      = "tool"
	ActionExecute = "execute"
)

// ReasonDenied is the reason of a call that middleware or a person denied.
const ReasonDenied = trace.SkipDenied

// PermissionRequest is a request for permission to perform an action.
type PermissionRequest struct {
	Subject   string // SubjectAgent
	Kind      string // KindTool
	Tool      string // its name
	Action    string // ActionExecute
	Call      llm.ToolCall
	Arguments string // the arguments for the tool
}

// Permission is the result of a permission check. Its zero value denies.
type Permission struct {
	Allow bool
	// Ask requires an approval, whatever Allow is.
	Ask    bool
	Reason string // reason of a denial, for the model
}

// PermissionPolicy decides which actions an agent may perform.
type PermissionPolicy interface {
	Check(ctx context.Context, req PermissionRequest) (Permission, error)
}

// PermissionFunc is a function that implements [PermissionPolicy].
type PermissionFunc func(ctx context.Context, req PermissionRequest) (Permission, error)

// Check calls f.
func (f PermissionFunc) Check(ctx context.Context, req PermissionRequest) (Permission, error) {
	return f(ctx, req)
}

// Permissions checks each call that would be run, in order. A denied call gets an error result
// with the reason. Calls that require an approval go to approvals together, and are denied if
// approvals is nil. An error of the policy ends the run.
//
// Middleware that changes calls, such as [Repair], must come before Permissions: a call that
// becomes valid after the check is not run.
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

// passes are the calls of a step that a gate skipped because they already had results. If
// later middleware removes the result, the call is not run. Earlier middleware may keep the
// function that runs a call and use it at any time.
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

// answer returns a decision with the result of a call that is not run.
func answer(p loop.PlannedCall, reason string, isError bool, text string) loop.CallDecision {
	out := loop.TextOutput(text)
	out.IsError = isError
	return loop.CallDecision{Index: p.Index, Output: &out, Reason: reason}
}
