package watch

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/protocol"
	"github.com/looptape/looptape/trace/check"
)

// Recording holds the requests that were recorded, in the order in which they were
// issued, against the invariants. A recording does not tell whether a history was
// rewritten on purpose, so INV-05 is not looked for. Its zero value is ready; it is for
// one goroutine, and remembers as Watch does.
//
// Requests whose messages begin with those of one before are one run with it, which is
// called by the number of its first request: interaction-1.
type Recording struct {
	// Runs is how many there were so far.
	Runs int

	watch Monitor
	runs  map[place]int // the number of the first request, by a beginning of the conversation
	told  map[fault]int // how often a run has a violation at a message
	past  past
}

// place is a beginning of a conversation.
type place struct {
	lane string
	hash uint64
}

// fault is what a violation is known by in the requests that follow.
type fault struct {
	run, event int
	invariant  string
}

// Interaction is a recorded request.
type Interaction struct {
	Number   int // in the recording, from 1
	Session  string
	Protocol protocol.Protocol
	Request  *llm.Request
	Response *llm.Response // nil if none is known
}

// Add takes the next request. The error says that a part of its conversation is not in the
// recording: then it was held against nothing.
func (r *Recording) Add(x Interaction) ([]check.Violation, error) {
	req, err := r.past.whole(x.Request)
	if err != nil {
		return nil, err
	}
	q := &Request{Protocol: x.Protocol, Number: x.Number, Session: x.Session, Model: req.Model, Request: Unmarked(req)}
	c, found, _ := r.watch.asked(q, (*check.List).Sent)
	found = r.fresh(r.run(c), x.Number, found)
	if x.Response != nil {
		said := x.Response.Message()
		r.watch.AddResponse(c, said)
		if x.Protocol.Name() == responses {
			r.past.add(x.Response.ResponseID, req.Messages, said)
		}
	}
	return found, nil
}

// run returns the number of the first request of a conversation.
func (r *Recording) run(c *Conversation) (first int) {
	at := func(hash uint64) place { return place{c.question.lane(), hash} }
	for _, hash := range slices.Backward(c.hashes) {
		if first = r.runs[at(hash)]; first != 0 {
			break
		}
	}
	if first == 0 {
		first = c.question.Number
		r.Runs++
	}
	if r.runs == nil {
		r.runs, r.told = map[place]int{}, map[fault]int{}
	}
	r.runs[at(c.Hash())] = first
	return first
}

// fresh returns the violations of a request that no request of its run has shown before.
func (r *Recording) fresh(run, number int, found []check.Violation) (out []check.Violation) {
	seen := map[fault]int{}
	for _, v := range found {
		f := fault{run, v.Event, v.Invariant}
		seen[f]++
		if v.Invariant == "INV-05" || seen[f] <= r.told[f] {
			continue
		}
		r.told[f]++
		v.Run = fmt.Sprintf("interaction-%d", run)
		if number != run {
			v.Message += fmt.Sprintf(" (in interaction %d)", number)
		}
		out = append(out, v)
	}
	return out
}

// past is what answers have said that requests may refer to by an id, as those of
// Responses do.
type past struct {
	talks map[string][]llm.Message // up to an answer, by its id
	parts map[string]llm.Part      // of answers, by their ids
}

// add takes an answer to these messages, which it may keep.
func (p *past) add(id string, asked []llm.Message, said llm.Message) {
	if p.talks == nil {
		p.talks, p.parts = map[string][]llm.Message{}, map[string]llm.Part{}
	}
	if id != "" {
		p.talks[id] = append(asked, said)
	}
	for _, part := range said.Parts {
		var opaque struct{ ID string }
		if json.Unmarshal(llm.PartOpaque(part), &opaque) == nil && opaque.ID != "" {
			p.parts[opaque.ID] = part
		}
	}
}

// whole returns a request with what it only refers to.
func (p *past) whole(req *llm.Request) (*llm.Request, error) {
	out := *req
	var before string
	_ = json.Unmarshal(req.Extra["previous_response_id"], &before) // what is none refers to nothing
	talk, known := p.talks[before]
	switch {
	case before != "" && !known:
		return nil, fmt.Errorf("goes on from the response %q, which is not in the recording", before)
	case isGiven(req.Extra["conversation"]):
		return nil, errors.New("goes on from a conversation that the provider keeps")
	case isGiven(req.Extra["prompt"]) && len(req.Messages) == 0:
		return nil, errors.New("has a prompt that the provider keeps")
	}
	out.Messages = slices.Clone(talk)
	for _, m := range req.Messages {
		m.Parts = slices.Clone(m.Parts)
		for i, part := range m.Parts {
			u, ok := part.(llm.Unknown)
			if !ok || u.Kind != "item_reference" {
				continue
			}
			var item struct{ ID string }
			_ = json.Unmarshal(u.Raw, &item) // the codec has read it
			said, ok := p.parts[item.ID]
			if !ok {
				return nil, fmt.Errorf("refers to the item %q, which is not in the recording", item.ID)
			}
			m.Parts[i] = said
		}
		out.Messages = append(out.Messages, m)
	}
	return &out, nil
}

// isGiven reports whether a member stands in a request and is not null.
func isGiven(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }
