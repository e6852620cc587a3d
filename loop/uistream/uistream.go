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
	"slices"
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
	// OmitReasoning omits the reasoning (sendReasoning: false).
	OmitReasoning bool
	// ErrorText returns the text for the error of a failed run. nil means "An error
	// occurred." for every error, since the reader may be untrusted. The error of a tool has the text that
	// the model received.
	ErrorText func(error) string
	// Metadata returns a JSON object to add to the metadata of the message at an event of the
	// run; nil adds nothing.
	Metadata func(trace.Event) json.RawMessage
}

// Parts converts the deltas of a run, or complete responses if the events have no deltas. It
// skips other runs and model calls with another purpose.
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
			s.put(Part{Type: "error", ErrorText: "the run was interrupted"})
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
	canceled     bool

	ids      int    // number of text and reasoning blocks
	open     string // text or reasoning, if a block is open
	id       string // the id of the open block
	shown    bool   // deltas of the step's response were sent
	complete bool   // and its complete parts too
	text     []byte // of the step, as it was sent

	calls []call // of the step
	stop  trace.Reason
}

type call struct {
	id, name, arguments string
	inputSent           bool
}

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

func (s *stream) step(ev trace.Event) {
	switch b := ev.Body.(type) {
	case trace.StepStart:
		s.calls, s.shown, s.complete, s.text = nil, false, false, s.text[:0]
		s.put(Part{Type: "start-step"})
	case trace.ModelDelta:
		s.shown = true
		s.delta(b)
	case trace.ModelResponse:
		s.response(b.Message)
	case trace.Decision:
		s.stop = b.Reason
	case trace.ToolStart:
		s.available(b.ToolCallID, b.Name, b.Arguments, false)
	case trace.ToolEnd:
		s.output(b.Result, false)
	case trace.ToolSkip:
		s.skipped(b)
	case trace.Canceled:
		s.canceled = b.Reason != string(trace.ReasonDeadline)
	case trace.StepEnd:
		s.close()
		s.endCalls()
		s.put(Part{Type: "finish-step"})
	default:
	}
}

func (s *stream) delta(b trace.ModelDelta) {
	switch b.Type {
	case trace.DeltaText:
		s.block("text", b.Text)
	case trace.DeltaReasoning:
		s.block("reasoning", b.Text)
	case trace.DeltaCall:
		s.close()
		s.calls = append(s.calls, call{id: b.ToolCallID, name: b.Name})
		s.put(Part{Type: "tool-input-start", ToolCallID: b.ToolCallID, ToolName: b.Name})
	case trace.DeltaArguments:
		s.put(Part{Type: "tool-input-delta", ToolCallID: b.ToolCallID, Delta: b.Text})
	case trace.DeltaCallEnd:
	}
}

// block sends a delta of a text or reasoning block. It starts a block if none is open.
func (s *stream) block(what, text string) {
	if what == "text" {
		s.text = append(s.text, text...)
	} else if s.opts.OmitReasoning {
		return
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

// response converts a complete response and sends the parts that no delta contained. The text
// of a second response of a step, from middleware, follows text that was already sent.
func (s *stream) response(m llm.Message) {
	if text := m.Text(); s.complete && text != "" && text != string(s.text) {
		s.close()
		s.text = s.text[:0]
		s.block("text", text)
	}
	for _, p := range m.Parts {
		if c, ok := p.(llm.ToolCall); ok && !c.ProviderExecuted {
			s.call(c.ID, c.Name).arguments = c.Arguments
		} else if !s.complete {
			s.part(p)
		}
	}
	s.close()
	s.complete = true
}

func (s *stream) part(p llm.Part) {
	switch p := p.(type) {
	case llm.Text:
		s.wholeBlock("text", p.Text)
	case llm.Reasoning:
		s.wholeBlock("reasoning", p.Text)
	case llm.Media:
		url := p.URL
		if p.Data != nil {
			url = "data:" + p.MediaType + ";base64," + base64.StdEncoding.EncodeToString(p.Data)
		}
		if url != "" {
			s.put(Part{Type: "file", URL: url, MediaType: p.MediaType})
		}
	case llm.ToolCall:
		s.available(p.ID, p.Name, p.Arguments, true)
	case llm.ToolResult:
		s.output(p, true)
	case llm.Unknown:
	}
}

func (s *stream) wholeBlock(what, text string) {
	if !s.shown && text != "" {
		s.block(what, text)
		s.close()
	}
}

// call returns the call with this id. It adds a call that the step does not have: no deltas have
// started it, the provider executed it, or it is of an earlier run.
func (s *stream) call(id, name string) *call {
	i := slices.IndexFunc(s.calls, func(c call) bool { return c.id == id })
	if i < 0 {
		i = len(s.calls)
		s.calls = append(s.calls, call{id: id, name: name})
	}
	return &s.calls[i]
}

func (s *stream) available(id, name, args string, provider bool) {
	s.call(id, name).inputSent = true
	s.put(Part{Type: "tool-input-available", ToolCallID: id, ToolName: name, Input: dialect.Value(args, "{}"), ProviderExecuted: provider})
}

func (s *stream) output(r llm.ToolResult, provider bool) {
	p := Part{Type: "tool-output-available", ToolCallID: r.ID, Output: dialect.Value(r.Text(), `""`), ProviderExecuted: provider}
	if r.IsError {
		p.Type, p.Output, p.ErrorText = "tool-output-error", nil, r.Text()
	}
	s.put(p)
}

// skipped converts a call that was not run: an input error if it is invalid, otherwise its
// input and result.
func (s *stream) skipped(b trace.ToolSkip) {
	args := s.call(b.ToolCallID, b.Name).arguments
	switch b.Reason {
	case trace.SkipUnknownTool, trace.SkipMalformedArguments, trace.SkipInvalidArguments, trace.SkipTruncated:
		s.inputError(b.ToolCallID, b.Name, args, b.Result.Text())
	default:
		s.available(b.ToolCallID, b.Name, args, false)
		s.output(b.Result, false)
	}
}

func (s *stream) inputError(id, name, args, text string) {
	s.call(id, name).inputSent = true
	s.put(Part{Type: "tool-input-error", ToolCallID: id, ToolName: name, Input: dialect.Value(args, `""`), ErrorText: text})
}

// endCalls ends the calls of a step that got no result: client-side calls and dropped calls.
func (s *stream) endCalls() {
	for _, c := range s.calls {
		switch {
		case c.inputSent:
		case s.stop == trace.ReasonClientTools || s.stop == trace.ReasonApproval:
			s.available(c.id, c.name, c.arguments, false)
		default:
			s.inputError(c.id, c.name, c.arguments, "the call was not run")
		}
	}
}

func (s *stream) end(b trace.RunEnd, err error, metadata json.RawMessage) {
	s.close()
	s.ended = true
	err = dialect.Failure(err, b)
	if s.canceled || b.StopReason == trace.ReasonCancel {
		s.put(Part{Type: "abort"})
		return
	}
	finish := Part{Type: "finish", Metadata: metadata}
	if s.opts.FinishReason {
		finish.FinishReason = cmp.Or(finishReasons[b.FinishReason], "other")
	}
	if err != nil {
		text := "An error occurred."
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

var finishReasons = map[llm.FinishReason]string{
	llm.FinishStop: "stop", llm.FinishLength: "length", llm.FinishContentFilter: "content-filter", llm.FinishRefusal: "content-filter",
	llm.FinishToolCalls: "tool-calls", llm.FinishError: "error", llm.FinishMalformedCall: "error",
}
