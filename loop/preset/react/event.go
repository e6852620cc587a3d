package react

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop/preset/dialect"
	"github.com/looptape/looptape/trace"
)

// Event is an event of the document. Which fields are set depends on Type; there may
// be more types one day, so whoever switches on it ignores what it does not know.
type Event struct {
	Type    string          // token, toolStarted, toolCompleted, completed or failed
	Text    string          // token
	Name    string          // of the tool
	Input   json.RawMessage // toolStarted: the arguments; those that are not JSON as a JSON string
	Result  json.RawMessage // toolCompleted: a value, or a text as a JSON string
	IsError bool            // toolCompleted
	ID      string          // of the call
	Err     error           // failed
}

// Parts projects a run's events to those of the document. Tools are told as they start
// and end, the starts of a round in the order of its calls; a call that is answered
// without being run starts and ends at once, but of a round that is skipped, and of
// calls that a cancel cut off, nothing is told. The last event is completed, or failed
// if the run failed.
func Parts(events iter.Seq2[trace.Event, error]) iter.Seq[Event] {
	return dialect.Parts(events, func() func(trace.Event, error) []Event { return (&projection{held: map[string][]Event{}}).events })
}

// projection has the calls of the last turn, and what is to be told of those that wait
// for the ones before them.
type projection struct {
	calls []llm.ToolCall
	next  int
	held  map[string][]Event // by call
}

func (p *projection) events(ev trace.Event, err error) []Event {
	switch b := ev.Body.(type) {
	case trace.ModelDelta:
		if b.Type == trace.DeltaText && ev.Purpose == trace.PurposeAnswer {
			return []Event{{Type: "token", Text: b.Text}}
		}
	case trace.ModelResponse:
		if ev.Purpose == trace.PurposeAnswer {
			p.calls, p.next = b.Message.Calls(), 0
			clear(p.held)
		}
	case trace.ToolStart:
		return p.begins(b.ToolCallID, started(b.ToolCallID, b.Name, b.Arguments))
	case trace.ToolEnd:
		return append(p.late(b.ToolCallID), completed(b.ToolCallID, b.Result))
	case trace.ToolSkip:
		return p.skipped(ev.Step, b)
	case trace.StepEnd:
		return p.rest()
	case trace.RunEnd:
		if err = dialect.Failure(err, b); err != nil {
			return []Event{{Type: "failed", Err: err}}
		}
		return []Event{{Type: "completed"}}
	default:
	}
	return nil
}

// begins takes what is told of a call first, and returns what is told now: all calls
// before it have begun, or it waits for them. A call of no turn of this run, as one
// that it was left with, waits for nothing.
func (p *projection) begins(call string, events ...Event) (now []Event) {
	if p.find(call) < 0 {
		return events
	}
	p.held[call] = events
	for p.next < len(p.calls) {
		id := p.calls[p.next].ID
		events, ok := p.held[id]
		if !ok {
			break
		}
		now = append(now, events...)
		p.held[id] = nil
		p.next++
	}
	return now
}

// late is what still waits of a call whose tool has returned: one before it is left
// for the caller to answer, and never begins.
func (p *projection) late(call string) []Event {
	events, ok := p.held[call]
	if ok {
		p.held[call] = nil
	}
	return events
}

// rest is what still waits at the end of a step.
func (p *projection) rest() (events []Event) {
	for _, c := range p.calls {
		events = append(events, p.late(c.ID)...)
	}
	return events
}

func (p *projection) skipped(step int, b trace.ToolSkip) []Event {
	if b.Reason == trace.SkipDuplicate || b.Reason == trace.SkipCanceled {
		return p.begins(b.ToolCallID)
	}
	args, i := "", p.find(b.ToolCallID)
	switch {
	case i >= 0:
		args = p.calls[i].Arguments
	case step != trace.NoStep:
		return nil
	}
	return p.begins(b.ToolCallID, started(b.ToolCallID, b.Name, args), completed(b.ToolCallID, b.Result))
}

// find returns the place of a call in the last turn, or -1.
func (p *projection) find(id string) int {
	return slices.IndexFunc(p.calls, func(c llm.ToolCall) bool { return c.ID == id })
}

func started(id, name, args string) Event {
	return Event{Type: "toolStarted", ID: id, Name: name, Input: dialect.Value(args, "{}")}
}

func completed(id string, r llm.ToolResult) Event {
	return Event{Type: "toolCompleted", ID: id, Name: r.Name, Result: dialect.Value(r.Text(), `""`), IsError: r.IsError}
}

// MarshalJSON spells the event as the document names it and its values.
func (e Event) MarshalJSON() ([]byte, error) {
	m := []dialect.Member{{Key: "type", Value: e.Type}}
	add := func(key string, value any) { m = append(m, dialect.Member{Key: key, Value: value}) }
	switch e.Type {
	case "token":
		add("text", e.Text)
	case "toolStarted":
		add("name", e.Name)
		add("input", e.Input)
		add("id", e.ID)
	case "toolCompleted":
		add("name", e.Name)
		add("result", e.Result)
		add("id", e.ID)
		if e.IsError {
			add("isError", true)
		}
	case "failed":
		add("error", fmt.Sprint(e.Err))
	}
	return dialect.Object(m...)
}
