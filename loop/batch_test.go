package loop_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/trace"
)

// onBatch returns middleware that changes each call of a step.
func onBatch(f func(c *loop.PlannedCall)) loop.Middleware {
	return named("p", loop.Hooks{BeforeTools: editCalls(func(_ context.Context, _ *loop.StepInfo, calls []*loop.PlannedCall) (loop.Decision, error) {
		for _, c := range calls {
			f(c)
		}
		return loop.Decision{}, nil
	})})
}

// counter returns a tool that takes an integer and records it.
func counter(t *testing.T, got *[]string) loop.Tool {
	t.Helper()
	x, err := loop.RawTool("count", "", []byte(`{"type":"object","properties":{"n":{"type":"integer"},"m":{"default":7}},"required":["n"]}`),
		func(_ context.Context, c loop.Call) (loop.Output, error) {
			*got = append(*got, c.Arguments)
			return loop.TextOutput("counted"), nil
		})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// batchCase describes what middleware does to the calls of a step, and the result.
type batchCase struct {
	name   string
	spec   string // of the first call
	finish llm.FinishReason
	do     func(c *loop.PlannedCall)
	args   string // what the tool gets; empty if it is not run
	cause  string // of its tool.arguments, or of its tool.skip
	result string // is part of
}

func (c batchCase) run(t *testing.T) {
	var got []string
	response := calls(c.spec)
	response.FinishReason = c.finish
	var mem trace.Memory
	res, err := runChecked(t, c.name, model(response, text("done")), loop.Config{
		Tools: []loop.Tool{counter(t, &got), echo("echo")}, Middleware: []loop.Middleware{onBatch(c.do)}, Sink: &mem,
	})
	if err != nil {
		t.Fatal(err)
	}
	cause := ""
	for _, r := range of[trace.ToolArguments](mem.Events()) {
		cause += r.Reason
	}
	for _, s := range of[trace.ToolSkip](mem.Events()) {
		cause += s.Reason
	}
	result := resultTexts(res.Messages)[0]
	if args := strings.Join(got, " "); args != c.args || cause != c.cause || !strings.Contains(result, c.result) {
		t.Errorf("%s: the tool got %q, with the cause %q and the result %q", c.name, args, cause, result)
	}
}

// A rejected call is rejected again if middleware removes only its substitute output. It is
// validated again if middleware sets other arguments.
func TestBeforeToolsRemovesOutputs(t *testing.T) {
	away := func(args ...string) func(*loop.PlannedCall) {
		return func(c *loop.PlannedCall) {
			c.Output, c.Reason = nil, ""
			for _, a := range args {
				c.Arguments = a
			}
		}
	}
	const whole = `{"m":1,"n":2}`
	for _, c := range []batchCase{
		{"left alone", "count" + whole, "", away(), whole, "", "counted"},
		{"other than the schema allows", `count{"n":"x"}`, "", away(), "", "invalid_arguments", "invalid arguments"},
		{"no JSON", `count{"n":x}`, "", away(), "", "malformed_arguments", "not JSON"},
		{"half of it", `count{"n":`, "", away(), "", "truncated", "before its arguments were complete"},
		{"no such tool", "nope" + whole, "", away(), "", "unknown_tool", "there is no tool"},
		{"cut off", "count" + whole, llm.FinishLength, away(), "", "truncated", "at its length limit"},
		{"truncated, then the same again", "count" + whole, llm.FinishLength, away(whole), "", "truncated", "at its length limit"},
		{"truncated, completed", `count{"n":`, llm.FinishLength, away(whole), whole, "edit", "counted"},
		{"truncated, not completed", `count{"n":`, llm.FinishLength, away(`{"n":1`), "", "truncated", "before its arguments were complete"},
		{"truncated, with no arguments", `echo{"n":`, llm.FinishLength, away("{}"), "", "edit", "{}"},
		{"repaired", `count{"n":"x"}`, "", away(whole), whole, "edit", "counted"},
		{"repaired, with a default", `count{"n":"x"}`, "", away(`{"n":3}`), `{"m":7,"n":3}`, "defaults", "counted"},
		{"invalid again", `count{"n":"x"}`, "", away(`{"n":"y"}`), "", "invalid_arguments", "invalid arguments"},
		{"with no arguments", "count" + whole, "", away("{}"), "", "invalid_arguments", "invalid arguments"},
		{"defaults removed", `count{"n":1}`, "", away(`{"n":1}`), `{"m":7,"n":1}`, "defaults", "counted"},
		{"no such tool, repaired", `nope{"n":"x"}`, "", away(whole), "", "unknown_tool", "there is no tool"},
	} {
		c.run(t)
	}
}

// The trace contains the reason why a call got a substitute output or other arguments,
// whichever reason the middleware sets.
func TestBeforeToolsReasons(t *testing.T) {
	answer := func(isError bool, cause ...string) func(*loop.PlannedCall) {
		return func(c *loop.PlannedCall) {
			out := loop.TextOutput("mine")
			out.IsError = isError
			c.Output = &out
			for _, s := range cause {
				c.Reason = s
			}
		}
	}
	because := func(cause string) func(*loop.PlannedCall) { return func(c *loop.PlannedCall) { c.Reason = cause } }
	const whole, bad = `count{"m":1,"n":2}`, `count{"n":"x"}`
	for _, c := range []batchCase{
		{"answered", whole, "", answer(false), "", "answered", "mine"},
		{"answered with an error", whole, "", answer(true), "", "answered", "mine"},
		{"answered, with a cause", whole, "", answer(false, "cached"), "", "cached", "mine"},
		{"answered, with defaults filled in", `count{"n":2}`, "", answer(false), "", "answered", "mine"},
		{"refused, and answered", bad, "", answer(false), "", "answered", "mine"},
		{"refused, and answered with an error", bad, "", answer(true), "", "answered", "mine"},
		{"refused, and answered without a cause", bad, "", answer(true, ""), "", "answered", "mine"},
		{"refused, and answered with a cause", bad, "", answer(true, "denied"), "", "denied", "mine"},
		{"unknown, and answered", "nope", "", answer(false), "", "answered", "mine"},
		{"answered as if refused", whole, "", answer(true, "invalid_arguments"), "", "invalid_arguments", "mine"},
		{"answered as if it were unknown, without an error", whole, "", answer(false, "unknown_tool"), "", "answered", "mine"},
		{"answered as if it were malformed, without an error", whole, "", answer(false, "malformed_arguments"), "", "answered", "mine"},
		{"answered as if it were invalid, without an error", whole, "", answer(false, "invalid_arguments"), "", "answered", "mine"},
		{"answered as if it were cut, without an error", whole, "", answer(false, "truncated"), "", "answered", "mine"},
		{"refused, in other words", bad, "", func(c *loop.PlannedCall) {
			c.Output = &loop.Output{Content: loop.TextOutput("mine").Content, IsError: true}
		}, "", "answered", "mine"},
		{"refused, but without an error", bad, "", func(c *loop.PlannedCall) { c.Output = &loop.Output{Content: c.Output.Content} }, "", "answered", "invalid arguments"},
		{"refused, in a changed copy", bad, "", func(c *loop.PlannedCall) { c.Output.Content[0], c.Output.IsError = llm.Text{Text: "mine"}, false }, "", "invalid_arguments", "invalid arguments"},
		{"refused without a cause", bad, "", because(""), "", "invalid_arguments", "invalid arguments"},
		{"refused with another cause", bad, "", because("denied"), "", "denied", "invalid arguments"},
		{"run with a cause", whole, "", because("denied"), `{"m":1,"n":2}`, "", "counted"},
		{"run with defaults and another cause", `count{"n":2}`, "", because("denied"), `{"m":7,"n":2}`, "defaults", "counted"},
		{"run with defaults and no cause", `count{"n":2}`, "", because(""), `{"m":7,"n":2}`, "defaults", "counted"},
	} {
		c.run(t)
	}
}

// A reason without a substitute output does not hide a failure from the runaway guard.
func TestBeforeToolsReasonWithoutOutput(t *testing.T) {
	bad := tool("bad", func(context.Context) (string, error) { return "", errors.New("no") })
	res, err := runChecked(t, "guard", model(calls("bad#1"), calls("bad#2"), calls("bad#3"), text("done")), loop.Config{
		Tools: []loop.Tool{bad}, Middleware: []loop.Middleware{onBatch(func(c *loop.PlannedCall) { c.Reason = "denied" })},
	})
	if err != nil || res.StopReason != trace.ReasonRunawayGuard || len(res.Steps) != 3 {
		t.Errorf("got %v, stop %q after %d steps", err, res.StopReason, len(res.Steps))
	}
}

// Changes of a PlannedCall after the hook have no effect.
func TestBeforeToolsCallsChangedLater(t *testing.T) {
	for name, change := range map[string]func(c *loop.PlannedCall){
		"arguments": func(c *loop.PlannedCall) { c.Arguments = `{"n":"rm"}` },
		"id":        func(c *loop.PlannedCall) { c.Call.ID = "evil" },
		"call":      func(c *loop.PlannedCall) { c.Call = llm.ToolCall{ID: "evil", Name: "evil", Arguments: "evil"} },
		"index":     func(c *loop.PlannedCall) { c.Index = 7 },
		"answer":    func(c *loop.PlannedCall) { out := loop.TextOutput("evil"); c.Output, c.Reason = &out, "evil" },
		"all of it": func(c *loop.PlannedCall) { *c = loop.PlannedCall{} },
	} {
		for _, width := range []int{1, 2} {
			var got []string
			var kept []*loop.PlannedCall
			p := named("p", loop.Hooks{
				BeforeTools: editCalls(func(_ context.Context, _ *loop.StepInfo, calls []*loop.PlannedCall) (loop.Decision, error) {
					kept = calls
					return loop.Decision{}, nil
				}),
				WrapTool: func(next loop.ToolFunc) loop.ToolFunc {
					return func(ctx context.Context, call loop.Call) (loop.Output, error) {
						change(kept[0])
						change(kept[1])
						return next(ctx, call)
					}
				},
			})
			res, err := runChecked(t, name, model(calls(`count{"n":1,"m":1}`, `count{"n":2,"m":2}`), text("done")), loop.Config{
				Tools: []loop.Tool{counter(t, &got)}, Middleware: []loop.Middleware{p}, Concurrency: width, Clock: fake.NewClock(),
			})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{`{"n":1,"m":1}`, `{"n":2,"m":2}`}, got); diff != "" {
				t.Errorf("%s, concurrency %d: arguments (-want +got):\n%s", name, width, diff)
			}
			for i, r := range res.Steps[0].Results {
				if c := res.Steps[0].Calls[i]; r.ID != c.ID || r.Name != "count" || r.Text() != "counted" {
					t.Errorf("%s, concurrency %d: the call %+v has the result %+v", name, width, c, r)
				}
			}
		}
	}
}

