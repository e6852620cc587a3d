package loop

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
)

// checkHistory reports what no provider takes in a list of messages; one that is to be
// resumed ends with calls without results. odd is the first thing that can be mended,
// see mendHistory; nil if there is none.
func checkHistory(messages []llm.Message, resume bool) (odd *HistoryError, err error) {
	var open waiting
	var at int // the message with its calls
	seen := map[string]bool{}
	mendable := func(message, part int, problem string) {
		if odd == nil {
			odd = &HistoryError{message, part, problem}
		}
	}
	for i, m := range messages {
		if m.Role != llm.RoleTool && open.left > 0 {
			return nil, unanswered(at, &open)
		}
		if problem := ofMessage(m); problem != "" {
			return nil, &HistoryError{i, -1, problem}
		}
		ran := provided{parts: m.Parts}
		for j, p := range m.Parts {
			if problem := ofPart(m, p, &ran); problem != "" {
				return nil, &HistoryError{i, j, problem}
			}
			switch p := p.(type) {
			case llm.ToolCall:
				if p.ProviderExecuted {
					continue
				}
				if p.ID == "" || seen[p.ID] {
					mendable(i, j, fmt.Sprintf("the call has the id %q, which is none or an earlier call's; give it one of its own", p.ID))
				}
				open.call(p.ID)
				at, seen[p.ID] = i, true
			case llm.ToolResult:
				if m.Role == llm.RoleAssistant {
					continue // of a call that the provider ran itself
				}
				next := open.first
				k := open.result(p.ID)
				if k < 0 {
					return nil, &HistoryError{i, j, fmt.Sprintf("the result %q answers no call of the assistant turn before it, or one that is answered already; take it out", p.ID)}
				}
				if k > next && !resume { // mended once all results are there
					mendable(i, j, fmt.Sprintf("the result %q stands before that of an earlier call; put results in the order of their calls", p.ID))
				}
			case llm.Text, llm.Reasoning, llm.Media, llm.Unknown:
			}
		}
	}
	switch {
	case resume && open.left == 0:
		return nil, &HistoryError{len(messages) - 1, -1, "there is no call without a result to resume; leave Input.Resume out"}
	case resume && odd != nil:
		return nil, odd
	case !resume && open.left > 0:
		return nil, unanswered(at, &open)
	}
	return odd, nil
}

// checkOwnHistory is checkHistory for the messages of a policy, which mends them
// itself.
func checkOwnHistory(policy string, messages []llm.Message) error {
	odd, err := checkHistory(messages, false)
	if odd != nil {
		err = odd
	}
	if err != nil {
		return &MiddlewareError{policy, fmt.Errorf("its messages cannot be sent: %w", err)}
	}
	return nil
}

func unanswered(at int, open *waiting) error {
	return &HistoryError{at, -1, fmt.Sprintf("the call %q has no result directly after it; append a tool message with one result for each call", open.ids[open.first])}
}

// ofMessage says what is wrong with a message, its parts aside.
func ofMessage(m llm.Message) string {
	switch m.Role {
	case llm.RoleSystem, llm.RoleUser:
	case llm.RoleAssistant:
		if saysNothing(m.Parts) {
			return "an assistant turn that says nothing; take it out"
		}
	case llm.RoleTool:
		if len(m.Parts) == 0 {
			return "a tool message without a result; take it out"
		}
	default:
		return fmt.Sprintf("the role %q is none of system, user, assistant and tool", m.Role)
	}
	return ofOpaque(m.Opaque)
}

// saysNothing reports whether there is nothing but empty texts.
func saysNothing(parts []llm.Part) bool {
	for _, p := range parts {
		if t, ok := p.(llm.Text); !ok || t.Text != "" || t.Opaque != nil {
			return false
		}
	}
	return true
}

// ofPart says what is wrong with a part of a message, of which ran are the calls
// that the provider ran.
func ofPart(m llm.Message, p llm.Part, ran *provided) string {
	switch p := p.(type) {
	case nil:
		return "the part is nil; take it out"
	case llm.ToolCall:
		if m.Role != llm.RoleAssistant {
			return fmt.Sprintf("the call %q stands in a message of role %q; calls are an assistant's", p.ID, m.Role)
		}
		return ofOpaque(p.Opaque)
	case llm.Reasoning:
		if m.Role != llm.RoleAssistant {
			return fmt.Sprintf("reasoning stands in a message of role %q; it is an assistant's", m.Role)
		}
		return ofOpaque(p.Opaque)
	case llm.ToolResult:
		switch {
		case m.Role == llm.RoleAssistant && !ran.has(p.ID):
			return fmt.Sprintf("the result %q is of no call that the provider ran in this turn; put it into a tool message", p.ID)
		case m.Role != llm.RoleTool && m.Role != llm.RoleAssistant:
			return fmt.Sprintf("the result %q stands in a message of role %q; put it into a tool message", p.ID, m.Role)
		case slices.ContainsFunc(p.Content, isNil):
			return fmt.Sprintf("the result %q has a part that is nil; take it out", p.ID)
		}
		return ofOpaque(p.Opaque)
	case llm.Text:
		return cmp.Or(ofOther(m), ofOpaque(p.Opaque))
	case llm.Media:
		return cmp.Or(ofOther(m), ofOpaque(p.Opaque))
	case llm.Unknown:
		return cmp.Or(ofOther(m), ofOpaque(p.Raw))
	}
	return ""
}

