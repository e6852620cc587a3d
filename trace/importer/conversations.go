package importer

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/looptape/looptape/internal/jsonval"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/importer/internal/message"
	"github.com/looptape/looptape/trace/importer/internal/tree"
	"github.com/looptape/looptape/trace/internal/stored"
)

// Conversations yields the conversations of a recording of HTTP, in the order of their first requests.
// The messages are those of the last request, with its response. A response that the client sent back
// changed is that of the model. The name of a run is that of its first request which no run before has.
// Meta has the usage of all responses of the conversation, and Unknown is that of all its requests and responses.
// The run of a request that cannot be read has only its name. All runs are held in memory.
// A recording without a request to a model is an error. For other formats, Conversations is the same
// as Runs.
func (s *Source) Conversations() iter.Seq2[Run, error] {
	if s.http == nil {
		return s.Runs()
	}
	return func(yield func(Run, error) bool) {
		t := chains{byKey: map[string][]int{}, children: map[string][]int{}, changed: map[string][]int{}}
		for e, err := range s.Exchanges() {
			switch {
			case err != nil:
				t.list = append(t.list, chain{number: cmp.Or(e.Number, math.MaxInt), run: Run{Name: e.name()}, err: err})
			case e.Request != nil:
				t.add(s, &e)
			}
		}
		if len(t.list) == 0 {
			err := errors.New("the recording has no request to a model in a known protocol")
			yield(Run{}, s.errorAt(0, "", err))
		}
		for _, x := range t.conversations() {
			if !yield(x.run, x.err) {
				return
			}
		}
	}
}

// chains are the requests of a recording, by their messages.
type chains struct {
	list     []chain
	byKey    map[string][]int // requests, by the key of all their messages
	changed  map[string][]int // requests with a response, by the key of the messages before it
	children map[string][]int // requests that continue those with a key
	stored   stored.Responses
}

// chain is a request with its response. With an error it is the request alone, or empty if
// that cannot be read.
type chain struct {
	number  int
	run     Run
	err     error
	request *llm.Request
	keys    []string // of the messages up to each one, beginning with none
	parent  string   // the key of the requests that it continues; empty if there are none
	changed int      // index of the message that is their response, changed; 0 if it is not
	usage   llm.Usage
	failed  *failure
}

// key is the key of all messages; it is empty if there are none.
func (c *chain) key() string {
	if len(c.keys) < 2 {
		return ""
	}
	return c.keys[len(c.keys)-1]
}

func (t *chains) add(s *Source, e *Exchange) {
	req, err := t.stored.Complete(e.Request)
	if err == nil {
		e.Request = req
	} else {
		e.Unknown = append(e.Unknown, s.exchangeError(e, fmt.Errorf("the request %w", err)))
	}
	x := chain{number: e.Number, run: e.run(e.messages()), request: e.Request, keys: []string{e.Session}}
	if e.Incomplete != nil {
		x.run.Partial = true
		x.err = e.Incomplete
	}
	for _, m := range e.Request.Messages {
		x.keys = append(x.keys, keyOf(x.keys[len(x.keys)-1], m))
	}
	if e.Response != nil {
		last, response := x.keys[len(x.keys)-1], e.Response.Message()
		t.changed[last] = append(t.changed[last], len(t.list))
		x.keys = append(x.keys, keyOf(last, response))
		x.usage = e.Response.Usage
		t.stored.Add(e.Response.ResponseID, e.Request.Messages, response)
	}
	if x.failed = e.failed; e.failed != nil {
		x.usage = e.failed.response.Usage
	}
	t.byKey[x.key()] = append(t.byKey[x.key()], len(t.list))
	t.list = append(t.list, x)
}

// conversations returns the last requests of the conversations, each with the name of the first one.
func (t *chains) conversations() (list []chain) {
	t.link()
	named := map[int]bool{}
	for i, x := range t.list {
		if x.keys == nil {
			list = append(list, x)
		}
		if x.keys == nil || len(t.children[x.key()]) > 0 {
			continue
		}
		members := t.members(i)
		if at := slices.IndexFunc(members, func(i int) bool { return !named[i] }); at >= 0 {
			named[members[at]] = true
			x.number, x.run.Name = t.list[members[at]].number, t.list[members[at]].run.Name
		}
		for _, m := range members {
			named[m] = true
		}
		t.sum(&x, members)
		list = append(list, x)
	}
	sort.SliceStable(list, func(i, j int) bool { return list[i].number < list[j].number })
	return list
}

