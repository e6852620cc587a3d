package body

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/importer/internal/message"
	"github.com/looptape/looptape/trace/importer/internal/shape"
	"github.com/looptape/looptape/trace/importer/internal/tree"
)

// Unread returns what a response in a protocol, whose body this is, has and its codec does not keep: alternatives,
// events and deltas that belong to nothing, members with calls or content that the protocol does not have and, of
// Chat Completions, parts of a content of other kinds than text, calls of an unknown kind and a finish reason
// that is null outside of a stream. It also returns calls without a name. Of a stream it returns each only once.
// The name of the protocol may be empty, and the response nil.
func Unread(protocol string, text []byte, r *llm.Response) (unread []string) {
	add := func(format string, args ...any) {
		if s := fmt.Sprintf(format, args...); !slices.Contains(unread, s) {
			unread = append(unread, s)
		}
	}
	n, unknownCalls := 0, false
	read := func(data json.RawMessage) (c choices, ok bool) {
		if c, ok = readChoices(data); ok {
			n = max(n, c.n)
			unknownCalls = unreadMessage(c, add) || unknownCalls
			unreadCandidate(c.candidate, add)
			unreadChoice(c, add)
		}
		return c, ok
	}
	switch isJSON := jsonio.ValidSyntax(text); {
	case isJSON && bytes.HasPrefix(bytes.TrimSpace(text), []byte("[")): // events of Gemini
		shape.Response(protocol, text, add)
		for _, chunk := range tree.Elements(text) {
			read(chunk)
		}
	case isJSON && !IsEvent(text):
		shape.Response(protocol, text, add)
		if c, _ := readChoices(text); hasOtherDelta(c) {
			add("the choice has a message and a delta with other content")
		}
		unreadNextTo(protocol, text, r, add)
		if read(text); string(tree.Member(alternative(text), "finish_reason")) == "null" && tree.Member(alternative(text), "message") != nil {
			add("the finish reason of the response is null: it may not be complete")
		}
	default:
		unreadEvents(protocol, text, read, add)
	}
	if r != nil && !unknownCalls {
		unreadCalls(r, add)
	}
	if n > 1 {
		unread = slices.Insert(unread, 0, fmt.Sprintf("the response has %d alternatives, and only the first is read", n))
	}
	return unread
}

// UnreadCandidates returns what the candidates of a response of Gemini have and its codec does not keep.
func UnreadCandidates(candidates json.RawMessage) (unread []string) {
	add := func(format string, args ...any) { unread = append(unread, fmt.Sprintf(format, args...)) }
	var whole tree.Object
	whole.Add("candidates", candidates)
	shape.Response("gemini", whole.JSON(), add)
	unreadCandidate(tree.Element(candidates, "0"), add)
	return unread
}

// UnreadRequest returns arguments in a request, whose body this is and whose messages these are, that are neither a
// text nor an object, and names that are not strings. The codec of Chat Completions reads any value.
func UnreadRequest(protocol string, text []byte, messages []llm.Message) (unread []string) {
	if slices.ContainsFunc(messages, hasOtherTypes) {
		shape.Request(protocol, text, func(format string, args ...any) { unread = append(unread, fmt.Sprintf(format, args...)) })
	}
	return unread
}

// hasOtherTypes reports whether a message may have arguments or a name of another type.
func hasOtherTypes(m llm.Message) bool {
	isOther := func(opaque json.RawMessage) bool {
		name := tree.Member(opaque, "name")
		return !tree.IsNull(name) && !tree.IsText(name)
	}
	return isOther(m.Opaque) || slices.ContainsFunc(m.Parts, func(p llm.Part) bool {
		switch p := p.(type) {
		case llm.ToolCall:
			return p.Arguments != "" && p.Arguments[0] != '{' && jsonio.ValidText(p.Arguments) // else it was a text
		case llm.ToolResult:
			return isOther(p.Opaque)
		default:
			return false
		}
	})
}

// unreadCalls adds calls of the client without a name. A client may give an id to a call without one.
func unreadCalls(r *llm.Response, add func(format string, args ...any)) {
	for _, call := range r.Message().Calls() {
		if call.Name == "" {
			add("the response has a call without the name of a tool")
		}
	}
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
	end     int             // the offset after it

	candidate json.RawMessage // of Gemini, the first one
	choice    json.RawMessage // of Chat Completions, the first one

	// The members of the first choice next to its message, and of the body next to its choices, that may have text
	// or calls. Most events have none.
	ofChoice, ofBody []member
}

