package responses

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/wirejson"
	"github.com/looptape/looptape/providers/protocol"
)

// NewEncoder implements [protocol.Protocol]. The stream goes from response.created to
// response.completed, response.incomplete or response.failed. Items without an id get one from
// the response id and their position. A call without an end gets no output_item.done. A
// response without [llm.Finish] ends with only [DONE].
func (Protocol) NewEncoder(a protocol.ResponseMeta) protocol.Encoder {
	return &encoder{meta: a}
}

// EncodeResponse implements [protocol.Protocol].
func (Protocol) EncodeResponse(dst []byte, a protocol.ResponseMeta, t *llm.Response) ([]byte, error) {
	e := encoder{meta: a}
	for i, p := range t.Parts {
		if err := e.Event(llm.PartDone{Part: p}, nil); err != nil {
			return nil, fmt.Errorf("parts[%d]: %w", i, err)
		}
	}
	e.closeTexts()
	e.usage = t.Usage
	e.finish = llm.Finish{Reason: t.FinishReason, Raw: t.RawFinishReason, Message: t.FinishMessage, Opaque: t.Opaque}
	return e.appendResponse(dst, e.status()), nil
}

// encoder writes a stream. If write is nil, it only collects the items.
type encoder struct {
	meta     protocol.ResponseMeta
	write    func(name string, data []byte)
	sequence int64
	items    []*outItem
	usage    llm.Usage
	finish   llm.Finish
	finished bool
	buf      []byte
}

// outItem is an item of the output.
type outItem struct {
	place  int
	kind   string
	id     string
	opaque json.RawMessage
	closed bool

	refusal bool   // of a message
	hasText bool   // a piece of content or of the summary was begun
	text    []byte // of a message or reasoning; of a call its arguments

	index        int // of a call's events
	callID, name string

	final []byte // what it is once it is done
}

// Event implements [protocol.Encoder].
func (e *encoder) Event(ev llm.Event, write func(name string, data []byte)) error {
	e.write = write
	e.start()
	switch ev := ev.(type) {
	case llm.TextDelta:
		if ev.Text != "" || ev.Opaque != nil {
			e.text(ev)
		}
	case llm.ReasoningDelta:
		e.reasoning(ev)
	case llm.ToolCallStart:
		e.call(ev)
	case llm.ToolCallDelta:
		if it := e.find(ev.Index, ev.ID, true); it != nil {
			e.arguments(it, ev.Arguments)
		}
	case llm.ToolCallEnd:
		if it := e.find(ev.Index, ev.ID, false); it != nil {
			e.endCall(it, ev)
		}
	case llm.PartDone:
		return e.part(ev.Part)
	case llm.Usage:
		e.usage = e.usage.Update(ev)
	case llm.Finish:
		e.finished = true
		if ev.Reason != "" || e.finish.Reason == "" {
			e.finish = ev
		}
	case llm.Warning, llm.Unknown:
	}
	return nil
}

// End implements [protocol.Encoder].
func (e *encoder) End(write func(name string, data []byte)) error {
	e.write = write
	e.start()
	e.closeTexts()
	if !e.finished {
		write("", []byte("[DONE]"))
		return nil
	}
	status := e.status()
	e.send("response."+status, func(dst []byte) []byte {
		return e.appendResponse(append(dst, `,"response":`...), status)
	})
	return nil
}

// send writes an event; f appends its members.
func (e *encoder) send(kind string, f func(dst []byte) []byte) {
	if e.write == nil {
		return
	}
	e.buf = f(wirejson.AppendString(append(e.buf[:0], '{'), "type", kind))
	e.buf = append(wirejson.AppendInt(e.buf, "sequence_number", e.sequence), '}')
	e.sequence++
	e.write(kind, e.buf)
}

// partEvent writes an event about a part of an item.
func (e *encoder) partEvent(it *outItem, kind, section string, f func(dst []byte) []byte) {
	e.send(kind, func(dst []byte) []byte {
		dst = wirejson.AppendInt(wirejson.AppendString(dst, "item_id", it.id), "output_index", int64(it.place))
		if section != "" {
			dst = wirejson.AppendInt(dst, section, 0)
		}
		return f(dst)
	})
}

// delta writes a delta event. OpenAI pads deltas to hide their length.
func (e *encoder) delta(it *outItem, kind, section, text string) {
	const padding = "0123456789abcdef"
	e.partEvent(it, kind, section, func(dst []byte) []byte {
		if kind == "response.output_text.delta" {
			dst = append(dst, `,"logprobs":[]`...)
		}
		return wirejson.AppendString(wirejson.AppendString(dst, "delta", text), "obfuscation", padding[len(text)%len(padding):])
	})
}

// start writes the first events of a stream.
func (e *encoder) start() {
	if e.sequence > 0 {
		return
	}
	for _, kind := range []string{kindCreated, kindInProgress} {
		e.send(kind, func(dst []byte) []byte {
			return e.appendResponse(append(dst, `,"response":`...), "in_progress")
		})
	}
}

