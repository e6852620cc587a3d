// Package trace defines the events of one run of an agent loop, in the order in which they
// happened, and the file format for them.
//
// A running loop streams these events. Trace files contain them, package check verifies
// invariants of them, and goldens contain them in canonical form. Reading a file and writing it
// again loses nothing. The canonical form of a run is always the same bytes. Members and events
// of newer versions are kept as [Unknown].
package trace

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/looptape/looptape/llm"
)

// The values of the format.
const (
	// Format is the name of the format in the header of a file. Version is the newest version that
	// this package reads, and the version that it writes.
	Format  = "looptape-trace"
	Version = 2
	// DefaultMaxLine is the maximum length of a line in bytes if [Reader.MaxLine] is 0.
	DefaultMaxLine = 64 << 20
	// NoStep is the Step of an event that belongs to the whole run.
	NoStep = -1

	// Purposes. Middleware may use others.
	PurposeAnswer  Purpose = ""
	PurposeRepair  Purpose = "repair"
	PurposeSummary Purpose = "summary"
	PurposeGrade   Purpose = "grade"

	// Kinds of events.
	KindRunStart       Kind = "run.start"
	KindStepStart      Kind = "step.start"
	KindModelConfig    Kind = "model.config"
	KindModelRequest   Kind = "model.request"
	KindModelDelta     Kind = "model.delta"
	KindModelResponse  Kind = "model.response"
	KindModelError     Kind = "model.error"
	KindModelRetry     Kind = "model.retry"
	KindDecision       Kind = "decision"
	KindToolArguments  Kind = "tool.arguments"
	KindToolStart      Kind = "tool.start"
	KindToolEnd        Kind = "tool.end"
	KindToolSkip       Kind = "tool.skip"
	KindStepEnd        Kind = "step.end"
	KindHistoryRewrite Kind = "history.rewrite"
	KindCanceled       Kind = "cancelled"
	KindAbandoned      Kind = "abandoned"
	KindSuspended      Kind = "suspended"
	KindResumed        Kind = "resumed"
	KindWarning        Kind = "warning"
	KindCustom         Kind = "custom"
	KindRunEnd         Kind = "run.end"

	// Clocks of [RunStart].
	ClockReal    = "real"
	ClockVirtual = "virtual"

	// Types of [ModelDelta].
	DeltaText      = "text"
	DeltaReasoning = "reasoning"
	DeltaCall      = "call"      // a call begins
	DeltaArguments = "arguments" // a delta of its arguments
	DeltaCallEnd   = "call_end"  // a call ends

	// Actions. Continue after a response means that the loop runs its calls, or calls the model
	// again with ReasonContinuedResponse. A step that ends without Stop or ForceFinal is followed by
	// another.
	Continue   Action = "continue"
	End        Action = "end"         // the natural end: nothing is left to do
	Stop       Action = "stop"        // something else ends the run
	ForceFinal Action = "force_final" // one more model call, without tools
	Suspend    Action = "suspend"

	// Reasons of decisions and of the end of a run.
	ReasonToolCalls         Reason = "tool_calls" // the response has calls
	ReasonEndTurn           Reason = "end_turn"   // the response has no calls
	ReasonMaxSteps          Reason = "max_steps"  // max_steps is reached
	ReasonBudget            Reason = "budget"
	ReasonStopCondition     Reason = "stop_condition"
	ReasonRunawayGuard      Reason = "runaway_guard" // the runaway guard
	ReasonClientTools       Reason = "client_tools"
	ReasonHandoff           Reason = "handoff"
	ReasonEndHook           Reason = "end_hook"
	ReasonContinuedResponse Reason = "continued_turn"
	ReasonForced            Reason = "forced"  // the final answer was forced
	ReasonStopped           Reason = "stopped" // the caller stopped the run after the step
	ReasonMalformedCall     Reason = "malformed_call"
	ReasonCancel            Reason = "cancel"
	ReasonDeadline          Reason = "deadline"
	ReasonError             Reason = "error"
	ReasonApproval          Reason = "approval"
	ReasonMiddleware        Reason = "middleware" // middleware of the caller

	// Outcomes of tools.
	OutcomeOK       Outcome = "ok"
	OutcomeError    Outcome = "error"
	OutcomePanic    Outcome = "panic"
	OutcomeTimeout  Outcome = "timeout"
	OutcomeCanceled Outcome = "cancelled"
	OutcomeNotRun   Outcome = "not_run" // middleware around the tool answered the call

	// Reasons of [ToolSkip]. Middleware may set others. The first four reject calls that cannot run.
	SkipUnknownTool        = "unknown_tool"
	SkipMalformedArguments = "malformed_arguments"
	SkipInvalidArguments   = "invalid_arguments"
	SkipTruncated          = "truncated"
	SkipDenied             = "denied"
	SkipDuplicate          = "duplicate"
	SkipCanceled           = "cancelled"
)