type member struct {
	name  string
	value json.RawMessage
}

// addMember appends a member, unless its name and the kind of its value show that it has neither text nor calls.
func addMember(members []member, name string, value json.RawMessage) []member {
	if len(value) > 0 && (value[0] == '[' || value[0] == '{' || value[0] == '"' && isTextName(name)) {
		return append(members, member{name, value})
	}
	return members
}

// isTextName reports whether text of a member with a name may be that of a message.
func isTextName(name string) bool {
	return name == "content" || slices.Contains(message.ResponseMembers, name)
}

// readChoices returns false if the data is not an object in JSON.
func readChoices(data json.RawMessage) (c choices, ok bool) {
	d := jsonio.NewDec(jsonio.View(data))
	for name := range d.Members() {
		isCandidate, start := name == "candidates", d.Offset()
		if name != "choices" && !isCandidate {
			c.ofBody = addMember(c.ofBody, name, tree.Next(data, &d))
			continue
		}
		if d.Peek() != '[' {
			if value := tree.Next(data, &d); isCandidate {
				c.ofBody = addMember(c.ofBody, name, value)
			}
			continue
		}
		for i := range d.Elements() {
			c.n = max(c.n, i+1)
			from := d.Offset()
			if d.Peek() != '{' {
				d.Skip()
				continue
			}
			for name := range d.Members() {
				value := tree.Next(data, &d)
				switch {
				case name == "index":
					c.n = max(c.n, int(number(value))+1)
				case i > 0:
				case name == "message" || name == "delta" && c.message == nil:
					c.message, c.isDelta, c.end = value, name == "delta", d.Offset()
				case name != "delta" && !isCandidate:
					c.ofChoice = addMember(c.ofChoice, name, value)
				}
			}
			switch {
			case i > 0 || d.Err() != nil:
			case isCandidate:
				c.candidate = data[from:d.Offset()]
			default:
				c.choice = data[from:d.Offset()]
			}
		}
		if isCandidate { // it may have a call, next to the choices
			c.ofBody = addMember(c.ofBody, name, bytes.TrimSpace(data[start:d.Offset()]))
		}
	}
	return c, d.End() == nil
}

// unreadMessage adds what a message of Chat Completions has, and reports whether it has calls of an unknown kind.
func unreadMessage(c choices, add func(format string, args ...any)) (unknownCalls bool) {
	found := false
	content := func() string { return tree.String(tree.Member(c.message, "content")) }
	for name, value := range tree.Members(c.message) {
		switch {
		case message.IsTextMember(name, value, content):
			add("the message has text that is not read, as %q", name)
			found = true
		case name == "content" && value[0] == '[':
			for _, part := range tree.Elements(value) {
				switch kind := tree.Scalar(part, "type"); {
				case !slices.Contains([]string{"text", "thinking", "refusal", "reference"}, kind):
					add("the content of the response has a part of the kind %q, which is not read", kind)
				case message.OtherText(part, kind) != "":
					add("the content of the response has a part with text that is not read, as %q", message.OtherText(part, kind))
				case !message.IsReasoning(part, "thinking"):
					add("the content of the response has a part of the kind %q with data that is not read", kind)
				}
			}
		case name == "tool_calls":
			for _, call := range tree.Elements(value) {
				// With an object as data it is a call of the message; see [message.UnknownKind].
				kind := tree.Scalar(call, "type")
				isKnown := kind == "" || kind == "function" || kind == "custom"
				switch data := tree.Member(call, kind); {
				case !isKnown && (data == nil || data[0] != '{'):
					unknownCalls = true
					add("the response has a call of the unknown kind %q", kind)
				case isKnown && !c.isDelta && tree.Member(tree.First(call, "function", "custom"), "name") == nil:
					add("the response has a call without the name of a tool")
				case isKnown:
					unreadArguments(tree.First(call, "function", "custom"), add, "arguments", "input")
				}
			}
		case name != "function_call" && message.IsToolMember(name, value), message.IsArguments(name, value):
			add("the message has the unknown member %q", name)
			found = true
		}
	}
	if c.isDelta && !found {
		unreadDelta(c.message, add)
	}
	return unknownCalls
}

