package middleware

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/looptape/looptape/internal/jsonval"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/store"
)

// ApprovalRequest is a request to approve a call.
type ApprovalRequest struct {
	Run       string // the name of the run or of the run of a sub-agent
	Step      int
	Call      llm.ToolCall
	Arguments string // the arguments for the tool
	// ApprovalRule is the rule of [HumanInTheLoop] for the tool, with its defaults. It is zero
	// for [Permissions].
	ApprovalRule
}

// ApprovalRule configures the approval of the calls of a tool in [HumanInTheLoop].
type ApprovalRule struct {
	// Allowed lists the allowed decisions: Approve, Edit, Reject and Respond. Nil means
	// Approve and Reject.
	Allowed     []ApprovalDecision `json:",omitempty"`
	Description string             `json:",omitempty"` // text for the person
}

// UnmarshalJSON implements [json.Unmarshaler]. It also reads requests that were stored before
// two members got new names.
func (r *ApprovalRequest) UnmarshalJSON(b []byte) error {
	type plain ApprovalRequest
	var old struct {
		Args string
		Call struct {
			Args   string
			Minted bool
		}
	}
	if err := cmp.Or(json.Unmarshal(b, (*plain)(r)), json.Unmarshal(b, &old)); err != nil {
		return err
	}
	r.Arguments = cmp.Or(r.Arguments, old.Args)
	r.Call.Arguments = cmp.Or(r.Call.Arguments, old.Call.Args)
	r.Call.IDGenerated = r.Call.IDGenerated || old.Call.Minted
	return nil
}

// same reports whether other is a request for the same call, as far as the fields of r are set.
func (r ApprovalRequest) same(other ApprovalRequest) bool {
	return (r.Call.Name == "" || r.Call.Name == other.Call.Name) && (r.Arguments == "" || jsonval.Equal(r.Arguments, other.Arguments))
}

// ApprovalDecision is a decision about a call.
type ApprovalDecision string

// Decisions about a call. [Approvals] use the first four, and any other value denies.
// [HumanInTheLoop] uses Approve and the last three.
const (
	Approve ApprovalDecision = "approve" // run it
	Deny    ApprovalDecision = "deny"    // do not run it; the model gets an error
	Skip    ApprovalDecision = "skip"    // do not run it; the result is not an error
	Suspend ApprovalDecision = "suspend" // decide later: the run ends with its calls pending
	Edit    ApprovalDecision = "edit"    // run it with other arguments
	Reject  ApprovalDecision = "reject"  // do not run it; the model gets an error
	Respond ApprovalDecision = "respond" // do not run it; the result is the person's text
)

// Approval is a decision about a call with its details.
type Approval struct {
	Decision ApprovalDecision
	// Reason is text for the model about a call that is not run. For Respond it is the
	// complete result.
	Reason    string
	Arguments string // for Edit: the complete arguments, a JSON object
	// Override is the result of a call that [Approvals] approved. The call is not run.
	Override *loop.Output
}

// ApprovalStore holds pending approval requests and decisions that arrived early. It may
// outlive runs. Its zero value is ready to use, and it is safe for use by many goroutines.
type ApprovalStore struct {
	mu      sync.Mutex
	entries []approvalEntry

	saving sync.Mutex // held by Load and Save
	saved  store.Document[[]ApprovalRequest]
}

// approvalEntry is a request whose decision was not yet applied.
type approvalEntry struct {
	req      ApprovalRequest
	pending  bool      // without a decision
	decision *Approval // for the next time that the call is requested
}

// Pending returns the requests without a decision in the order of their arrival.
func (s *ApprovalStore) Pending() []ApprovalRequest { return s.list(true) }

// Unresolved returns the requests whose decision was not applied: the pending ones, and those
// whose decision waits for other calls of the step. A program that moves a store to another
// process saves them. They need a new decision there.
func (s *ApprovalStore) Unresolved() []ApprovalRequest { return s.list(false) }

func (s *ApprovalStore) list(onlyPending bool) (list []ApprovalRequest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.entries {
		if e.pending || !onlyPending {
			list = append(list, e.req)
		}
	}
	return list
}

// Restore makes the requests of a suspended run pending.
func (s *ApprovalStore) Restore(pending []ApprovalRequest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entries = nil
	for _, req := range pending {
		s.put(approvalEntry{req: req, pending: true})
	}
}

// Load restores the requests that are stored under a key, or none if the key is unknown. Save then
// stores them there.
func (s *ApprovalStore) Load(ctx context.Context, from store.Store, key string) error {
	s.saving.Lock()
	defer s.saving.Unlock()
	d := store.Document[[]ApprovalRequest]{Store: from, Key: key, Format: "looptape-approvals", FormatVersion: 1}
	pending, _, err := d.Load(ctx)
	if err != nil {
		return fmt.Errorf("middleware: ApprovalStore.Load: %w", err)
	}
	s.saved = d
	s.Restore(pending)
	return nil
}

// Save stores the unresolved requests under the key of Load, without decisions. It is a
// Checkpoint of [Approvals]; call it after the run, too, to remove the resolved requests. The
// error wraps [store.ErrConflict] if another process has saved the requests since Load or Save.
func (s *ApprovalStore) Save(ctx context.Context) error {
	s.saving.Lock()
	defer s.saving.Unlock()
	if s.saved.Store == nil {
		return errors.New("middleware: ApprovalStore.Save: unknown key: call Load first")
	}
	if err := s.saved.Save(ctx, s.Unresolved()); err != nil {
		return fmt.Errorf("middleware: ApprovalStore.Save: %w", err)
	}
	return nil
}

// Resolve records the decision about a pending call for the next time that it is requested.
// The call is no longer pending. Resolve returns false, and records nothing, if no call with
// this id is pending. A call with this id but another tool or other arguments needs a new
// decision.
func (s *ApprovalStore) Resolve(callID string, a Approval) (recorded bool) {
	s.change(callID, func(e *approvalEntry) {
		if recorded = e.pending; recorded {
			e.pending, e.decision = false, &a
		}
	})
	return recorded
}

// Has reports whether a call is unresolved.
func (s *ApprovalStore) Has(callID string) bool { return s.change(callID, func(*approvalEntry) {}) }

// Delete removes a call and its decision.
func (s *ApprovalStore) Delete(callID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(callID)
}

// change calls f with the entry of a call and reports whether there is one.
func (s *ApprovalStore) change(callID string, f func(*approvalEntry)) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.find(callID)
	if i >= 0 {
		f(&s.entries[i])
	}
	return i >= 0
}

func (s *ApprovalStore) find(callID string) int {
	return slices.IndexFunc(s.entries, func(e approvalEntry) bool { return e.req.Call.ID == callID })
}

func (s *ApprovalStore) remove(callID string) {
	s.entries = slices.DeleteFunc(s.entries, func(e approvalEntry) bool { return e.req.Call.ID == callID })
}

// put adds an entry at the end and removes an earlier one of the same call.
func (s *ApprovalStore) put(e approvalEntry) {
	s.remove(e.req.Call.ID)
	s.entries = append(s.entries, e)
}

// add makes a request pending. An earlier decision about an equal request applies.
func (s *ApprovalStore) add(req ApprovalRequest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := approvalEntry{req: req, pending: true}
	if i := s.find(req.Call.ID); i >= 0 && s.entries[i].req.same(req) {
		e.decision = s.entries[i].decision
	}
	s.put(e)
}

// takeDecision returns and removes an early decision; nil means that there is none.
func (s *ApprovalStore) takeDecision(callID string) (a *Approval) {
	s.change(callID, func(e *approvalEntry) { a, e.decision = e.decision, nil })
	return a
}
