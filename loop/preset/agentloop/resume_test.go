package agentloop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/history"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/loop/preset/agentloop"
	"github.com/looptape/looptape/trace"
)

// asking returns a configuration that requests approval for each call and saves each
// request. saved receives the last snapshot as JSON.
func asking(saved *[]byte, approve func(context.Context, middleware.ApprovalRequest) (middleware.Approval, error)) agentloop.Config {
	return agentloop.Config{
		Approve: approve,
		Policy: middleware.PermissionPolicy(func(context.Context, middleware.PermissionRequest) (middleware.Permission, error) {
			return middleware.Permission{Allow: true, Ask: true}, nil
		}),
		Checkpoint: func(_ context.Context, key string, s agentloop.Snapshot) error {
			b, err := json.Marshal(s)
			*saved = b
			if key != "agent-loop:"+s.History.ID {
				return errors.Join(err, fmt.Errorf("the key is %q", key))
			}
			return err
		},
	}
}

// suspend is an approver that defers every decision.
func suspend(context.Context, middleware.ApprovalRequest) (middleware.Approval, error) {
	return middleware.Approval{Decision: middleware.Suspend}, nil
}

// restored returns an agent from a snapshot in a new world, as in another process.
func restored(t *testing.T, saved []byte, cfg agentloop.Config, turns ...fake.Response) *world {
	t.Helper()
	var s agentloop.Snapshot
	if err := json.Unmarshal(saved, &s); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, turns...)
	w.ids = "restored"
	w.dress(&cfg)
	l, err := agentloop.Restore(t.Context(), w.model, s, &cfg)
	if err != nil {
		t.Fatal(err)
	}
	w.Loop = l
	return w
}

// AL-61, AL-65, AL-66, AL-92: two calls of a step are pending. Each is emitted and saved in
// order before a decision. The snapshot contains the calls.
func TestAL61Checkpoint(t *testing.T) {
	var saved []byte
	second := calls("2", "a", "slow")
	second.Calls[1].Arguments = "{" // the tool gets {}
	w := newWorld(t, calls("", "a", "slow"), second, says("x"))
	cfg := asking(&saved, func(context.Context, middleware.ApprovalRequest) (middleware.Approval, error) {
		return middleware.Approval{Decision: middleware.Approve}, nil
	})
	checkpoint, saves := cfg.Checkpoint, 0
	cfg.Checkpoint = func(ctx context.Context, key string, s agentloop.Snapshot) error {
		saves++
		return checkpoint(ctx, key, s)
	}
	w.agent(cfg)
	var pending []string
	w.hook = func(ev agentloop.Event) error {
		if ev.Name == agentloop.OnApprovalRequested || ev.Name == agentloop.OnApprovalResolved {
			pending = append(pending, fmt.Sprint(len(w.Pending()), " pending, ", len(saved) > 0))
		}
		if req, ok := ev.Data.(middleware.ApprovalRequest); ok && req.Arguments != "{}" {
			t.Errorf("the request has the arguments %s, want those of the tool", req.Arguments)
		}
		return nil
	}
	w.run("go")
	same(t, "what was pending and saved when reported", []string{
		"1 pending, false", "2 pending, true", "1 pending, true", "0 pending, true", "1 pending, true", "2 pending, true", "1 pending, true", "0 pending, true",
	}, pending)
	same(t, "the number of checkpoints", 4, saves)
	var s agentloop.Snapshot
	if err := json.Unmarshal(saved, &s); err != nil {
		t.Fatal(err)
	}
	same(t, "the calls of the last snapshot", []agentloop.PendingToolCall{
		{RunID: "agentloop/1", Step: 1, CallID: "2a", ToolName: "a", Arguments: json.RawMessage(`{}`)},
		{RunID: "agentloop/1", Step: 1, CallID: "2slow", ToolName: "slow", Arguments: json.RawMessage(`{}`)},
	}, s.PendingToolCalls)
	if n := len(s.History.Entries); n != 4 || s.History.Entries[3].Message.Role != llm.RoleAssistant {
		t.Errorf("the snapshot has %d messages", n)
	}
}

