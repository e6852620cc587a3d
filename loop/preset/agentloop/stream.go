package agentloop

import (
	"encoding/json"
	"iter"
	"time"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop/internal/dialect"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/trace"
)

// StreamEvent is an event of [Loop.Stream]. Type determines which fields are set.
type StreamEvent struct {
	Type      string // step_start, text, thinking, tool_call_start, tool_call_end, step_end or done
	Step      int    // counted from 0, -1 before the first; not set for text, thinking and done
	Text      string // text, thinking
	CallID    string // tool_call_start, tool_call_end
	ToolName  string // tool_call_start
	Arguments json.RawMessage
	Usage     llm.Usage     // step_end
	Latency   time.Duration // of the tool in tool_call_end, of the model in step_end
	Response  *Response     // done
}

// MarshalJSON encodes the event as the reference loop does.
func (e StreamEvent) MarshalJSON() ([]byte, error) {
	var members []any
	switch e.Type {
	case "text", "thinking":
		members = []any{"text", e.Text}
	case "tool_call_start":
		members = []any{"step", e.Step, "callId", e.CallID, "toolName", e.ToolName, "arguments", e.Arguments}
	case "tool_call_end":
		members = []any{"step", e.Step, "callId", e.CallID, "latencyMs", dialect.Milliseconds(e.Latency)}
	case "step_end":
		members = []any{"step", e.Step, "usage", usageOf(e.Usage), "latencyMs", dialect.Milliseconds(e.Latency)}
	case "done":
		members = []any{"response", e.Response}
	default:
		members = []any{"step", e.Step}
	}
	return dialect.Object(append([]any{"type", e.Type}, members...)...)
}

// MarshalJSON encodes the response as the reference loop does.
func (r *Response) MarshalJSON() ([]byte, error) {
	var failure *string
	if r.Err != nil {
		failure = new(r.Err.Error())
	}
	return dialect.Object("content", json.RawMessage(llm.AppendParts(nil, r.Content)), "finishReason", r.FinishReason, "usage", usageOf(r.Usage),
		"model,omitzero", r.Model, "reason,omitzero", r.Reason, "error,omitzero", failure)
}

// Events converts the events of a run to those of [Loop.Stream]. The tools of a step
// precede its step_end. All tool_call_start events of a step precede its tool_call_end
// events.
func Events(events iter.Seq2[trace.Event, error]) iter.Seq[StreamEvent] {
	return dialect.Parts(events, func() func(trace.Event, error) []StreamEvent {
		return (&projection{announced: map[string]bool{}, started: map[string]time.Duration{}}).parts
	})
}

type projection struct {
	steps     int // number of started steps
	last      *trace.ModelResponse
	answered  bool // true if the step has its response
	requested time.Duration
	latency   time.Duration
	announced map[string]bool          // calls with a tool_call_start
	started   map[string]time.Duration // call id → start time of its tool
	guardrail string                   // reason of the guardrail that triggered
	tripped   bool
}

func (p *projection) parts(ev trace.Event, err error) []StreamEvent {
	switch b := ev.Body.(type) {
	case trace.StepStart:
		return p.begin()
	case trace.ModelRequest:
		p.requested = ev.At
	case trace.ModelDelta:
		switch b.Type {
		case trace.DeltaText:
			return []StreamEvent{{Type: "text", Text: b.Text}}
		case trace.DeltaReasoning:
			return []StreamEvent{{Type: "thinking", Text: b.Text}}
		default:
		}
	case trace.ModelResponse:
		p.last, p.answered, p.latency = &b, true, ev.At-p.requested
	case trace.Decision:
		return p.decided(ev, b)
	case trace.ToolStart:
		p.started[b.ToolCallID] = ev.At
		return p.start(ev.Step, b.ToolCallID, b.Name, b.Arguments)
	case trace.ToolEnd:
		return []StreamEvent{{Type: "tool_call_end", Step: ev.Step, CallID: b.ToolCallID, Latency: ev.At - p.started[b.ToolCallID]}}
	case trace.ToolSkip:
		return append(p.start(ev.Step, b.ToolCallID, b.Name, ""), StreamEvent{Type: "tool_call_end", Step: ev.Step, CallID: b.ToolCallID})
	case trace.StepEnd:
		if p.answered {
			return []StreamEvent{{Type: "step_end", Step: ev.Step, Usage: p.last.Usage, Latency: p.latency}}
		}
	case trace.RunEnd:
		return []StreamEvent{{Type: "done", Response: p.response(b, err)}}
	default:
	}
	return nil
}

func (p *projection) begin() []StreamEvent {
	p.steps++
	p.answered = false
	return []StreamEvent{{Type: "step_start", Step: p.steps - 1}}
}

// decided announces the calls of a step. A guardrail may trigger before its step begins.
func (p *projection) decided(ev trace.Event, d trace.Decision) []StreamEvent {
	switch d.Reason {
	case trace.ReasonToolCalls:
		return p.calls(ev.Step)
	case middleware.ReasonGuardrail:
		p.tripped, p.guardrail = true, d.Note
		if ev.Step == trace.NoStep {
			return p.begin()
		}
	default:
	}
	return nil
}

// calls announces the calls of the step's response. Those of an earlier run follow when they
// run.
func (p *projection) calls(step int) (parts []StreamEvent) {
	if p.last == nil {
		return nil
	}
	for _, c := range p.last.Message.Calls() {
		parts = append(parts, p.start(step, c.ID, c.Name, c.Arguments)...)
	}
	return parts
}

// start returns the tool_call_start of a call, once.
func (p *projection) start(step int, id, name, args string) []StreamEvent {
	if p.announced[id] {
		return nil
	}
	p.announced[id] = true
	return []StreamEvent{{Type: "tool_call_start", Step: step, CallID: id, ToolName: name, Arguments: object(args)}}
}

// object returns the arguments of a call if they are an object, otherwise {}.
func object(args string) json.RawMessage {
	if !jsonio.IsObject(args) {
		args = "{}"
	}
	return json.RawMessage(args)
}

// response returns the run's response as far as the events contain it.
func (p *projection) response(b trace.RunEnd, err error) *Response {
	r := &Response{Usage: b.Usage, Reason: reasonOf(b.StopReason, err), Err: err}
	if t := p.last; t != nil {
		r.Content, r.Model, r.FinishReason = t.Message.Parts, t.Model, finishReason(t.FinishReason, len(t.Message.Calls()))
	}
	if p.tripped {
		r.Content = []llm.Part{llm.Text{Text: p.guardrail}}
	}
	return r
}

// reasonOf returns the reference loop's reason; one without a counterpart means stopped.
func reasonOf(stop trace.Reason, err error) trace.Reason {
	switch {
	case err != nil:
		return Failed
	case stop == trace.ReasonEndTurn:
		return Done
	case stop == trace.ReasonMaxSteps:
		return MaxSteps
	case stop == middleware.ReasonGuardrail:
		return Guardrail
	}
	return Stopped
}
