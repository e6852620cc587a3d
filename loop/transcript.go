package loop

import (
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/looptape/looptape/internal/slab"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop/internal/conversation"
	"github.com/looptape/looptape/trace"
)

// transcript is the conversation of a run: its history, what was sent of it, how
// middleware rewrote it, and the call ids.
type transcript struct {
	base    llm.Request // the request of each step, without its messages
	ids     conversation.IDs
	history []llm.Message
	input   int           // messages of the Input in history, while rewritten is nil
	fresh   []llm.Message // what the run added; nil while it is the end of history
	sent    int           // length of history when the step began
	shown   int           // length of history in the last request for the answer
	unsent  []llm.Message // added after that request, and then rewritten

	override     *[]llm.Message // the messages of the last request, if a WrapModel hook replaced them
	overrideStep int

	requests slab.Slab[llm.Request]
	parts    slab.Slab[llm.Part]
}

// begin makes the messages of the Input the history.
func (t *transcript) begin(messages []llm.Message) {
	t.input = len(messages)
	t.history = messages[:t.input:t.input]
	t.ids = conversation.NewIDs(t.history)
}

// repair repairs the history before the first request, and returns what it repaired.
func (t *transcript) repair() (warnings []string) {
	repaired, warnings := conversation.Repair(t.history, &t.ids)
	if warnings != nil {
		t.keepAdded()
		t.history = repaired
	}
	return warnings
}

// keepAdded keeps the messages that the run added, before the history is replaced.
func (t *transcript) keepAdded() {
	if t.fresh == nil {
		t.fresh = append([]llm.Message{}, t.added()...)
	}
}

// request returns the request of a new step, without its messages.
func (t *transcript) request() *llm.Request {
	req := t.requests.One()
	*req = t.base
	return req
}

// messages returns the history as the messages of a request.
func (t *transcript) messages() []llm.Message {
	t.sent = len(t.history)
	return t.history[:t.sent:t.sent]
}

// grow returns list with capacity for another element. It doubles the capacity:
// append grows long lists by a quarter, which makes the steps of a long run slower.
func grow[T any](list []T) []T {
	if len(list) == cap(list) {
		return slices.Grow(list, max(len(list), 16))
	}
	return list
}

func (t *transcript) append(m llm.Message) {
	t.history = append(grow(t.history), m)
	if t.fresh != nil {
		t.fresh = append(t.fresh, m)
	}
}

// added returns the messages that the run added to its input.
func (t *transcript) added() []llm.Message {
	switch {
	case len(t.fresh) > 0:
		return t.fresh[:len(t.fresh):len(t.fresh)]
	case t.fresh == nil && len(t.history) > t.input:
		return t.history[t.input:len(t.history):len(t.history)]
	}
	return nil
}

// rewrite replaces the history.
func (t *transcript) rewrite(messages []llm.Message) {
	t.keepAdded()
	t.unsent = append(t.unsent, t.history[t.shown:]...)
	t.history = append([]llm.Message(nil), messages...)
	t.shown = len(t.history)
	t.ids.AddAll(messages)
}

// appendResponse appends the assistant message of a response. Providers reject an
// empty one in a history. The calls of a forced final answer are removed, because they
// get no results.
func (t *transcript) appendResponse(response *llm.Response, final bool) {
	m := response.Message()
	if final {
		m.Parts = slices.DeleteFunc(slices.Clone(m.Parts), func(p llm.Part) bool {
			c, ok := p.(llm.ToolCall)
			return ok && !c.ProviderExecuted
		})
	}
	if !conversation.IsEmpty(m.Parts) {
		t.append(m)
	}
}

// appendResults appends the results of a step in the order of its calls, except those
// of client-side calls. At least one call is not client-side.
func (t *transcript) appendResults(plans []*plannedCall, cfg *Config) {
	parts := t.parts.Take(len(plans))[:0]
	for _, p := range plans {
		if p.is(callClientSide) {
			continue
		}
		res := *p.result
		res.IsError = res.IsError && !cfg.OmitErrorFlag
		parts = append(parts, res)
	}
	parts = slices.Clip(parts)
	if !cfg.OneMessagePerResult {
		t.append(llm.Message{Role: llm.RoleTool, Parts: parts})
		return
	}
	for i := range parts {
		t.append(llm.Message{Role: llm.RoleTool, Parts: parts[i : i+1 : i+1]})
	}
}

