package middleware

import (
	"context"
	"slices"
	"sync"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
)

// ApprovalRequest asks whether a call may be run.
type ApprovalRequest struct {
	Run  string
	Step int
	Call llm.ToolCall
	Args string // what the tool would get
}

// Verdict is what was decided about a call.
type Verdict string

// The verdicts. Any other refuses.
const (
	Approve Verdict = "approve"
	Skip    Verdict = "skip" // not run, and no error
	Deny    Verdict = "deny"
	// Suspend puts the decision off: the run ends with its calls pending.
	Suspend Verdict = "suspend"
)

// Approval is a decision about a call.
type Approval struct {
	Verdict Verdict
	Reason  string // for the model to read, of Skip and Deny
	// Override is the result of an approved call, which then is not run.
	Override *loop.Output
}

// Approver decides about calls.
type Approver func(ctx context.Context, req ApprovalRequest) (Approval, error)

// Desk keeps the requests that nobody has decided, and decisions that were given
// before they are asked for. It may outlive runs, and its zero value is ready. It
// may be used by many goroutines at once.
type Desk struct {
	mu      sync.Mutex
	pending []ApprovalRequest
	given   map[string]Approval
}

// Pending are the requests that nobody has decided, in the order in which they came.
func (d *Desk) Pending() []ApprovalRequest {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.pending)
}

// Restore makes the requests of a suspended run those that are pending.
func (d *Desk) Restore(pending []ApprovalRequest) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pending = slices.Clone(pending)
}

// Resume gives the decision about the pending call of this id, for the next time
// that it is asked for, and takes it off the pending ones. Without one it keeps
// nothing and returns false.
func (d *Desk) Resume(callID string, a Approval) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.remove(callID) {
		return false
	}
	d.give(callID, a)
	return true
}

// Knows reports whether a call is pending, or a decision about it was given.
func (d *Desk) Knows(callID string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, given := d.given[callID]
	return given || slices.ContainsFunc(d.pending, func(r ApprovalRequest) bool { return r.Call.ID == callID })
}

// Forget takes a call off the pending ones, and drops what was decided about it.
func (d *Desk) Forget(callID string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.remove(callID)
	delete(d.given, callID)
}

func (d *Desk) give(callID string, a Approval) {
	if d.given == nil {
		d.given = map[string]Approval{}
	}
	d.given[callID] = a
}

// remove takes a call off the pending ones and reports whether it was there.
func (d *Desk) remove(callID string) bool {
	n := len(d.pending)
	d.pending = slices.DeleteFunc(d.pending, func(r ApprovalRequest) bool { return r.Call.ID == callID })
	return len(d.pending) < n
}

// open makes a request pending. One of the same call, from a run that was
// suspended, gives way to it.
func (d *Desk) open(req ApprovalRequest) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.remove(req.Call.ID)
	d.pending = append(d.pending, req)
}

// close takes a call that was decided off the pending ones.
func (d *Desk) close(callID string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.remove(callID)
}

// keep gives back a decision that was not acted on.
func (d *Desk) keep(callID string, a Approval) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.give(callID, a)
}

// take returns the decision that was given before, once.
func (d *Desk) take(callID string) (a Approval, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	a, ok = d.given[callID]
	delete(d.given, callID)
	return a, ok
}
