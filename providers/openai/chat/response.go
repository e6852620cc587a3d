package chat

import (
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
	w.Close("}]")
	w.usage(t.Usage)
	w.Close(`,"service_tier":"default","system_fingerprint":null`)
	if w.Err != nil {
		return nil, w.Err
	}
	return append(codec.AppendMembers(w.Dst, keptOf(t.Opaque, keyResponse)), '}'), nil
}

func (w *writer) head(a protocol.ResponseMeta, object string) {
	w.Text("id", a.ID)
	w.Text("object", object)
	w.Int("created", a.Created)
	w.Text("model", a.Model)
}

func (w *writer) finish(reason llm.FinishReason, raw string) {
	switch {
	case raw != "":
		w.Text("finish_reason", raw)
	case reason == llm.FinishRefusal: // its text is the refusal
		w.Text("finish_reason", "stop")
	case reason == llm.FinishUnknown, reason == "":
		w.Raw("finish_reason", "null")
	default:
		w.Text("finish_reason", string(reason))
	}
}

// usage writes the usage. Only some servers report cache writes.
func (w *writer) usage(u llm.Usage) {
	w.Raw("usage", "{")
	w.Int("prompt_tokens", u.InputTokens)
	w.Int("completion_tokens", u.OutputTokens)
	w.Int("total_tokens", u.Total())
	w.Raw("prompt_tokens_details", "{")
	w.Int("cached_tokens", u.CacheReadInputTokens)
	w.Int("audio_tokens", 0)
	if u.CacheCreationInputTokens != 0 {
		w.Int("cache_write_tokens", u.CacheCreationInputTokens)
	}
	w.Close("}")
	w.Raw("completion_tokens_details", "{")
	w.Int("reasoning_tokens", u.ReasoningOutputTokens)
	w.Close(`,"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}}`)
}
