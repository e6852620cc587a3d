package middleware_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/loop/store"
	"github.com/looptape/looptape/trace"
)

// askAll sends every call to approvals.
func askAll(a *middleware.Approvals) []loop.Middleware {
	return []loop.Middleware{middleware.Permissions(middleware.PermissionPolicy(func(context.Context, middleware.PermissionRequest) (middleware.Permission, error) {
		return middleware.Permission{Ask: true}, nil
	}), a)}
}

// logged returns approvals that record each callback with the pending requests and the time.
func logged(clock *fake.Clock, log *[]string, approve func(context.Context, middleware.ApprovalRequest) (middleware.Approval, error)) *middleware.Approvals {
	a := &middleware.Approvals{Approve: approve, Store: new(middleware.ApprovalStore)}
	begin := clock.Now()
	note := func(what string, call string) {
		var ids []string
		for _, r := range a.Store.Pending() {
			ids = append(ids, r.Call.ID)
		}
		*log = append(*log, fmt.Sprintf("%v %s %s, pending %s", clock.Now().Sub(begin), what, call, strings.Join(ids, " ")))
	}
	a.Requested = func(_ context.Context, r middleware.ApprovalRequest) error { note("requested", r.Call.ID); return nil }
	a.Resolved = func(_ context.Context, r middleware.ApprovalRequest, got middleware.Approval) error {
		note(string(got.Decision), r.Call.ID)
		return nil
	}
	a.Checkpoint = func(context.Context) error { note("checkpoint", ""); return nil }
	return a
}

// byTool decides by the name of the tool after a delay.
func byTool(clock *fake.Clock, by map[string]middleware.Approval, after map[string]time.Duration) func(context.Context, middleware.ApprovalRequest) (middleware.Approval, error) {
	return func(ctx context.Context, r middleware.ApprovalRequest) (middleware.Approval, error) {
		err := clock.Sleep(ctx, after[r.Call.Name])
		return by[r.Call.Name], err
	}
}

// AL-61, AL-65, AL-66: each call becomes pending, is reported, saved, awaited and reported
// again. Two calls of a step wait concurrently, and their results are in call order.
func TestAL61AL66ApprovalsConcurrently(t *testing.T) {
	clock := fake.NewClock()
	var log []string
	a := logged(clock, &log, byTool(clock, map[string]middleware.Approval{"a": {Decision: middleware.Approve}, "slow": {Decision: middleware.Approve}},
		map[string]time.Duration{"a": 20 * time.Millisecond, "slow": 10 * time.Millisecond}))
	p := gated(t, clock, askAll(a), asks("c-", "a", "slow"), done())
	same(t, "callbacks", []string{
		"0s requested c-a, pending c-a", "0s checkpoint , pending c-a", "0s requested c-slow, pending c-a c-slow", "0s checkpoint , pending c-a c-slow",
		"10ms approve c-slow, pending c-a", "20ms approve c-a, pending ",
	}, log)
	same(t, "events", []string{
		`custom 0   approval.requested {"call":"c-a"}`, `custom 0   approval.requested {"call":"c-slow"}`,
		`custom 0   @20ms approval.resolved {"call":"c-a","verdict":"approve"}`, `custom 0   @20ms approval.resolved {"call":"c-slow","verdict":"approve"}`,
		`tool.start 0   @20ms c-a a {}`, `tool.end 0   @20ms c-a ok "A"`, `tool.start 0   @20ms c-slow slow {}`, `tool.end 0   @50ms c-slow ok "S"`,
	}, p.lines(trace.KindCustom, trace.KindToolStart, trace.KindToolEnd))
}

