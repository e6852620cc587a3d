package chat

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/codec"
	"github.com/looptape/looptape/providers/protocol"
)

// NewEncoder implements [protocol.Protocol]. The first chunk contains the role, each event has
// a chunk, usage follows the finish reason, and [DONE] is last.
//
// The encoder holds reasoning until its end, because only the end names its member. It returns
// an error for parts other than text, reasoning and calls, and if the end of a call has
// different arguments than its deltas. It omits the Opaque of text.
func (c Protocol) NewEncoder(a protocol.ResponseMeta) protocol.Encoder {
	e := &encoder{w: writer{codec.Writer{Dst: []byte{'{'}}, c}}
	e.w.head(a, "chat.completion.chunk")
	e.w.Add(`,"service_tier":"default","system_fingerprint":null`)
	e.head = len(e.w.Dst)
	return e
}

type encoder struct {
	w     writer // begins with the members that all chunks begin with
	head  int    // the length of these members
	begun bool
	write func(name string, data []byte) // of the Event or End that is running
	open  bool                           // reasoning is held, perhaps without text
	texts []string                       // its texts
	calls []*sentCall
	usage llm.Usage
}

// Event implements [protocol.Encoder].
func (e *encoder) Event(ev llm.Event, write func(name string, data []byte)) error {
	e.write = write
	switch ev := ev.(type) {
	case llm.TextDelta:
		e.text(ev)
	case llm.ReasoningDelta:
		e.reason(ev)
	case llm.ToolCallStart:
		e.start(ev)
	case llm.ToolCallDelta:
		if c := codec.FindCall(e.calls, ev.Index, ev.ID, true); c != nil && ev.Arguments != "" {
			e.callChunk(c, callChunk{args: ev.Arguments})
		}
	case llm.ToolCallEnd:
		return e.endCall(ev)
	case llm.PartDone:
		return e.part(ev.Part)
	case llm.Usage:
		e.usage = e.usage.Update(ev)
	case llm.Finish:
		e.begin(false)
		e.beginDelta()
		e.w.opaque(ev.Opaque)
		e.send(ev)
	case llm.Warning, llm.Unknown: // not in the protocol
	}
	return nil
}

// End implements [protocol.Encoder].
func (e *encoder) End(write func(name string, data []byte)) error {
	e.write = write
	e.flush(nil)
	if e.usage != (llm.Usage{}) {
		e.w.Dst = e.w.Dst[:e.head]
		e.w.Raw("choices", "[]")
		e.w.usage(e.usage)
		e.w.Dst = append(e.w.Dst, '}')
		e.write("", e.w.Dst)
	}
	write("", []byte("[DONE]"))
	return nil
}

func (e *encoder) begin(text bool) {
	e.role(text)
	e.flush(nil)
}

func (e *encoder) role(text bool) {
	if e.begun {
		return
	}
	e.begun = true
	content := "null"
	if text {
		content = `""`
	}
	e.delta(`"role":"assistant","content":%,"refusal":null`, json.RawMessage(content))
}

// delta writes a chunk; see [codec.Writer.Add].
func (e *encoder) delta(format string, values ...any) {
	e.beginDelta()
	e.w.Add(format, values...)
	e.send(llm.Finish{})
}

func (e *encoder) beginDelta() {
	e.w.Dst = e.w.Dst[:e.head]
	e.w.Raw("choices", `[{"index":0,"delta":{`)
}

func (e *encoder) send(f llm.Finish) {
	e.w.Add("}")
	e.w.ending(f)
	e.w.Add("}]")
	e.w.Members(codec.Get(f.Opaque, keyKept, keyResponse))
	e.w.Add("}")
	e.write("", e.w.Dst)
}

func (e *encoder) text(ev llm.TextDelta) {
	if ev.Text == "" {
		return
	}
	e.begin(!ev.Refusal)
	key := "content"
	if ev.Refusal {
		key = "refusal"
	}
	e.delta(`%:%`, key, ev.Text)
}

func (e *encoder) reason(ev llm.ReasoningDelta) {
	e.role(false)
	e.open = true
	if ev.Text != "" {
		e.texts = append(e.texts, ev.Text)
	}
	if ev.Opaque != nil {
		e.flush(ev.Opaque)
	}
}

// flush writes the reasoning that is held. If no member has the text, the details contain it.
func (e *encoder) flush(opaque json.RawMessage) {
	if !e.open {
		return
	}
	e.open = false
	field := e.w.field(opaque)
	if len(e.texts) == 0 {
		e.texts = append(e.texts, "")
	}
	for _, text := range e.texts {
		switch field {
		case "":
		case contentField:
			e.delta(`"content":[%]`, json.RawMessage(thinking(text)))
		default:
			e.delta(`%:%`, field, text)
		}
	}
	e.texts = e.texts[:0]
	if details := codec.Get(opaque, "reasoning_details"); details != nil {
		e.delta(`"reasoning_details":%`, json.RawMessage(codec.AppendValue(nil, details)))
	}
}