// begin begins an item and ends the open message or reasoning.
func (e *encoder) begin(it *outItem, prefix string) *outItem {
	e.closeTexts()
	it.place = len(e.items)
	if it.id = wirejson.GetString(it.opaque, "id"); it.id == "" {
		it.id = prefix + strings.TrimPrefix(e.meta.ID, "resp_") + "_" + strconv.Itoa(it.place)
	}
	e.items = append(e.items, it)
	e.item("response.output_item.added", it, it.append(nil, "in_progress"))
	return it
}

// item writes an event with a whole item.
func (e *encoder) item(kind string, it *outItem, text []byte) {
	e.send(kind, func(dst []byte) []byte {
		return wirejson.AppendInt(append(append(dst, `,"item":`...), text...), "output_index", int64(it.place))
	})
}

func (e *encoder) done(it *outItem) {
	it.closed = true
	it.final = it.append(nil, "completed")
	e.item("response.output_item.done", it, it.final)
}

// closeTexts ends the open message or reasoning.
func (e *encoder) closeTexts() {
	for _, it := range e.items {
		if !it.closed && !isCall(it.kind) {
			e.endText(it)
		}
	}
}

// status returns the status of the response.
func (e *encoder) status() string {
	switch e.finish.Reason {
	case llm.FinishLength, llm.FinishContentFilter, llm.FinishUnknown:
		return statusIncomplete
	case llm.FinishError:
		return "failed"
	case llm.FinishStop, llm.FinishToolCalls, llm.FinishRefusal, llm.FinishPause, llm.FinishMalformedCall:
	}
	return "completed"
}

func (e *encoder) appendResponse(dst []byte, status string) []byte {
	inProgress := status == "in_progress"
	dst = wirejson.AppendString(wirejson.AppendString(append(dst, '{'), "id", e.meta.ID), "object", "response")
	dst = wirejson.AppendInt(dst, "created_at", e.meta.Created)
	dst = append(wirejson.AppendString(dst, "status", status), `,"background":false`...)
	if status == "completed" {
		dst = wirejson.AppendInt(dst, "completed_at", e.meta.Created)
	}
	dst = append(dst, `,"error":`...)
	if status == "failed" {
		dst = append(wirejson.AppendString(wirejson.AppendString(append(dst, '{'), "code", "server_error"), "message", e.finish.Message), '}')
	} else {
		dst = append(dst, "null"...)
	}
	dst = append(dst, `,"incomplete_details":`...)
	if reason := e.reason(); status == statusIncomplete && reason != "" {
		dst = append(wirejson.AppendString(append(dst, '{'), "reason", reason), '}')
	} else {
		dst = append(dst, "null"...)
	}
	dst = append(dst, `,"instructions":null,"max_output_tokens":null`...)
	dst = append(wirejson.AppendString(dst, "model", e.meta.Model), `,"output":[`...)
	for _, it := range e.items {
		if it.final == nil {
			it.final = it.append(nil, statusIncomplete)
		}
		dst = append(wirejson.AppendComma(dst), it.final...)
	}
	dst = append(dst, `],"parallel_tool_calls":true,"previous_response_id":null,"reasoning":{"effort":null,"summary":null},"store":false,"temperature":1.0,"text":{"format":{"type":"text"}},"tool_choice":"auto","tools":[],"top_p":1.0,"truncation":"disabled","usage":`...)
	if inProgress {
		dst = append(dst, "null"...)
	} else {
		dst = appendUsage(dst, e.usage)
	}
	dst = append(dst, `,"user":null,"metadata":{}`...)
	return append(wirejson.AppendMembers(dst, wirejson.Get(e.finish.Opaque, keyResponse)), '}')
}

// reason returns why the response is incomplete.
func (e *encoder) reason() string {
	switch e.finish.Reason {
	case llm.FinishLength:
		return "max_output_tokens"
	case llm.FinishContentFilter:
		return "content_filter"
	default:
		return e.finish.Raw
	}
}

func appendUsage(dst []byte, u llm.Usage) []byte {
	dst = jsonio.AppendInt(append(dst, `{"input_tokens":`...), u.InputTokens)
	dst = jsonio.AppendInt(append(dst, `,"input_tokens_details":{"cached_tokens":`...), u.CacheReadInputTokens)
	if u.CacheCreationInputTokens != 0 {
		dst = wirejson.AppendInt(dst, "cache_write_tokens", u.CacheCreationInputTokens)
	}
	dst = jsonio.AppendInt(append(dst, `},"output_tokens":`...), u.OutputTokens)
	dst = jsonio.AppendInt(append(dst, `,"output_tokens_details":{"reasoning_tokens":`...), u.ReasoningOutputTokens)
	return append(jsonio.AppendInt(append(dst, `},"total_tokens":`...), u.Total()), '}')
}

// placeholder returns encrypted content for reasoning without opaque data.
func placeholder(id string) string {
	return "gAAAAAB" + base64.RawURLEncoding.EncodeToString([]byte(id))
}

// find returns the call of an event, like [llm.Accumulator].
func (e *encoder) find(index int, id string, last bool) *outItem {
	var byID, fallback *outItem
	for _, it := range slices.Backward(e.items) {
		switch {
		case !isCall(it.kind) || it.closed:
			continue
		case index != 0 && it.index == index:
			return it
		}
		if byID == nil && id != "" && it.callID == id {
			byID = it
		}
		if !last || fallback == nil {
			fallback = it
		}
	}
	if byID != nil {
		return byID
	}
	return fallback
}
