package conversation

import "github.com/looptape/looptape/llm"

// few is the largest number of ids that are searched one by one. More ids get an index:
// a response may have any number of calls.
const few = 32

// pending is the calls of a response, in order, and which of them have results.
type pending struct {
	ids   []string
	has   []bool
	first int              // the first call without a result
	left  int              // calls without a result
	index map[string][]int // calls without results by id, if there are many
}

// call adds a call. If no call is open, it begins another response.
func (p *pending) call(id string) {
	if p.left == 0 {
		*p = pending{ids: p.ids[:0], has: p.has[:0]}
	}
	p.ids, p.has = append(p.ids, id), append(p.has, false)
	p.left++
}

// result marks the first open call with this id as answered and returns its index, or
// -1.
func (p *pending) result(id string) int {
	k := p.find(id)
	if k < 0 {
		return -1
	}
	p.has[k] = true
	p.left--
	for p.left > 0 && p.has[p.first] {
		p.first++
	}
	return k
}

func (p *pending) find(id string) int {
	if len(p.ids) <= few {
		for k := p.first; k < len(p.ids); k++ {
			if !p.has[k] && p.ids[k] == id {
				return k
			}
		}
		return -1
	}
	if p.index == nil {
		p.index = make(map[string][]int, len(p.ids))
		for k, id := range p.ids {
			p.index[id] = append(p.index[id], k)
		}
	}
	at := p.index[id]
	if len(at) == 0 {
		return -1
	}
	p.index[id] = at[1:]
	return at[0]
}

// executedCalls is the set of the calls of a message that the provider executed.
type executedCalls struct {
	parts []llm.Part
	ids   map[string]bool // nil until has is called
}

// has reports whether the provider executed the call with this id.
func (x *executedCalls) has(id string) bool {
	if x.ids == nil {
		x.ids = map[string]bool{}
		for _, p := range x.parts {
			if c, ok := p.(llm.ToolCall); ok && c.ProviderExecuted {
				x.ids[c.ID] = true
			}
		}
	}
	return x.ids[id]
}

// Pending returns the calls of the last response that have no results.
func Pending(messages []llm.Message) []llm.ToolCall {
	n := len(messages) - 1
	for n >= 0 && messages[n].Role == llm.RoleTool {
		n--
	}
	if n < 0 || messages[n].Role != llm.RoleAssistant {
		return nil
	}
	calls := messages[n].Calls()
	var open pending
	for _, c := range calls {
		open.call(c.ID)
	}
	for _, m := range messages[n+1:] {
		for _, p := range m.Parts {
			if res, ok := p.(llm.ToolResult); ok {
				open.result(res.ID)
			}
		}
	}
	var left []llm.ToolCall
	for k, c := range calls {
		if !open.has[k] {
			left = append(left, c)
		}
	}
	return left
}
