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
	"time"

	"github.com/looptape/looptape/llm"
)

// Event is one thing that happened in a run.
type Event struct {
	Seq  int    // counts the run's events from 0
	Run  string // the run's name, unique in its file
	Step int    // the step, counted from 0; NoStep outside of steps
	// Attempt counts the tries of one model call from 1; 0 for what is not part
	// of a model call.
	Attempt int
	// Purpose says what a model call is for; empty means the answer itself.
	Purpose Purpose
	// At is the time since the run's start, on the clock that RunStart names.
	At   time.Duration
	Body Body
}

// NoStep is the Step of an event that belongs to the whole run.
const NoStep = -1

// Purpose is what a model call is for.
type Purpose string

// The purposes. Policies may use others.
const (
	PurposeAnswer  Purpose = ""
	PurposeRepair  Purpose = "repair"
	PurposeSummary Purpose = "summary"
	PurposeGrade   Purpose = "grade"
)

// Body is what happened. See the types that implement it.
//
//sumtype:decl
type Body interface{ Kind() Kind }

// Kind is the name of a type of Body, as in a file's "kind".
type Kind string

// The kinds.
const (
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
)

// RunStart is the first event of every run.
type RunStart struct {
	Parent *Parent // nil for a run that nobody else's call started
	// Clock is ClockVirtual or ClockReal, or empty where no times were kept.
	Clock string
	// Options is what the loop declares of itself, by the names of the option
	// matrix (max_steps, concurrency, same_tool_error_stop …). What is not
	// declared is not checked.
	Options Options
	// Tools are the tools that the run started with.
	Tools []ToolInfo
	// Suppress maps an invariant's id to the reason why its violations in this
	// run are accepted.
	Suppress map[string]string
}

// The clocks.
const (
	ClockReal    = "real"
	ClockVirtual = "virtual"
)

// Parent is the call that started a run of its own.
type Parent struct{ Run, ToolCallID string }

// ToolInfo names a tool and says who runs it.
type ToolInfo struct {
	Name   string
	Client bool // the caller runs it, not the loop
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
	Model      string
	System     string
	Tools      []llm.Tool
	ToolChoice llm.ToolChoice
	Settings   llm.Settings
	Extra      map[string]json.RawMessage
}

// ModelRequest is a request as it went to the model: the first Kept messages of
// the request before it (of the same purpose in this run), then New.
type ModelRequest struct {
	PrefixMessages int
	NewMessages    []llm.Message
}

// ModelDelta is a delta of a response. Traces may omit deltas.
type ModelDelta struct {
	Type       DeltaKind
	ToolCallID string // the call's ID in this run; empty for text and reasoning
	Name       string // the tool's; with DeltaCall only
	Text       string // the content of the delta
}

// DeltaKind is the kind of content of a [ModelDelta].
type DeltaKind string

// The kinds of delta.
const (
	DeltaText      DeltaKind = "text"
	DeltaReasoning DeltaKind = "reasoning"
	DeltaCall      DeltaKind = "call"      // a call begins
	DeltaArguments DeltaKind = "arguments" // a delta of its arguments
	DeltaCallEnd   DeltaKind = "call_end"  // a call ends
)

// ModelResponse is a whole answer.
type ModelResponse struct {
	Message         llm.Message
	FinishReason    llm.FinishReason
	RawFinishReason string // the provider's own word, if it is another
	FinishMessage   string
	ResponseID      string
	Model           string
	Usage           llm.Usage // of this call alone
}

// ModelError is an attempt that failed.
type ModelError struct {
	Error Error
	// Partial says that a part of the answer had already been passed on.
	Partial bool
	// Received is what had come of the answer, unended calls closed. None of it
	// is in the history, and none of its calls is run.
	PartialContent []llm.Part
	// Usage is what the provider counted before it failed.
	Usage llm.Usage
}

// Error describes an error.
type Error struct {
	Type       string // such as api, deadline, policy or panic; package loop defines the types
	Message    string
	Status     int           // of HTTP
	Code       string        // the provider's
	RetryAfter time.Duration // what the provider asked for
	Retryable  bool
}

// ModelRetry says that the call will be tried again, after a wait.
type ModelRetry struct {
	Wait   time.Duration
	Reason string
}

// Decision is what the loop does next, and why.
type Decision struct {
	Action    Action
	Reason    Reason
	ToolCalls int    // how many calls the turn has, with ReasonToolCalls
	By        string // the policy that decided, if one did
	Note      string
}

// Action is what was decided.
type Action string

// The actions. ContinueOnUnknown after a turn means that its calls are run (or, with
// ReasonContinuedResponse, that the model is called again); a step that ends without
// Stop or ForceFinal is followed by another.
const (
	Continue   Action = "continue"
	End        Action = "end"         // the natural end: nothing is left to do
	Stop       Action = "stop"        // something else ends the run
	ForceFinal Action = "force_final" // one more model call, without tools
	Suspend    Action = "suspend"
)

