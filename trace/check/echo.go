package check

import (
	"slices"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/check/internal/echo"
)

// response is the run's last complete response, as the history must have it.
type response struct {
	llm.Message
	sent   bool // the history must have the message: an empty one is not sent
	opaque bool // it has opaque data
}

// keep takes a response. The calls of a forced final one are dropped.
func (r *run) keep(m llm.Message) {
	if r.control.forced == forceRequested {
		m.Parts = slices.DeleteFunc(slices.Clone(m.Parts), func(p llm.Part) bool {
			c, ok := p.(llm.ToolCall)
			return ok && !c.ProviderExecuted
		})
	}
	r.answer.response = response{m, !empty(m), echo.HasOpaque(m)}
}

// echo compares the assistant message among new ones that repeats the response with it. It
// reports whether the calls are the same; lost reports a missing one.
func (r *run) echo(messages []llm.Message) (same bool) {
	response := &r.answer.response
	if !response.sent {
		return true
	}
	was := echo.ContentOf(response.Parts)
	m, is := lastLike(messages, was)
	if m == nil {
		return true
	}
	found, wrong := echo.RepeatedCalls(response.Parts, m.Parts)
	if is.Calls != found && !r.batch.reused && r.foreignCall(m.Parts) {
		return false
	}
	if found < was.Calls {
		return true
	}
	if response.opaque {
		if lost := echo.OpaqueChange(&response.Message, m, was.Text == is.Text); lost.Kind != echo.Same {
			r.report(invOpaqueEcho, "the response is sent back with %s", lost)
		}
	}
	if change := was.Change(is, response.Parts, m.Parts); change != "" {
		wrong = change
	}
	if wrong != "" {
		// INV-05 is about a growing history; a change of it is a rewrite, which has an event.
		r.reportLater(invAppendOnly, "the response is sent back with %s, without a rewrite event", wrong)
	}
	return true
}

// lastLike returns the last assistant message with this content, or else the last one; nil if
// there is none. There may be others: middleware may respond before the run's first request,
// after the messages of the input, or add messages after a response.
func lastLike(messages []llm.Message, was echo.Content) (last *llm.Message, is echo.Content) {
	for i := len(messages) - 1; i >= 0 && (last == nil || is != was); i-- {
		m := &messages[i]
		if m.Role != llm.RoleAssistant {
			continue
		}
		if c := echo.ContentOf(m.Parts); last == nil || c == was {
			last, is = m, c
		}
	}
	return last, is
}

func (r *run) foreignCall(parts []llm.Part) bool {
	for _, p := range parts {
		c, ok := p.(llm.ToolCall)
		if ok && !c.ProviderExecuted && r.known(c.ID) == nil {
			r.report(invPairing, "the response is sent back with the call %q, which the model did not make", c.ID)
			return true
		}
	}
	return false
}

// Follow checks the messages that a client sent after a response: the response comes back
// first, with its calls (INV-01), its text and their ids, names and arguments (INV-05) and its opaque data in the
// same places (INV-22). [Messages] checks the rest of next. The Event of a violation is at,
// the index of next[0] among the messages of the request. Follow is independent of the
// messages of the list.
func (l *List) Follow(at int, response llm.Message, next []llm.Message) []Violation {
	var found []Violation
	s := &sink{run: l.Run, event: at, found: &found, protocol: &l.Protocol}
	if empty(response) {
		return nil // an empty message is not sent
	}
	if len(next) == 0 || next[0].Role != llm.RoleAssistant {
		s.reportFault(faultMissing, "the response is missing, which has %s", echo.Describe(response))
		return found
	}
	repeated := next[0]
	was, is := echo.ContentOf(response.Parts), echo.ContentOf(repeated.Parts)
	kept, wrong := echo.RepeatedCalls(response.Parts, repeated.Parts)
	renamed := echo.RenamedCall(response.Parts, repeated.Parts)
	switch {
	case renamed != "":
		s.reportFault(faultRebuilt, "the response is sent back with another id of the call %q", renamed)
		return found
	case kept < was.Calls:
		s.reportFault(faultDroppedCall, "the response is sent back with %d of its %d calls", kept, was.Calls)
		return found
	case is.Calls > was.Calls:
		s.reportFault(faultAddedCall, "the response is sent back with %d calls, but the model made %d", is.Calls, was.Calls)
		return found
	case echo.HasOpaque(response):
		if lost := echo.OpaqueChange(&response, &repeated, was.Text == is.Text); lost.Kind != echo.Same {
			s.reportFault(l.opaqueFault(lost), "the response is sent back with %s", lost)
			return found
		}
	}
	if is.Reasoning = was.Reasoning; wrong == "" {
		wrong = was.Change(is, response.Parts, repeated.Parts)
	}
	if wrong != "" {
		s.reportFault(faultRebuilt, "the response is sent back with %s", wrong)
	}
	return found
}

// opaqueFault returns the fault of a difference in opaque data.
func (l *List) opaqueFault(d echo.Difference) *Fault {
	_, isReasoning := d.Part.(llm.Reasoning)
	switch {
	case d.Kind == echo.Changed:
		return faultChanged
	case d.Kind == echo.Moved && isReasoning:
		return faultMoved
	case d.Kind == echo.Omitted && d.Part != nil && l.Required != nil && l.Required(d.Part):
		return faultRequired
	}
	return faultOmitted
}
