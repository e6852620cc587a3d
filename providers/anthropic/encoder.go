package anthropic

import (
	"encoding/json"
	"fmt"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/codec"
	"github.com/looptape/looptape/providers/protocol"
)

// NewEncoder implements [protocol.Protocol]. The message_start contains the input tokens of a.
// The message_delta contains the usage of later events.
func (Messages) NewEncoder(a protocol.ResponseMeta) protocol.Encoder { return &encoder{meta: a} }

type encoder struct {
	meta    protocol.ResponseMeta
	write   func(name string, data []byte)
	buf     []byte
	blocks  int  // how many began
	begun   bool // message_start was written
	pinged  bool
	openAs  string // the type of the text or thinking block that is open
	openAt  int
	calls   []*openCall
	usage   llm.Usage
	finish  llm.Finish
	failure error
}

// openCall is a call that has not ended. Several calls may be open.
type openCall struct {
	codec.Call
	block int
}

// Event implements [protocol.Encoder].
func (e *encoder) Event(ev llm.Event, write func(name string, data []byte)) error {
	e.write = write
	e.begin(ev)
	switch ev := ev.(type) {
	case llm.TextDelta:
		e.text(ev)
	case llm.ReasoningDelta:
		e.thinking(ev)
	case llm.ToolCallStart:
		e.callStart(ev)
	case llm.ToolCallDelta:
		e.callDelta(ev)
	case llm.ToolCallEnd:
		e.callEnd(ev)
	case llm.PartDone:
		e.part(ev.Part)
	case llm.Usage:
		e.usage = e.usage.Update(ev)
	case llm.Finish:
		e.finish = ev
	case llm.Unknown:
		e.event(ev.Kind, "%", json.RawMessage(codec.AppendValue(nil, ev.Raw)))
	case llm.Warning:
	}
	return e.failure
}

// End implements [protocol.Encoder]. It does not end open calls.
func (e *encoder) End(write func(name string, data []byte)) error {
	e.write = write
	e.begin(nil)
	e.closeText()
	e.ping()
	w := e.newEvent(`{"type":"message_delta","delta":{`)
	w.ending(e.finish)
	w.Add("}")
	w.usage(usageOf(e.meta, e.usage), true)
	w.Members(codec.Get(e.finish.Opaque, keyKept))
	w.Add("}")
	e.send(eventEnding, &w)
	e.event(eventStop, `{"type":"message_stop"}`)
	return e.failure
}

// newEvent begins the data of an event; see [codec.Writer.Add].
func (e *encoder) newEvent(format string, values ...any) writer {
	w := writer{codec.Writer{Dst: e.buf[:0]}}
	w.Add(format, values...)
	return w
}

func (e *encoder) send(name string, w *writer) {
	e.buf = w.Dst
	e.fail(w.Err)
	e.write(name, e.buf)
}

func (e *encoder) event(name, format string, values ...any) {
	w := e.newEvent(format, values...)
	e.send(name, &w)
}

// begin writes message_start before the first event, with the usage if that comes first.
func (e *encoder) begin(ev llm.Event) {
	if e.begun {
		return
	}
	e.begun = true
	u, _ := ev.(llm.Usage)
	u = usageOf(e.meta, u)
	if u.InputTokens > 0 && u.OutputTokens == 0 {
		u.OutputTokens = 1 // as counted after the first word
	}
	w := e.newEvent(`{"type":"message_start","message":{`)
	w.responseHead(e.meta)
	w.Add(`],"stop_reason":null,"stop_sequence":null`)
	w.usage(u, false)
	w.Add("}}")
	e.send(eventStart, &w)
}

// ping writes the ping that the provider sends after the first block begins.
func (e *encoder) ping() {
	if !e.pinged {
		e.pinged = true
		e.event(eventPing, `{"type": "ping"}`)
	}
}

// start begins a block and returns its index.
func (e *encoder) start(block func(w *writer)) int {
	e.closeText()
	w := e.newEvent(`{"type":"content_block_start","index":%,"content_block":`, int64(e.blocks))
	block(&w)
	w.Add("}")
	e.send(eventBlockStart, &w)
	e.ping()
	e.blocks++
	return e.blocks - 1
}

func (e *encoder) textDelta(block int, kind, key, text string) {
	e.event(eventDelta, `{"type":"content_block_delta","index":%,"delta":{"type":%,%:%}}`, int64(block), kind, key, text)
}

func (e *encoder) stop(block int) {
	e.event(eventBlockStop, `{"type":"content_block_stop","index":%}`, int64(block))
}

func (e *encoder) closeText() {
	if e.openAs != "" {
		e.openAs = ""
		e.stop(e.openAt)
	}
}

