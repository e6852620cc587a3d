package responses

import (
	"encoding/json"
	"errors"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/wirejson"
)

// text writes a text delta.
func (e *encoder) text(ev llm.TextDelta) {
	it := e.last(kindMessage)
	if it == nil || it.refusal != ev.Refusal {
		it = e.begin(&outItem{kind: kindMessage, opaque: ev.Opaque, refusal: ev.Refusal}, "msg_")
		e.partEvent(it, "response.content_part.added", "content_index", func(dst []byte) []byte {
			return it.appendContent(append(dst, `,"part":`...), "")
		})
	}
	if ev.Text != "" {
		it.text = append(it.text, ev.Text...)
		e.delta(it, "response."+it.textEvent()+".delta", "content_index", ev.Text)
	}
	if ev.Opaque != nil {
		it.opaque = ev.Opaque
		e.endText(it)
	}
}

// last returns the last item if it is open and of this kind.
func (e *encoder) last(kind string) *outItem {
	if n := len(e.items); n > 0 {
		if it := e.items[n-1]; it.kind == kind && !it.closed {
			return it
		}
	}
	return nil
}

// textEvent returns the name in the events of a message's text.
func (it *outItem) textEvent() string {
	if it.refusal {
		return "refusal"
	}
	return "output_text"
}

// reasoning writes a reasoning delta.
func (e *encoder) reasoning(ev llm.ReasoningDelta) {
	const added = "response.reasoning_summary_part.added"
	it := e.last(kindReasoning)
	if it == nil {
		it = e.begin(&outItem{kind: kindReasoning, opaque: ev.Opaque}, "rs_")
	}
	if ev.Text != "" {
		if !it.hasText {
			it.hasText = true
			e.partEvent(it, added, "summary_index", func(dst []byte) []byte {
				return append(dst, `,"part":{"type":"summary_text","text":""}`...)
			})
		}
		it.text = append(it.text, ev.Text...)
		e.delta(it, summaryDelta, "summary_index", ev.Text)
	}
	if ev.Opaque != nil {
		it.opaque = ev.Opaque
		e.endText(it)
	}
}

// endText ends a message or reasoning.
func (e *encoder) endText(it *outItem) {
	said := string(it.text)
	switch {
	case it.kind == kindMessage:
		key := "text"
		if it.refusal {
			key = "refusal"
		}
		e.partEvent(it, "response."+it.textEvent()+".done", "content_index", func(dst []byte) []byte {
			if !it.refusal {
				dst = append(dst, `,"logprobs":[]`...)
			}
			return wirejson.AppendString(dst, key, said)
		})
		e.partEvent(it, "response.content_part.done", "content_index", func(dst []byte) []byte {
			return it.appendContent(append(dst, `,"part":`...), said)
		})
	case it.hasText:
		e.partEvent(it, "response.reasoning_summary_text.done", "summary_index", func(dst []byte) []byte {
			return wirejson.AppendString(dst, "text", said)
		})
		e.partEvent(it, "response.reasoning_summary_part.done", "summary_index", func(dst []byte) []byte {
			return append(wirejson.AppendString(append(dst, `,"part":{"type":"summary_text"`...), "text", said), '}')
		})
	}
	it.updateID()
	e.done(it)
}

// updateID sets the id from opaque data that arrived last.
func (it *outItem) updateID() {
	if id := wirejson.GetString(it.opaque, "id"); id != "" {
		it.id = id
	}
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
	if wirejson.GetString(ev.Opaque, "type") == kindCustomCall {
		it.kind, prefix = kindCustomCall, "ctc_"
	}
	return e.begin(it, prefix)
}

// arguments writes a delta of a call's arguments.
func (e *encoder) arguments(it *outItem, args string) {
	if args == "" {
		return
	}
	it.text = append(it.text, args...)
	e.delta(it, "response."+it.argumentsEvent()+".delta", "", args)
}

// argumentsEvent returns the name in the events of a call's arguments.
func (it *outItem) argumentsEvent() string {
	if it.kind == kindCustomCall {
		return "custom_tool_call_input"
	}
	return "function_call_arguments"
}

func (e *encoder) endCall(it *outItem, ev llm.ToolCallEnd) {
	if ev.Arguments != "" {
		it.text = append(it.text[:0], ev.Arguments...)
	}
	if ev.Opaque != nil {
		it.opaque = ev.Opaque
		it.updateID()
	}
	key := it.argumentsKey()
	e.partEvent(it, "response."+it.argumentsEvent()+".done", "", func(dst []byte) []byte {
		return wirejson.AppendString(dst, key, string(it.text))
	})
	e.done(it)
}

// argumentsKey returns the member with a call's arguments.
func (it *outItem) argumentsKey() string {
	if it.kind == kindCustomCall {
		return "input"
	}
	return "arguments"
}

