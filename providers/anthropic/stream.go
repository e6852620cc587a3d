package anthropic

import (
	"cmp"
	"encoding/json"
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

// delta is a content_block_delta. Only the member of its type counts: some servers write all.
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
	for key := range codec.RequiredFields(d) {
		switch key {
		case "type":
			ev.kind = codec.String(d)
		case "index":
			ev.index = codec.Count(d)
		case "delta":
			s.readDelta(d, ev)
		case "content_block":
			if d.Peek() == '{' {
				ev.block = readBlock(d)
			}
		case "message":
			s.readMessage(d, ev)
		case "usage":
			s.readUsage(d, ev)
		case "error":
			ev.error = true
		default:
			if ev.kind == eventEnding {
				s.ending.read(d, key, true)
			}
		}
	}
}

func (s *decoder) readDelta(d *jsonio.Dec, ev *event) {
	to := &ev.delta
	from := d.Offset()
	for key := range codec.Fields(d) {
		switch key {
		case "type":
			to.kind = codec.String(d)
		case "text":
			to.text = codec.String(d)
		case "thinking":
			to.thinking = codec.String(d)
		case "partial_json":
			to.input = codec.String(d)
		case "signature":
			to.signature = codec.String(d)
		case "citation":
			to.citation = d.Raw()
		default:
			s.ending.read(d, key, ev.kind == eventEnding)
		}
	}
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

type assembler struct {
	emit  func(llm.Event) // of the Event or End that is running
	open  []openBlock
	calls int
	last  string // the type of block that continues the last part
}

type openBlock struct {
	index     int64
	kind      string // empty if the block has no more content
	opaque    json.RawMessage
	signature []byte
	citations codec.Elements

	call      llm.ToolCall
	callIndex int
	hasDeltas bool   // arguments arrived after the start and replace those in it
	args      []byte // these arguments, of a call that the provider runs

	block  llm.Unknown // a block of an unknown type
	deltas []string    // its deltas
}

// separator is empty opaque data, which keeps two blocks of one type apart.
var separator = json.RawMessage("{}")

func (a *assembler) start(index int64, part llm.Part) {
	if b := a.find(index); b != nil { // its end was lost
		a.end(b)
		a.drop(index)
	}
	b := a.begin(part)
	b.index = index
	a.open = append(a.open, b)
}

func (a *assembler) block(part llm.Part) {
	b := a.begin(part)
	a.close(&b)
}

func (a *assembler) begin(part llm.Part) (b openBlock) {
	switch p := part.(type) {
	case llm.Text:
		b.kind, b.opaque = blockText, p.Opaque
		a.beginText(blockText, p.Text)
	case llm.Reasoning:
		if codec.Get(p.Opaque, "type") != nil {
			a.done(p)
			break
		}
		b.kind, b.opaque = blockThinking, p.Opaque
		a.beginText(blockThinking, p.Text)
	case llm.ToolCall:
		b.kind, b.call, a.last = blockServer, p, ""
		if !p.ProviderExecuted {
			a.calls++
			b.kind, b.callIndex = blockToolUse, a.calls
			a.emit(llm.ToolCallStart{Index: b.callIndex, ID: p.ID, Name: p.Name, Opaque: p.Opaque})
		}
	case llm.Unknown:
		b.kind, b.block, a.last = blockUnknown, p, ""
	case llm.Media, llm.ToolResult:
		a.done(p)
	}
	return b
}

func (a *assembler) done(p llm.Part) {
	a.last = ""
	a.emit(llm.PartDone{Part: p})
}

func (a *assembler) beginText(kind, text string) {
	if a.last == kind {
		a.text(kind, "", separator)
	}
	a.text(kind, text, nil)
}

// text emits text or thinking, unless there is none. Opaque data ends the part.
func (a *assembler) text(kind, text string, opaque json.RawMessage) {
	if text == "" && opaque == nil {
		return
	}
	a.last = kind
	if opaque != nil {
		a.last = ""
	}
	if kind == blockText {
		a.emit(llm.TextDelta{Text: text, Opaque: opaque})
	} else {
		a.emit(llm.ReasoningDelta{Text: text, Opaque: opaque})
	}
}

func (a *assembler) find(index int64) *openBlock {
	if i := slices.IndexFunc(a.open, func(b openBlock) bool { return b.index == index }); i >= 0 {
		return &a.open[i]
	}
	return nil
}

func (a *assembler) drop(index int64) {
	a.open = slices.DeleteFunc(a.open, func(b openBlock) bool { return b.index == index })
}

// addDelta handles a delta. It keeps deltas of unknown types only for blocks of unknown types.
func (a *assembler) addDelta(index int64, d *delta) {
	switch d.kind {
	case "text_delta":
		a.text(blockText, d.text, nil)
		return
	case "thinking_delta":
		a.text(blockThinking, d.thinking, nil)
		return
	}
	b := a.find(index)
	switch {
	case b == nil:
	case d.kind == "signature_delta":
		b.signature = append(b.signature, d.signature...)
	case d.kind == "citations_delta":
		if d.citation != "" {
			b.citations.Add(d.citation)
		}
	case d.kind == "input_json_delta":
		a.input(b, d.input)
	case b.kind == blockUnknown:
		b.deltas = append(b.deltas, d.raw)
	}
}

// input handles a delta of arguments, which may be empty (quirk QA-10).
func (a *assembler) input(b *openBlock, args string) {
	b.hasDeltas = b.hasDeltas || args != ""
	switch {
	case args == "":
	case b.kind == blockToolUse:
		a.emit(llm.ToolCallDelta{Index: b.callIndex, Arguments: args})
	case b.kind == blockServer:
		b.args = append(b.args, args...)
	}
}

func (a *assembler) stop(index int64) {
	if b := a.find(index); b != nil {
		a.close(b)
		a.drop(index)
	}
}

func (a *assembler) close(b *openBlock) {
	a.end(b)
	if b.kind == blockToolUse {
		a.emit(llm.ToolCallEnd{Index: b.callIndex})
	}
}

// endAll ends the blocks without content_block_stop (quirk QA-11).
func (a *assembler) endAll() {
	for i := range a.open {
		a.end(&a.open[i])
	}
	a.open = nil
}

// end emits the rest of a block. It does not end a call.
func (a *assembler) end(b *openBlock) {
	switch b.kind {
	case blockText, blockThinking:
		a.text(b.kind, "", b.joined())
	case blockToolUse:
		if !b.hasDeltas && b.call.Arguments != "" {
			a.emit(llm.ToolCallDelta{Index: b.callIndex, Arguments: b.call.Arguments})
		}
	case blockServer:
		if b.hasDeltas {
			b.call.Arguments = string(b.args)
		}
		a.done(b.call)
	case blockUnknown:
		b.block.Raw = merged(b.block.Raw, b.deltas)
		a.done(b.block)
	}
}

// joined returns the opaque data of a text or thinking block with its deltas.
func (b *openBlock) joined() json.RawMessage {
	switch {
	case b.citations != nil:
		m := members(b.opaque).Without("citations")
		m.AddRaw("citations", string(b.citations.Array()))
		return m.Object()
	case len(b.signature) > 0:
		var m codec.Members
		m.AddString("signature", string(b.signature))
		return append(m, members(b.opaque).Without("signature")...).Object()
	}
	return b.opaque
}

// merged returns a block of an unknown type with its deltas, as for known types: strings are
// appended and missing members are set. An example is compaction_delta.
func merged(block json.RawMessage, deltas []string) json.RawMessage {
	if len(deltas) == 0 {
		return block
	}
	var m codec.MemberSet
	for key, raw := range codec.EachMember(block) {
		m.Extend(key, raw)
	}
	for _, delta := range deltas {
		for key, raw := range codec.EachMember(delta) {
			if key != "type" {
				m.Extend(key, raw)
			}
		}
	}
	return m.Members(0).Object()
}
