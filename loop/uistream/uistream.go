// Package uistream converts the events of a run to the AI SDK's UI message stream protocol,
// version 1 (https://ai-sdk.dev/docs/ai-sdk-ui/stream-protocol), as the AI SDK reads it in
// versions 5 and later.
//
// Each text, reasoning block and call ends or gets its result before its step ends, unless the
// events end early. A stream has one start part, which comes first. If the run ended, it has
// one finish part, which comes last. The same events give the same bytes. The package does not
// depend on a loop and reads no messages of a user interface.
package uistream

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"iter"
	"strconv"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop/internal/dialect"
	"github.com/looptape/looptape/trace"
)

// Options configures the conversion. The zero value is compatible with AI SDK 5.
type Options struct {
	// MessageID is the id of the message; empty means that the reader generates it.
	MessageID string
	// FinishReason adds the finish reason of the last response. AI SDK 6 and later accept it.
	// AI SDK 5 rejects a stream that contains it.
	FinishReason bool
	// ErrorText returns the text for the error of a failed run. nil means [MaskedError] for
	// every error, since the reader may be untrusted. The error of a tool has the text that
	// the model received.
	ErrorText func(error) string
	// Metadata returns a JSON object to add to the metadata of the message at an event of the
	// run; nil adds nothing.
	Metadata func(trace.Event) json.RawMessage
}

// MaskedError replaces the text of an error that is not exposed.
const MaskedError = "An error occurred."

// Truncated is the text of the error part if the events end before the run does.
const Truncated = "the run was interrupted"

// Parts converts the events of a run. It converts deltas where the events contain them, and
// complete responses otherwise. It skips the events of other runs and of model calls with
// another purpose.
//
// The arguments of a call are sent when its tool starts. A canceled run ends with the part
// abort, a failed run with error and finish. If the events end before the run does, the stream
// ends with error. Stopping the iteration of the parts also stops that of the events.
func Parts(events iter.Seq2[trace.Event, error], opts Options) iter.Seq[Part] {
	return func(yield func(Part) bool) {
		s := stream{opts: opts, yield: yield, more: true}
		for ev, err := range events {
			if s.event(ev, err); !s.more {
				return
			}
		}
		if s.begun && !s.ended {
			s.close()
			s.put(Part{Type: "error", ErrorText: Truncated})
		}
	}
}

// stream is the state of the conversion of one run.
type stream struct {
	opts  Options
	yield func(Part) bool
	more  bool // the consumer continues

	run          string // the converted run
	begun, ended bool
	cancelled    bool

	ids   int    // number of text and reasoning blocks
	open  string // text or reasoning, if a block is open
	id    string // the id of the open block
	shown bool   // deltas of the step's response were sent
	whole bool   // and its complete parts too
	text  []byte // of the step, as it was sent

	calls []call // of the step
	stop  trace.Reason
}

// call is the conversion state of a call of a step.
type call struct {
	id, name, args string
	answered       bool // its input was sent
}

// put sends a part.
func (s *stream) put(p Part) {
	if s.more {
		s.more = s.yield(p)
	}
}

func (s *stream) event(ev trace.Event, err error) {
	if _, start := ev.Body.(trace.RunStart); start && !s.begun {
		s.begun, s.run = true, ev.Run
		s.put(Part{Type: "start", MessageID: s.opts.MessageID, Metadata: s.metadata(ev)})
		return
	}
	if !s.begun || ev.Run != s.run || ev.Purpose != trace.PurposeAnswer {
		return
	}
	if end, ok := ev.Body.(trace.RunEnd); ok {
		s.end(end, err, s.metadata(ev))
		return
	}
	s.step(ev)
	if m := s.metadata(ev); m != nil {
		s.put(Part{Type: "message-metadata", Metadata: m})
	}
}

func (s *stream) metadata(ev trace.Event) json.RawMessage {
	if s.opts.Metadata == nil {
		return nil
	}
	return s.opts.Metadata(ev)
}

