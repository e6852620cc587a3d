package agentloop

import (
	"encoding/json"
	"slices"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/trace"
)

// Response is the response of a run or of a step.
type Response struct {
	Content      []llm.Part
	FinishReason llm.FinishReason // tool_use if it has calls, whatever the provider reports
	Usage        llm.Usage        // of all steps; of one step in onStepComplete
	Model        string
	Reason       trace.Reason // stop reason of the run; empty in onStepComplete
	Err          error        // error of a failed run
}

// Text concatenates the texts of the content.
func (r *Response) Text() string { return llm.Message{Parts: r.Content}.Text() }

// Usage is [llm.Usage] with the names of the reference loop.
type Usage struct {
	InputTokens      int64 `json:"inputTokens"`
	OutputTokens     int64 `json:"outputTokens"`
	CachedTokens     int64 `json:"cachedTokens,omitempty"`
	CacheWriteTokens int64 `json:"cacheWriteTokens,omitempty"`
	ReasoningTokens  int64 `json:"reasoningTokens,omitempty"`
}

func usageOf(u llm.Usage) Usage {
	return Usage{u.InputTokens, u.OutputTokens, u.CacheReadInputTokens, u.CacheCreationInputTokens, u.ReasoningOutputTokens}
}

// Report is the record of a run. Times are in milliseconds since 1970, from the agent's
// clock.
type Report struct {
	ID             string       `json:"id"`
	Model          string       `json:"model"`
	StartedAt      int64        `json:"startedAt"`
	CompletedAt    int64        `json:"completedAt"`
	TotalMs        float64      `json:"totalMs"`
	Reason         trace.Reason `json:"reason"`
	UserMessage    Input        `json:"userMessage"`
	FinalText      string       `json:"finalText"`
	Error          string       `json:"error,omitempty"`
	Steps          []StepReport `json:"steps"`
	StepCount      int          `json:"stepCount"` // number of steps
	ModelCalls     int          `json:"-"`         // retries included; 0 if the report was read from JSON
	ToolCallCount  int          `json:"toolCallCount"`
	TotalUsage     Usage        `json:"totalUsage"`
	TotalLLMTimeMs float64      `json:"totalLlmTimeMs"`
	// TotalToolTimeMs is the sum over all calls, including concurrent ones.
	TotalToolTimeMs float64 `json:"totalToolTimeMs"`
}

// UnmarshalJSON implements [json.Unmarshaler]. It also reads the ModelCalls of older reports.
func (r *Report) UnmarshalJSON(b []byte) error {
	type plain Report
	old := struct {
		*plain
		ModelCalls int `json:"modelCalls"`
	}{plain: (*plain)(r)}
	if err := json.Unmarshal(b, &old); err != nil {
		return err
	}
	r.ModelCalls = old.ModelCalls
	return nil
}

// StepReport is the record of a completed step.
type StepReport struct {
	Index        int              `json:"index"`
	Type         string           `json:"type"` // initial or tool_followup
	LLMLatencyMs float64          `json:"llmLatencyMs"`
	Usage        Usage            `json:"usage"`
	FinishReason llm.FinishReason `json:"finishReason"`
	ToolCalls    []ToolCallReport `json:"toolCalls"`
	ToolTotalMs  float64          `json:"toolTotalMs"`
}

// ToolCallReport is the record of a call. Records are in call order.
type ToolCallReport struct {
	CallID    string          `json:"callId"`
	ToolName  string          `json:"toolName"`
	Arguments json.RawMessage `json:"arguments"`
	// ResultSizeBytes is the length of the result's text, or of its parts as JSON.
	ResultSizeBytes int                          `json:"resultSizeBytes"`
	LatencyMs       float64                      `json:"latencyMs"`
	Skipped         bool                         `json:"skipped"`
	Error           *string                      `json:"error"`
	Metrics         map[string]middleware.Metric `json:"metrics"`
}

func (r *Report) add(s StepReport) {
	r.Steps = append(r.Steps, s)
	r.ToolCallCount += len(s.ToolCalls)
	r.TotalLLMTimeMs += s.LLMLatencyMs
	r.TotalToolTimeMs += s.ToolTotalMs
}

// finishReason returns the finish reason of the reference loop.
func finishReason(reported llm.FinishReason, calls int) llm.FinishReason {
	if calls > 0 {
		return "tool_use"
	}
	return reported
}

func sizeOf(content []llm.Part) int {
	if slices.ContainsFunc(content, func(p llm.Part) bool { _, ok := p.(llm.Text); return !ok }) {
		return len(llm.AppendParts(nil, content))
	}
	return len(llm.Message{Parts: content}.Text())
}
