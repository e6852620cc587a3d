package agentloop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/loop/preset/agentloop"
)

// AL-40, AL-41: in a sequential step the hook of a call follows the completion of the call
// before it, and can skip its call because of that outcome. In a concurrent step all calls start
// before one has completed.
func TestAL40HookAfterCompletion(t *testing.T) {
	for _, one := range []bool{true, false} {
		w := newWorld(t, calls("", "bad", "slow", "a"), says("x")).agent(agentloop.Config{OneTool: one})
		var failed []string
		w.hook = func(ev agentloop.Event) error {
			switch d := ev.Data.(type) {
			case *middleware.ToolFailed:
				failed = append(failed, d.Call.ID)
			case *middleware.ToolStarting:
				d.Skip = slices.Contains(failed, "bad") && d.Call.ID == "slow"
			}
			return nil
		}
		w.run("go")
		want := []string{"onToolCallStart 0 bad", "onToolCallError 0 bad: no luck", "onToolCallStart 0 slow", "onToolCallStart 0 a", "onToolCallComplete 0 a"}
		if !one {
			want = []string{"onToolCallStart 0 bad", "onToolCallStart 0 slow", "onToolCallStart 0 a", "onToolCallError 0 bad: no luck", "onToolCallComplete 0 a", "onToolCallComplete 0 slow"}
		}
		same(t, fmt.Sprint("the calls, sequential: ", one), want, w.tools0())
		if got := w.last().Steps[0].ToolCalls[1].Skipped; got != one {
			t.Errorf("sequential %v: the second call was skipped: %v", one, got)
		}
	}
}

// tools0 returns the events of calls.
func (w *world) tools0() []string {
	return slices.DeleteFunc(slices.Clone(w.log), func(line string) bool { return !strings.HasPrefix(line, "onToolCall") })
}

// AL-49: after an error with continueOnError=false, no later call of a sequential step starts. In
// a concurrent step all have started. Each call has a result, and the run ends with the error, also at the
// step limit. Complete returns it with Config.Reject.
func TestAL49NoCallAfterError(t *testing.T) {
	for i := range 4 {
		one, limit := i%2 == 0, i/2 // with a limit, the step is the last one
		w := newWorld(t, calls("", "bad", "slow", "a"), says("next")).agent(agentloop.Config{OneTool: one, MaxSteps: limit, Reject: limit > 0})
		w.hook = func(ev agentloop.Event) error {
			if f, ok := ev.Data.(*middleware.ToolFailed); ok {
				f.Stop = true
			}
			return nil
		}
		res, err := w.Complete(t.Context(), agentloop.Input{Text: "go"}, nil)
		if rejected := limit > 0; rejected != (err != nil) || rejected && !errors.Is(err, res.Err) {
			t.Errorf("sequential %v, limit %d: Complete returned %v", one, limit, err)
		}
		want, texts := []string{"onToolCallStart 0 bad", "onToolCallError 0 bad: no luck"}, []string{"no luck", "not run: the run was cancelled", "not run: the run was cancelled"}
		if !one {
			want = []string{"onToolCallStart 0 bad", "onToolCallStart 0 slow", "onToolCallStart 0 a", "onToolCallError 0 bad: no luck", "onToolCallComplete 0 a", "onToolCallComplete 0 slow"}
			texts = []string{"no luck", "S", "A"}
		}
		same(t, fmt.Sprint("the calls, sequential: ", one), want, w.tools0())
		same(t, "the results", texts, resultsOf(w, 2))
		if res.Reason != agentloop.Failed || res.Err == nil || !strings.HasSuffix(res.Err.Error(), "no luck") || w.last().Error != res.Err.Error() {
			t.Errorf("sequential %v: got %q, %v", one, res.Reason, res.Err)
		}
		if last := w.log[len(w.log)-1]; last != "onRunComplete error" {
			t.Errorf("sequential %v: the last event is %q", one, last)
		}
		w.hook = nil
		if res := w.run("on"); res.Reason != agentloop.Done || w.roles() != "user/1 assistant/3 tool/3 user/1 assistant/1" {
			t.Errorf("the next run: %q, %v, history %s", res.Reason, res.Err, w.roles())
		}
	}
}

// resultsOf returns the texts of the results in a message of the history.
func resultsOf(w *world, message int) (texts []string) {
	for _, p := range w.History().Messages()[message].Parts {
		texts = append(texts, p.(llm.ToolResult).Text())
	}
	return texts
}

