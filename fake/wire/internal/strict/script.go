package strict

import (
	"bytes"
	"cmp"
	"iter"
	"net/http"
	"slices"
	"strings"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire/internal/reply"
	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
)

// scripted contains the responses of a session. They are a function of the script, so
// that the server does not have to store them.
type scripted struct {
	Request
	session string
	scripts map[string][]fake.Response // by session, with repeats expanded; filled on demand
	message []thought                  // nil until it is used
	sent    map[reply.Key][]object
}

func (in Request) scripted(model string) *scripted {
	return &scripted{Request: in, session: cmp.Or(in.Session, model, in.Config.Script.Default)}
}

// sessions returns those whose responses a request may name: its own and, without a
// session in the URL, those of models that have answered before.
func (p *scripted) sessions() []string { return append([]string{p.session}, p.Answered...) }

func (p *scripted) script(session string) []fake.Response {
	scripts, ok := p.scripts[session]
	if !ok {
		if p.scripts == nil {
			p.scripts = map[string][]fake.Response{}
		}
		scripts = p.Config.Script.Script(session)
		p.scripts[session] = scripts
	}
	return scripts
}

// mergedMessage returns the scripted response at a place; ok is false if there is none.
func (p *scripted) mergedMessage(at reply.Place) (t fake.Response, ok bool) {
	scripts := p.script(at.Session)
	if at.Response >= len(scripts) {
		return t, false
	}
	t = scripts[at.Response]
	if t.Attempts == nil {
		return t, true
	}
	if at.Attempt > len(t.Attempts) {
		return fake.Response{}, false
	}
	return t.Attempts[at.Attempt-1], true
}

// thinks reports whether a response may contain reasoning.
func (p *scripted) thinks(at reply.Key) bool {
	t, ok := p.mergedMessage(at.Place)
	return ok && (t.Reasoning != "" || t.ReasoningOpaque != nil || t.Events != nil || p.Config.EditScript != nil)
}

func (p *scripted) output(at reply.Key) []object {
	if items, ok := p.sent[at]; ok {
		return items
	}
	if p.sent == nil {
		p.sent = map[reply.Key][]object{}
	}
	p.sent[at] = p.rendered(at)
	return p.sent[at]
}

func (p *scripted) rendered(at reply.Key) []object {
	t, ok := p.mergedMessage(at.Place)
	if !ok {
		return nil
	}
	a := &reply.Response{Endpoint: p.Endpoint, Key: at, Request: &llm.Request{ResponseMode: llm.NonStreaming}, Script: t}
	if p.Config.EditScript != nil {
		p.Config.EditScript(a)
	}
	r := a.Render()
	if r.Status != http.StatusOK {
		return nil
	}
	return objects(value(r.Body).get("output"))
}

// answer returns the items of a response by its id; ok is false if no session has it.
func (p *scripted) answer(id string) (items []object, ok bool) {
	if at, ok := p.parseKey(strings.TrimPrefix(id, "resp_")); ok {
		_, ok = p.mergedMessage(at.Place)
		return p.output(at), ok
	}
	for at := range p.places(p.sessions()...) {
		if t, _ := p.mergedMessage(at); id != "" && t.ResponseID == id {
			return p.output(reply.Key{Place: at, Conversation: reply.ConversationID(0)}), true
		}
	}
	return nil, false
}

func (p *scripted) parseKey(text string) (at reply.Key, ok bool) {
	for _, session := range p.sessions() {
		if at, ok = reply.ParseKey(session, text); ok {
			return at, true
		}
	}
	return reply.Key{}, false
}

func (p *scripted) places(sessions ...string) iter.Seq[reply.Place] {
	return func(yield func(reply.Place) bool) {
		for _, session := range sessions {
			for i, t := range p.script(session) {
				for a := range max(1, len(t.Attempts)) {
					if !yield(reply.Place{Session: session, Response: i, Attempt: a + 1}) {
						return
					}
				}
			}
		}
	}
}

// item returns an item by its id, and the items before it in its response; nil if no
// session has it.
func (p *scripted) item(id string) (item object, before []object) {
	if at, ok := p.keyOf(id); ok {
		return find(p.output(at), id)
	}
	for at := range p.places(p.sessions()...) {
		if t, _ := p.mergedMessage(at); named(&t) {
			if item, before = find(p.output(reply.Key{Place: at, Conversation: reply.ConversationID(0)}), id); item != nil {
				return item, before
			}
		}
	}
	return nil, nil
}

// keyOf returns the key of the response whose item has this id; ok is false if the
// server did not generate the id.
func (p *scripted) keyOf(id string) (at reply.Key, ok bool) {
	_, rest, _ := strings.Cut(id, "_")
	answer, _, _ := strings.Cut(rest, "_")
	return p.parseKey(answer)
}

func find(items []object, id string) (item object, before []object) {
	i := slices.IndexFunc(items, func(it object) bool { return it.text("id") == id })
	if i < 0 {
		return nil, nil
	}
	return items[i], items[:i]
}

func named(t *fake.Response) bool {
	return t.Events != nil || t.ReasoningOpaque != nil || t.TextOpaque != nil ||
		slices.ContainsFunc(t.Calls, func(c fake.Call) bool { return c.Opaque != nil })
}

// Expanded returns the body of a request with the complete conversation, which clients
// of Responses may omit. It replaces references by the items of the session's responses.
// It inserts the input and the output of the previous response. It keeps unknown
// references.
func (in Request) Expanded() []byte {
	refers := bytes.Contains(in.Body, []byte("item_reference")) || bytes.Contains(in.Body, []byte("previous_response_id"))
	if in.Protocol.Name() != reply.Responses || !refers || !jsonio.Valid(in.Body) {
		return in.Body
	}
	body := parse(in.Body).object()
	p := in.scripted(body.text("model"))
	previous := body.text("previous_response_id")
	items, _ := p.answer(previous)
	for i, m := range body {
		if m.key == "input" {
			body[i].value = p.expanded(value(in.Input(previous)), items, m.value)
		}
	}
	return body.json()
}

// Input returns the input of an expanded request to Responses as a JSON array.
func Input(body []byte) string {
	return string((&scripted{}).expanded("", nil, parse(body).get("input")))
}

// expanded returns the elements of before, the items and the elements of input.
func (p *scripted) expanded(before value, items []object, input value) value {
	dst := append(make([]byte, 0, len(before)+len(input)+2), '[')
	add := func(item string) {
		if len(dst) > 1 {
			dst = append(dst, ',')
		}
		dst = append(dst, item...)
	}
	for _, v := range before.elements() {
		add(string(v))
	}
	for _, it := range items {
		add(jsonio.View(it.json()))
	}
	if input.is('"') {
		add(`{"role":"user","content":` + string(input) + `}`)
	}
	for _, v := range input.elements() {
		item := string(v)
		if strings.Contains(item, "reference") || strings.Contains(item, `\`) { // an item_reference, maybe escaped
			if o := v.object(); kindOfItem(o) == "item_reference" {
				if own, _ := p.item(o.text("id")); own != nil {
					item = jsonio.View(own.json())
				}
			}
		}
		add(item)
	}
	return value(append(dst, ']'))
}
