package importer

import (
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

// addCall adds those of the members of a call that were not read and may be its arguments, if it has none. The text of
// Gemini may be next to a call in one part.
func addCall(call llm.ToolCall, members []member, add func(format string, args ...any)) {
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
	if unread := unreadMembers(members, names, call.Arguments == ""); unread != nil {
		add("the call of %q has data that is not read, as %s", call.Name, strings.Join(unread, ", "))
	}
}

// aboutResult are members of results, and of their messages, that are not content.
var aboutResult = tree.Set(
	"id", "uuid", "type", "role", "name", "tool_name", "toolname", "tool", "call_id", "tool_call_id", "toolcallid", "tool_use_id", "tooluseid", "source_call_id", "status", "index", "model", "requestor", "author", "agent", "sender", "session_id", "sessionid", "run_id", "thread_id", "parent_id", "title", "version",
	"function_response", "functionresponse", "subagent_trajectory_ref", "metadata", "artifact", "additional_kwargs", "response_metadata", "extra", "annotations", "cache_control", "records", "timestamp", "created_at", "createdat", "date", "time",
)

// addResult adds the members of a result, or of its message, that were not read and may be its content: all with data
// if it has none, and otherwise those with other text under a name for content. [addContent] adds some of those of a message.
func addResult(result llm.ToolResult, members []member, ofMessage bool, add func(format string, args ...any)) {
	isContent := func(p llm.Part) bool {
		text, ok := p.(llm.Text)
		return !ok || text.Text != "" && text.Text != "{}"
	}
	read := func() string { return textOf(result) }
	for _, m := range members {
		name, value := m.name, m.value
		isCalls := slices.Contains([]string{"tool_calls", "function_call", "toolInvocations"}, name) && !message.IsEmpty(value)
		if !ofMessage && (isCalls || isAssistantText(name, value, read)) {
			add("the result of the call %q has data that is not read, as %q", result.ID, name)
		}
	}
	if slices.ContainsFunc(result.Content, isContent) {
		for _, m := range members {
			name, value := m.name, m.value
			if slices.Contains(resultMembers[1:], tree.Snake(name)) && !(ofMessage && message.IsTextMember(name, value, read)) && message.HasOtherText(value, read()) {
				add("the result of the call %q has text that is not read, as %q", result.ID, name)
			}
		}
		return
	}
	unread := unreadMembers(members, resultMembers, false)
	for _, m := range members {
		name, value := m.name, m.value
		if result.Content != nil { // it is empty, and so may be what the tool returned
			break
		}
		isData := tree.IsText(value) || value[0] == '{' || value[0] == '['
		if quoted := strconv.Quote(name); isData && !message.IsEmpty(value) && !aboutResult[strings.ToLower(name)] && !slices.Contains(unread, quoted) {
			unread = append(unread, quoted)
		}
	}
	if unread != nil {
		add("the result of the call %q has no content that looptape reads; it has data as %s", result.ID, strings.Join(unread, ", "))
	}
}

// unreadMembers returns the names of the members of opaque data that are one of these names and not empty. Those
// of a function, or of one in Gemini's form, are members of the call or the result. If they are its own, an empty
// list or text is of another type than the arguments or the response that the reader would have taken.
func unreadMembers(members []member, names []string, areOwn bool) (unread []string) {
	for _, m := range members {
		name, value := m.name, m.value
		own := areOwn && slices.Contains([]string{"arguments", "args", "response"}, name) && value[0] != '{' && !tree.IsNull(value) // null shows that there were none
		switch {
		case slices.Contains([]string{"function", "custom", "function_call", "function_response"}, tree.Snake(name)) && value[0] == '{':
			unread = append(unread, unreadMembers(unknownMembers(nil, value), names, true)...)
		case slices.Contains(names, tree.Snake(name)) && (own || !message.IsEmpty(value)):
			unread = append(unread, strconv.Quote(name))
		}
	}
	return unread
}
