package responses

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/codec"
)

// text writes text of a message or reasoning. It begins the item next, unless such an item is
// open. Opaque data ends the item.
func (e *encoder) text(next outItem, prefix, text string, opaque json.RawMessage) {
	var it *outItem
	if n := len(e.items); n > 0 && !e.items[n-1].closed && e.items[n-1].kind == next.kind {
		it = e.items[n-1]
	}
	if it == nil || it.refusal != next.refusal {
		next.opaque = opaque
		it = e.begin(&next, prefix)
	}
	if !it.hasText && (text != "" || it.kind == kindMessage) {
		it.hasText = true
		e.partEvent(it, ".added")
	}
	e.delta(it, text)
	if opaque != nil {
		it.opaque = opaque
		e.endText(it)
	}
}

func (e *encoder) endText(it *outItem) {
	if it.hasText {
		e.deltasDone(it)
		e.partEvent(it, ".done")
	}
	e.done(it)
}

// names returns the name in the events of an item's deltas, the member with the joined deltas,
// and the member with the index of the part.
func (it *outItem) names() (event, key, index string) {
	switch {
	case it.kind == kindReasoning:
		return "response.reasoning_summary_text", "text", "summary_index"
	case it.kind == kindCall:
		return "response.function_call_arguments", "arguments", ""
	case it.kind == kindCustomCall:
		return "response.custom_tool_call_input", "input", ""
	case it.refusal:
		return "response.refusal", "refusal", "content_index"
	}
	return outputText, "text", "content_index"
}

const outputText = "response.output_text"

// within writes an event about a part of an item; f writes its other members.
func (e *encoder) within(it *outItem, kind string, f func(w *codec.Writer)) {
	e.send(kind, func(w *codec.Writer) {
		w.Text("item_id", it.id)
		w.Int("output_index", int64(it.place))
		if _, _, index := it.names(); index != "" {
			w.Int(index, 0)
		}
		f(w)
	})
}

// delta writes a delta unless it is empty. OpenAI pads deltas to hide their length.
func (e *encoder) delta(it *outItem, text string) {
	const padding = "0123456789abcdef"
	if text == "" {
		return
	}
	it.text = append(it.text, text...)
	event, _, _ := it.names()
	e.within(it, event+".delta", func(w *codec.Writer) {
		if event == outputText {
			w.Raw("logprobs", "[]")
		}
		w.Text("delta", text)
		w.Text("obfuscation", padding[len(text)%len(padding):])
	})
}

// deltasDone writes the event with the joined deltas.
func (e *encoder) deltasDone(it *outItem) {
	event, key, _ := it.names()
	e.within(it, event+".done", func(w *codec.Writer) {
		if event == outputText {
			w.Raw("logprobs", "[]")
		}
		w.Text(key, string(it.text))
	})
}

// partEvent writes an event with the part of a message or reasoning.
func (e *encoder) partEvent(it *outItem, event string) {
	name := "response.content_part"
	if it.kind == kindReasoning {
		name = "response.reasoning_summary_part"
	}
	e.within(it, name+event, func(w *codec.Writer) {
		w.Key("part")
		it.part(w)
	})
}

// call begins a call, or sets the name of the open call with the index.
func (e *encoder) call(ev llm.ToolCallStart) *outItem {
	if ev.Index != 0 && ev.Name != "" {
		for _, it := range e.items {
			if isCall(it.kind) && it.index == ev.Index && !it.closed && it.name == "" {
				if it.name = ev.Name; ev.Opaque != nil {
					it.opaque = ev.Opaque
				}
				return it
			}
		}
	}
	it := &outItem{kind: kindCall, opaque: ev.Opaque, index: ev.Index, callID: ev.ID, name: ev.Name}
	prefix := "fc_"
	if codec.GetString(ev.Opaque, "type") == kindCustomCall {
		it.kind, prefix = kindCustomCall, "ctc_"
	}
	return e.begin(it, prefix)
}

func (e *encoder) endCall(it *outItem, ev llm.ToolCallEnd) {
	if ev.Arguments != "" {
		it.text = append(it.text[:0], ev.Arguments...)
	}
	if ev.Opaque != nil {
		it.opaque = ev.Opaque
		it.id = cmp.Or(codec.GetString(ev.Opaque, "id"), it.id)
	}
	e.deltasDone(it)
	e.done(it)
}

