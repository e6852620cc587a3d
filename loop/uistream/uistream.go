// Package uistream tells a run to a user interface in the AI SDK's UI message stream
// protocol, version 1 (https://ai-sdk.dev/docs/ai-sdk-ui/stream-protocol), as that
// SDK reads it in its versions 5 and later.
//
// It promises that each text, piece of reasoning and call that was begun is ended or
// answered before its step is, unless the run was cut off within it;
// that there is one start, first, and one finish, last, where the run came to its end;
// and that the same events give the same bytes. It knows nothing of loops, and reads
// no messages of a user interface.
package uistream

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"iter"
	"strconv"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop/preset/dialect"
	"github.com/looptape/looptape/trace"
)

// Options say what is told. The zero value tells what AI SDK 5 takes.
type Options struct {
	// MessageID is the id of the message that the stream is; empty leaves it to the
	// reader.
	MessageID string
	// FinishReason tells why the last turn ended. AI SDK 6 and later take it; 5 refuses
	// a stream that has it.
	FinishReason bool
	// ErrorText words the error of a run that failed; nil is MaskedError for all of
	// them, since anybody may read a stream. What a tool failed with is told as the
	// model read it.
	ErrorText func(error) string
	// Metadata says what is added to the message's metadata at an event of the run, a
	// JSON object; nil adds nothing.
	Metadata func(trace.Event) json.RawMessage
}

// MaskedError stands for an error whose text is not told.
const MaskedError = "An error occurred."

// Truncated is the text of the error part of a run whose events end before it does.
const Truncated = "the run was cut off"

// Parts projects the events of a run, its model's answers piece by piece where there
// are deltas and whole where there are none. Other runs among the events are passed
// over, and so are model calls for other purposes than the answer.
//
// What a call is run with is told when its tool is entered. A cancelled run ends with
// the part abort, one that failed with error and finish, and events that end before
// their run with error alone. Who leaves the parts early leaves the events.
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

// stream is a run while it is told.
type stream struct {
	opts  Options
	yield func(Part) bool
	more  bool // somebody listens

	run          string // whose events are told
	begun, ended bool
	cancelled    bool

	ids   int    // of texts and pieces of reasoning
	open  string // text or reasoning, if one is under way,
	id    string // and its id
	shown bool   // something of the step's answer was told by deltas,
	whole bool   // and all that is whole in it
	text  []byte // of the step, as it was told

	calls []call // of the step
	stop  trace.Reason
}

// call is a call of a step, as far as it was told.
type call struct {
	id, name, args string
	answered       bool // its input was told
}

// put tells a part.
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

// step tells an event of a step.
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

// piece tells more of a text, or of reasoning, and begins it if none is under way.
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

// close ends the text or the reasoning that is under way.
func (s *stream) close() {
	if s.open != "" {
		s.put(Part{Type: s.open + "-end", ID: s.id})
		s.open = ""
	}
}

// begin tells that a call begins.
func (s *stream) begin(id, name string) {
	s.close()
	s.calls = append(s.calls, call{id: id, name: name})
	s.put(Part{Type: "tool-input-start", ToolCallID: id, ToolName: name})
}

// turn takes an answer when it is complete, and tells of it what no delta has. A
// second one is what policies made of it: what was told cannot be taken back, so that a
// text of theirs follows it.
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

// tell tells a part of an answer that was there whole.
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

// called takes a call of a turn, which deltas may have told of.
func (s *stream) called(c llm.ToolCall) {
	i := s.find(c.ID)
	if i < 0 {
		i = len(s.calls)
		s.calls = append(s.calls, call{id: c.ID, name: c.Name})
	}
	s.calls[i].args = c.Arguments
}

// find returns the place of a call among those of the step, or -1.
func (s *stream) find(id string) int {
	for i := range s.calls {
		if s.calls[i].id == id {
			return i
		}
	}
	return -1
}

// answered notes that the input of a call was told.
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

// skipped tells of a call that got a result without being run: of one that could not
// be run, that its input is bad; of any other its input and the result.
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

// NotRun is the text of the error part of a call that was dropped.
const NotRun = "the call was not run"

// leftOver tells of the calls of a step that got no result: they are for the client
// to answer, or nobody will.
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

// end tells how the run ended.
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

// finishReasons are the protocol's words.
var finishReasons = map[llm.FinishReason]string{
	llm.FinishStop: "stop", llm.FinishLength: "length", llm.FinishContentFilter: "content-filter", llm.FinishRefusal: "content-filter",
	llm.FinishToolCalls: "tool-calls", llm.FinishError: "error", llm.FinishMalformedCall: "error",
}
