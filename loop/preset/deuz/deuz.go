// Package deuz configures the loop as the tool loop of @deuz-sdk/core. It has the stream of
// that reference loop.
package deuz

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/internal/dialect"
	"github.com/looptape/looptape/trace"
)

// Fill sets the zero fields of a configuration: one step, at most five concurrent tools, and
// a stop after three consecutive steps in which one tool fails. The step limit is checked
// after a step that ran tools and leaves no sign. Client-side tools end the run. Without tools
// the run has one response.
func Fill(cfg loop.Config) loop.Config {
	cfg.Preset, cfg.BreakWithoutTools = "deuz", true
	cfg.MaxSteps = cmp.Or(cfg.MaxSteps, 1)
	return cfg
}

// Part is a part of the stream, with the names of the reference documentation. Type
// determines which fields are set. New types may be added, so ignore unknown ones.
type Part struct {
	Type       string // step-start, text-delta, reasoning-delta, tool-call-delta, step-finish, tool-call, tool-result, finish or error
	StepIndex  int    // step-start, step-finish; counted from 0
	Text       string // text-delta, reasoning-delta; the argument delta of tool-call-delta
	ToolCallID string
	ToolName   string
	Input      json.RawMessage // tool-call: the arguments; a JSON string if they are not JSON
	// Output of tool-result is what the tool returned: the JSON of its [loop.Output] Value, or its
	// text as a JSON string. For a recorded trace, a text that is JSON is that value.
	Output       json.RawMessage
	IsError      bool
	FinishReason llm.FinishReason // step-finish, finish
	Usage        llm.Usage        // of the step in step-finish, of the run in finish
	Err          error            // error
}

// Options are the options of [GenerateText] and [StreamChat], which do not change them.
type Options struct {
	Model    llm.Model // the model of a provider, such as anthropic.New(key).Model(id); required
	Messages []llm.Message
	// Loop contains all other options: the id of the model if Model has none, the tools, the step limit, the
	// stop conditions and others. [Fill] sets its zero fields. The entry point sets its
	// ResponseMode.
	Loop loop.Config
}

// start returns a run that has not begun.
func (o Options) start(ctx context.Context, mode llm.ResponseMode) (*loop.Run, error) {
	if o.Model == nil {
		return nil, errors.New("deuz: missing Options.Model: set it to the client of a provider")
	}
	cfg := Fill(o.Loop)
	cfg.ResponseMode = mode
	agent, err := loop.New(o.Model, &cfg)
	if err != nil {
		return nil, fmt.Errorf("deuz: %w", err)
	}
	return agent.Start(ctx, loop.Input{Messages: o.Messages}), nil
}

// GenerateText runs the loop with non-streaming responses. Without tools it makes one model
// call. It returns an error if an option is invalid, or if the run fails; the Result is nil only
// for an invalid option.
func GenerateText(ctx context.Context, opts Options) (*Result, error) {
	run, err := opts.start(ctx, llm.NonStreaming)
	if err != nil {
		return nil, err
	}
	res, err := run.Wait()
	return &Result{res}, err
}

// Stream is a run whose parts can be read while it makes progress. It begins when its parts are
// read or awaited.
type Stream struct {
	run *loop.Run // nil if an option is invalid
	err error     // why
}

// StreamChat returns a run of the loop with streaming responses, before the model is called. It
// never fails: a failure, also for an invalid option, is an error part and the error of
// [Stream.Usage] and [Stream.FinishReason].
func StreamChat(ctx context.Context, opts Options) *Stream {
	run, err := opts.start(ctx, llm.Streaming)
	return &Stream{run, err}
}

// Usage waits for the end of the run and returns its total usage. The caller need not
// read the parts. A caller that iterates over the parts must call Usage after the
// iteration, as with [loop.Run.Wait].
func (s *Stream) Usage() (llm.Usage, error) {
	if s.err != nil {
		return llm.Usage{}, s.err
	}
	res, err := s.run.Wait()
	return res.Usage, err
}

// FinishReason waits for the end of the run, as Usage does, and returns the finish reason
// of the last step.
func (s *Stream) FinishReason() (llm.FinishReason, error) {
	if s.err != nil {
		return "", s.err
	}
	res, err := s.run.Wait()
	return res.FinishReason, err
}

// Full yields the parts of all model calls of the run. The first part is step-start. The
// last part is finish, or error if the run failed.
func (s *Stream) Full() iter.Seq[Part] {
	if s.err != nil {
		return slices.Values([]Part{{Type: "step-start"}, {Type: "error", Err: s.err}})
	}
	return parts(s.run.Events(), s.run.Value)
}

// Text yields only the text of all steps.
func (s *Stream) Text() iter.Seq[string] {
	return func(yield func(string) bool) {
		for p := range s.Full() {
			if p.Type == "text-delta" && !yield(p.Text) {
				return
			}
		}
	}
}

// Parts converts the events of a run to the parts of the reference loop. Tool results
// are in call order, even if the tools finish in another order. Results for calls of an
// earlier run follow the first step-start. Events without deltas, as in a trace that
// omits them, give parts without deltas.
func Parts(events iter.Seq2[trace.Event, error]) iter.Seq[Part] { return parts(events, nil) }

// parts converts the events of a run. value returns what the tool of a call returned, or nil if
// that is the text of the result; nil for a recorded trace.
func parts(events iter.Seq2[trace.Event, error], value func(callID string) any) iter.Seq[Part] {
	return dialect.Parts(events, func() func(trace.Event, error) []Part {
		return (&projection{value: value, results: map[string]llm.ToolResult{}}).parts
	})
}

