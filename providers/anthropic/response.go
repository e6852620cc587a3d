package anthropic

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/codec"
	"github.com/looptape/looptape/providers/protocol"
)

// DecodeResponse implements [protocol.Protocol].
func (Messages) DecodeResponse(body []byte, emit func(llm.Event)) error {
	d := jsonio.NewDec(string(body))
	if !jsonio.ValidUTF8(body) || d.Peek() != '{' {
		return codec.UnexpectedBody(body)
	}
	var s decoder
	s.emit = emit
	ev := event{whole: true}
	s.readMessage(&d, &ev)
	switch err := d.End(); {
	case err != nil:
		return fmt.Errorf("%w: %w", codec.UnexpectedBody(body), err)
	case ev.message == eventError || ev.error:
		e, _ := readError(body)
		return e
	case ev.message != "message":
		return codec.UnexpectedBody(body)
	}
	for _, p := range ev.parts {
		s.block(p)
	}
	if ev.usage {
		emit(s.counts.usage())
	}
	s.finish()
	return nil
}

// EncodeResponse implements [protocol.Protocol]. Arguments that are not JSON become a string.
func (Messages) EncodeResponse(dst []byte, a protocol.ResponseMeta, t *llm.Response) ([]byte, error) {
	w := writer{codec.Writer{Dst: append(dst, '{')}}
	w.responseHead(a)
	for i, p := range t.Parts {
		w.Part = i + 1
		w.Next("")
		w.responseBlock(p)
	}
	w.Add("]")
	w.ending(llm.Finish{Reason: t.FinishReason, Raw: t.RawFinishReason, Message: t.FinishMessage, Opaque: t.Opaque})
	w.usage(usageOf(a, t.Usage), false)
	w.Members(codec.Get(t.Opaque, keyKept))
	return append(w.Dst, '}'), w.Err
}

// responseHead writes the members of a response up to its content, and opens that array.
func (w *writer) responseHead(a protocol.ResponseMeta) {
	w.Add(`"model":%,"id":%,"type":"message","role":"assistant","content":[`, a.Model, a.ID)
}

// usageOf returns the usage of a response, with the input tokens of a if u has none.
func usageOf(a protocol.ResponseMeta, u llm.Usage) llm.Usage {
	u.InputTokens = cmp.Or(u.InputTokens, a.Input)
	return u
}

func (w *writer) responseBlock(part llm.Part) {
	switch p := part.(type) {
	case llm.Text:
		w.text(p)
	case llm.Reasoning:
		w.thinking(p)
	case llm.ToolCall:
		w.call(withCaller(p), p.Name, inputOf(p.Arguments))
	case llm.Unknown:
		w.unknown(p)
	case llm.Media:
		w.Fail("a response of Anthropic Messages contains no %s", p.MediaType)
	case llm.ToolResult:
		w.Fail("a response of Anthropic Messages contains no tool result: use llm.Unknown for a result of the provider")
	}
}

func withCaller(p llm.ToolCall) llm.ToolCall {
	if kind := codec.GetString(p.Opaque, "type"); kind != "" && kind != blockServer || codec.Get(p.Opaque, "caller") != nil {
		return p
	}
	m := members(p.Opaque).Without("caller")
	m.AddRaw("caller", directCaller)
	p.Opaque = m.Object()
	return p
}

// inputOf returns the arguments of a call: JSON unchanged, other text as a string.
func inputOf(args string) []byte {
	args = strings.Trim(args, " \t\r\n")
	switch {
	case args == "":
		return []byte("{}")
	case args[0] == '"' || !sane([]byte(args)):
		return jsonio.AppendString(nil, args)
	}
	return []byte(args)
}

// Stop reasons of newer models. With model_context_window_exceeded, the response filled the
// context window: models from Sonnet 4.5 on, older ones with the header Anthropic-Beta:
// model-context-window-exceeded-2025-08-26 (Claude docs, "Handling stop reasons"). With
// compaction, the response is only a compaction block: the caller asked for it with
// pause_after_compaction and sends it back to continue (Claude docs, "Threshold compaction"),
// or asked for a summary ("Compaction on demand").
var finishReasons = codec.FinishReasons{
	{"end_turn", llm.FinishStop},
	{"stop_sequence", llm.FinishStop},
	{"tool_use", llm.FinishToolCalls},
	{"max_tokens", llm.FinishLength},
	{"model_context_window_exceeded", llm.FinishLength},
	{"pause_turn", llm.FinishPause},
	{"compaction", llm.FinishPause},
	{"refusal", llm.FinishRefusal},
}

