package deepagents

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop/internal/dialect"
	"github.com/looptape/looptape/trace"
)

// Part is a part of the full stream. Type determines which fields are set. New types may
// be added, so ignore unknown ones.
type Part struct {
	Type       string // text-delta, reasoning, tool-call, tool-result, error or abort
	TextDelta  string // text-delta, reasoning
	ToolCallID string
	ToolName   string
	Args       json.RawMessage // tool-call, tool-result: the arguments of the tool; a JSON string if they are not JSON
	Result     json.RawMessage // tool-result: a JSON value; text as a JSON string
	IsError    bool            // tool-result
	Err        error           // error
}

// MarshalJSON encodes the part as the reference loop does.
func (p Part) MarshalJSON() ([]byte, error) {
	var members []any
	switch p.Type {
	case "text-delta", "reasoning":
		members = []any{"textDelta", p.TextDelta}
	case "tool-call":
		members = []any{"toolCallId", p.ToolCallID, "toolName", p.ToolName, "args", p.Args}
	case "tool-result":
		members = []any{"toolCallId", p.ToolCallID, "toolName", p.ToolName, "args", p.Args, "result", p.Result, "isError,omitzero", p.IsError}
	case "error":
		members = []any{"error", fmt.Sprint(p.Err)}
	}
	return dialect.Object(append([]any{"type", p.Type}, members...)...)
}

// Parts converts the events of a run to the full stream of the reference loop. A call
// appears when its tool starts, or when it gets a result without a tool. A result appears
// immediately. Client-side calls and calls that wait for a decision appear when the run
// ends with them. The end of the run has a part only for an error or an abort.
func Parts(events iter.Seq2[trace.Event, error]) iter.Seq[Part] {
	return dialect.Parts(events, func() func(trace.Event, error) []Part { return (&projection{args: map[string]string{}}).parts })
}

// projection contains the calls of the step that have no part yet, and their arguments.
type projection struct {
	calls    []llm.ToolCall
	args     map[string]string
	canceled bool
}

func (p *projection) parts(ev trace.Event, err error) []Part {
	switch b := ev.Body.(type) {
	case trace.ModelDelta:
		switch b.Type {
		case trace.DeltaText:
			return []Part{{Type: "text-delta", TextDelta: b.Text}}
		case trace.DeltaReasoning:
			return []Part{{Type: "reasoning", TextDelta: b.Text}}
		default:
		}
	case trace.ModelResponse:
		p.calls, p.args = b.Message.Calls(), map[string]string{}
		for _, c := range p.calls {
			p.args[c.ID] = c.Arguments
		}
	case trace.Decision:
		if b.Reason == trace.ReasonClientTools || b.Action == trace.Suspend {
			var all []Part
			for _, c := range p.calls {
				all = append(all, p.call(c.ID, c.Name))
			}
			return all
		}
	case trace.ToolStart:
		p.args[b.ToolCallID] = b.Arguments
		return []Part{p.begin(b.ToolCallID, b.Name)}
	case trace.ToolEnd:
		return []Part{p.result(b.Result)}
	case trace.ToolSkip:
		return []Part{p.begin(b.ToolCallID, b.Name), p.result(b.Result)}
	case trace.Canceled:
		p.canceled = b.Reason != string(trace.ReasonDeadline)
	case trace.RunEnd:
		switch {
		case p.canceled || b.StopReason == trace.ReasonCancel:
			return []Part{{Type: "abort"}}
		case err != nil:
			return []Part{{Type: "error", Err: err}}
		}
	default:
	}
	return nil
}

func (p *projection) begin(id, name string) Part {
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