// projection has the response until a decision follows, its calls, and waiting results.
type projection struct {
	value    func(callID string) any
	begun    bool // a step has begun
	response *trace.ModelResponse
	usage    llm.Usage // usage of the step
	calls    []llm.ToolCall
	results  map[string]llm.ToolResult
}

func (d *projection) parts(ev trace.Event, err error) []Part {
	switch b := ev.Body.(type) {
	case trace.StepStart:
		d.begun, d.response, d.calls, d.usage = true, nil, nil, llm.Usage{}
		return []Part{{Type: "step-start", StepIndex: ev.Step}}
	case trace.ModelRequest:
		return d.previous(b.NewMessages)
	case trace.ModelDelta:
		switch b.Type {
		case trace.DeltaText:
			return []Part{{Type: "text-delta", Text: b.Text}}
		case trace.DeltaReasoning:
			return []Part{{Type: "reasoning-delta", Text: b.Text}}
		case trace.DeltaArguments:
			return []Part{{Type: "tool-call-delta", ToolCallID: b.ToolCallID, Text: b.Text}}
		default:
		}
	case trace.ModelResponse:
		d.response, d.calls, d.usage = &b, b.Message.Calls(), d.usage.Add(b.Usage)
	case trace.Decision:
		return d.decided(ev.Step, b.Reason)
	case trace.ToolEnd:
		return d.result(b.Result)
	case trace.ToolSkip:
		return d.result(b.Result)
	case trace.StepEnd:
		var rest []Part // of calls after client-side calls
		for _, c := range d.calls {
			if r, ok := d.results[c.ID]; ok {
				rest = append(rest, d.toolResult(r))
			}
		}
		d.calls = nil
		return rest
	case trace.RunEnd:
		last := Part{Type: "finish", FinishReason: b.FinishReason, Usage: b.Usage}
		if err != nil {
			last = Part{Type: "error", Err: err}
		}
		end := append(d.previous(b.AppendedMessages), last)
		if !d.begun { // the run ended before its first step
			end = slices.Insert(end, 0, Part{Type: "step-start"})
		}
		return end
	default:
	}
	return nil
}

// decided ends the response once, because middleware may change a decision, and returns its
// calls, unless it was required to have none.
func (d *projection) decided(step int, reason trace.Reason) []Part {
	if d.response == nil {
		return nil
	}
	parts := []Part{{Type: "step-finish", StepIndex: step, FinishReason: d.response.FinishReason, Usage: d.usage}}
	d.response = nil
	if reason == trace.ReasonForced {
		return parts
	}
	for _, c := range d.calls {
		parts = append(parts, Part{Type: "tool-call", ToolCallID: c.ID, ToolName: c.Name, Input: dialect.Value(c.Arguments, "{}")})
	}
	return parts
}

// result keeps a result until all earlier calls have results.
func (d *projection) result(r llm.ToolResult) (parts []Part) {
	d.results[r.ID] = r
	for len(d.calls) > 0 {
		r, ok := d.results[d.calls[0].ID]
		if !ok {
			break
		}
		d.calls = d.calls[1:]
		parts = append(parts, d.toolResult(r))
	}
	return parts
}

// previous returns the parts for calls of an earlier run, with the results in these messages.
func (d *projection) previous(messages []llm.Message) (parts []Part) {
	for _, m := range messages {
		for _, p := range m.Parts {
			if r, ok := p.(llm.ToolResult); ok {
				if r, ok := d.results[r.ID]; ok {
					parts = append(parts, d.toolResult(r))
				}
			}
		}
	}
	return parts
}

func (d *projection) toolResult(r llm.ToolResult) Part {
	delete(d.results, r.ID)
	return Part{Type: "tool-result", ToolCallID: r.ID, ToolName: r.Name, Output: d.output(r), IsError: r.IsError}
}

// output returns what the tool of a result returned.
func (d *projection) output(r llm.ToolResult) json.RawMessage {
	if d.value == nil {
		return dialect.Value(r.Text(), `""`)
	}
	if v := d.value(r.ID); v != nil {
		if out, err := dialect.Encode(v); err == nil {
			return out
		}
	}
	return jsonio.AppendString(nil, r.Text())
}

// MarshalJSON encodes the part as the reference loop does: its type and the fields of
// that type.
func (p Part) MarshalJSON() ([]byte, error) {
	var members []any
	switch p.Type {
	case "step-start":
		members = []any{"stepIndex", p.StepIndex}
	case "text-delta", "reasoning-delta":
		members = []any{"text", p.Text}
	case "tool-call-delta":
		members = []any{"toolCallId", p.ToolCallID, "argsTextDelta", p.Text}
	case "step-finish":
		members = []any{"stepIndex", p.StepIndex, "finishReason", p.FinishReason, "usage", usage(p.Usage)}
	case "tool-call":
		members = []any{"toolCallId", p.ToolCallID, "toolName", p.ToolName, "input", p.Input}
	case "tool-result":
		members = []any{"toolCallId", p.ToolCallID, "toolName", p.ToolName, "output", p.Output, "isError,omitzero", p.IsError}
	case "finish":
		members = []any{"usage", usage(p.Usage), "finishReason", p.FinishReason}
	case "error":
		members = []any{"error", fmt.Sprint(p.Err)}
	}
	return dialect.Object(append([]any{"type", p.Type}, members...)...)
}
