package agentier_test

import (
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop/preset/agentier"
	"github.com/looptape/looptape/trace"
)

// The JSON of each callback has exactly its own members.
func TestPartJSON(t *testing.T) {
	result := func(text string) llm.ToolResult {
		return llm.ToolResult{ID: "c1", Name: "a", Content: []llm.Part{llm.Text{Text: text}}}
	}
	res := &agentier.Result{
		Output: "<hi>", Messages: []llm.Message{llm.User("go")}, Stop: trace.ReasonMaxSteps,
		ToolCalls: []agentier.ToolCall{{ID: "c1", Name: "a", Args: json.RawMessage(`{"x":1}`), Result: result("A"), Value: 7, Duration: 1500 * time.Microsecond}},
		Usage:     agentier.Usage{Usage: llm.Usage{InputTokens: 10, OutputTokens: 5, CacheReadInputTokens: 3}, Iterations: 2}, Duration: 2 * time.Second,
	}
	const end = `,"messages":[{"role":"user","parts":[{"type":"text","text":"go"}]}],"toolCalls":[{"name":"a","args":{"x":1},"result":7,"duration":1.5}],` +
		`"usage":{"totalTokens":15,"inputTokens":10,"outputTokens":5,"iterations":2},"duration":2000}}`
	none := &agentier.Result{Messages: res.Messages}
	typed := *res
	typed.Value = json.RawMessage(`{"n":1}`)
	boom := errors.New("boom")
	for _, c := range []struct {
		part agentier.Part
		want string
	}{
		{agentier.Part{Type: "onToken", Token: "<a>"}, `{"callback":"onToken","token":"<a>"}`},
		{agentier.Part{Type: "onToolCall", Name: "a", Args: json.RawMessage(`{"x":1}`)}, `{"callback":"onToolCall","name":"a","args":{"x":1}}`},
		{agentier.Part{Type: "onToolResult", Name: "a", Value: map[string]int{"y": 2}, Result: result("?")}, `{"callback":"onToolResult","name":"a","result":{"y":2}}`},
		{agentier.Part{Type: "onToolResult", Name: "a", Value: `{"y":2}`}, `{"callback":"onToolResult","name":"a","result":"{\"y\":2}"}`},
		{agentier.Part{Type: "onToolResult", Name: "a", Value: ""}, `{"callback":"onToolResult","name":"a","result":""}`},
		{agentier.Part{Type: "onComplete", Complete: res}, `{"callback":"onComplete","result":{"output":"<hi>"` + end},
		{agentier.Part{Type: "onComplete", Complete: &typed}, `{"callback":"onComplete","result":{"output":{"n":1}` + end},
		{agentier.Part{Type: "onComplete", Complete: none}, `{"callback":"onComplete","result":{"output":"","messages":[{"role":"user","parts":[{"type":"text","text":"go"}]}],"toolCalls":[],` +
			`"usage":{"totalTokens":0,"inputTokens":0,"outputTokens":0,"iterations":0},"duration":0}}`},
		{agentier.Part{Type: "onError", Err: &agentier.Error{Code: "MODEL_ERROR", Err: boom}}, `{"callback":"onError","code":"MODEL_ERROR","message":"boom"}`},
		{agentier.Part{Type: "onError", Err: boom}, `{"callback":"onError","message":"boom"}`},
	} {
		got, err := c.part.MarshalJSON()
		if diff := cmp.Diff(c.want, string(got)); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", c.part.Type, err, diff)
		}
	}
	broken := *res
	broken.ToolCalls = []agentier.ToolCall{{Args: json.RawMessage("{")}}
	if _, err := broken.MarshalJSON(); err == nil {
		t.Error("arguments that are not JSON: got no error")
	}
}

// recorded returns the events of a recorded trace, which yields no errors.
func recorded(events ...trace.Event) iter.Seq2[trace.Event, error] {
	return func(yield func(trace.Event, error) bool) {
		for _, ev := range events {
			if !yield(ev, nil) {
				return
			}
		}
	}
}

func lines(t *testing.T, events ...trace.Event) []string {
	t.Helper()
	var out []string
	for p := range agentier.Parts(recorded(events...)) {
		line, err := p.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(line))
	}
	return out
}

func at(ms int, step int, body trace.Body) trace.Event {
	return trace.Event{At: time.Duration(ms) * time.Millisecond, Step: step, Body: body}
}