// With Sequential, the second request is opened after the first is decided.
func TestApprovalsSequential(t *testing.T) {
	clock := fake.NewClock()
	var log []string
	a := logged(clock, &log, byTool(clock, map[string]middleware.Approval{"a": {Decision: middleware.Deny}, "slow": {Decision: middleware.Approve}},
		map[string]time.Duration{"a": 20 * time.Millisecond, "slow": 10 * time.Millisecond}))
	a.Sequential = true
	gated(t, clock, askAll(a), asks("c-", "a", "slow"), done())
	same(t, "callbacks", []string{
		"0s requested c-a, pending c-a", "0s checkpoint , pending c-a", "20ms deny c-a, pending ",
		"20ms requested c-slow, pending c-slow", "20ms checkpoint , pending c-slow", "30ms approve c-slow, pending ",
	}, log)
}

// AL-62 to AL-65: the decision determines the result of a call.
func TestAL62AL64Decisions(t *testing.T) {
	override := loop.TextOutput("instead")
	approve := func(v middleware.Approval, err error) func(context.Context, middleware.ApprovalRequest) (middleware.Approval, error) {
		return func(context.Context, middleware.ApprovalRequest) (middleware.Approval, error) { return v, err }
	}
	for name, c := range map[string]struct {
		approve func(context.Context, middleware.ApprovalRequest) (middleware.Approval, error)
		want    []string
	}{
		"approve":      {approve(middleware.Approval{Decision: middleware.Approve}, nil), []string{`tool.start 0   c-a a {}`, `tool.end 0   c-a ok "A"`}},
		"override":     {approve(middleware.Approval{Decision: middleware.Approve, Override: &override}, nil), []string{`tool.skip 0   c-a a override "instead"`}},
		"skip":         {approve(middleware.Approval{Decision: middleware.Skip}, nil), []string{`tool.skip 0   c-a a skipped "skipped: the call was not run"`}},
		"skip, reason": {approve(middleware.Approval{Decision: middleware.Skip, Reason: "later"}, nil), []string{`tool.skip 0   c-a a skipped "later"`}},
		"deny":         {approve(middleware.Approval{Decision: middleware.Deny}, nil), []string{`tool.skip 0   c-a a denied "the call was not approved, and not run" error`}},
		"deny, reason": {approve(middleware.Approval{Decision: middleware.Deny, Reason: "no"}, nil), []string{`tool.skip 0   c-a a denied "no" error`}},
		"no decision":  {approve(middleware.Approval{Override: &override}, nil), []string{`tool.skip 0   c-a a denied "the call was not approved, and not run" error`}},
		"no approver":  {nil, []string{`tool.skip 0   c-a a denied "nobody was there to approve it" error`}},
		"it fails":     {approve(middleware.Approval{Decision: middleware.Approve}, errors.New("boom")), []string{`tool.skip 0   c-a a denied "the approver failed: boom" error`}},
		"it panics":    {func(context.Context, middleware.ApprovalRequest) (middleware.Approval, error) { panic("oh") }, []string{`tool.skip 0   c-a a denied "the approver panicked: oh" error`}},
		"its goroutine": {func(context.Context, middleware.ApprovalRequest) (middleware.Approval, error) {
			runtime.Goexit()
			return middleware.Approval{}, nil
		}, []string{`tool.skip 0   c-a a denied "nobody was there to approve it" error`}},
	} {
		t.Run(name, func(t *testing.T) {
			clock := fake.NewClock()
			p := gated(t, clock, askAll(&middleware.Approvals{Approve: c.approve}), asks("c-", "a"), done())
			same(t, "the call", c.want, p.lines(trace.KindToolStart, trace.KindToolEnd, trace.KindToolSkip))
			if p.res.Text != "done" {
				t.Errorf("the run ended with %q, %v", p.res.Text, p.err)
			}
		})
	}
	p := gated(t, fake.NewClock(), askAll(nil), asks("c-", "a"), done())
	same(t, "without approvals", []string{`tool.skip 0   c-a a denied "nobody was there to approve it" error`}, p.lines(trace.KindToolStart, trace.KindToolEnd, trace.KindToolSkip))
}

