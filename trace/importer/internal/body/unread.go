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
// Completions, parts of a content of other kinds than text, calls of an unknown kind, and calls in an
// unknown member. Of a stream it returns each only once.
func Unread(text []byte) (unread []string) {
	add := func(format string, args ...any) {
		if s := fmt.Sprintf(format, args...); !slices.Contains(unread, s) {
			unread = append(unread, s)
		}
	}
	n := 0
	read := func(data json.RawMessage) {
		if count, m, ok := alternatives(data); ok {
			n = max(n, count)
			unreadMessage(m, add)
		}
	}
	if jsonio.ValidSyntax(text) {
		read(text)
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
func Alternatives(body json.RawMessage) (n int) {
	n, _, _ = alternatives(body)
	return n
}

// alternatives also returns the message of the first alternative in a body or in the data of an event;
// ok is false if the data is not an object in JSON.
func alternatives(data json.RawMessage) (n int, m json.RawMessage, ok bool) {
	d := jsonio.NewDec(jsonio.View(data))
	for name := range d.Members() {
		if name != "choices" && name != "candidates" || d.Peek() != '[' {
			d.Skip()
			continue
		}
		for i := range d.Elements() {
			n = max(n, i+1)
			if d.Peek() != '{' {
				d.Skip()
				continue
			}
			for name := range d.Members() {
				switch {
				case name == "index":
					n = max(n, int(number(tree.Next(data, &d)))+1)
				case i == 0 && (name == "message" || name == "delta" && m == nil):
					m = tree.Next(data, &d)
				default:
					d.Skip()
				}
			}
		}
	}
	return n, m, d.End() == nil
}

func unreadMessage(m json.RawMessage, add func(format string, args ...any)) {
	content := func() string { return tree.String(tree.Member(m, "content")) }
	for name, value := range tree.Members(m) {
		switch {
		case message.IsTextMember(name, value, content):
			add("the message has text that is not read, as %q", name)
		case name == "content" && value[0] == '[':
			for _, part := range tree.Elements(value) {
				if kind := tree.Scalar(part, "type"); !slices.Contains([]string{"text", "thinking", "refusal"}, kind) {
					add("the content of the response has a part of the kind %q, which is not read", kind)
				}
			}
		case name == "tool_calls":
			for _, call := range tree.Elements(value) {
				// With an object as data it is a call of the message; see [message.UnknownKind].
				kind := tree.Scalar(call, "type")
				if data := tree.Member(call, kind); kind != "" && kind != "function" && kind != "custom" && (data == nil || data[0] != '{') {
					add("the response has a call of the unknown kind %q", kind)
				}
			}
		case name != "function_call" && message.IsToolMember(name, value):
			add("the message has the unknown member %q", name)
		}
	}
}
