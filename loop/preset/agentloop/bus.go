package agentloop

import (
	"context"
	"slices"
	"sync"
)

// The names of the agent's events, and what their Data is.
const (
	OnAgentCreate        = "onAgentCreate"        // *Loop
	OnRunStart           = "onRunStart"           // Input
	OnStepStart          = "onStepStart"          // nil
	OnStepComplete       = "onStepComplete"       // *Response, before its tools run
	OnToolCallStart      = "onToolCallStart"      // *middleware.ToolStarting
	OnToolCallComplete   = "onToolCallComplete"   // middleware.ToolDone
	OnToolCallError      = "onToolCallError"      // *middleware.ToolFailed
	OnWarning            = "onWarning"            // Warning
	OnApprovalRequested  = "onApprovalRequested"  // middleware.ApprovalRequest
	OnApprovalResolved   = "onApprovalResolved"   // ApprovalResolved
	OnGuardrailTriggered = "onGuardrailTriggered" // middleware.GuardrailTrigger
	OnRunComplete        = "onRunComplete"        // *Report
)

// Event is something that has happened. What Data points to may be changed where
// its type says so, by onToolCallStart and onToolCallError alone.
type Event struct {
	Name  string
	Agent string // its id; empty for what is not of an agent
	Run   string // its id; empty outside of a run
	Step  int    // counted from 0; only of steps and tools
	Data  any
}

// Bus passes events on. Its zero value is ready. Agents may share one, and others,
// such as the model, may emit events of their own on it. It may be used by many
// goroutines at once.
type Bus struct {
	mu   sync.Mutex
	next int
	subs []subscription
}

type subscription struct {
	id int
	f  func(context.Context, Event) error
}

// Subscribe has f called for each event. An event is over when all who subscribed
// have returned; an error of one ends the run. Calling cancel ends it.
func (b *Bus) Subscribe(f func(ctx context.Context, ev Event) error) (cancel func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	id := b.next
	b.next++
	b.subs = append(b.subs, subscription{id, f})
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.subs = slices.DeleteFunc(b.subs, func(s subscription) bool { return s.id == id })
	}
}

// Emit tells those who subscribed of an event, in the order in which they did, until
// one fails.
func (b *Bus) Emit(ctx context.Context, ev Event) error {
	b.mu.Lock()
	subs := slices.Clone(b.subs)
	b.mu.Unlock()
	for _, s := range subs {
		if err := s.f(ctx, ev); err != nil {
			return err
		}
	}
	return nil
}

// Warning is something odd that does not stop the agent.
type Warning struct {
	Code    string
	Message string
}

// The codes of warnings; see middleware.WarnToolNotFound, too.
const (
	WarnToolRemoved    = "tool_removed"
	WarnToolAdded      = "tool_added"
	WarnCallIDNotFound = "approval_callid_not_found"
)