func isNil(p llm.Part) bool { return p == nil }

// ofOther is ofPart for what is neither a call nor a result.
func ofOther(m llm.Message) string {
	if m.Role == llm.RoleTool {
		return "a tool message has results alone; put what else there is to say into a message of its own"
	}
	return ""
}

func ofOpaque(raw json.RawMessage) string {
	if raw != nil && !jsonio.Valid(raw) {
		return "its opaque data is not JSON"
	}
	return ""
}

// WarnHistory is the code of the warning that something in a history was mended.
const WarnHistory = "history"

// mendHistory mends what checkHistory calls odd: calls whose id is empty or an
// earlier call's get one of their own, and their results with them (quirk QO-08),
// and the results of a turn are put in the order of their calls. The messages that
// were handed in stay as they are. ids has all of their ids.
func mendHistory(messages []llm.Message, ids *idSet) (out []llm.Message, warnings []llm.Warning) {
	h := mender{in: messages, out: slices.Clone(messages), ids: ids, seen: map[string]bool{}}
	for i, m := range messages {
		for j, p := range m.Parts {
			switch p := p.(type) {
			case llm.ToolCall:
				if !p.ProviderExecuted {
					h.call(i, j, p)
				}
			case llm.ToolResult:
				if m.Role == llm.RoleTool {
					h.result(i, j, p)
				}
			case llm.Text, llm.Reasoning, llm.Media, llm.Unknown:
			}
		}
	}
	return h.out, h.warnings
}

// mender mends a history, turn by turn.
type mender struct {
	in, out  []llm.Message
	ids      *idSet
	seen     map[string]bool
	open     waiting // the calls of the turn, by the ids that they had
	calls    []answered
	warnings []llm.Warning
}

// answered is a call with the place where a result stands, and the result.
type answered struct {
	id     string // that it has now
	result llm.ToolResult
	i, j   int // the n-th of them has the place of the n-th result
}

func (h *mender) call(i, j int, c llm.ToolCall) {
	if h.open.left == 0 {
		h.calls = h.calls[:0]
	}
	old := c.ID
	if old == "" || h.seen[old] {
		c.ID = h.ids.fresh()
		if !c.IDGenerated {
			c.IDGenerated, c.ProviderID = true, old
		}
		h.put(i, j, c)
		h.warn(i, j, fmt.Sprintf("the id %q of the call is none or an earlier call's; it is %s here", old, c.ID))
	}
	h.seen[c.ID] = true
	h.open.call(old)
	h.calls = append(h.calls, answered{id: c.ID})
}

func (h *mender) result(i, j int, r llm.ToolResult) {
	n := len(h.calls) - h.open.left
	h.calls[n].i, h.calls[n].j = i, j
	c := &h.calls[h.open.result(r.ID)]
	c.result = r
	c.result.ID = c.id
	if h.open.left > 0 {
		return
	}
	for n, c := range h.calls {
		if was := h.in[c.i].Parts[c.j].(llm.ToolResult); was.ID != h.open.ids[n] {
			h.warn(c.i, c.j, fmt.Sprintf("the result %q stands out of the order of the calls; that of %s is here", was.ID, c.id))
		}
		h.put(c.i, c.j, c.result)
	}
}

// put puts a part in the place of another.
func (h *mender) put(i, j int, p llm.Part) {
	m := &h.out[i]
	if &m.Parts[0] == &h.in[i].Parts[0] {
		m.Parts = slices.Clone(m.Parts)
	}
	m.Parts[j] = p
}

func (h *mender) warn(i, j int, problem string) {
	h.warnings = append(h.warnings, llm.Warning{Code: WarnHistory, Message: fmt.Sprintf("Input.Messages[%d].Parts[%d]: %s", i, j, problem)})
}

// begins makes the messages of the Input the history of the run.
func (r *run) begins(odd *HistoryError) {
	n := len(r.in.Messages)
	r.history = r.in.Messages[:n:n]
	r.ids = newIDSet(r.history)
	if odd != nil {
		var warnings []llm.Warning
		r.history, warnings = mendHistory(r.history, &r.ids)
		r.warn(trace.NoStep, warnings)
	}
}
