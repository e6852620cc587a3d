// Package spans reads recordings of the tools for observability: traces that consist of spans, some
// of which are calls of a model. Calls that continue each other become one run.
package spans

import (
	"cmp"
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"strconv"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/internal/jsonval"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/importer/internal/format"
	"github.com/looptape/looptape/trace/importer/internal/modelcall"
	"github.com/looptape/looptape/trace/importer/internal/tree"
)

// recordedSpan is a span of a trace.
type recordedSpan struct {
	raw        json.RawMessage
	id, parent string
	// call has the messages of the span; nil if the span has none. Rest is then the span
	// without them.
	call *modelCall
	rest json.RawMessage
	used resources // in addition to those of the call
	// unused are the resources of a span of a model call whose messages are elsewhere.
	unused resources
	// silent is the reason why the span of a model call has no messages; nil if it has, or if another
	// layer of the same call has them.
	silent error
	// scores are those of the span, or of the trace.
	scores []format.Score
}

// resources are the usage and the cost that a span has.
type resources struct {
	usage llm.Usage
	cost  float64
}

func (r *resources) add(other resources) {
	r.usage, r.cost = r.usage.Add(other.usage), r.cost+other.cost
}

// moveTo sets what [importer.Run.Resources] reads from the metadata of a run.
func (r resources) moveTo(meta map[string]json.RawMessage) {
	if r.usage != (llm.Usage{}) {
		meta["usage"] = r.usage.AppendJSON(nil)
	}
	if r.cost > 0 {
		meta["cost"] = strconv.AppendFloat(nil, r.cost, 'f', -1, 64)
	}
}

// modelCall is a call of a model that a span records.
type modelCall struct {
	modelcall.Call

	start      uint64 // in the recording's unit
	rank       int    // several layers may record the same call; the lowest rank has the best form
	used       resources
	attributes map[string]json.RawMessage // of a span of OpenTelemetry, without its messages
	n          int                        // index of its span
	agent      bool                       // the span is one of an agent
	partial    bool                       // the conversation does not have all of its messages
	convention bool                       // the call has the messages of a model in a convention of OpenTelemetry
	layers     []*modelCall               // the calls above and below
}

// conversation is a list of messages that one or several calls of a model record.
type conversation struct {
	messages []llm.Message
	sent     int // number of messages before the output of the last call
	calls    []*modelCall
}

// newConversation returns the conversation of one call, without the call.
func newConversation(call *modelCall) *conversation {
	return &conversation{messages: slices.Concat(call.Input, call.Output), sent: len(call.Input)}
}

// conversations joins the calls of a trace. It uses those of the best rank, and those of other conventions
// of OpenTelemetry that are not a used call in another form. Of the other calls, see [reportUnused].
func conversations(spans []recordedSpan) (joined []*conversation) {
	var calls []*modelCall
	for n := range spans {
		if call := spans[n].call; call != nil {
			call.n = n
			calls = append(calls, call)
		}
	}
	if calls == nil {
		return nil
	}
	best := slices.MinFunc(calls, func(a, b *modelCall) int { return cmp.Compare(a.rank, b.rank) }).rank
	slices.SortStableFunc(calls, func(a, b *modelCall) int { return cmp.Compare(a.rank, b.rank) })
	used := map[*modelCall]bool{}
	ranks := map[string]int{} // of used calls, by their content; empty until there is a call of another rank
	for n, call := range calls {
		if call.rank == best {
			used[call] = true
			continue
		}
		if !call.convention || slices.ContainsFunc(call.layers, func(layer *modelCall) bool { return used[layer] }) {
			continue
		}
		if len(ranks) == 0 {
			for _, other := range calls[:n] {
				if used[other] {
					ranks[other.content()] = other.rank
				}
			}
		}
		content := call.content()
		if rank, isThere := ranks[content]; !isThere || rank == call.rank {
			used[call], ranks[content] = true, call.rank
		}
	}
	reportUnused(spans, calls, used)
	slices.SortStableFunc(calls, func(a, b *modelCall) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.n, b.n))
	})
	for _, call := range calls {
		if !used[call] {
			continue
		}
		c := call.continues(joined)
		if c == nil {
			c = newConversation(call)
			joined = append(joined, c)
		}
		c.calls = append(c.calls, call)
	}
	return joined
}

