package middleware

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/trace"
)

// Names of approval events. Their data is {"call": id}, and for a resolved request also its
// decision. If several calls of a step need approval, their decisions are reported in the
// order of the calls.
const (
	EventApprovalRequested = "approval.requested"
	EventApprovalResolved  = "approval.resolved"
)

// Reasons of calls that were decided without being run; see also [ReasonDenied].
const (
	ReasonSkipped  = "skipped"
	ReasonOverride = "override"
)

// Approvals configures how calls wait for a decision.
//
// For each call, in order: the request becomes pending, Requested is called, and Checkpoint
// saves the state that must outlive the process. Then the run waits for the decision. An early
// decision ([ApprovalStore.Resolve]) comes first, then that of Approve, otherwise Deny. The
// request is no longer pending, and Resolved is called. An approved call is run or gets the
// Override. A skipped or denied call gets a result that reports this. Calls of one step wait
// concurrently.
//
// A decision of [Suspend] leaves its request pending and ends the run with
// trace.ReasonApproval. The decisions about other calls of the step are kept for the next run.
type Approvals struct {
	// Approve decides; nil denies. An error or a panic also denies. It must be safe for
	// concurrent use and must honor its context.
	Approve Approver
	// Requested, Resolved and Checkpoint are called on the run's goroutine and may be nil. An
	// error of any of them ends the run.
	Requested  func(ctx context.Context, req ApprovalRequest) error
	Resolved   func(ctx context.Context, req ApprovalRequest, a Approval) error
	Checkpoint func(ctx context.Context) error
	// Store holds the pending requests; nil means a new store for each step.
	Store *ApprovalStore
	// OneByOne waits for the calls of a step sequentially.
	OneByOne bool
}

// decide waits for the decisions about calls and applies them.
func (a *Approvals) decide(ctx context.Context, info loop.RunInfo, s *loop.StepInfo, calls []loop.PlannedCall) ([]loop.CallDecision, loop.Decision, error) {
	w := &waitingRoom{Approvals: a, desk: a.Store, info: info, step: s}
	if w.desk == nil {
		w.desk = new(ApprovalStore)
	}
	for _, p := range calls {
		w.all = append(w.all, &petition{plan: p, req: ApprovalRequest{info.ID, s.Step, p.Call, p.Arguments}})
	}
	groups := [][]*petition{w.all}
	if a.OneByOne {
		groups = nil
		for i := range w.all {
			groups = append(groups, w.all[i:i+1])
		}
	}
	for _, group := range groups {
		if err := w.await(ctx, group); err != nil {
			return nil, loop.Decision{}, err
		}
	}
	return w.settle()
}

// waitingRoom holds the calls of a step that wait for approval.
type waitingRoom struct {
	*Approvals
	desk *ApprovalStore
	info loop.RunInfo
	step *loop.StepInfo
	all  []*petition

	mu      sync.Mutex
	decided []*petition // and not yet taken by the run
}

// A call that waits for approval.
type petition struct {
	plan loop.PlannedCall
	req  ApprovalRequest
	got  Approval
}

// await opens the requests of a group and waits until all have a decision.
func (w *waitingRoom) await(ctx context.Context, group []*petition) error {
	for _, p := range group {
		if err := w.open(ctx, p); err != nil {
			return err
		}
	}
	wait, notify := w.info.Clock.Signal()
	for _, p := range group {
		w.info.Clock.Go(func() {
			defer notify()
			w.ask(ctx, p)
		})
	}
	var failed error
	for range group {
		wait()
		failed = errors.Join(failed, w.close(ctx, w.take()))
	}
	for _, p := range group {
		if p.got.Decision == Suspend {
			continue
		}
		if err := w.emit(EventApprovalResolved, p.req.Call.ID, p.got.Decision); err != nil {
			return err
		}
	}
	return failed
}

func (w *waitingRoom) open(ctx context.Context, p *petition) error {
	w.desk.ask(p.req)
	if err := w.emit(EventApprovalRequested, p.req.Call.ID, ""); err != nil {
		return err
	}
	if w.Requested != nil {
		if err := w.Requested(ctx, p.req); err != nil {
			return err
		}
	}
	if w.Checkpoint != nil {
		return w.Checkpoint(ctx)
	}
	return nil
}

// ask gets the decision about a call on its own goroutine.
func (w *waitingRoom) ask(ctx context.Context, p *petition) {
	got := Approval{Decision: Deny, Reason: "nobody was there to approve it"}
	defer func() {
		if v := recover(); v != nil {
			got = Approval{Decision: Deny, Reason: fmt.Sprintf("the approver panicked: %v", v)}
		}
		w.mu.Lock()
		p.got = got
		w.decided = append(w.decided, p)
		w.mu.Unlock()
	}()
	given, ok := w.desk.take(p.req.Call.ID)
	switch {
	case ok:
		got = given
	case w.Approve != nil:
		a, err := w.Approve(ctx, p.req)
		if err != nil {
			a = Approval{Decision: Deny, Reason: fmt.Sprintf("the approver failed: %v", err)}
		}
		got = a
	}
}

// take returns the earliest decided call that was not yet taken.
func (w *waitingRoom) take() *petition {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.decided[0]
	w.decided = w.decided[1:]
	return p
}

// close records the decision about a call.
func (w *waitingRoom) close(ctx context.Context, p *petition) error {
	if p.got.Decision == Suspend {
		return nil
	}
	w.desk.decided(p.req.Call.ID)
	if w.Resolved != nil {
		return w.Resolved(ctx, p.req, p.got)
	}
	return nil
}

// settle applies the decisions.
func (w *waitingRoom) settle() (decisions []loop.CallDecision, d loop.Decision, err error) {
	suspended := ""
	for _, p := range w.all {
		if p.got.Decision == Suspend {
			suspended = p.req.Call.Name
		}
	}
	for _, p := range w.all {
		switch {
		case p.got.Decision == Suspend:
		case suspended != "":
			w.desk.keep(p.req.Call.ID, p.got)
		default:
			decisions = append(decisions, p.settle()...)
			w.desk.settle(p.req.Call.ID)
		}
	}
	if suspended != "" {
		d = loop.Decision{Action: trace.Suspend, Reason: trace.ReasonApproval, Note: "waiting for a decision about " + suspended}
	}
	return decisions, d, nil
}

func (p *petition) settle() []loop.CallDecision {
	switch a := p.got; {
	case a.Decision == Approve && a.Override != nil:
		return []loop.CallDecision{{Index: p.plan.Index, Output: a.Override, Reason: ReasonOverride}}
	case a.Decision == Approve:
		return nil
	case a.Decision == Skip:
		return []loop.CallDecision{answer(p.plan, ReasonSkipped, false, cmp.Or(a.Reason, "skipped: the call was not run"))}
	default:
		return []loop.CallDecision{answer(p.plan, ReasonDenied, true, cmp.Or(a.Reason, "the call was not approved, and not run"))}
	}
}

func (w *waitingRoom) emit(name, call string, v ApprovalDecision) error {
	return emitJSON(w.step, name, struct {
		Call    string           `json:"call"`
		Verdict ApprovalDecision `json:"verdict,omitempty"`
	}{call, v})
}