// suspended returns the event of a run that waits for a decision from outside.
func (t *transcript) suspended() trace.Suspended {
	sum := xxhash.New()
	for i := range t.history {
		_, _ = sum.Write(t.history[i].AppendJSON(nil)) // never fails
	}
	ev := trace.Suspended{Digest: hex.EncodeToString(sum.Sum(nil))}
	for _, c := range conversation.Pending(t.history) {
		ev.Pending = append(ev.Pending, c.ID)
	}
	return ev
}

// track checks the messages of a request that a WrapModel hook may have replaced, and
// reports whether they are a rewrite. A request for the answer with other messages than
// the history is one, and so is the next one with the history. A retry with the same
// messages is none. In another step it is one even then, because the messages
// appended in between are not sent. It drops the ids of a response that was not accepted.
func (t *transcript) track(call *modelCall, middleware string) (rewritten bool, err error) {
	t.ids.Reset()
	list, answer := call.Request.Messages, call.Purpose == trace.PurposeAnswer
	own := conversation.Equal(list, t.history[:t.sent])
	if !own {
		if err := checkReplacement(middleware, list); err != nil {
			return false, err
		}
		t.ids.AddAll(list)
	}
	if !answer || own && t.override == nil || t.override != nil && t.overrideStep == call.Step && conversation.Equal(list, *t.override) {
		return false, nil
	}
	t.override = nil
	if !own {
		other := list // keeps list off the heap
		t.override, t.overrideStep = &other, call.Step
	}
	return true, nil
}

// checkReplacement checks messages of middleware. They are not repaired.
func checkReplacement(middleware string, messages []llm.Message) error {
	problem, fatal := conversation.Check(messages, false)
	if fatal != nil {
		problem = fatal
	}
	if problem == nil {
		return nil
	}
	return &MiddlewareError{middleware, fmt.Errorf("its messages cannot be sent: %w", historyError(problem))}
}

func historyError(p *conversation.Problem) *HistoryError {
	return &HistoryError{p.Message, p.Part, p.Text}
}

// stepLog is the list of the completed steps.
type stepLog struct {
	steps []*Step
	// snapshots are the steps as middleware and stop conditions get them: copies, one
	// for each step, so that a step costs no more for those before it.
	snapshots []*Step
	memory    slab.Slab[Step]
	marks     slab.Slab[mark]
	calls     slab.Slab[llm.ToolCall]
	values    *[]toolValue // of the started Run
}

func (l *stepLog) last() *Step {
	if len(l.steps) == 0 {
		return nil
	}
	return l.steps[len(l.steps)-1]
}

// add adds a step. shared says that code of the caller gets the steps.
func (l *stepLog) add(s Step, plans []*plannedCall, shared bool) *Step {
	step := l.memory.One()
	*step = s
	if plans != nil {
		step.marks = l.marks.Take(len(plans))
	}
	for i, p := range plans {
		step.marks[i] = p.mark()
		if p.value != nil {
			if step.values == nil {
				step.values = make([]any, len(plans))
			}
			step.values[i] = p.value
		}
		step.failed = step.failed || p.result.IsError && step.marks[i]&markCounts != 0
	}
	l.steps = append(grow(l.steps), step)
	if shared {
		l.snapshots = append(grow(l.snapshots), step.copy())
	}
	return step
}

// view returns the steps for middleware and stop conditions.
func (l *stepLog) view() []*Step {
	list := l.steps
	if l.snapshots != nil {
		list = l.snapshots
	}
	return list[:len(list):len(list)]
}

// copy returns a copy that shares only the content of messages and results.
func (s *Step) copy() *Step {
	out := *s
	out.Calls, out.Results, out.Messages, out.values = slices.Clone(s.Calls), slices.Clone(s.Results), slices.Clone(s.Messages), slices.Clone(s.values)
	return &out
}
