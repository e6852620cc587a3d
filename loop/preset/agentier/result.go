package agentier

import (
	"encoding/json"
	"time"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop/internal/dialect"
	"github.com/looptape/looptape/trace"
)

// Result is the result of a run.
type Result struct {
	// Output is the text of the last response. It is empty if that response only calls
	// tools.
	Output string
	// Value is the output as JSON. It is set if the run has a schema (see
	// [middleware.Output]) and its final answer follows the schema.
	Value json.RawMessage
	// Stop is the stop reason: [trace.ReasonEndTurn] for a response without calls,
	// [trace.ReasonMaxSteps], [trace.ReasonBudget] or [trace.ReasonDeadline] for a limit.
	Stop trace.Reason
	// Messages is the conversation at the end of the run: its input and the messages that
	// it added.
	Messages []llm.Message
	// ToolCalls are the calls with tools that ran, including failed ones, in call order.
	ToolCalls []ToolCall
	Usage     Usage
	Duration  time.Duration
}

// ToolCall is a call with a tool that ran.
type ToolCall struct {
	ID       string
	Name     string
	Args     json.RawMessage // arguments that the tool received
	Result   llm.ToolResult  // result that the model reads
	Value    any             // value that the tool returned; for a recorded trace the text of Result
	Duration time.Duration
}

// Usage is the sum over all model calls of a run.
type Usage struct {
	llm.Usage
	Iterations int // number of model calls; a call with all its retries counts once
}

// MarshalJSON encodes the result as the reference loop does. The output is the value if
// there is one. Durations are in milliseconds.
func (r *Result) MarshalJSON() ([]byte, error) {
	var output any = r.Output
	if r.Value != nil {
		output = r.Value
	}
	calls := append([]ToolCall{}, r.ToolCalls...) // not null
	return dialect.Object("output", output, "messages", r.Messages, "toolCalls", calls, "usage", r.Usage, "duration", dialect.Milliseconds(r.Duration))
}

// MarshalJSON encodes the call as a member of the reference loop's result.
func (c ToolCall) MarshalJSON() ([]byte, error) {
	return dialect.Object("name", c.Name, "args", c.Args, "result", c.Value, "duration", dialect.Milliseconds(c.Duration))
}

// MarshalJSON encodes the usage as the reference loop does.
func (u Usage) MarshalJSON() ([]byte, error) {
	return dialect.Object("totalTokens", u.Total(), "inputTokens", u.InputTokens, "outputTokens", u.OutputTokens, "iterations", u.Iterations)
}
