package responses

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/codec"
)

// text writes text of a message or reasoning. It begins the item next, unless such an item is
// open. Opaque data ends the item.
func (e *encoder) text(next outItem, text string, opaque json.RawMessage) {
	it := &next
	if n := len(e.items); n > 0 {
		it = e.items[n-1]
	}
	if it.Closed || it.kind != next.kind || it.refusal != next.refusal || it == &next {
		next.opaque = opaque
		it = e.begin(&next)
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

func (e *encoder) within(it *outItem, kind string, f func(w *codec.Writer)) {
	e.send(kind, func(w *codec.Writer) {
		w.Add(`,"item_id":%,"output_index":%`, it.id, int64(it.place))
		if _, _, index := it.names(); index != "" {
			w.Int(index, 0)
		}
		if strings.HasPrefix(kind, outputText) {
			w.Raw("logprobs", "[]")
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
	it.Args = append(it.Args, text...)
	event, _, _ := it.names()
	e.within(it, event+".delta", func(w *codec.Writer) {
		w.Add(`,"delta":%,"obfuscation":%`, text, padding[len(text)%len(padding):])
	})
}

func (e *encoder) deltasDone(it *outItem) {
	event, key, _ := it.names()
	e.within(it, event+".done", func(w *codec.Writer) { w.Text(key, string(it.Args)) })
}

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
	if it := codec.Nameless(e.calls, ev); it != nil {
		if it.Name = ev.Name; ev.Opaque != nil {
			it.opaque = ev.Opaque
		}
		return it
	}
	it := &outItem{Call: codec.Call{Index: ev.Index, ID: ev.ID, Name: ev.Name}, kind: kindCall, opaque: ev.Opaque}
	e.calls = append(e.calls, it)
	if codec.GetString(ev.Opaque, "type") == kindCustomCall {
		it.kind = kindCustomCall
	}
	return e.begin(it)
}

func (e *encoder) endCall(it *outItem, ev llm.ToolCallEnd) {
	if ev.Arguments != "" {
		it.Args = append(it.Args[:0], ev.Arguments...)
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
		e.text(outItem{kind: kindMessage, refusal: p.Refusal}, p.Text, p.Opaque)
		e.closeTexts()
	case llm.Reasoning:
		e.closeTexts()
		e.text(outItem{kind: kindReasoning}, p.Text, p.Opaque)
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
	it := &outItem{kind: codec.GetString(raw, "type"), opaque: raw, final: codec.AppendValue(nil, raw)}
	e.begin(it)
	it.Closed = true
	e.item("response.output_item.done", it, it.final)
}

// hostedItem returns the item of a call that the provider ran.
func hostedItem(c *llm.ToolCall) json.RawMessage {
	if codec.GetString(c.Opaque, "type") != "" {
		return c.Opaque
	}
	var w codec.Writer
	kind := c.Name + "_call"
	if c.Name == "mcp" || !slices.Contains(hostedCalls, kind) {
		w.Add(`{"type":"mcp_call","id":%,"name":%,"arguments":%`, c.ID, c.Name, c.Arguments)
		w.Add(`,"server_label":"server","status":"completed"}`)
		return w.Dst
	}
	w.Add(`{"type":%,"id":%,"status":"completed"`, kind, c.ID)
	if jsonio.IsObject(c.Arguments) {
		w.Value("action", []byte(c.Arguments))
	}
	return append(w.Dst, '}')
}

func (it *outItem) json(status string) []byte {
	if it.final != nil {
		return it.final
	}
	var w codec.Writer
	w.Add(`{"id":%,"type":%`, it.id, it.kind)
	switch it.kind {
	case kindReasoning:
		it.reasoning(&w, status)
		return append(w.Dst, '}')
	case kindMessage:
		w.Add(`,"status":%,"content":[`, status)
		if status != statusInProgress {
			it.part(&w)
		}
		w.Add(`],"role":"assistant"`)
	default:
		_, key, _ := it.names()
		w.Text("status", status)
		w.Text(key, string(it.Args))
		w.Add(`,"call_id":%,"name":%`, it.ID, it.Name)
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
	case status == statusInProgress, summary == nil && len(it.Args) == 0:
		w.Raw("summary", "[]")
	case summary != nil:
		w.Value("summary", summary)
	default:
		w.Raw("summary", "[")
		it.part(w)
		w.Add("]")
	}
	if it.opaque == nil {
		w.Text("encrypted_content", "gAAAAAB"+base64.RawURLEncoding.EncodeToString([]byte(it.id)))
	}
}

func (it *outItem) part(w *codec.Writer) {
	text := string(it.Args)
	switch {
	case it.kind == kindReasoning:
		w.Add(`{"type":"summary_text","text":%`, text)
	case it.refusal:
		w.Add(`{"type":"refusal","refusal":%`, text)
		w.Dst = contentNames.Append(w.Dst, it.opaque, partMembers...)
	default:
		w.Add(`{"type":"output_text"`)
		w.Dst = contentNames.Append(w.Dst, it.opaque, partMembers...)
		for _, key := range []string{"annotations", "logprobs"} {
			if codec.Get(it.opaque, key) == nil {
				w.Raw(key, "[]")
			}
		}
		w.Text("text", text)
	}
	w.Add("}")
}
