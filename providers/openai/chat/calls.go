package chat

import (
	"encoding/json"

	"github.com/looptape/looptape/llm"
)

type callList struct {
	list    []callInfo
	started int // how many are announced: the first ones
	// at is the position of the last call with an index and an id. An empty id means any id,
	// and -1 means any index.
	at map[callKey]int
}

type callKey struct {
	index int
	id    string
}

// callInfo is a call. Its number in events is its position, from 1.
type callInfo struct {
	index  int // as the wire has it; -1 if it does not
	id     string
	named  bool
	held   []byte // the arguments that came before it was announced
	opaque json.RawMessage
	late   bool // opaque is not announced
}

func (c *callList) begin(index int) {
	n := len(c.list)
	c.list = append(c.list, callInfo{index: index})
	c.mark(n)
}

func (c *callList) identify(n int, id string) {
	c.list[n].id = id
	c.mark(n)
}

func (c *callList) mark(n int) {
	if c.at == nil {
		c.at = map[callKey]int{}
	}
	of := &c.list[n]
	c.at[callKey{of.index, of.id}], c.at[callKey{-1, of.id}] = n, n
}

// call handles the delta of a call. The decoder emits the start of a call when its id or name
// is known.
func (d *decoder) call(e *callDelta, emit func(llm.Event)) {
	n := d.find(e)
	if n < 0 {
		if e.id == "" && e.name == "" && e.args == "" {
			return
		}
		n = len(d.calls.list)
		d.endReasoning(emit)
		d.reasonForCall(emit)
		d.calls.begin(e.index)
	}
	c := &d.calls.list[n]
	if e.opaque != nil {
		c.opaque, c.late = e.opaque, true
	}
	if c.id == "" && e.id != "" {
		d.calls.identify(n, e.id)
	}
	switch started := n < d.calls.started; {
	case !started && (e.id != "" || e.name != ""):
		d.startUntil(n, emit)
		d.start(e.name, emit)
	case started && !c.named && e.name != "":
		c.named = true
		emit(llm.ToolCallStart{Index: n + 1, Name: e.name})
	}
	switch {
	case e.args == "":
	case n < d.calls.started:
		emit(llm.ToolCallDelta{Index: n + 1, Arguments: e.args})
	default:
		c.held = append(c.held, e.args...)
	}
}

// find returns the position of the call that a delta continues, or -1 if it begins one. In a
// non-streaming response, each begins one (quirk QO-09).
//
// The call has the index and the id of the delta, if there is one (quirk QO-04). Otherwise it
// is the last call with the index, unless the id or the name differ. A delta with only an index
// always continues that call.
func (d *decoder) find(e *callDelta) int {
	if d.reasoning.nonStreaming {
		return -1
	}
	if n, known := d.calls.at[callKey{e.index, e.id}]; known && e.id != "" {
		return n
	}
	n, some := d.calls.at[callKey{index: e.index}]
	if !some {
		return -1
	}
	switch c := &d.calls.list[n]; {
	case e.id == "" && e.index >= 0:
		return n
	case e.id != "" && c.id != "", c.named && e.name != "":
		return -1
	}
	return n
}

// startUntil emits the missing starts of the first n calls, so that all stay in order.
func (d *decoder) startUntil(n int, emit func(llm.Event)) {
	for d.calls.started < n {
		d.start("", emit)
	}
}

func (d *decoder) start(name string, emit func(llm.Event)) {
	c := &d.calls.list[d.calls.started]
	d.calls.started++
	c.named, c.late = name != "", false
	emit(llm.ToolCallStart{Index: d.calls.started, ID: c.id, Name: name, Opaque: c.opaque})
	if c.held != nil {
		emit(llm.ToolCallDelta{Index: d.calls.started, Arguments: string(c.held)})
	}
}

func (d *decoder) endCalls(emit func(llm.Event)) {
	d.startUntil(len(d.calls.list), emit)
	for i := range d.calls.list {
		ev := llm.ToolCallEnd{Index: i + 1}
		if c := &d.calls.list[i]; c.late {
			ev.Opaque = c.opaque
		}
		emit(ev)
	}
}
