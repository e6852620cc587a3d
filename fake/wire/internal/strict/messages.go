package strict

import (
	"cmp"
	"fmt"
	"net/http"
	"regexp"
	"slices"
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
	model := body.text("model")
	history := messagesIn(body.get("messages"))
	return cmp.Or(
		in.noVersion(body),
		unknownClaude(in, model),
		unknownSetting(body, messagesSettings, "%s: Extra inputs are not permitted"),
		messagesFields(body),
		in.messagesValues(body),
		messagesConversation(body, history),
		in.scripted(model).thinking(body.get("thinking").text("type"), history),
		prefilled(model, history),
	)
}

// messagesConversation checks the tools and the messages without thinking.
func messagesConversation(body object, history []message) *Error {
	return cmp.Or(
		messagesTools(body.get("tools")),
		messagesChoice(body),
		messagesRoles(history),
		messagesBlocks(history),
		messagesOrder(history),
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
	for at := range jsonio.LoneSurrogates(body) {
		end := at + len(`\ud800`)
		line := 1 + strings.Count(body[:end], "\n")
		column := end - strings.LastIndexByte(body[:end], '\n')
		return reject("SA-20", "The request body is not valid JSON: no low surrogate in string: line %d column %d (char %d)", line, column, end)
	}
	return nil
}

func messagesTools(tools value) *Error {
	seen := map[string]bool{}
	return tools.first(func(i int, t value) *Error {
		o := t.object()
		name := o.text("name")
		var e *Error
		if kind := o.get("type"); !kind.isSet() || kind.string() == "custom" {
			e = customTool(fmt.Sprintf("tools.%d.custom.", i), name, o.get("input_schema"))
		}
		if e == nil && seen[name] && name != "" {
			e = reject("SA-08", "tools: Tool names must be unique.")
		}
		seen[name] = true
		return e
	})
}

func customTool(path, name string, schema value) *Error {
	combines := func(m member) bool { return m.key == "oneOf" || m.key == "allOf" || m.key == "anyOf" }
	switch {
	case !protocol.IsName(name) || len(name) > 128:
		return reject("SA-07", "%sname: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'", path)
	case !schema.isSet():
		return reject("", "%sinput_schema: Field required", path)
	case schema.text("type") != "object":
		return reject("", "%sinput_schema.type: Input should be 'object'", path)
	case !isSchema(schema, 0):
		return reject("SA-09", "%sinput_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12 (https://json-schema.org/draft/2020-12).", path)
	case slices.ContainsFunc(schema.object(), combines):
		return reject("SA-10", "%sinput_schema: input_schema does not support oneOf, allOf, or anyOf at the top level", path)
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

func messagesIn(messages value) []message {
	var out []message
	for i, m := range messages.elements() {
		o := m.object()
		s := message{role: o.text("role")}
		content := o.get("content")
		if content.string() != "" {
			s.blocks = []block{{kind: "text", message: i, at: fmt.Sprintf("messages.%d.content", i), object: object{{"text", content}}}}
		}
		for j, b := range content.elements() {
			o := b.object()
			s.blocks = append(s.blocks, block{o, o.text("type"), i, fmt.Sprintf("messages.%d.content.%d", i, j)})
		}
		out = append(out, s)
	}
	return out
}

func messagesBlocks(history []message) *Error {
	e := first(history, func(i int, m message) *Error {
		if len(m.blocks) == 0 && (i < len(history)-1 || m.role != "assistant") {
			return reject("SA-12", "messages.%d: all messages must have non-empty content except for the optional final assistant message", i)
		}
		return first(m.blocks, func(_ int, b block) *Error { return checkBlock(b) })
	})
	if e == nil && len(history) > 0 && history[0].role == "assistant" {
		e = reject("SA-17", `messages: first message must use the "user" role`)
	}
	return e
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
	if slices.ContainsFunc(last.blocks, ranByProvider) {
		return nil
	}
	return reject("SA-18", "This model does not support assistant message prefill. The conversation must end with a user message.")
}

func ranByProvider(b block) bool {
	return strings.HasSuffix(b.kind, "_tool_use") || strings.HasSuffix(b.kind, "_tool_result")
}

// The provider rejects these values although no rule of the list names them.

func (in Request) messagesValues(body object) *Error {
	maxTokens, hasMaxTokens := body.get("max_tokens").number()
	temperature, hasTemperature := body.get("temperature").number()
	budget, hasBudget := body.get("thinking").get("budget_tokens").number()
	switch {
	case !body.get("model").isSet() && !body.get("anthropic_version").isSet():
		return reject("", "model: Field required")
	case hasMaxTokens && maxTokens < 0: // 0 only fills the cache
		return reject("", "max_tokens: Input should be greater than or equal to 0")
	case hasTemperature && (temperature < 0 || temperature > 1):
		return reject("", "temperature: range: 0..1")
	case hasBudget && budget < minBudget:
		return reject("", "thinking.enabled.budget_tokens: Input should be greater than or equal to %d", minBudget)
	case hasBudget && hasMaxTokens && budget >= maxTokens && !in.interleaves():
		return reject("", "`max_tokens` must be greater than `thinking.budget_tokens`.")
	}
	return cmp.Or(messagesCache(body), systemBlocks(body))
}

func systemBlocks(body object) *Error {
	return body.get("system").first(func(_ int, b value) *Error {
		switch text := b.text("text"); {
		case b.text("type") != "text" || strings.TrimSpace(text) != "":
			return nil
		case text == "":
			return reject("SA-11", "system: text content blocks must be non-empty")
		}
		return reject("", "system: text content blocks must contain non-whitespace text")
	})
}

// interleaves reports whether thinking may occur between calls: then its budget is that
// of the complete response ("Extended thinking", Anthropic).
func (in Request) interleaves() bool {
	return strings.Contains(strings.Join(in.Header.Values("Anthropic-Beta"), ","), "interleaved-thinking")
}

const minBudget = 1024

func messagesChoice(body object) *Error {
	choice, tools := body.get("tool_choice"), body.get("tools")
	kind, name := choice.text("type"), choice.text("name")
	switch {
	case kind != "any" && kind != "tool":
		return nil
	case !tools.isSet() || tools.empty():
		return reject("", "tool_choice: it may only be specified while providing tools")
	case kind == "any" || hasTool(tools, name):
		return nil
	}
	return reject("", "Tool '%s' not found in provided tools", name)
}

func hasTool(tools value, name string) bool {
	return slices.ContainsFunc(objects(tools), func(t object) bool { return t.text("name") == name })
}

// userBlocks are the blocks of users. Blocks of the assistant are not checked, because
// they come from the provider.
var userBlocks = []string{"container_upload", "document", "image", "search_result", "text", "tool_result"}

// messagesRoles rejects unknown roles, and blocks that users cannot send. Some models
// accept a system message later in the conversation.
func messagesRoles(history []message) *Error {
	return first(history, func(i int, m message) *Error {
		switch {
		case m.role == "user", m.role == "assistant", m.role == "system" && i > 0:
		case m.role == "system":
			return reject("", "messages: Unexpected role \"system\". The Messages API accepts a top-level `system` parameter, not \"system\" as an input message role.")
		default:
			return reject("", "messages.%d.role: Input should be 'user' or 'assistant'", i)
		}
		return first(m.blocks, func(_ int, b block) *Error {
			if m.role != "user" || slices.Contains(userBlocks, b.kind) {
				return nil
			}
			return reject("", "%s: Input tag '%s' found using 'type' does not match any of the expected tags: %s", b.at, b.kind, "'"+strings.Join(userBlocks, "', '")+"'")
		})
	})
}
