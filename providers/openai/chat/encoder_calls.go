package chat

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/wirejson"
)

// sentCall is a call in the stream.
type sentCall struct {
	index         int // as the events have it
	place         int // as the wire has it
	id            string
	named, closed bool
	member, input string // the names of what is called and of its arguments
	args          []byte // that were written
}

// callChunk contains what a chunk writes about a call.
type callChunk struct {
	first      bool
	name, args string
	opaque     json.RawMessage
}

func (e *encoder) callChunk(c *sentCall, say callChunk, write writeEvent) {
	w := &e.w
	e.delta()
	w.raw("tool_calls", "[{")
	w.number("index", int64(c.place))
	if say.first && c.id != "" {
		w.text("id", c.id)
	}
	if say.first {
		w.text("type", c.member)
	}
	if say.first || say.name != "" || say.args != "" {
		w.raw(c.member, "{")
		if say.name != "" {
			w.text("name", say.name)
		}
		if say.first || say.args != "" {
			w.text(c.input, say.args)
		}
		w.buf = append(w.buf, '}')
	}
	w.buf = append(w.appendOwn(say.opaque, "index", "id", "type", c.member), '}', ']')
	e.send(llm.Finish{}, write)
	c.args = append(c.args, say.args...)
}

// start begins a call, or names the open call without a name, like [llm.Accumulator].
func (e *encoder) start(ev llm.ToolCallStart, write writeEvent) {
	e.begin(false, write)
	for i := range e.calls {
		c := &e.calls[i]
		if ev.Index != 0 && c.index == ev.Index && !c.closed && !c.named && ev.Name != "" {
			c.named = true
			e.callChunk(c, callChunk{name: ev.Name, opaque: ev.Opaque}, write)
			return
		}
	}
	c := e.newCall(ev.Index, ev.ID, ev.Name, ev.Opaque)
	e.callChunk(c, callChunk{first: true, name: ev.Name, opaque: ev.Opaque}, write)
}

func (e *encoder) newCall(index int, id, name string, opaque json.RawMessage) *sentCall {
	c := sentCall{index: index, place: len(e.calls), id: id, named: name != "", member: "function", input: "arguments"}
	if wirejson.GetString(opaque, "type") == "custom" {
		c.member, c.input = "custom", "input"
	}
	e.calls = append(e.calls, c)
	return &e.calls[len(e.calls)-1]
}

// whole writes a call in one chunk.
func (e *encoder) whole(p llm.ToolCall, write writeEvent) {
	e.begin(false, write)
	c := e.newCall(0, p.ID, p.Name, p.Opaque)
	c.closed = true
	e.callChunk(c, callChunk{first: true, name: p.Name, args: p.Arguments, opaque: p.Opaque}, write)
}

// endCall writes the remaining arguments and the opaque data of a call. The protocol does not
// end single calls.
func (e *encoder) endCall(ev llm.ToolCallEnd, write writeEvent) error {
	c := e.find(ev.Index, ev.ID, false)
	if c == nil {
		return nil
	}
	c.closed = true
	rest := ""
	if ev.Arguments != "" {
		var ok bool
		if rest, ok = strings.CutPrefix(ev.Arguments, string(c.args)); !ok {
			return fmt.Errorf("the end of the call %s has other arguments than its deltas", c.id)
		}
	}
	if rest != "" || ev.Opaque != nil {
		e.callChunk(c, callChunk{args: rest, opaque: ev.Opaque}, write)
	}
	return nil
}

// find returns the open call of an event, like [llm.Accumulator]: by index, else by id, else
// the last or the first open one.
func (e *encoder) find(index int, id string, last bool) *sentCall {
	var byID, fallback *sentCall
	for i := len(e.calls) - 1; i >= 0; i-- {
		c := &e.calls[i]
		if c.closed {
			continue
		}
		if index != 0 && c.index == index {
			return c
		}
		if byID == nil && id != "" && c.id == id {
			byID = c
		}
		if !last || fallback == nil {
			fallback = c
		}
	}
	if byID != nil {
		return byID
	}
	return fallback
}