func (e *encoder) fail(err error) {
	if e.failure == nil && err != nil {
		e.failure = err
	}
}

func (e *encoder) openBlock(kind string, block func(w *writer)) {
	if e.openAs != kind {
		e.openAt = e.start(block)
		e.openAs = kind
	}
}

// text writes a text delta and opens a block if necessary. Opaque data ends the block:
// citations are deltas, and the start of the block contains the rest.
func (e *encoder) text(ev llm.TextDelta) {
	if e.openAs != blockText && ev.Text == "" && ev.Opaque == nil {
		return
	}
	e.openBlock(blockText, func(w *writer) {
		w.text(llm.Text{Opaque: members(ev.Opaque).Without("citations").Object()})
	})
	if ev.Text != "" {
		e.textDelta(e.openAt, "text_delta", "text", ev.Text)
	}
	if ev.Opaque != nil {
		for raw := range codec.EachElement(codec.Get(ev.Opaque, "citations")) {
			citation := json.RawMessage(codec.AppendValue(nil, raw))
			e.event(eventDelta, `{"type":"content_block_delta","index":%,"delta":{"type":"citations_delta","citation":%}}`, int64(e.openAt), citation)
		}
		e.closeText()
	}
}

// thinking writes a reasoning delta and opens a block if necessary. A signature ends the block.
// Redacted thinking is a block of its own.
func (e *encoder) thinking(ev llm.ReasoningDelta) {
	if redacted(ev.Opaque) {
		if ev.Text != "" {
			e.thinking(llm.ReasoningDelta{Text: ev.Text})
		}
		e.stop(e.start(func(w *writer) { w.thinking(llm.Reasoning{Opaque: ev.Opaque}) }))
		return
	}
	e.openBlock(blockThinking, func(w *writer) {
		w.thinking(llm.Reasoning{Opaque: members(ev.Opaque).Without("signature").Object()})
	})
	if ev.Text != "" {
		e.textDelta(e.openAt, "thinking_delta", "thinking", ev.Text)
	}
	if ev.Opaque != nil {
		if signature := codec.GetString(ev.Opaque, "signature"); signature != "" {
			e.textDelta(e.openAt, "signature_delta", "signature", signature)
		}
		e.closeText()
	}
}

func (e *encoder) callStart(ev llm.ToolCallStart) {
	if c := codec.Nameless(e.calls, ev); c != nil {
		e.fail(fmt.Errorf("the call %q: Anthropic Messages has the name of a call only in its start", c.ID))
		return
	}
	block := e.start(func(w *writer) {
		p := withCaller(llm.ToolCall{ID: ev.ID, Opaque: ev.Opaque})
		w.call(p, ev.Name, []byte("{}"))
	})
	e.calls = append(e.calls, &openCall{codec.Call{Index: ev.Index, ID: ev.ID, Name: ev.Name}, block})
	e.input(block, "")
}

func (e *encoder) input(block int, args string) {
	e.textDelta(block, "input_json_delta", "partial_json", args)
}

func (e *encoder) find(index int, id string, last bool) *openCall {
	c := codec.FindCall(e.calls, index, id, last)
	if c == nil {
		e.fail(fmt.Errorf("an event of the call %q (index %d), but no call is open", id, index))
	}
	return c
}

func (e *encoder) callDelta(ev llm.ToolCallDelta) {
	if c := e.find(ev.Index, ev.ID, true); c != nil {
		c.Args = append(c.Args, ev.Arguments...)
		e.input(c.block, ev.Arguments)
	}
}

func (e *encoder) callEnd(ev llm.ToolCallEnd) {
	c := e.find(ev.Index, ev.ID, false)
	if c == nil {
		return
	}
	rest, err := c.Rest(ev.Arguments)
	if e.fail(err); rest != "" {
		e.input(c.block, rest)
	}
	e.stop(c.block)
	c.Closed = true
}

func (e *encoder) part(part llm.Part) {
	switch p := part.(type) {
	case llm.Text:
		e.closeText()
		e.text(llm.TextDelta{Text: p.Text, Opaque: p.Opaque})
		e.closeText()
	case llm.Reasoning:
		e.closeText()
		e.thinking(llm.ReasoningDelta(p))
		e.closeText()
	case llm.ToolCall:
		block := e.start(func(w *writer) { w.call(withCaller(p), p.Name, []byte("{}")) })
		e.input(block, "")
		if p.Arguments != "" {
			e.input(block, p.Arguments)
		}
		e.stop(block)
	case llm.Unknown, llm.Media, llm.ToolResult:
		e.stop(e.start(func(w *writer) { w.responseBlock(p) }))
	}
}
