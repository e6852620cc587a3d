package middleware

import (
	"cmp"
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
)

// ApprovalRequest is a request to approve a call.
type ApprovalRequest struct {
	Run       string
	Step      int
	Call      llm.ToolCall
	Arguments string // the arguments for the tool
}

// UnmarshalJSON implements [json.Unmarshaler]. It also reads requests that were stored before
// two members got new names.
func (r *ApprovalRequest) UnmarshalJSON(b []byte) error {
	type plain ApprovalRequest
	if err := json.Unmarshal(b, (*plain)(r)); err != nil {
		return err
	}
	var old struct {
		Args string
		Call struct {
			Args   string
			Minted bool
		}
	}
	if err := json.Unmarshal(b, &old); err != nil {
		return err
	}
	r.Arguments = cmp.Or(r.Arguments, old.Args)
	r.Call.Arguments = cmp.Or(r.Call.Arguments, old.Call.Args)
	r.Call.IDGenerated = r.Call.IDGenerated || old.Call.Minted
	return nil
}

// ApprovalDecision is a decision about a call.
type ApprovalDecision string

// Decisions about a call. Any other value denies.
const (
	Approve ApprovalDecision = "approve"
	Skip    ApprovalDecision = "skip" // not run, without an error
	Deny    ApprovalDecision = "deny"
	// Suspend defers the decision: the run ends with its calls pending.
	Suspend ApprovalDecision = "suspend"
)

// Approval is a decision about a call with its details.
type Approval struct {
	Decision ApprovalDecision
	Reason   string // text for the model, for Skip and Deny
	// Override is the result of an approved call, which is then not run.
	Override *loop.Output
}

// Approver decides about calls.
type Approver func(ctx context.Context, req ApprovalRequest) (Approval, error)

// ApprovalStore holds pending approval requests and decisions that arrived early. It may
// outlive runs. Its zero value is ready to use, and it is safe for use by many goroutines.
type ApprovalStore struct {
	mu      sync.Mutex
	matters []matter
}

// matter is a request whose decision was not yet applied.
type matter struct {
	req     ApprovalRequest
	pending bool      // without a decision
	given   *Approval // the decision, for the next time that it is requested
}

// Pending returns the requests without a decision in the order of their arrival.
func (d *ApprovalStore) Pending() []ApprovalRequest {
	return d.list(func(m matter) bool { return m.pending })
}

// Unresolved returns the requests whose decision was not applied: the pending requests, and
// those whose decision waits for other calls of the step. A program that moves a store to
// another process saves these requests. They need a new decision there, because a decision
// does not outlive its process.
func (d *ApprovalStore) Unresolved() []ApprovalRequest {
	return d.list(func(matter) bool { return true })
}

func (d *ApprovalStore) list(is func(matter) bool) (list []ApprovalRequest) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, m := range d.matters {
		if is(m) {
			list = append(list, m.req)
		}
	}
	return list
}

// Restore makes the requests of a suspended run pending.
func (d *ApprovalStore) Restore(pending []ApprovalRequest) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.matters = nil
	for _, req := range pending {
		d.put(matter{req: req, pending: true})
	}
}

// Resolve records the decision about the pending call with this id for the next time that it
// is requested. The call is no longer pending. If no such call is pending, Resolve records
// nothing and returns false. The decision applies only to the same request: a call with this
// id but another tool or other arguments needs a new decision.
func (d *ApprovalStore) Resolve(callID string, a Approval) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	m := d.find(callID)
	if m == nil || !m.pending {
		return false
	}
	m.pending, m.given = false, &a
	return true
}

// Has reports whether a call is unresolved.
func (d *ApprovalStore) Has(callID string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.find(callID) != nil
}

// Delete removes a call and its decision.
func (d *ApprovalStore) Delete(callID string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.remove(callID)
}

func (d *ApprovalStore) find(callID string) *matter {
	i := slices.IndexFunc(d.matters, func(m matter) bool { return m.req.Call.ID == callID })
	if i < 0 {
		return nil
	}
	return &d.matters[i]
}

func (d *ApprovalStore) remove(callID string) {
	d.matters = slices.DeleteFunc(d.matters, func(m matter) bool { return m.req.Call.ID == callID })
}

// put adds a matter at the end and removes an earlier one of the same call.
func (d *ApprovalStore) put(m matter) {
	d.remove(m.req.Call.ID)
	d.matters = append(d.matters, m)
}

// ask makes a request pending. It replaces a request of the same call from a suspended run. An
// earlier decision applies if both requests are equal.
func (d *ApprovalStore) ask(req ApprovalRequest) {
	d.mu.Lock()
	defer d.mu.Unlock()
	m := matter{req: req, pending: true}
	if old := d.find(req.Call.ID); old != nil && old.req.alike(req) {
		m.given = old.given
	}
	d.put(m)
}

// decided marks a call as no longer pending. It stays unresolved until settle.
func (d *ApprovalStore) decided(callID string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if m := d.find(callID); m != nil {
		m.pending = false
	}
}

// keep stores a decision that was not applied.
func (d *ApprovalStore) keep(callID string, a Approval) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if m := d.find(callID); m != nil {
		m.given = &a
	}
}

// settle removes a call whose decision was applied.
func (d *ApprovalStore) settle(callID string) { d.Delete(callID) }

// take returns and removes an early decision.
func (d *ApprovalStore) take(callID string) (a Approval, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	m := d.find(callID)
	if m == nil || m.given == nil {
		return Approval{}, false
	}
	a, m.given = *m.given, nil
	return a, true
}

// It reports whether other is a request for the same call, as far as the fields of r are set.
func (r ApprovalRequest) alike(other ApprovalRequest) bool {
	return (r.Call.Name == "" || r.Call.Name == other.Call.Name) && (r.Arguments == "" || sameJSON(r.Arguments, other.Arguments))
}

// sameJSON reports whether two strings are equal or represent the same JSON value.
func sameJSON(a, b string) bool {
	if a == b {
		return true
	}
	var x, y any
	return readJSON(a, &x) == nil && readJSON(b, &y) == nil && reflect.DeepEqual(x, y)
}

// readJSON decodes JSON and keeps the representation of numbers.
func readJSON(text string, to *any) error {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	return dec.Decode(to)
}
