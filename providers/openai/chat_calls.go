package openai

import (
	"encoding/json"

	"github.com/looptape/looptape/llm"
)

// chatCall is a call that a stream has told of. Its number, from 1, is its place
// among them.
type chatCall struct {
	index   int // as the wire has it; -1 if it does not
	id      string
	named   bool
	started bool   // announced
	held    string // the arguments that came before that
	opaque  json.RawMessage
	late    bool // opaque is not announced
}

// call takes what a delta says of a call. A call is announced when its id or its
// name is known.
func (d *chatDecoder) call(e *callDelta, emit func(llm.Event)) {
	n := d.find(e)
	if n < 0 {
		if e.id == "" && e.name == "" && e.args == "" {
			return
		}
		n = len(d.calls)
		d.endReasoning(emit)
		d.reasonForCall(emit)
		d.calls = append(d.calls, chatCall{index: e.index})
	}
	c := &d.calls[n]
	if e.opaque != nil {
		c.opaque, c.late = e.opaque, true
	}
	if c.id == "" {
		c.id = e.id
	}
	switch {
	case !c.started && (e.id != "" || e.name != ""):
		d.startUntil(n, emit)
		d.start(n, e.name, emit)
	case !c.named && e.name != "":
		c.named = true
		emit(llm.ToolCallStart{Index: n + 1, Name: e.name})
	}
	switch {
	case e.args == "":
	case c.started:
		emit(llm.ToolCallDelta{Index: n + 1, Args: e.args})
	default:
		c.held += e.args
	}
}

// find returns the number of the call that a delta goes on with, less 1, or -1 if
// it begins one. In an answer that is whole, each begins one (quirk QO-09).
//
// With an index it is the call of that index and id; without an id the last one of
// that index, and with an id also one that has none yet. Without an index it is the
// call of the id (quirk QO-04), and with neither the last one, unless that has a
// name and another is told.
func (d *chatDecoder) find(e *callDelta) int {
	if d.reasoning.whole {
		return -1
	}
	for i := len(d.calls) - 1; i >= 0; i-- {
		switch c := &d.calls[i]; {
		case e.index >= 0 && c.index != e.index:
		case e.id != "":
			if c.id == e.id || c.id == "" && !(c.named && e.name != "") {
				return i
			}
		case e.index >= 0 || e.name == "" || !c.named:
			return i
		default:
			return -1
		}
	}
	return -1
}

// startUntil announces the first n calls, if they are not, so that all stay in
// order.
func (d *chatDecoder) startUntil(n int, emit func(llm.Event)) {
	for i := range d.calls[:n] {
		if !d.calls[i].started {
			d.start(i, "", emit)
		}
	}
}

func (d *chatDecoder) start(n int, name string, emit func(llm.Event)) {
	c := &d.calls[n]
	c.started, c.named, c.late = true, name != "", false
	emit(llm.ToolCallStart{Index: n + 1, ID: c.id, Name: name, Opaque: c.opaque})
	if c.held != "" {
		emit(llm.ToolCallDelta{Index: n + 1, Args: c.held})
	}
}

// endCalls ends the calls in order.
func (d *chatDecoder) endCalls(emit func(llm.Event)) {
	d.startUntil(len(d.calls), emit)
	for i := range d.calls {
		ev := llm.ToolCallEnd{Index: i + 1}
		if c := &d.calls[i]; c.late {
			ev.Opaque = c.opaque
		}
		emit(ev)
	}
}
