package chat

import (
	"cmp"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/codec"
	"github.com/looptape/looptape/providers/protocol"
)

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
	return append(codec.AppendMembers(w.Dst, keptOf(t.Opaque, keyResponse)), '}'), nil
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
