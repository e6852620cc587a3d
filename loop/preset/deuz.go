package preset

import (
	"encoding/json"
	"fmt"
	"iter"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/preset/dialect"
	"github.com/looptape/looptape/trace"
)

// DeuzName is the name of the preset Deuz.
const DeuzName = "deuz"

// Deuz is the tool loop of @deuz-sdk/core: one step unless MaxSteps is raised,
// five tools at a time, the runaway guard at three, the cap after a step that
// ran tools and without a sign, client tools that end the run, one turn where there are
// no tools.
func Deuz(cfg loop.Config) loop.Config {
	cfg.Preset, cfg.NoTools = DeuzName, loop.NoToolsBreak
	if cfg.MaxSteps == 0 {
		cfg.MaxSteps = 1
	}
	return cfg
}

// DeuzPart is a part of the stream as that loop's document names it. Which
// fields are set depends on Type; the union is open, so whoever switches on Type
// ignores what it does not know.
type DeuzPart struct {
	Type         string // step-start, text-delta, reasoning-delta, tool-call-delta, step-finish, tool-call, tool-result, finish or error
	StepIndex    int    // step-start, step-finish; counted from 0
	Text         string // text-delta, reasoning-delta; the fragment of tool-call-delta
	ToolCallID   string
	ToolName     string
	Input        json.RawMessage // tool-call: the arguments; those that are not JSON as a JSON string
	Output       json.RawMessage // tool-result: a value, or a text as a JSON string
	IsError      bool
	FinishReason llm.FinishReason // step-finish, finish
	Usage        llm.Usage        // of the step in step-finish, of the run in finish
	Err          error            // error
}

// DeuzStream is the handle that the document's streaming entry point returns.
type DeuzStream struct{ run *loop.Run }

// NewDeuzStream makes a run a stream. It never fails: what goes wrong is an error
// part, and the error of Usage and FinishReason.
func NewDeuzStream(run *loop.Run) *DeuzStream { return &DeuzStream{run} }

// Usage waits for the run's end and returns the sum of its usage. Whether anybody
// reads the parts makes no difference; but whoever ranges over them waits behind the
// range, not in it, as with Run.Wait.
func (s *DeuzStream) Usage() (llm.Usage, error) {
	res, err := s.run.Wait()
	return res.Usage, err
}

// FinishReason waits for the run's end, as Usage does, and returns the last step's
// reason.
func (s *DeuzStream) FinishReason() (llm.FinishReason, error) {
	res, err := s.run.Wait()
	return res.FinishReason, err
}

// Full yields the parts of all model calls of the run: step-start first; finish
// last, or error if the run failed.
func (s *DeuzStream) Full() iter.Seq[DeuzPart] { return DeuzParts(s.run.Events()) }

// Text yields the text of all steps and nothing else.
func (s *DeuzStream) Text() iter.Seq[string] {
	return func(yield func(string) bool) {
		for p := range s.Full() {
			if p.Type == "text-delta" && !yield(p.Text) {
				return
			}
		}
	}
}

// DeuzParts projects a run's events to the parts of the document. Tool results
// come in call order, whatever order the tools finished in; those of calls that an
// earlier run has left stand behind the first step-start. Events without deltas (a
// trace that left them out) give parts without deltas.
func DeuzParts(events iter.Seq2[trace.Event, error]) iter.Seq[DeuzPart] {
	return dialect.Parts(events, func() func(trace.Event, error) []DeuzPart { return (&deuz{results: map[string]llm.ToolResult{}}).parts })
}

// deuz is the state of the projection: the step's turn until something is decided
// about it, its calls, and the results that wait for those before them.
type deuz struct {
	turn    *trace.ModelResponse
	usage   llm.Usage // of the step
	calls   []llm.ToolCall
	results map[string]llm.ToolResult
}

func (d *deuz) parts(ev trace.Event, err error) []DeuzPart {
	if ev.Purpose != trace.PurposeAnswer {
		return nil
	}
	switch b := ev.Body.(type) {
	case trace.StepStart:
		d.turn, d.calls, d.usage = nil, nil, llm.Usage{}
		return []DeuzPart{{Type: "step-start", StepIndex: ev.Step}}
	case trace.ModelRequest:
		return d.left(b.NewMessages)
	case trace.ModelDelta:
		return deuzDelta(b)
	case trace.ModelResponse:
		d.turn, d.calls, d.usage = &b, b.Message.Calls(), d.usage.Add(b.Usage)
	case trace.Decision:
		return d.decided(ev.Step, b.Reason)
	case trace.ToolEnd:
		return d.result(b.Result)
	case trace.ToolSkip:
		return d.result(b.Result)
	case trace.StepEnd:
		return d.rest()
	case trace.RunEnd:
		if err = dialect.Failure(err, b); err != nil {
			return append(d.left(b.AppendedMessages), DeuzPart{Type: "error", Err: err})
		}
		return append(d.left(b.AppendedMessages), DeuzPart{Type: "finish", FinishReason: b.FinishReason, Usage: b.Usage})
	default:
	}
	return nil
}