// AL-63, AL-64: the report contains the result of each decision, and the run continues.
func TestAL63AL64Decisions(t *testing.T) {
	override := loop.TextOutput("instead")
	for want, a := range map[string]middleware.Approval{
		`done: "A" skipped=false error=<nil>`:       {Decision: middleware.Approve},
		`done: "instead" skipped=false error=<nil>`: {Decision: middleware.Approve, Override: &override},
		`done: "later" skipped=true error=<nil>`:    {Decision: middleware.Skip, Reason: "later"},
		`done: "no" skipped=false error=no`:         {Decision: middleware.Deny, Reason: "no"},
		`done: "the call was not approved, and not run" skipped=false error=the call was not approved, and not run`: {},
	} {
		var saved []byte
		w := newWorld(t, calls("", "a"), says("x")).agent(asking(&saved, func(context.Context, middleware.ApprovalRequest) (middleware.Approval, error) { return a, nil }))
		res := w.run("go")
		same(t, "the call", want, fmt.Sprintf("%s: %s", res.Reason, callOf(w)))
	}
	// The calls of one step, each with another decision.
	all := map[string]middleware.Approval{
		"1": {Decision: middleware.Deny, Reason: "no"}, "2": {Decision: middleware.Approve}, "3": {Decision: middleware.Skip, Reason: "later"},
		"4": {Decision: middleware.Approve, Override: &override}, "5": {Decision: middleware.Approve},
	}
	step := fake.Response{}
	for _, id := range []string{"1", "2", "3", "4", "5"} {
		step.Calls = append(step.Calls, fake.Call{ID: id, Name: "a", Arguments: "{}"})
	}
	var saved []byte
	w := newWorld(t, step, says("x")).agent(asking(&saved, func(_ context.Context, r middleware.ApprovalRequest) (middleware.Approval, error) {
		return all[r.Call.ID], nil
	}))
	w.run("go")
	same(t, "the results of one step", []string{"no", "A", "later", "instead", "A"}, resultsOf(w, 2))
	var flags []string
	for _, c := range w.last().Steps[0].ToolCalls {
		flags = append(flags, fmt.Sprint(c.Skipped, " ", c.Error != nil))
	}
	same(t, "skipped calls and errors", []string{"false true", "false false", "true false", "false false", "false false"}, flags)
	w = newWorld(t, calls("", "a"), says("x")).agent(agentloop.Config{})
	w.run("go")
	same(t, "the call of an agent without a policy", `"A" skipped=false error=<nil>`, callOf(w))
}

// It returns the id of the first call of the last run.
func callOf(w *world) string {
	c := w.last().Steps[0].ToolCalls[0]
	var failure any
	if c.Error != nil {
		failure = *c.Error
	}
	return fmt.Sprintf("%q skipped=%v error=%v", w.History().Messages()[2].Parts[0].(llm.ToolResult).Text(), c.Skipped, failure)
}