// part writes a whole part.
func (e *encoder) part(p llm.Part) error {
	switch p := p.(type) {
	case llm.Text:
		e.closeTexts()
		if e.text(llm.TextDelta(p)); p.Opaque == nil {
			e.closeTexts()
		}
	case llm.Reasoning:
		e.closeTexts()
		if e.reasoning(llm.ReasoningDelta(p)); p.Opaque == nil {
			e.closeTexts()
		}
	case llm.ToolCall:
		if p.ProviderExecuted {
			e.wholeItem(hostedItem(&p))
			return nil
		}
		it := e.call(llm.ToolCallStart{ID: p.ID, Name: p.Name, Opaque: p.Opaque})
		e.arguments(it, p.Arguments)
		e.endCall(it, llm.ToolCallEnd{})
	case llm.ToolResult:
		if wirejson.GetString(p.Opaque, "type") == "" {
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

// wholeItem writes an item that has no deltas.
func (e *encoder) wholeItem(raw json.RawMessage) {
	e.closeTexts()
	kind := wirejson.GetString(raw, "type")
	it := &outItem{kind: kind, opaque: raw, final: wirejson.AppendValue(nil, raw)}
	e.begin(it, kind+"_")
	it.closed = true
	e.item("response.output_item.done", it, it.final)
}

// hostedItem returns the item of a call that the provider ran: its opaque data, or one made
// from the call.
func hostedItem(c *llm.ToolCall) json.RawMessage {
	if wirejson.GetString(c.Opaque, "type") != "" {
		return c.Opaque
	}
	like := item{kind: c.Name + "_call"}
	if _, known := like.hostedCall(); known && c.Name != "mcp" {
		dst := append(wirejson.AppendString(wirejson.AppendString([]byte("{"), "type", like.kind), "id", c.ID), `,"status":"completed"`...)
		if jsonio.IsObject(c.Arguments) {
			dst = wirejson.AppendRaw(dst, "action", []byte(c.Arguments))
		}
		return append(dst, '}')
	}
	dst := wirejson.AppendString(wirejson.AppendString([]byte("{"), "type", "mcp_call"), "id", c.ID)
	dst = wirejson.AppendString(wirejson.AppendString(dst, "name", c.Name), "arguments", c.Arguments)
	return append(dst, `,"server_label":"server","status":"completed"}`...)
}

// append appends the item in its current state.
func (it *outItem) append(dst []byte, status string) []byte {
	if it.final != nil {
		return append(dst, it.final...)
	}
	inProgress := status == "in_progress"
	dst = wirejson.AppendString(wirejson.AppendString(append(dst, '{'), "id", it.id), "type", it.kind)
	if it.kind == kindReasoning {
		return append(it.appendReasoning(dst, inProgress), '}')
	}
	dst = wirejson.AppendString(dst, "status", status)
	if it.kind == kindMessage {
		dst = append(dst, `,"content":[`...)
		if !inProgress {
			dst = it.appendContent(dst, string(it.text))
		}
		dst = append(dst, `],"role":"assistant"`...)
		return append(itemNames.Append(dst, it.opaque, itemMembers...), '}')
	}
	key := it.argumentsKey()
	dst = wirejson.AppendString(wirejson.AppendString(dst, key, string(it.text)), "call_id", it.callID)
	dst = wirejson.AppendString(dst, "name", it.name)
	return append(itemNames.Append(dst, it.opaque, itemMembers...), '}')
}

// appendReasoning appends the members of a reasoning item after its type.
func (it *outItem) appendReasoning(dst []byte, inProgress bool) []byte {
	if wirejson.Get(it.opaque, "content") == nil {
		dst = append(dst, `,"content":[]`...)
	}
	dst = append(itemNames.Append(dst, it.opaque, "id", "type", "status", "summary"), `,"summary":`...)
	summary := wirejson.Get(it.opaque, "summary")
	switch {
	case inProgress:
		dst = append(dst, "[]"...)
	case summary != nil:
		dst = wirejson.AppendValue(dst, summary)
	case len(it.text) > 0:
		dst = append(wirejson.AppendString(append(dst, `[{"type":"summary_text"`...), "text", string(it.text)), "}]"...)
	default:
		dst = append(dst, "[]"...)
	}
	if it.opaque == nil {
		dst = wirejson.AppendString(dst, "encrypted_content", placeholder(it.id))
	}
	return dst
}

// appendContent appends the content part of a message.
func (it *outItem) appendContent(dst []byte, said string) []byte {
	if it.refusal {
		dst = wirejson.AppendString(wirejson.AppendString(append(dst, '{'), "type", "refusal"), "refusal", said)
		return append(it.appendPartMembers(dst), '}')
	}
	dst = it.appendPartMembers(wirejson.AppendString(append(dst, '{'), "type", "output_text"))
	for _, key := range []string{"annotations", "logprobs"} {
		if wirejson.Get(it.opaque, key) == nil {
			dst = append(wirejson.AppendKey(dst, key), "[]"...)
		}
	}
	return append(wirejson.AppendString(dst, "text", said), '}')
}

// appendPartMembers appends the opaque members of a content part.
func (it *outItem) appendPartMembers(dst []byte) []byte {
	return contentNames.Append(dst, it.opaque, partMembers...)
}
