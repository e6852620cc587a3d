package middleware_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/trace"
)

const cities = `{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer","default":3}},"required":["city"]}`

// weather returns a tool with a schema that returns its arguments.
func weather(t *testing.T) loop.Tool {
	t.Helper()
	w, err := loop.RawTool("weather", "", json.RawMessage(cities), func(_ context.Context, c loop.Call) (loop.Output, error) {
		return loop.TextOutput(c.Arguments), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func badCall(name, args string) fake.Response {
	return fake.Response{Calls: []fake.Call{{ID: "c1", Name: name, Arguments: args}}}
}

// repairs runs a response with calls, the next ones and a final response under Repair with another model.
func repairs(t *testing.T, first fake.Response, repairer *fake.Model, next ...fake.Response) (res *loop.Result, events []trace.Event) {
	t.Helper()
	var mem trace.Memory
	cfg := loop.Config{
		Tools: []loop.Tool{weather(t), tool}, Sink: &mem,
		Middleware: []loop.Middleware{middleware.Repair{Model: repairer, ModelName: "small"}.Middleware()},
	}
	agent, err := loop.New(fake.NewModel(slices.Concat([]fake.Response{first}, next, []fake.Response{{Text: "done"}})...), &cfg)
	if err != nil {
		t.Fatal(err)
	}
	if res, err = agent.Run(t.Context(), loop.Prompt("go")); err != nil {
		t.Fatal(err)
	}
	return res, mem.Events()
}

// A repaired call runs once with the arguments from the other model. The original message does
// not change (DA-25, DA-26, DA-29, DA-30).
func TestRepair(t *testing.T) {
	says := func(text string) fake.Response { return fake.Response{Text: text} }
	long := badCall("weather", `{"city":"Ber`)
	long.FinishReason = llm.FinishLength
	for name, c := range map[string]struct {
		first    fake.Response
		repairer []fake.Response
		result   string
		failed   bool
		asked    int
	}{
		"invalid":                 {badCall("weather", `{"city":7}`), []fake.Response{says(` {"city":"Bern","days":1} `)}, `{"city":"Bern","days":1}`, false, 1},
		"malformed":               {badCall("weather", `{city}`), []fake.Response{says("Here:\n```json\n{\"city\":\"Bern\",\"days\":1}\n```")}, `{"city":"Bern","days":1}`, false, 1},
		"incomplete":              {badCall("weather", `{"city":"Bern"`), []fake.Response{says(`{"city":"Bern"}`)}, `{"city":"Bern","days":3}`, false, 1},
		"without a schema":        {badCall("a", `[]`), []fake.Response{says(`{}`)}, `A`, false, 1},
		"right":                   {badCall("weather", `{"city":"Bern"}`), nil, `{"city":"Bern","days":3}`, false, 0},
		"no such tool":            {badCall("ghost", `{"city":7}`), nil, `there is no tool "ghost"; the tools are weather, a`, true, 0},
		"no such tool, malformed": {badCall("ghost", `{"city"`), nil, `there is no tool "ghost"; the tools are weather, a`, true, 0},
		"truncated at its length": {long, nil, `the answer was cut off at its length limit within this call, which was not run; make it again, shorter`, true, 0},
		"still invalid":           {badCall("weather", `[1]`), []fake.Response{says(`{"city":8}`)}, `the arguments are JSON, but not an object; the call was not run`, true, 1},
		"no text":                 {badCall("weather", `[1]`), []fake.Response{{}}, `the arguments are JSON, but not an object; the call was not run`, true, 1},
		"no text, no schema":      {badCall("a", `[1]`), []fake.Response{{}}, `the arguments are JSON, but not an object; the call was not run`, true, 1},
		"the other fails":         {badCall("weather", `[1]`), []fake.Response{{Error: &fake.Failure{Status: 500, Message: "boom"}}}, `the arguments are JSON, but not an object; the call was not run`, true, 1},
	} {
		repairer := fake.NewModel(c.repairer...)
		res, events := repairs(t, c.first, repairer)
		got := res.Steps[0].Results[0]
		if got.ID != "c1" || got.IsError != c.failed || got.Text() != c.result || len(repairer.RecordedRequests()) != c.asked || res.Text != "done" {
			t.Errorf("%s: got %+v after %d requests", name, got, len(repairer.RecordedRequests()))
		}
		if sent := res.Messages[0].Calls()[0]; sent.Arguments != c.first.Calls[0].Arguments {
			t.Errorf("%s: the model's message has %q", name, sent.Arguments)
		}
		var resolved, warned string
		for _, ev := range events {
			switch b := ev.Body.(type) {
			case trace.ToolArguments:
				resolved = b.Reason
			case trace.Warning:
				warned += b.Code + ": " + b.Message
			}
		}
		if want := map[bool]string{true: "repair"}[c.asked == 1 && !c.failed]; want != "" && resolved != want || c.failed && resolved != "" {
			t.Errorf("%s: tool.arguments has the cause %q", name, resolved)
		}
		if name == "the other fails" != strings.HasPrefix(warned, "repair_failed: the arguments of the call c1 were not repaired: ") {
			t.Errorf("%s: warned %q", name, warned)
		}
	}
	res, _ := repairs(t, long, fake.NewModel(says(`{"city":"Bern"}`)), badCall("weather", `{"city":7}`))
	if got := res.Steps[1].Results[0]; got.IsError || got.Text() != `{"city":"Bern","days":3}` {
		t.Errorf("after a step that was truncated at its length: got %+v", got)
	}
}

// Each call of a step is repaired separately, also after a call whose repair failed.
func TestRepairOfSeveralCalls(t *testing.T) {
	first := fake.Response{Calls: []fake.Call{{Name: "weather", Arguments: `1`}, {Name: "weather", Arguments: `2`}, {Name: "weather", Arguments: `3`}}}
	repairer := fake.NewModel(fake.Response{Text: "no"}, fake.Response{Text: `{"city":"Bern"}`}, fake.Response{Text: `{"city":"Graz"}`})
	res, _ := repairs(t, first, repairer)
	var got []string
	for _, r := range res.Steps[0].Results {
		got = append(got, fmt.Sprint(r.IsError, " ", r.Text()))
	}
	want := []string{"true the arguments are JSON, but not an object; the call was not run", `false {"city":"Bern","days":3}`, `false {"city":"Graz","days":3}`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
}

// The prompt has the tool, the arguments and the schema, in this order, and the request has
// the output schema. A repair is not a step, and its usage is reported separately (DA-25, 27,
// 28).
func TestRepairRequest(t *testing.T) {
	repairer := fake.NewModel(fake.Response{Text: `{"city":"Bern"}`, Usage: llm.Usage{InputTokens: 7}})
	res, events := repairs(t, badCall("weather", `{"city":`), repairer)
	req := repairer.RecordedRequests()[0].Request
	want := "The model tried to call \"weather\" with:\n" + `"{\"city\":"` + "\nThe tool accepts:\n" + cities + "\nPlease fix the inputs."
	if diff := cmp.Diff(want, req.Messages[0].Text()); diff != "" || len(req.Messages) != 1 {
		t.Errorf("the request (-want +got):\n%s", diff)
	}
	plain := fake.NewModel(fake.Response{Text: `{}`})
	repairs(t, badCall("a", `[1]`), plain)
	if got := plain.Requests()[0]; string(got.Settings.OutputSchema) != `{"type":"object"}` || !strings.Contains(got.Messages[0].Text(), "\n{\"type\":\"object\"}\n") {
		t.Errorf("the request for a tool without a schema is %+v", got)
	}
	if string(req.Settings.OutputSchema) != cities || req.Model != "small" || len(req.Tools) != 0 {
		t.Errorf("the request is %+v", req)
	}
	if len(res.Steps) != 2 || res.ModelCalls != 3 || res.UsageBy[trace.PurposeRepair].InputTokens != 7 {
		t.Errorf("got %+v", res)
	}
	var asked int
	for _, ev := range events {
		if _, ok := ev.Body.(trace.ModelRequest); ok && ev.Purpose == trace.PurposeRepair && ev.Step == 0 {
			asked++
		}
	}
	if asked != 1 {
		t.Errorf("the trace shows %d requests", asked)
	}
}

// asked is a model that returns its n-th response to the n-th request and keeps the requests.
type asked struct {
	turns    []fake.Response
	requests []*llm.Request
}

func (a *asked) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	a.requests = append(a.requests, req)
	return fake.NewModel(a.turns[len(a.requests)-1]).Stream(ctx, req)
}

// Without its own model, Repair uses the model, the model name and the settings of the step.
// Valid JSON arguments appear unchanged in the prompt.
func TestRepairStepModel(t *testing.T) {
	for name, want := range map[string]string{"": "own own own", "small": "own small own"} {
		m := &asked{turns: []fake.Response{badCall("weather", `{"city":7}`), {Text: `{"city":"Bern"}`}, {Text: "done"}}}
		switching := loop.Middleware{Name: "switch", New: func(loop.RunInfo) loop.Hooks {
			return loop.Hooks{BeforeStep: func(_ context.Context, s *loop.StepInfo) (loop.StepChange, error) {
				return loop.StepChange{Model: m}, nil
			}}
		}}
		repair := middleware.Repair{ModelName: name, Prompt: func(call llm.ToolCall, schema json.RawMessage) string {
			return fmt.Sprint(call.Name, len(schema)) + call.Arguments
		}}.Middleware()
		agent, err := loop.New(fake.NewModel(), &loop.Config{Model: "own", Tools: []loop.Tool{weather(t)}, Middleware: []loop.Middleware{switching, repair}})
		if err != nil {
			t.Fatal(err)
		}
		if res, err := agent.Run(t.Context(), loop.Prompt("go")); err != nil || res.Text != "done" {
			t.Fatalf("got %+v, %v", res, err)
		}
		var models []string
		for _, r := range m.requests {
			models = append(models, r.Model)
		}
		if got := strings.Join(models, " "); got != want {
			t.Errorf("request %q, want %q", got, want)
		}
		if got, want := m.requests[1].Messages[0].Text(), fmt.Sprint("weather", len(cities), `{"city":7}`); got != want {
			t.Errorf("request %q, want %q", got, want)
		}
	}
}

// A separate model without a name is called without a name.
func TestRepairUnnamedModel(t *testing.T) {
	repairer := fake.NewModel(fake.Response{Text: `{"city":"Bern"}`})
	cfg := loop.Config{Model: "own", Tools: []loop.Tool{weather(t)}, Middleware: []loop.Middleware{middleware.Repair{Model: repairer}.Middleware()}}
	agent, err := loop.New(fake.NewModel(badCall("weather", `[]`), fake.Response{Text: "done"}), &cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := agent.Run(t.Context(), loop.Prompt("go")); err != nil || repairer.RecordedRequests()[0].Request.Model != "" {
		t.Errorf("got %+v, %v", repairer.RecordedRequests(), err)
	}
}

// If Permissions comes before Repair, a repaired call is not run. After Repair it gets the
// repaired call. A person gets it in either order.
func TestRepairAndGates(t *testing.T) {
	asked := 0
	policy := middleware.PermissionPolicy(func(_ context.Context, req middleware.PermissionRequest) (middleware.Permission, error) {
		asked++
		return middleware.Permission{Allow: req.Tool != "weather", Reason: "not there"}, nil
	})
	person, err := middleware.HumanInTheLoop(func(context.Context, middleware.ApprovalRequest) (middleware.Approval, error) {
		asked++
		return middleware.Approval{Decision: middleware.Reject, Reason: "not there"}, nil
	}, map[string]middleware.ApprovalRule{"weather": {}})
	if err != nil {
		t.Fatal(err)
	}
	unchecked := "not run: the call was mended after it could have been asked about"
	for _, c := range []struct {
		name  string
		gate  loop.Middleware
		first bool // the gate comes before Repair
		asked int
		want  string
	}{
		{"permissions", middleware.Permissions(policy, nil), false, 1, "not there"},
		{"permissions before", middleware.Permissions(policy, nil), true, 0, unchecked},
		{"a person", person, false, 1, "not run: the user rejected the call: not there"},
		{"a person before", person, true, 1, "not run: the user rejected the call: not there"},
	} {
		asked = 0
		repairer := &fake.Model{Responses: []fake.Response{{Text: `{"city":"Bern"}`}}}
		list := []loop.Middleware{middleware.Repair{Model: repairer}.Middleware(), c.gate}
		if c.first {
			list[0], list[1] = list[1], list[0]
		}
		ran := 0
		w := weather(t)
		w.Run = func(context.Context, loop.Call) (loop.Output, error) { ran++; return loop.TextOutput("rain"), nil }
		o := play(t.Context(), t, loop.Config{Tools: []loop.Tool{w, tool}, Middleware: list}, loop.Prompt("go"),
			badCall("weather", `{"town":"Bern"}`), fake.Response{Calls: []fake.Call{{ID: "c2", Name: "a", Arguments: "{}"}}}, fake.Response{Text: "done"})
		if o.err != nil {
			t.Fatal(o.err)
		}
		res := o.res.Steps[0].Results[0]
		if ran != 0 || !res.IsError || res.Text() != c.want || len(repairer.RecordedRequests()) != 1 {
			t.Errorf("%s: the tool ran %d times, the result is %q, want %q", c.name, ran, res.Text(), c.want)
		}
		if o.res.Steps[1].Results[0].IsError {
			t.Errorf("%s: the call of the next step: %q", c.name, o.res.Steps[1].Results[0].Text())
		}
		if c.gate.Name == "permissions" {
			c.asked++ // for the call of the next step
		}
		if asked != c.asked {
			t.Errorf("%s: got %d requests, want %d", c.name, asked, c.asked)
		}
	}
}
