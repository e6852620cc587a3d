package agentloop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/history"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/loop/preset/agentloop"
)

// AL-67, AL-68, AL-85, AL-86: a pending call of a later step has all its fields after a restore. Its
// stored decision applies with its reason or its override, and its tool gets its arguments.
func TestAL86PendingFields(t *testing.T) {
	var saved []byte
	var first []middleware.ApprovalRequest
	second := calls("2", "slow", "a", "bad")
	for i := range second.Calls {
		second.Calls[i].Arguments = fmt.Sprintf(`{"n":%d}`, i)
	}
	w := newWorld(t, calls("1", "a"), second).agent(asking(&saved, func(_ context.Context, r middleware.ApprovalRequest) (middleware.Approval, error) {
		if r.Step == 0 {
			return middleware.Approval{Decision: middleware.Approve}, nil
		}
		first = append(first, r)
		return middleware.Approval{Decision: middleware.Suspend}, nil
	}))
	w.run("go")
	same(t, "the requests of the approver", w.Pending(), first)
	cfg := asking(new([]byte), nil)
	var got []string
	for _, name := range []string{"slow", "a", "bad"} {
		cfg.Tools = append(cfg.Tools, loop.Tool{Name: name, Run: func(_ context.Context, c loop.Call) (loop.Output, error) {
			got = append(got, c.ID+" "+c.Arguments)
			return loop.TextOutput(name), nil
		}})
	}
	next := restored(t, saved, cfg, says("x"))
	same(t, "pending after a restore", w.Pending(), next.Pending())
	if p := next.Pending(); len(p) != 3 || p[1].Run != "agentloop/1" || p[1].Step != 1 || p[1].Call.ID != "2a" || p[1].Call.Name != "a" || p[1].Arguments != `{"n":1}` {
		t.Errorf("pending: %+v", p)
	}
	override := loop.TextOutput("instead")
	for id, a := range map[string]middleware.Approval{
		"2slow": {Decision: middleware.Approve}, "2a": {Decision: middleware.Approve, Override: &override}, "2bad": {Decision: middleware.Deny, Reason: "too late"},
	} {
		if err := next.ResumeWithApproval(t.Context(), id, a); err != nil {
			t.Fatal(err)
		}
	}
	next.run("on")
	same(t, "the results", []string{"slow", "instead", "too late"}, resultsOf(next, 4))
	same(t, "the tools that ran", []string{`2slow {"n":0}`}, got)
}

// AL-63: an override has all its parts and its error flag. A call that was approved may take too long.
func TestAL63OverrideAndTimeout(t *testing.T) {
	override := loop.Output{Content: []llm.Part{llm.Text{Text: "one"}, llm.Media{MediaType: "image/png", URL: "u"}}, IsError: true}
	var saved []byte
	cfg := asking(&saved, func(_ context.Context, r middleware.ApprovalRequest) (middleware.Approval, error) {
		a := middleware.Approval{Decision: middleware.Approve}
		if r.Call.Name == "a" {
			a.Override = &override
		}
		return a, nil
	})
	cfg.ToolTimeout = 10 * time.Millisecond
	w := newWorld(t, calls("", "a", "slow"), says("x")).agent(cfg)
	w.run("go")
	results := w.History().Messages()[2].Parts
	same(t, "the override", llm.ToolResult{ID: "a", Name: "a", Content: override.Content, IsError: true}, results[0].(llm.ToolResult))
	same(t, "the other call", "the tool took too long (10ms)", results[1].(llm.ToolResult).Text())
}

// AL-65: the end of the run's context ends the wait for a decision.
func TestAL65Canceled(t *testing.T) {
	var saved []byte
	w := newWorld(t, calls("", "a"), says("x"))
	w.agent(asking(&saved, func(ctx context.Context, _ middleware.ApprovalRequest) (middleware.Approval, error) {
		return middleware.Approval{Decision: middleware.Approve}, w.clock.Sleep(ctx, time.Hour)
	}))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w.clock.AfterFunc(time.Minute, cancel)
	began := w.clock.Now()
	res, err := w.Complete(ctx, agentloop.Input{Text: "go"}, nil)
	if took := w.clock.Now().Sub(began); err != nil || res.Reason != agentloop.Failed || !errors.Is(res.Err, context.Canceled) || took != time.Minute {
		t.Errorf("got %q, %v, %v after %v", res.Reason, res.Err, err, took)
	}
}

