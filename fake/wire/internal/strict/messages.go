package strict

import (
	"cmp"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/providers/protocol"
)

// strictMessages checks a request by the rules of Anthropic Messages (SA-01 to SA-20).
func strictMessages(in Request, body object) *Error {
	if e := loneSurrogate(jsonio.View(in.Body)); e != nil {
		return e
	}
	model := body.get("model").text()
	history := messagesIn(body.get("messages"))
	return cmp.Or(
		in.noVersion(body),
		unknownClaude(in, model),
		unknownMessagesSetting(body),
		messagesFields(body),
		messagesTools(body.get("tools")),
		in.messagesValues(body),
		messagesRoles(history),
		messagesBlocks(history),
		messagesOrder(history),
		in.scripted(model).thinking(body.get("thinking").get("type").text(), history),
		prefilled(model, history),
	)
}

func unknownClaude(in Request, model string) *Error {
	if !in.unknownModel(model) {
		return nil
	}
	return &Error{Status: http.StatusNotFound, Type: "not_found_error", Setup: true, Message: "model: " + model}
}

// noVersion rejects a request without version. Bedrock and Vertex AI have it in the
// body.
func (in Request) noVersion(body object) *Error {
	if in.Header.Get("Anthropic-Version") != "" || body.get("anthropic_version").isSet() {
		return nil
	}
	return reject("", "anthropic-version: header is required")
}

func messagesFields(body object) *Error {
	switch {
	case !body.get("max_tokens").isSet():
		return reject("SA-06", "max_tokens: Field required")
	case !body.get("messages").isSet():
		return reject("", "messages: Field required")
	case body.get("messages").empty():
		return reject("", "messages: at least one message is required")
	}
	return nil
}

// loneSurrogate rejects an escape of half a surrogate pair (SA-20).
func loneSurrogate(body string) *Error {
	for i := 0; ; {
		next := strings.IndexByte(body[i:], '\\')
		if next < 0 {
			return nil
		}
		i += next
		n, whole := escapeAt(body[i:])
		i += n
		if !whole {
			line := 1 + strings.Count(body[:i], "\n")
			column := i - strings.LastIndexByte(body[:i], '\n')
			return reject("SA-20", "The request body is not valid JSON: no low surrogate in string: line %d column %d (char %d)", line, column, i)
		}
	}
}

// escapeAt returns the length of the escape at the start of s, and whether it is a
// complete character.
func escapeAt(s string) (n int, whole bool) {
	r, unicode := unit(s)
	if !unicode {
		return 2, true
	}
	if r < 0xd800 || r >= 0xe000 {
		return 6, true
	}
	low, _ := unit(s[6:])
	if r < 0xdc00 && low >= 0xdc00 && low < 0xe000 {
		return 12, true
	}
	return 6, false
}

func unit(s string) (r uint64, ok bool) {
	if !strings.HasPrefix(s, `\u`) {
		return 0, false
	}
	r, err := strconv.ParseUint(s[2:6], 16, 32)
	return r, err == nil
}

func messagesTools(tools value) *Error {
	seen := map[string]bool{}
	for i, t := range tools.elements() {
		o := t.object()
		name := o.get("name").text()
		if kind := o.get("type"); !kind.isSet() || kind.text() == "custom" {
			if e := customTool(fmt.Sprintf("tools.%d.custom.", i), name, o.get("input_schema")); e != nil {
				return e
			}
		}
		if seen[name] && name != "" {
			return reject("SA-08", "tools: Tool names must be unique.")
		}
		seen[name] = true
	}
	return nil
}