// Event is an event of a run.
//
//gencodec:members
type Event struct {
	Seq  int    `json:"seq"`                                  // counts the run's events from 0
	Run  string `json:"run"`                                  // the run's name, unique in its file
	Step int    `json:"step,omitempty" codec:"unless=NoStep"` // the step, counted from 0; NoStep, or absent in a file, outside of steps
	// Attempt counts the attempts of a model call from 1; 0 for events outside of model calls.
	Attempt int `json:"attempt,omitempty"`
	// Purpose is the purpose of a model call; empty means the response of the step.
	Purpose Purpose `json:"purpose,omitempty"`
	// At is the time since the start of the run, in a file in nanoseconds. [RunStart] names the
	// clock.
	At time.Duration `json:"at,omitempty"`
	// Body is the content of the event.
	Body Body `json:"-"`
}

// Purpose is the purpose of a model call.
type Purpose string

// Body is the content of an [Event]. Each type that implements it is one kind of event.
//
//sumtype:decl
type Body interface{ Kind() Kind }

// Kind is the name of a type of [Body], as in the member kind of a file.
type Kind string

// RunStart is the first event of every run.
type RunStart struct {
	Parent *Parent `json:"parent,omitzero"` // the call that started the run; nil for most runs
	// Clock is virtual or real; empty means that the trace has no times.
	Clock string `json:"clock,omitempty" codec:"word"`
	// Options are the options that the loop declares, such as max_steps or concurrency. The
	// checker does not check undeclared options.
	Options Options `json:"options,omitempty"`
	// Tools are the tools that the run started with.
	Tools []ToolInfo `json:"tools,omitempty"`
	// Suppress maps the ID of an invariant to the reason why its violations in this run are
	// accepted.
	Suppress map[string]string `json:"suppress,omitempty"`
}

// Parent is the call that started another run.
//
//gencodec:inline
type Parent struct {
	Run        string `json:"run"`
	ToolCallID string `json:"tool_call_id" v1:"call"`
}

// ToolInfo contains the name of a tool and whether the caller runs it.
//
//gencodec:inline
type ToolInfo struct {
	Name   string `json:"name"`
	Client bool   `json:"client,omitempty"` // the caller runs it, not the loop
}

// Options are declared options, in the order in which they were declared.
type Options []Option

// Option is one declared option. The value is a word or a number.
type Option struct{ Name, Value string }

// StepStart begins a step: one model response and its tool calls.
type StepStart struct{}

// ModelConfig contains all of a request except its messages. It precedes the first request with a
// purpose and each request that changes the configuration.
type ModelConfig struct {
	Model      string         `json:"model,omitempty"`
	System     llm.System     `json:"system,omitempty" codec:"system"` // the system prompt
	Tools      []llm.Tool     `json:"tools,omitempty"`
	ToolChoice llm.ToolChoice `json:"tool_choice,omitzero" codec:"toolChoice"` // auto, required, none or tool:NAME
	Settings   llm.Settings   `json:"settings,omitzero"`
	// Extra contains the members that only one provider defines.
	Extra map[string]json.RawMessage `json:"extra,omitempty"`
}