// AL-69: the results of a response are in the order of its calls, also if a later call has its result
// first.
func TestAL69OrderOfResults(t *testing.T) {
	var saved []byte
	newWorld(t, calls("", "a", "slow")).agent(asking(&saved, suspend)).run("go")
	var s agentloop.Snapshot
	if err := json.Unmarshal(saved, &s); err != nil {
		t.Fatal(err)
	}
	s.History.Entries = append(s.History.Entries, history.SnapshotEntry{Message: llm.ToolResults(llm.ToolResult{ID: "slow", Name: "slow", Content: []llm.Part{llm.Text{Text: "from elsewhere"}}})})
	for _, waits := range []bool{true, false} {
		want := "A"
		if s.PendingToolCalls = s.PendingToolCalls[:1]; !waits {
			s.PendingToolCalls, want = nil, "the run ended before this call had a result"
		}
		changed, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		w := restored(t, changed, asking(&saved, nil), says("x"))
		if waits {
			if err := w.ResumeWithApproval(t.Context(), "a", middleware.Approval{Decision: middleware.Approve}); err != nil {
				t.Fatal(err)
			}
		}
		w.run("on")
		same(t, "the results", []string{want, "from elsewhere"}, resultsOf(w, 2))
		same(t, "the history", "user/1 assistant/2 tool/2 user/1 assistant/1", w.roles())
		same(t, "the request", w.History().Messages()[:4], w.model.Requests()[0].Messages)
		if steps := w.last().Steps; waits && (len(steps) != 2 || len(steps[0].ToolCalls) != 1 || steps[0].ToolCalls[0].CallID != "a") {
			t.Errorf("the report has the steps %+v", steps)
		}
	}
}

// AL-86: the system prompt, the context and the history are those of the snapshot, whatever the
// configuration has. A change of the restored agent does not change the snapshot. onAgentCreate gets
// the restored agent.
func TestAL86OnlyOfTheSnapshot(t *testing.T) {
	w := newWorld(t, says("x")).agent(agentloop.Config{System: "S", Context: "C", Tools: []loop.Tool{}})
	w.run("go")
	w.SetMetadata("k", "v")
	s := w.Dump()
	if b, err := json.Marshal(s.ToolNames); string(b) != "[]" || err != nil {
		t.Errorf("the names of no tools: %s, %v", b, err)
	}
	bus, created := new(agentloop.Bus), ""
	bus.Subscribe(func(_ context.Context, ev agentloop.Event) error {
		if l, ok := ev.Data.(*agentloop.Loop); ok {
			created = fmt.Sprint(len(l.Reports()), l.Metadata(), l.History().Len())
		}
		return nil
	})
	other := agentloop.Config{System: "other", Context: "another", History: history.New("h"), Hooks: bus, Clock: w.clock}
	l, err := agentloop.Restore(t.Context(), fake.NewModel(says("y")), s, &other)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "the agent at onAgentCreate", "1 map[k:v] 2", created)
	back := l.Dump()
	back.SavedAt = s.SavedAt
	same(t, "the restored agent", s, back)
	if other.System != "other" || other.History.Len() != 0 {
		t.Errorf("the configuration has changed: %+v", other)
	}
	reports := slices.Clone(s.Reports[:1:1])
	l.SetMetadata("k", "w")
	if _, err := l.Complete(t.Context(), agentloop.Input{Text: "on"}, nil); err != nil {
		t.Fatal(err)
	}
	if s.Metadata["k"] != "v" || len(s.Reports) != 1 || s.Reports[0] != reports[0] || len(s.History.Entries) != 2 {
		t.Errorf("the snapshot has changed: %+v", s)
	}
}

