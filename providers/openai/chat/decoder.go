package chat

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/codec"
	"github.com/looptape/looptape/providers/openai/internal/api"
	"github.com/looptape/looptape/providers/protocol"
)

// decoder reads a stream of chunks. All calls end with the stream.
type decoder struct {
	emit       func(llm.Event) // of the Event or End that is running
	mem        jsonio.Arena
	dec        jsonio.Dec // of the chunk
	id, model  string
	done       bool   // [DONE] arrived
	finish     string // the last finish reason
	hasText    bool   // the content has text
	hasUsage   bool
	otherUsage llm.Usage // of Groq or Moonshot; it counts without the usage of OpenAI's format
	kept       keptMembers
	reasoning  reasoningReader
	calls      []callInfo
	started    int // how many calls are announced: the first ones
	// callAt is the position of the last call with an index and an id. An empty id means any
	// id, and -1 means any index.
	callAt map[callKey]int
	delta  delta // of the current choice
}

// Event implements [protocol.Decoder].
func (d *decoder) Event(_ string, data []byte, emit func(llm.Event)) (done bool, err error) {
	d.emit = emit
	data = bytes.TrimSpace(data)
	switch {
	case string(data) == "[DONE]":
		d.done = true
		return true, nil
	case len(data) == 0:
		return false, nil
	}
	return false, d.chunk(string(data))
}

// End implements [protocol.Decoder]. The response is complete if a finish reason or [DONE] came
// (quirks QO-21, QO-22, QO-25).
func (d *decoder) End(emit func(llm.Event)) error {
	if d.finish == "" && !d.done {
		return protocol.ErrTruncated
	}
	d.emit = emit
	d.endReasoning()
	d.endCalls()
	f := llm.Finish{ResponseID: d.id, Model: d.model, Opaque: d.kept.opaque()}
	if f.Reason = finishReasons.Reason(d.finish); f.Reason == llm.FinishUnknown || d.finish != string(f.Reason) {
		f.Raw = d.finish
	}
	if d.finish == "" {
		emit(llm.Warning{Code: llm.WarnNoFinish, Message: "the response ended without a finish reason"})
	}
	if !d.hasUsage && d.otherUsage != (llm.Usage{}) {
		emit(d.otherUsage)
	}
	emit(f)
	return nil
}

func (d *decoder) chunk(text string) error {
	d.dec = jsonio.NewDecIn(&d.mem, text)
	dec, failed := &d.dec, false
	for key := range codec.RequiredFields(dec) {
		switch key {
		case "id": // Azure's first chunk has an empty id and model (quirk QO-19)
			d.id = cmp.Or(d.id, codec.String(dec))
		case "model":
			d.model = cmp.Or(d.model, codec.String(dec))
		case "object":
			failed = codec.String(dec) == "error" || failed
		case "choices":
			for range codec.Items(dec) {
				d.choice(dec)
			}
		case "usage":
			if u := api.ReadUsage(dec); u != (llm.Usage{}) {
				d.hasUsage = true
				d.emit(u)
			}
		case "x_groq": // has the usage of a stream that was requested without it
			d.groq(dec)
		case "error":
			failed = true
		default:
			d.kept.addResponse(key, dec.Raw())
		}
	}
	if err := dec.End(); err != nil {
		return fmt.Errorf("an event is not a Chat Completions chunk: %w; it begins with %q", err, codec.Beginning([]byte(text)))
	}
	return d.failure(text, failed)
}

func (d *decoder) groq(dec *jsonio.Dec) {
	for key := range codec.Fields(dec) {
		if key == "usage" {
			d.otherUsage = d.otherUsage.Update(api.ReadUsage(dec))
		} else {
			dec.Skip()
		}
	}
}

// failure returns the error in a chunk (quirk QO-20): an object, or only a finish reason.
func (d *decoder) failure(text string, failed bool) error {
	if failed {
		t, _ := api.ReadError(text)
		return t.APIError(0)
	}
	switch d.finish {
	case "error", "network_error", "insufficient_system_resource": // the last two of Z.ai and DeepSeek
		return &llm.APIError{Code: d.finish, Message: "the provider aborted the response", Retryable: true}
	}
	return nil
}

// choice reads a choice of a chunk. It uses the one with index 0.
func (d *decoder) choice(dec *jsonio.Dec) {
	old := &d.delta
	d.delta = delta{parts: old.parts[:0], calls: old.calls[:0], message: old.message[:0], choice: old.choice[:0]}
	index, finish := int64(0), ""
	for key := range codec.Fields(dec) {
		switch key {
		case "index":
			index = codec.CountOr(dec, index)
		case "delta", "message":
			d.delta.read(dec)
		case "finish_reason":
			finish = codec.String(dec)
		case "usage": // of Moonshot, in the last chunk
			d.otherUsage = d.otherUsage.Update(api.ReadUsage(dec))
		default:
			addKept(&d.delta.choice, dec, key)
		}
	}
	if index != 0 || dec.Err() != nil {
		return
	}
	d.apply()
	d.finish = cmp.Or(finish, d.finish)
}

