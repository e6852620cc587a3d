package middleware

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
)

// PermissionRequest is a request for permission to perform an action.
type PermissionRequest struct {
	Subject   string // agent
	Kind      string // tool
	Tool      string // its name
	Action    string // execute
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
type PermissionPolicy func(ctx context.Context, req PermissionRequest) (Permission, error)

// Permissions checks each call that would be run, in order. A denied call gets an error result
// with the reason. Calls that require an approval go to approvals together, and are denied if
// approvals is nil. An error of the policy ends the run.
//
// Middleware that changes calls, such as [Repair], must come before Permissions: a call that
// becomes valid after the check is not run.
func Permissions(policy PermissionPolicy, approvals *Approvals) loop.Middleware {
	approvals = cmp.Or(approvals, new(Approvals))
	return loop.Middleware{Name: "permissions", New: func(info loop.RunInfo) loop.Hooks {
		var g callGate
		return loop.Hooks{WrapTool: g.wrap, BeforeTools: func(ctx context.Context, s *loop.StepInfo, calls []loop.PlannedCall) (decisions []loop.CallDecision, d loop.Decision, err error) {
			var pending []loop.PlannedCall
			for _, p := range g.begin(calls) {
				v, err := policy(ctx, PermissionRequest{"agent", "tool", p.Call.Name, "execute", p.Call, p.Arguments})
				switch {
				case err != nil:
					return nil, d, err
				case v.Ask:
					pending = append(pending, p)
				case !v.Allow:
					denied := substitute(p, ReasonDenied, cmp.Or(v.Reason, "the permission policy does not allow it"))
					decisions = append(decisions, denied...)
				}
			}
			approved, d, err := approvals.decide(ctx, info, s, pending)
			return append(decisions, approved...), d, err
		}}
	}}
}

// callGate blocks the calls of a step that already have a result: if later middleware removes
// it, they are not run. The function that runs a call may be used at any time.
type callGate struct {
	mu        sync.Mutex
	unchecked map[string]bool
}

func (g *callGate) begin(calls []loop.PlannedCall) (check []loop.PlannedCall) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.unchecked = map[string]bool{}
	for _, p := range calls {
		if p.Output == nil {
			check = append(check, p)
		} else {
			g.unchecked[p.Call.ID] = true
		}
	}
	return check
}

var errUnchecked = errors.New("not run: the call was mended after it could have been asked about")

func (g *callGate) wrap(next loop.ToolFunc) loop.ToolFunc {
	return func(ctx context.Context, call loop.Call) (loop.Output, error) {
		g.mu.Lock()
		unchecked := g.unchecked[call.ID]
		g.mu.Unlock()
		if unchecked {
			return loop.Output{}, errUnchecked
		}
		return next(ctx, call)
	}
}