// Cause is why something was decided, and why a run ended.
type Reason string

// The causes.
const (
	ReasonToolCalls         Reason = "tool_calls" // the turn has calls
	ReasonEndTurn           Reason = "end_turn"   // the turn has no calls
	ReasonMaxSteps          Reason = "max_steps"  // max_steps is reached
	ReasonBudget            Reason = "budget"
	ReasonStopCondition     Reason = "stop_condition"
	ReasonRunawayGuard      Reason = "runaway_guard" // the runaway guard
	ReasonClientTools       Reason = "client_tools"
	ReasonHandoff           Reason = "handoff"
	ReasonEndHook           Reason = "end_hook"
	ReasonContinuedResponse Reason = "continued_turn"
	ReasonForced            Reason = "forced"  // the final answer was forced
	ReasonStopped           Reason = "stopped" // somebody asked for it, after the step
	ReasonMalformedCall     Reason = "malformed_call"
	ReasonCancel            Reason = "cancel"
	ReasonDeadline          Reason = "deadline"
	ReasonError             Reason = "error"
	ReasonApproval          Reason = "approval"
	ReasonMiddleware        Reason = "middleware" // a policy of the caller's
)

// ToolArguments says that a call is run with other arguments than those the
// model sent.
type ToolArguments struct {
	ToolCallID string
	Arguments  string
	Reason     string // empty_object, defaults, repair, edit
}

// ToolStart says that a call's tool was entered.
type ToolStart struct {
	ToolCallID string
	Name       string
	Arguments  string // what the tool got
}

// ToolEnd says that a call's tool has returned, and with what.
type ToolEnd struct {
	ToolCallID string
	Outcome    Outcome
	Result     llm.ToolResult
}

// Outcome is how a tool that was run ended.
type Outcome string

// The outcomes.
const (
	OutcomeOK       Outcome = "ok"
	OutcomeError    Outcome = "error"
	OutcomePanic    Outcome = "panic"
	OutcomeTimeout  Outcome = "timeout"
	OutcomeCanceled Outcome = "cancelled"
)

// ToolSkip says that a call got a result without being run.
type ToolSkip struct {
	ToolCallID string
	Name       string
	Reason     string // one of the reasons below, or a reason that middleware sets
	Result     llm.ToolResult
}

// The causes for which a loop gives a call a result of its own; those of policies may be
// other words. The first four are refusals of what cannot be run.
const (
	SkipUnknownTool        = "unknown_tool"
	SkipMalformedArguments = "malformed_arguments"
	SkipInvalidArguments   = "invalid_arguments"
	SkipTruncated          = "truncated"
	SkipDenied             = "denied"
	SkipDuplicate          = "duplicate"
	SkipCanceled           = "cancelled"
)

// Abandoned says that a running tool is not waited for any longer.
type Abandoned struct{ ToolCallID string }

// StepEnd ends a step.
type StepEnd struct{}

// HistoryRewrite reports that the messages of the next request do not extend those of the
// previous request.
type HistoryRewrite struct {
	Reason string // compaction, middleware, resume …
	By     string
}

// Canceled reports that the loop observed the end of its context.
type Canceled struct{ Reason string }

// Suspended says that the run waits for somebody outside.
type Suspended struct {
	Pending []string // the calls that wait
	Digest  string   // of the checkpoint
}

// Resumed says which suspended run this one continues.
type Resumed struct{ Of string }

// Warning reports an anomaly that the loop repaired or ignored.
type Warning struct {
	Code       string
	Message    string
	ToolCallID string // the call it is about, if any
}

// Custom is an event that middleware defines.
type Custom struct {
	Name string
	Data json.RawMessage
}

// RunEnd is the last event of every run.
type RunEnd struct {
	// Stop is why the run ended; ReasonEndTurn is the natural end.
	StopReason   Reason
	FinishReason llm.FinishReason // of the last turn
	Steps        int              // steps that were begun
	ModelCalls   int              // model calls, retries included
	Usage        llm.Usage        // the sum
	// UsageBy is the sum by purpose, where there was another than the answer.
	UsageBy map[Purpose]llm.Usage
	Pending []string // calls that are left for somebody else to answer
	// Appended are the messages that came after the last request.
	AppendedMessages []llm.Message
	Error            *Error // nil if the run did not fail
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

// SinkFunc makes a function a Sink.
type SinkFunc func(Event) error

// Write calls f.
func (f SinkFunc) Write(ev Event) error { return f(ev) }

// Memory is a Sink that keeps the events; its zero value is ready. It is for
// one run at a time.
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
	out := make(Options, 0, len(o)+1)
	for _, x := range o {
		if x.Name != name {
			out = append(out, x)
		}
	}
	return append(out, Option{name, value})
}