// ModelRequest is a request to the model: the first PrefixMessages messages of the previous request
// with this purpose in this run, then NewMessages.
//
//gencodec:codec new_messages newMessages
//gencodec:member hash ^[0-9a-f]{16}$ The hash of all messages of the request, 16 hexadecimal digits: 0 for no messages; for each message the XXH64 of its bytes in the file, with the previous hash as the seed.
type ModelRequest struct {
	// PrefixMessages is how many messages of the previous request the request begins with.
	PrefixMessages int `json:"prefix_messages,omitempty" v1:"kept" schema:"minimum=0"`
	// NewMessages are the messages after the prefix.
	NewMessages []llm.Message `json:"new_messages,omitempty" v1:"new"`
}

// ModelDelta is a delta of a response. Traces may omit deltas.
type ModelDelta struct {
	// Type is text, reasoning, call, arguments or call_end; see [DeltaText].
	Type       string `json:"type,omitempty" v1:"what" codec:"word"`
	ToolCallID string `json:"tool_call_id,omitempty" v1:"call"` // the call's ID in this run; empty for text and reasoning
	Name       string `json:"name,omitempty"`                   // the name of the tool; for type call only
	Text       string `json:"text,omitempty"`                   // the content of the delta
}

// ModelResponse is a complete response.
type ModelResponse struct {
	Message         llm.Message      `json:"message"`
	FinishReason    llm.FinishReason `json:"finish_reason,omitempty" v1:"finish"`
	RawFinishReason string           `json:"raw_finish_reason,omitempty" v1:"raw_finish"` // the finish reason of the provider, if it differs
	FinishMessage   string           `json:"finish_message,omitempty"`
	ResponseID      string           `json:"response_id,omitempty"`
	Model           string           `json:"model,omitempty"`
	Usage           llm.Usage        `json:"usage,omitzero"` // the tokens of this call alone
}

// ModelError is a failed attempt.
type ModelError struct {
	Error Error `json:"error"`
	// Partial is true if the loop had already passed on a part of the response.
	Partial bool `json:"partial,omitempty"`
	// PartialContent contains the received parts of the response, with open calls closed. The
	// history does not contain them, and the loop does not run their calls.
	PartialContent []llm.Part `json:"partial_content,omitempty" v1:"received"`
	// Usage contains the tokens that the provider counted before the failure.
	Usage llm.Usage `json:"usage,omitzero"`
}

// Error describes an error.
type Error struct {
	Type       string        `json:"type" codec:"word"` // such as api, deadline or panic; package loop defines the types
	Message    string        `json:"message"`
	Status     int           `json:"status,omitempty"`         // the HTTP status
	Code       string        `json:"code,omitempty"`           // the code that the provider sent
	RetryAfter time.Duration `json:"retry_after_ns,omitempty"` // the delay that the provider requests, in nanoseconds
	Retryable  bool          `json:"retryable,omitempty"`
}

// ModelRetry reports that the loop will retry the call after a delay.
type ModelRetry struct {
	Wait   time.Duration `json:"wait_ns,omitempty"` // the delay in nanoseconds
	Reason string        `json:"reason,omitempty" v1:"cause" codec:"word"`
}

// Decision is the next action of the loop and its reason.
type Decision struct {
	Action    Action `json:"action,omitempty"`
	Reason    Reason `json:"reason,omitempty" v1:"cause"`
	ToolCalls int    `json:"tool_calls,omitempty" v1:"calls"` // the number of calls of the response, for the reason tool_calls
	By        string `json:"by,omitempty"`                    // the middleware that decided, if any
	Note      string `json:"note,omitempty"`
}

// Action is the action of a [Decision].
type Action string

