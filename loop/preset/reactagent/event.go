package reactagent

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop/internal/dialect"
	"github.com/looptape/looptape/trace"
)

// Event is an event of the reference loop. Type determines which fields are set. New
// types may be added, so ignore unknown ones.
type Event struct {
	Type    string          // token, modelCompleted, toolStarted, toolCompleted, completed or failed
	Text    string          // token
	Name    string          // tool name
	Input   json.RawMessage // toolStarted: the arguments; a JSON string if they are not JSON
	Result  json.RawMessage // toolCompleted: a JSON value; text as a JSON string
	IsError bool            // modelCompleted, toolCompleted
	ID      string          // call id
	Err     error           // failed
	// Usage is that of a model call (modelCompleted), or of all model calls of the run, summaries
	// included (completed, failed). The runs of sub-agents have their own.
	Usage llm.Usage
	// Duration is that of a model call (modelCompleted), a tool call (toolCompleted) or the run
	// (completed, failed).
	Duration time.Duration
}

// Parts converts the events of a run to those of the reference loop, and adds modelCompleted at
// the end of each model call, also of a failed one. Tool events appear when tools start and
// end. The starts of a step are in call order. A call with a result
// but no tool run starts and ends immediately. Skipped steps and calls that a cancel
// interrupts have no events. The last event is completed, or failed if the run failed.
func Parts(events iter.Seq2[trace.Event, error]) iter.Seq[Event] {
	return dialect.Parts(events, func() func(trace.Event, error) []Event {
		return (&projection{waiting: map[string][]Event{}, begun: map[string]time.Duration{}}).events
	})
}

// projection contains the last response's calls and the events that wait for earlier ones.
type projection struct {
	calls   []llm.ToolCall
	next    int
	waiting map[string][]Event // by call id

	asking bool                     // a model call is under way
	asked  time.Duration            // when it began
	begun  map[string]time.Duration // when the calls began, by call id
}

func (p *projection) events(ev trace.Event, err error) []Event {
	switch b := ev.Body.(type) {
	case trace.ModelDelta:
		if b.Type == trace.DeltaText {
			return []Event{{Type: "token", Text: b.Text}}
		}
	case trace.ModelRequest:
		p.asking, p.asked = true, ev.At
	case trace.ModelError:
		if ev.Purpose == trace.PurposeAnswer {
			return p.answered(Event{IsError: true, Usage: b.Usage}, ev.At)
		}
	case trace.ModelResponse:
		p.calls, p.next = b.Message.Calls(), 0
		clear(p.waiting)
		return p.answered(Event{Usage: b.Usage}, ev.At)
	case trace.ToolStart:
		p.begun[b.ToolCallID] = ev.At
		return p.begin(b.ToolCallID, started(b.ToolCallID, b.Name, b.Arguments))
	case trace.ToolEnd:
		e := completed(b.ToolCallID, b.Result)
		e.Duration = ev.At - p.begun[b.ToolCallID]
		return append(p.late(b.ToolCallID), e)
	case trace.ToolSkip:
		return p.skipped(ev.Step, b)
	case trace.StepEnd:
		var rest []Event
		for _, c := range p.calls {
			rest = append(rest, p.late(c.ID)...)
		}
		return rest
	case trace.RunEnd:
		e := Event{Type: "completed", Usage: b.Usage, Duration: ev.At}
		if err != nil {
			e.Type, e.Err = "failed", err
		}
		return []Event{e}
	default:
	}
	return nil
}

// answered returns the end of a model call. A response that middleware replaces has one end.
func (p *projection) answered(e Event, at time.Duration) []Event {
	if !p.asking {
		return nil
	}
	p.asking = false
	e.Type, e.Duration = "modelCompleted", at-p.asked
	return []Event{e}
}

// begin takes the first events of a call and returns the events to yield now. The events
// wait until all earlier calls have begun. A call of an earlier run does not wait.
func (p *projection) begin(call string, events ...Event) (now []Event) {
	if p.find(call) < 0 {
		return events
	}
	p.waiting[call] = events
	for p.next < len(p.calls) {
		id := p.calls[p.next].ID
		events, ok := p.waiting[id]
		if !ok {
			break
		}
		now = append(now, events...)
		p.waiting[id] = nil
		p.next++
	}
	return now
}

// late returns the events of a call that wait for a client-side call, which never begins.
func (p *projection) late(call string) []Event {
	events, ok := p.waiting[call]
	if ok {
		p.waiting[call] = nil
	}
	return events
}

func (p *projection) skipped(step int, b trace.ToolSkip) []Event {
	if b.Reason == trace.SkipDuplicate || b.Reason == trace.SkipCanceled {
		return p.begin(b.ToolCallID)
	}
	args, i := "", p.find(b.ToolCallID)
	switch {
	case i >= 0:
		args = p.calls[i].Arguments
	case step != trace.NoStep:
		return nil
	}
	return p.begin(b.ToolCallID, started(b.ToolCallID, b.Name, args), completed(b.ToolCallID, b.Result))
}

// find returns the index of a call in the last response, or -1.
func (p *projection) find(id string) int {
	return slices.IndexFunc(p.calls, func(c llm.ToolCall) bool { return c.ID == id })
}

func started(id, name, args string) Event {
	return Event{Type: "toolStarted", ID: id, Name: name, Input: dialect.Value(args, "{}")}
}

func completed(id string, r llm.ToolResult) Event {
	return Event{Type: "toolCompleted", ID: id, Name: r.Name, Result: dialect.Value(r.Text(), `""`), IsError: r.IsError}
}

// MarshalJSON encodes the event with the names of the reference documentation.
func (e Event) MarshalJSON() ([]byte, error) {
	var members []any
	switch e.Type {
	case "token":
		members = []any{"text", e.Text}
	case "modelCompleted":
		members = []any{"isError,omitzero", e.IsError}
	case "toolStarted":
		members = []any{"name", e.Name, "input", e.Input, "id", e.ID}
	case "toolCompleted":
		members = []any{"name", e.Name, "result", e.Result, "id", e.ID, "isError,omitzero", e.IsError}
	case "failed":
		members = []any{"error", fmt.Sprint(e.Err)}
	}
	members = append([]any{"type", e.Type}, members...)
	members = append(members, "usage,omitzero", usage(e.Usage), "duration,omitzero", dialect.Milliseconds(e.Duration))
	return dialect.Object(members...)
}

// usage are the tokens of an event.
type usage llm.Usage

// MarshalJSON encodes the usage with the names of the reference documentation's language.
func (u usage) MarshalJSON() ([]byte, error) {
	return dialect.Object("inputTokens", u.InputTokens, "outputTokens", u.OutputTokens)
}
