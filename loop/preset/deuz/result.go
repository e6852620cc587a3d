package deuz

import (
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/internal/dialect"
)

// Result is the result of [GenerateText]. [loop.Step.Value] returns what the tools of a step returned.
type Result struct{ *loop.Result }

// MarshalJSON encodes the result as the reference loop does. Its toolCalls are the pending calls.
func (r *Result) MarshalJSON() ([]byte, error) {
	var steps []object
	for _, s := range r.Steps {
		steps = append(steps, stepRecord(s))
	}
	return dialect.Object("text", r.Text, "steps,omitzero", steps, "toolCalls,omitzero", callRecords(r.Pending),
		"finishReason", r.FinishReason, "usage", usage(r.Usage), "response", response(r.Messages))
}

// object is a list of members as [dialect.Object] takes it.
type object []any

func (o object) MarshalJSON() ([]byte, error) { return dialect.Object(o...) }

func stepRecord(s *loop.Step) object {
	results := []object{} // not null
	for i, r := range s.Results {
		if r.ID != "" { // it is empty for a client-side call
			results = append(results, object{"toolCallId", r.ID, "toolName", r.Name, "result", s.Value(i), "isError,omitzero", r.IsError})
		}
	}
	step := object{"stepType", s.Type, "text", s.Text}
	if s.HasReasoning {
		step = append(step, "reasoningText", s.Reasoning)
	}
	return append(step, "toolCalls", append([]object{}, callRecords(s.Calls)...), "toolResults", results,
		"finishReason", s.FinishReason, "usage", usage(s.Usage), "response", response(s.Messages))
}

func callRecords(calls []llm.ToolCall) (list []object) {
	for _, c := range calls {
		list = append(list, object{"toolCallId", c.ID, "toolName", c.Name, "args", dialect.Value(c.Arguments, "{}")})
	}
	return list
}

func response(messages []llm.Message) object {
	return object{"messages", append([]llm.Message{}, messages...)} // not null
}

func usage(u llm.Usage) any {
	return struct {
		Input     int64 `json:"inputTokens"`
		Output    int64 `json:"outputTokens"`
		Total     int64 `json:"totalTokens"`
		Cached    int64 `json:"cachedInputTokens,omitempty"`
		Reasoning int64 `json:"reasoningTokens,omitempty"`
	}{u.InputTokens, u.OutputTokens, u.Total(), u.CacheReadInputTokens, u.ReasoningOutputTokens}
}
