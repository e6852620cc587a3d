package agentloop

import (
	"encoding/json"
	"iter"
	"time"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/loop/preset/dialect"
	"github.com/looptape/looptape/trace"
)

// StreamEvent is an event of Stream. Which fields are set depends on Type.
type StreamEvent struct {
	Type      string // step_start, text, thinking, tool_call_start, tool_call_end, step_end or done
	Step      int    // counted from 0, -1 before the first; not of text, thinking and done
	Text      string // text, thinking
	CallID    string // tool_call_start, tool_call_end
	ToolName  string // tool_call_start
	Arguments json.RawMessage
	Usage     llm.Usage     // step_end
	Latency   time.Duration // of the tool in tool_call_end, of the model in step_end
	Response  *Response     // done
}

// MarshalJSON spells the event as the document does.
func (e StreamEvent) MarshalJSON() ([]byte, error) {
	m := []dialect.Member{{Key: "type", Value: e.Type}}
	add := func(key string, value any) { m = append(m, dialect.Member{Key: key, Value: value}) }
	switch e.Type {
	case "text", "thinking":
		add("text", e.Text)
	case "done":
		add("response", e.Response)
	default:
		add("step", e.Step)
	}
	switch e.Type {
	case "tool_call_start":
		add("callId", e.CallID)
		add("toolName", e.ToolName)
		add("arguments", e.Arguments)
	case "tool_call_end":
		add("callId", e.CallID)
		add("latencyMs", milliseconds(e.Latency))
	case "step_end":
		add("usage", usageOf(e.Usage))
		add("latencyMs", milliseconds(e.Latency))
	}
	return dialect.Object(m...)
}

// MarshalJSON spells the response as the document does.
func (r *Response) MarshalJSON() ([]byte, error) {
	m := []dialect.Member{
		{Key: "content", Value: json.RawMessage(llm.AppendParts(nil, r.Content))},
		{Key: "finishReason", Value: r.FinishReason},
		{Key: "usage", Value: usageOf(r.Usage)},
	}
	if r.Model != "" {
		m = append(m, dialect.Member{Key: "model", Value: r.Model})
	}
	if r.Reason != "" {
		m = append(m, dialect.Member{Key: "reason", Value: r.Reason})
	}
	if r.Err != nil {
		m = append(m, dialect.Member{Key: "error", Value: r.Err.Error()})
	}
	return dialect.Object(m...)
}

// Events projects a run's events to those of Stream. A step's tools stand before its
// step_end; all its calls are told to start before any of them is told to end.
func Events(events iter.Seq2[trace.Event, error]) iter.Seq[StreamEvent] {
	return dialect.Parts(events, func() func(trace.Event, error) []StreamEvent { return newProjection().parts })
}

// projection is the state of a projection.
type projection struct {
	steps     int // that were begun
	turn      *trace.ModelResponse
	answered  bool // the step has its turn
	asked     time.Duration
	latency   time.Duration
	told      map[string]bool          // the calls that were told to start
	started   map[string]time.Duration // call → when its tool was
	guardrail string                   // the reason of the one that tripped
	tripped   bool
}

func newProjection() *projection {
	return &projection{told: map[string]bool{}, started: map[string]time.Duration{}}
}

func (p *projection) parts(ev trace.Event, err error) []StreamEvent {
	switch b := ev.Body.(type) {
	case trace.StepStart:
		return p.begin()
	case trace.ModelRequest:
		if ev.Purpose == trace.PurposeAnswer {
			p.asked = ev.At
		}
	case trace.ModelDelta:
		return delta(ev.Purpose, b)
	case trace.ModelResponse:
		if ev.Purpose == trace.PurposeAnswer {
			p.turn, p.answered, p.latency = &b, true, ev.At-p.asked
		}
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
			return []StreamEvent{{Type: "step_end", Step: ev.Step, Usage: p.turn.Usage, Latency: p.latency}}
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

func delta(purpose trace.Purpose, d trace.ModelDelta) []StreamEvent {
	switch {
	case purpose != trace.PurposeAnswer:
	case d.Type == trace.DeltaText:
		return []StreamEvent{{Type: "text", Text: d.Text}}
	case d.Type == trace.DeltaReasoning:
		return []StreamEvent{{Type: "thinking", Text: d.Text}}
	}
	return nil
}

// decided are the calls of a step that are about to be run. A guardrail that trips
// before its step leaves one that has only begun.
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

// calls are the calls of the step's turn. What a run was left with is of no turn of
// its own: each is told when it is run.
func (p *projection) calls(step int) (parts []StreamEvent) {
	if p.turn == nil {
		return nil
	}
	for _, c := range p.turn.Message.Calls() {
		parts = append(parts, p.start(step, c.ID, c.Name, c.Arguments)...)
	}
	return parts
}

// start tells a call to start, once.
func (p *projection) start(step int, id, name, args string) []StreamEvent {
	if p.told[id] {
		return nil
	}
	p.told[id] = true
	return []StreamEvent{{Type: "tool_call_start", Step: step, CallID: id, ToolName: name, Arguments: object(args)}}
}

// object is the arguments of a call; what is no JSON object is an empty one.
func object(args string) json.RawMessage {
	if !jsonio.IsObject(args) {
		args = "{}"
	}
	return json.RawMessage(args)
}

// response is what the events tell of the run's response.
func (p *projection) response(b trace.RunEnd, err error) *Response {
	err = dialect.Failure(err, b)
	r := &Response{Usage: b.Usage, Reason: reasonOf(b.StopReason, err), Err: err}
	if t := p.turn; t != nil {
		r.Content, r.Model, r.FinishReason = t.Message.Parts, t.Model, finishReason(t.FinishReason, len(t.Message.Calls()))
	}
	if p.tripped {
		r.Content = []llm.Part{llm.Text{Text: p.guardrail}}
	}
	return r
}

// reasonOf is the document's word for why a run ended. What it has no word for is
// something that stopped the run.
func reasonOf(stop trace.Reason, err error) Reason {
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