// AL-67, AL-69: a suspended run continues in another process. The pending call runs with
// the earlier decision before the new input is appended.
func TestAL67AL69Resume(t *testing.T) {
	var saved []byte
	w := newWorld(t, calls("", "a", "slow")).agent(asking(&saved, suspend))
	if res := w.run("go"); res.Reason != agentloop.Stopped || res.Err != nil || len(w.Pending()) != 2 || len(w.last().Steps) != 0 {
		t.Fatalf("the suspended run: %q, %v, pending %v", res.Reason, res.Err, w.Pending())
	}
	suspended := saved // the continued runs save their own snapshots
	for _, max := range []int{0, 1} {
		cfg := asking(&saved, nil)
		cfg.MaxSteps = max
		next := restored(t, suspended, cfg, says("went on"))
		if err := next.ResumeWithApproval(t.Context(), "a", middleware.Approval{Decision: middleware.Approve}); err != nil {
			t.Fatal(err)
		}
		if got := next.Pending(); len(got) != 1 || got[0].Call.ID != "slow" {
			t.Errorf("pending after a decision: %v", got)
		}
		res := next.run("and then")
		if res.Text() != "went on" || res.Reason != agentloop.Done || next.last().ModelCalls != 1 || next.last().StepCount != 1 {
			t.Errorf("the continued run: %q %q, %d model calls", res.Reason, res.Text(), next.last().ModelCalls)
		}
		same(t, "the history", "user/1 assistant/2 tool/2 user/1 assistant/1", next.roles())
		results := next.History().Messages()[2].Parts
		if results[0].(llm.ToolResult).Text() != "A" || results[1].(llm.ToolResult).Text() != "nobody was there to approve it" {
			t.Errorf("the results: %+v", results)
		}
		same(t, "reported", []string{
			"onAgentCreate", `onRunStart "and then"`, "onToolCallStart -1 a", "onToolCallStart -1 slow",
			"onApprovalRequested a", "onApprovalRequested slow", "onApprovalResolved a approve", "onApprovalResolved slow deny", "onToolCallComplete -1 a",
			"onStepStart 0", `onStepComplete 0 "went on" stop`, "onRunComplete done",
		}, next.log)
		if n := len(next.model.Requests()[0].Messages); n != 4 {
			t.Errorf("the request has %d messages, want 4", n)
		}
		same(t, "the trace", []string{next.last().ID + " resumes " + w.last().ID}, resumed(next))
	}
}

// AL-67: the result is the same in the same process. A stream reports the calls before
// its first step, and the report contains them.
func TestAL67SameProcess(t *testing.T) {
	var saved []byte
	cfg := asking(&saved, suspend)
	w := newWorld(t, calls("", "a", "slow"), says("x")).agent(cfg)
	w.run("go")
	for _, id := range []string{"a", "slow"} {
		if err := w.ResumeWithApproval(t.Context(), id, middleware.Approval{Decision: middleware.Approve}); err != nil {
			t.Fatal(err)
		}
	}
	events := w.stream("on", nil)
	same(t, "events", []string{
		"tool_call_start a", "tool_call_start slow", "tool_call_end a", "tool_call_end slow", "step_start", "text x", "step_end", "done",
	}, types(events))
	if events[1].Step != -1 || events[3].Latency != 30*time.Millisecond {
		t.Errorf("a call before the first step: %+v", events[3])
	}
	r := w.last()
	var steps []string
	for _, s := range r.Steps {
		steps = append(steps, fmt.Sprint(s.Index, " ", s.Type, " ", len(s.ToolCalls), " ", s.ToolTotalMs))
	}
	same(t, "the report's steps", []string{"-1 initial 2 30", "0 tool_followup 0 0"}, steps)
	if r.StepCount != 1 || r.ToolCallCount != 2 || r.ModelCalls != 1 || w.roles() != "user/1 assistant/2 tool/2 user/1 assistant/1" {
		t.Errorf("the report: %+v, history %s", r, w.roles())
	}
	same(t, "the trace", []string{"agentloop/2 resumes agentloop/1"}, resumed(w))
}

// resumed returns which run resumes which in the trace.
func resumed(w *world) (list []string) {
	for _, ev := range w.trace {
		if b, ok := ev.Body.(trace.Resumed); ok {
			list = append(list, ev.Run+" resumes "+b.Of)
		}
	}
	return list
}

