package middleware_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/trace"
)

// echo returns its arguments.
func echo(name string) loop.Tool {
	t, err := loop.RawTool(name, "", []byte(`{"type":"object","properties":{"n":{"type":"integer"}}}`), func(_ context.Context, c loop.Call) (loop.Output, error) {
		return loop.TextOutput(c.Arguments), nil
	})
	if err != nil {
		panic(err)
	}
	return t
}

// human runs calls with the decisions of a person, one after another.
func human(t *testing.T, on map[string]middleware.ApprovalRule, decisions []middleware.Approval, turns ...fake.Response) (o outcome, asked []middleware.ApprovalRequest) {
	t.Helper()
	p, err := middleware.HumanInTheLoop(func(_ context.Context, call middleware.ApprovalRequest) (middleware.Approval, error) {
		asked = append(asked, call)
		if len(decisions) < len(asked) {
			return middleware.Approval{}, errors.New("nobody is there")
		}
		return decisions[len(asked)-1], nil
	}, on)
	if err != nil {
		t.Fatal(err)
	}
	o = play(t.Context(), t, loop.Config{Tools: []loop.Tool{echo("a"), echo("b")}, Middleware: []loop.Middleware{p}}, loop.Prompt("go"), turns...)
	if o.err != nil {
		t.Fatal(o.err)
	}
	return o, asked
}