// AL-59, AL-61, AL-92: the events of approvals and guardrails have the step, the run and the agent. All
// subscribers get each event, in the order of subscription.
func TestAL92StepsOfEvents(t *testing.T) {
	w := newWorld(t, calls("1", "slow"), calls("2", "a", "ghost"), says("x"))
	w.agent(agentloop.Config{
		Guardrails: []middleware.Guardrail{{Name: "g", Kind: middleware.GuardInput, Check: func(_ context.Context, c middleware.GuardrailCheck) (middleware.GuardrailResult, error) {
			return middleware.GuardrailResult{Pass: len(c.Messages) != 3}, nil
		}}},
		Policy: middleware.PermissionPolicy(func(_ context.Context, r middleware.PermissionRequest) (middleware.Permission, error) {
			return middleware.Permission{Allow: true, Ask: r.Tool == "a"}, nil
		}),
		Approve: func(context.Context, middleware.ApprovalRequest) (middleware.Approval, error) {
			return middleware.Approval{Decision: middleware.Approve}, nil
		},
	})
	var got []string
	for n := range 2 {
		w.Hooks().Subscribe(func(_ context.Context, ev agentloop.Event) error {
			switch ev.Name {
			case agentloop.OnApprovalRequested, agentloop.OnApprovalResolved, agentloop.OnGuardrailTriggered, agentloop.OnWarning:
				got = append(got, fmt.Sprint(n, " ", ev.Name, " ", ev.Step, " ", ev.Run, " ", ev.Agent))
			}
			return nil
		})
	}
	w.run("go")
	same(t, "events", []string{
		"0 onGuardrailTriggered 1 agentloop/1 agentloop", "1 onGuardrailTriggered 1 agentloop/1 agentloop",
		"0 onWarning 1 agentloop/1 agentloop", "1 onWarning 1 agentloop/1 agentloop",
		"0 onApprovalRequested 1 agentloop/1 agentloop", "1 onApprovalRequested 1 agentloop/1 agentloop",
		"0 onApprovalResolved 1 agentloop/1 agentloop", "1 onApprovalResolved 1 agentloop/1 agentloop",
	}, got)
}

// AL-89, AL-90: the report has the time and the metrics of a tool that fails.
func TestAL90FailedTool(t *testing.T) {
	w := newWorld(t, calls("", "late"), says("x"))
	w.agent(agentloop.Config{Tools: []loop.Tool{{Name: "late", Run: func(ctx context.Context, _ loop.Call) (loop.Output, error) {
		middleware.SetMetric(ctx, "rows", middleware.Metric{Value: 3.0, Type: "count"})
		return loop.Output{}, errors.Join(w.clock.Sleep(ctx, 10*time.Millisecond), errors.New("no luck"))
	}}}})
	w.run("go")
	r := w.last()
	call := r.Steps[0].ToolCalls[0]
	if call.LatencyMs != 10 || call.Error == nil || *call.Error != "no luck" || call.Metrics["rows"].Value != 3.0 || r.Steps[0].ToolTotalMs != 10 || r.TotalToolTimeMs != 10 {
		t.Errorf("the report: %+v, the call %+v", r, call)
	}
}

// AL-109: the snapshot of a call that waits has the results of all calls before it.
func TestAL109TwoResults(t *testing.T) {
	var saved, atGate []byte
	runs := map[string]int{}
	counting := func(name string) loop.Tool {
		return loop.Tool{Name: name, Run: func(context.Context, loop.Call) (loop.Output, error) {
			runs[name]++
			return loop.TextOutput("of " + name), nil
		}}
	}
	cfg := asking(&saved, func(_ context.Context, r middleware.ApprovalRequest) (middleware.Approval, error) {
		if r.Call.Name == "c" {
			atGate = saved
		}
		return middleware.Approval{Decision: middleware.Approve}, nil
	})
	cfg.OneTool, cfg.Tools = true, []loop.Tool{counting("a"), counting("b"), counting("c")}
	newWorld(t, calls("", "b", "a", "c"), says("x")).agent(cfg).run("go")
	clear(runs)
	next := restored(t, atGate, cfg, says("x"))
	same(t, "the results in the snapshot", []string{"of b", "of a"}, resultsOf(next, 2))
	if err := next.ResumeWithApproval(t.Context(), "c", middleware.Approval{Decision: middleware.Approve}); err != nil {
		t.Fatal(err)
	}
	next.run("on")
	same(t, "the results", []string{"of b", "of a", "of c"}, resultsOf(next, 2))
	same(t, "the tools that ran again", map[string]int{"c": 1}, runs)
}