// decided ends the turn, once; policies may have had a say in it until then. Its calls
// are told but where it is an answer that was to have none.
func (d *deuz) decided(step int, cause trace.Reason) []DeuzPart {
	if d.turn == nil {
		return nil
	}
	parts := []DeuzPart{{Type: "step-finish", StepIndex: step, FinishReason: d.turn.FinishReason, Usage: d.usage}}
	d.turn = nil
	if cause == trace.ReasonForced {
		return parts
	}
	for _, c := range d.calls {
		parts = append(parts, DeuzPart{Type: "tool-call", ToolCallID: c.ID, ToolName: c.Name, Input: dialect.Value(c.Arguments, "{}")})
	}
	return parts
}

func deuzDelta(b trace.ModelDelta) []DeuzPart {
	switch b.Type {
	case trace.DeltaText:
		return []DeuzPart{{Type: "text-delta", Text: b.Text}}
	case trace.DeltaReasoning:
		return []DeuzPart{{Type: "reasoning-delta", Text: b.Text}}
	case trace.DeltaArguments:
		return []DeuzPart{{Type: "tool-call-delta", ToolCallID: b.ToolCallID, Text: b.Text}}
	case trace.DeltaCall, trace.DeltaCallEnd:
	}
	return nil
}

// result keeps a result until all calls before it have theirs.
func (d *deuz) result(r llm.ToolResult) (parts []DeuzPart) {
	d.results[r.ID] = r
	for len(d.calls) > 0 {
		r, ok := d.results[d.calls[0].ID]
		if !ok {
			break
		}
		d.calls = d.calls[1:]
		parts = append(parts, d.told(r))
	}
	return parts
}

// rest is what waits at the end of a step for calls that the caller is to answer.
func (d *deuz) rest() (parts []DeuzPart) {
	for _, c := range d.calls {
		if r, ok := d.results[c.ID]; ok {
			parts = append(parts, d.told(r))
		}
	}
	d.calls = nil
	return parts
}

// left is the results of calls that an earlier run has left, as these messages have
// them.
func (d *deuz) left(messages []llm.Message) (parts []DeuzPart) {
	for _, m := range messages {
		for _, p := range m.Parts {
			if r, ok := p.(llm.ToolResult); ok {
				if r, ok := d.results[r.ID]; ok {
					parts = append(parts, d.told(r))
				}
			}
		}
	}
	return parts
}

func (d *deuz) told(r llm.ToolResult) DeuzPart {
	delete(d.results, r.ID)
	return DeuzPart{Type: "tool-result", ToolCallID: r.ID, ToolName: r.Name, Output: dialect.Value(r.Text(), `""`), IsError: r.IsError}
}

// MarshalJSON spells the part as the document does: its type and the fields of
// that type alone.
func (p DeuzPart) MarshalJSON() ([]byte, error) {
	m := []dialect.Member{{Key: "type", Value: p.Type}}
	add := func(key string, value any) { m = append(m, dialect.Member{Key: key, Value: value}) }
	switch p.Type {
	case "step-start":
		add("stepIndex", p.StepIndex)
	case "text-delta", "reasoning-delta":
		add("text", p.Text)
	case "tool-call-delta":
		add("toolCallId", p.ToolCallID)
		add("argsTextDelta", p.Text)
	case "step-finish":
		add("stepIndex", p.StepIndex)
		add("finishReason", p.FinishReason)
		add("usage", deuzUsage(p.Usage))
	case "tool-call":
		add("toolCallId", p.ToolCallID)
		add("toolName", p.ToolName)
		add("input", p.Input)
	case "tool-result":
		add("toolCallId", p.ToolCallID)
		add("toolName", p.ToolName)
		add("output", p.Output)
		if p.IsError {
			add("isError", true)
		}
	case "finish":
		add("usage", deuzUsage(p.Usage))
		add("finishReason", p.FinishReason)
	case "error":
		add("error", fmt.Sprint(p.Err))
	}
	return dialect.Object(m...)
}

func deuzUsage(u llm.Usage) any {
	return struct {
		Input     int64 `json:"inputTokens"`
		Output    int64 `json:"outputTokens"`
		Total     int64 `json:"totalTokens"`
		Cached    int64 `json:"cachedInputTokens,omitempty"`
		Reasoning int64 `json:"reasoningTokens,omitempty"`
	}{u.InputTokens, u.OutputTokens, u.Total(), u.CacheReadInputTokens, u.ReasoningOutputTokens}
}
