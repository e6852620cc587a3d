package chat

import (
	"encoding/json"
	"fmt"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/wirejson"
	"github.com/looptape/looptape/providers/protocol"
)

// NewEncoder implements [protocol.Protocol]. The first chunk contains the role, each event has
// a chunk, usage follows the finish reason, and [DONE] is last.
//
// The encoder holds reasoning until its end, because only the end names its member. It returns
// an error for parts other than text, reasoning and calls, and if the end of a call has
// different arguments than its deltas. It omits the Opaque of text.
func (c Protocol) NewEncoder(a protocol.ResponseMeta) protocol.Encoder {
	e := &encoder{w: writer{chat: c, buf: []byte{'{'}}}
	e.w.head(a, "chat.completion.chunk")
	e.w.raw("service_tier", `"default"`)
	e.w.raw("system_fingerprint", "null")
	e.head = len(e.w.buf)
	return e
}

// encoder writes a stream of chunks.
type encoder struct {
	w     writer // begins with what all chunks begin with
	head  int    // the length of that
	begun bool
	open  bool     // reasoning is held, perhaps without text
	texts []string // its texts
	calls []sentCall
	usage llm.Usage
}

type writeEvent = func(name string, data []byte)

// Event implements [protocol.Encoder].
func (e *encoder) Event(ev llm.Event, write func(name string, data []byte)) error {
	switch ev := ev.(type) {
	case llm.TextDelta:
		e.text(ev, write)
	case llm.ReasoningDelta:
		e.reason(ev, write)
	case llm.ToolCallStart:
		e.start(ev, write)
	case llm.ToolCallDelta:
		if c := e.find(ev.Index, ev.ID, true); c != nil && ev.Arguments != "" {
			e.callChunk(c, callChunk{args: ev.Arguments}, write)
		}
	case llm.ToolCallEnd:
		return e.endCall(ev, write)
	case llm.PartDone:
		return e.part(ev.Part, write)
	case llm.Usage:
		e.usage = e.usage.Update(ev)
	case llm.Finish:
		e.begin(false, write)
		e.delta()
		e.w.opaque(ev.Opaque)
		e.send(ev, write)
	case llm.Warning, llm.Unknown: // not of the wire
	}
	return nil
}

// End implements [protocol.Encoder].
func (e *encoder) End(write func(name string, data []byte)) error {
	e.flush(nil, write)
	if e.usage != (llm.Usage{}) {
		e.w.buf = e.w.buf[:e.head]
		e.w.raw("choices", "[]")
		e.w.usage(e.usage)
		e.w.buf = append(e.w.buf, '}')
		write("", e.w.buf)
	}
	write("", []byte("[DONE]"))
	return nil
}

// begin writes the chunk with the role, and the reasoning that is held.
func (e *encoder) begin(text bool, write writeEvent) {
	e.role(text, write)
	e.flush(nil, write)
}

func (e *encoder) role(text bool, write writeEvent) {
	if e.begun {
		return
	}
	e.begun = true
	e.delta()
	e.w.text("role", "assistant")
	if text {
		e.w.text("content", "")
	} else {
		e.w.raw("content", "null")
	}
	e.w.raw("refusal", "null")
	e.send(llm.Finish{}, write)
}

// delta begins a chunk.
func (e *encoder) delta() {
	e.w.buf = e.w.buf[:e.head]
	e.w.raw("choices", `[{"index":0,"delta":{`)
}

// send ends a chunk and writes it.
func (e *encoder) send(f llm.Finish, write writeEvent) {
	e.w.buf = append(e.w.buf, '}')
	e.w.ending(f)
	e.w.buf = append(wirejson.AppendMembers(append(e.w.buf, '}', ']'), keptOf(f.Opaque, keyResponse)), '}')
	write("", e.w.buf)
}

func (e *encoder) text(ev llm.TextDelta, write writeEvent) {
	if ev.Text == "" {
		return
	}
	e.begin(!ev.Refusal, write)
	e.delta()
	if ev.Refusal {
		e.w.text("refusal", ev.Text)
	} else {
		e.w.text("content", ev.Text)
	}
	e.send(llm.Finish{}, write)
}

// reason holds reasoning until its end.
func (e *encoder) reason(ev llm.ReasoningDelta, write writeEvent) {
	e.role(false, write)
	e.open = true
	if ev.Text != "" {
		e.texts = append(e.texts, ev.Text)
	}
	if ev.Opaque != nil {
		e.flush(ev.Opaque, write)
	}
}

// flush writes the reasoning that is held. If no member has the text, the details contain it.
func (e *encoder) flush(opaque json.RawMessage, write writeEvent) {
	if !e.open {
		return
	}
	e.open = false
	field := e.w.field(opaque)
	if len(e.texts) == 0 {
		e.texts = append(e.texts, "")
	}
	for _, text := range e.texts {
		if field == "" {
			break
		}
		e.delta()
		if field == contentField {
			e.w.raw("content", "[")
			e.w.buf = append(appendThinking(e.w.buf, text), ']')
		} else {
			e.w.text(field, text)
		}
		e.send(llm.Finish{}, write)
	}
	e.texts = e.texts[:0]
	if details := wirejson.Get(opaque, "reasoning_details"); details != nil {
		e.delta()
		e.w.name("reasoning_details")
		e.w.buf = jsonio.AppendRaw(e.w.buf, details)
		e.send(llm.Finish{}, write)
	}
}

func (e *encoder) part(p llm.Part, write writeEvent) error {
	switch p := p.(type) {
	case llm.Text:
		e.text(llm.TextDelta(p), write)
		return nil
	case llm.Reasoning:
		e.reason(llm.ReasoningDelta(p), write)
		e.flush(nil, write)
		return nil
	case llm.ToolCall:
		if !p.ProviderExecuted {
			e.whole(p, write)
			return nil
		}
	case llm.Media, llm.ToolResult, llm.Unknown:
	}
	return fmt.Errorf("a Chat Completions response cannot contain %s", kind(p))
}
