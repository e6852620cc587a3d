package agentier

import (
	"encoding/json"
	"time"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop/preset/dialect"
	"github.com/looptape/looptape/trace"
)

// Result is what a run has come to.
type Result struct {
	// Output is the text of the last turn; empty if that only called tools.
	Output string
	// Value is the JSON of the output, if the run had a schema for it (see
	// middleware.Output) and ended with an answer that follows it.
	Value json.RawMessage
	// Stop is why the run ended: trace.ReasonEndTurn at an answer without calls,
	// trace.ReasonMaxSteps, ReasonBudget or ReasonDeadline at a limit.
	Stop trace.Reason
	// Messages are the conversation as it stands at the end: what the run was given,
	// and what it added.
	Messages []llm.Message
	// ToolCalls are the calls whose tools were run, failed ones included, in the order
	// of the calls.
	ToolCalls []ToolCall
	Usage     Usage
	Duration  time.Duration
}

// ToolCall is a call whose tool was run.
type ToolCall struct {
	ID       string
	Name     string
	Args     json.RawMessage // what the tool got
	Result   llm.ToolResult  // what the model reads
	Duration time.Duration
}

// Usage is the sum over all model calls of a run.
type Usage struct {
	llm.Usage
	Iterations int // answers of the model; what was retried counts once
}

// MarshalJSON spells the result as the document does: the output is its value, if it
// has one, and durations are milliseconds.
func (r *Result) MarshalJSON() ([]byte, error) {
	calls := make([]json.RawMessage, len(r.ToolCalls))
	for i, c := range r.ToolCalls {
		call, err := c.MarshalJSON()
		if err != nil {
			return nil, err
		}
		calls[i] = call
	}
	var output any = r.Output
	if r.Value != nil {
		output = r.Value
	}
	return dialect.Object(
		dialect.Member{Key: "output", Value: output},
		dialect.Member{Key: "messages", Value: r.Messages},
		dialect.Member{Key: "toolCalls", Value: calls},
		dialect.Member{Key: "usage", Value: r.Usage},
		dialect.Member{Key: "duration", Value: milliseconds(r.Duration)},
	)
}

// MarshalJSON spells the call as the document's result has it.
func (c ToolCall) MarshalJSON() ([]byte, error) {
	return dialect.Object(
		dialect.Member{Key: "name", Value: c.Name},
		dialect.Member{Key: "args", Value: c.Args},
		dialect.Member{Key: "result", Value: dialect.Value(c.Result.Text(), `""`)},
		dialect.Member{Key: "duration", Value: milliseconds(c.Duration)},
	)
}

// MarshalJSON spells the usage as the document does.
func (u Usage) MarshalJSON() ([]byte, error) {
	return dialect.Object(
		dialect.Member{Key: "totalTokens", Value: u.Total()},
		dialect.Member{Key: "inputTokens", Value: u.InputTokens},
		dialect.Member{Key: "outputTokens", Value: u.OutputTokens},
		dialect.Member{Key: "iterations", Value: u.Iterations},
	)
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