// Reason is the reason of a decision or of the end of a run.
type Reason string

// ToolArguments reports that a call runs with arguments that differ from those of the model. It
// follows ToolStart if middleware around the tool changed them, with the reason edit.
type ToolArguments struct {
	ToolCallID string `json:"tool_call_id,omitempty" v1:"call"`
	Arguments  string `json:"arguments,omitempty" v1:"args"`
	Reason     string `json:"reason,omitempty" v1:"cause" codec:"word"` // empty_object, defaults, repair or edit
}

// ToolStart reports that a call began: its middleware and, unless that answers, its tool.
type ToolStart struct {
	ToolCallID string `json:"tool_call_id,omitempty" v1:"call"`
	Name       string `json:"name,omitempty"`
	Arguments  string `json:"arguments,omitempty" v1:"args"` // the arguments for the tool
}

// ToolEnd reports that a call has ended, with its result.
type ToolEnd struct {
	ToolCallID string         `json:"tool_call_id,omitempty" v1:"call"`
	Outcome    Outcome        `json:"outcome,omitempty"`
	Result     llm.ToolResult `json:"result" codec:"resultPart"`
}

// Outcome is the outcome of a tool.
type Outcome string

// ToolSkip reports that a call got a result although its tool did not run.
type ToolSkip struct {
	ToolCallID string         `json:"tool_call_id,omitempty" v1:"call"`
	Name       string         `json:"name,omitempty"`
	Reason     string         `json:"reason,omitempty" v1:"cause" codec:"word"` // such as unknown_tool; see [SkipUnknownTool]
	Result     llm.ToolResult `json:"result" codec:"resultPart"`
}

// Abandoned reports that the loop no longer waits for a running tool.
type Abandoned struct {
	ToolCallID string `json:"tool_call_id,omitempty" v1:"call"`
}

// StepEnd ends a step.
type StepEnd struct{}

// HistoryRewrite reports that the messages of the next request do not extend those of the
// previous request.
type HistoryRewrite struct {
	Reason string `json:"reason,omitempty" v1:"cause" codec:"word"` // such as compaction, middleware or resume
	By     string `json:"by,omitempty"`
}

// Canceled reports that the loop observed the end of its context.
type Canceled struct {
	Reason string `json:"reason,omitempty" v1:"cause" codec:"word"`
}

// Suspended reports that the run waits for external results.
type Suspended struct {
	Pending []string `json:"pending,omitempty"` // the calls that wait
	Digest  string   `json:"digest,omitempty"`  // the XXH64 of the encoded messages of the checkpoint
}

// Resumed contains the suspended run that this run continues.
type Resumed struct {
	Of string `json:"of,omitempty"` // the name of the suspended run
}

// Warning reports an anomaly that the loop repaired or ignored.
type Warning struct {
	Code       string `json:"code,omitempty"`
	Message    string `json:"message,omitempty"`
	ToolCallID string `json:"tool_call_id,omitempty" v1:"call"` // the call it is about, if any
}

// Custom is an event that middleware defines.
type Custom struct {
	Name string          `json:"name,omitempty"`
	Data json.RawMessage `json:"data,omitzero"`
}

// RunEnd is the last event of every run.
type RunEnd struct {
	// StopReason is the reason why the run ended; end_turn is the natural end.
	StopReason   Reason           `json:"stop_reason,omitempty" v1:"stop"`
	FinishReason llm.FinishReason `json:"finish_reason,omitempty" v1:"finish"` // the finish reason of the last response
	Steps        int              `json:"steps,omitempty"`                     // steps that were begun
	ModelCalls   int              `json:"model_calls,omitempty" v1:"calls"`    // model calls, retries included
	Usage        llm.Usage        `json:"usage,omitzero"`                      // the sum of the usage of all calls
	// UsageBy is the sum by purpose, absent if every call was for the response of a step.
	UsageBy map[Purpose]llm.Usage `json:"usage_by,omitempty" codec:"usageBy"`
	Pending []string              `json:"pending,omitempty"` // calls whose results the caller must provide
	// AppendedMessages are the messages after the last request.
	AppendedMessages []llm.Message `json:"appended_messages,omitempty" v1:"appended"`
	Error            *Error        `json:"error,omitzero"` // the error of a run that failed
}

