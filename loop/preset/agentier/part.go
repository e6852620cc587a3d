package agentier

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop/internal/dialect"
	"github.com/looptape/looptape/trace"
)

// Part is one call of a callback. Type determines which fields are set.
type Part struct {
	Type     string // the callback: onToken, onToolCall, onToolResult, onComplete or onError
	Token    string
	Name     string          // tool name
	Args     json.RawMessage // onToolCall; a JSON string if the arguments are not JSON
	Result   llm.ToolResult  // onToolResult: what the model reads
	Value    any             // onToolResult: what the tool returned; for a recorded trace the text of Result
	Complete *Result         // onComplete
	Err      error           // onError; an *Error if the failure has a code
}

// MarshalJSON encodes the part as the callback and its arguments, with the names of the
// reference documentation.
func (p Part) MarshalJSON() ([]byte, error) {
	var members []any
	switch p.Type {
	case "onToken":
		members = []any{"token", p.Token}
	case "onToolCall":
		members = []any{"name", p.Name, "args", p.Args}
	case "onToolResult":
		members = []any{"name", p.Name, "result", p.Value}
	case "onComplete":
		members = []any{"result", p.Complete}
	case "onError":
		if e, ok := errors.AsType[*Error](p.Err); ok {
			members = []any{"code", e.Code, "message", e.Err.Error()}
			break
		}
		members = []any{"message", fmt.Sprint(p.Err)}
	}
	return dialect.Object(append([]any{"callback", p.Type}, members...)...)
}

// Parts converts the events of a run to the callbacks of the reference loop. It yields all
// calls of a response in order before a tool runs, and a call from an earlier run when it is
// run. Only streaming responses have tokens. The last part is onComplete, or onError if the
// run failed.
func Parts(events iter.Seq2[trace.Event, error]) iter.Seq[Part] {
	return parts(events, func(string) any { return nil })
}

// parts converts the events of a run. value returns what the tool of a call returned, if known.
func parts(events iter.Seq2[trace.Event, error], value func(callID string) any) iter.Seq[Part] {
	return dialect.Parts(events, func() func(trace.Event, error) []Part {
		return (&projection{value: value, running: map[string]int{}}).parts
	})
}

type projection struct {
	res      Result
	value    func(callID string) any
	streamed bool
	returns  bool            // a run whose time is over has a result
	schema   json.RawMessage // schema of the output
	calls    []llm.ToolCall  // calls of the last response
	running  map[string]int  // call id → index in res.ToolCalls
	code     string          // code of the error if the run fails now
}

func (p *projection) parts(ev trace.Event, err error) []Part {
	p.noteFailure(ev.Body)
	switch b := ev.Body.(type) {
	case trace.RunStart:
		delivery, _ := b.Options.Lookup("delivery")
		p.streamed = delivery != string(llm.NonStreaming)
		mode, _ := b.Options.Lookup("deadline_mode")
		p.returns = mode == "return"
	case trace.ModelConfig:
		p.schema = b.Settings.OutputSchema
	case trace.ModelRequest:
		p.res.Usage.Iterations = ev.Step + 1
		p.res.Messages = append(p.res.Messages[:b.PrefixMessages:b.PrefixMessages], b.NewMessages...)
	case trace.ModelDelta:
		if b.Type == trace.DeltaText && p.streamed {
			return []Part{{Type: "onToken", Token: b.Text}}
		}
	case trace.ModelResponse:
		p.calls, p.res.Output = b.Message.Calls(), b.Message.Text()
	case trace.Decision:
		if b.Reason == trace.ReasonToolCalls {
			parts := make([]Part, len(p.calls))
			for i, c := range p.calls {
				parts[i] = Part{Type: "onToolCall", Name: c.Name, Args: dialect.Value(c.Arguments, "{}")}
			}
			return parts
		}
	case trace.ToolStart:
		call := ToolCall{ID: b.ToolCallID, Name: b.Name, Args: dialect.Value(b.Arguments, "{}"), Duration: ev.At}
		p.running[call.ID] = len(p.res.ToolCalls)
		p.res.ToolCalls = append(p.res.ToolCalls, call)
		if ev.Step == trace.NoStep { // a call from an earlier run has no part yet
			return []Part{{Type: "onToolCall", Name: call.Name, Args: call.Args}}
		}
	case trace.ToolEnd:
		c := &p.res.ToolCalls[p.running[b.Result.ID]]
		c.Result, c.Value, c.Duration = b.Result, cmp.Or[any](p.value(b.ToolCallID), b.Result.Text()), ev.At-c.Duration
		if !b.Result.IsError { // the model reads the result of a failed call and decides
			return []Part{{Type: "onToolResult", Name: b.Result.Name, Result: b.Result, Value: c.Value}}
		}
	case trace.RunEnd:
		return p.end(b, ev.At, err)
	default:
	}
	return nil
}
