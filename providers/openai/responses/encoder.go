package responses

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/codec"
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
	w := codec.Writer{Dst: dst}
	e.response(&w, e.status())
	return w.Dst, nil
}

// encoder writes a stream. If write is nil, it only collects the items.
type encoder struct {
	meta     protocol.ResponseMeta
	write    func(name string, data []byte)
	sequence int64
	items    []*outItem
	calls    []*outItem // the items that are calls
	usage    llm.Usage
	finish   llm.Finish
	finished bool
	buf      []byte
}

type outItem struct {
	codec.Call // Call.Args is the text of a message or reasoning, or the arguments of a call
	place      int
	kind       string
	id         string
	opaque     json.RawMessage
	refusal    bool   // of a message
	hasText    bool   // a part of the content or of the summary began
	final      []byte // the whole item once it is done
}

// Event implements [protocol.Encoder].
func (e *encoder) Event(ev llm.Event, write func(name string, data []byte)) error {
	e.write = write
	e.start()
	switch ev := ev.(type) {
	case llm.TextDelta:
		if ev.Text != "" || ev.Opaque != nil {
			e.text(outItem{kind: kindMessage, refusal: ev.Refusal}, ev.Text, ev.Opaque)
		}
	case llm.ReasoningDelta:
		e.text(outItem{kind: kindReasoning}, ev.Text, ev.Opaque)
	case llm.ToolCallStart:
		e.call(ev)
	case llm.ToolCallDelta:
		if it := codec.FindCall(e.calls, ev.Index, ev.ID, true); it != nil {
			e.delta(it, ev.Arguments)
		}
	case llm.ToolCallEnd:
		if it := codec.FindCall(e.calls, ev.Index, ev.ID, false); it != nil {
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
	e.responseEvent("response."+e.status(), e.status())
	return nil
}

func (e *encoder) send(kind string, f func(w *codec.Writer)) {
	if e.write == nil {
		return
	}
	w := codec.Writer{Dst: e.buf[:0]}
	w.Add(`{"type":%`, kind)
	f(&w)
	w.Add(`,"sequence_number":%}`, e.sequence)
	e.buf = w.Dst
	e.sequence++
	e.write(kind, e.buf)
}

func (e *encoder) responseEvent(kind, status string) {
	e.send(kind, func(w *codec.Writer) {
		w.Key("response")
		e.response(w, status)
	})
}

func (e *encoder) start() {
	if e.sequence > 0 {
		return
	}
	e.responseEvent(kindCreated, statusInProgress)
	e.responseEvent(kindInProgress, statusInProgress)
}

var idPrefixes = map[string]string{kindMessage: "msg_", kindReasoning: "rs_", kindCall: "fc_", kindCustomCall: "ctc_"}

func (e *encoder) begin(it *outItem) *outItem {
	e.closeTexts()
	it.place = len(e.items)
	if it.id = codec.GetString(it.opaque, "id"); it.id == "" {
		prefix := cmp.Or(idPrefixes[it.kind], it.kind+"_")
		it.id = prefix + strings.TrimPrefix(e.meta.ID, "resp_") + "_" + strconv.Itoa(it.place)
	}
	e.items = append(e.items, it)
	e.item("response.output_item.added", it, it.json(statusInProgress))
	return it
}

func (e *encoder) item(kind string, it *outItem, text []byte) {
	e.send(kind, func(w *codec.Writer) {
		w.Add(`,"item":%,"output_index":%`, json.RawMessage(text), int64(it.place))
	})
}

func (e *encoder) done(it *outItem) {
	if id := codec.GetString(it.opaque, "id"); id != "" {
		it.id = id // opaque data may arrive last
	}
	it.Closed = true
	it.final = it.json(statusCompleted)
	e.item("response.output_item.done", it, it.final)
}

func (e *encoder) closeTexts() {
	for _, it := range e.items {
		if !it.Closed && !isCall(it.kind) {
			e.endText(it)
		}
	}
}

func (e *encoder) status() string {
	switch e.finish.Reason {
	case llm.FinishLength, llm.FinishContentFilter, llm.FinishUnknown:
		return statusIncomplete
	case llm.FinishError:
		return statusFailed
	case llm.FinishStop, llm.FinishToolCalls, llm.FinishRefusal, llm.FinishPause, llm.FinishMalformedCall:
	}
	return statusCompleted
}

func (e *encoder) response(w *codec.Writer, status string) {
	w.Add(`{"id":%,"object":"response","created_at":%,"status":%`, e.meta.ID, e.meta.Created, status)
	w.Add(`,"background":false`)
	if status == statusCompleted {
		w.Int("completed_at", e.meta.Created)
	}
	if status == statusFailed {
		w.Add(`,"error":{"code":"server_error","message":%}`, e.finish.Message)
	} else {
		w.Add(`,"error":null`)
	}
	if reason := e.reason(); status == statusIncomplete && reason != "" {
		w.Add(`,"incomplete_details":{"reason":%}`, reason)
	} else {
		w.Add(`,"incomplete_details":null`)
	}
	w.Add(`,"instructions":null,"max_output_tokens":null,"model":%,"output":[`, e.meta.Model)
	for _, it := range e.items {
		if it.final == nil {
			it.final = it.json(statusIncomplete)
		}
		w.Next(string(it.final))
	}
	w.Add(`],"parallel_tool_calls":true,"previous_response_id":null,"reasoning":{"effort":null,"summary":null},"store":false`)
	w.Add(`,"temperature":1.0,"text":{"format":{"type":"text"}},"tool_choice":"auto","tools":[],"top_p":1.0,"truncation":"disabled"`)
	if status == statusInProgress {
		w.Add(`,"usage":null`)
	} else {
		writeUsage(w, e.usage)
	}
	w.Add(`,"user":null,"metadata":{}`)
	w.Members(codec.Get(e.finish.Opaque, keyResponse))
	w.Add("}")
}

func (e *encoder) reason() string {
	switch e.finish.Reason {
	case llm.FinishLength, llm.FinishContentFilter:
		return finishReasons.Raw(e.finish.Reason, "")
	default:
		return e.finish.Raw
	}
}

func writeUsage(w *codec.Writer, u llm.Usage) {
	w.Add(`,"usage":{"input_tokens":%,"input_tokens_details":{"cached_tokens":%`, u.InputTokens, u.CacheReadInputTokens)
	if u.CacheCreationInputTokens != 0 {
		w.Int("cache_write_tokens", u.CacheCreationInputTokens)
	}
	w.Add(`},"output_tokens":%,"output_tokens_details":{"reasoning_tokens":%}`, u.OutputTokens, u.ReasoningOutputTokens)
	w.Add(`,"total_tokens":%}`, u.Total())
}
