package watch

import (
	"fmt"
	"slices"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/protocol"
	"github.com/looptape/looptape/trace/check"
	"github.com/looptape/looptape/trace/internal/stored"
)

// Recording checks recorded requests, in the order in which they were sent. A recording does
// not show whether a client shortened or summarized a history on purpose, so INV-05 is reported
// only for a response that comes back changed, among the same messages as before. Its zero value
// is ready. It is for use by one goroutine, and grows as a Monitor does.
//
// Requests that continue an earlier one are one run with it. The run has the number of its first
// request: interaction-1.
type Recording struct {
	// Runs is the number of runs so far.
	Runs int

	monitor  Monitor
	runs     map[place]int // number of the first request, by a beginning of the conversation
	reported map[fault]int // number of violations of a run at a message
	invalid  map[int]bool  // runs with errors in their messages
	stored   stored.Responses
}

type place struct {
	session string
	hash    uint64
}

// fault identifies a violation in later requests.
type fault struct {
	run, event int
	invariant  string
	rejected   string // the message of one of Interaction.Rejected
}

// Interaction is a recorded request.
type Interaction struct {
	Number   int // in the recording, from 1
	Session  string
	Protocol protocol.Protocol
	Request  *llm.Request
	Response *llm.Response // nil if unknown
	Accepted bool          // the provider accepted the request
	// Body is the body of the response as the client received it; nil if unknown. A client may
	// send data back that a later event of a stream replaces.
	Body []byte
	// RequestBody is the body of the request; nil if unknown. It may have a value that replaces a
	// signature of Gemini, which the codec omits.
	RequestBody []byte
	// Rejected are violations of the provider's rules, which package fake/wire finds in the body of
	// the request. Add returns each once in a run, and none after an error in the run's messages.
	Rejected []check.Violation
}

// isUnknown reports whether the request was not accepted, and no rule of the provider shows why.
func (x *Interaction) isUnknown() bool { return !x.Accepted && len(x.Rejected) == 0 }

// Add checks the next request. It returns an error if a part of the conversation is not in the
// recording; then only the other messages were checked, without results whose calls may be in that part.
func (r *Recording) Add(x Interaction) ([]check.Violation, error) {
	req, err := r.stored.Complete(x.Request)
	if err != nil {
		return r.addPart(x), err
	}
	q := &Request{Protocol: x.Protocol, Number: x.Number, Session: x.Session, Model: req.Model, Request: req, replaced: replacesSignatures(x.RequestBody), recorded: true, unknown: x.isUnknown()}
	c, found, _ := r.monitor.add(q, (*check.List).Sent)
	if prompt := req.Extra["prompt"]; len(req.Messages) == 0 && len(prompt) > 0 && string(prompt) != "null" {
		found = nil // the provider stores the messages
	}
	run := r.run(c)
	isError := func(v check.Violation) bool { return !v.Note }
	r.invalid[run] = r.invalid[run] || slices.ContainsFunc(found, isError)
	found = r.unreported(run, x.Number, found)
	if !r.invalid[run] {
		found = append(found, r.unreported(run, x.Number, x.Rejected)...)
	}
	if x.Response != nil {
		response := x.Response.Message()
		r.monitor.AddResponse(c, response)
		if x.Protocol.Name() == responses {
			r.monitor.supersede(c, x.Body)
			r.stored.Add(x.Response.ResponseID, req.Messages, response)
		}
	}
	return found, nil
}

// addPart checks the own messages of a request whose conversation is not in the recording. A result may be of a call
// that is not there.
func (r *Recording) addPart(x Interaction) (found []check.Violation) {
	calls := map[string]bool{}
	list := check.List{Protocol: x.Protocol.Name(), Accepted: !x.isUnknown()}
	var messages []llm.Message
	for _, m := range x.Request.Messages {
		for _, call := range m.Calls() {
			calls[call.ID] = true
		}
		parts := slices.DeleteFunc(slices.Clone(m.Parts), func(p llm.Part) bool {
			result, ok := p.(llm.ToolResult)
			return ok && !calls[result.ID]
		})
		if len(parts) > 0 || len(m.Parts) == 0 {
			m.Parts = parts
			messages = append(messages, m)
		}
	}
	list.Add(messages...)
	if len(messages) > 0 {
		found = list.Sent()
	}
	for i := range found {
		found[i].Run = fmt.Sprintf("interaction-%d", x.Number)
	}
	if x.Response != nil {
		r.stored.Add(x.Response.ResponseID, messages, x.Response.Message())
	}
	return found
}

// run returns the number of the first request of a conversation.
func (r *Recording) run(c *Conversation) (first int) {
	at := func(hash uint64) place { return place{c.request.key(), hash} }
	for _, hash := range slices.Backward(c.hashes) {
		if first = r.runs[at(hash)]; first != 0 {
			break
		}
	}
	if first == 0 {
		first = c.request.Number
		r.Runs++
	}
	if r.runs == nil {
		r.runs, r.reported, r.invalid = map[place]int{}, map[fault]int{}, map[int]bool{}
	}
	r.runs[at(c.Hash())] = first
	return first
}

// unreported returns the violations that no earlier request of the run has shown.
func (r *Recording) unreported(run, number int, found []check.Violation) (out []check.Violation) {
	seen := map[fault]int{}
	for _, v := range found {
		f := fault{run: run, event: v.Event, invariant: v.Invariant}
		if v.Event == check.NoEvent {
			f.rejected = v.Message
		}
		seen[f]++
		if seen[f] <= r.reported[f] {
			continue
		}
		r.reported[f]++
		v.Run = fmt.Sprintf("interaction-%d", run)
		if number != run {
			v.Message += fmt.Sprintf(" (in interaction %d)", number)
		}
		out = append(out, v)
	}
	return out
}
