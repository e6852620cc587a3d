package strict

import (
	"slices"
	"strings"

	"github.com/looptape/looptape/trace/watch"
)

// What no rule of quirks has, and Anthropic Messages refuses all the same: values out of
// range, a choice of a tool that there is not, pieces of another API.

func (in Request) messagesValues(body object) *Error {
	most, limited := body.get("max_tokens").number()
	heat, heated := body.get("temperature").number()
	budget, budgeted := body.get("thinking").get("budget_tokens").number()
	marks := cacheMarks(body.get("system")) + cacheMarks(body.get("tools")) + cacheMarks(body.get("messages"))
	switch {
	case !body.get("model").given() && !body.get("anthropic_version").given():
		return reject("", "model: Field required")
	case limited && most < 0: // none fills the cache alone
		return reject("", "max_tokens: Input should be greater than or equal to 0")
	case heated && (heat < 0 || heat > 1):
		return reject("", "temperature: range: 0..1")
	case budgeted && budget < leastBudget:
		return reject("", "thinking.enabled.budget_tokens: Input should be greater than or equal to %d", leastBudget)
	case budgeted && limited && budget >= most && !in.interleaves():
		return reject("", "`max_tokens` must be greater than `thinking.budget_tokens`.")
	case marks > mostCacheMarks:
		return reject("", "A maximum of %d blocks with cache_control may be provided. Found %d.", mostCacheMarks, marks)
	}
	for _, b := range body.get("system").elements() {
		if b.get("type").text() == "text" && strings.TrimSpace(b.get("text").text()) == "" {
			return reject("", "system: text content blocks must contain non-whitespace text")
		}
	}
	return messagesChoice(body)
}

// interleaves reports whether thinking may go on between calls: its budget is then that
// of the whole turn ("Extended thinking", Anthropic).
func (in Request) interleaves() bool {
	return strings.Contains(strings.Join(in.Header.Values("Anthropic-Beta"), ","), "interleaved-thinking")
}

const (
	mostCacheMarks = 4
	leastBudget    = 1024
)

// cacheMarks counts the marks for caching on the elements of an array, and on those of
// their content.
func cacheMarks(list value) (n int) {
	for _, v := range list.elements() {
		if v.get(watch.CacheMark).given() {
			n++
		}
		n += cacheMarks(v.get("content"))
	}
	return n
}

// messagesChoice refuses the choice of a tool that there is not.
func messagesChoice(body object) *Error {
	choice, tools := body.get("tool_choice"), body.get("tools")
	kind, name := choice.get("type").text(), choice.get("name").text()
	switch {
	case kind != "any" && kind != "tool":
		return nil
	case !tools.given() || tools.empty():
		return reject("", "tool_choice: it may only be specified while providing tools")
	case kind == "any" || hasTool(tools, name):
		return nil
	}
	return reject("", "Tool '%s' not found in provided tools", name)
}

// hasTool reports whether there is a tool of this name.
func hasTool(tools value, name string) bool {
	for _, t := range tools.elements() {
		if t.get("name").text() == name {
			return true
		}
	}
	return false
}

// userBlocks are what the user can say. Blocks of the assistant are not looked at: what
// came from the provider goes back to it.
var userBlocks = []string{"container_upload", "document", "image", "search_result", "text", "tool_result"}

// messagesSpeakers refuses roles that there are not, and pieces that are not the user's.
// The system may speak later on, to models that take it.
func messagesSpeakers(history []said) *Error {
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