// link finds the requests that each request continues: those with the most of its messages. If the
// client changed a response, they are the last ones with this system prompt whose response no
// request has.
func (t *chains) link() {
	continued := map[string]bool{}
	known := make([]int, len(t.list)) // messages
	for i := range t.list {
		x := &t.list[i]
		for n := len(x.keys) - 2; n > 0 && known[i] == 0; n-- {
			if len(t.byKey[x.keys[n]]) > 0 {
				known[i], x.parent = n, x.keys[n]
			}
		}
		continued[x.parent] = true
	}
	for i := range t.list {
		x := &t.list[i]
		if key, at := t.changedBefore(i, known[i], continued); at > 0 {
			x.parent, x.changed, continued[key] = key, at, true
		}
		if x.parent != "" {
			t.children[x.parent] = append(t.children[x.parent], i)
		}
	}
}

// changedBefore returns the key of the request whose response request i has in another form, after
// its known messages, and the index of that message; 0 if there is none.
func (t *chains) changedBefore(i, known int, continued map[string]bool) (key string, at int) {
	x := &t.list[i]
	if x.request == nil {
		return "", 0
	}
	for n := len(x.request.Messages) - 2; n > 0 && n >= known; n-- {
		if x.request.Messages[n].Role != llm.RoleAssistant {
			continue
		}
		for _, j := range slices.Backward(t.changed[x.keys[n]]) {
			if y := &t.list[j]; j < i && !continued[y.key()] && y.request.System.Text() == x.request.System.Text() {
				return y.key(), n
			}
		}
	}
	return "", 0
}

// members returns the requests of the conversation that ends with request i, in their order. Of
// repeated requests with the same response, each continuation has one, and the first one has those
// that are left. So no usage is lost, and only that of the requests before a branch is in several runs. In the
// messages of request i, members replaces the responses that the client changed by those of the model.
func (t *chains) members(i int) []int {
	members, last := []int{i}, &t.list[i]
	messages := last.run.Messages[len(message.System(last.request.System.Text())):]
	for key := last.parent; key != ""; key = t.list[i].parent {
		same, children := t.byKey[key], t.children[key]
		n := slices.Index(children, i)
		if n == 0 && len(same) > len(children) {
			members = append(members, same[len(children):]...)
		}
		next := same[min(n, len(same)-1)]
		if at := t.list[i].changed; at > 0 && messages[at+1].Role != llm.RoleAssistant { // not divided
			said := t.list[next].run.Messages
			messages[at] = said[len(said)-1]
		}
		members, i = append(members, next), next
	}
	slices.Sort(members)
	return members
}

// sum adds the usage, the failed responses and the unknown parts of all requests to those of the
// last one. A request repeats parts of the ones before it.
func (t *chains) sum(x *chain, members []int) {
	var usage llm.Usage
	var cost float64
	var failed [][]byte
	var unknown []*Error
	seen := map[string]bool{}
	for _, i := range members {
		m := &t.list[i]
		usage, cost = usage.Add(m.usage), cost+amount(tree.Member(m.run.Meta["provider_usage"], "cost"))
		if m.failed != nil {
			failed = append(failed, m.failed.json())
		}
		for _, e := range m.run.Unknown {
			at, _, _ := strings.Cut(e.Place, " of ") // the message
			if key := at + e.Path + e.Err.Error(); !seen[key] {
				seen[key] = true
				unknown = append(unknown, e)
			}
		}
	}
	if usage != (llm.Usage{}) {
		x.run.Meta["usage"] = usage.AppendJSON(nil)
	}
	if cost > 0 {
		x.run.Meta["cost"] = strconv.AppendFloat(nil, cost, 'f', -1, 64)
	}
	if failed != nil {
		x.run.Meta["failed_responses"] = arrayOf(failed...)
	}
	x.run.Unknown = unknown
}

// keyOf returns the key of messages with one more. It uses texts, calls and results: a
// client may omit the provider's other data and space when it repeats a response.
func keyOf(before string, m llm.Message) string {
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%s %s %q", before, m.Role, strings.TrimSpace(m.Text())) // a hash returns no error
	for _, part := range m.Parts {
		switch p := part.(type) {
		case llm.ToolCall:
			_, _ = fmt.Fprintf(h, " %q %q", p.Name, jsonval.Canonical(p.Arguments))
		case llm.ToolResult:
			_, _ = fmt.Fprintf(h, " %q", p.Text())
		default:
		}
	}
	return string(h.Sum(nil))
}

// arrayOf returns a JSON array of values.
func arrayOf(values ...[]byte) json.RawMessage {
	return slices.Concat([]byte("["), bytes.Join(values, []byte(",")), []byte("]"))
}
