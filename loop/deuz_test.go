package loop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/preset/deuz"
	"github.com/looptape/looptape/loop/scenario"
	"github.com/looptape/looptape/trace"
)

// deuzTests show what a trace cannot show of rows of the contract; which rows are shown
// by what is in testdata/contracts/DZ.tsv.
var deuzTests = []struct {
	id   string
	test func(*testing.T)
}{
	{"DZ-01", testDeuzNoTools},
	{"DZ-02", testDeuzTwins},
	{"DZ-08", testDeuzPredicateInput},
	{"DZ-09", testDeuzPredicateCalls},
	{"DZ-10", testDeuzPredicateForms},
	{"DZ-11", testDeuzConcurrency},
	{"DZ-12", testDeuzOnStep},
	{"DZ-13", testDeuzSteps},
	{"DZ-14", testDeuzSteps},
	{"DZ-15", testDeuzText},
	{"DZ-16", testDeuzReasoning},
	{"DZ-17", testDeuzSteps},
	{"DZ-18", testDeuzResults},
	{"DZ-19", testDeuzResults},
	{"DZ-21", testDeuzFinishReasons},
	{"DZ-22", testDeuzMessages},
	{"DZ-23", testDeuzMessages},
	{"DZ-24", testDeuzPending},
	{"DZ-31", testDeuzTextStream},
	{"DZ-32", testDeuzStreamFails},
	{"DZ-34", testDeuzListsAreSeparate},
	{"DZ-45", testDeuzPending},
	{"DZ-47", testDeuzResume},
	{"DZ-48", testDeuzChain},
	{"DZ-49", testDeuzAwaitables},
}

func TestDeuzContract(t *testing.T) {
	for _, row := range deuzTests {
		t.Run(row.id, row.test)
	}
}

func testDeuzNoTools(t *testing.T) {
	m := model(calls("x"), text("b"))
	res, _ := mustRun(t, m, deuz.Fill(loop.Config{MaxSteps: 5}))
	if len(m.RecordedRequests()) != 1 || res.Steps != nil || len(res.Pending) != 1 {
		t.Errorf("got %d requests, steps %+v, pending %+v", len(m.RecordedRequests()), res.Steps, res.Pending)
	}
}

// The variants of every scenario: streaming, non-streaming and other chunks have the same
// messages, usage and stop reason.
func testDeuzTwins(t *testing.T) {
	for _, path := range scenarioFiles(t) {
		f := parse(t, path)
		if f.Script.StopAfter > 0 || f.Script.Cancel != nil && f.Script.Cancel.AfterEvents > 0 {
			continue // counted in events, whose number differs in a non-streaming run
		}
		if name := id(path); name == "AL-34" || name == "AL-37" {
			continue // the order of the ends of its calls, which a non-streaming response does not have
		}
		want := play(t, f.Script, nil)
		for name, opts := range map[string]*scenario.Options{
			"non-streaming": {Adjust: func(c *loop.Config) { c.ResponseMode = llm.NonStreaming }},
			"streamed":      {Adjust: func(c *loop.Config) { c.ResponseMode = llm.Streaming }},
			"chunks":        {Chunk: 1},
			"seed":          {Seed: 7},
		} {
			got, err := scenario.Run(t.Context(), f.Script, opts)
			if err != nil {
				t.Errorf("%s, %s: %v", path, name, err)
				continue
			}
			if diff := cmp.Diff(twin(want), twin(got)); diff != "" {
				t.Errorf("%s, %s (-as written +as %s):\n%s", path, name, name, diff)
			}
		}
	}
}

