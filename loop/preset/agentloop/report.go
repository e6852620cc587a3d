package agentloop

import (
	"encoding/json"
	"time"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop/middleware"
)

// Reason is why a run ended.
type Reason string

// The reasons.
const (
	Done      Reason = "done"
	Stopped   Reason = "stopped"
	Failed    Reason = "error"
	Guardrail Reason = "guardrail"
	MaxSteps  Reason = "max_steps"
)

// FinishToolUse is the finish reason of an answer with calls, whatever the provider
// said.
const FinishToolUse llm.FinishReason = "tool_use"

// StepType says what a step followed.
type StepType string

// The step types.
const (
	StepInitial      StepType = "initial"
	StepToolFollowup StepType = "tool_followup"
)

// Response is what a run, or a step of one, has answered.
type Response struct {
	Content      []llm.Part
	FinishReason llm.FinishReason
	Usage        llm.Usage // of all steps; of the step in onStepComplete
	Model        string
	Reason       Reason // why the run ended; empty in onStepComplete
	Err          error  // what it failed of
}

// Text joins the texts of the content.
func (r *Response) Text() string { return llm.Message{Parts: r.Content}.Text() }

// Usage is llm.Usage as the document spells it.
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

// Report is the record of a run. Times are in milliseconds, those of the clock since
// 1970.
type Report struct {
	ID             string       `json:"id"`
	Model          string       `json:"model"`
	StartedAt      int64        `json:"startedAt"`
	CompletedAt    int64        `json:"completedAt"`
	TotalMs        float64      `json:"totalMs"`
	Reason         Reason       `json:"reason"`
	UserMessage    Input        `json:"userMessage"`
	FinalText      string       `json:"finalText"`
	Error          string       `json:"error,omitempty"`
	Steps          []StepReport `json:"steps"`
	StepCount      int          `json:"stepCount"` // rounds of tools
	ModelCalls     int          `json:"modelCalls"`
	ToolCallCount  int          `json:"toolCallCount"`
	TotalUsage     Usage        `json:"totalUsage"`
	TotalLLMTimeMs float64      `json:"totalLlmTimeMs"`
	// TotalToolTimeMs is the sum over all calls, also of those that ran at once.
	TotalToolTimeMs float64 `json:"totalToolTimeMs"`
}

// StepReport is the record of a step that came to its end.
type StepReport struct {
	Index        int              `json:"index"`
	Type         StepType         `json:"type"`
	LLMLatencyMs float64          `json:"llmLatencyMs"`
	Usage        Usage            `json:"usage"`
	FinishReason llm.FinishReason `json:"finishReason"`
	ToolCalls    []ToolCallReport `json:"toolCalls"`
	ToolTotalMs  float64          `json:"toolTotalMs"`
}

// ToolCallReport is the record of a call, in the order of the calls.
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

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// add adds a step to the sums.
func (r *Report) add(s StepReport) {
	r.Steps = append(r.Steps, s)
	r.ToolCallCount += len(s.ToolCalls)
	r.TotalLLMTimeMs += s.LLMLatencyMs
	r.TotalToolTimeMs += s.ToolTotalMs
}

// finishReason is the reason as the document has it.
func finishReason(reported llm.FinishReason, calls int) llm.FinishReason {
	if calls > 0 {
		return FinishToolUse
	}
	return reported
}

// sizeOf is the size of a result.
func sizeOf(content []llm.Part) int {
	n := 0
	for _, p := range content {
		t, ok := p.(llm.Text)
		if !ok {
			return len(llm.AppendParts(nil, content))
		}
		n += len(t.Text)
	}
	return n
}
