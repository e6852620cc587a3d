package loop

import (
	"slices"

	"github.com/looptape/looptape/llm"
)

// few is how many ids are looked through one by one. More are found by an index: a
// turn may have any number of calls.
const few = 32

// waiting is the calls of a turn, in order, and which of them have their results.
type waiting struct {
	ids   []string
	has   []bool
	first int              // the first without; before it, all have theirs
	left  int              // how many are without
	index map[string][]int // the places of those without, when there are many
}

// call adds a call; where none is without a result, it begins another turn.
func (w *waiting) call(id string) {
	if w.left == 0 {
		*w = waiting{ids: w.ids[:0], has: w.has[:0]}
	}
	w.ids, w.has = append(w.ids, id), append(w.has, false)
	w.left++
}

// result gives the first call of an id its result that has none, and returns its
// place; -1 if there is no such call.
func (w *waiting) result(id string) int {
	k := w.find(id)
	if k < 0 {
		return -1
	}
	w.has[k] = true
	w.left--
	for w.left > 0 && w.has[w.first] {
		w.first++
	}
	return k
}

func (w *waiting) find(id string) int {
	if len(w.ids) <= few {
		for k := w.first; k < len(w.ids); k++ {
			if !w.has[k] && w.ids[k] == id {
				return k
			}
		}
		return -1
	}
	if w.index == nil {
		w.index = make(map[string][]int, len(w.ids))
		for k, id := range w.ids {
			w.index[id] = append(w.index[id], k)
		}
	}
	at := w.index[id]
	if len(at) == 0 {
		return -1
	}
	w.index[id] = at[1:]
	return at[0]
}

// provided is the calls of a message that the provider ran itself, once they were
// asked for.
type provided struct {
	parts []llm.Part
	known bool
	ids   []string
	index map[string]bool // when there are many
}

// has reports whether the provider made and ran the call of this id.
func (x *provided) has(id string) bool {
	if !x.known {
		x.find()
	}
	if x.index != nil {
		return x.index[id]
	}
	return slices.Contains(x.ids, id)
}

func (x *provided) find() {
	x.known = true
	for _, p := range x.parts {
		if c, ok := p.(llm.ToolCall); ok && c.ProviderExecuted {
			x.ids = append(x.ids, c.ID)
		}
	}
	if len(x.ids) <= few {
		return
	}
	x.index = make(map[string]bool, len(x.ids))
	for _, id := range x.ids {
		x.index[id] = true
	}
}