// A continued run may be suspended again. A tool failure may end it before its first
// step.
func TestResumeEndsEarly(t *testing.T) {
	var saved []byte
	w := newWorld(t, calls("", "bad")).agent(asking(&saved, suspend))
	w.run("go")
	if res := w.run("on"); res.Reason != agentloop.Stopped || w.roles() != "user/1 assistant/1" || len(w.Pending()) != 1 {
		t.Errorf("put off again: %q, history %s", res.Reason, w.roles())
	}
	if err := w.ResumeWithApproval(t.Context(), "bad", middleware.Approval{Decision: middleware.Approve}); err != nil {
		t.Fatal(err)
	}
	w.hook = func(ev agentloop.Event) error {
		if f, ok := ev.Data.(*middleware.ToolFailed); ok {
			f.Stop = true
		}
		return nil
	}
	if res := w.run("on"); res.Reason != agentloop.Failed || len(w.model.RecordedRequests()) != 1 || w.roles() != "user/1 assistant/1 tool/1 user/1" {
		t.Errorf("a failure: %q %v after %d requests, history %s", res.Reason, res.Err, len(w.model.RecordedRequests()), w.roles())
	}
}

// AL-69: with DropPending, the pending response is dropped and the run calls the model
// again.
func TestAL69Drop(t *testing.T) {
	var saved []byte
	newWorld(t, calls("", "a", "slow")).agent(asking(&saved, suspend)).run("go")
	cfg := asking(&saved, nil)
	cfg.DropPending = true
	w := restored(t, saved, cfg, says("again"))
	res, err := w.Complete(t.Context(), agentloop.Input{Messages: []llm.Message{llm.User("one"), llm.User("two")}}, nil)
	if err != nil || res.Text() != "again" || len(w.Pending()) != 0 {
		t.Errorf("got %q, %v, pending %v", res.Text(), err, w.Pending())
	}
	same(t, "the history", "user/1 user/1 user/1 assistant/1", w.roles())
	// Without input there is nothing to replace the response: the call runs again.
	w = restored(t, saved, cfg, says("went on"))
	if res, err := w.Complete(t.Context(), agentloop.Input{Messages: []llm.Message{}}, nil); err != nil || res.Text() != "went on" {
		t.Errorf("without input: %q, %v", res.Text(), err)
	}
	same(t, "the history", "user/1 assistant/2 tool/2 assistant/1", w.roles())
}

// AL-56, AL-69: calls that a guardrail blocked get results when the next run begins. They
// never run.
func TestAL69AfterTripwire(t *testing.T) {
	w := newWorld(t, calls("", "a", "slow"), says("x")).agent(agentloop.Config{Guardrails: []middleware.Guardrail{{Kind: middleware.GuardOutput, Check: func(_ context.Context, c middleware.GuardrailCheck) (middleware.GuardrailResult, error) {
		return middleware.GuardrailResult{Pass: len(c.Response.Calls()) == 0, Tripwire: true, Reason: "no tools"}, nil
	}}}})
	if res := w.run("go"); res.Reason != agentloop.Guardrail || res.Text() != "no tools" || w.roles() != "user/1 assistant/2" || w.last().StepCount != 0 || len(w.last().Steps) != 0 {
		t.Errorf("the run that tripped: %q %q, history %s, %d steps", res.Reason, res.Text(), w.roles(), len(w.last().Steps))
	}
	same(t, "events", []string{"onAgentCreate", `onRunStart "go"`, "onStepStart 0", `onStepComplete 0 "" tool_use`, "onGuardrailTriggered ", "onRunComplete guardrail"}, w.log)
	if res := w.run("on"); res.Reason != agentloop.Done {
		t.Errorf("the next run: %q, %v", res.Reason, res.Err)
	}
	if w.roles() != "user/1 assistant/2 tool/2 user/1 assistant/1" {
		t.Errorf("the history %s", w.roles())
	}
	for i, id := range []string{"a", "slow"} {
		if got := w.History().Messages()[2].Parts[i].(llm.ToolResult); got.ID != id || !got.IsError || got.Text() != "the run ended before this call had a result" {
			t.Errorf("result %d: %+v", i, got)
		}
	}
}

