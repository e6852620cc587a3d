package conversation

import (
	"fmt"
	"slices"

	"github.com/looptape/looptape/llm"
)

// Repair repairs what [Check] calls repairable. Calls whose id is empty or belongs to an
// earlier call get a new one, and so do their results (quirk QO-08). The results of a
// response are put in the order of their calls, also if the last response has calls without
// results. Repair does not change messages. ids contains the ids of all calls.
func Repair(messages []llm.Message, ids *IDs) (out []llm.Message, warnings []string) {
	r := repairer{in: messages, out: slices.Clone(messages), ids: ids, seen: map[string]bool{}}
	for i, m := range messages {
		for j, p := range m.Parts {
			switch p := p.(type) {
			case llm.ToolCall:
				if !p.ProviderExecuted {
					r.call(i, j, p)
				}
			case llm.ToolResult:
				if m.Role == llm.RoleTool {
					r.result(i, j, p)
				}
			case llm.Text, llm.Reasoning, llm.Media, llm.Unknown:
			}
		}
	}
	if r.open.left > 0 {
		r.order()
	}
	return r.out, r.warnings
}

type repairer struct {
	in, out  []llm.Message
	ids      *IDs
	seen     map[string]bool
	open     pending // the calls of the response, by their original ids
	calls    []answeredCall
	warnings []string
}

// answeredCall is a call with its result. i and j are the position of the n-th result.
type answeredCall struct {
	id     string // the new id
	result llm.ToolResult
	i, j   int
}

func (r *repairer) call(i, j int, c llm.ToolCall) {
	if r.open.left == 0 {
		r.calls = r.calls[:0]
	}
	old := c.ID
	if old == "" || r.seen[old] {
		c.ID = r.ids.fresh()
		if !c.IDGenerated {
			c.IDGenerated, c.ProviderID = true, old
		}
		r.put(i, j, c)
		r.warn(i, j, fmt.Sprintf("the call id %q is empty or belongs to an earlier call: replaced by %s", old, c.ID))
	}
	r.seen[c.ID] = true
	r.open.call(old)
	r.calls = append(r.calls, answeredCall{id: c.ID})
}

func (r *repairer) result(i, j int, res llm.ToolResult) {
	n := len(r.calls) - r.open.left // r.calls[n] has the position of the n-th result
	r.calls[n].i, r.calls[n].j = i, j
	c := &r.calls[r.open.result(res.ID)]
	c.result = res
	c.result.ID = c.id
	if r.open.left == 0 {
		r.order()
	}
}

// order puts the results of a response in the order of their calls.
func (r *repairer) order() {
	n := -1
	for k, has := range r.open.has {
		if !has {
			continue
		}
		n++
		c, i, j := r.calls[k], r.calls[n].i, r.calls[n].j
		if was := r.in[i].Parts[j].(llm.ToolResult); was.ID != r.open.ids[k] {
			r.warn(i, j, fmt.Sprintf("the result %q is not in the order of the calls: replaced by the result of %s", was.ID, c.id))
		}
		r.put(i, j, c.result)
	}
}

// put replaces a part.
func (r *repairer) put(i, j int, p llm.Part) {
	m := &r.out[i]
	if &m.Parts[0] == &r.in[i].Parts[0] {
		m.Parts = slices.Clone(m.Parts)
	}
	m.Parts[j] = p
}

func (r *repairer) warn(i, j int, problem string) {
	r.warnings = append(r.warnings, fmt.Sprintf("Input.Messages[%d].Parts[%d]: %s", i, j, problem))
}
