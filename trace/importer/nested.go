package importer

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/trace/importer/internal/format"
	"github.com/looptape/looptape/trace/importer/internal/tree"
)

// Requests at unknown addresses may have a conversation, and their responses that of a model, within members of other
// names, as with GraphQL and JSON-RPC.

// How deep an object may be in another.
const (
	maxLevels  = 16
	withMember = 2 // the object, or a member of it
)

// hasWithin reports whether a value, or an object in it, is one of those wanted.
func hasWithin(value json.RawMessage, levels int, is func(object json.RawMessage) bool) bool {
	if levels == 0 || len(value) == 0 || value[0] != '{' && value[0] != '[' {
		return false
	}
	if value[0] == '{' && is(value) {
		return true
	}
	for _, inner := range tree.Members(value) {
		if hasWithin(inner, levels-1, is) {
			return true
		}
	}
	for _, inner := range tree.Elements(value) {
		if hasWithin(inner, levels-1, is) {
			return true
		}
	}
	return false
}

// hasGenerated reports whether the body of a response, or an event in it, has a response of a model.
func hasGenerated(answer []byte) bool {
	if answer = bytes.TrimSpace(answer); jsonio.ValidSyntax(answer) {
		return hasWithin(answer, maxLevels, isGenerated)
	}
	for line := range bytes.Lines(answer) {
		line = bytes.TrimSpace(bytes.TrimPrefix(line, []byte("data:")))
		if jsonio.ValidSyntax(line) && hasWithin(line, maxLevels, isGenerated) {
			return true
		}
	}
	return false
}

// isGenerated reports whether an object is a response of a model or an event with one: it has alternatives with a message,
// or content with the tokens that it took.
func isGenerated(object json.RawMessage) bool {
	one := tree.Element(tree.First(object, "choices", "candidates"), "0")
	if message := tree.First(one, "message", "delta", "content"); tree.First(message, "role", "content", "parts", "tool_calls") != nil {
		return true
	}
	for name := range tree.Members(tree.First(object, "usage", "usageMetadata", "usage_metadata")) {
		if snake := tree.Snake(name); strings.HasSuffix(snake, "_tokens") || strings.HasSuffix(snake, "_token_count") {
			return tree.First(object, "content", "message", "text", "output", "output_text") != nil
		}
	}
	return false
}

// isConversation reports whether an object has a list of messages, each with a role or within a member.
func isConversation(object json.RawMessage) bool {
	for name, list := range tree.Members(object) {
		first := tree.Element(list, "0")
		if slices.Contains(prompts, name) && hasWithin(first, withMember, isMessage) {
			return true
		}
	}
	return false
}

func isMessage(object json.RawMessage) bool {
	role, isRole := tree.Text(object, "role")
	return isRole && slices.Contains(format.Roles, role) && tree.First(object, "content", "parts", "text") != nil
}

// isGraphQL reports whether the body of a request is an operation of GraphQL with variables.
func isGraphQL(object json.RawMessage) bool {
	_, hasQuery := tree.Text(object, "query")
	return hasQuery && isObject(tree.Member(object, "variables"))
}

// hasReply reports whether an object of a response has text that may be of a model, and not only a note such as message.
func hasReply(object json.RawMessage) bool {
	for _, name := range []string{"output", "outputs", "response", "text", "content", "reply", "answer"} {
		if text, ok := tree.Text(object, name); ok && text != "" {
			return true
		}
	}
	return false
}