// AL-89: the report omits a step if its response triggered a guardrail, with or without
// calls.
func TestAL89TrippedStep(t *testing.T) {
	w := newWorld(t, says("secret")).agent(agentloop.Config{Guardrails: []middleware.Guardrail{{Kind: middleware.GuardOutput, Check: func(context.Context, middleware.GuardrailCheck) (middleware.GuardrailResult, error) {
		return middleware.GuardrailResult{Tripwire: true}, nil
	}}}})
	if res := w.run("go"); res.Text() != "" || len(w.last().Steps) != 0 || w.last().ModelCalls != 1 || w.roles() != "user/1 assistant/1" {
		t.Errorf("got %q, the report %+v", res.Text(), w.last())
	}
}

// AL-67: a call that was decided while another call waits is not lost. It is pending in
// the snapshot and decided again.
func TestSnapshotOfDecided(t *testing.T) {
	for _, one := range []bool{false, true} {
		var saved []byte
		cfg := asking(&saved, func(_ context.Context, r middleware.ApprovalRequest) (middleware.Approval, error) {
			if r.Call.Name == "a" {
				return middleware.Approval{Decision: middleware.Approve}, nil
			}
			return middleware.Approval{Decision: middleware.Suspend}, nil
		})
		cfg.OneTool = one
		w := newWorld(t, calls("", "a", "slow")).agent(cfg)
		w.run("go")
		after, err := json.Marshal(w.Dump())
		if err != nil {
			t.Fatal(err)
		}
		for name, kept := range map[string][]byte{"the last checkpoint": saved, "a dump afterwards": after} {
			next := restored(t, kept, asking(new([]byte), nil), says("x"))
			for _, id := range []string{"a", "slow"} {
				if err := next.ResumeWithApproval(t.Context(), id, middleware.Approval{Decision: middleware.Approve}); err != nil {
					t.Fatal(err)
				}
			}
			next.run("on")
			results := next.History().Messages()[2].Parts
			if results[0].(llm.ToolResult).Text() != "A" || results[1].(llm.ToolResult).Text() != "S" {
				t.Errorf("one at a time %v, %s: %+v", one, name, results)
			}
		}
	}
}

// A decision applies to the pending call of the snapshot. A history that was changed in
// the meantime has another call, which is denied.
func TestSnapshotPendingArguments(t *testing.T) {
	var saved []byte
	newWorld(t, calls("", "a")).agent(asking(&saved, suspend)).run("go")
	var s agentloop.Snapshot
	if err := json.Unmarshal(saved, &s); err != nil {
		t.Fatal(err)
	}
	s.PendingToolCalls[0].ToolName = "slow"
	changed, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	w := restored(t, changed, asking(&saved, nil), says("x"))
	if err := w.ResumeWithApproval(t.Context(), "a", middleware.Approval{Decision: middleware.Approve}); err != nil {
		t.Fatal(err)
	}
	w.run("on")
	if got := w.History().Messages()[2].Parts[0].(llm.ToolResult); got.Text() != "nobody was there to approve it" {
		t.Errorf("the call without a decision: %q", got.Text())
	}
}

