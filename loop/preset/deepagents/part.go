package deepagents

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop/preset/dialect"
	"github.com/looptape/looptape/trace"
)

// Part is a part of the full stream. Which fields are set depends on Type; who
// switches on it ignores what it does not know.
type Part struct {
	Type       string // text-delta, reasoning, tool-call, tool-result, error or abort
	TextDelta  string // text-delta, reasoning
	ToolCallID string
	ToolName   string
	Args       json.RawMessage // tool-call, tool-result: what the tool is run with; what is no JSON as a string
	Result     json.RawMessage // tool-result: a value, or a text as a string
	IsError    bool            // tool-result
	Err        error           // error
}

// MarshalJSON spells the part as the document does.
func (p Part) MarshalJSON() ([]byte, error) {
	m := []dialect.Member{{Key: "type", Value: p.Type}}
	add := func(key string, value any) { m = append(m, dialect.Member{Key: key, Value: value}) }
	switch p.Type {
	case "text-delta", "reasoning":
		add("textDelta", p.TextDelta)
	case "tool-call", "tool-result":
		add("toolCallId", p.ToolCallID)
		add("toolName", p.ToolName)
		add("args", p.Args)
	case "error":
		add("error", fmt.Sprint(p.Err))
	}
	if p.Type == "tool-result" {
		add("result", p.Result)
		if p.IsError {
			add("isError", true)
		}
	}
	return dialect.Object(m...)
}

// Parts projects a run's events to the document's full stream. A call is told when
// its tool is entered, or when it gets a result without, and a result as soon as it
// is there; calls that are left for the caller to answer, or that wait for a decision,
// are told when the run ends with them. The run's end is no part, but for an error and an abort.
func Parts(events iter.Seq2[trace.Event, error]) iter.Seq[Part] {
	return dialect.Parts(events, func() func(trace.Event, error) []Part { return (&projection{args: map[string]string{}}).parts })
}

// projection is the calls of the step that were not told, and what each is run with.
type projection struct {
	calls     []llm.ToolCall
	args      map[string]string
	cancelled bool
}

func (p *projection) parts(ev trace.Event, err error) []Part {
	if ev.Purpose != trace.PurposeAnswer {
		return nil
	}
	switch b := ev.Body.(type) {
	case trace.ModelDelta:
		switch b.Type {
		case trace.DeltaText:
			return []Part{{Type: "text-delta", TextDelta: b.Text}}
		case trace.DeltaReasoning:
			return []Part{{Type: "reasoning", TextDelta: b.Text}}
		case trace.DeltaCall, trace.DeltaArguments, trace.DeltaCallEnd:
		}
	case trace.ModelResponse:
		p.turn(b.Message.Calls())
	case trace.Decision:
		if b.Reason == trace.ReasonClientTools || b.Action == trace.Suspend {
			return p.all()
		}
	case trace.ToolStart:
		p.args[b.ToolCallID] = b.Arguments
		return []Part{p.begins(b.ToolCallID, b.Name)}
	case trace.ToolEnd:
		return []Part{p.result(b.Result)}
	case trace.ToolSkip:
		return []Part{p.begins(b.ToolCallID, b.Name), p.result(b.Result)}
	case trace.Canceled:
		p.cancelled = b.Reason != string(trace.ReasonDeadline)
	case trace.RunEnd:
		return p.end(b, err)
	default:
	}
	return nil
}

func (p *projection) turn(calls []llm.ToolCall) {
	p.calls, p.args = calls, map[string]string{}
	for _, c := range calls {
		p.args[c.ID] = c.Arguments
	}
}

// all tells the calls of a turn that were not told.
func (p *projection) all() []Part {
	var out []Part
	for _, c := range p.calls {
		out = append(out, p.call(c.ID, c.Name))
	}
	return out
}

// begins tells a call.
func (p *projection) begins(id, name string) Part {
	p.calls = slices.DeleteFunc(p.calls, func(c llm.ToolCall) bool { return c.ID == id })
	return p.call(id, name)
}

func (p *projection) call(id, name string) Part {
	return Part{Type: "tool-call", ToolCallID: id, ToolName: name, Args: dialect.Value(p.args[id], "{}")}
}

func (p *projection) result(r llm.ToolResult) Part {
	out := p.call(r.ID, r.Name)
	out.Type, out.Result, out.IsError = "tool-result", dialect.Value(r.Text(), `""`), r.IsError
	return out
}

func (p *projection) end(b trace.RunEnd, err error) []Part {
	err = dialect.Failure(err, b)
	switch {
	case p.cancelled || b.StopReason == trace.ReasonCancel:
		return []Part{{Type: "abort"}}
	case err != nil:
		return []Part{{Type: "error", Err: err}}
	}
	return nil
}
