package body

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/trace/importer/internal/message"
	"github.com/looptape/looptape/trace/importer/internal/tree"
)

// Unread returns what a response of Chat Completions has and its codec does not keep: parts of a
// content of other kinds than text, calls of an unknown kind, and calls in an unknown member. Of
// a stream it returns each only once.
func Unread(text []byte) (unread []string) {
	add := func(format string, args ...any) {
		if s := fmt.Sprintf(format, args...); !slices.Contains(unread, s) {
			unread = append(unread, s)
		}
	}
	if jsonio.ValidSyntax(text) {
		unreadChoice(text, add)
		return unread
	}
	for data := range eventData(text) {
		unreadChoice(data, add)
	}
	return unread
}

func unreadChoice(data json.RawMessage, add func(format string, args ...any)) {
	m := tree.First(tree.Element(tree.Member(data, "choices"), "0"), "message", "delta")
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
