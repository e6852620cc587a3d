package strict

import (
	"cmp"
	"iter"
	"net/http"
	"slices"
	"strings"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire/internal/reply"
	"github.com/looptape/looptape/llm"
)

// past is what a lane's script has said, or would have. The answers are a function
// of the script, so nothing that was sent has to be kept to know it again.
type past struct {
	Request
	lane  string
	turns map[string][]fake.Response // of each lane, each Repeat written out; none until they are asked for
	said  []thought                  // nil until it is asked for
	sent  map[reply.Key][]object
}

// past returns the past of a request for this model.
func (in Request) past(model string) *past {
	return &past{Request: in, lane: cmp.Or(in.Session, model, in.Config.Script.Default)}
}

// lanes are those whose answers a request may name: its own, and where that is no more
// than the model's name, those of the models that have answered before.
func (p *past) lanes() []string { return append([]string{p.lane}, p.Answered...) }

// script returns the turns of a lane.
func (p *past) script(lane string) []fake.Response {
	turns, ok := p.turns[lane]
	if !ok {
		if p.turns == nil {
			p.turns = map[string][]fake.Response{}
		}
		turns = p.Config.Script.Script(lane)
		p.turns[lane] = turns
	}
	return turns
}

// turn returns what answers at a place; ok is false where the script has nothing.
func (p *past) turn(at fake.Place) (t fake.Response, ok bool) {
	turns := p.script(at.Session)
	if at.Response >= len(turns) {
		return t, false
	}
	t = turns[at.Response]
	if t.Attempts == nil {
		return t, true
	}
	if at.Attempt > len(t.Attempts) {
		return fake.Response{}, false
	}
	return t.Attempts[at.Attempt-1], true
}

// thinks reports whether there may be reasoning in the answer at a spot.
func (p *past) thinks(at reply.Key) bool {
	t, ok := p.turn(at.Place)
	return ok && (t.Reasoning != "" || t.ReasoningOpaque != nil || t.Events != nil || p.Config.EditScript != nil)
}

// output returns the items of the answer at a spot.
func (p *past) output(at reply.Key) []object {
	if items, ok := p.sent[at]; ok {
		return items
	}
	if p.sent == nil {
		p.sent = map[reply.Key][]object{}
	}
	p.sent[at] = p.rendered(at)
	return p.sent[at]
}

func (p *past) rendered(at reply.Key) []object {
	t, ok := p.turn(at.Place)
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

// answer returns the items of an answer by its id; ok is false if no lane has such an
// answer.
func (p *past) answer(id string) (items []object, ok bool) {
	if at, ok := p.spotOf(strings.TrimPrefix(id, "resp_")); ok {
		_, ok = p.turn(at.Place)
		return p.output(at), ok
	}
	for at := range p.places(p.lanes()...) {
		if t, _ := p.turn(at); id != "" && t.ResponseID == id {
			return p.output(reply.Key{Place: at, Conversation: reply.ConversationID(0)}), true
		}
	}
	return nil, false
}

// spotOf returns the spot in any of the lanes that text is the name of; ok is false if
// there is none.
func (p *past) spotOf(text string) (at reply.Key, ok bool) {
	for _, lane := range p.lanes() {
		if at, ok = reply.ParseKey(lane, text); ok {
			return at, true
		}
	}
	return reply.Key{}, false
}

// places are those of the lanes' scripts.
func (p *past) places(lanes ...string) iter.Seq[fake.Place] {
	return func(yield func(fake.Place) bool) {
		for _, lane := range lanes {
			for i, t := range p.script(lane) {
				for a := range max(1, len(t.Attempts)) {
					if !yield(fake.Place{Session: lane, Response: i, Attempt: a + 1}) {
						return
					}
				}
			}
		}
	}
}

// item returns an item of an answer by its id, with those before it in the answer;
// it is nil if no lane has it.
func (p *past) item(id string) (item object, before []object) {
	if at, ok := p.madeBy(id); ok {
		return find(p.output(at), id)
	}
	for at := range p.places(p.lanes()...) {
		if t, _ := p.turn(at); named(&t) {
			if item, before = find(p.output(reply.Key{Place: at, Conversation: reply.ConversationID(0)}), id); item != nil {
				return item, before
			}
		}
	}
	return nil, nil
}

// madeBy returns the spot whose answer has an item of this id, if the server made
// the id (rs_, the name of the answer, _ and a number).
func (p *past) madeBy(id string) (at reply.Key, ok bool) {
	_, rest, _ := strings.Cut(id, "_")
	answer, _, _ := strings.Cut(rest, "_")
	return p.spotOf(answer)
}

func find(items []object, id string) (item object, before []object) {
	i := slices.IndexFunc(items, func(it object) bool { return it.get("id").text() == id })
	if i < 0 {
		return nil, nil
	}
	return items[i], items[:i]
}

// named reports whether a turn may give its items ids.
func named(t *fake.Response) bool {
	return t.Events != nil || t.ReasoningOpaque != nil || t.TextOpaque != nil ||
		slices.ContainsFunc(t.Calls, func(c fake.Call) bool { return c.Opaque != nil })
}