func (e *encoder) part(p llm.Part) error {
	switch p := p.(type) {
	case llm.Text:
		e.text(llm.TextDelta(p))
		return nil
	case llm.Reasoning:
		e.reason(llm.ReasoningDelta(p))
		e.flush(nil)
		return nil
	case llm.ToolCall:
		if !p.ProviderExecuted {
			e.begin(false)
			c := e.newCall(codec.Call{ID: p.ID, Closed: true}, p.Opaque)
			e.callChunk(c, callChunk{first: true, name: p.Name, args: p.Arguments, opaque: p.Opaque})
			return nil
		}
	case llm.Media, llm.ToolResult, llm.Unknown:
	}
	return fmt.Errorf("a Chat Completions response cannot contain %s", kind(p))
}

type sentCall struct {
	codec.Call
	place         int    // as the wire has it
	member, input string // the names of what is called and of its arguments
}

type callChunk struct {
	first      bool
	name, args string
	opaque     json.RawMessage
}

func (e *encoder) callChunk(c *sentCall, chunk callChunk) {
	w := &e.w
	e.beginDelta()
	w.Add(`"tool_calls":[{"index":%`, int64(c.place))
	if chunk.first {
		w.OptionalText("id", c.ID)
		w.Text("type", c.member)
	}
	if chunk.first || chunk.name != "" || chunk.args != "" {
		w.Raw(c.member, "{")
		w.OptionalText("name", chunk.name)
		if chunk.first || chunk.args != "" {
			w.Text(c.input, chunk.args)
		}
		w.Add("}")
	}
	w.own(chunk.opaque, "index", "id", "type", c.member)
	w.Add("}]")
	e.send(llm.Finish{})
	c.Args = append(c.Args, chunk.args...)
}

// start begins a call, or names the open call without a name, like [llm.Accumulator].
func (e *encoder) start(ev llm.ToolCallStart) {
	e.begin(false)
	c := codec.Nameless(e.calls, ev)
	first := c == nil
	if first {
		c = e.newCall(codec.Call{Index: ev.Index, ID: ev.ID}, ev.Opaque)
	}
	c.Name = ev.Name
	e.callChunk(c, callChunk{first: first, name: ev.Name, opaque: ev.Opaque})
}

func (e *encoder) newCall(of codec.Call, opaque json.RawMessage) *sentCall {
	c := &sentCall{Call: of, place: len(e.calls)}
	c.member, c.input = callMembers(opaque)
	e.calls = append(e.calls, c)
	return c
}

// endCall writes the remaining arguments and the opaque data of a call.
func (e *encoder) endCall(ev llm.ToolCallEnd) error {
	c := codec.FindCall(e.calls, ev.Index, ev.ID, false)
	if c == nil {
		return nil
	}
	c.Closed = true
	rest, err := c.Rest(ev.Arguments)
	if err == nil && (rest != "" || ev.Opaque != nil) {
		e.callChunk(c, callChunk{args: rest, opaque: ev.Opaque})
	}
	return err
}

// EncodeResponse implements [protocol.Protocol]. Reasoning comes before text, text before
// calls. It omits the opaque data of text.
func (c Protocol) EncodeResponse(dst []byte, a protocol.ResponseMeta, t *llm.Response) ([]byte, error) {
	w := writer{codec.Writer{Dst: append(dst, '{')}, c}
	w.head(a, "chat.completion")
	w.Raw("choices", `[{"index":0,"message":{`)
	m := t.Message()
	w.assistant(&m)
	w.ending(llm.Finish{Reason: t.FinishReason, Raw: t.RawFinishReason, Opaque: t.Opaque})
	w.Add("}]")
	w.usage(t.Usage)
	w.Add(`,"service_tier":"default","system_fingerprint":null`)
	if w.Err != nil {
		return nil, w.Err
	}
	w.Members(codec.Get(t.Opaque, keyKept, keyResponse))
	return append(w.Dst, '}'), nil
}

func (w *writer) head(a protocol.ResponseMeta, object string) {
	w.Add(`"id":%,"object":%,"created":%,"model":%`, a.ID, object, a.Created, a.Model)
}

func (w *writer) finish(reason llm.FinishReason, raw string) {
	switch reason {
	case llm.FinishRefusal: // its text is the refusal
		reason = llm.FinishStop
	case llm.FinishUnknown:
		reason = ""
	default:
	}
	w.TextOrNull("finish_reason", cmp.Or(raw, string(reason)))
}

// usage writes the usage. Only some servers report cache writes.
func (w *writer) usage(u llm.Usage) {
	w.Add(`,"usage":{"prompt_tokens":%,"completion_tokens":%,"total_tokens":%`, u.InputTokens, u.OutputTokens, u.Total())
	w.Add(`,"prompt_tokens_details":{"cached_tokens":%,"audio_tokens":0`, u.CacheReadInputTokens)
	if u.CacheCreationInputTokens != 0 {
		w.Int("cache_write_tokens", u.CacheCreationInputTokens)
	}
	w.Add(`},"completion_tokens_details":{"reasoning_tokens":%,"audio_tokens":0`, u.ReasoningOutputTokens)
	w.Add(`,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}}`)
}