// RA-10, RA-56: without rules, a person decides about each call.
func TestHumanInTheLoop(t *testing.T) {
	all := middleware.ApprovalRule{Allowed: []middleware.ApprovalDecision{
		middleware.Approve, middleware.Edit, middleware.Reject, middleware.Respond,
	}, Description: "may it?"}
	o, asked := human(t, map[string]middleware.ApprovalRule{"a": all, "b": {}}, []middleware.Approval{
		{Decision: middleware.Approve},
		{Decision: middleware.Edit, Arguments: `{"n":20}`},
		{Decision: middleware.Reject},
		{Decision: middleware.Reject, Reason: "too many"},
		{Decision: middleware.Respond, Reason: "take 7"},
		{Decision: middleware.Edit, Arguments: `{"n":"x"}`},
		{Decision: "perhaps"},
		{Decision: middleware.Edit, Arguments: `{"n":1}`},
		{Decision: middleware.Reject, Reason: "not b"},
	},
		calling("a", `{"n":1}`, "a", `{"n":2}`, "a", `{"n":3}`, "a", `{"n":4}`, "a", `{"n":5}`, "a", `{"n":6}`, "a", `{"n":7}`, "b", `{"n":8}`, "b", `{"n":9}`, "b", `{"n":10}`, "c", `{}`, "a", `{`),
		text("done"))
	got := o.results()
	want := []string{
		`{"n":1}`, `{"n":20}`, "! not run: the user rejected the call", "! not run: the user rejected the call: too many", "take 7",
		"! invalid arguments: validating root: validating /properties/n: type: x has type \"string\", want \"integer\"",
		"! not run: the decision was \"perhaps\", and for this tool there are approve, edit, reject, respond",
		"! not run: the decision was \"edit\", and for this tool there are approve, reject",
		"! not run: the user rejected the call: not b", "! not run: no decision could be had: nobody is there",
	}
	if diff := cmp.Diff(want, got[:10]); diff != "" || len(got) != 12 {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	if len(asked) != 10 {
		t.Errorf("got %d requests", len(asked))
	}
	first := middleware.ApprovalRequest{
		Run: "r1", Call: asked[0].Call, Arguments: `{"n":1}`, ApprovalRule: all,
	}
	if diff := cmp.Diff(first, asked[0]); diff != "" || asked[0].Call.ID != "loop_call_1" || asked[0].Call.Name != "a" {
		t.Errorf("the first request (-want +got):\n%s", diff)
	}
	ends := map[string]string{}
	for _, s := range of[trace.ToolSkip](o.events) {
		ends[s.ToolCallID] = s.Reason
	}
	for _, e := range of[trace.ToolEnd](o.events) {
		ends[e.ToolCallID] = string(e.Outcome)
	}
	var outcomes []string
	for i := range 12 {
		outcomes = append(outcomes, ends[fmt.Sprint("loop_call_", i+1)])
	}
	if diff := cmp.Diff(strings.Fields("ok ok not_run not_run not_run error not_run not_run not_run not_run unknown_tool truncated"), outcomes); diff != "" {
		t.Errorf("ends (-want +got):\n%s", diff)
	}
	if r := of[trace.ToolArguments](o.events); len(r) != 1 || r[0] != (trace.ToolArguments{ToolCallID: "loop_call_2", Arguments: `{"n":20}`, Reason: "edit"}) {
		t.Errorf("other arguments: %+v", r)
	}
	events := o.custom(middleware.EventHumanDecision)
	if len(events) != 10 || events[1] != `{"call":"loop_call_2","tool":"a","decision":"edit"}` || events[6] != `{"call":"loop_call_7","tool":"a","decision":""}` {
		t.Errorf("events: %q", events)
	}
}

// RA-56: a rule permits only its own decisions, and without a list approve and reject. An edit without
// arguments is an empty object. The request has the step of its call.
func TestHumanDecisionsOfRule(t *testing.T) {
	decisions := []middleware.ApprovalDecision{middleware.Approve, middleware.Edit, middleware.Reject, middleware.Respond}
	for only, want := range map[middleware.ApprovalDecision]string{
		"": "approve, reject", middleware.Approve: "approve", middleware.Edit: "edit", middleware.Reject: "reject", middleware.Respond: "respond",
	} {
		var rule middleware.ApprovalRule
		if only != "" {
			rule.Allowed = []middleware.ApprovalDecision{only}
		}
		var replies []middleware.Approval
		for _, d := range decisions {
			replies = append(replies, middleware.Approval{Decision: d, Reason: "why"})
		}
		o, asked := human(t, map[string]middleware.ApprovalRule{"b": rule}, replies, calling("b", `{"n":1}`, "b", `{"n":2}`), calling("b", `{"n":3}`, "b", `{"n":4}`), text("done"))
		ok := map[middleware.ApprovalDecision]string{middleware.Approve: `{"n":1}`, middleware.Edit: "{}", middleware.Reject: "! not run: the user rejected the call: why", middleware.Respond: "why"}
		var results []string
		for i, d := range decisions {
			if !strings.Contains(want, string(d)) {
				ok[d] = fmt.Sprintf("! not run: the decision was %q, and for this tool there are %s", d, want)
			}
			results = append(results, ok[d])
			if asked[i].Step != i/2 {
				t.Errorf("request %d is of step %d", i, asked[i].Step)
			}
		}
		if diff := cmp.Diff(results, o.results()); diff != "" {
			t.Errorf("rule %q: results (-want +got):\n%s", only, diff)
		}
	}
}

// AMB-8: with rules, a person decides only about the tools that the rules name.
func TestHumanRules(t *testing.T) {
	for _, c := range []struct {
		on   map[string]middleware.ApprovalRule
		want []string
	}{
		{nil, []string{"a", "b"}},
		{map[string]middleware.ApprovalRule{}, []string{"a", "b"}},
		{map[string]middleware.ApprovalRule{"b": {}}, []string{"b"}},
	} {
		yes := middleware.Approval{Decision: middleware.Approve}
		o, asked := human(t, c.on, []middleware.Approval{yes, yes}, calling("a", "{}", "b", "{}"), text("done"))
		var got []string
		for _, r := range asked {
			got = append(got, r.Call.Name)
		}
		if diff := cmp.Diff(c.want, got); diff != "" || len(of[trace.ToolEnd](o.events)) != 2 {
			t.Errorf("%v: requests (-want +got):\n%s", c.on, diff)
		}
	}
}

// The runaway guard counts no rejected call as a failure of its tool.
func TestHumanRejections(t *testing.T) {
	const limit = 2
	p, err := middleware.HumanInTheLoop(func(context.Context, middleware.ApprovalRequest) (middleware.Approval, error) {
		return middleware.Approval{Decision: middleware.Reject}, nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var turns []fake.Response
	for n := range 2 * limit {
		turns = append(turns, calling("a", fmt.Sprintf(`{"n":%d}`, n)))
	}
	cfg := loop.Config{Tools: []loop.Tool{echo("a")}, Middleware: []loop.Middleware{p}, MaxConsecutiveToolErrors: limit}
	o := play(t.Context(), t, cfg, loop.Prompt("go"), append(turns, text("done"))...)
	if o.err != nil || o.res.Text != "done" || len(of[trace.ToolEnd](o.events)) != len(turns) {
		t.Errorf("got %v, %+v", o.err, o.res)
	}
}

// A run that ends during a review runs no more calls and asks about no more calls.
func TestHumanInTheLoopCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	p, err := middleware.HumanInTheLoop(func(ctx context.Context, _ middleware.ApprovalRequest) (middleware.Approval, error) {
		n++
		cancel()
		return middleware.Approval{}, ctx.Err()
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	counts := loop.Tool{Name: "a", Run: func(context.Context, loop.Call) (loop.Output, error) { ran++; return loop.TextOutput("A"), nil }}
	o := play(ctx, t, loop.Config{Tools: []loop.Tool{counts}, Middleware: []loop.Middleware{p}}, loop.Prompt("go"), call("1", "2"))
	var outcomes []string
	for _, e := range of[trace.ToolEnd](o.events) {
		outcomes = append(outcomes, string(e.Outcome))
	}
	if !errors.Is(o.err, context.Canceled) || n != 1 || ran != 0 || fmt.Sprint(outcomes) != "[cancelled cancelled]" || len(o.custom(middleware.EventHumanDecision)) != 0 {
		t.Errorf("got %v, %d requests, outcomes %q, %d calls were run", o.err, n, outcomes, ran)
	}
}

// Middleware may answer a call before any call is run. Such a call, and one that the loop does
// not run, needs no review. One call is reviewed at a time, and runs before the next review ends.
func TestHumanInTheLoopOrder(t *testing.T) {
	var order []string
	outer := loop.Middleware{Name: "outer", New: func(loop.RunInfo) loop.Hooks {
		return loop.Hooks{BeforeTools: func(_ context.Context, _ *loop.StepInfo, calls []loop.PlannedCall) (decisions []loop.CallDecision, d loop.Decision, err error) {
			for _, c := range calls {
				order = append(order, "outer "+c.Call.ID)
				if c.Call.ID == "2" {
					out := loop.TextOutput("known")
					decisions = append(decisions, loop.CallDecision{Index: c.Index, Output: &out})
				}
			}
			return decisions, d, nil
		}}
	}}
	clock := fake.NewClock()
	p, err := middleware.HumanInTheLoop(func(ctx context.Context, call middleware.ApprovalRequest) (middleware.Approval, error) {
		order = append(order, "human "+call.Call.ID)
		if err := clock.Sleep(ctx, time.Second); err != nil {
			return middleware.Approval{}, err
		}
		order = append(order, "decides "+call.Call.ID)
		return middleware.Approval{Decision: middleware.Approve}, nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	slow := loop.Tool{Name: "a", Run: func(ctx context.Context, c loop.Call) (loop.Output, error) {
		order = append(order, "runs "+c.ID)
		return loop.TextOutput("A"), clock.Sleep(ctx, time.Second)
	}}
	o := play(t.Context(), t, loop.Config{Tools: []loop.Tool{slow}, Middleware: []loop.Middleware{outer, p}, Clock: clock}, loop.Prompt("go"), call("1", "2", "3"), text("done"))
	want := "[outer 1 outer 2 outer 3 human 1 decides 1 runs 1 human 3 decides 3 runs 3]"
	if fmt.Sprint(order) != want || fmt.Sprint(o.results()) != "[A known A]" {
		t.Errorf("got %v, %q, want %s", order, o.results(), want)
	}
}
