package anthropic

import (
	"encoding/json"
	"slices"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/codec"
)

// assembler converts the blocks of a response to events.
type assembler struct {
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

// separator is empty opaque data. It ends a part, so that two blocks of one type stay two
// parts.
var separator = json.RawMessage("{}")

// start begins a block of a stream.
func (a *assembler) start(index int64, part llm.Part, emit func(llm.Event)) {
	if b := a.find(index); b != nil { // its end was lost
		a.end(b, emit)
		a.drop(index)
	}
	b := a.begin(part, emit)
	b.index = index
	a.open = append(a.open, b)
}

func (a *assembler) block(part llm.Part, emit func(llm.Event)) {
	b := a.begin(part, emit)
	a.close(&b, emit)
}

func (a *assembler) begin(part llm.Part, emit func(llm.Event)) (b openBlock) {
	switch p := part.(type) {
	case llm.Text:
		b.kind, b.opaque = blockText, p.Opaque
		if a.last == blockText {
			a.endText(separator, emit)
		}
		a.text(p.Text, emit)
	case llm.Reasoning:
		if codec.Get(p.Opaque, "type") != nil {
			a.done(p, emit)
			break
		}
		b.kind, b.opaque = blockThinking, p.Opaque
		if a.last == blockThinking {
			a.endThinking(separator, emit)
		}
		a.thinking(p.Text, emit)
	case llm.ToolCall:
		b.kind, b.call, a.last = blockServer, p, ""
		if !p.ProviderExecuted {
			a.calls++
			b.kind, b.callIndex = blockToolUse, a.calls
			emit(llm.ToolCallStart{Index: b.callIndex, ID: p.ID, Name: p.Name, Opaque: p.Opaque})
		}
	case llm.Unknown:
		b.kind, b.block, a.last = blockUnknown, p, ""
	case llm.Media, llm.ToolResult:
		a.done(p, emit)
	}
	return b
}

func (a *assembler) done(p llm.Part, emit func(llm.Event)) {
	a.last = ""
	emit(llm.PartDone{Part: p})
}

func (a *assembler) text(s string, emit func(llm.Event)) {
	if s != "" {
		a.last = blockText
		emit(llm.TextDelta{Text: s})
	}
}

func (a *assembler) thinking(s string, emit func(llm.Event)) {
	if s != "" {
		a.last = blockThinking
		emit(llm.ReasoningDelta{Text: s})
	}
}

func (a *assembler) endText(opaque json.RawMessage, emit func(llm.Event)) {
	if opaque != nil {
		a.last = ""
		emit(llm.TextDelta{Opaque: opaque})
	}
}

func (a *assembler) endThinking(opaque json.RawMessage, emit func(llm.Event)) {
	if opaque != nil {
		a.last = ""
		emit(llm.ReasoningDelta{Opaque: opaque})
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

// delta handles a delta. It keeps deltas of unknown types only for blocks of unknown types.
func (a *assembler) delta(index int64, d delta, emit func(llm.Event)) {
	switch d.kind {
	case "text_delta":
		a.text(d.text, emit)
		return
	case "thinking_delta":
		a.thinking(d.thinking, emit)
		return
	}
	b := a.find(index)
	if b == nil {
		return
	}
	switch d.kind {
	case "signature_delta":
		b.signature = append(b.signature, d.signature...)
	case "citations_delta":
		if d.citation != "" {
			b.citations.Add(d.citation)
		}
	case "input_json_delta":
		a.input(b, d.input, emit)
	default:
		if b.kind == blockUnknown {
			b.deltas = append(b.deltas, d.raw)
		}
	}
}

// input handles a delta of arguments, which may be empty (quirk QA-10).
func (a *assembler) input(b *openBlock, args string, emit func(llm.Event)) {
	switch {
	case args == "":
	case b.kind == blockToolUse:
		b.hasDeltas = true
		emit(llm.ToolCallDelta{Index: b.callIndex, Arguments: args})
	case b.kind == blockServer:
		b.hasDeltas, b.args = true, append(b.args, args...)
	}
}

func (a *assembler) stop(index int64, emit func(llm.Event)) {
	b := a.find(index)
	if b == nil {
		return
	}
	a.close(b, emit)
	a.drop(index)
}

// close ends a block and its call.
func (a *assembler) close(b *openBlock, emit func(llm.Event)) {
	a.end(b, emit)
	if b.kind == blockToolUse {
		emit(llm.ToolCallEnd{Index: b.callIndex})
	}
}

// finish ends the blocks without content_block_stop (quirk QA-11).
func (a *assembler) finish(emit func(llm.Event)) {
	for i := range a.open {
		a.end(&a.open[i], emit)
	}
	a.open = nil
}

// end emits the rest of a block. It does not end a call.
func (a *assembler) end(b *openBlock, emit func(llm.Event)) {
	switch b.kind {
	case blockText:
		a.endText(b.textOpaque(), emit)
	case blockThinking:
		a.endThinking(b.thinkingOpaque(), emit)
	case blockToolUse:
		if !b.hasDeltas && b.call.Arguments != "" {
			emit(llm.ToolCallDelta{Index: b.callIndex, Arguments: b.call.Arguments})
		}
	case blockServer:
		if b.hasDeltas {
			b.call.Arguments = string(b.args)
		}
		a.done(b.call, emit)
	case blockUnknown:
		b.block.Raw = merged(b.block.Raw, b.deltas)
		a.done(b.block, emit)
	}
}

func (b *openBlock) textOpaque() json.RawMessage {
	if b.citations == nil {
		return b.opaque
	}
	m := without(b.opaque, "citations")
	m.AddRaw("citations", string(b.citations.Array()))
	return m.Object()
}

func (b *openBlock) thinkingOpaque() json.RawMessage {
	if len(b.signature) == 0 {
		return b.opaque
	}
	var m codec.Members
	m.AddString("signature", string(b.signature))
	codec.EachMember(without(b.opaque, "signature").Object(), m.AddRaw)
	return m.Object()
}

// merged returns a block of an unknown type with its deltas, as for known types: strings are
// appended and missing members are set. An example is compaction_delta.
func merged(block json.RawMessage, deltas []string) json.RawMessage {
	if len(deltas) == 0 {
		return block
	}
	var m codec.MemberSet
	eachMember(block, m.Extend)
	for _, delta := range deltas {
		codec.EachMember(without(json.RawMessage(delta), "type").Object(), m.Extend)
	}
	return m.Members(0).Object()
}