// rankLayers makes the calls above other calls worse, because they repeat the messages of these.
// Calls without messages that are above or below a call with messages are layers of it, except
// below an agent.
func rankLayers(spans []recordedSpan) {
	byID := indexByID(spans)
	above := map[*modelCall]bool{}
	for n := range spans {
		s := &spans[n]
		if s.call == nil && s.silent == nil {
			continue
		}
		for parent := range ancestors(spans, byID, n) {
			switch {
			case s.call == nil && parent.call != nil && !parent.call.agent:
				s.silent = nil
			case s.call != nil && parent.call != nil && parent.call != s.call:
				above[parent.call] = true
				s.call.layers, parent.call.layers = append(s.call.layers, parent.call), append(parent.call.layers, s.call)
			case s.call != nil:
				parent.silent = nil
			}
		}
	}
	for call := range above {
		call.rank++
	}
}

func indexByID(spans []recordedSpan) map[string]int {
	byID := make(map[string]int, len(spans))
	for n := range spans {
		byID[spans[n].id] = n
	}
	return byID
}

// ancestors yields the spans above a span, up to a depth: parents may form a cycle.
func ancestors(spans []recordedSpan, byID map[string]int, n int) iter.Seq[*recordedSpan] {
	const maxDepth = 100
	return func(yield func(*recordedSpan) bool) {
		for range maxDepth {
			parent, ok := byID[spans[n].parent]
			if !ok || spans[n].parent == "" || !yield(&spans[parent]) {
				return
			}
			n = parent
		}
	}
}

// spanRuns returns a run for each conversation of a trace, or for the other one if there is none.
// The first run has the spans that are in no conversation. Each run has its spans as the member of
// Meta with this name, without the messages, and the sums of their usage and cost.
func spanRuns(spans []recordedSpan, name string, line int, member string, other *conversation) []format.Run {
	rankLayers(spans)
	joined := conversations(spans)
	if joined == nil && other != nil {
		joined = []*conversation{other}
	}
	if joined == nil {
		return nil
	}
	inRun := map[int]int{} // the number of the conversation, by the index of a span
	for n, c := range joined {
		for _, call := range c.calls {
			inRun[call.n] = n
		}
	}
	runs, lists, sums := make([]format.Run, len(joined)), make([]tree.List, len(joined)), make([]resources, len(joined))
	for n, c := range joined {
		runs[n] = c.run(name, n+1, line)
	}
	for i, s := range spans {
		n, isCall := inRun[i]
		sums[n].add(s.used)
		if isCall {
			if !s.call.partial {
				s.raw = s.rest
			}
			sums[n].add(s.call.used)
		}
		runs[n].Scores = append(runs[n].Scores, s.scores...)
		lists[n].Add(s.raw)
	}
	for n := range runs {
		runs[n].Meta[member] = lists[n].JSON()
		sums[n].moveTo(runs[n].Meta)
	}
	return runs
}

// continues returns the conversation that the call continues, with the messages of the call; nil if
// there is none. It looks at the newest conversations.
func (call *modelCall) continues(joined []*conversation) *conversation {
	const open = 100 // conversations at the same time
	for n := len(joined) - 1; n >= max(0, len(joined)-open); n-- {
		c := joined[n]
		messages, ok := c.continued(call)
		if !ok {
			continue
		}
		c.messages, c.sent = slices.Concat(messages, call.Output), len(messages)
		return c
	}
	return nil
}

// continued returns the messages of the conversation before the output of a call; ok is false if
// the call does not continue it. The input of the call has all messages of the conversation, or
// the provider stores these and the input begins with the results of the last calls. The same call
// again, by another attempt or another layer, continues the conversation unless the output differs.
func (c *conversation) continued(call *modelCall) (messages []llm.Message, ok bool) {
	input, last := call.Input, c.messages[c.sent:]
	if c.sent > 0 && begins(input, c.messages[:c.sent]) {
		rest := input[c.sent:]
		switch {
		case begins(rest, last):
			return c.keepFirst(call, c.messages, input), true
		case len(rest) > 0:
		case len(call.Output) == 0:
			call.Output = last
			return c.keepFirst(call, c.messages[:c.sent], input), true
		case len(call.Output) == len(last) && begins(call.Output, last):
			call.Output = c.keepFirst(call, last, call.Output)
			return c.keepFirst(call, c.messages[:c.sent], input), true
		}
	}
	system := 0
	for system < len(input) && input[system].Role == llm.RoleSystem {
		system++
	}
	call.partial = !begins(c.messages, input[:system])
	if input = input[system:]; len(last) > 0 && begins(input, last) {
		input = input[len(last):]
	}
	return slices.Concat(c.messages, input), answers(input, last)
}