// apply emits the events of a delta: first the reasoning, last the finish reason (quirk QO-17).
func (d *decoder) apply() {
	delta := &d.delta
	text, some := d.reasoning.addDetails(&delta.details)
	switch {
	case delta.reasoning != "":
		d.reason(delta.field, delta.reasoning)
	case some:
		d.reason("", text)
	case delta.field != "":
		d.reasoning.empty = delta.field
	}
	for _, p := range delta.parts {
		if p.kind == "thinking" {
			d.reason(contentField, p.text)
		} else {
			d.text(llm.TextDelta{Text: p.text, Refusal: p.kind == "refusal"})
		}
	}
	if d.hasText = d.hasText || delta.content != "" || len(delta.parts) > 0; !d.hasText {
		delta.content = delta.transcript
	}
	d.text(llm.TextDelta{Text: delta.content})
	d.text(llm.TextDelta{Text: delta.refusal, Refusal: true})
	for i := range delta.calls {
		d.call(&delta.calls[i])
	}
	for _, m := range delta.message {
		d.kept.addMessage(m)
	}
	for _, m := range delta.choice {
		d.kept.addChoice(m)
	}
}

func (d *decoder) text(ev llm.TextDelta) {
	if ev.Text != "" {
		d.endReasoning()
		d.emit(ev)
	}
}

var finishReasons = codec.FinishReasons{
	{"stop", llm.FinishStop},
	{"tool_calls", llm.FinishToolCalls},
	{"length", llm.FinishLength},
	{"content_filter", llm.FinishContentFilter},
	{"function_call", llm.FinishToolCalls},
	{"eos_token", llm.FinishStop},
	{"eos", llm.FinishStop},
	{"stop_sequence", llm.FinishStop},
	{"end_turn", llm.FinishStop},
	{"max_tokens", llm.FinishLength},
	{"model_length", llm.FinishLength},
	{"model_context_window_exceeded", llm.FinishLength},
	{"sensitive", llm.FinishContentFilter},
}

type callKey struct {
	index int
	id    string
}

// callInfo is a call. Its number in events is its position, from 1.
type callInfo struct {
	index  int // as the wire has it; -1 if it does not
	id     string
	named  bool
	held   []byte // the arguments that came before it was announced
	opaque json.RawMessage
	late   bool // opaque is not announced
}

func (d *decoder) mark(n int) {
	if d.callAt == nil {
		d.callAt = map[callKey]int{}
	}
	of := &d.calls[n]
	d.callAt[callKey{of.index, of.id}], d.callAt[callKey{-1, of.id}] = n, n
}

// call handles the delta of a call. A call starts when its id or name is known.
func (d *decoder) call(e *callDelta) {
	n := d.find(e)
	if n < 0 {
		if e.id == "" && e.name == "" && e.args == "" {
			return
		}
		n = len(d.calls)
		d.endReasoning()
		d.reasonForCall()
		d.calls = append(d.calls, callInfo{index: e.index})
		d.mark(n)
	}
	c := &d.calls[n]
	if e.opaque != nil {
		c.opaque, c.late = e.opaque, true
	}
	if c.id == "" && e.id != "" {
		c.id = e.id
		d.mark(n)
	}
	switch started := n < d.started; {
	case !started && (e.id != "" || e.name != ""):
		d.startUntil(n)
		d.start(e.name)
	case started && !c.named && e.name != "":
		c.named = true
		d.emit(llm.ToolCallStart{Index: n + 1, Name: e.name})
	}
	switch {
	case e.args == "":
	case n < d.started:
		d.emit(llm.ToolCallDelta{Index: n + 1, Arguments: e.args})
	default:
		c.held = append(c.held, e.args...)
	}
}

// find returns the position of the call that a delta continues, or -1 if it begins one. In a
// non-streaming response, each begins one (quirk QO-09).
//
// The call has the index and the id of the delta, if there is one (quirk QO-04). Otherwise it
// is the last call with the index, unless the id or the name differ. A delta with only an index
// always continues that call.
func (d *decoder) find(e *callDelta) int {
	if d.reasoning.nonStreaming {
		return -1
	}
	if n, known := d.callAt[callKey{e.index, e.id}]; known && e.id != "" {
		return n
	}
	n, some := d.callAt[callKey{index: e.index}]
	if !some {
		return -1
	}
	switch c := &d.calls[n]; {
	case e.id == "" && e.index >= 0:
		return n
	case e.id != "" && c.id != "", c.named && e.name != "":
		return -1
	}
	return n
}