// AL-62, AL-68: an early decision is used once. A decision about a call that is not pending is
// discarded.
func TestAL62AL68EarlyDecision(t *testing.T) {
	clock := fake.NewClock()
	var log []string
	a := logged(clock, &log, nil)
	if a.Store.Resolve("c-a", middleware.Approval{Decision: middleware.Approve}) || a.Store.Has("c-a") {
		t.Error("took a decision about a call that is not pending")
	}
	a.Store.Restore([]middleware.ApprovalRequest{{Call: llm.ToolCall{ID: "c-a"}}, {Call: llm.ToolCall{ID: "c-slow"}}})
	if !a.Store.Resolve("c-a", middleware.Approval{Decision: middleware.Approve}) || len(a.Store.Pending()) != 1 {
		t.Errorf("pending: %v", a.Store.Pending())
	}
	agent, err := loop.New(&fake.Model{Responses: []fake.Response{asks("c-", "a"), done(), asks("c-", "a"), done()}}, &loop.Config{Tools: gatedTools(clock), Middleware: askAll(a), Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	for run, want := range []string{"A", "nobody was there to approve it"} {
		res, err := agent.Run(t.Context(), loop.Prompt(fmt.Sprint("go ", run)))
		if err != nil || res.Steps[0].Results[0].Text() != want {
			t.Errorf("run %d: got %+v, %v; want %q", run, res.Steps, err, want)
		}
	}
	same(t, "callbacks", []string{
		"0s requested c-a, pending c-slow c-a", "0s checkpoint , pending c-slow c-a", "0s approve c-a, pending c-slow",
		"0s requested c-a, pending c-slow c-a", "0s checkpoint , pending c-slow c-a", "0s deny c-a, pending c-slow",
	}, log)
}

// AL-62: an early decision is about the call with its id.
func TestAL62DecisionOfACall(t *testing.T) {
	a := &middleware.Approvals{Store: new(middleware.ApprovalStore)}
	a.Store.Restore([]middleware.ApprovalRequest{{Call: llm.ToolCall{ID: "c-a"}}, {Call: llm.ToolCall{ID: "c-slow"}}})
	a.Store.Resolve("c-slow", middleware.Approval{Decision: middleware.Approve})
	p := gated(t, fake.NewClock(), askAll(a), asks("c-", "a", "slow"), done())
	same(t, "events", []string{
		`tool.skip 0   c-a a denied "nobody was there to approve it" error`,
		`tool.start 0   c-slow slow {}`, `tool.end 0   @30ms c-slow ok "S"`,
	}, p.lines(trace.KindToolStart, trace.KindToolEnd, trace.KindToolSkip))
}

// AL-62: an early decision is used once, also by a run that fails then. The next request of the call is
// decided again.
func TestAL62EarlyDecisionFails(t *testing.T) {
	var got []middleware.ApprovalDecision
	a := &middleware.Approvals{Store: new(middleware.ApprovalStore), Resolved: func(_ context.Context, _ middleware.ApprovalRequest, a middleware.Approval) error {
		got = append(got, a.Decision)
		return errors.New("boom")
	}}
	a.Store.Restore([]middleware.ApprovalRequest{{Call: llm.ToolCall{ID: "c-a"}}})
	if !a.Store.Resolve("c-a", middleware.Approval{Decision: middleware.Approve}) {
		t.Error("the decision was not stored")
	}
	for range 2 {
		if p := gated(t, fake.NewClock(), askAll(a), asks("c-", "a"), done()); p.err == nil {
			t.Error("the run did not fail")
		}
	}
	if diff := cmp.Diff([]middleware.ApprovalDecision{middleware.Approve, middleware.Deny}, got); diff != "" {
		t.Errorf("decisions (-want +got):\n%s", diff)
	}
}

// AL-62, AL-68: an early decision comes before the callback, and has all its fields.
func TestAL62AL68DecisionFields(t *testing.T) {
	override := loop.TextOutput("instead")
	for want, decision := range map[string]middleware.Approval{
		"instead": {Decision: middleware.Approve, Override: &override}, "too late": {Decision: middleware.Deny, Reason: "too late"},
	} {
		a := &middleware.Approvals{Store: new(middleware.ApprovalStore), Approve: func(context.Context, middleware.ApprovalRequest) (middleware.Approval, error) {
			return middleware.Approval{Decision: middleware.Deny, Reason: "of the callback"}, nil
		}}
		a.Store.Restore([]middleware.ApprovalRequest{{Call: llm.ToolCall{ID: "c-a"}}})
		if !a.Store.Resolve("c-a", decision) {
			t.Error("the decision was not stored")
		}
		if p := gated(t, fake.NewClock(), askAll(a), asks("c-", "a"), done()); p.err != nil || p.res.Steps[0].Results[0].Text() != want {
			t.Errorf("got %+v, %v; want the result %q", p.res.Steps, p.err, want)
		}
	}
}

// Suspend ends the run with its calls pending. The decisions about other calls are not
// requested again.
func TestSuspend(t *testing.T) {
	clock := fake.NewClock()
	var log []string
	decision := middleware.Suspend
	asked := 0
	a := logged(clock, &log, func(_ context.Context, r middleware.ApprovalRequest) (middleware.Approval, error) {
		asked++
		if r.Call.Name == "slow" {
			return middleware.Approval{Decision: decision}, nil
		}
		return middleware.Approval{Decision: middleware.Approve}, nil
	})
	p := gated(t, clock, askAll(a), asks("c-", "a", "slow"))
	if p.res.StopReason != trace.ReasonApproval || p.res.Note != "waiting for a decision about slow" || len(p.res.Pending) != 2 || p.err != nil {
		t.Errorf("stop %q (%s), pending %v, %v", p.res.StopReason, p.res.Note, p.res.Pending, p.err)
	}
	same(t, "callbacks", []string{
		"0s requested c-a, pending c-a", "0s checkpoint , pending c-a", "0s requested c-slow, pending c-a c-slow", "0s checkpoint , pending c-a c-slow",
		"0s approve c-a, pending c-slow",
	}, log)
	same(t, "events", []string{
		`custom 0   approval.requested {"call":"c-a"}`, `custom 0   approval.requested {"call":"c-slow"}`, `custom 0   approval.resolved {"call":"c-a","verdict":"approve"}`,
	}, p.lines(trace.KindCustom))
	log, asked = nil, 0
	a.Store.Resolve("c-slow", middleware.Approval{Decision: middleware.Approve})
	p = gated(t, clock, askAll(a), asks("c-", "a", "slow"), done())
	if p.res.Text != "done" || asked != 0 || len(a.Store.Pending()) != 0 {
		t.Errorf("the next run: %q, %d approval requests, pending %v", p.res.Text, asked, a.Store.Pending())
	}
}

// An error of a callback of Approvals ends the run.
func TestApprovalHooksFail(t *testing.T) {
	boom := errors.New("boom")
	fails := func(context.Context, middleware.ApprovalRequest) error { return boom }
	for name, a := range map[string]*middleware.Approvals{
		"requested":  {Requested: fails},
		"checkpoint": {Checkpoint: func(context.Context) error { return boom }},
		"resolved": {Resolved: func(ctx context.Context, r middleware.ApprovalRequest, _ middleware.Approval) error {
			return fails(ctx, r)
		}},
	} {
		p := gated(t, fake.NewClock(), askAll(a), asks("c-", "a", "slow"))
		if !errors.Is(p.err, boom) || len(p.lines(trace.KindToolStart)) != 0 {
			t.Errorf("%s: got %v, started %q", name, p.err, p.lines(trace.KindToolStart))
		}
	}
}

// A repeated request, after a run that was suspended without a decision, is pending once.
func TestApprovalStorePendingOnce(t *testing.T) {
	clock := fake.NewClock()
	var log []string
	a := logged(clock, &log, nil)
	a.Store.Restore([]middleware.ApprovalRequest{{Call: llm.ToolCall{ID: "c-a"}}, {Call: llm.ToolCall{ID: "other"}}})
	gated(t, clock, askAll(a), asks("c-", "a"), done())
	same(t, "callbacks", []string{"0s requested c-a, pending other c-a", "0s checkpoint , pending other c-a", "0s deny c-a, pending other"}, log)
}

// A decision is unresolved until it is applied; afterwards the store is empty.
func TestApprovalStoreUnresolved(t *testing.T) {
	clock := fake.NewClock()
	var log []string
	var open []string
	decision := middleware.Suspend
	a := logged(clock, &log, func(_ context.Context, r middleware.ApprovalRequest) (middleware.Approval, error) {
		if r.Call.Name == "slow" {
			return middleware.Approval{Decision: decision}, nil
		}
		return middleware.Approval{Decision: middleware.Approve}, nil
	})
	a.Sequential = true
	a.Checkpoint = func(context.Context) error {
		ids := ""
		for _, r := range a.Store.Unresolved() {
			ids += " " + r.Call.ID
		}
		open = append(open, ids)
		return nil
	}
	gated(t, clock, askAll(a), asks("c-", "a", "slow"))
	if got := a.Store.Unresolved(); len(got) != 2 || got[0].Call.ID != "c-a" || len(a.Store.Pending()) != 1 {
		t.Errorf("after the suspension %v is open, %v pending", got, a.Store.Pending())
	}
	decision = middleware.Deny
	gated(t, clock, askAll(a), asks("c-", "a", "slow"), done())
	if got := a.Store.Unresolved(); len(got) != 0 || a.Store.Has("c-a") {
		t.Errorf("in the end %v is open", got)
	}
	same(t, "what each checkpoint could keep", []string{" c-a", " c-a c-slow", " c-slow c-a", " c-a c-slow"}, open)
}

// An early decision applies only to the same call: another tool or other arguments under the
// same id need a new decision.
func TestApprovalStoreComparesCalls(t *testing.T) {
	for _, c := range []struct {
		name string
		was  middleware.ApprovalRequest
		runs bool
	}{
		{"the same", middleware.ApprovalRequest{Call: llm.ToolCall{ID: "c-a", Name: "a"}, Arguments: `{}`}, true},
		{"the same, written otherwise", middleware.ApprovalRequest{Call: llm.ToolCall{ID: "c-a", Name: "a"}, Arguments: "{ }"}, true},
		{"an id alone", middleware.ApprovalRequest{Call: llm.ToolCall{ID: "c-a"}}, true},
		{"another tool", middleware.ApprovalRequest{Call: llm.ToolCall{ID: "c-a", Name: "b"}, Arguments: `{}`}, false},
		{"other arguments", middleware.ApprovalRequest{Call: llm.ToolCall{ID: "c-a", Name: "a"}, Arguments: `{"path":"tmp"}`}, false},
		{"no arguments at all", middleware.ApprovalRequest{Call: llm.ToolCall{ID: "c-a", Name: "a"}, Arguments: `{`}, false},
	} {
		a := &middleware.Approvals{Store: new(middleware.ApprovalStore)}
		a.Store.Restore([]middleware.ApprovalRequest{c.was})
		if !a.Store.Resolve("c-a", middleware.Approval{Decision: middleware.Approve}) || a.Store.Resolve("c-a", middleware.Approval{}) {
			t.Errorf("%s: want a call to be pending until its decision", c.name)
		}
		p := gated(t, fake.NewClock(), askAll(a), asks("c-", "a"), done())
		if got := len(p.lines(trace.KindToolStart)) == 1; got != c.runs || len(a.Store.Unresolved()) != 0 {
			t.Errorf("%s: the tool ran: %v, want %v", c.name, got, c.runs)
		}
	}
}

// A suspended run leaves its requests in a store, before it asks. Another ApprovalStore loads and
// resolves them, and stores what is left. A decision is not stored, and a second writer is rejected.
func TestApprovalStoreLoadSave(t *testing.T) {
	s := new(store.Memory)
	opened := func() *middleware.ApprovalStore {
		t.Helper()
		a := new(middleware.ApprovalStore)
		if err := a.Load(t.Context(), s, "approvals"); err != nil {
			t.Fatal(err)
		}
		return a
	}
	clock := fake.NewClock()
	later := func(context.Context, middleware.ApprovalRequest) (middleware.Approval, error) {
		if got := opened().Pending(); len(got) != 2 {
			t.Errorf("while a call waits, the store has %v", got)
		}
		return middleware.Approval{Decision: middleware.Suspend}, nil
	}
	first, other := opened(), opened()
	gated(t, clock, askAll(&middleware.Approvals{Approve: later, Store: first, Checkpoint: first.Save}), asks("c-", "a", "slow"))
	if diff := cmp.Diff(first.Pending(), opened().Pending()); diff != "" || len(first.Pending()) != 2 {
		t.Errorf("stored requests (-in memory +stored):\n%s", diff)
	}
	if err := other.Save(t.Context()); !errors.Is(err, store.ErrConflict) {
		t.Errorf("Save of a store that was loaded before: %v, want ErrConflict", err)
	}

	next := opened()
	if !next.Resolve("c-a", middleware.Approval{Decision: middleware.Approve}) {
		t.Error("the loaded request is not pending")
	}
	if err := next.Save(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := opened().Pending(); len(got) != 2 {
		t.Errorf("the store has the decision: %v is pending", got)
	}
	next.Delete("c-slow")
	next.Delete("c-a")
	if err := next.Save(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := opened().Unresolved(); len(got) != 0 {
		t.Errorf("in the end %v is stored", got)
	}
	if err := new(middleware.ApprovalStore).Save(t.Context()); err == nil || err.Error() != "middleware: ApprovalStore.Save: unknown key: call Load first" {
		t.Errorf("Save without Load: %v", err)
	}
	if _, err := s.Save(t.Context(), "damaged", []byte("half"), 0); err != nil {
		t.Fatal(err)
	}
	if err := next.Load(t.Context(), s, "damaged"); err == nil || !strings.HasPrefix(err.Error(), "middleware: ApprovalStore.Load: store: loading \"damaged\": ") {
		t.Errorf("Load of a damaged value: %v", err)
	}
	if err := next.Save(t.Context()); err != nil {
		t.Errorf("Save after a failed Load: %v", err)
	}
}

// sequentialStore reports saves that overlap.
type sequentialStore struct {
	store.Memory
	t      *testing.T
	saving atomic.Int32
}

func (s *sequentialStore) Save(ctx context.Context, key string, value []byte, version int64) (int64, error) {
	if s.saving.Add(1) > 1 {
		s.t.Error("two saves overlap")
	}
	defer s.saving.Add(-1)
	for range 100 {
		runtime.Gosched()
	}
	return s.Memory.Save(ctx, key, value, version)
}

// Concurrent calls of Save store the requests of the last one, with all changes before it.
func TestApprovalStoreSaveConcurrently(t *testing.T) {
	s := &sequentialStore{t: t}
	a := new(middleware.ApprovalStore)
	if err := a.Load(t.Context(), s, "k"); err != nil {
		t.Fatal(err)
	}
	var all []middleware.ApprovalRequest
	for i := range 50 {
		all = append(all, middleware.ApprovalRequest{Call: llm.ToolCall{ID: fmt.Sprint(i)}})
	}
	a.Restore(all)
	var group sync.WaitGroup
	for _, r := range all {
		group.Go(func() {
			a.Delete(r.Call.ID)
			if err := a.Save(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if err := a.Load(t.Context(), s, "k"); err != nil || len(a.Unresolved()) != 0 {
		t.Errorf("the store has %v, %v", a.Unresolved(), err)
	}
}
