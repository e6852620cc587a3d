package deuz_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/preset/deuz"
	"github.com/looptape/looptape/trace"
)

// The JSON of each type of part has exactly its own members.
func TestPartJSON(t *testing.T) {
	u := llm.Usage{InputTokens: 10, OutputTokens: 5}
	for _, c := range []struct {
		part deuz.Part
		want string
	}{
		{deuz.Part{Type: "step-start", StepIndex: 0}, `{"type":"step-start","stepIndex":0}`},
		{deuz.Part{Type: "text-delta", Text: "<a>"}, `{"type":"text-delta","text":"<a>"}`},
		{deuz.Part{Type: "reasoning-delta", Text: "b"}, `{"type":"reasoning-delta","text":"b"}`},
		{deuz.Part{Type: "tool-call-delta", ToolCallID: "c1", Text: "{"}, `{"type":"tool-call-delta","toolCallId":"c1","argsTextDelta":"{"}`},
		{deuz.Part{Type: "step-finish", StepIndex: 2, FinishReason: "stop", Usage: u}, `{"type":"step-finish","stepIndex":2,"finishReason":"stop","usage":{"inputTokens":10,"outputTokens":5,"totalTokens":15}}`},
		{deuz.Part{Type: "tool-call", ToolCallID: "c1", ToolName: "a", Input: json.RawMessage(`{}`)}, `{"type":"tool-call","toolCallId":"c1","toolName":"a","input":{}}`},
		{deuz.Part{Type: "tool-result", ToolCallID: "c1", ToolName: "a", Output: json.RawMessage(`1`)}, `{"type":"tool-result","toolCallId":"c1","toolName":"a","output":1}`},
		{deuz.Part{Type: "tool-result", ToolCallID: "c1", ToolName: "a", Output: json.RawMessage(`"no"`), IsError: true}, `{"type":"tool-result","toolCallId":"c1","toolName":"a","output":"no","isError":true}`},
		{deuz.Part{Type: "finish", FinishReason: "length", Usage: u}, `{"type":"finish","usage":{"inputTokens":10,"outputTokens":5,"totalTokens":15},"finishReason":"length"}`},
		{deuz.Part{Type: "error", Err: errors.New("boom")}, `{"type":"error","error":"boom"}`},
	} {
		got, err := c.part.MarshalJSON()
		if diff := cmp.Diff(c.want, string(got)); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", c.part.Type, err, diff)
		}
	}
	if _, err := (deuz.Part{Type: "tool-call", Input: json.RawMessage(`{`)}).MarshalJSON(); err == nil {
		t.Error("an input that is not JSON: got no error")
	}
}

func seq(bodies ...trace.Body) iter.Seq2[trace.Event, error] {
	return func(yield func(trace.Event, error) bool) {
		for i, b := range bodies {
			if !yield(trace.Event{Seq: i, Body: b}, nil) {
				return
			}
		}
	}
}

