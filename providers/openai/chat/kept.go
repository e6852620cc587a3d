package chat

import (
	"encoding/json"
	"slices"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/codec"
)

// Members of a response without a field in llm are in the opaque data of its message. The
// members that messageNames knows, and those that the caller asked for, have their own names.
// The others are in keyChatAnswer, grouped by object. They are limited by [codec.MaxKept]
// and [codec.MemberSet], because each later request of the history carries them.
const (
	keyAudio       = "audio"
	keyAnnotations = "annotations"
	keyImages      = "images"
	keyLogprobs    = "logprobs"

	keyKept     = "chat_answer"
	keyMessage  = "message"
	keyChoice   = "choice"
	keyResponse = "response"
)

// notKept are members of a response that describe the service (quirks QO-19, QO-24).
var notKept = []string{
	"content_filter_offsets", "content_filter_results", "created", "latency_checkpoint", "native_finish_reason", "obfuscation",
	"prompt_filter_results", "provider", "service_tier", "system_fingerprint", "timings", "x_groq",
}

// keptMembers collects these members. Deltas of a message are joined. Of other members the last
// value counts, because servers repeat them in each chunk.
type keptMembers struct{ plain, audio, logprobs, message, choice, response codec.MemberSet }

func (k *keptMembers) addMessage(m codec.Member) {
	switch {
	case m.Key == keyAudio:
		k.audio.JoinObject(m.Raw, "data", "transcript")
	case m.Key == keyAnnotations, m.Key == keyImages, slices.Contains(messageNames.Known, m.Key):
		k.plain.Join(m.Key, m.Raw)
	default:
		k.message.Join(m.Key, m.Raw)
	}
}

func (k *keptMembers) addChoice(m codec.Member) {
	if m.Key == keyLogprobs {
		k.logprobs.JoinObject(m.Raw)
		return
	}
	k.choice.Set(m.Key, m.Raw)
}

func (k *keptMembers) opaque() json.RawMessage {
	var answer codec.Members
	answer.AddObject(keyMessage, k.message.Sorted().Members(codec.MaxKept))
	answer.AddObject(keyChoice, k.choice.Sorted().Members(codec.MaxKept))
	answer.AddObject(keyResponse, k.response.Sorted().Members(codec.MaxKept))
	out := k.plain.Sorted().Members(0)
	out.AddObject(keyAudio, k.audio.Sorted().Members(0))
	out.AddObject(keyLogprobs, k.logprobs.Sorted().Members(0))
	out.AddObject(keyKept, answer)
	return out.Object()
}

func (k *keptMembers) addResponse(key, raw string) {
	if raw != "null" && !slices.Contains(notKept, key) {
		k.response.Set(key, raw)
	}
}

func addKept(to *codec.Members, d *jsonio.Dec, key string) {
	if raw := d.Raw(); raw != "null" && !slices.Contains(notKept, key) {
		to.AddRaw(key, raw)
	}
}

// opaque writes the opaque members of an assistant message, except own: in a response all, in a
// request those that servers accept.
//
// OpenAI accepts the id of audio (API reference, "Create chat completion", the assistant
// message). OpenRouter accepts annotations of files and then does not parse them again (its
// docs, "PDF Inputs"). Groq rejects annotations ("property 'annotations' is unsupported").
func (w *writer) opaque(opaque json.RawMessage, own ...string) {
	if w.Req == nil {
		w.own(opaque, own...)
		for _, key := range [...]string{keyAnnotations, keyImages} {
			if raw := codec.Get(opaque, key); raw != nil {
				w.Value(key, raw)
			}
		}
		w.Members(codec.Get(opaque, keyKept, keyMessage))
		return
	}
	w.own(opaque, append(own, keyAudio)...)
	if id := codec.Get(opaque, keyAudio, "id"); id != nil {
		w.Raw(keyAudio, `{"id":`+string(id)+`}`)
	}
	var files codec.Elements
	for raw := range codec.EachElement(codec.Get(opaque, keyAnnotations)) {
		if codec.GetString(raw, "type") == "file" {
			files.Add(raw)
		}
	}
	if files != nil {
		w.Raw(keyAnnotations, string(files.Array()))
	}
}

func (w *writer) ending(f llm.Finish) {
	w.Value(keyLogprobs, codec.Get(f.Opaque, keyLogprobs))
	w.finish(f.Reason, f.Raw)
	w.Members(codec.Get(f.Opaque, keyKept, keyChoice))
}

var messageNames = codec.MemberNames{Prefix: "chat:", Known: []string{"audio", "cache_control", "extra_content", "name", "prefix"}}
