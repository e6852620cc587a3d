package trace_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
)

// The second run resumes a response with two calls, of which the first run has run one. Its later requests,
// and configurations that it sets later, are those of one run.
func TestJoinRequests(t *testing.T) {
	user := llm.User("go")
	two := llm.Assistant(llm.ToolCall{ID: "a", Name: "x"}, llm.ToolCall{ID: "b", Name: "x"})
	result := func(id string) llm.ToolResult { return llm.ToolResult{ID: id, Name: "x"} }
	toolMessage := func(parts ...llm.Part) llm.Message { return llm.Message{Role: llm.RoleTool, Parts: parts} }
	more, summary := llm.Assistant(llm.ToolCall{ID: "c", Name: "x"}), llm.User("summary")
	request := func(prefix int, list ...llm.Message) trace.Body {
		return trace.ModelRequest{PrefixMessages: prefix, NewMessages: list}
	}
	one, other := trace.ModelConfig{Model: "one"}, trace.ModelConfig{Model: "other"}
	events := func(step int, bodies ...trace.Body) (list []trace.Event) {
		for _, b := range bodies {
			list = append(list, trace.Event{Run: "run", Step: step, Body: b, Seq: len(list)})
		}
		return list
	}
	tool := func(id string, skipped bool) []trace.Body {
		if skipped {
			return []trace.Body{trace.ToolSkip{ToolCallID: id}}
		}
		return []trace.Body{trace.ToolStart{ToolCallID: id}, trace.ToolEnd{ToolCallID: id}}
	}
	later := func(from, prefix int) []trace.Event {
		return slices.Concat(
			events(from+1, trace.StepStart{}, other, request(prefix, more, toolMessage(result("c"))), trace.ModelResponse{}, trace.StepEnd{}),
			events(from+2, trace.StepStart{}, one, request(0, summary), trace.ModelResponse{}, trace.StepEnd{}),
			events(from+3, trace.StepStart{}, request(0, user), trace.ModelResponse{}, trace.StepEnd{}),
			events(from+4, trace.StepStart{}, request(5, user), trace.ModelResponse{}, trace.StepEnd{}))
	}
	for _, skipped := range []bool{false, true} {
		begin := slices.Concat(events(trace.NoStep, trace.RunStart{}),
			events(0, trace.StepStart{}, one, request(0, user), trace.ModelResponse{Message: two}, trace.Decision{Reason: trace.ReasonToolCalls, ToolCalls: 2}), events(0, tool("a", skipped)...))
		first := slices.Concat(begin, events(0, trace.Suspended{}, trace.StepEnd{}), events(trace.NoStep, trace.RunEnd{}))
		second := slices.Concat(events(trace.NoStep, trace.RunStart{}, trace.Resumed{}, trace.Decision{Reason: trace.ReasonToolCalls, ToolCalls: 1}),
			events(trace.NoStep, tool("b", false)...),
			events(0, trace.StepStart{}, one, request(0, user, two, toolMessage(result("a")), toolMessage(result("b"))), trace.ModelResponse{Message: more}, trace.StepEnd{}),
			later(0, 4), events(trace.NoStep, trace.RunEnd{Steps: 5, ModelCalls: 5}))
		want := slices.Concat(begin, events(0, tool("b", false)...), events(0, trace.StepEnd{}),
			events(1, trace.StepStart{}, request(1, two, toolMessage(result("a"), result("b"))), trace.ModelResponse{Message: more}, trace.StepEnd{}),
			later(1, 3), events(trace.NoStep, trace.RunEnd{Steps: 6, ModelCalls: 6}))
		if diff := cmp.Diff(trace.FormatText(trace.Canonical(want)), trace.FormatText(trace.Join(first, second))); diff != "" {
			t.Errorf("skipped: %t: the joined trace (-want +got):\n%s", skipped, diff)
		}
	}
}
