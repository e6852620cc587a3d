package anthropic

import (
	"encoding/json"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/wirejson"
)

const (
	// stopWindow ends an answer that has filled the context window. Models from Sonnet
	// 4.5 on say so, and older ones with the header Anthropic-Beta:
	// model-context-window-exceeded-2025-08-26 (Claude docs, "Handling stop reasons").
	stopWindow = "model_context_window_exceeded"
	// stopCompaction ends an answer that is a block of type compaction alone: so it was
	// asked for with pause_after_compaction. Sent back, the answer goes on (Claude docs,
	// "Threshold compaction"). The answer to a request for a summary, which is no turn of a
	// conversation, has this word too ("Compaction on demand").
	stopCompaction = "compaction"
)

// finishReason is what a stop_reason means.
func finishReason(word string) llm.FinishReason {
	switch word {
	case "end_turn", "stop_sequence":
		return llm.FinishStop
	case "tool_use":
		return llm.FinishToolCalls
	case "max_tokens", stopWindow:
		return llm.FinishLength
	case "pause_turn", stopCompaction:
		return llm.FinishPause
	case "refusal":
		return llm.FinishRefusal
	}
	return llm.FinishUnknown
}

// stopReason is the word for a finish reason: the provider's own one if raw is it.
// It is empty, which is null on the wire, for what Anthropic has no word for.
func stopReason(reason llm.FinishReason, raw string) string {
	if raw != "" && finishReason(raw) == reason {
		return raw
	}
	switch reason {
	case llm.FinishStop:
		return "end_turn"
	case llm.FinishToolCalls:
		return "tool_use"
	case llm.FinishLength:
		return "max_tokens"
	case llm.FinishPause:
		return "pause_turn"
	case llm.FinishRefusal, llm.FinishContentFilter:
		return "refusal"
	case llm.FinishMalformedCall, llm.FinishError, llm.FinishUnknown:
	}
	return ""
}

// keyAnswer holds, in the opaque datum of a message, the members of the answer that
// this package does not know, but for those of over maxKept bytes, which would stand
// in the history of every later step. They are not sent back.
const keyAnswer = "anthropic_answer"

// The members of an ending that stand in that datum by themselves.
const (
	keyContainer    = "container"
	keyStopSequence = "stop_sequence"
)

// ending is how an answer ended, as the wire tells it.
type ending struct {
	stop        string // stop_reason; empty until it came
	explanation string // of a refusal
	own, more   wirejson.MemberSet
}

// read takes the member key of an answer or of a message_delta's delta. With keep it
// keeps what is not known.
func (e *ending) read(d *jsonio.Dec, key string, keep bool) {
	switch key {
	case "stop_reason":
		if s := wirejson.String(d); s != "" {
			e.stop = s
		}
	case "stop_details":
		e.readDetails(d)
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

// opaque is what is kept of an ending, or nil.
func (e *ending) opaque() json.RawMessage {
	out := e.own.Members(0)
	out.AddObject(keyAnswer, e.more.Members(wirejson.MaxKept))
	return out.Object()
}

func (e *ending) readDetails(d *jsonio.Dec) {
	if !wirejson.BeginObject(d) {
		return
	}
	for first := true; ; {
		key, ok := d.Key(&first)
		if !ok {
			return
		}
		if key != "explanation" {
			d.Skip()
			continue
		}
		e.explanation = wirejson.String(d)
	}
}

func (e *ending) finish(id, model string) llm.Finish {
	f := llm.Finish{Message: e.explanation, ResponseID: id, Model: model, Opaque: e.opaque()}
	if e.stop == "" {
		return f
	}
	f.Reason = finishReason(e.stop)
	if e.stop != string(llm.FinishRefusal) {
		f.Raw = e.stop
	}
	return f
}

// appendEnding appends the members of an ending, each behind a comma but the first.
func appendEnding(dst []byte, f llm.Finish) []byte {
	dst = append(dst, `"stop_reason":`...)
	if stop := stopReason(f.Reason, f.Raw); stop != "" {
		dst = jsonio.AppendString(dst, stop)
	} else {
		dst = append(dst, "null"...)
	}
	dst = wirejson.AppendRaw(dst, keyStopSequence, wirejson.Get(f.Opaque, keyStopSequence))
	if f.Message != "" {
		dst = append(dst, `,"stop_details":{"type":"refusal","category":null,"explanation":`...)
		dst = append(jsonio.AppendString(dst, f.Message), '}')
	}
	if c := wirejson.Get(f.Opaque, keyContainer); c != nil {
		dst = wirejson.AppendRaw(dst, keyContainer, c)
	}
	return dst
}

// appendAnswer appends the members of an answer that are not known, each behind a
// comma.
func appendAnswer(dst []byte, opaque json.RawMessage) []byte {
	return wirejson.AppendMembers(dst, wirejson.Get(opaque, keyAnswer))
}
