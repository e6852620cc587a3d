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

// ApprovalRequest asks whether a call may be run.
type ApprovalRequest struct {
	Run       string
	Step      int
	Call      llm.ToolCall
	Arguments string // what the tool would get
}

// UnmarshalJSON implements json.Unmarshaler. It also reads requests that were stored before
// the members Args and Minted were renamed.
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

// Verdict is what was decided about a call.
type ApprovalDecision string

// The verdicts. Any other refuses.
const (
	Approve ApprovalDecision = "approve"
	Skip    ApprovalDecision = "skip" // not run, and no error
	Deny    ApprovalDecision = "deny"
	// Suspend puts the decision off: the run ends with its calls pending.
	Suspend ApprovalDecision = "suspend"
)

// Approval is a decision about a call.
type Approval struct {
	Decision ApprovalDecision
	Reason   string // for the model to read, of Skip and Deny
	// Override is the result of an approved call, which then is not run.
	Override *loop.Output
}

// Approver decides about calls.
type Approver func(ctx context.Context, req ApprovalRequest) (Approval, error)

// Desk keeps the requests that nobody has decided, and decisions that were given
// before they are asked for. It may outlive runs, and its zero value is ready. It
// may be used by many goroutines at once.
type ApprovalStore struct {
	mu      sync.Mutex
	matters []matter
}

// matter is a request that was not acted on yet.
type matter struct {
	req     ApprovalRequest
	pending bool      // nobody has decided it
	given   *Approval // the decision, for the next time that it is asked for
}

// Pending are the requests that nobody has decided, in the order in which they came.
func (d *ApprovalStore) Pending() []ApprovalRequest {
	return d.list(func(m matter) bool { return m.pending })
}

// Open are the requests that were not acted on: the pending ones, and those whose
// decision waits for the others of their step. Whoever keeps a desk for another process
// keeps these, which are asked about again there: no decision outlives its process.
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

// Restore makes the requests of a suspended run those that are pending.
func (d *ApprovalStore) Restore(pending []ApprovalRequest) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.matters = nil
	for _, req := range pending {
		d.put(matter{req: req, pending: true})
	}
}

// Resume gives the decision about the pending call of this id, for the next time
// that it is asked for, and takes it off the pending ones. Without one it keeps
// nothing and returns false. The decision is about the call as the request tells it:
// one of another tool or with other arguments that comes under the id is asked about.
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

// Knows reports whether a call is open.
func (d *ApprovalStore) Has(callID string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.find(callID) != nil
}

// Forget drops a call, and what was decided about it.
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

// put puts a matter behind the others, in the place of that of its call.
func (d *ApprovalStore) put(m matter) {
	d.remove(m.req.Call.ID)
	d.matters = append(d.matters, m)
}

// ask makes a request pending. One of the same call, from a run that was suspended,
// gives way to it; what was decided about that counts if it is the same.
func (d *ApprovalStore) ask(req ApprovalRequest) {
	d.mu.Lock()
	defer d.mu.Unlock()
	m := matter{req: req, pending: true}
	if old := d.find(req.Call.ID); old != nil && old.req.alike(req) {
		m.given = old.given
	}
	d.put(m)
}

// decided takes a call that was decided off the pending ones. It is open until it is
// settled.
func (d *ApprovalStore) decided(callID string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if m := d.find(callID); m != nil {
		m.pending = false
	}
}

// keep gives back a decision that was not acted on.
func (d *ApprovalStore) keep(callID string, a Approval) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if m := d.find(callID); m != nil {
		m.given = &a
	}
}

// settle ends what is known of a call.
func (d *ApprovalStore) settle(callID string) { d.Delete(callID) }

// take returns the decision that was given before, once.
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

// alike reports whether another request is about the same, as far as this one tells.
func (r ApprovalRequest) alike(other ApprovalRequest) bool {
	return (r.Call.Name == "" || r.Call.Name == other.Call.Name) && (r.Arguments == "" || sameJSON(r.Arguments, other.Arguments))
}

// sameJSON reports whether two texts are the same, or are JSON of the same value.
func sameJSON(a, b string) bool {
	if a == b {
		return true
	}
	var x, y any
	return readJSON(a, &x) == nil && readJSON(b, &y) == nil && reflect.DeepEqual(x, y)
}

// readJSON keeps numbers as they are written.
func readJSON(text string, to *any) error {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	return dec.Decode(to)
}
