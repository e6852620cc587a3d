package importer

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/importer/internal/message"
	"github.com/looptape/looptape/trace/importer/internal/tree"
)

// resultMembers are names that other tools have for the content of a result.
var resultMembers = []string{
	"content", "contents", "output", "outputs", "result", "results", "value", "text", "response", "responses", "data", "body", "message", "parts", "return_value", "tool_result", "tool_results",
	"tool_output", "tool_outputs", "tool_response", "function_result", "function_output", "observation", "observations",
}

// addCall adds the members of a call that were not read and may be its arguments, if it has none. The text of
// Gemini may be next to a call in one part.
func addCall(call llm.ToolCall, add func(format string, args ...any)) {
	if call.ProviderExecuted || call.Opaque == nil { // the other members are the provider's own
		return
	}
	if kind := tree.Member(call.Opaque, "type"); !tree.IsNull(kind) && !tree.IsText(kind) {
		add("the type of the call of %q is not a string", call.Name)
	}
	names := []string{"text", "block_input"} // the latter of LangChain
	if call.Arguments == "" || call.Arguments == "{}" || call.Arguments == "null" {
		names = append(names, message.ArgumentMembers...)
	}
	if unread := unreadMembers(call.Opaque, names, call.Arguments == ""); unread != nil {
		add("the call of %q has data that is not read, as %s", call.Name, strings.Join(unread, ", "))
	}
}

// addResult adds the members of a result, or of its message, that were not read and may be its content, if it
// has none.
func addResult(result llm.ToolResult, opaque json.RawMessage, add func(format string, args ...any)) {
	isContent := func(p llm.Part) bool {
		text, ok := p.(llm.Text)
		return !ok || text.Text != "" && text.Text != "{}"
	}
	if opaque == nil || slices.ContainsFunc(result.Content, isContent) {
		return
	}
	if unread := unreadMembers(opaque, resultMembers, false); unread != nil {
		add("the result of the call %q has no content that looptape reads; it has data as %s", result.ID, strings.Join(unread, ", "))
	}
}

// unreadMembers returns the names of the members of opaque data that are one of these names and not empty. Those
// of a function, or of one in Gemini's form, are members of the call or the result. If they are its own, an empty
// list or text is of another type than the arguments or the response that the reader would have taken.
func unreadMembers(opaque json.RawMessage, names []string, areOwn bool) (unread []string) {
	for name, value := range unknownMembers(opaque) {
		own := areOwn && slices.Contains([]string{"arguments", "args", "response"}, name) && value[0] != '{'
		switch {
		case slices.Contains([]string{"function", "custom", "function_call", "function_response"}, tree.Snake(name)) && value[0] == '{':
			unread = append(unread, unreadMembers(value, names, true)...)
		case slices.Contains(names, tree.Snake(name)) && (own || !message.IsEmpty(value)):
			unread = append(unread, strconv.Quote(name))
		}
	}
	return unread
}
