package agentloop_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/loop/preset/agentloop"
)

// AL-65: while a call waits for its decision, nothing is traced or emitted and no tool runs. The
// calls of a concurrent step wait together, those of a sequential step one after another.
func TestAL65Waits(t *testing.T) {
	for one, want := range map[bool]time.Duration{false: 2 * time.Hour, true: 3 * time.Hour} {
		var saved []byte
		w := newWorld(t, calls("", "a", "slow"), says("x"))
		running := false
		cfg := asking(&saved, func(ctx context.Context, r middleware.ApprovalRequest) (middleware.Approval, error) {
			took := map[string]time.Duration{"a": time.Hour, "slow": 2 * time.Hour}[r.Call.ID]
			log, events := slices.Clone(w.log), len(w.trace)
			err := w.clock.Sleep(ctx, took)
			if r.Call.ID == "slow" && !one {
				log = append(log, "onApprovalResolved a approve")
			}
			same(t, fmt.Sprintf("sequential %v: emitted before and while %s waits", one, r.Call.ID), log, w.log)
			if len(w.trace) != events || running {
				t.Errorf("sequential %v: %d events of the trace while %s waits, a tool runs: %v", one, len(w.trace)-events, r.Call.ID, running)
			}
			return middleware.Approval{Decision: middleware.Approve}, err
		})
		tool := func(name string) loop.Tool {
			return loop.Tool{Name: name, Run: func(ctx context.Context, _ loop.Call) (loop.Output, error) {
				running = true
				defer func() { running = false }()
				return loop.TextOutput(name), w.clock.Sleep(ctx, time.Millisecond)
			}}
		}
		cfg.OneTool, cfg.Tools = one, []loop.Tool{tool("a"), tool("slow")}
		w.agent(cfg)
		began := w.clock.Now()
		res := w.run("go")
		if took := w.clock.Now().Sub(began).Truncate(time.Minute); took != want || res.Reason != agentloop.Done {
			t.Errorf("sequential %v: the run took %v and ended as %q, want %v", one, took, res.Reason, want)
		}
		same(t, "results", []string{"a", "slow"}, resultsOf(w, 2))
		order := []string{
			"onToolCallStart 0 a", "onToolCallStart 0 slow", "onApprovalRequested a", "onApprovalRequested slow",
			"onApprovalResolved a approve", "onApprovalResolved slow approve", "onToolCallComplete 0 a", "onToolCallComplete 0 slow",
		}
		if one {
			order = []string{
				"onToolCallStart 0 a", "onApprovalRequested a", "onApprovalResolved a approve", "onToolCallComplete 0 a",
				"onToolCallStart 0 slow", "onApprovalRequested slow", "onApprovalResolved slow approve", "onToolCallComplete 0 slow",
			}
		}
		same(t, fmt.Sprint("all events of the step, sequential: ", one), append(order, "onStepStart 1"), w.log[4:13])
	}
}

// AL-65: an approver that fails or panics denies its call, and the run continues.
func TestAL65ApproverFails(t *testing.T) {
	var saved []byte
	w := newWorld(t, calls("", "a", "slow", "bad"), says("x"))
	w.agent(asking(&saved, func(_ context.Context, r middleware.ApprovalRequest) (middleware.Approval, error) {
		switch r.Call.ID {
		case "a":
			return middleware.Approval{Decision: middleware.Approve}, errors.New("boom")
		case "slow":
			panic("oh")
		}
		return middleware.Approval{Decision: middleware.Approve}, nil
	}))
	if res := w.run("go"); res.Reason != agentloop.Done || res.Text() != "x" {
		t.Errorf("got %q %q, %v", res.Reason, res.Text(), res.Err)
	}
	same(t, "results", []string{"the approver failed: boom", "the approver panicked: oh", "no luck"}, resultsOf(w, 2))
}

// AL-62, AL-68: an earlier decision about a call comes first, once. Then Approve decides, and
// without it the call is denied.
func TestAL62DecisionSources(t *testing.T) {
	for _, approver := range []bool{true, false} {
		var saved []byte
		newWorld(t, calls("", "a", "slow")).agent(asking(&saved, suspend)).run("go")
		asked, want := 0, "nobody was there to approve it"
		cfg := asking(new([]byte), nil)
		if approver {
			want = "of the approver"
			cfg.Approve = func(context.Context, middleware.ApprovalRequest) (middleware.Approval, error) {
				asked++
				return middleware.Approval{Decision: middleware.Deny, Reason: want}, nil
			}
		}
		w := restored(t, saved, cfg, calls("", "a"), says("x"))
		for i, id := range []string{"a", "slow"} {
			if err := w.ResumeWithApproval(t.Context(), id, middleware.Approval{Decision: middleware.Approve}); err != nil {
				t.Fatal(err)
			}
			if n := len(w.Pending()); n != 1-i {
				t.Errorf("%d calls are pending after decision %d", n, i)
			}
		}
		w.run("on") // the model calls a with the same id again
		same(t, "results with earlier decisions", []string{"A", "S"}, resultsOf(w, 2))
		same(t, "the result of the same id", []string{want}, resultsOf(w, 5))
		if wantAsked := map[bool]int{true: 1}[approver]; asked != wantAsked {
			t.Errorf("the approver was asked %d times, want %d", asked, wantAsked)
		}
	}
}

// AL-46, AL-63, AL-64: the report of calls that the policy or a decision kept from running, and of
// approved calls whose tool fails. Without a policy each call runs.
func TestAL46DeniedByPolicy(t *testing.T) {
	ran := false
	w := newWorld(t, calls("", "a", "slow", "bad"), says("x"))
	tools := w.tools()
	tools[0].Run = func(context.Context, loop.Call) (loop.Output, error) { ran = true; return loop.Output{}, nil }
	tools[1].Run = tools[0].Run
	w.agent(agentloop.Config{Tools: tools, Policy: func(_ context.Context, r middleware.PermissionRequest) (middleware.Permission, error) {
		return map[string]middleware.Permission{"a": {Reason: "not a"}, "bad": {Ask: true}}[r.Tool], nil
	}, Approve: func(context.Context, middleware.ApprovalRequest) (middleware.Approval, error) {
		return middleware.Approval{Decision: middleware.Approve}, nil
	}})
	res := w.run("go")
	same(t, "events", []string{"onToolCallStart 0 a", "onToolCallStart 0 slow", "onToolCallStart 0 bad", "onToolCallError 0 bad: no luck"}, w.tools0())
	want := []string{"not a", "the permission policy does not allow it", "no luck"}
	same(t, "results", want, resultsOf(w, 2))
	var got []string
	for _, c := range w.last().Steps[0].ToolCalls {
		if c.Error != nil && !c.Skipped {
			got = append(got, *c.Error)
		}
	}
	same(t, "errors in the report", want, got)
	if ran || res.Reason != agentloop.Done {
		t.Errorf("a denied tool ran: %v; the run ended as %q", ran, res.Reason)
	}
	for _, p := range w.History().Messages()[2].Parts {
		if r, ok := p.(llm.ToolResult); !ok || !r.IsError {
			t.Errorf("the result %+v is no error", p)
		}
	}
	w = newWorld(t, calls("", "a"), says("x")).agent(agentloop.Config{Approve: func(context.Context, middleware.ApprovalRequest) (middleware.Approval, error) {
		t.Error("an approval was requested without a policy")
		return middleware.Approval{}, nil
	}})
	w.run("go")
	same(t, "results without a policy", []string{"A"}, resultsOf(w, 2))
}
