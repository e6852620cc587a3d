package body

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/looptape/looptape/trace/importer/internal/message"
	"github.com/looptape/looptape/trace/importer/internal/tree"
)

// UnreadSystem returns what the system prompt of a request in a protocol, whose body this is, has in a form that is
// not read. The name of the protocol is empty for a list of messages, which may have a prompt in several forms.
func UnreadSystem(protocol string, text []byte) (unread []string) {
	if protocol == "openai-chat" || protocol == "openai-completions" || protocol == "cohere-chat" || protocol == "ollama-chat" {
		return nil // the prompt is a message
	}
	for name, value := range tree.Members(text) {
		snake := tree.Snake(name)
		add := func(place, want string) {
			unread = append(unread, fmt.Sprintf("%s%s: the system prompt is not read: expected %s", name, place, want))
		}
		switch {
		case message.IsEmpty(value):
		case snake == "system" && (protocol == "" || protocol == "anthropic-messages" || protocol == "bedrock-converse"):
			if tree.IsText(value) && protocol != "bedrock-converse" {
				continue
			}
			if value[0] != '[' {
				add("", "a list of texts")
			}
			for n, part := range tree.Elements(value) {
				if !isPrompt(protocol, part) {
					add(fmt.Sprintf("[%d]", n), "a text")
				}
			}
		case name == "instructions" && protocol == "openai-responses" && !tree.IsText(value):
			add("", "a text")
		case snake == "system_instruction" && protocol == "gemini":
			parts := tree.Member(value, "parts")
			if len(parts) > 0 && parts[0] == '{' { // which the API accepts
				parts = slices.Concat([]byte("["), parts, []byte("]"))
			}
			if message.IsEmpty(parts) || parts[0] != '[' {
				add("", "a list of parts")
			}
			for n, part := range tree.Elements(parts) {
				if !tree.IsText(tree.Member(part, "text")) {
					add(fmt.Sprintf(".parts[%d]", n), "a text")
				}
			}
		}
	}
	return unread
}

// isPrompt reports whether a part of a system prompt is a text, or of Bedrock a text for a guardrail or a cache point.
func isPrompt(protocol string, part json.RawMessage) bool {
	isText := tree.IsText(tree.Member(part, "text"))
	kind := tree.Scalar(part, "type")
	switch protocol {
	case "anthropic-messages":
		return isText && kind == "text"
	case "bedrock-converse":
		return isText || tree.First(part, "guardContent", "cachePoint") != nil
	}
	return isText && (kind == "text" || kind == "") || tree.First(part, "guardContent", "cachePoint") != nil
}