// keyKept is the member of a message's opaque data that contains the unknown members of the
// response, up to [codec.MaxKept] bytes each. They are not sent back.
const keyKept = "anthropic_answer"

// Members of an ending that are opaque data under their own names.
const (
	keyContainer    = "container"
	keyStopSequence = "stop_sequence"
)

type ending struct {
	stop        string // stop_reason; empty until it arrives
	explanation string // of a refusal
	own, more   codec.MemberSet
}

// read reads a member of a response or message_delta. With keep it keeps unknown members.
func (e *ending) read(d *jsonio.Dec, key string, keep bool) {
	switch key {
	case "stop_reason":
		e.stop = cmp.Or(codec.String(d), e.stop)
	case "stop_details":
		codec.Read(d, nil, "explanation", &e.explanation)
	case keyContainer, keyStopSequence:
		if !d.Null() {
			e.own.Set(key, d.Raw())
		}
	case "role", "type":
		d.Skip()
	default:
		if raw := d.Raw(); keep {
			e.more.Set(key, raw)
		}
	}
}

func (e *ending) finish(id, model string) llm.Finish {
	opaque := e.own.Members(0)
	opaque.AddObject(keyKept, e.more.Members(codec.MaxKept))
	f := llm.Finish{Message: e.explanation, ResponseID: id, Model: model, Opaque: opaque.Object()}
	if e.stop == "" {
		return f
	}
	f.Reason = finishReasons.Reason(e.stop)
	if e.stop != string(llm.FinishRefusal) {
		f.Raw = e.stop
	}
	return f
}

func (w *writer) ending(f llm.Finish) {
	if f.Reason == llm.FinishContentFilter {
		f.Reason = llm.FinishRefusal
	}
	w.TextOrNull("stop_reason", finishReasons.Raw(f.Reason, f.Raw))
	w.Value(keyStopSequence, codec.Get(f.Opaque, keyStopSequence))
	if f.Message != "" {
		w.Add(`,"stop_details":{"type":"refusal","category":null,"explanation":%}`, f.Message)
	}
	if c := codec.Get(f.Opaque, keyContainer); c != nil {
		w.Value(keyContainer, c)
	}
}

// counts are token counts of the API, which splits the input in three. The last value of each
// counts (quirk QA-06).
type counts struct {
	input, cacheRead, cacheWrite, output, thinking int64
}

// read reads a usage. Missing counts stay.
func (c *counts) read(d *jsonio.Dec) {
	codec.Read(d, nil,
		"input_tokens", &c.input,
		"cache_read_input_tokens", &c.cacheRead,
		"cache_creation_input_tokens", &c.cacheWrite,
		"output_tokens", &c.output,
		"output_tokens_details", func() { codec.Read(d, nil, "thinking_tokens", &c.thinking) })
}

func (c *counts) usage() llm.Usage {
	return llm.Usage{
		InputTokens:  c.input + c.cacheRead + c.cacheWrite,
		OutputTokens: c.output, CacheReadInputTokens: c.cacheRead, CacheCreationInputTokens: c.cacheWrite, ReasoningOutputTokens: c.thinking,
	}
}

// usage writes the usage of a response or message_start, or that of message_delta.
func (w *writer) usage(u llm.Usage, delta bool) {
	created, read := u.CacheCreationInputTokens, u.CacheReadInputTokens
	w.Add(`,"usage":{"input_tokens":%,"cache_creation_input_tokens":%`, u.InputTokens-read-created, created)
	w.Int("cache_read_input_tokens", read)
	if !delta {
		w.Add(`,"cache_creation":{"ephemeral_5m_input_tokens":%,"ephemeral_1h_input_tokens":0}`, created)
	}
	w.Int("output_tokens", u.OutputTokens)
	if u.ReasoningOutputTokens != 0 {
		w.Add(`,"output_tokens_details":{"thinking_tokens":%}`, u.ReasoningOutputTokens)
	}
	if !delta {
		w.Add(`,"service_tier":"standard","inference_geo":"not_available"`)
	}
	w.Add("}")
}