// unreadChoice adds what a choice of Chat Completions has next to its message, and the body next to its choices,
// if it is calls or other text than that of the message. The choices of Completions have no message.
func unreadChoice(c choices, add func(format string, args ...any)) {
	if c.message == nil || c.choice == nil || len(c.ofChoice)+len(c.ofBody) == 0 {
		return
	}
	content := tree.Member(c.message, "content")
	read := tree.String(content)
	for _, part := range tree.Elements(content) {
		read += tree.String(part, "text")
	}
	addAll := func(where string, members []member) {
		for _, m := range members {
			if isTextName(m.name) && message.HasOtherText(m.value, read) || message.IsToolMember(m.name, m.value) {
				add("the %s has the unknown member %q", where, m.name)
			}
		}
	}
	addAll("choice", c.ofChoice)
	addAll("response", c.ofBody)
}

// hasOtherDelta reports whether a choice has a delta with text or calls that its message does not have.
func hasOtherDelta(c choices) bool {
	delta := tree.Member(c.choice, "delta")
	if delta == nil || c.isDelta {
		return false
	}
	calls := tree.Member(delta, "tool_calls")
	return message.HasOtherText(delta, tree.String(c.message, "content")) || !message.IsEmpty(calls) && message.IsEmpty(tree.Member(c.message, "tool_calls"))
}

// unreadArguments adds the members of the function of a call that may be its arguments, if those with the names of
// the protocol are empty.
func unreadArguments(function json.RawMessage, add func(format string, args ...any), names ...string) {
	for _, name := range names {
		if !message.IsEmpty(tree.Field(function, name)) {
			return
		}
	}
	for name, value := range tree.Members(function) {
		if slices.Contains(message.ArgumentMembers, tree.Snake(name)) && !message.IsEmpty(value) {
			add("the call of %q has data that is not read, as %q", tree.Scalar(tree.Field(function, "name")), name)
		}
	}
}

// unreadCandidate adds the content of a candidate of Gemini that is not where it has its parts.
func unreadCandidate(candidate json.RawMessage, add func(format string, args ...any)) {
	nothing := func() string { return "" }
	for name, value := range tree.Members(candidate) {
		switch {
		case name == "content":
			for name, value := range tree.Members(value) {
				if name != "parts" && name != "role" && !message.IsEmpty(value) {
					add("the content of the response has the unknown member %q", name)
				}
			}
			for _, part := range tree.Elements(tree.Member(value, "parts")) {
				unreadPart(part, add)
			}
		case slices.Contains([]string{"message", "delta", "parts", "blocks"}, name) && !message.IsEmpty(value),
			message.IsTextMember(name, value, nothing), message.IsToolMember(name, value):
			add("the candidate has the unknown member %q", name)
		}
	}
}

// messageOf are the members on the way to the message of a response, and that with its content, of the protocols that
// have one message.
var messageOf = map[string][]string{
	"ollama-chat":        {"message"},
	"cohere-chat":        {"message"},
	"bedrock-converse":   {"output", "message", "content"},
	"anthropic-messages": {"content"},
	"openai-responses":   {"output"},
	"gemini":             {"candidates"},
}

// unreadNextTo adds the members next to the message of a response, or its content, that may have text or calls. A text that
// the response r has is a repetition, such as output_text of the SDKs; r may be nil.
func unreadNextTo(protocol string, data json.RawMessage, r *llm.Response, add func(format string, args ...any)) {
	text := ""
	if r != nil {
		text = r.Message().Text()
	}
	for _, known := range messageOf[protocol] {
		if name := message.NextTo(data, known, text); name != "" {
			add("the response has the unknown member %q", name)
		}
		data = tree.Member(data, known)
	}
}

// unreadPart adds what a part of Gemini has next to its call or its text.
func unreadPart(part json.RawMessage, add func(format string, args ...any)) {
	text := func() string { return tree.String(part, "text") }
	for name, value := range tree.Members(part) {
		if name = tree.Snake(name); name != "text" && !slices.Contains(partCalls, name) && (message.IsTextMember(name, value, text) || message.IsToolMember(name, value)) {
			add("the content of the response has a part with the unknown member %q", name)
		}
	}
	call := tree.Field(part, "function_call")
	if call == nil {
		return
	}
	unreadArguments(call, add, "args", "partial_args")
	if !message.IsEmpty(tree.Member(part, "text")) {
		add("the call of %q has data that is not read, as %q", tree.Scalar(tree.Field(call, "name")), "text")
	}
}

// partCalls are the members of a part of Gemini with calls and results.
var partCalls = []string{"function_call", "function_response", "tool_call", "tool_response"}