// A recorded trace gives the same parts as the run. Model calls by middleware have no
// parts. The conversation is that of the last request.
func TestPartsOfATrace(t *testing.T) {
	answer := llm.Assistant(llm.Text{Text: "done"})
	summary := trace.Event{Purpose: trace.PurposeSummary, Step: 1}
	of := func(body trace.Body) trace.Event {
		ev := summary
		ev.Body = body
		return ev
	}
	got := lines(t,
		at(0, trace.NoStep, trace.RunStart{}),
		at(0, 0, trace.ModelRequest{NewMessages: []llm.Message{llm.User("one"), llm.User("two")}}),
		at(0, 0, trace.ModelDelta{Type: trace.DeltaReasoning, Text: "hm"}),
		at(0, 0, trace.ModelResponse{Message: llm.Assistant(llm.ToolCall{ID: "c1", Name: "a"})}),
		at(1, 0, trace.Decision{Action: trace.Continue, Reason: trace.ReasonToolCalls}),
		at(1, 0, trace.ToolStart{ToolCallID: "c1", Name: "a"}),
		at(3, 0, trace.ToolEnd{ToolCallID: "c1", Result: llm.ToolResult{ID: "c1", Name: "a"}}),
		of(trace.ModelRequest{NewMessages: []llm.Message{llm.User("sum up")}}),
		of(trace.ModelDelta{Type: trace.DeltaText, Text: "short"}),
		of(trace.ModelResponse{Message: llm.Assistant(llm.Text{Text: "short"})}),
		at(4, 1, trace.ModelRequest{PrefixMessages: 1, NewMessages: []llm.Message{llm.User("three")}}),
		at(5, 1, trace.ModelDelta{Type: trace.DeltaText, Text: "done"}),
		at(5, 1, trace.ModelResponse{Message: answer}),
		of(trace.ModelResponse{Message: llm.Assistant(llm.Text{Text: "good"})}),
		at(5, 1, trace.Decision{Action: trace.End, Reason: trace.ReasonEndTurn}),
		at(6, trace.NoStep, trace.RunEnd{StopReason: trace.ReasonEndTurn, Usage: llm.Usage{InputTokens: 3, OutputTokens: 4}, AppendedMessages: []llm.Message{answer}}),
	)
	want := []string{
		`{"callback":"onToolCall","name":"a","args":{}}`,
		`{"callback":"onToolResult","name":"a","result":""}`,
		`{"callback":"onToken","token":"done"}`,
		`{"callback":"onComplete","result":{"output":"done","messages":[{"role":"user","parts":[{"type":"text","text":"one"}]},` +
			`{"role":"user","parts":[{"type":"text","text":"three"}]},{"role":"assistant","parts":[{"type":"text","text":"done"}]}],` +
			`"toolCalls":[{"name":"a","args":{},"result":"","duration":2}],"usage":{"totalTokens":7,"inputTokens":3,"outputTokens":4,"iterations":2},"duration":6}}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
	n := 0
	for range agentier.Parts(recorded(at(0, 0, trace.RunStart{}), at(0, 0, trace.ModelDelta{Type: trace.DeltaText, Text: "x"}), at(0, 0, trace.RunEnd{}))) {
		n++
		break
	}
	if n != 1 {
		t.Errorf("got %d parts after the iteration stopped", n)
	}
}

// The schema of the answer is that of its requests, not of the repair of a call.
func TestPartsSchemaOfRepair(t *testing.T) {
	repair := at(0, 0, trace.ModelConfig{Settings: llm.Settings{OutputSchema: json.RawMessage(`{"type":"string"}`)}})
	repair.Purpose = trace.PurposeRepair
	got := lines(t,
		at(0, trace.NoStep, trace.RunStart{}),
		at(0, 0, trace.ModelConfig{Settings: llm.Settings{OutputSchema: json.RawMessage(`{"type":"object"}`)}}),
		repair,
		at(0, 0, trace.ModelResponse{Message: llm.Assistant(llm.Text{Text: `{"n":1}`})}),
		at(0, trace.NoStep, trace.RunEnd{StopReason: trace.ReasonEndTurn}),
	)
	if len(got) != 1 || !strings.Contains(got[0], `"output":{"n":1}`) {
		t.Errorf("the output is not the value of the schema: %s", got)
	}
}

// A failure in a recorded trace has the same code as in the run.
func TestFailuresOfATrace(t *testing.T) {
	end := at(0, trace.NoStep, trace.RunEnd{Error: &trace.Error{Message: "boom"}})
	for want, events := range map[string][]trace.Event{
		`{"callback":"onError","message":"boom"}`:                      {at(0, 0, trace.ModelError{}), at(0, 0, trace.ModelRetry{})},
		`{"callback":"onError","code":"MODEL_ERROR","message":"boom"}`: {at(0, 0, trace.ModelError{})},
		`{"callback":"onError","code":"ABORTED","message":"boom"}`:     {at(0, 0, trace.Canceled{Reason: "cancel"}), at(0, 0, trace.ModelError{})},
		`{"callback":"onError","code":"TIMEOUT","message":"boom"}`:     {at(0, 0, trace.ModelError{}), at(0, 0, trace.Canceled{Reason: "deadline"})},
		`{"callback":"onError","code":"OUTPUT_PARSE_ERROR","message":"boom"}`: {
			at(0, 0, trace.Decision{Action: trace.Continue, Reason: "output"}), at(0, 0, trace.Decision{Action: trace.Stop, Reason: "output"})},
	} {
		if diff := cmp.Diff([]string{want}, lines(t, append(events, end)...)); diff != "" {
			t.Errorf("parts (-want +got):\n%s", diff)
		}
	}
	again := lines(t, at(0, 0, trace.Decision{Action: trace.Continue, Reason: "output"}), end)
	if diff := cmp.Diff([]string{`{"callback":"onError","message":"boom"}`}, again); diff != "" {
		t.Errorf("a retry, then another failure (-want +got):\n%s", diff)
	}
}
