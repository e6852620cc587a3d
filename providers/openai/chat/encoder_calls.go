package chat

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/codec"
)

type sentCall struct {
	index         int // as the events have it
	place         int // as the wire has it
	id            string
	named, closed bool
	member, input string // the names of what is called and of its arguments
	args          []byte // that were written
}

type callChunk struct {
	first      bool
	name, args string
	opaque     json.RawMessage
}

func (e *encoder) callChunk(c *sentCall, chunk callChunk) {
	w := &e.w
	e.delta()
	w.Raw("tool_calls", "[{")
	w.Int("index", int64(c.place))
	if chunk.first && c.id != "" {
		w.Text("id", c.id)
	}
	if chunk.first {
		w.Text("type", c.member)
	}
	if chunk.first || chunk.name != "" || chunk.args != "" {
		w.Raw(c.member, "{")
		if chunk.name != "" {
			w.Text("name", chunk.name)
		}
		if chunk.first || chunk.args != "" {
			w.Text(c.input, chunk.args)
		}
		w.Close("}")
	}
	w.own(chunk.opaque, "index", "id", "type", c.member)
	w.Close("}]")
	e.send(llm.Finish{})
	c.args = append(c.args, chunk.args...)
}

// start begins a call, or names the open call without a name, like [llm.Accumulator].
func (e *encoder) start(ev llm.ToolCallStart) {
	e.begin(false)
	for _, c := range e.calls {
		if ev.Index != 0 && c.index == ev.Index && !c.closed && !c.named && ev.Name != "" {
			c.named = true
			e.callChunk(c, callChunk{name: ev.Name, opaque: ev.Opaque})
			return
		}
	}
	c := e.newCall(ev.Index, ev.ID, ev.Name, ev.Opaque)
	e.callChunk(c, callChunk{first: true, name: ev.Name, opaque: ev.Opaque})
}

func (e *encoder) newCall(index int, id, name string, opaque json.RawMessage) *sentCall {
	c := &sentCall{index: index, place: len(e.calls), id: id, named: name != ""}
	c.member, c.input = callMembers(opaque)
	e.calls = append(e.calls, c)
	return c
}

func (e *encoder) whole(p llm.ToolCall) {
	e.begin(false)
	c := e.newCall(0, p.ID, p.Name, p.Opaque)
	c.closed = true
	e.callChunk(c, callChunk{first: true, name: p.Name, args: p.Arguments, opaque: p.Opaque})
}

// endCall writes the remaining arguments and the opaque data of a call. The protocol does not
// end single calls.
func (e *encoder) endCall(ev llm.ToolCallEnd) error {
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
		e.callChunk(c, callChunk{args: rest, opaque: ev.Opaque})
	}
	return nil
}

func (e *encoder) find(index int, id string, last bool) *sentCall {
	info := func(c *sentCall) (int, string, bool) { return c.index, c.id, !c.closed }
	if i := codec.FindCall(e.calls, info, index, id, last); i >= 0 {
		return e.calls[i]
	}
	return nil
}
