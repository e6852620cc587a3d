package chat

import (
	"encoding/json"
	"slices"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/wirejson"
	"github.com/looptape/looptape/providers/openai/internal/api"
)

// The members of an answer that llm has no field for stand in the opaque datum of its
// message. Those that are known (see chatOwn) have their own names there, and so have
// those that come because they were asked for. All others stand together under
// keyChatAnswer, by the object that they are on, but for those of over maxKept bytes and
// those beyond maxNames, which would stand in the history of every later step.
const (
	keyAudio       = "audio"
	keyAnnotations = "annotations"
	keyImages      = "images"
	keyLogprobs    = "logprobs"

	keyChatAnswer = "chat_answer"
	keyMessage    = "message"
	keyChoice     = "choice"
	keyResponse   = "response"
)

// notKept are the members of an answer and of its choices that tell of the service
// rather than of what was said, or nothing (quirks QO-19, QO-24).
var notKept = []string{
	"content_filter_offsets", "content_filter_results", "created", "latency_checkpoint", "native_finish_reason", "obfuscation",
	"prompt_filter_results", "provider", "service_tier", "system_fingerprint", "timings", "x_groq",
}

// chatKept gathers these members. What deltas say of a message is joined; of what
// stands beside it the last word counts, since servers say it in each chunk.
type keptMembers struct{ plain, audio, logprobs, message, choice, response wirejson.MemberSet }

// said takes a member of a message or of a delta.
func (k *keptMembers) said(m wirejson.Member) {
	switch {
	case m.Key == keyAudio:
		k.audio.JoinObject(m.Raw, "data", "transcript")
	case m.Key == keyAnnotations, m.Key == keyImages, slices.Contains(messageNames.Known, m.Key):
		k.plain.Join(m.Key, m.Raw)
	default:
		k.message.Join(m.Key, m.Raw)
	}
}

// beside takes a member of a choice.
func (k *keptMembers) beside(m wirejson.Member) {
	if m.Key == keyLogprobs {
		k.logprobs.JoinObject(m.Raw)
		return
	}
	k.choice.Set(m.Key, m.Raw)
}

// opaque is what was gathered, or nil.
func (k *keptMembers) opaque() json.RawMessage {
	var answer wirejson.Members
	answer.AddObject(keyMessage, k.message.Sorted().Members(wirejson.MaxKept))
	answer.AddObject(keyChoice, k.choice.Sorted().Members(wirejson.MaxKept))
	answer.AddObject(keyResponse, k.response.Sorted().Members(wirejson.MaxKept))
	out := k.plain.Sorted().Members(0)
	out.AddObject(keyAudio, k.audio.Sorted().Members(0))
	out.AddObject(keyLogprobs, k.logprobs.Sorted().Members(0))
	out.AddObject(keyChatAnswer, answer)
	return out.Object()
}

// readKept reads a member, and reports whether it is kept.
func readKept(d *jsonio.Dec, key string) (m wirejson.Member, keep bool) {
	m = wirejson.Member{Key: key, Raw: d.Raw()}
	return m, m.Raw != "null" && !slices.Contains(notKept, key)
}

// appendKept appends a member to those of its object that are kept.
func appendKept(rest []wirejson.Member, d *jsonio.Dec, key string) []wirejson.Member {
	if m, keep := readKept(d, key); keep {
		return append(rest, m)
	}
	return rest
}

// answered returns what was kept of an object of an answer.
func answered(opaque json.RawMessage, object string) json.RawMessage {
	return wirejson.Get(wirejson.Get(opaque, keyChatAnswer), object)
}

// beside writes what stands beside what a message of the assistant says, but for its
// own members: in an answer all that was kept of it, in a request what servers take
// back.
//
// OpenAI takes the id of a sound (API reference, "Create chat completion", the
// assistant message), and OpenRouter its annotations of files, which it then need not
// read again (its docs, "PDF Inputs"). Other annotations are sent to none: OpenAI's
// requests know no such member, and Groq refuses it ("property 'annotations' is
// unsupported").
func (w *writer) beside(opaque json.RawMessage, own ...string) {
	if w.req != nil {
		w.echo(opaque, own)
		return
	}
	w.buf = w.appendOwn(opaque, own...)
	for _, key := range [...]string{keyAnnotations, keyImages} {
		if raw := wirejson.Get(opaque, key); raw != nil {
			w.buf = wirejson.AppendRaw(w.buf, key, string(raw))
		}
	}
	w.buf = wirejson.AppendMembers(w.buf, answered(opaque, keyMessage))
}

func (w *writer) echo(opaque json.RawMessage, own []string) {
	w.buf = w.appendOwn(opaque, append(own, keyAudio)...)
	if id := wirejson.Get(wirejson.Get(opaque, keyAudio), "id"); id != nil {
		w.raw(keyAudio, `{"id":`+string(id)+`}`)
	}
	var files wirejson.Elements
	wirejson.EachElement(wirejson.Get(opaque, keyAnnotations), func(raw string) {
		if wirejson.GetString(json.RawMessage(raw), "type") == "file" {
			files.Add(raw)
		}
	})
	if files != nil {
		w.raw(keyAnnotations, string(files.Array()))
	}
}

// ending writes what a choice tells beside its message.
func (w *writer) ending(f llm.Finish) {
	w.name(keyLogprobs)
	w.buf = jsonio.AppendRaw(w.buf, wirejson.Get(f.Opaque, keyLogprobs))
	w.finish(f.Reason, f.Raw)
	w.buf = wirejson.AppendMembers(w.buf, answered(f.Opaque, keyChoice))
}

// chatOwn are the members that stand beside what a message, a text, a call or media
// of Chat Completions says.
var messageNames = api.MemberNames{Prefix: "chat:", Known: []string{"audio", "cache_control", "extra_content", "name", "prefix"}}