func customTool(path, name string, schema value) *Error {
	switch {
	case !protocol.IsName(name) || len(name) > 128:
		return reject("SA-07", "%sname: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'", path)
	case !schema.isSet():
		return reject("", "%sinput_schema: Field required", path)
	case schema.get("type").text() != "object":
		return reject("", "%sinput_schema.type: Input should be 'object'", path)
	case !isSchema(schema, 0):
		return reject("SA-09", "%sinput_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12 (https://json-schema.org/draft/2020-12).", path)
	}
	for _, m := range schema.object() {
		switch m.key {
		case "oneOf", "allOf", "anyOf":
			return reject("SA-10", "%sinput_schema: input_schema does not support oneOf, allOf, or anyOf at the top level", path)
		}
	}
	return nil
}

type message struct {
	role   string
	blocks []block // a string is one block
}

type block struct {
	object
	kind    string
	message int    // its index
	at      string // the position: messages.1.content.0
}

func (b block) text(key string) string { return b.get(key).text() }

func messagesIn(messages value) []message {
	var out []message
	for i, m := range messages.elements() {
		o := m.object()
		s := message{role: o.get("role").text()}
		content := o.get("content")
		if content.text() != "" {
			s.blocks = []block{{kind: "text", message: i, at: fmt.Sprintf("messages.%d.content", i), object: object{{"text", content}}}}
		}
		for j, b := range content.elements() {
			o := b.object()
			s.blocks = append(s.blocks, block{o, o.get("type").text(), i, fmt.Sprintf("messages.%d.content.%d", i, j)})
		}
		out = append(out, s)
	}
	return out
}

func messagesBlocks(history []message) *Error {
	for i, m := range history {
		if len(m.blocks) == 0 && (i < len(history)-1 || m.role != "assistant") {
			return reject("SA-12", "messages.%d: all messages must have non-empty content except for the optional final assistant message", i)
		}
		for _, b := range m.blocks {
			if e := checkBlock(b); e != nil {
				return e
			}
		}
	}
	if len(history) > 0 && history[0].role == "assistant" {
		return reject("SA-17", `messages: first message must use the "user" role`)
	}
	return nil
}

func checkBlock(b block) *Error {
	const pattern = "%s.%s.%s: String should match pattern '^[a-zA-Z0-9_-]+$'"
	switch {
	case b.kind == "text" && b.text("text") == "":
		return reject("SA-11", "messages: text content blocks must be non-empty")
	case b.kind == "text" && strings.TrimSpace(b.text("text")) == "":
		return reject("", "messages: text content blocks must contain non-whitespace text")
	case b.kind == "tool_use" && !b.get("input").is('{'):
		return reject("", "%s.%s.input: Input should be a valid dictionary", b.at, b.kind)
	case b.kind == "tool_use" && !protocol.IsName(b.text("id")):
		return reject("SA-05", pattern, b.at, b.kind, "id")
	case b.kind == "tool_result" && !protocol.IsName(b.text("tool_use_id")):
		return reject("SA-05", pattern, b.at, b.kind, "tool_use_id")
	}
	return nil
}

// claude matches the version in a model's name: claude-opus-4-6 or us.anthropic.claude-
// sonnet-4-5-20250929-v1:0.
var claude = regexp.MustCompile(`claude-[a-z]+-(\d{1,2})[-.](\d{1,2})(?:\D|$)`)

// prefilled rejects a last message of the assistant, for models from 4.6 on. It accepts
// a paused response, which ends with a block that the provider ran.
func prefilled(model string, history []message) *Error {
	v := claude.FindStringSubmatch(model)
	if v == nil || len(history) == 0 {
		return nil
	}
	major, _ := strconv.Atoi(v[1])
	minor, _ := strconv.Atoi(v[2])
	last := history[len(history)-1]
	if last.role != "assistant" || major < 4 || major == 4 && minor < 6 {
		return nil
	}
	for _, b := range last.blocks {
		if ranByProvider(b.kind) {
			return nil
		}
	}
	return reject("SA-18", "This model does not support assistant message prefill. The conversation must end with a user message.")
}

func ranByProvider(kind string) bool {
	return strings.HasSuffix(kind, "_tool_use") || kind != "tool_result" && strings.HasSuffix(kind, "_tool_result")
}