// Arguments and results that are not JSON are JSON strings in the parts.
func TestPartsInvalidJSON(t *testing.T) {
	calls := llm.Assistant(llm.ToolCall{ID: "c1", Name: "a", Arguments: `{"x`}, llm.ToolCall{ID: "c2", Name: "a"})
	result := func(id, text string) llm.ToolResult {
		return llm.ToolResult{ID: id, Name: "a", Content: []llm.Part{llm.Text{Text: text}}}
	}
	var got []string
	for p := range deuz.Parts(seq(
		trace.StepStart{}, trace.ModelResponse{Message: calls}, trace.Decision{Action: trace.Continue, Reason: trace.ReasonToolCalls, ToolCalls: 2},
		trace.ToolEnd{ToolCallID: "c2", Result: result("c2", "")}, trace.ToolSkip{ToolCallID: "c1", Result: result("c1", "say \"no\"")},
		trace.RunEnd{Error: &trace.Error{Message: "boom"}},
	)) {
		line, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(line))
	}
	want := []string{
		`{"type":"step-start","stepIndex":0}`,
		`{"type":"step-finish","stepIndex":0,"finishReason":"","usage":{"inputTokens":0,"outputTokens":0,"totalTokens":0}}`,
		`{"type":"tool-call","toolCallId":"c1","toolName":"a","input":"{\"x"}`,
		`{"type":"tool-call","toolCallId":"c2","toolName":"a","input":{}}`,
		`{"type":"tool-result","toolCallId":"c1","toolName":"a","output":"say \"no\""}`,
		`{"type":"tool-result","toolCallId":"c2","toolName":"a","output":""}`,
		`{"type":"error","error":"boom"}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
}

// Calls appear when the loop has decided to run them or to return them to the caller.
func TestPartsPendingCalls(t *testing.T) {
	for _, cause := range []trace.Reason{trace.ReasonToolCalls, trace.ReasonClientTools} {
		n := 0
		turn := trace.ModelResponse{Message: llm.Assistant(llm.ToolCall{ID: "c1", Name: "a"}, llm.ToolCall{ID: "c2", Name: "a"})}
		for p := range deuz.Parts(seq(trace.StepStart{}, turn, trace.Decision{Action: trace.Stop, Reason: cause})) {
			if p.Type == "tool-call" {
				n++
			}
		}
		if n != 2 {
			t.Errorf("%s: got %d calls", cause, n)
		}
	}
}

// DZ-25: the parts of a resumed run begin with step-start and end with finish. Its results come in the order
// of the calls, before the first step or, without one, before the end.
func TestPartsResumedDZ25(t *testing.T) {
	result := func(id string) llm.ToolResult {
		return llm.ToolResult{ID: id, Name: "a", Content: []llm.Part{llm.Text{Text: id}}}
	}
	before := []llm.Message{llm.User("go"), llm.Assistant(llm.ToolCall{ID: "c1", Name: "a"}, llm.ToolCall{ID: "c2", Name: "a"})}
	after := append(before, llm.ToolResults(result("c1"), result("c2")))
	resumed := []trace.Body{trace.Resumed{Of: "r"}, trace.Decision{Action: trace.Continue, Reason: trace.ReasonToolCalls, ToolCalls: 2}, trace.ToolEnd{ToolCallID: "c2", Result: result("c2")}, trace.ToolEnd{ToolCallID: "c1", Result: result("c1")}}
	for want, rest := range map[string][]trace.Body{
		"step-start tool-result:c1 tool-result:c2 finish": {trace.RunEnd{AppendedMessages: after}},
		"step-start tool-result:c1 tool-result:c2 text-delta step-finish finish": {
			trace.StepStart{}, trace.ModelRequest{NewMessages: after}, trace.ModelDelta{Type: trace.DeltaText, Text: "x"}, trace.ModelResponse{Message: llm.Assistant(llm.Text{Text: "x"})},
			trace.Decision{Action: trace.End, Reason: trace.ReasonEndTurn}, trace.StepEnd{}, trace.RunEnd{},
		},
	} {
		var got []string
		for p := range deuz.Parts(seq(append(slices.Clip(resumed), rest...)...)) {
			if got = append(got, p.Type); p.ToolCallID != "" {
				got[len(got)-1] += ":" + p.ToolCallID
			}
		}
		if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
			t.Errorf("parts (-want +got):\n%s", diff)
		}
	}
}

// No part follows after the caller has stopped the iteration.
func TestPartsStopEarly(t *testing.T) {
	n := 0
	for range deuz.Parts(seq(trace.StepStart{}, trace.StepStart{})) {
		n++
		break
	}
	if n != 1 {
		t.Errorf("got %d parts, want 1", n)
	}
}

// DZ-13, DZ-17, DZ-19, DZ-27, DZ-28, DZ-35, DZ-37, DZ-39, DZ-51, DZ-56, DZ-57: each of two calls of a tool in a step has its
// arguments, its parts, its place in the record of the step and its result in the next request, in each step.
func TestEachCall(t *testing.T) {
	type in struct {
		ID string `json:"id"`
	}
	tool := func(name string) loop.Tool {
		tool, err := loop.NewTool(name, "", func(_ context.Context, arguments in) (string, error) {
			text := fmt.Sprintf(`{"id":%q}`, arguments.ID)
			if name == "bad" {
				return "", errors.New(text)
			}
			return text, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return tool
	}
	var turns []fake.Response
	var wantParts, wantRecord, wantResults []string
	for step := range 2 {
		var turn fake.Response
		var calls, after, results []string
		for _, name := range []string{"good", "bad"} {
			for n := range 2 {
				id := fmt.Sprint(step, name, n)
				arguments := fmt.Sprintf(`{"id":%q}`, id)
				turn.Calls = append(turn.Calls, fake.Call{ID: id, Name: name, Arguments: arguments})
				wantParts = append(wantParts, "tool-call-delta "+id+" "+arguments)
				calls = append(calls, "tool-call "+id+" "+name+" "+arguments)
				after = append(after, fmt.Sprintf("tool-result %s %s %q %t", id, name, arguments, name == "bad"))
				wantRecord = append(wantRecord, fmt.Sprintf("call %d %s %s %s", step, id, name, arguments))
				results = append(results, fmt.Sprintf("result %d %s %s %q %t", step, id, name, arguments, name == "bad"))
				wantResults = append(wantResults, fmt.Sprint(id, " ", arguments, " ", name == "bad"))
			}
		}
		wantParts = slices.Concat(wantParts, calls, after)
		wantRecord = append(wantRecord, results...)
		turns = append(turns, turn)
	}
	turns = append(turns, fake.Response{Text: "done"})
	m := fake.NewModel(turns...)
	opts := deuz.Options{Model: m, Messages: []llm.Message{llm.User("go")}, Loop: loop.Config{MaxSteps: 9, Tools: []loop.Tool{tool("good"), tool("bad")}}}
	var parts, record, results []string
	for p := range deuz.StreamChat(t.Context(), opts).Full() {
		switch p.Type {
		case "tool-call-delta":
			parts = append(parts, p.Type+" "+p.ToolCallID+" "+p.Text)
		case "tool-call":
			parts = append(parts, p.Type+" "+p.ToolCallID+" "+p.ToolName+" "+string(p.Input))
		case "tool-result":
			parts = append(parts, fmt.Sprint(p.Type, " ", p.ToolCallID, " ", p.ToolName, " ", string(p.Output), " ", p.IsError))
		}
	}
	requests := m.RecordedRequests()
	for _, message := range requests[len(requests)-1].Request.Messages {
		for _, p := range message.Parts {
			if r, ok := p.(llm.ToolResult); ok {
				results = append(results, fmt.Sprint(r.ID, " ", r.Text(), " ", r.IsError))
			}
		}
	}
	opts.Model = fake.NewModel(turns...)
	res, err := deuz.GenerateText(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	var read struct {
		Steps []struct {
			ToolCalls []struct {
				ToolCallID, ToolName string
				Args                 json.RawMessage
			}
			ToolResults []struct {
				ToolCallID, ToolName string
				Result               json.RawMessage
				IsError              bool
			}
		}
	}
	b, err := json.Marshal(res)
	if err == nil {
		err = json.Unmarshal(b, &read)
	}
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range read.Steps {
		for _, c := range s.ToolCalls {
			record = append(record, fmt.Sprint("call ", i, " ", c.ToolCallID, " ", c.ToolName, " ", string(c.Args)))
		}
		for _, r := range s.ToolResults {
			record = append(record, fmt.Sprint("result ", i, " ", r.ToolCallID, " ", r.ToolName, " ", string(r.Result), " ", r.IsError))
		}
	}
	for _, pair := range [][2][]string{{wantParts, parts}, {wantRecord, record}, {wantResults, results}} {
		if diff := cmp.Diff(pair[0], pair[1]); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}
