package body

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/trace/importer/internal/message"
	"github.com/looptape/looptape/trace/importer/internal/tree"
)

// Unread returns what a response has and its codec does not keep: alternatives and, of Chat
// Completions, parts of a content of other kinds than text, calls of an unknown kind, calls in an
// unknown member, and a finish reason that is null outside of a stream. Of a stream it returns each only once.
func Unread(text []byte) (unread []string) {
	add := func(format string, args ...any) {
		if s := fmt.Sprintf(format, args...); !slices.Contains(unread, s) {
			unread = append(unread, s)
		}
	}
	n := 0
	read := func(data json.RawMessage) {
		if c, ok := readChoices(data); ok {
			n = max(n, c.n)
			unreadMessage(c, add)
		}
	}
	if jsonio.ValidSyntax(text) {
		if read(text); string(tree.Member(alternative(text), "finish_reason")) == "null" && tree.Member(alternative(text), "message") != nil {
			add("the finish reason of the response is null: it may not be complete")
		}
	} else if bytes.Contains(text, []byte(`"choices"`)) || bytes.Contains(text, []byte(`"candidates"`)) {
		next, _ := events(text)
		for ev, err := next(); err == nil; ev, err = next() {
			read(ev.Data)
		}
	}
	if n > 1 {
		unread = slices.Insert(unread, 0, fmt.Sprintf("the response has %d alternatives, and only the first is read", n))
	}
	return unread
}

// Alternatives returns the number of alternative responses in a body: the choices of Chat Completions or
// Completions, or the candidates of Gemini. Only the first is read.
func Alternatives(body json.RawMessage) int {
	c, _ := readChoices(body)
	return c.n
}

// choices are the alternatives in a body, or in the data of an event.
type choices struct {
	n       int             // the number of alternatives
	message json.RawMessage // of the first one
	isDelta bool            // whether it is of an event, which may have only a part of a call
}

// readChoices returns false if the data is not an object in JSON.
func readChoices(data json.RawMessage) (c choices, ok bool) {
	d := jsonio.NewDec(jsonio.View(data))
	for name := range d.Members() {
		if name != "choices" && name != "candidates" || d.Peek() != '[' {
			d.Skip()
			continue
		}
		for i := range d.Elements() {
			c.n = max(c.n, i+1)
			if d.Peek() != '{' {
				d.Skip()
				continue
			}
			for name := range d.Members() {
				switch {
				case name == "index":
					c.n = max(c.n, int(number(tree.Next(data, &d)))+1)
				case i == 0 && (name == "message" || name == "delta" && c.message == nil):
					c.message, c.isDelta = tree.Next(data, &d), name == "delta"
				default:
					d.Skip()
				}
			}
		}
	}
	return c, d.End() == nil
}

func unreadMessage(c choices, add func(format string, args ...any)) {
	content := func() string { return tree.String(tree.Member(c.message, "content")) }
	for name, value := range tree.Members(c.message) {
		switch {
		case message.IsTextMember(name, value, content):
			add("the message has text that is not read, as %q", name)
		case name == "content" && value[0] == '[':
			for _, part := range tree.Elements(value) {
				if kind := tree.Scalar(part, "type"); !slices.Contains([]string{"text", "thinking", "refusal"}, kind) {
					add("the content of the response has a part of the kind %q, which is not read", kind)
				} else if name := message.OtherText(part, kind); name != "" {
					add("the content of the response has a part with text that is not read, as %q", name)
				}
			}
		case name == "tool_calls":
			if value[0] != '[' && !tree.IsNull(value) {
				add("the calls of the response are not a list")
			}
			for _, call := range tree.Elements(value) {
				// With an object as data it is a call of the message; see [message.UnknownKind].
				kind := tree.Scalar(call, "type")
				isKnown := kind == "" || kind == "function" || kind == "custom"
				switch data := tree.Member(call, kind); {
				case !isKnown && (data == nil || data[0] != '{'):
					add("the response has a call of the unknown kind %q", kind)
				case isKnown && !c.isDelta && tree.Member(tree.First(call, "function", "custom"), "name") == nil:
					add("the response has a call without the name of a tool")
				}
			}
		case name != "function_call" && message.IsToolMember(name, value):
			add("the message has the unknown member %q", name)
		}
	}
}