// A call runs with repaired arguments if the schema allows them. The trace reports the repair,
// also where the schema adds defaults. If the repaired arguments are invalid too, the call keeps
// its first error. If the original arguments were valid, invalid replacements reject the call.
func TestBeforeToolsRepairs(t *testing.T) {
	repaired := func(args string) func(*loop.PlannedCall) {
		return func(c *loop.PlannedCall) { c.Arguments, c.Output, c.Reason = args, nil, loop.ReasonRepair }
	}
	for _, c := range []batchCase{
		{name: "repaired", spec: `count{"n"`, do: repaired(`{"n":1,"m":2}`), args: `{"n":1,"m":2}`, cause: "repair", result: "counted"},
		{name: "with a default", spec: `count{"n":"x"}`, do: repaired(`{"n":1}`), args: `{"m":7,"n":1}`, cause: "repair", result: "counted"},
		{name: "no better", spec: `count{"n":"x"}`, do: repaired(`{`), cause: "invalid_arguments", result: `has type "string"`},
		{name: "worse", spec: `count{"n":1,"m":2}`, do: repaired(`[]`), cause: "malformed_arguments", result: "not an object"},
		{name: "of no tool", spec: `ghost{"n":1}`, do: repaired(`{"n":1}`), cause: "unknown_tool", result: "there is no tool"},
	} {
		c.run(t)
	}
}