// step converts an event of a step.
func (s *stream) step(ev trace.Event) {
	switch b := ev.Body.(type) {
	case trace.StepStart:
		s.calls, s.shown, s.whole, s.text = nil, false, false, s.text[:0]
		s.put(Part{Type: "start-step"})
	case trace.ModelDelta:
		s.shown = true
		s.delta(b)
	case trace.ModelResponse:
		s.turn(b.Message)
	case trace.Decision:
		s.stop = b.Reason
	case trace.ToolStart:
		s.available(b.ToolCallID, b.Name, b.Arguments, false)
	case trace.ToolEnd:
		s.output(b.Result, false)
	case trace.ToolSkip:
		s.skipped(b)
	case trace.Canceled:
		s.cancelled = b.Reason != string(trace.ReasonDeadline)
	case trace.StepEnd:
		s.close()
		s.leftOver()
		s.put(Part{Type: "finish-step"})
	default:
	}
}

func (s *stream) delta(b trace.ModelDelta) {
	switch b.Type {
	case trace.DeltaText:
		s.piece("text", b.Text)
	case trace.DeltaReasoning:
		s.piece("reasoning", b.Text)
	case trace.DeltaCall:
		s.begin(b.ToolCallID, b.Name)
	case trace.DeltaArguments:
		s.put(Part{Type: "tool-input-delta", ToolCallID: b.ToolCallID, Delta: b.Text})
	case trace.DeltaCallEnd:
	}
}

// A new block starts if none of this type is open; then its delta is sent.
func (s *stream) piece(what, text string) {
	if what == "text" {
		s.text = append(s.text, text...)
	}
	if s.open != what {
		s.close()
		s.ids++
		s.open, s.id = what, strconv.Itoa(s.ids)
		s.put(Part{Type: what + "-start", ID: s.id})
	}
	s.put(Part{Type: what + "-delta", ID: s.id, Delta: text})
}

// close ends the open text or reasoning block.
func (s *stream) close() {
	if s.open != "" {
		s.put(Part{Type: s.open + "-end", ID: s.id})
		s.open = ""
	}
}

// begin starts a call.
func (s *stream) begin(id, name string) {
	s.close()
	s.calls = append(s.calls, call{id: id, name: name})
	s.put(Part{Type: "tool-input-start", ToolCallID: id, ToolName: name})
}

// turn converts a complete response and sends the parts that no delta contained. A second
// response of a step comes from middleware. Sent text cannot be withdrawn, so the text of the
// middleware follows it.
func (s *stream) turn(m llm.Message) {
	if text := m.Text(); s.whole && text != "" && text != string(s.text) {
		s.close()
		s.text = s.text[:0]
		s.piece("text", text)
	}
	for _, p := range m.Parts {
		if c, ok := p.(llm.ToolCall); ok && !c.ProviderExecuted {
			s.called(c)
		} else if !s.whole {
			s.tell(p)
		}
	}
	s.close()
	s.whole = true
}

// A part of a response without deltas is sent.
func (s *stream) tell(p llm.Part) {
	switch p := p.(type) {
	case llm.Text:
		s.said("text", p.Text)
	case llm.Reasoning:
		s.said("reasoning", p.Text)
	case llm.Media:
		s.file(p)
	case llm.ToolCall:
		s.available(p.ID, p.Name, p.Arguments, true)
	case llm.ToolResult:
		s.output(p, true)
	case llm.Unknown:
	}
}

func (s *stream) said(what, text string) {
	if !s.shown && text != "" {
		s.piece(what, text)
		s.close()
	}
}

func (s *stream) file(m llm.Media) {
	url := m.URL
	if m.Data != nil {
		url = "data:" + m.MediaType + ";base64," + base64.StdEncoding.EncodeToString(m.Data)
	}
	if url != "" {
		s.put(Part{Type: "file", URL: url, MediaType: m.MediaType})
	}
}

