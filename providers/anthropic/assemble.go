package anthropic

import (
	"encoding/json"
	"slices"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/codec"
)

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

// separator is empty opaque data. It ends a part, so that two blocks of one type stay two
// parts.
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
