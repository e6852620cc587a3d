package strict

import (
	"slices"
	"strings"
)

// The provider rejects these values although no rule of the list names them.

func (in Request) messagesValues(body object) *Error {
	maxTokens, hasMaxTokens := body.get("max_tokens").number()
	temperature, hasTemperature := body.get("temperature").number()
	budget, hasBudget := body.get("thinking").get("budget_tokens").number()
	marks := cacheMarks(body.get("system")) + cacheMarks(body.get("tools")) + cacheMarks(body.get("messages"))
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
	case marks > maxCacheMarks:
		return reject("", "A maximum of %d blocks with cache_control may be provided. Found %d.", maxCacheMarks, marks)
	}
	for _, b := range body.get("system").elements() {
		if b.get("type").text() == "text" && strings.TrimSpace(b.get("text").text()) == "" {
			return reject("", "system: text content blocks must contain non-whitespace text")
		}
	}
	return messagesChoice(body)
}

// interleaves reports whether thinking may occur between calls: then its budget is that
// of the complete response ("Extended thinking", Anthropic).
func (in Request) interleaves() bool {
	return strings.Contains(strings.Join(in.Header.Values("Anthropic-Beta"), ","), "interleaved-thinking")
}

const (
	maxCacheMarks = 4
	minBudget     = 1024
)

func cacheMarks(list value) (n int) {
	for _, v := range list.elements() {
		if v.get("cache_control").isSet() {
			n++
		}
		n += cacheMarks(v.get("content"))
	}
	return n
}

func messagesChoice(body object) *Error {
	choice, tools := body.get("tool_choice"), body.get("tools")
	kind, name := choice.get("type").text(), choice.get("name").text()
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
	for _, t := range tools.elements() {
		if t.get("name").text() == name {
			return true
		}
	}
	return false
}

// userBlocks are the blocks of users. Blocks of the assistant are not checked, because
// they come from the provider.
var userBlocks = []string{"container_upload", "document", "image", "search_result", "text", "tool_result"}

// messagesRoles rejects unknown roles, and blocks that users cannot send. Some models
// accept a system message later in the conversation.
func messagesRoles(history []message) *Error {
	for i, m := range history {
		switch {
		case m.role == "user", m.role == "assistant", m.role == "system" && i > 0:
		case m.role == "system":
			return reject("", "messages: Unexpected role \"system\". The Messages API accepts a top-level `system` parameter, not \"system\" as an input message role.")
		default:
			return reject("", "messages.%d.role: Input should be 'user' or 'assistant'", i)
		}
		for _, b := range m.blocks {
			if m.role == "user" && !slices.Contains(userBlocks, b.kind) {
				return reject("", "%s: Input tag '%s' found using 'type' does not match any of the expected tags: %s", b.at, b.kind, "'"+strings.Join(userBlocks, "', '")+"'")
			}
		}
	}
	return nil
}
