package body

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/internal/sse"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/importer/internal/tree"
)

// Stream reads the body of a streaming response: server-sent events, or the data of one event per
// line.
func Stream(text []byte) (*llm.Response, error) {
	next, first := events(text)
	p := ofEvent(first)
	if p == nil {
		return nil, errors.New("the events of the stream are of no known protocol")
	}
	if p.response != nil {
		return p.Read(text)
	}
	var acc llm.Accumulator
	emit := func(ev llm.Event) { acc.Add(ev) }
	dec := p.NewDecoder()
	for n := 1; ; n++ {
		ev, err := next()
		if errors.Is(err, io.EOF) {
			break
		}
		var done bool
		if err == nil {
			done, err = dec.Event(ev.Name, ev.Data, emit)
		}
		if err != nil {
			return p.withIDs(acc.Response()), fmt.Errorf("event %d of the stream: %w", n, err)
		}
		if done {
			break
		}
	}
	err := dec.End(emit)
	r := p.withIDs(acc.Response())
	return r, cmp.Or(err, CheckMessage(p, text, r))
}

// events returns a function that returns the next event of a stream, and the data of its first
// event.
func events(text []byte) (next func() (sse.Event, error), first json.RawMessage) {
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
		lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
		return func() (ev sse.Event, err error) {
			if len(lines) == 0 {
				return ev, io.EOF
			}
			ev.Data = bytes.TrimSpace(lines[0])
			ev.Name = tree.Scalar(ev.Data, "type")
			lines = lines[1:]
			return ev, nil
		}, bytes.TrimSpace(lines[0])
	}
	reader := func() *sse.Reader { return sse.NewReader(bytes.NewReader(text), len(text)+1) }
	for r := reader(); first == nil; {
		ev, err := r.Next()
		if err != nil {
			break
		}
		if jsonio.ValidSyntax(ev.Data) {
			first = bytes.Clone(ev.Data)
		}
	}
	return reader().Next, first
}

// eventData yields the data of the events of a stream that are JSON. They stay until the next one.
func eventData(text []byte) iter.Seq[json.RawMessage] {
	return func(yield func(json.RawMessage) bool) {
		next, _ := events(text)
		for ev, err := next(); err == nil; ev, err = next() {
			if jsonio.ValidSyntax(ev.Data) && !yield(ev.Data) {
				return
			}
		}
	}
}

// Usage returns the usage of a response as its provider states it; nil if it states none. Of a stream
// it has the last value of each count.
func Usage(text []byte) json.RawMessage {
	if jsonio.ValidSyntax(text) {
		return usageOf(text)
	}
	if !bytes.Contains(text, []byte("usage")) { // a search for the quote, which is frequent, takes much longer
		return nil
	}
	counts := map[string]json.RawMessage{}
	var names []string
	for data := range eventData(text) {
		for name, value := range tree.Members(usageOf(data)) {
			if counts[name] == nil {
				names = append(names, strings.Clone(name))
			}
			if !tree.IsNull(value) || counts[name] == nil {
				counts[strings.Clone(name)] = bytes.Clone(value)
			}
		}
	}
	var all tree.Object
	for _, name := range names {
		all.Add(name, counts[name])
	}
	return all.JSON()
}

// Other returns the members of a response without the content of its message and without its usage; nil
// if there are none. Of a stream it returns the citations of Cohere.
func Other(text []byte) json.RawMessage {
	if !jsonio.ValidSyntax(text) {
		return citations(text)
	}
	var rest tree.Object
	for name, value := range tree.Members(text) {
		switch {
		case slices.Contains([]string{"content", "usage", "usageMetadata"}, name), name == "output" && value[0] == '[':
		case name == "choices", name == "candidates":
			var list tree.List
			for _, one := range tree.Elements(value) {
				if one = tree.Without(one, "message", "content"); one != nil {
					list.Add(one)
				}
			}
			rest.Add(name, list.JSON())
		case name == "message":
			rest.Add(name, tree.Without(value, "role", "content", "tool_calls"))
		case name == "output":
			rest.Add(name, tree.Without(value, "message"))
			rest.Add("message", tree.Without(tree.Member(value, "message"), "role", "content"))
		default:
			rest.Add(name, value)
		}
	}
	return rest.JSON()
}

// citations returns the citations of a stream of Cohere; nil if there are none.
func citations(text []byte) json.RawMessage {
	if !bytes.Contains(text, []byte(`-start"`)) { // of the type of their events
		return nil
	}
	var list tree.List
	for data := range eventData(text) {
		if tree.Scalar(data, "type") == "citation-start" {
			list.Add(tree.Member(data, "delta", "message", "citations"))
		}
	}
	if list == nil {
		return nil
	}
	var message, all tree.Object
	message.Add("citations", list.JSON())
	all.Add("message", message.JSON())
	return all.JSON()
}

// usageOf returns the usage in a body or in the data of an event.
func usageOf(data json.RawMessage) json.RawMessage {
	for _, outer := range []json.RawMessage{data, tree.Member(data, "response"), tree.Member(data, "message"), tree.Member(data, "delta"), tree.Member(data, "x_groq"), tree.Member(data, "metadata")} {
		if usage := tree.First(outer, "usage", "usageMetadata"); !tree.IsNull(usage) {
			return usage
		}
	}
	return nil
}