// Unknown is an event of a kind that this version does not know.
type Unknown struct {
	Name Kind
	Raw  json.RawMessage // the whole object, without the envelope's members
}

// Kind implements Body, and so for all of them.
func (RunStart) Kind() Kind { return KindRunStart }

func (StepStart) Kind() Kind      { return KindStepStart }
func (ModelConfig) Kind() Kind    { return KindModelConfig }
func (ModelRequest) Kind() Kind   { return KindModelRequest }
func (ModelDelta) Kind() Kind     { return KindModelDelta }
func (ModelResponse) Kind() Kind  { return KindModelResponse }
func (ModelError) Kind() Kind     { return KindModelError }
func (ModelRetry) Kind() Kind     { return KindModelRetry }
func (Decision) Kind() Kind       { return KindDecision }
func (ToolArguments) Kind() Kind  { return KindToolArguments }
func (ToolStart) Kind() Kind      { return KindToolStart }
func (ToolEnd) Kind() Kind        { return KindToolEnd }
func (ToolSkip) Kind() Kind       { return KindToolSkip }
func (Abandoned) Kind() Kind      { return KindAbandoned }
func (StepEnd) Kind() Kind        { return KindStepEnd }
func (HistoryRewrite) Kind() Kind { return KindHistoryRewrite }
func (Canceled) Kind() Kind       { return KindCanceled }
func (Suspended) Kind() Kind      { return KindSuspended }
func (Resumed) Kind() Kind        { return KindResumed }
func (Warning) Kind() Kind        { return KindWarning }
func (Custom) Kind() Kind         { return KindCustom }
func (RunEnd) Kind() Kind         { return KindRunEnd }

// Kind implements Body.
func (u Unknown) Kind() Kind { return u.Name }

// Sink receives the events of runs in order. A Sink for several concurrent runs must be safe for
// concurrent use. If Write fails, the loop reports the error once, in the error of the run, and
// continues without the Sink.
type Sink interface {
	Write(Event) error
}

// SinkFunc is a function that implements [Sink].
type SinkFunc func(Event) error

// Write calls f.
func (f SinkFunc) Write(ev Event) error { return f(ev) }

// Memory is a [Sink] that keeps the events in memory. The zero value is ready to use. It is not safe
// for concurrent runs.
type Memory struct {
	full [][]Event // in order, before last
	last []Event
	n    int // events in full
}

// Write keeps ev.
func (m *Memory) Write(ev Event) error {
	if n := len(m.last); n == cap(m.last) {
		const least, most = 16, 256
		if n > 0 {
			m.full = append(m.full, m.last)
			m.n += n
		}
		m.last = make([]Event, 0, min(max(2*n, least), most))
	}
	m.last = append(m.last, ev)
	return nil
}

// Events returns the events that were written until now.
func (m *Memory) Events() []Event {
	if len(m.full) > 0 {
		all := make([]Event, 0, m.n+len(m.last))
		for _, events := range m.full {
			all = append(all, events...)
		}
		m.full, m.last, m.n = nil, append(all, m.last...), 0
	}
	return m.last[:len(m.last):len(m.last)]
}

// Lookup returns the value of an option; ok reports whether it was declared.
func (o Options) Lookup(name string) (value string, ok bool) {
	for _, x := range o {
		if x.Name == name {
			return x.Value, true
		}
	}
	return "", false
}

// With returns the options with one added, or changed.
func (o Options) With(name, value string) Options {
	others := slices.DeleteFunc(slices.Clone(o), func(x Option) bool { return x.Name == name })
	return append(others, Option{name, value})
}
