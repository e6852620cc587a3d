package facts_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/evals/facts"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/importer"
)

// TestFacts checks that a trace and a list of messages have equal facts.
func TestFacts(t *testing.T) {
	call := func(id, name, args string) llm.ToolCall { return llm.ToolCall{ID: id, Name: name, Arguments: args} }
	result := func(id, text string, failed bool) llm.ToolResult {
		return llm.ToolResult{ID: id, Content: []llm.Part{llm.Text{Text: text}}, IsError: failed}
	}
	first := llm.Assistant(llm.Text{Text: "Let me see."}, call("a", "find", `{"q":1}`), call("b", "read", ""))
	second := llm.Assistant(llm.Reasoning{Text: "hm"}, call("a", "find", `{"q":2}`), llm.ToolCall{ID: "p", Name: "search", ProviderExecuted: true}, result("p", "found", false))
	third := llm.Assistant(llm.Text{Text: "I cannot.", Refusal: true})
	last := llm.Assistant()
	said := func(m llm.Message, finish llm.FinishReason) trace.Body {
		return trace.ModelResponse{Message: m, FinishReason: finish}
	}
	list := &importer.Run{Messages: []llm.Message{
		llm.User("Go"), first, llm.ToolResults(result("b", "gone", true), result("a", "one", false)), second, llm.ToolResults(result("a", "two", false), result("x", "of none", true)), third, last,
	}}
	traced := &importer.Run{Events: []trace.Event{
		{Body: trace.RunStart{}},
		{Body: trace.ModelRequest{NewMessages: []llm.Message{llm.User("Go")}}},
		{Body: said(first, llm.FinishToolCalls)},
		{Body: trace.ToolSkip{ToolCallID: "b", Result: result("b", "gone", true)}},
		{Body: trace.ToolEnd{ToolCallID: "a", Result: result("a", "one", false)}},
		{Purpose: trace.PurposeSummary, Body: said(llm.Assistant(llm.Text{Text: "a summary"}), llm.FinishStop)},
		{Body: said(second, llm.FinishStop)},
		{Body: trace.ToolEnd{ToolCallID: "a", Result: result("a", "two", false)}},
		{Body: trace.ToolEnd{ToolCallID: "x", Result: result("x", "of none", true)}},
		{Body: said(third, llm.FinishRefusal)},
		{Body: said(last, llm.FinishStop)},
	}}
	want := &facts.Facts{
		Answer: "I cannot.", Steps: 4, Refusals: []string{"I cannot."}, Errors: []string{"read: gone"},
		Calls: []facts.Call{
			{ID: "a", Name: "find", RawArguments: `{"q":1}`, Answered: true, Result: "one"},
			{ID: "b", Name: "read", Answered: true, Failed: true, Result: "gone"},
			{ID: "a", Name: "find", RawArguments: `{"q":2}`, Answered: true, Result: "two"},
			{ID: "p", Name: "search", Answered: true, Result: "found"},
		},
	}
	if diff := cmp.Diff(want, facts.Read(list)); diff != "" {
		t.Errorf("of the list (-want +got):\n%s", diff)
	}
	list.Meta = map[string]json.RawMessage{"finish_reason": json.RawMessage(`"length"`)}
	want.Finishes = []llm.FinishReason{llm.FinishLength}
	if diff := cmp.Diff(want, facts.Read(list)); diff != "" {
		t.Errorf("of the list with a finish reason (-want +got):\n%s", diff)
	}
	want.Finishes = []llm.FinishReason{llm.FinishToolCalls, llm.FinishStop, llm.FinishRefusal, llm.FinishStop}
	if diff := cmp.Diff(want, facts.Read(traced)); diff != "" {
		t.Errorf("of the trace (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{`{"q":1}`, "{}"}, []string{string(want.Calls[0].Arguments()), string(want.Calls[1].Arguments())}); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
}

// TestFactsOfFailures checks that failures are reported even if the run continued, and that the
// recorded final answer has precedence.
func TestFactsOfFailures(t *testing.T) {
	got := facts.Read(&importer.Run{Answer: "named", Events: []trace.Event{
		{Body: trace.ModelError{Error: trace.Error{Message: "busy"}}},
		{Body: trace.ModelResponse{Message: llm.Assistant(llm.Text{Text: "said"}), FinishReason: llm.FinishStop}},
		{Body: trace.RunEnd{Error: &trace.Error{Message: "cut"}}},
		{Body: trace.RunEnd{}},
	}})
	want := &facts.Facts{Answer: "named", Steps: 1, Finishes: []llm.FinishReason{llm.FinishStop}, Errors: []string{"model: busy", "run: cut"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("facts (-want +got):\n%s", diff)
	}
}