// If a call is client-side and the loop runs no other call of the step, the middleware does not
// see the other calls either: a denial would be lost, and an approval would have no effect.
func TestBeforeToolsNotCalledWithClientCalls(t *testing.T) {
	client := loop.Tool{Name: "client"}
	for name, c := range map[string]struct {
		cfg  loop.Config
		call string
		want string
	}{
		"a client tool":            {loop.Config{}, "client", ""},
		"an unknown tool":          {loop.Config{BreakOnUnknownTool: true}, "ghost", ""},
		"the rest is run":          {loop.Config{ClientCalls: loop.ClientRest}, "client", "ok client"},
		"no tool and the next one": {loop.Config{}, "ghost", "ok ghost"},
	} {
		var asked []string
		c.cfg.Middleware = []loop.Middleware{named("asks", loop.Hooks{BeforeTools: editCalls(func(_ context.Context, _ *loop.StepInfo, calls []*loop.PlannedCall) (loop.Decision, error) {
			for _, p := range calls {
				asked = append(asked, p.Call.Name)
			}
			return loop.Decision{}, nil
		})})}
		c.cfg.Tools = []loop.Tool{echo("ok"), client}
		if _, err := newAgent(t, model(calls("ok", c.call), text("x")), c.cfg).Run(t.Context(), loop.Prompt("go")); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(asked, " "); got != c.want {
			t.Errorf("%s: requested approval of %q, want %q", name, got, c.want)
		}
	}
}