// startUntil emits the missing starts of the first n calls, so that all stay in order.
func (d *decoder) startUntil(n int) {
	for d.started < n {
		d.start("")
	}
}

func (d *decoder) start(name string) {
	c := &d.calls[d.started]
	d.started++
	c.named, c.late = name != "", false
	d.emit(llm.ToolCallStart{Index: d.started, ID: c.id, Name: name, Opaque: c.opaque})
	if c.held != nil {
		d.emit(llm.ToolCallDelta{Index: d.started, Arguments: string(c.held)})
	}
}

func (d *decoder) endCalls() {
	d.startUntil(len(d.calls))
	for i := range d.calls {
		ev := llm.ToolCallEnd{Index: i + 1}
		if c := &d.calls[i]; c.late {
			ev.Opaque = c.opaque
		}
		d.emit(ev)
	}
}

// delta contains the members of the choice in a chunk or in a non-streaming response.
type delta struct {
	content, refusal string
	parts            []contentPart // of a content that is an array
	reasoning, field string        // the text, and the field that it came in
	details          jsonio.Dec    // a reader of the reasoning_details
	calls            []callDelta
	message, choice  codec.Members // the unknown members of it and of the choice
	transcript       string        // the words of a sound
}

type contentPart struct {
	kind string // text, thinking or refusal
	text string
}

type callDelta struct {
	index          int // -1 if it is missing
	id, name, args string
	opaque         json.RawMessage // the members that are none of these
}

func (c *delta) read(d *jsonio.Dec) {
	for key := range codec.Fields(d) {
		switch key {
		case "role":
		case "content":
			c.readContent(d)
		case "refusal":
			c.refusal = codec.String(d)
		case reasoningContent, reasoningField:
			c.readReasoning(d, key)
		case "reasoning_details":
			c.details = *d
		case "tool_calls":
			for range codec.Items(d) {
				c.addCall(d, -1, (*callDelta).read)
			}
		case functionCall:
			c.addCall(d, 0, (*callDelta).readFunction)
		case keyAudio:
			raw := d.Raw()
			c.transcript = codec.GetString(raw, "transcript")
			c.message.AddRaw(keyAudio, raw)
		default:
			addKept(&c.message, d, key)
		}
	}
}

func (c *delta) addCall(d *jsonio.Dec, index int, read func(*callDelta, *jsonio.Dec)) {
	if d.Peek() != '{' {
		d.Skip()
		return
	}
	c.calls = append(c.calls, callDelta{index: index})
	read(&c.calls[len(c.calls)-1], d)
}

// readReasoning uses the first member with text. Some servers repeat the text in another one.
func (c *delta) readReasoning(d *jsonio.Dec, field string) {
	if d.Peek() != '"' {
		d.Skip()
		return
	}
	if s := d.String(); c.reasoning == "" {
		c.reasoning, c.field = s, field
	}
}

func (c *delta) readContent(d *jsonio.Dec) {
	if d.Peek() != '[' {
		c.content = codec.String(d)
		return
	}
	for range d.Elements() {
		p, ok := readPart(d, joinedText)
		if ok {
			c.parts = append(c.parts, p)
		}
	}
}

// readPart reads an element of a content; read reads its text. It returns false for other types.
func readPart(d *jsonio.Dec, read func(*jsonio.Dec) string) (p contentPart, ok bool) {
	text := func() { p.text = cmp.Or(p.text, read(d)) }
	codec.Read(d, nil, "type", &p.kind, "text", text, "thinking", text, "refusal", text)
	return p, p.kind == "text" || p.kind == "thinking" || p.kind == "refusal"
}

func joinedText(d *jsonio.Dec) string {
	if d.Peek() != '[' {
		return codec.String(d)
	}
	var text strings.Builder
	for range d.Elements() {
		if p, ok := readPart(d, codec.String); ok {
			text.WriteString(p.text)
		}
	}
	return text.String()
}

func (c *callDelta) read(d *jsonio.Dec) {
	var rest codec.Members
	for key := range codec.Fields(d) {
		switch key {
		case "index":
			c.index = int(codec.CountOr(d, int64(c.index)))
		case "id":
			c.id = codec.String(d)
		case "type":
			if codec.String(d) == "custom" {
				rest.AddString("type", "custom")
			}
		case "function", "custom":
			c.readFunction(d)
		default:
			rest.Add(d, messageNames.Stored(key))
		}
	}
	c.opaque = rest.Object()
}

// readFunction reads a name and arguments. Arguments may be any JSON value (quirk QO-16).
func (c *callDelta) readFunction(d *jsonio.Dec) {
	for key := range codec.Fields(d) {
		switch key {
		case "name":
			c.name = cmp.Or(codec.String(d), c.name)
		case "arguments", "input":
			c.args = cmp.Or(codec.Text(d), c.args)
		}
	}
}
