package strict

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/looptape/looptape/fake/wire/internal/reply"
)

// strictChat checks a request by the rules of Chat Completions (SO-01 to SO-20).
func strictChat(in Request, body object) *Error {
	model := body.get("model").text()
	history := objects(body.get("messages"))
	return cmp.Or(
		unknownOpenAI(in, model),
		unknownChatSetting(body, model),
		chatFields(body, model),
		chatTools(body.get("tools")),
		chatValues(body, model),
		chatMessages(history, model),
		mistralCounts(history, model),
		chatOrder(history),
		deepSeekReasoning(history, model),
	)
}

func chatFields(body object, model string) *Error {
	switch {
	case body.get("messages").empty():
		return emptyArray("SO-06", "messages")
	case !body.get("messages").isSet():
		return missingParameter("", "messages")
	case body.get("tools").empty():
		return emptyArray("", "tools")
	case isReasoning(model) && body.get("max_tokens").isSet():
		return reject("SO-13", "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.").at("max_tokens", "unsupported_parameter")
	}
	return cmp.Or(onlyWithTools("SO-12", body, "parallel_tool_calls"), onlyWithTools("SO-18", body, "tool_choice"))
}

func isReasoning(model string) bool {
	if strings.HasPrefix(model, "gpt-5-chat") {
		return false
	}
	return slices.ContainsFunc([]string{"o1", "o3", "o4", "gpt-5"}, func(prefix string) bool { return strings.HasPrefix(model, prefix) })
}

func takesSystem(model string) bool {
	return !strings.HasPrefix(model, "o1-mini") && !strings.HasPrefix(model, "o1-preview")
}

func chatTools(tools value) *Error {
	for i, t := range tools.elements() {
		f := t.get("function").object()
		if f == nil { // another kind of tool
			continue
		}
		path, name := fmt.Sprintf("tools[%d].function.", i), f.get("name").text()
		if e := cmp.Or(
			checkName("SO-08", path+"name", name),
			tooLong("SO-15", path+"description", f.get("description").text(), 1024),
			checkFunction("SO-11", path+"parameters", name, f.get("parameters"), f.get("strict") == "true"),
		); e != nil {
			return e
		}
	}
	return nil
}

func chatMessages(history []object, model string) *Error {
	for i, m := range history {
		path := fmt.Sprintf("messages[%d].", i)
		role := m.get("role").text()
		switch role {
		case "user", "assistant", "tool", "function":
		case "system", "developer":
			if !takesSystem(model) {
				return reject("SO-14", "Unsupported value: '%srole' does not support '%s' with this model.", path, role).at(path+"role", "unsupported_value")
			}
		default:
			return reject("", "Invalid value: '%s'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'.", role).at(path+"role", "invalid_value")
		}
		calls := m.get("tool_calls")
		if calls.empty() {
			return emptyArray("SO-05", path+"tool_calls")
		}
		for j, c := range calls.elements() {
			if e := chatCall(fmt.Sprintf("%stool_calls[%d].", path, j), c.object(), model); e != nil {
				return e
			}
		}
	}
	return nil
}

func chatCall(path string, c object, model string) *Error {
	var e *Error
	if !isGateway(model) {
		e = tooLong("SO-10", path+"id", c.get("id").text(), 40)
	}
	if f := c.get("function").object(); f != nil {
		e = cmp.Or(e, checkCalledName("SO-09", path+"function.name", f.get("name").text()), checkArguments(path+"function.arguments", f.get("arguments")))
	}
	if e == nil && !c.get("type").isSet() {
		e = missingParameter("", path+"type")
	}
	return e
}

func checkArguments(param string, args value) *Error {
	if !args.is('{') {
		return nil
	}
	return reject("", "Invalid type for '%s': expected a string, but got an object instead.", param).at(param, "invalid_type")
}

