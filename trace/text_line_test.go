package trace_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
)

// Empty members are omitted, and ambiguous words are quoted.
func TestTextLine(t *testing.T) {
	opaque := json.RawMessage(`1`)
	a := llm.Text{Text: "a"}
	end := func(r llm.ToolResult) trace.ToolEnd {
		r.ID = "c1"
		return trace.ToolEnd{ToolCallID: "c1", Outcome: trace.OutcomeOK, Result: r}
	}
	news := func(m ...llm.Message) trace.ModelRequest { return trace.ModelRequest{NewMessages: m} }
	response := func(parts ...llm.Part) trace.ModelResponse {
		return trace.ModelResponse{Message: llm.Assistant(parts...)}
	}
	for _, c := range []struct {
		want string // after the kind and the place
		body trace.Body
	}{
		{"", trace.RunStart{}},
		{`n="" "tools"=1 tools=a(client),b`, trace.RunStart{Options: trace.Options{{Name: "n"}, {Name: "tools", Value: "1"}}, Tools: []trace.ToolInfo{{Name: "a", Client: true}, {Name: "b"}}}},
		{"", trace.StepStart{}},
		{"", trace.ModelConfig{}},
		{"tool a {} tool b parameters=[] tool c strict=false", trace.ModelConfig{Tools: []llm.Tool{
			{Name: "a", Parameters: json.RawMessage("{}")}, {Name: "b", Parameters: json.RawMessage("[]")}, {Name: "c", Strict: new(false)},
		}}},
		{`tool d builtin={"type":"d"} tool e`, trace.ModelConfig{Tools: []llm.Tool{{Name: "d", Builtin: json.RawMessage(`{"type":"d"}`)}, {Name: "e"}}}},
		{"prefix_messages=0", news()},
		{`prefix_messages=0 +user "a" +user() +user(text "a" refusal) +user(text "a" opaque=1)`, news(
			llm.User("a"), llm.Message{Role: llm.RoleUser}, llm.Message{Role: llm.RoleUser, Parts: []llm.Part{llm.Text{Text: "a", Refusal: true}}},
			llm.Message{Role: llm.RoleUser, Parts: []llm.Part{llm.Text{Text: "a", Opaque: opaque}}},
		)},
		{`prefix_messages=0 +user(opaque=1) +user(text "a"; opaque=1) +user(text "a"; text "a") +user(reasoning "a")`, news(
			llm.Message{Role: llm.RoleUser, Opaque: opaque}, llm.Message{Role: llm.RoleUser, Parts: []llm.Part{a}, Opaque: opaque},
			llm.Message{Role: llm.RoleUser, Parts: []llm.Part{a, a}}, llm.Message{Role: llm.RoleUser, Parts: []llm.Part{llm.Reasoning{Text: "a"}}},
		)},
		{"text", trace.ModelDelta{Type: trace.DeltaText}},
		{`text "a"; reasoning "a"`, response(a, llm.Reasoning{Text: "a"})},
		{`text "a"; finish_reason=stop`, trace.ModelResponse{Message: llm.Assistant(a), FinishReason: llm.FinishStop}},
		{"finish_reason=stop usage=90/109", trace.ModelResponse{Message: llm.Assistant(), FinishReason: llm.FinishStop, Usage: llm.Usage{InputTokens: 90, OutputTokens: 109}}},
		{"role=user usage=0/0(cache_read_input_tokens=1)", trace.ModelResponse{Message: llm.Message{Role: llm.RoleUser}, Usage: llm.Usage{CacheReadInputTokens: 1}}},
		{"usage=0/0(cache_creation_input_tokens=1)", trace.ModelResponse{Message: llm.Assistant(), Usage: llm.Usage{CacheCreationInputTokens: 1}}},
		{"usage=-1/0(reasoning_output_tokens=1)", trace.ModelResponse{Message: llm.Assistant(), Usage: llm.Usage{InputTokens: -1, ReasoningOutputTokens: 1}}},
		{`media m; media m data=b64""; media m size=-1`, response(llm.Media{MediaType: "m"}, llm.Media{MediaType: "m", Data: []byte{}}, llm.Media{MediaType: "m", Size: -1})},
		{`"call" "a"; c1 "a" name=n; c1 (); c1 (text "a"; text "a") error`, response(
			llm.ToolResult{ID: "call", Content: []llm.Part{a}}, llm.ToolResult{ID: "c1", Name: "n", Content: []llm.Part{a}},
			llm.ToolResult{ID: "c1"}, llm.ToolResult{ID: "c1", Content: []llm.Part{a, a}, IsError: true},
		)},
		{`x ""`, trace.ModelError{Error: trace.Error{Type: "x"}}},
		{`x "" partial_content(text "a")`, trace.ModelError{Error: trace.Error{Type: "x"}, PartialContent: []llm.Part{a}}},
		{"x", trace.ModelRetry{Reason: "x"}},
		{"x wait=1ns", trace.ModelRetry{Reason: "x", Wait: 1}},
		{"continue: 0 calls", trace.Decision{Action: trace.Continue, Reason: trace.ReasonToolCalls}},
		{"continue: 1 call", trace.Decision{Action: trace.Continue, Reason: trace.ReasonToolCalls, ToolCalls: 1}},
		{"continue: 2 calls", trace.Decision{Action: trace.Continue, Reason: trace.ReasonToolCalls, ToolCalls: 2}},
		{"end: end_turn tool_calls=2", trace.Decision{Action: trace.End, Reason: trace.ReasonEndTurn, ToolCalls: 2}},
		{`end: "" by=me`, trace.Decision{Action: trace.End, By: "me"}},
		{`end: "2x"`, trace.Decision{Action: trace.End, Reason: "2x"}},
		{`end: "-"`, trace.Decision{Action: trace.End, Reason: "-"}},
		{`c1 ok ""`, end(llm.ToolResult{Content: []llm.Part{llm.Text{}}})},
		{"c1 ok ()", end(llm.ToolResult{})},
		{`c1 ok "a" name=n`, end(llm.ToolResult{Name: "n", Content: []llm.Part{a}})},
		{`c1 ok id=c2 "a" opaque=1`, trace.ToolEnd{ToolCallID: "c1", Outcome: trace.OutcomeOK, Result: llm.ToolResult{ID: "c2", Content: []llm.Part{a}, Opaque: opaque}}},
		{`c1 n {"a":[]}`, trace.ToolStart{ToolCallID: "c1", Name: "n", Arguments: `{"a":[]}`}},
		{`c1 n ["a"]`, trace.ToolStart{ToolCallID: "c1", Name: "n", Arguments: `["a"]`}},
		{`c1 n "[ ]"`, trace.ToolStart{ToolCallID: "c1", Name: "n", Arguments: "[ ]"}},
		{`c1 n "{"`, trace.ToolStart{ToolCallID: "c1", Name: "n", Arguments: "{"}},
		{`c1 n "5"`, trace.ToolStart{ToolCallID: "c1", Name: "n", Arguments: "5"}},
		{`c1 n "\"a\""`, trace.ToolStart{ToolCallID: "c1", Name: "n", Arguments: `"a"`}},
		{`c1 "" x`, trace.ToolArguments{ToolCallID: "c1", Reason: "x"}},
		{"x", trace.HistoryRewrite{Reason: "x"}},
		{"", trace.Suspended{}},
		{"x", trace.Custom{Name: "x"}},
		{"x null", trace.Custom{Name: "x", Data: json.RawMessage("null")}},
		{"end_turn", trace.RunEnd{StopReason: trace.ReasonEndTurn}},
		{"end_turn usage_by=(a 0/0, b 1/2)", trace.RunEnd{StopReason: trace.ReasonEndTurn, UsageBy: map[trace.Purpose]llm.Usage{"b": {InputTokens: 1, OutputTokens: 2}, "a": {}}}},
		{"{}", trace.Unknown{Name: "new", Raw: json.RawMessage("{}")}},
		{`{"a":1}`, trace.Unknown{Name: "new", Raw: json.RawMessage(`{"a":1}`)}},
	} {
		ev := trace.Event{Run: "r", Body: c.body}
		if strings.HasPrefix(string(c.body.Kind()), "model.") {
			ev.Attempt = 1
		}
		want := strings.TrimRight(fmt.Sprintf("%-16sr:0 %s", c.body.Kind(), c.want), " ") + "\n"
		got := trace.FormatText([]trace.Event{ev})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%#v (-want +got):\n%s", c.body, diff)
		}
	}
}

// A word is unquoted if it contains only ASCII letters, digits and _.- . The name of a run must
// also have no dot and not begin like a number.
func TestTextBareWords(t *testing.T) {
	shown := func(ev trace.Event) string {
		_, rest, _ := strings.Cut(trace.FormatText([]trace.Event{ev}), " ")
		return strings.TrimSpace(rest)
	}
	var words, runs, starts string
	for c := range byte(0x80) {
		s := string(rune(c))
		if _, word, _ := strings.Cut(shown(trace.Event{Run: "r", Body: trace.Resumed{Of: s}}), " "); strings.TrimSpace(word) == s {
			words += s
		}
		if shown(trace.Event{Run: "r" + s, Step: trace.NoStep, Body: trace.StepEnd{}}) == "r"+s {
			runs += s
		}
		if shown(trace.Event{Run: s, Step: trace.NoStep, Body: trace.StepEnd{}}) == s {
			starts += s
		}
	}
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"
	for _, c := range []struct{ name, want, got string }{
		{"a word's characters", "-.0123456789" + letters, words},
		{"a run's characters", "-0123456789" + letters, runs},
		{"a run's first character", letters, starts},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}
