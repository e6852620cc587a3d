package agentloop

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/looptape/looptape/trace"
)

// Names of the agent's events, each with the type of Data, codes of warnings (see also
// [middleware.WarnToolNotFound]), and stop reasons of a run.
const (
	OnAgentCreate        = "onAgentCreate"        // *Loop
	OnRunStart           = "onRunStart"           // Input
	OnStepStart          = "onStepStart"          // nil
	OnStepComplete       = "onStepComplete"       // *Response, before its tools run
	OnToolCallStart      = "onToolCallStart"      // *middleware.ToolStarting
	OnToolCallComplete   = "onToolCallComplete"   // middleware.ToolDone
	OnToolCallError      = "onToolCallError"      // *middleware.ToolFailed
	OnWarning            = "onWarning"            // trace.Warning
	OnApprovalRequested  = "onApprovalRequested"  // middleware.ApprovalRequest
	OnApprovalResolved   = "onApprovalResolved"   // ApprovalResolved
	OnGuardrailTriggered = "onGuardrailTriggered" // middleware.GuardrailTrigger
	OnRunComplete        = "onRunComplete"        // *Report

	// Events of the model client, with Event.Provider, Event.Attempt and Event.Status.
	OnModelRequest  = "onModelRequest"  // *llm.Request, before it is sent
	OnModelStart    = "onModelStart"    // nil, when a streaming response begins: at its HTTP header, or else at its first event; Time is since the request
	OnModelResponse = "onModelResponse" // *Response with usage, model and finish reason; Time is the latency
	OnModelError    = "onModelError"    // error, such as *llm.APIError; Time is the latency
	OnModelRetry    = "onModelRetry"    // nil, before the next request; Time is the delay

	WarnToolRemoved    = "tool_removed"
	WarnToolAdded      = "tool_added"
	WarnCallIDNotFound = "approval_callid_not_found"

	// Stop reasons of a run.
	Done      trace.Reason = "done"
	Stopped   trace.Reason = "stopped"
	Failed    trace.Reason = "error"
	Guardrail trace.Reason = "guardrail"
	MaxSteps  trace.Reason = "max_steps"
)

// Event is an event of an agent. Subscribers may change the value that Data points to
// only in onToolCallStart and onToolCallError, as its type documents.
type Event struct {
	Name  string
	Agent string // agent id, which is the conversation id; empty if no agent emitted the event
	Run   string // run id; empty outside of a run
	Step  int    // counted from 0; set only for steps, tools and model calls
	// Provider is the name of the protocol of a client, empty for other models. Attempt is the
	// number of the attempt of the step, from 1. Both are set only for model calls.
	Provider string
	Attempt  int
	// Status is the HTTP status of the response in onModelStart, onModelResponse and onModelError;
	// 0 if the client got none.
	Status int
	Time   time.Duration
	Data   any
}

// Bus delivers events to subscribers. The zero value is ready to use. Agents may share a
// bus. Other code, such as the model, may emit its own events. It is safe for use by many
// goroutines.
type Bus struct {
	mu   sync.Mutex
	subs []*func(context.Context, Event) error
}

// Subscribe registers f for each event. Emit returns after all subscribers have returned.
// An error of a subscriber ends the run. The cancel function removes the subscription.
func (b *Bus) Subscribe(f func(ctx context.Context, ev Event) error) (cancel func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.subs = append(b.subs, &f)
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.subs = slices.DeleteFunc(b.subs, func(s *func(context.Context, Event) error) bool { return s == &f })
	}
}

// Emit calls the subscribers in the order of their subscription. It stops at the first
// error and returns it.
func (b *Bus) Emit(ctx context.Context, ev Event) error {
	b.mu.Lock()
	subs := slices.Clone(b.subs)
	b.mu.Unlock()
	for _, s := range subs {
		if err := (*s)(ctx, ev); err != nil {
			return err
		}
	}
	return nil
}