// twin returns the values that must not depend on the response mode.
func twin(o *scenario.Result) string {
	r := o.Run
	b, err := json.Marshal(struct {
		Messages []llm.Message
		Usage    llm.Usage
		Stop     trace.Reason
		Finish   llm.FinishReason
		Pending  int
		Calls    int
		Steps    []*loop.Step
		Err      string
	}{r.Messages, r.Usage, r.StopReason, r.FinishReason, len(r.Pending), r.ModelCalls, r.Steps, fmt.Sprint(o.Err)})
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func testDeuzPredicateInput(t *testing.T) {
	var seen []string
	spy := func(_ context.Context, s *loop.StepInfo) (bool, error) {
		all := fmt.Sprint("after ", s.Step, ":")
		for _, step := range s.Steps {
			all += fmt.Sprintf(" %d %s=%s", step.Index, step.Calls[0].Name, step.Results[0].Text())
		}
		seen = append(seen, all)
		return false, nil
	}
	mustRun(t, model(calls("a#1"), calls("b#2"), calls("a#3"), text("x")), deuz.Fill(loop.Config{MaxSteps: 9, Tools: []loop.Tool{echo("a"), echo("b")}, StopWhen: []loop.StopCondition{{Stop: spy}}}))
	if diff := cmp.Diff([]string{"after 0: 0 a={}", "after 1: 0 a={} 1 b={}", "after 2: 0 a={} 1 b={} 2 a={}"}, seen); diff != "" {
		t.Errorf("arguments of the predicate (-want +got):\n%s", diff)
	}
	testDeuzPredicateWaits(t)
}

// A predicate may wait. No model call is made meanwhile.
func testDeuzPredicateWaits(t *testing.T) {
	clock := fake.NewClock()
	begun := clock.Now()
	m := &fake.Model{Clock: clock, Responses: []fake.Response{calls("a#1"), calls("a#2"), text("x")}}
	var waited []string
	wait := func(ctx context.Context, s *loop.StepInfo) (bool, error) {
		before := len(m.RecordedRequests())
		err := clock.Sleep(ctx, 30*time.Millisecond)
		waited = append(waited, fmt.Sprint(before, " ", len(m.RecordedRequests()), " at ", clock.Now().Sub(begun)))
		return len(s.Steps) == 2, err
	}
	res, _ := mustRun(t, m, deuz.Fill(loop.Config{MaxSteps: 9, Clock: clock, Tools: []loop.Tool{echo("a")}, StopWhen: []loop.StopCondition{{Stop: wait}}}))
	if diff := cmp.Diff([]string{"1 1 at 30ms", "2 2 at 60ms"}, waited); diff != "" || res.ModelCalls != 2 || res.StopReason != trace.ReasonStopCondition {
		t.Errorf("%d model calls, stopped by %s; model calls before and after the wait (-want +got):\n%s", res.ModelCalls, res.StopReason, diff)
	}
}

// The inline forms of the document give the same trace as the factories.
func testDeuzPredicateForms(t *testing.T) {
	inline := func(name string, stop func(steps []*loop.Step) bool) loop.StopCondition {
		return loop.StopCondition{Name: name, Stop: func(_ context.Context, s *loop.StepInfo) (bool, error) { return stop(s.Steps), nil }}
	}
	finalize := inline("has_tool_call:finalize", func(steps []*loop.Step) bool {
		return slices.ContainsFunc(steps[len(steps)-1].Calls, func(c llm.ToolCall) bool { return c.Name == "finalize" })
	})
	three := inline("step_count:3", func(steps []*loop.Step) bool { return len(steps) >= 3 })
	for name, c := range map[string]struct {
		responses []fake.Response
		calls     int
	}{
		"finalize": {[]fake.Response{calls("a#1"), calls("finalize#2"), text("never")}, 2},
		"three":    {[]fake.Response{calls("a#1"), calls("a#2"), calls("a#3"), text("never")}, 3},
		"neither":  {[]fake.Response{calls("a#1"), text("x")}, 2},
	} {
		play := func(conditions ...loop.StopCondition) string {
			m := model(c.responses...)
			res, events := mustRun(t, m, deuz.Fill(loop.Config{MaxSteps: 10, Tools: []loop.Tool{echo("a"), echo("finalize")}, StopWhen: conditions}))
			if last := res.Steps[len(res.Steps)-1]; len(m.RecordedRequests()) != c.calls || len(last.Results) != len(last.Calls) {
				t.Errorf("%s: got %d model calls, want %d; the last step has %d results", name, len(m.RecordedRequests()), c.calls, len(last.Results))
			}
			return trace.FormatText(trace.Canonical(events))
		}
		if diff := cmp.Diff(play(loop.HasToolCall("finalize"), loop.StepCountIs(3)), play(finalize, three)); diff != "" {
			t.Errorf("%s: the traces of both forms (-factories +inline):\n%s", name, diff)
		}
	}
}

// Returned lists have no spare capacity. An append to one of them, or to the input, changes no
// other one.
func testDeuzListsAreSeparate(t *testing.T) {
	client, err := loop.ClientTool("client", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	mixed := calls("a#5", "client#6", "b#7")
	mixed.Text, mixed.Reasoning = "so", "hm"
	executed := llm.ToolResult{ID: "nobody's", Content: []llm.Part{llm.Text{Text: "dropped"}}}
	around := fake.Response{Events: []llm.Event{
		llm.PartDone{Part: llm.ToolCall{ID: "8", Name: "a", Arguments: "{}"}}, llm.PartDone{Part: executed}, llm.TextDelta{Text: "after"}, llm.Finish{Reason: llm.FinishToolCalls},
	}}
	m := model(calls("a#1", "b#2"), calls("b#3", "ghost#4"), around, mixed)
	var stepped []loop.Step
	var conditioned [][]*loop.Step
	never := loop.StopCondition{Stop: func(_ context.Context, s *loop.StepInfo) (bool, error) {
		conditioned = append(conditioned, s.Steps)
		return false, nil
	}}
	cfg := deuz.Fill(loop.Config{MaxSteps: 9, ClientCalls: loop.ClientRest, StopWhen: []loop.StopCondition{never}, Tools: []loop.Tool{echo("a"), echo("b"), client}, OnStep: func(s loop.Step) { stepped = append(stepped, s) }})
	input := []llm.Message{llm.User("go")}
	var sent []*llm.Request // as the model gets them, not the copies of the fake model
	seen := llm.ModelFunc(func(ctx context.Context, r *llm.Request) iter.Seq2[llm.Event, error] {
		sent = append(sent, r)
		return m.Stream(ctx, r)
	})
	res, err := newAgent(t, seen, cfg).Run(t.Context(), loop.Input{Messages: slices.Grow(input, 10)})
	if err != nil {
		t.Fatal(err)
	}
	lists := map[string]func() any{} // the current value of each list
	appends := map[string]func(){}
	list := func(name string, length, capacity int, value func() any, grow func()) {
		if length != capacity {
			t.Errorf("%s has %d elements and the capacity %d", name, length, capacity)
		}
		lists[name], appends[name] = value, grow
	}
	messages := func(name string, l []llm.Message) {
		list(name, len(l), cap(l), func() any { return l }, func() { _ = append(l, llm.User("appended")) })
		for i, m := range l {
			list(fmt.Sprint(name, " ", i), len(m.Parts), cap(m.Parts), func() any { return m }, func() { _ = append(m.Parts, llm.Part(llm.Text{Text: "appended"})) })
		}
	}
	results := func(name string, l []llm.ToolResult) {
		list(name, len(l), cap(l), func() any { return l }, func() { _ = append(l, llm.ToolResult{ID: "appended"}) })
	}
	toolCalls := func(name string, l []llm.ToolCall) {
		list(name, len(l), cap(l), func() any { return l }, func() { _ = append(l, llm.ToolCall{ID: "appended"}) })
	}
	for i, r := range sent {
		messages(fmt.Sprint("request ", i), r.Messages)
	}
	steps := func(name string, s *loop.Step) {
		messages(name+" messages", s.Messages)
		results(name+" results", s.Results)
		toolCalls(name+" calls", s.Calls)
	}
	for i, l := range conditioned {
		list(fmt.Sprint("the steps of stop condition ", i), len(l), cap(l), func() any { return l }, func() { _ = append(l, &loop.Step{Text: "appended"}) })
	}
	list("the steps", len(res.Steps), cap(res.Steps), func() any { return res.Steps }, func() { _ = append(res.Steps, &loop.Step{Text: "appended"}) })
	for i, s := range res.Steps {
		steps(fmt.Sprint("step ", i), s)
		steps(fmt.Sprint("the callback's step ", i), &stepped[i])
	}
	messages("the result", res.Messages)
	toolCalls("pending", res.Pending)
	lists["the input"] = func() any { return input }
	appends["the input"] = func() { _ = append(input, llm.User("appended")) }
	whole := func() string {
		b, err := json.Marshal(callAll(lists))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	before := whole()
	for name, grow := range appends {
		grow()
		if whole() != before {
			t.Fatalf("an append to %s has changed another list", name)
		}
	}
	if len(appends) < 30 {
		t.Errorf("compared %d lists", len(appends))
	}
}

// callAll returns the values of functions.
func callAll(functions map[string]func() any) map[string]any {
	out := map[string]any{}
	for name, f := range functions {
		out[name] = f()
	}
	return out
}

func testDeuzPredicateCalls(t *testing.T) {
	n := 0
	spy := func(context.Context, *loop.StepInfo) (bool, error) { n++; return false, nil }
	client, _ := loop.ClientTool("c", "", nil)
	cfg := deuz.Fill(loop.Config{MaxSteps: 9, Tools: []loop.Tool{echo("a"), client}, StopWhen: []loop.StopCondition{{Stop: spy}}})
	for want, m := range []*fake.Model{model(text("x")), model(calls("a"), text("x")), model(calls("a"), calls("b"), text("x"))} {
		n = 0
		if mustRun(t, m, cfg); n != want {
			t.Errorf("got %d evaluations, want %d", n, want)
		}
	}
	n = 0
	mustRun(t, model(calls("c")), cfg)
	if n != 0 {
		t.Errorf("evaluated when a client tool ended the run")
	}
}

func testDeuzConcurrency(t *testing.T) {
	for limit, want := range map[int]int{0: 5, 1: 1, 3: 3, loop.Unlimited: 100} {
		clock := fake.NewClock()
		tools := &fake.Tools{Clock: clock, List: []fake.Tool{{Name: "slow", Behavior: fake.Behavior{Delay: 1e6}}}}
		slow := loop.Tool{Name: "slow", Run: func(ctx context.Context, c loop.Call) (loop.Output, error) {
			parts, err := tools.Run(ctx, c.ID, c.Name, c.Arguments)
			return loop.Output{Content: parts}, err
		}}
		many := make([]string, 100)
		for i := range many {
			many[i] = fmt.Sprintf("slow#c%d", i)
		}
		mustRun(t, &fake.Model{Clock: clock, Responses: []fake.Response{calls("slow#first"), calls(many...)}}, deuz.Fill(loop.Config{Clock: clock, MaxSteps: 2, Concurrency: limit, Tools: []loop.Tool{slow}}))
		if got := tools.Peak(); got != want {
			t.Errorf("limit %d: got %d concurrent tools, want %d", limit, got, want)
		}
	}
}

func testDeuzOnStep(t *testing.T) {
	var got []string
	m := model(calls("a", "b"), text("x"))
	res, _ := mustRun(t, m, deuz.Fill(loop.Config{MaxSteps: 5, Tools: []loop.Tool{echo("a"), echo("b")},
		OnStep: func(s loop.Step) {
			got = append(got, fmt.Sprintf("%d after %d requests: %s %q, %d calls, %q, %d messages", s.Index, len(m.RecordedRequests()), s.Type, s.Text, len(s.Calls), resultTexts(s.Messages), len(s.Messages)))
			for i, r := range s.Results {
				got = append(got, s.Calls[i].Name+" "+r.Text())
			}
		}}))
	if diff := cmp.Diff([]string{`0 after 1 requests: initial "", 2 calls, ["{}" "{}"], 2 messages`, `a {}`, `b {}`, `1 after 2 requests: tool-result "x", 0 calls, [], 1 messages`}, got); diff != "" {
		t.Errorf("callbacks (-want +got):\n%s", diff)
	}
	client, _ := loop.ClientTool("c", "", nil)
	got = nil
	mustRun(t, model(calls("c")), deuz.Fill(loop.Config{Tools: []loop.Tool{client}, OnStep: func(s loop.Step) { got = append(got, s.Calls[0].Name) }}))
	if !slices.Equal(got, []string{"c"}) || len(res.Steps) != 2 {
		t.Errorf("a client tool's step: %q", got)
	}
}

func testDeuzSteps(t *testing.T) {
	responses := []fake.Response{calls("a#1"), calls("b#2"), text("y")}
	for i := range responses {
		responses[i].Usage = llm.Usage{InputTokens: int64(i + 1)}
	}
	res, _ := mustRun(t, model(responses...), deuz.Fill(loop.Config{MaxSteps: 5, Tools: []loop.Tool{echo("a"), echo("b")}}))
	call := func(id, name string) []llm.ToolCall { return []llm.ToolCall{{ID: id, Name: name, Arguments: "{}"}} }
	result := func(id, name string) []llm.ToolResult {
		return []llm.ToolResult{{ID: id, Name: name, Content: []llm.Part{llm.Text{Text: "{}"}}}}
	}
	want := []*loop.Step{
		{Index: 0, Type: "initial", Calls: call("1", "a"), Results: result("1", "a"), FinishReason: llm.FinishToolCalls, Usage: llm.Usage{InputTokens: 1}},
		{Index: 1, Type: "tool-result", Calls: call("2", "b"), Results: result("2", "b"), FinishReason: llm.FinishToolCalls, Usage: llm.Usage{InputTokens: 2}},
		{Index: 2, Type: "tool-result", Text: "y", FinishReason: llm.FinishStop, Usage: llm.Usage{InputTokens: 3}},
	}
	if diff := cmp.Diff(want, res.Steps, cmpopts.IgnoreUnexported(loop.Step{}), cmpopts.IgnoreFields(loop.Step{}, "Messages"), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	pause := fake.Response{Text: "x", FinishReason: llm.FinishPause}
	if res, _ := mustRun(t, model(pause, text("y")), deuz.Fill(loop.Config{MaxSteps: 5, Tools: []loop.Tool{echo("a")}})); res.Steps[1].Type != "tool-result" {
		t.Errorf("the step after one without results has the type %q", res.Steps[1].Type)
	}
}

// The step records and their JSON contain the finish reasons as reported, also if these contradict the responses.
func testDeuzFinishReasons(t *testing.T) {
	for _, reasons := range [][]llm.FinishReason{
		{llm.FinishStop, llm.FinishToolCalls}, {llm.FinishToolCalls, llm.FinishStop}, {llm.FinishContentFilter, llm.FinishLength}, {llm.FinishUnknown, llm.FinishRefusal},
	} {
		responses := []fake.Response{calls("a"), text("y")}
		for i := range responses {
			responses[i].FinishReason = reasons[i]
		}
		res, _ := mustRun(t, model(responses...), deuz.Fill(loop.Config{MaxSteps: 5, Tools: []loop.Tool{echo("a")}}))
		got := []llm.FinishReason{res.Steps[0].FinishReason, res.Steps[1].FinishReason}
		if diff := cmp.Diff(reasons, got); diff != "" || res.FinishReason != reasons[1] {
			t.Errorf("the finish reason of the run is %q; those of the steps (-want +got):\n%s", res.FinishReason, diff)
		}
		data, err := json.Marshal(&deuz.Result{Result: res})
		var record struct {
			Steps []struct{ FinishReason llm.FinishReason }
		}
		if err == nil {
			err = json.Unmarshal(data, &record)
		}
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range record.Steps {
			if s.FinishReason != reasons[i] {
				t.Errorf("step %d of the JSON has the finish reason %q, want %q", i, s.FinishReason, reasons[i])
			}
		}
	}
}

func testDeuzText(t *testing.T) {
	x := calls("a")
	x.Text = "x"
	res, _ := mustRun(t, model(x, text("y")), deuz.Fill(loop.Config{MaxSteps: 5, Tools: []loop.Tool{echo("a")}}))
	if res.Steps[0].Text != "x" || res.Steps[1].Text != "y" || res.Text != "y" {
		t.Errorf("got %+v", res)
	}
	res, _ = mustRun(t, model(x, text("y")), deuz.Fill(loop.Config{Tools: []loop.Tool{echo("a")}}))
	if res.Text != "x" {
		t.Errorf("at the step limit: got %q, want the last step's text", res.Text)
	}
}

func testDeuzReasoning(t *testing.T) {
	x := calls("a")
	x.Reasoning = "hm"
	res, _ := mustRun(t, model(x, text("y")), deuz.Fill(loop.Config{MaxSteps: 5, Tools: []loop.Tool{echo("a")}}))
	private := text("z")
	private.ReasoningOpaque = []byte(`{"signature":"s"}`)
	if res, _ := mustRun(t, model(private), deuz.Fill(loop.Config{Tools: []loop.Tool{echo("a")}})); !res.Steps[0].HasReasoning || res.Steps[0].Reasoning != "" {
		t.Errorf("reasoning without text: got %+v", res.Steps[0])
	}
	if s := res.Steps; s[0].Reasoning != "hm" || !s[0].HasReasoning || s[1].HasReasoning || s[1].Reasoning != "" {
		t.Errorf("got %+v", s)
	}
}

func testDeuzResults(t *testing.T) {
	bad := tool("bad", func(context.Context) (string, error) { return "", fmt.Errorf("no") })
	panics := tool("panics", func(context.Context) (string, error) { panic("no") })
	response := calls("bad", "a", "panics")
	response.Calls = append(response.Calls, fake.Call{ID: "invalid", Name: "a", Arguments: "{n}"})
	res, _ := mustRun(t, model(response), deuz.Fill(loop.Config{Tools: []loop.Tool{echo("a"), bad, panics}}))
	for i, r := range res.Steps[0].Results {
		c := res.Steps[0].Calls[i]
		if r.ID != c.ID || r.Name != c.Name || r.IsError != (c.Name != "a" || c.ID == "invalid") {
			t.Errorf("the result of %+v is %+v", c, r)
		}
	}
}

func testDeuzMessages(t *testing.T) {
	bad := tool("bad", func(context.Context) (string, error) { return "", fmt.Errorf("no") })
	if res, _ := mustRun(t, model(calls("bad")), deuz.Fill(loop.Config{Tools: []loop.Tool{bad}})); len(res.Steps[0].Messages) != 2 {
		t.Errorf("a step with a failed tool has %d messages, want 2", len(res.Steps[0].Messages))
	}
	history := []llm.Message{llm.User("1"), llm.Assistant(llm.Text{Text: "2"}), llm.User("3")}
	res, err := newAgent(t, model(calls("a", "b"), text("x")), deuz.Fill(loop.Config{MaxSteps: 5, Tools: []loop.Tool{echo("a"), echo("b")}})).Run(t.Context(), loop.Input{Messages: history})
	if err != nil {
		t.Fatal(err)
	}
	var roles []string
	for _, m := range res.Messages {
		roles = append(roles, fmt.Sprintf("%s/%d", m.Role, len(m.Parts)))
	}
	if diff := cmp.Diff([]string{"assistant/2", "tool/2", "assistant/1"}, roles); diff != "" {
		t.Errorf("the new messages (-want +got):\n%s", diff)
	}
	if len(res.Steps[0].Messages) != 2 || len(res.Steps[1].Messages) != 1 {
		t.Errorf("the steps' messages: %d and %d, want 2 and 1", len(res.Steps[0].Messages), len(res.Steps[1].Messages))
	}
}

func testDeuzPending(t *testing.T) {
	client, _ := loop.ClientTool("c", "", nil)
	res, events := mustRun(t, model(calls("c"), text("never")), deuz.Fill(loop.Config{MaxSteps: 5, Tools: []loop.Tool{client, echo("a")}}))
	if len(res.Pending) != 1 || res.Pending[0].Name != "c" || res.Steps[0].Results != nil || len(res.Messages) != 1 {
		t.Errorf("got %+v", res)
	}
	if len(of[trace.ToolStart](events))+len(of[trace.ToolEnd](events))+len(of[trace.ToolSkip](events)) != 0 {
		t.Errorf("events: %s", kinds(events))
	}
	var top struct{ ToolCalls []struct{ ToolName string } }
	if line, err := json.Marshal(&deuz.Result{Result: res}); err != nil || json.Unmarshal(line, &top) != nil || len(top.ToolCalls) != 1 || top.ToolCalls[0].ToolName != "c" {
		t.Errorf("the JSON of the result: %s, %v", line, err)
	}
	// A call of a client tool that cannot be handed over goes back to the model.
	res, _ = mustRun(t, model(calls(`c{"x"`), text("sorry")), deuz.Fill(loop.Config{MaxSteps: 5, Tools: []loop.Tool{client}}))
	if res.Text != "sorry" || res.Pending != nil {
		t.Errorf("a malformed call: %+v", res)
	}
}

func testDeuzResume(t *testing.T) {
	client, _ := loop.ClientTool("c", "", nil)
	a := newAgent(t, model(calls("c"), text("done")), deuz.Fill(loop.Config{MaxSteps: 5, Tools: []loop.Tool{client}}))
	first, err := a.Run(t.Context(), loop.Prompt("go"))
	if err != nil {
		t.Fatal(err)
	}
	history := slices.Concat([]llm.Message{llm.User("go")}, first.Messages)
	answer := llm.ToolResults(llm.ToolResult{ID: first.Pending[0].ID, Name: "c", Content: []llm.Part{llm.Text{Text: "yes"}}})
	second, err := a.Run(t.Context(), loop.Continue(history, answer))
	if err != nil || second.Text != "done" || second.Steps[0].Type != "initial" || second.Steps[0].Index != 0 {
		t.Errorf("got %+v, %v", second, err)
	}
	// The counter of the runaway guard begins again, too.
	bad := loop.Tool{Name: "bad", Run: func(context.Context, loop.Call) (loop.Output, error) { return loop.Output{}, errors.New("no") }}
	a = newAgent(t, model(calls("bad"), calls("bad"), calls("c"), calls("bad"), text("done")), deuz.Fill(loop.Config{MaxSteps: 5, Tools: []loop.Tool{client, bad}}))
	first, err = a.Run(t.Context(), loop.Prompt("go"))
	if err != nil || len(first.Pending) != 1 {
		t.Fatalf("got %+v, %v", first, err)
	}
	history = slices.Concat([]llm.Message{llm.User("go")}, first.Messages)
	answer = llm.ToolResults(llm.ToolResult{ID: first.Pending[0].ID, Name: "c", Content: []llm.Part{llm.Text{Text: "yes"}}})
	if second, err = a.Run(t.Context(), loop.Continue(history, answer)); err != nil || second.Text != "done" {
		t.Errorf("after two failures in the run before: got %+v, %v", second, err)
	}
}

func testDeuzChain(t *testing.T) {
	m := model(calls("a"), text("one"), text("two"))
	a := newAgent(t, m, deuz.Fill(loop.Config{MaxSteps: 5, Tools: []loop.Tool{echo("a")}}))
	history := []llm.Message{llm.User("first")}
	res, err := a.Run(t.Context(), loop.Input{Messages: history})
	if err != nil {
		t.Fatal(err)
	}
	history = slices.Concat(history, res.Messages, []llm.Message{llm.User("second")})
	if _, err := a.Run(t.Context(), loop.Input{Messages: history}); err != nil {
		t.Fatal(err)
	}
	last, next := m.RecordedRequests()[1].Request.Messages, m.RecordedRequests()[2].Request.Messages
	if diff := cmp.Diff(last, next[:len(last)]); diff != "" || len(next) != len(last)+2 {
		t.Errorf("the second run does not continue from the first's last request (-want +got):\n%s", diff)
	}
}

func testDeuzTextStream(t *testing.T) {
	x := calls("a")
	x.Text, x.Reasoning = "a", "hm"
	s := deuz.StreamChat(t.Context(), deuz.Options{Model: model(x, text("b")), Messages: []llm.Message{llm.User("go")}, Loop: loop.Config{MaxSteps: 5, Tools: []loop.Tool{echo("a")}}})
	if got := slices.Collect(s.Text()); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("got %q", got)
	}
}

func testDeuzStreamFails(t *testing.T) {
	s := deuz.StreamChat(t.Context(), deuz.Options{Model: model(fake.Response{Error: &fake.Failure{Status: 500, Message: "boom"}}), Messages: []llm.Message{llm.User("go")}, Loop: loop.Config{}})
	var types []string
	for p := range s.Full() {
		types = append(types, p.Type)
	}
	if diff := cmp.Diff([]string{"step-start", "error"}, types); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
	if _, err := s.Usage(); err == nil || !strings.Contains(err.Error(), "boom") {
		t.Errorf("usage: got %v", err)
	}
	if _, err := s.FinishReason(); err == nil {
		t.Error("finish reason: got no error")
	}
}

// The handle has the usage and the reason, whether or not the parts are read.
func testDeuzAwaitables(t *testing.T) {
	one, two := calls("a"), text("x")
	one.Usage, two.Usage = llm.Usage{InputTokens: 10, OutputTokens: 5, ReasoningOutputTokens: 2}, llm.Usage{InputTokens: 20, OutputTokens: 7, CacheReadInputTokens: 4, ReasoningOutputTokens: 1}
	sum := llm.Usage{InputTokens: 30, OutputTokens: 12, CacheReadInputTokens: 4, ReasoningOutputTokens: 3}
	for _, read := range []bool{false, true} {
		s := deuz.StreamChat(t.Context(), deuz.Options{Model: model(one, two), Messages: []llm.Message{llm.User("go")}, Loop: loop.Config{MaxSteps: 5, Tools: []loop.Tool{echo("a")}}})
		var wg sync.WaitGroup
		if read {
			wg.Go(func() {
				for p := range s.Full() {
					if p.Type == "finish" && p.Usage != sum {
						t.Errorf("the finish part has usage %+v", p.Usage)
					}
				}
			})
		}
		usage, err := s.Usage()
		reason, err2 := s.FinishReason()
		wg.Wait()
		if err != nil || err2 != nil || usage != sum || reason != llm.FinishStop {
			t.Errorf("read=%v: got %+v, %q, %v, %v", read, usage, reason, err, err2)
		}
	}
}