// AL-69: an imported history may leave some calls of a response without results.
func TestAL69PartialResults(t *testing.T) {
	for _, drop := range []bool{false, true} {
		for _, waits := range []bool{false, true} {
			var saved []byte
			newWorld(t, calls("", "a", "slow")).agent(asking(&saved, suspend)).run("go")
			var s agentloop.Snapshot
			if err := json.Unmarshal(saved, &s); err != nil {
				t.Fatal(err)
			}
			s.History.Entries = append(s.History.Entries, history.SnapshotEntry{Message: llm.ToolResults(llm.ToolResult{ID: "a", Name: "a", Content: []llm.Part{llm.Text{Text: "from elsewhere"}}})})
			s.PendingToolCalls = s.PendingToolCalls[1:]
			if !waits {
				s.PendingToolCalls = nil
			}
			changed, err := json.Marshal(s)
			if err != nil {
				t.Fatal(err)
			}
			cfg := asking(&saved, nil)
			cfg.DropPending = drop
			w := restored(t, changed, cfg, says("x"))
			if waits {
				if err := w.ResumeWithApproval(t.Context(), "slow", middleware.Approval{Decision: middleware.Approve}); err != nil {
					t.Fatal(err)
				}
			}
			want, text := "user/1 assistant/2 tool/2 user/1 assistant/1", "the run ended before this call had a result"
			if waits {
				text = "S"
			}
			if waits && drop {
				want = "user/1 user/1 assistant/1"
			}
			if res := w.run("on"); res.Reason != agentloop.Done || w.roles() != want {
				t.Errorf("dropped %v, waiting %v: %q %v, history %s, want %s", drop, waits, res.Reason, res.Err, w.roles(), want)
			} else if m := w.History().Messages(); m[len(m)-3].Role == llm.RoleTool && m[len(m)-3].Parts[1].(llm.ToolResult).Text() != text {
				t.Errorf("waiting %v: the result %+v", waits, m[len(m)-3])
			}
		}
	}
}

// AL-68: a decision about a call that is not pending emits a warning.
func TestAL68UnknownCall(t *testing.T) {
	var saved []byte
	w := newWorld(t, calls("", "a"), says("x")).agent(asking(&saved, nil))
	if err := w.ResumeWithApproval(t.Context(), "a", middleware.Approval{Decision: middleware.Approve}); err != nil {
		t.Fatal(err)
	}
	same(t, "reported", []string{"onAgentCreate", "onWarning approval_callid_not_found"}, w.log)
	w.hook = func(ev agentloop.Event) error {
		if warning, ok := ev.Data.(trace.Warning); ok {
			return fmt.Errorf("%s: %s", ev.Agent, warning.Message)
		}
		return nil
	}
	if err := w.ResumeWithApproval(t.Context(), "b", middleware.Approval{}); err == nil || err.Error() != "agentloop: no call with the id b waits for a decision" {
		t.Errorf("the warning: %v", err)
	}
	w.run("go")
	same(t, "the call with this id later", []string{"nobody was there to approve it"}, resultsOf(w, 2))
}

// AL-85, AL-86: a snapshot of a restored agent equals the original snapshot.
func TestAL85AL86Snapshot(t *testing.T) {
	first := calls("", "slow", "bad")
	first.Text, first.Reasoning = "so", "hm"
	w := newWorld(t, first, says("x"))
	if err := w.clock.Sleep(t.Context(), time.Second); err != nil {
		t.Fatal(err)
	}
	w.agent(agentloop.Config{ID: "conv", Context: "task", SystemFunc: func(context.Context) (string, error) { return "reported", nil }})
	empty := w.Dump()
	if b, err := json.Marshal(empty); err != nil || string(b) != `{"version":1,"system":"","context":"task","history":{"id":"conv","entries":[],"registry":[{"name":"agentloop.context","content":"task","priority":100,"tags":["system"],"owner":"agent-loop"}]},"toolNames":["a","slow","bad"],"reports":[],"metadata":{},"createdAt":946684801000,"savedAt":946684801000}` {
		t.Errorf("of a new agent: %s, %v", b, err)
	}
	w.run("go")
	w.SetMetadata("k", "v")
	s := w.Dump()
	if s.Version != 1 || s.System != "reported" || s.CreatedAt != empty.CreatedAt || s.SavedAt != empty.SavedAt+30 || len(s.Reports) != 1 || s.Metadata["k"] != "v" {
		t.Errorf("the snapshot: %+v", s)
	}
	saved, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	w.SetMetadata("k", "later")
	same(t, "the metadata of a snapshot after a change of the agent", any("v"), s.Metadata["k"])
	back := restored(t, saved, agentloop.Config{}, says("y"))
	again := back.Dump()
	again.SavedAt = s.SavedAt
	b, err := json.Marshal(again)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "the snapshot of what was restored", string(saved), string(b))
	if back.run("next"); back.last().ID == w.last().ID || back.ID() != "conv" || len(back.Reports()) != 2 {
		t.Errorf("the run after it: %+v", back.last())
	}
	same(t, "the messages of the run after it", append(w.History().Messages(), llm.User("next")), back.model.Requests()[0].Messages)
	if got := back.Metadata(); got["k"] != "v" {
		t.Errorf("the metadata: %v", got)
	}
	if err := back.AddTool(text("later", "")); err != nil {
		t.Fatal(err)
	}
	same(t, "the names of the tools", []string{"a", "slow", "bad", "later"}, back.Dump().ToolNames)
}