// keepFirst returns messages with those that were recorded before in their first form. If the ids
// differ, it keeps the later form, and the earlier calls are only partially in the conversation.
func (c *conversation) keepFirst(later *modelCall, before, messages []llm.Message) []llm.Message {
	messages = slices.Clone(messages)
	for i, m := range before {
		if slices.Equal(idsOf(m), idsOf(messages[i])) {
			if hasMore(messages[i], m) {
				later.partial = true
			}
			messages[i] = m
			continue
		}
		for _, call := range c.calls {
			call.partial = true
		}
	}
	return messages
}

// hasMore reports whether a message has opaque data that another form of it does not have.
func hasMore(m, other llm.Message) bool {
	if m.Opaque != nil && string(m.Opaque) != string(other.Opaque) || len(m.Parts) != len(other.Parts) {
		return true
	}
	for i, p := range m.Parts {
		if opaque := llm.PartOpaque(p); opaque != nil && string(opaque) != string(llm.PartOpaque(other.Parts[i])) {
			return true
		}
	}
	return false
}

// idsOf returns the ids of the calls and the results of a message.
func idsOf(m llm.Message) (ids []string) {
	for _, call := range m.Calls() {
		ids = append(ids, call.ID)
	}
	for _, r := range resultsOf(m) {
		ids = append(ids, r.ID)
	}
	return ids
}

// begins reports whether messages begin with others. It ignores opaque data and the encoding of
// arguments: a recorder may write a call in another form when it repeats the call.
func begins(messages, others []llm.Message) bool {
	return len(messages) >= len(others) && slices.EqualFunc(messages[:len(others)], others, func(a, b llm.Message) bool {
		return a.Role == b.Role && a.Text() == b.Text() &&
			slices.EqualFunc(a.Calls(), b.Calls(), func(a, b llm.ToolCall) bool {
				return a.Name == b.Name && sameValue(a.Arguments, b.Arguments)
			}) &&
			slices.EqualFunc(resultsOf(a), resultsOf(b), func(a, b llm.ToolResult) bool { return sameValue(textOf(a), textOf(b)) })
	})
}

// sameValue reports whether two texts are the same, or the same JSON.
func sameValue(a, b string) bool {
	return a == b || jsonio.ValidText(a) && jsonio.ValidText(b) && jsonval.Canonical(a) == jsonval.Canonical(b)
}

func resultsOf(m llm.Message) (results []llm.ToolResult) {
	for _, p := range m.Parts {
		if r, ok := p.(llm.ToolResult); ok {
			results = append(results, r)
		}
	}
	return results
}

func textOf(r llm.ToolResult) string { return llm.Message{Parts: r.Content}.Text() }

// answers reports whether the first message has results of calls of the last messages.
func answers(input, last []llm.Message) bool {
	if len(input) == 0 {
		return false
	}
	results := resultsOf(input[0])
	return slices.ContainsFunc(last, func(m llm.Message) bool {
		return slices.ContainsFunc(m.Calls(), func(call llm.ToolCall) bool {
			return call.ID != "" && slices.ContainsFunc(results, func(r llm.ToolResult) bool { return r.ID == call.ID })
		})
	})
}

// run returns a run with the messages, the scores and the final answer. The first conversation of
// a trace has its name, and the others have a number, from 2.
func (c *conversation) run(trace string, n, line int) format.Run {
	r := format.Run{Name: trace, Line: line, Epoch: format.NoEpoch, Messages: c.messages, Meta: map[string]json.RawMessage{}}
	if n > 1 {
		r.Name += "/conversation-" + strconv.Itoa(n)
	}
	if n := len(c.calls); n > 0 {
		maps.Copy(r.Meta, c.calls[n-1].attributes)
	}
	for _, m := range c.messages[c.sent:] {
		r.Answer = m.Text()
	}
	return r
}