// AL-66: a sequential step requests the second approval when the first call has completed. A
// concurrent step requests both before either is decided.
func TestAL66SequentialApprovals(t *testing.T) {
	for _, one := range []bool{true, false} {
		var saved []byte
		cfg := asking(&saved, func(context.Context, middleware.ApprovalRequest) (middleware.Approval, error) {
			return middleware.Approval{Decision: middleware.Approve}, nil
		})
		cfg.OneTool = one
		w := newWorld(t, calls("", "slow", "a"), says("x")).agent(cfg)
		w.run("go")
		want := []string{
			"onToolCallStart 0 slow", "onApprovalRequested slow", "onApprovalResolved slow approve", "onToolCallComplete 0 slow",
			"onToolCallStart 0 a", "onApprovalRequested a", "onApprovalResolved a approve", "onToolCallComplete 0 a",
		}
		if !one {
			want = []string{
				"onToolCallStart 0 slow", "onToolCallStart 0 a", "onApprovalRequested slow", "onApprovalRequested a",
				"onApprovalResolved slow approve", "onApprovalResolved a approve", "onToolCallComplete 0 a", "onToolCallComplete 0 slow",
			}
		}
		same(t, fmt.Sprint("the step, sequential: ", one), want, w.log[4:12])
	}
}

// AL-109: the snapshot at the approval of a call contains the results of the calls before it. They
// do not run again after a resume, and one message contains all results.
func TestAL109ResultsInSnapshot(t *testing.T) {
	for _, deferred := range []bool{false, true} { // the run ends while it waits, or the process does
		for _, again := range []bool{false, true} { // another call waits after the resume
			var saved []byte
			runs := map[string]int{}
			counting := func(name string) loop.Tool {
				return loop.Tool{Name: name, Run: func(context.Context, loop.Call) (loop.Output, error) {
					runs[name]++
					return loop.TextOutput(strings.ToUpper(name)), nil
				}}
			}
			approve := func(_ context.Context, r middleware.ApprovalRequest) (middleware.Approval, error) {
				if r.Call.Name != "b" {
					return middleware.Approval{Decision: middleware.Approve}, nil
				}
				if deferred {
					return middleware.Approval{Decision: middleware.Suspend}, nil
				}
				return middleware.Approval{Decision: middleware.Deny, Reason: "the process ends here"}, nil
			}
			cfg := asking(&saved, approve)
			cfg.OneTool, cfg.Tools = true, []loop.Tool{counting("a"), counting("b"), counting("c")}
			var atGate []byte
			checkpoint := cfg.Checkpoint
			cfg.Checkpoint = func(ctx context.Context, key string, s agentloop.Snapshot) error {
				err := checkpoint(ctx, key, s)
				if s.PendingToolCalls[len(s.PendingToolCalls)-1].ToolName == "b" {
					atGate = saved
				}
				return err
			}
			w := newWorld(t, calls("", "a", "b", "c"), says("x")).agent(cfg)
			res := w.run("go")
			if runs["a"] != 1 || runs["b"] != 0 || deferred && (res.Reason != agentloop.Stopped || w.roles() != "user/1 assistant/3 tool/1") {
				t.Fatalf("the first run: %q, runs %v, history %s", res.Reason, runs, w.roles())
			}
			if r := w.last(); deferred && (len(r.Steps) != 1 || len(r.Steps[0].ToolCalls) != 1 || r.ToolCallCount != 1) { // AL-89: not of calls that wait
				t.Errorf("the report of the first run: %+v", r)
			}
			var s agentloop.Snapshot
			if err := json.Unmarshal(atGate, &s); err != nil {
				t.Fatal(err)
			}
			if n := len(s.History.Entries); n != 3 || len(s.PendingToolCalls) != 1 || s.History.Entries[2].Message.Parts[0].(llm.ToolResult).Text() != "A" {
				t.Fatalf("the snapshot has %d messages, pending %+v", n, s.PendingToolCalls)
			}
			clear(runs)
			cfg = asking(&saved, func(_ context.Context, r middleware.ApprovalRequest) (middleware.Approval, error) {
				if again && r.Call.Name == "c" {
					return middleware.Approval{Decision: middleware.Suspend}, nil
				}
				return middleware.Approval{Decision: middleware.Approve}, nil
			})
			cfg.OneTool, cfg.Tools = true, []loop.Tool{counting("a"), counting("b"), counting("c")}
			next := restored(t, atGate, cfg, says("went on"))
			if err := next.ResumeWithApproval(t.Context(), "b", middleware.Approval{Decision: middleware.Approve}); err != nil {
				t.Fatal(err)
			}
			if again {
				next.run("ignored until the calls have results")
				same(t, "results before the last", []string{"A", "B"}, resultsOf(next, 2))
				if err := next.ResumeWithApproval(t.Context(), "c", middleware.Approval{Decision: middleware.Approve}); err != nil {
					t.Fatal(err)
				}
			}
			if res := next.run("and then"); res.Reason != agentloop.Done || res.Text() != "went on" {
				t.Errorf("deferred %v, again %v: %q %q, %v", deferred, again, res.Reason, res.Text(), res.Err)
			}
			same(t, "tools that ran after the restart", map[string]int{"b": 1, "c": 1}, runs)
			same(t, "results", []string{"A", "B", "C"}, resultsOf(next, 2))
			if !strings.HasPrefix(next.roles(), "user/1 assistant/3 tool/3 user/1") {
				t.Errorf("the history: %s", next.roles())
			}
			if got := next.model.Requests()[0].Messages[2]; len(got.Parts) != 3 {
				t.Errorf("the request has %d results in one message, want 3", len(got.Parts))
			}
		}
	}
}