// Restore returns an error for an invalid snapshot.
func TestRestoreErrors(t *testing.T) {
	good := newWorld(t).agent(agentloop.Config{}).Dump()
	other, old, anchor := good, good, good
	other.Version, old.Version = 2, 0
	anchor.History.Anchor = &history.Anchor{Index: 7}
	boom := errors.New("boom")
	for name, c := range map[string]struct {
		s     agentloop.Snapshot
		model llm.Model
		hook  string
		tools []loop.Tool
		want  string
	}{
		"version":  {other, fake.NewModel(), "", nil, "agentloop: Restore: the snapshot has version 2: want version 1"},
		"old":      {old, fake.NewModel(), "", nil, "agentloop: Restore: the snapshot has version 0: want version 1"},
		"history":  {anchor, fake.NewModel(), "", nil, "agentloop: Restore: history: Import: the anchor is at message 7 of 0; take it out, and all is estimated"},
		"no model": {good, nil, "", nil, "agentloop: New: missing model: set it"},
		"create":   {good, fake.NewModel(), agentloop.OnAgentCreate, nil, "boom"},
		"removed":  {good, fake.NewModel(), agentloop.OnWarning, nil, "boom"},
		"added":    {good, fake.NewModel(), agentloop.OnWarning, []loop.Tool{text("a", ""), text("slow", ""), text("bad", ""), text("b", "")}, "boom"},
	} {
		bus := new(agentloop.Bus)
		bus.Subscribe(func(_ context.Context, ev agentloop.Event) error {
			if ev.Name == c.hook {
				return boom
			}
			return nil
		})
		if _, err := agentloop.Restore(t.Context(), c.model, c.s, &agentloop.Config{Hooks: bus, Tools: c.tools}); err == nil || err.Error() != c.want {
			t.Errorf("%s: got %v, want %s", name, err, c.want)
		}
	}
	if _, err := agentloop.Restore(t.Context(), fake.NewModel(), good, nil); err != nil {
		t.Errorf("without a configuration: %v", err)
	}
}

// AL-87: warnings list removed tools first, then added tools.
func TestAL87Warnings(t *testing.T) {
	saved, err := json.Marshal(newWorld(t).agent(agentloop.Config{}).Dump())
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	w := newWorld(t)
	cfg := agentloop.Config{Tools: []loop.Tool{text("b", ""), text("a", ""), text("c", "")}}
	w.dress(&cfg)
	cfg.Hooks.Subscribe(func(_ context.Context, ev agentloop.Event) error {
		if warning, ok := ev.Data.(trace.Warning); ok {
			texts = append(texts, ev.Agent+" "+warning.Code+": "+warning.Message)
		}
		return nil
	})
	var s agentloop.Snapshot
	if err := json.Unmarshal(saved, &s); err != nil {
		t.Fatal(err)
	}
	if _, err := agentloop.Restore(t.Context(), w.model, s, &cfg); err != nil {
		t.Fatal(err)
	}
	same(t, "warnings", []string{
		"agentloop tool_removed: the tool slow is in the snapshot, but the agent does not have it",
		"agentloop tool_removed: the tool bad is in the snapshot, but the agent does not have it",
		"agentloop tool_added: the agent has the tool b, which is not in the snapshot",
		"agentloop tool_added: the agent has the tool c, which is not in the snapshot",
	}, texts)
}
