package anthropic

import (
	"encoding/json"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/wirejson"
)

const (
	// stopWindow means that the response filled the context window. Models from Sonnet 4.5 on
	// use it, older ones with the header Anthropic-Beta:
	// model-context-window-exceeded-2025-08-26 (Claude docs, "Handling stop reasons").
	stopWindow = "model_context_window_exceeded"
	// stopCompaction means that the response is only a compaction block: the caller asked for
	// it with pause_after_compaction and sends it back to continue (Claude docs, "Threshold
	// compaction"), or asked for a summary ("Compaction on demand").
	stopCompaction = "compaction"
)

// finishReason returns the finish reason of a stop_reason.
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

// stopReason returns the stop_reason of a finish reason: raw if it matches. It is empty, null
// in JSON, if Anthropic has none.
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

// keyAnswer is the member of a message's opaque data that contains the unknown members of the
// response, up to [wirejson.MaxKept] bytes each. They are not sent back.
const keyKept = "anthropic_answer"

// Members of an ending that are opaque data under their own names.
const (
	keyContainer    = "container"
	keyStopSequence = "stop_sequence"
)

// ending contains the members about the end of a response.
type ending struct {
	stop        string // stop_reason; empty until it came
	explanation string // of a refusal
	own, more   wirejson.MemberSet
}

// read reads a member of a response or of the delta of message_delta. With keep it keeps
// unknown members.
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

// opaque returns the opaque data of the response, or nil.
func (e *ending) opaque() json.RawMessage {
	out := e.own.Members(0)
	out.AddObject(keyKept, e.more.Members(wirejson.MaxKept))
	return out.Object()
}

func (e *ending) readDetails(d *jsonio.Dec) {
	if !wirejson.BeginObject(d) {
		return
	}
	for key := range d.MembersAfter(true) {
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

// appendEnding appends the members of an ending.
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

func appendAnswer(dst []byte, opaque json.RawMessage) []byte {
	return wirejson.AppendMembers(dst, wirejson.Get(opaque, keyKept))
}