// called records a call of a response. Deltas may have started it.
func (s *stream) called(c llm.ToolCall) {
	i := s.find(c.ID)
	if i < 0 {
		i = len(s.calls)
		s.calls = append(s.calls, call{id: c.ID, name: c.Name})
	}
	s.calls[i].args = c.Arguments
}

// find returns the index of a call in the step, or -1.
func (s *stream) find(id string) int {
	for i := range s.calls {
		if s.calls[i].id == id {
			return i
		}
	}
	return -1
}

// answered records that the input of a call was sent.
func (s *stream) answered(id string) {
	if i := s.find(id); i >= 0 {
		s.calls[i].answered = true
	}
}

func (s *stream) available(id, name, args string, provider bool) {
	s.answered(id)
	s.put(Part{Type: "tool-input-available", ToolCallID: id, ToolName: name, Input: dialect.Value(args, "{}"), ProviderExecuted: provider})
}

func (s *stream) output(r llm.ToolResult, provider bool) {
	p := Part{Type: "tool-output-available", ToolCallID: r.ID, Output: dialect.Value(r.Text(), `""`), ProviderExecuted: provider}
	if r.IsError {
		p.Type, p.Output, p.ErrorText = "tool-output-error", nil, r.Text()
	}
	s.put(p)
}

// skipped converts a call that got a result without being run. It sends an input error if the
// call is invalid, otherwise its input and its result.
func (s *stream) skipped(b trace.ToolSkip) {
	var args string
	if i := s.find(b.ToolCallID); i >= 0 {
		args = s.calls[i].args
	}
	switch b.Reason {
	case trace.SkipUnknownTool, trace.SkipMalformedArguments, trace.SkipInvalidArguments, trace.SkipTruncated:
		s.refused(b.ToolCallID, b.Name, args, b.Result.Text())
	default:
		s.available(b.ToolCallID, b.Name, args, false)
		s.output(b.Result, false)
	}
}

func (s *stream) refused(id, name, args, text string) {
	s.answered(id)
	s.put(Part{Type: "tool-input-error", ToolCallID: id, ToolName: name, Input: dialect.Value(args, `""`), ErrorText: text})
}

// NotRun is the text of the error part of a dropped call.
const NotRun = "the call was not run"

// leftOver ends the calls of a step that got no result: client-side calls and dropped calls.
func (s *stream) leftOver() {
	for _, c := range s.calls {
		switch {
		case c.answered:
		case s.stop == trace.ReasonClientTools || s.stop == trace.ReasonApproval:
			s.available(c.id, c.name, c.args, false)
		default:
			s.refused(c.id, c.name, c.args, NotRun)
		}
	}
}

// end converts the end of the run.
func (s *stream) end(b trace.RunEnd, err error, metadata json.RawMessage) {
	s.close()
	s.ended = true
	err = dialect.Failure(err, b)
	if s.cancelled || b.StopReason == trace.ReasonCancel {
		s.put(Part{Type: "abort"})
		return
	}
	finish := Part{Type: "finish", Metadata: metadata}
	if s.opts.FinishReason {
		finish.FinishReason = cmp.Or(finishReasons[b.FinishReason], "other")
	}
	if err != nil {
		text := MaskedError
		if s.opts.ErrorText != nil {
			text = s.opts.ErrorText(err)
		}
		s.put(Part{Type: "error", ErrorText: text})
		if s.opts.FinishReason {
			finish.FinishReason = "error"
		}
	}
	s.put(finish)
}

// finishReasons maps finish reasons to those of the protocol.
var finishReasons = map[llm.FinishReason]string{
	llm.FinishStop: "stop", llm.FinishLength: "length", llm.FinishContentFilter: "content-filter", llm.FinishRefusal: "content-filter",
	llm.FinishToolCalls: "tool-calls", llm.FinishError: "error", llm.FinishMalformedCall: "error",
}
