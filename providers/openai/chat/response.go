package chat

import (
	"fmt"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/wirejson"
	"github.com/looptape/looptape/providers/protocol"
)

// EncodeResponse implements [protocol.Protocol]. Reasoning comes before text, text before
// calls. It omits the opaque data of text.
func (c Protocol) EncodeResponse(dst []byte, a protocol.ResponseMeta, t *llm.Response) ([]byte, error) {
	w := writer{chat: c, buf: append(dst, '{')}
	w.head(a, "chat.completion")
	w.raw("choices", `[{"index":0,"message":{`)
	m := t.Message()
	if err := w.assistant(&m); err != nil {
		return nil, fmt.Errorf("answer%w", err)
	}
	w.ending(llm.Finish{Reason: t.FinishReason, Raw: t.RawFinishReason, Opaque: t.Opaque})
	w.buf = append(w.buf, '}', ']')
	w.usage(t.Usage)
	w.raw("service_tier", `"default"`)
	w.raw("system_fingerprint", "null")
	return append(wirejson.AppendMembers(w.buf, keptOf(t.Opaque, keyResponse)), '}'), nil
}

// head writes the id, type, time and model.
func (w *writer) head(a protocol.ResponseMeta, object string) {
	w.text("id", a.ID)
	w.text("object", object)
	w.number("created", a.Created)
	w.text("model", a.Model)
}

// finish writes the finish reason, raw if it is set.
func (w *writer) finish(reason llm.FinishReason, raw string) {
	switch {
	case raw != "":
		w.text("finish_reason", raw)
	case reason == llm.FinishRefusal: // it is a text of its own kind
		w.text("finish_reason", "stop")
	case reason == llm.FinishUnknown, reason == "":
		w.raw("finish_reason", "null")
	default:
		w.text("finish_reason", string(reason))
	}
}

// usage writes the usage. Only some servers report cache writes.
func (w *writer) usage(u llm.Usage) {
	w.raw("usage", "{")
	w.number("prompt_tokens", u.InputTokens)
	w.number("completion_tokens", u.OutputTokens)
	w.number("total_tokens", u.Total())
	w.raw("prompt_tokens_details", "{")
	w.number("cached_tokens", u.CacheReadInputTokens)
	w.number("audio_tokens", 0)
	if u.CacheCreationInputTokens != 0 {
		w.number("cache_write_tokens", u.CacheCreationInputTokens)
	}
	w.buf = append(w.buf, '}')
	w.raw("completion_tokens_details", "{")
	w.number("reasoning_tokens", u.ReasoningOutputTokens)
	w.raw("audio_tokens", "0")
	w.raw("accepted_prediction_tokens", "0")
	w.raw("rejected_prediction_tokens", "0")
	w.buf = append(w.buf, '}', '}')
}

func (w *writer) number(key string, n int64) {
	w.name(key)
	w.buf = jsonio.AppendInt(w.buf, n)
}
