package middleware

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/trace"
)

// Approvals configures how calls wait for a decision.
//
// For each call, in order: the request becomes pending, Requested is called, and Checkpoint
// saves the state that must outlive the process. An early decision ([ApprovalStore.Resolve])
// comes first, then that of Approve, otherwise Deny. Then the request is no longer pending,
// and Resolved is called. A call that is not run gets the Override or a result that reports
// the decision. Calls of one step wait concurrently; their events are in the order of the
// calls.
//
// A decision of [Suspend] leaves its request pending and ends the run with
// [trace.ReasonApproval]. Other decisions of the step are kept for the next run.
type Approvals struct {
	// Approve decides; nil denies. An error or a panic also denies. It must be safe for
	// concurrent use and must honor its context.
	Approve func(ctx context.Context, req ApprovalRequest) (Approval, error)
	// Requested, Resolved and Checkpoint are called on the run's goroutine and may be nil. An
	// error of any of them ends the run.
	Requested  func(ctx context.Context, req ApprovalRequest) error
	Resolved   func(ctx context.Context, req ApprovalRequest, a Approval) error
	Checkpoint func(ctx context.Context) error
	// Store holds the pending requests; nil means a new store for each step.
	Store *ApprovalStore
	// Sequential waits for the calls of a step sequentially.
	Sequential bool
}

// decide waits for the decisions about calls and applies them.
func (a *Approvals) decide(ctx context.Context, info loop.RunInfo, s *loop.StepInfo, calls []loop.PlannedCall) ([]loop.CallDecision, loop.Decision, error) {
	all := make([]*pendingApproval, len(calls))
	for i, p := range calls {
		all[i] = &pendingApproval{plan: p, req: ApprovalRequest{Run: info.ID, Step: s.Step, Call: p.Call, Arguments: p.Arguments}}
	}
	w := &approvalWaiter{a, cmp.Or(a.Store, new(ApprovalStore)), info.Clock, s, make(chan *pendingApproval, len(all))}
	size := max(len(all), 1)
	if a.Sequential {
		size = 1
	}
	for group := range slices.Chunk(all, size) {
		if err := w.await(ctx, group); err != nil {
			return nil, loop.Decision{}, err
		}
	}
	decisions, d := w.apply(all)
	return decisions, d, nil
}

type approvalWaiter struct {
	*Approvals
	store   *ApprovalStore
	clock   loop.Clock
	step    *loop.StepInfo
	decided chan *pendingApproval // not yet received by the run
}

type pendingApproval struct {
	plan     loop.PlannedCall
	req      ApprovalRequest
	decision Approval
}

// await opens the requests of a group and waits until all have a decision.
func (w *approvalWaiter) await(ctx context.Context, group []*pendingApproval) error {
	for _, p := range group {
		if err := w.open(ctx, p.req); err != nil {
			return err
		}
	}
	wait, notify := w.clock.Signal()
	for _, p := range group {
		w.clock.Go(func() {
			defer notify()
			w.ask(ctx, p)
		})
	}
	var failed error
	for range group {
		wait()
		failed = errors.Join(failed, w.close(ctx, <-w.decided))
	}
	for _, p := range group {
		if p.decision.Decision == Suspend {
			continue
		}
		if err := emitJSON(w.step, EventApprovalResolved, approvalEvent{p.req.Call.ID, p.decision.Decision}); err != nil {
			return err
		}
	}
	return failed
}

type approvalEvent struct {
	Call     string           `json:"call"`
	Decision ApprovalDecision `json:"verdict,omitempty"`
}

func (w *approvalWaiter) open(ctx context.Context, req ApprovalRequest) error {
	w.store.add(req)
	err := emitJSON(w.step, EventApprovalRequested, approvalEvent{Call: req.Call.ID})
	if err == nil && w.Requested != nil {
		err = w.Requested(ctx, req)
	}
	if err == nil && w.Checkpoint != nil {
		err = w.Checkpoint(ctx)
	}
	return err
}

// ask gets the decision about a call on its own goroutine, which the approver may end.
func (w *approvalWaiter) ask(ctx context.Context, p *pendingApproval) {
	deny := func(reason string) { p.decision = Approval{Decision: Deny, Reason: reason} }
	deny("nobody was there to approve it")
	defer func() {
		if v := recover(); v != nil {
			deny(fmt.Sprintf("the approver panicked: %v", v))
		}
		w.decided <- p
	}()
	if early := w.store.takeDecision(p.req.Call.ID); early != nil {
		p.decision = *early
	} else if w.Approve != nil {
		a, err := w.Approve(ctx, p.req)
		p.decision = a
		if err != nil {
			deny(fmt.Sprintf("the approver failed: %v", err))
		}
	}
}

// close records a decision. The call stays unresolved until apply.
func (w *approvalWaiter) close(ctx context.Context, p *pendingApproval) error {
	if p.decision.Decision == Suspend {
		return nil
	}
	w.store.change(p.req.Call.ID, func(e *approvalEntry) { e.pending = false })
	if w.Resolved != nil {
		return w.Resolved(ctx, p.req, p.decision)
	}
	return nil
}

// apply returns the effect of the decisions. If one suspends the run, the others are kept.
func (w *approvalWaiter) apply(all []*pendingApproval) (decisions []loop.CallDecision, d loop.Decision) {
	for _, p := range all {
		if p.decision.Decision == Suspend {
			d = loop.Decision{Action: trace.Suspend, Reason: trace.ReasonApproval, Note: "waiting for a decision about " + p.req.Call.Name}
		}
	}
	for _, p := range all {
		switch {
		case p.decision.Decision == Suspend:
		case d.Action == trace.Suspend:
			w.store.change(p.req.Call.ID, func(e *approvalEntry) { e.decision = &p.decision })
		default:
			decisions = append(decisions, p.effect()...)
			w.store.Delete(p.req.Call.ID)
		}
	}
	return decisions, d
}

func (p *pendingApproval) effect() []loop.CallDecision {
	switch a := p.decision; {
	case a.Decision == Approve && a.Override != nil:
		return []loop.CallDecision{{Index: p.plan.Index, Output: a.Override, Reason: ReasonOverride}}
	case a.Decision == Approve:
		return nil
	case a.Decision == Skip:
		return substitute(p.plan, ReasonSkipped, cmp.Or(a.Reason, "skipped: the call was not run"))
	default:
		return substitute(p.plan, ReasonDenied, cmp.Or(a.Reason, "the call was not approved, and not run"))
	}
}
