package openai

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
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
	maxKept       = 32 << 10
	maxNames      = 4096
)

// notKept are the members of an answer and of its choices that tell of the service
// rather than of what was said, or nothing (quirks QO-19, QO-24).
var notKept = []string{
	"content_filter_offsets", "content_filter_results", "created", "latency_checkpoint", "native_finish_reason", "obfuscation",
	"prompt_filter_results", "provider", "service_tier", "system_fingerprint", "timings", "x_groq",
}

// chatKept gathers these members. What deltas say of a message is joined; of what
// stands beside it the last word counts, since servers say it in each chunk.
type chatKept struct{ plain, audio, logprobs, message, choice, response gathered }

// said takes a member of a message or of a delta.
func (k *chatKept) said(m rawMember) {
	switch {
	case m.key == keyAudio:
		k.audio.joinObject(m.raw, "data", "transcript")
	case m.key == keyAnnotations, m.key == keyImages, slices.Contains(chatOwn.known, m.key):
		k.plain.join(m)
	default:
		k.message.join(m)
	}
}

// beside takes a member of a choice.
func (k *chatKept) beside(m rawMember) {
	if m.key == keyLogprobs {
		k.logprobs.joinObject(m.raw)
		return
	}
	k.choice.set(m)
}

// opaque is what was gathered, or nil.
func (k *chatKept) opaque() json.RawMessage {
	var answer members
	answer.addObject(keyMessage, k.message.members(maxKept))
	answer.addObject(keyChoice, k.choice.members(maxKept))
	answer.addObject(keyResponse, k.response.members(maxKept))
	out := k.plain.members(0)
	out.addObject(keyAudio, k.audio.members(0))
	out.addObject(keyLogprobs, k.logprobs.members(0))
	out.addObject(keyChatAnswer, answer)
	return out.object()
}

// readKept reads a member, and reports whether it is kept.
func readKept(d *jsonio.Dec, key string) (m rawMember, keep bool) {
	m = rawMember{key, d.Raw()}
	return m, m.raw != "null" && !slices.Contains(notKept, key)
}

// appendKept appends a member to those of its object that are kept.
func appendKept(rest []rawMember, d *jsonio.Dec, key string) []rawMember {
	if m, keep := readKept(d, key); keep {
		return append(rest, m)
	}
	return rest
}

// gathered are the members of an object that comes in pieces, maxNames at most. The zero
// value is none.
type gathered struct {
	list []piece
	at   map[string]int // by name
}

// piece is a member: a value, or the elements of an array, or a text.
type piece struct {
	key, raw string
	items    []string
	at       map[string]int // of the items that have an index
	text     []byte
}

// piece returns the member of a name, or one that is not kept.
func (g *gathered) piece(key string) *piece {
	i, has := g.at[key]
	switch {
	case !has && len(g.list) == maxNames:
		return &piece{}
	case !has:
		if g.at == nil {
			g.at = map[string]int{}
		}
		i = len(g.list)
		g.at[key] = i
		g.list = append(g.list, piece{key: key})
	}
	return &g.list[i]
}

// set makes a value the one of its name.
func (g *gathered) set(m rawMember) { g.piece(m.key).raw = m.raw }

// join adds the elements of an array to those of its name, and each that has an index
// in place of the one with the same. Of other values the last one counts.
func (g *gathered) join(m rawMember) {
	if m.raw[0] != '[' {
		g.set(m)
		return
	}
	eachElement(json.RawMessage(m.raw), func(raw string) { g.piece(m.key).item(raw) })
}

func (p *piece) item(raw string) {
	index := string(member(json.RawMessage(raw), "index"))
	if at, has := p.at[index]; has {
		p.items[at] = raw
		return
	}
	if index != "" {
		if p.at == nil {
			p.at = map[string]int{}
		}
		p.at[index] = len(p.items)
	}
	p.items = append(p.items, raw)
}

// joinObject joins the members of an object; those of these names are texts, which go
// on where they ended.
func (g *gathered) joinObject(raw string, texts ...string) {
	eachMember(json.RawMessage(raw), func(key, raw string) {
		switch {
		case raw == "null":
		case raw[0] == '"' && slices.Contains(texts, key):
			d := jsonio.NewDec(raw)
			p := g.piece(key)
			p.text = append(p.text, d.String()...)
		default:
			g.join(rawMember{key, raw})
		}
	})
}

// members are what was gathered, but for members of over so many bytes; 0 is any. They
// are sorted: a stream tells them in another order than an answer in one piece.
func (g *gathered) members(most int) (out members) {
	slices.SortFunc(g.list, func(a, b piece) int { return strings.Compare(a.key, b.key) })
	for i := range g.list {
		p := &g.list[i]
		if raw := p.json(); most == 0 || len(raw) <= most {
			out.addRaw(p.key, raw)
		}
	}
	return out
}

func (p *piece) json() string {
	switch {
	case p.text != nil:
		return string(jsonio.AppendString(nil, string(p.text)))
	case p.items != nil:
		return "[" + strings.Join(p.items, ",") + "]"
	}
	return p.raw
}

// answered returns what was kept of an object of an answer.
func answered(opaque json.RawMessage, object string) json.RawMessage {
	return member(member(opaque, keyChatAnswer), object)
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
func (w *chatWriter) beside(opaque json.RawMessage, own ...string) {
	if w.req != nil {
		w.echo(opaque, own)
		return
	}
	w.buf = w.appendOwn(opaque, own...)
	for _, key := range [...]string{keyAnnotations, keyImages} {
		if raw := member(opaque, key); raw != nil {
			w.buf = appendMember(w.buf, key, string(raw))
		}
	}
	w.buf = appendMembers(w.buf, answered(opaque, keyMessage))
}

func (w *chatWriter) echo(opaque json.RawMessage, own []string) {
	w.buf = w.appendOwn(opaque, append(own, keyAudio)...)
	if id := member(member(opaque, keyAudio), "id"); id != nil {
		w.raw(keyAudio, `{"id":`+string(id)+`}`)
	}
	var files members
	eachElement(member(opaque, keyAnnotations), func(raw string) {
		if memberText(json.RawMessage(raw), "type") == "file" {
			files.addElement(raw)
		}
	})
	if files != nil {
		w.raw(keyAnnotations, string(append(files, ']')))
	}
}

// ending writes what a choice tells beside its message.
func (w *chatWriter) ending(f llm.Finish) {
	w.name(keyLogprobs)
	w.buf = jsonio.AppendRaw(w.buf, member(f.Opaque, keyLogprobs))
	w.finish(f.Reason, f.Raw)
	w.buf = appendMembers(w.buf, answered(f.Opaque, keyChoice))
}
