package importer

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"unicode"

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

// hasInBody reports whether the body of a response, or an event or a line of it, has an object of those wanted.
func hasInBody(answer []byte, is func(object json.RawMessage) bool) bool {
	if answer = bytes.TrimSpace(answer); jsonio.ValidSyntax(answer) {
		return hasWithin(answer, maxLevels, is)
	}
	for line := range bytes.Lines(answer) {
		line = bytes.TrimSpace(bytes.TrimPrefix(line, []byte("data:")))
		if jsonio.ValidSyntax(line) && hasWithin(line, maxLevels, is) {
			return true
		}
	}
	return false
}

// isGenerated reports whether an object is a response of a model or an event with one: it has alternatives with a message,
// content with the tokens that it took, or the text of a server of models, such as watsonx and Triton.
func isGenerated(object json.RawMessage) bool {
	one := tree.Element(tree.First(object, "choices", "candidates"), "0")
	if message := tree.First(one, "message", "delta", "content"); tree.First(message, "role", "content", "parts", "tool_calls") != nil {
		return true
	}
	if tree.IsText(tree.First(object, "generated_text", "text_output")) {
		return true
	}
	for name := range tree.Members(tree.First(object, "usage", "usageMetadata", "usage_metadata")) {
		if snake := tree.Snake(name); strings.HasSuffix(snake, "_tokens") || strings.HasSuffix(snake, "_token_count") {
			return tree.First(object, "content", "message", "text", "response", "output", "outputs", "output_text") != nil
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

// isContinued reports whether the body of a request has a conversation, and the response a text or calls that are not of
// this conversation: a database may return the messages that it stores. The response to an operation of GraphQL may come
// later. A text that is not JSON counts unless it is an error or a redirect.
func isContinued(object json.RawMessage, answer []byte, status int) bool {
	if tree.Scalar(object, "method") == "tools/call" { // of MCP
		return false
	}
	if hasWithin(object, maxLevels, isConversation) {
		return isGraphQL(object) || status < http.StatusMultipleChoices && isPlainText(answer) || hasInBody(answer, hasReply) && !(hasInBody(answer, isConversation) && isRepeated(object, answer))
	}
	return isGraphQL(object) && hasWithin(tree.Member(object, "variables"), maxLevels, isMessage) && hasInBody(answer, hasReply)
}

// acknowledgments are words, in lower case, with which a service confirms that it received data, such as a log. States alone
// do, too. A text of several words may also have subjects and numbers, as in "3 events received".
var (
	acknowledgments = tree.Set("ok", "okay", "accepted", "received", "acknowledged", "ack", "logged", "recorded", "queued", "enqueued", "ingested", "processed", "processing", "scheduled", "success", "successfully")
	states          = tree.Set("created", "done", "saved", "stored", "inserted", "updated", "sent", "delivered", "published", "pong", "noop")
	subjects        = tree.Set("event", "events", "request", "requests", "webhook", "webhooks", "hook", "payload", "message", "data", "log", "logs", "trace", "traces", "span", "spans", "record", "records", "batch", "entry", "entries", "http", "status", "result", "id", "was", "were", "has", "have", "been")
)

var markup = regexp.MustCompile(`<[^<>]*>`)

// isAcknowledgment reports whether a text, which may have markup, has only words with which a service confirms that it
// received data, or none.
func isAcknowledgment(answer []byte) bool {
	const most = 256
	if len(answer) > most {
		return false
	}
	text := strings.ToLower(string(bytes.TrimSpace(markup.ReplaceAll(answer, []byte(" ")))))
	words := strings.FieldsFunc(text, func(r rune) bool { return r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	isOther := func(word string) bool {
		return !acknowledgments[word] && !subjects[word] && !strings.ContainsFunc(word, unicode.IsDigit)
	}
	confirms := slices.ContainsFunc(words, func(word string) bool { return acknowledgments[word] })
	return text == "" || len(words) == 1 && states[words[0]] || confirms && !slices.ContainsFunc(words, isOther)
}

// isPlainText reports whether a body, or an event or a line of it, is a text and not JSON, as a program sends that only
// passes the text of a model on.
func isPlainText(answer []byte) bool {
	answer = bytes.TrimSpace(answer)
	if jsonio.ValidSyntax(answer) || isAcknowledgment(answer) {
		return false
	}
	for line := range bytes.Lines(answer) {
		name, data, isField := bytes.Cut(bytes.TrimSpace(line), []byte(":"))
		switch {
		case isField && slices.Contains([]string{"", "event", "id", "retry"}, string(name)): // of an event
			continue
		case !isField || string(name) != "data":
			data = line
		}
		if data = bytes.TrimSpace(data); len(data) > 0 && !jsonio.ValidSyntax(data) && string(data) != "[DONE]" {
			return true
		}
	}
	return false
}

// isRepeated reports whether all texts of a response are also in the request.
func isRepeated(object json.RawMessage, answer []byte) bool {
	known := map[string]bool{}
	hasWithin(object, maxLevels, func(o json.RawMessage) bool {
		for _, text := range replies(o) {
			known[text] = true
		}
		return false
	})
	return !hasInBody(answer, func(o json.RawMessage) bool {
		return slices.ContainsFunc(replies(o), func(text string) bool { return !known[text] })
	})
}

// isGraphQL reports whether the body of a request is an operation of GraphQL with variables.
func isGraphQL(object json.RawMessage) bool {
	_, hasQuery := tree.Text(object, "query")
	return hasQuery && isObject(tree.Member(object, "variables"))
}

// hasReply reports whether an object of a response has text that may be of a model, and not only a note such as message.
func hasReply(object json.RawMessage) bool { return len(replies(object)) > 0 }

// replies are the texts of an object that may be of a model, and its calls.
func replies(object json.RawMessage) (all []string) {
	for _, name := range []string{"output", "outputs", "response", "text", "content", "reply", "answer", "completion", "delta"} {
		if text, ok := tree.Text(object, name); ok && text != "" {
			all = append(all, text)
		}
	}
	if calls := tree.Member(object, "tool_calls"); tree.Element(calls, "0") != nil {
		all = append(all, string(calls))
	}
	return all
}