func (e *encoder) part(p llm.Part) error {
	switch p := p.(type) {
	case llm.Text:
		e.closeTexts()
		e.text(outItem{kind: kindMessage, refusal: p.Refusal}, "msg_", p.Text, p.Opaque)
		e.closeTexts()
	case llm.Reasoning:
		e.closeTexts()
		e.text(outItem{kind: kindReasoning}, "rs_", p.Text, p.Opaque)
		e.closeTexts()
	case llm.ToolCall:
		if p.ProviderExecuted {
			e.wholeItem(hostedItem(&p))
			return nil
		}
		it := e.call(llm.ToolCallStart{ID: p.ID, Name: p.Name, Opaque: p.Opaque})
		e.delta(it, p.Arguments)
		e.endCall(it, llm.ToolCallEnd{})
	case llm.ToolResult:
		if codec.GetString(p.Opaque, "type") == "" {
			return errors.New("openai-responses: a response contains no tool result: put the item into the opaque data")
		}
		e.wholeItem(p.Opaque)
	case llm.Unknown:
		if !jsonio.IsObject(jsonio.View(p.Raw)) {
			return errors.New("openai-responses: an unknown part is not a JSON object: put the item there")
		}
		e.wholeItem(p.Raw)
	case llm.Media:
		return errors.New("openai-responses: a response contains no media: use the item of the tool that made it")
	}
	return nil
}

func (e *encoder) wholeItem(raw json.RawMessage) {
	e.closeTexts()
	kind := codec.GetString(raw, "type")
	it := &outItem{kind: kind, opaque: raw, final: codec.AppendValue(nil, raw)}
	e.begin(it, kind+"_")
	it.closed = true
	e.item("response.output_item.done", it, it.final)
}

// hostedItem returns the item of a call that the provider ran: its opaque data, or one made
// from the call.
func hostedItem(c *llm.ToolCall) json.RawMessage {
	if codec.GetString(c.Opaque, "type") != "" {
		return c.Opaque
	}
	like := item{kind: c.Name + "_call"}
	_, known := like.hostedCall()
	w := codec.Writer{Dst: []byte{'{'}}
	if known && c.Name != "mcp" {
		w.Text("type", like.kind)
		w.Text("id", c.ID)
		w.Text("status", statusCompleted)
		if jsonio.IsObject(c.Arguments) {
			w.Value("action", []byte(c.Arguments))
		}
		return append(w.Dst, '}')
	}
	w.Text("type", "mcp_call")
	w.Text("id", c.ID)
	w.Text("name", c.Name)
	w.Text("arguments", c.Arguments)
	return append(w.Dst, `,"server_label":"server","status":"completed"}`...)
}

func (it *outItem) json(status string) []byte {
	if it.final != nil {
		return it.final
	}
	w := codec.Writer{Dst: []byte{'{'}}
	w.Text("id", it.id)
	w.Text("type", it.kind)
	switch it.kind {
	case kindReasoning:
		it.reasoning(&w, status)
		return append(w.Dst, '}')
	case kindMessage:
		w.Text("status", status)
		w.Raw("content", "[")
		if status != statusInProgress {
			it.part(&w)
		}
		w.Close(`],"role":"assistant"`)
	default:
		_, key, _ := it.names()
		w.Text("status", status)
		w.Text(key, string(it.text))
		w.Text("call_id", it.callID)
		w.Text("name", it.name)
	}
	return append(itemNames.Append(w.Dst, it.opaque, itemMembers...), '}')
}

// reasoning writes the members of a reasoning item after its type. Without opaque data it has
// encrypted content made from its id.
func (it *outItem) reasoning(w *codec.Writer, status string) {
	if codec.Get(it.opaque, "content") == nil {
		w.Raw("content", "[]")
	}
	w.Dst = itemNames.Append(w.Dst, it.opaque, "id", "type", "status", "summary")
	summary := codec.Get(it.opaque, "summary")
	switch {
	case status == statusInProgress:
		w.Raw("summary", "[]")
	case summary != nil:
		w.Value("summary", summary)
	case len(it.text) > 0:
		w.Raw("summary", "[")
		it.part(w)
		w.Close("]")
	default:
		w.Raw("summary", "[]")
	}
	if it.opaque == nil {
		w.Text("encrypted_content", "gAAAAAB"+base64.RawURLEncoding.EncodeToString([]byte(it.id)))
	}
}

func (it *outItem) part(w *codec.Writer) {
	switch {
	case it.kind == kindReasoning:
		w.Close(`{"type":"summary_text"`)
		w.Text("text", string(it.text))
	case it.refusal:
		w.Close(`{"type":"refusal"`)
		w.Text("refusal", string(it.text))
		w.Dst = contentNames.Append(w.Dst, it.opaque, partMembers...)
	default:
		w.Close(`{"type":"output_text"`)
		w.Dst = contentNames.Append(w.Dst, it.opaque, partMembers...)
		for _, key := range []string{"annotations", "logprobs"} {
			if codec.Get(it.opaque, key) == nil {
				w.Raw(key, "[]")
			}
		}
		w.Text("text", string(it.text))
	}
	w.Close("}")
}
