package anthropic

import (
	"cmp"
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

var eventTypes = []string{eventStart, eventBlockStart, eventDelta, eventBlockStop, eventEnding, eventStop, eventError}

type decoder struct {
	assembler
	mem       jsonio.Arena
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

	whole   bool   // the event is a whole response
	message string // the type of the message
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
	s.emit = emit
	switch {
	case name == eventPing:
		return false, nil
	case string(data) == "[DONE]": // of servers that support other protocols too
		return true, nil
	}
	if !jsonio.ValidUTF8(data) {
		return false, fmt.Errorf("the event %q is not UTF-8", name)
	}
	d := jsonio.NewDecIn(&s.mem, string(data))
	var ev event
	s.read(&d, &ev)
	if err := d.End(); err != nil {
		if name != "" && !slices.Contains(eventTypes, name) {
			return false, nil
		}
		return false, fmt.Errorf("the event %q: %w", name, err)
	}
	ev.kind = cmp.Or(ev.kind, name)
	return s.take(&ev, data)
}

func (s *decoder) take(ev *event, data []byte) (done bool, err error) {
	if ev.kind == eventError || ev.error {
		e, _ := readError(data)
		return false, e
	}
	if ev.usage {
		s.emit(s.counts.usage())
	}
	switch ev.kind {
	case eventStart:
		for _, p := range ev.parts {
			s.block(p)
		}
	case eventBlockStart:
		if ev.block != nil {
			s.start(ev.index, ev.block)
		}
	case eventDelta:
		s.addDelta(ev.index, &ev.delta)
	case eventBlockStop:
		s.stop(ev.index)
	case eventStop:
		s.stopped = true
	}
	return s.stopped, nil
}

// End implements [protocol.Decoder].
func (s *decoder) End(emit func(llm.Event)) error {
	s.emit = emit
	if !s.stopped {
		if s.ending.stop == "" {
			return protocol.ErrTruncated
		}
		emit(llm.Warning{Code: WarnNoMessageStop, Message: "the stream ended after its stop reason without message_stop"})
	}
	s.endAll()
	s.finish()
	return nil
}

func (s *decoder) finish() {
	if s.ending.stop == "" {
		s.emit(llm.Warning{Code: llm.WarnNoFinish, Message: "the response ended without a stop reason"})
	}
	s.emit(s.ending.finish(s.id, s.model))
}

func (s *decoder) read(d *jsonio.Dec, ev *event) {
	rest := func(key string) {
		if ev.kind == eventEnding {
			s.ending.read(d, key, true)
			return
		}
		d.Skip()
	}
	codec.ReadObject(d, rest,
		"type", &ev.kind,
		"index", &ev.index,
		"delta", func() { s.readDelta(d, ev) },
		"content_block", func() {
			if d.Peek() == '{' {
				ev.block = readBlock(d)
				return
			}
			d.Skip()
		},
		"message", func() { s.readMessage(d, ev) },
		"usage", func() { s.readUsage(d, ev) },
		"error", func() { ev.error = d.Raw() != "" })
}

func (s *decoder) readDelta(d *jsonio.Dec, ev *event) {
	to := &ev.delta
	from := d.Offset()
	codec.Read(d, func(key string) { s.ending.read(d, key, ev.kind == eventEnding) },
		"type", &to.kind,
		"text", &to.text,
		"thinking", &to.thinking,
		"partial_json", &to.input,
		"signature", &to.signature,
		"citation", func() { to.citation = d.Raw() })
	to.raw = d.Since(from)
}

// readMessage reads the message of message_start, or a whole response.
func (s *decoder) readMessage(d *jsonio.Dec, ev *event) {
	rest := func(key string) {
		if key == "error" && ev.whole {
			ev.error = d.Raw() != "null"
			return
		}
		s.ending.read(d, key, true)
	}
	codec.Read(d, rest,
		"model", &s.model,
		"id", &s.id,
		"type", &ev.message,
		"content", func() { ev.parts = readContent(d, false) },
		"usage", func() { s.readUsage(d, ev) })
}

func (s *decoder) readUsage(d *jsonio.Dec, ev *event) {
	ev.usage = d.Peek() == '{'
	s.counts.read(d)
}