// isGateway reports whether the name of a model has the form of gateways (z-ai/glm-4.6), which
// accept longer call ids.
func isGateway(model string) bool {
	maker, _, ok := strings.Cut(model, "/")
	return ok && maker != "openai"
}

func chatOrder(history []object) *Error {
	var open openCalls
	for i, m := range history {
		calls := m.get("tool_calls")
		if m.get("role").text() == "tool" {
			if e := open.result(i, m.get("tool_call_id").text()); e != nil {
				return e
			}
		} else {
			if e := open.end(i); e != nil {
				return e
			}
			open = openCallsOf(calls)
		}
		if !m.get("content").isSet() && !hasOtherContent(m) {
			return reject("SO-07", "Invalid value for 'content': expected a string, got null.").at(fmt.Sprintf("messages.[%d].content", i), "")
		}
	}
	return open.end(len(history) - 1)
}

// hasOtherContent reports whether a message may omit its content.
func hasOtherContent(m object) bool {
	for _, key := range []string{"tool_calls", "function_call", "refusal", "audio"} {
		if m.get(key).isSet() {
			return true
		}
	}
	return false
}

// openCalls are the calls of the last assistant message, and the index of the message
// that answers each, or 0.
type openCalls struct {
	ids      []string
	answered map[string]int
}

func openCallsOf(calls value) (c openCalls) {
	for _, call := range calls.elements() {
		if c.answered == nil {
			c.answered = map[string]int{}
		}
		id := call.get("id").text()
		c.ids = append(c.ids, id)
		c.answered[id] = 0
	}
	return c
}

func (c openCalls) result(i int, id string) *Error {
	path := fmt.Sprintf("messages.[%d].", i)
	before, called := c.answered[id]
	switch {
	case id == "":
		return reject("SO-04", "Missing parameter 'tool_call_id': messages with role 'tool' must have a 'tool_call_id'.").at(path+"tool_call_id", "")
	case !called:
		return reject("SO-02", "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."). //nolint:misspell // as the provider writes it
																			at(path+"role", "")
	case before > 0:
		return reject("SO-03", "Invalid parameter: Duplicate value for 'tool_call_id' of '%s', in messages[%d] and messages[%d].", id, before, i).at(path+"tool_call_id", "")
	}
	c.answered[id] = i
	return nil
}

// end rejects calls that have no result before message i.
func (c openCalls) end(i int) *Error {
	open := slices.DeleteFunc(slices.Clone(c.ids), func(id string) bool { return c.answered[id] > 0 })
	if len(open) == 0 {
		return nil
	}
	return reject("SO-01", "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: %s", strings.Join(open, ", ")).
		at(fmt.Sprintf("messages.[%d].role", i), "")
}

func mistralCounts(history []object, model string) *Error {
	if !strings.HasPrefix(model, "mistral/") && !strings.HasPrefix(model, "mistral-") {
		return nil
	}
	for i, m := range history {
		open := 0
		for range m.get("tool_calls").elements() {
			open++
		}
		if open == 0 {
			continue
		}
		for _, r := range history[i+1:] {
			if r.get("role").text() != "tool" {
				break
			}
			open--
		}
		if open != 0 {
			e := reject("SO-20", "Not the same number of function calls and responses").at("", "3230")
			e.Type = "invalid_request_message_order"
			return e
		}
	}
	return nil
}

// deepSeekReasoning rejects calls since the last user message without reasoning, as
// DeepSeek's thinking models do.
func deepSeekReasoning(history []object, model string) *Error {
	if !strings.HasPrefix(model, "deepseek-reasoner") {
		return nil
	}
	from := 0
	for i, m := range history {
		if m.get("role").text() == "user" {
			from = i
		}
	}
	for i, m := range history[from:] {
		if m.get("tool_calls").isSet() && !m.get("reasoning_content").isSet() {
			return reject("SO-19", "Missing `reasoning_content` field in the assistant message at message index %d.", from+i).at("", reply.InvalidRequest)
		}
	}
	return nil
}
