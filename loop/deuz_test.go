package loop_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

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
	{"DZ-11", testDeuzConcurrency},
	{"DZ-12", testDeuzOnStep},
	{"DZ-13", testDeuzSteps},
	{"DZ-14", testDeuzSteps},
	{"DZ-15", testDeuzText},
	{"DZ-16", testDeuzReasoning},
	{"DZ-17", testDeuzSteps},
	{"DZ-18", testDeuzResults},
	{"DZ-19", testDeuzResults},
	{"DZ-22", testDeuzMessages},
	{"DZ-23", testDeuzMessages},
	{"DZ-24", testDeuzPending},
	{"DZ-31", testDeuzTextStream},
	{"DZ-32", testDeuzStreamFails},
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
		Err      string
	}{r.Messages, r.Usage, r.StopReason, r.FinishReason, len(r.Pending), r.ModelCalls, fmt.Sprint(o.Err)})
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func testDeuzPredicateInput(t *testing.T) {
	var seen []string
	spy := func(_ context.Context, s *loop.StepInfo) (bool, error) {
		last := s.Steps[len(s.Steps)-1]
		seen = append(seen, fmt.Sprintf("%d steps, count %d, last %s=%s", len(s.Steps), len(s.Steps), last.Calls[0].Name, last.Results[0].Text()))
		return false, nil
	}
	mustRun(t, model(calls("a#1"), calls("b#2"), text("x")), deuz.Fill(loop.Config{MaxSteps: 9, Tools: []loop.Tool{echo("a"), echo("b")}, StopWhen: []loop.StopCondition{{Stop: spy}}}))
	if diff := cmp.Diff([]string{"1 steps, count 1, last a={}", "2 steps, count 2, last b={}"}, seen); diff != "" {
		t.Errorf("arguments of the predicate (-want +got):\n%s", diff)
	}
}

func testDeuzPredicateCalls(t *testing.T) {
	n := 0
	spy := func(context.Context, *loop.StepInfo) (bool, error) { n++; return false, nil }
	client, _ := loop.ClientTool("c", "", nil)
	cfg := deuz.Fill(loop.Config{MaxSteps: 9, Tools: []loop.Tool{echo("a"), client}, StopWhen: []loop.StopCondition{{Stop: spy}}})
	mustRun(t, model(calls("a"), text("x")), cfg)
	if n != 1 {
		t.Errorf("got %d evaluations, want 1", n)
	}
	mustRun(t, model(calls("c")), cfg)
	if n != 1 {
		t.Errorf("evaluated when a client tool ended the run")
	}
}

func testDeuzConcurrency(t *testing.T) {
	for limit, want := range map[int]int{0: 5, 1: 1, 3: 3, loop.Unlimited: 8} {
		clock := fake.NewClock()
		tools := &fake.Tools{Clock: clock, List: []fake.Tool{{Name: "slow", Behavior: fake.Behavior{Delay: 1e6}}}}
		slow := loop.Tool{Name: "slow", Run: func(ctx context.Context, c loop.Call) (loop.Output, error) {
			parts, err := tools.Run(ctx, c.ID, c.Name, c.Arguments)
			return loop.Output{Content: parts}, err
		}}
		many := make([]string, 8)
		for i := range many {
			many[i] = fmt.Sprintf("slow#c%d", i)
		}
		mustRun(t, &fake.Model{Clock: clock, Responses: []fake.Response{calls(many...)}}, deuz.Fill(loop.Config{Clock: clock, Concurrency: limit, Tools: []loop.Tool{slow}}))
		if got := tools.Peak(); got != want {
			t.Errorf("limit %d: got %d concurrent tools, want %d", limit, got, want)
		}
	}
}

func testDeuzOnStep(t *testing.T) {
	var got []string
	res, _ := mustRun(t, model(calls("a"), text("x")), deuz.Fill(loop.Config{MaxSteps: 5, Tools: []loop.Tool{echo("a")},
		OnStep: func(s loop.Step) {
			got = append(got, fmt.Sprintf("%d %s %q, %d calls, %q, %d messages", s.Index, s.Type, s.Text, len(s.Calls), resultTexts(s.Messages), len(s.Messages)))
			for i, r := range s.Results {
				got = append(got, s.Calls[i].Name+" "+r.Text())
			}
		}}))
	if diff := cmp.Diff([]string{`0 initial "", 1 calls, ["{}"], 2 messages`, `a {}`, `1 tool-result "x", 0 calls, [], 1 messages`}, got); diff != "" {
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
	if s := res.Steps; s[0].Reasoning != "hm" || !s[0].HasReasoning || s[1].HasReasoning || s[1].Reasoning != "" {
		t.Errorf("got %+v", s)
	}
}

func testDeuzResults(t *testing.T) {
	bad := tool("bad", func(context.Context) (string, error) { return "", fmt.Errorf("no") })
	res, _ := mustRun(t, model(calls("bad", "a")), deuz.Fill(loop.Config{Tools: []loop.Tool{echo("a"), bad}}))
	for i, r := range res.Steps[0].Results {
		c := res.Steps[0].Calls[i]
		if r.ID != c.ID || r.Name != c.Name || r.IsError != (c.Name == "bad") {
			t.Errorf("the result of %+v is %+v", c, r)
		}
	}
}

func testDeuzMessages(t *testing.T) {
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
	s := deuz.NewStream(newAgent(t, model(x, text("b")), deuz.Fill(loop.Config{MaxSteps: 5, Tools: []loop.Tool{echo("a")}})).Start(t.Context(), loop.Prompt("go")))
	if got := slices.Collect(s.Text()); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("got %q", got)
	}
}

func testDeuzStreamFails(t *testing.T) {
	s := deuz.NewStream(newAgent(t, model(fake.Response{Error: &fake.Failure{Status: 500, Message: "boom"}}), deuz.Fill(loop.Config{})).Start(t.Context(), loop.Prompt("go")))
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
	one.Usage, two.Usage = llm.Usage{InputTokens: 10, OutputTokens: 5}, llm.Usage{InputTokens: 20, OutputTokens: 7}
	for _, read := range []bool{false, true} {
		s := deuz.NewStream(newAgent(t, model(one, two), deuz.Fill(loop.Config{MaxSteps: 5, Tools: []loop.Tool{echo("a")}})).Start(t.Context(), loop.Prompt("go")))
		var wg sync.WaitGroup
		if read {
			wg.Go(func() {
				for p := range s.Full() {
					if p.Type == "finish" && (p.Usage != llm.Usage{InputTokens: 30, OutputTokens: 12}) {
						t.Errorf("the finish part has usage %+v", p.Usage)
					}
				}
			})
		}
		usage, err := s.Usage()
		reason, err2 := s.FinishReason()
		wg.Wait()
		if err != nil || err2 != nil || usage != (llm.Usage{InputTokens: 30, OutputTokens: 12}) || reason != llm.FinishStop {
			t.Errorf("read=%v: got %+v, %q, %v, %v", read, usage, reason, err, err2)
		}
	}
}
