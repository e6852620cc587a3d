package anthropic

import (
	"fmt"
	"slices"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/codec"
	"github.com/looptape/looptape/providers/protocol"
)

// NewDecoder implements [protocol.Protocol].
func (Messages) NewDecoder() protocol.Decoder { return &decoder{} }

// Event types.
const (
	eventStart      = "message_start"
	eventBlockStart = "content_block_start"
	eventDelta      = "content_block_delta"
	eventBlockStop  = "content_block_stop"
	eventEnding     = "message_delta"
	eventStop       = "message_stop"
	eventPing       = "ping"
	eventError      = "error"
)

// eventTypes are the types of events with content.
var eventTypes = []string{eventStart, eventBlockStart, eventDelta, eventBlockStop, eventEnding, eventStop, eventError}

type decoder struct {
	mem       jsonio.Arena
	d         jsonio.Dec // of the current event
	a         assembler
	id, model string
	counts    counts
	ending    ending
	stopped   bool // message_stop arrived
}

type event struct {
	kind  string
	index int64
	block llm.Part
	delta delta
	parts []llm.Part // in message_start
	usage bool       // the event has one
	error bool
}

// delta is the delta of content_block_delta. Its type determines which member counts, because
// some servers always write all.
type delta struct {
	kind                             string
	text, thinking, signature, input string
	citation                         string
	raw                              string // the whole delta
}

// Event implements [protocol.Decoder].
func (s *decoder) Event(name string, data []byte, emit func(llm.Event)) (done bool, err error) {
	switch {
	case name == eventPing:
		return false, nil
	case string(data) == "[DONE]": // of servers that support other protocols too
		return true, nil
	}
	if !jsonio.ValidUTF8(data) {
		return false, fmt.Errorf("the event %q is not UTF-8", name)
	}
	s.d = jsonio.NewDecIn(&s.mem, string(data))
	var ev event
	s.read(&s.d, &ev)
	if err := s.d.End(); err != nil {
		if name != "" && !slices.Contains(eventTypes, name) {
			return false, nil
		}
		return false, fmt.Errorf("the event %q: %w", name, err)
	}
	if ev.kind == "" {
		ev.kind = name
	}
	return s.take(&ev, data, emit)
}

func (s *decoder) take(ev *event, data []byte, emit func(llm.Event)) (done bool, err error) {
	if ev.kind == eventError || ev.error {
		e, _ := readError(data)
		return false, e
	}
	if ev.usage {
		emit(s.counts.usage())
	}
	switch ev.kind {
	case eventStart:
		for _, p := range ev.parts {
			s.a.block(p, emit)
		}
	case eventBlockStart:
		if ev.block != nil {
			s.a.start(ev.index, ev.block, emit)
		}
	case eventDelta:
		s.a.delta(ev.index, ev.delta, emit)
	case eventBlockStop:
		s.a.stop(ev.index, emit)
	case eventStop:
		s.stopped = true
	}
	return s.stopped, nil
}

// End implements [protocol.Decoder].
func (s *decoder) End(emit func(llm.Event)) error {
	if !s.stopped {
		if s.ending.stop == "" {
			return protocol.ErrTruncated
		}
		emit(llm.Warning{Code: WarnNoMessageStop, Message: "the stream ended after its stop reason without message_stop"})
	}
	s.a.finish(emit)
	s.finish(emit)
	return nil
}

func (s *decoder) finish(emit func(llm.Event)) {
	if s.ending.stop == "" {
		emit(llm.Warning{Code: llm.WarnNoFinish, Message: "the response ended without a stop reason"})
	}
	emit(s.ending.finish(s.id, s.model))
}

// read reads an event. It stores members about the whole response in s.
func (s *decoder) read(d *jsonio.Dec, ev *event) {
	for key := range d.Members() {
		switch key {
		case "type":
			ev.kind = codec.String(d)
		case "index":
			ev.index = codec.Count(d)
		case "content_block":
			if d.Peek() == '{' {
				ev.block = readBlock(d)
				continue
			}
			d.Skip()
		case "delta":
			s.readDelta(d, ev)
		case "message":
			s.readMessage(d, ev)
		case "usage":
			s.readUsage(d, ev)
		case "error":
			ev.error = d.Peek() != 'n'
			d.Skip()
		default:
			if ev.kind == eventEnding {
				s.ending.read(d, key, true)
				continue
			}
			d.Skip()
		}
	}
}

func (s *decoder) readDelta(d *jsonio.Dec, ev *event) {
	to := &ev.delta
	d.Peek()
	from := d.Offset()
	for key := range codec.Fields(d) {
		switch key {
		case "type":
			to.kind = codec.String(d)
		case "text":
			to.text = codec.String(d)
		case "thinking":
			to.thinking = codec.String(d)
		case "signature":
			to.signature = codec.String(d)
		case "partial_json":
			to.input = codec.String(d)
		case "citation":
			to.citation = d.Raw()
		default:
			s.ending.read(d, key, ev.kind == eventEnding)
		}
	}
	to.raw = d.Since(from)
}

func (s *decoder) readMessage(d *jsonio.Dec, ev *event) {
	for key := range codec.Fields(d) {
		s.readMember(d, key, ev)
	}
}

func (s *decoder) readMember(d *jsonio.Dec, key string, ev *event) {
	switch key {
	case "id":
		s.id = codec.String(d)
	case "model":
		s.model = codec.String(d)
	case "content":
		ev.parts = readContent(d, false)
	case "usage":
		s.readUsage(d, ev)
	default:
		s.ending.read(d, key, true)
	}
}

func (s *decoder) readUsage(d *jsonio.Dec, ev *event) {
	ev.usage = d.Peek() == '{'
	s.counts.read(d)
}
