package strict

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// strictChat checks a request by the rules of Chat Completions (SO-01 to SO-20).
func strictChat(in Request, body object) *Error {
	model := body.text("model")
	return cmp.Or(
		unknownOpenAI(in, model),
		unknownChatSetting(body, model),
		chatFields(body, model),
		chatValues(body, model),
		chatConversation(body, model),
	)
}

// chatConversation checks the tools and the messages.
func chatConversation(body object, model string) *Error {
	history := objects(body.get("messages"))
	return cmp.Or(
		onlyWithTools("SO-18", body, "tool_choice"),
		chatTools(body.get("tools")),
		chatChoice(body),
		chatParts(history, model),
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
		return reject("SO-13", "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.")
	}
	return onlyWithTools("SO-12", body, "parallel_tool_calls")
}

func isReasoning(model string) bool {
	return !strings.HasPrefix(model, "gpt-5-chat") && hasPrefix(model, "o1", "o3", "o4", "gpt-5")
}

func hasPrefix(text string, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(text, prefix) })
}

func chatTools(tools value) *Error {
	return tools.first(func(i int, t value) *Error {
		f := t.get("function").object()
		if f == nil { // another kind of tool
			return nil
		}
		path, name := fmt.Sprintf("tools[%d].function.", i), f.text("name")
		return cmp.Or(
			checkName("SO-08", path+"name", name),
			tooLong("SO-15", path+"description", f.text("description"), 1024),
			checkFunction("SO-11", path+"parameters", name, f.get("parameters"), f.get("strict") == "true"),
		)
	})
}

func chatMessages(history []object, model string) *Error {
	return first(history, func(i int, m object) *Error {
		path := fmt.Sprintf("messages[%d].", i)
		role, calls := m.text("role"), m.get("tool_calls")
		switch e := checkWord("", path+"role", role, "system", "assistant", "user", "function", "tool", "developer"); {
		case e != nil:
			return e
		case (role == "system" || role == "developer") && hasPrefix(model, "o1-mini", "o1-preview"):
			return reject("SO-14", "Unsupported value: '%srole' does not support '%s' with this model.", path, role).at(path+"role", "unsupported_value")
		case calls.empty():
			return emptyArray("SO-05", path+"tool_calls")
		}
		return calls.first(func(j int, c value) *Error {
			return chatCall(fmt.Sprintf("%stool_calls[%d].", path, j), c.object(), model)
		})
	})
}

func chatCall(path string, c object, model string) *Error {
	var e *Error
	if !isGateway(model) {
		e = tooLong("SO-10", path+"id", c.text("id"), 40)
	}
	if f := c.get("function").object(); f != nil {
		e = cmp.Or(e, checkCalledName("SO-09", path+"function.name", f.text("name")), checkArguments(path+"function.arguments", f.get("arguments")))
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
		if m.text("role") == "tool" {
			if e := open.result(i, m.text("tool_call_id")); e != nil {
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
	other := []string{"tool_calls", "function_call", "refusal", "audio"}
	return slices.ContainsFunc(other, func(key string) bool { return m.get(key).isSet() })
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
		id := call.text("id")
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
	if !hasPrefix(model, "mistral/", "mistral-") {
		return nil
	}
	for i, m := range history {
		open := len(objects(m.get("tool_calls")))
		if open == 0 {
			continue
		}
		for _, r := range history[i+1:] {
			if r.text("role") != "tool" {
				break
			}
			open--
		}
		if open != 0 {
			return reject("SO-20", "Not the same number of function calls and responses")
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
		if m.text("role") == "user" {
			from = i
		}
	}
	for i, m := range history[from:] {
		if m.get("tool_calls").isSet() && !m.get("reasoning_content").isSet() {
			return reject("SO-19", "Missing `reasoning_content` field in the assistant message at message index %d.", from+i)
		}
	}
	return nil
}

func chatValues(body object, model string) *Error {
	if model == "" {
		return reject("", "you must provide a model parameter")
	}
	if !isOpenAIs(model) {
		return nil
	}
	if body.get("stream_options").isSet() && body.get("stream") != "true" {
		return reject("", "The 'stream_options' parameter is only allowed when 'stream' is enabled.").at("stream_options", "")
	}
	format := body.get("response_format")
	return cmp.Or(
		checkTemperature(body),
		atMost("stop", body, 4),
		atMost("tools", body, 128),
		atLeast("n", body, 1),
		checkEffort("reasoning_effort", body.get("reasoning_effort")),
		checkFormat(format, format.get("json_schema"), chatFormat),
	)
}

func chatChoice(body object) *Error {
	choice := body.get("tool_choice").get("function").text("name")
	isChoice := func(t object) bool { return t.get("function").text("name") == choice }
	if choice == "" || slices.ContainsFunc(objects(body.get("tools")), isChoice) {
		return nil
	}
	return reject("", "Tool choice '%s' not found in 'tools' parameter.", choice).at("tool_choice", "")
}

func chatParts(history []object, model string) *Error {
	if !isOpenAIs(model) {
		return nil
	}
	return first(history, func(i int, m object) *Error {
		role := m.text("role")
		return m.get("content").first(func(j int, part value) *Error {
			kind := part.text("type")
			switch {
			case kind == "thinking" && role == "assistant": // QO-28
				return nil
			case kind == "image_url" && role != "user":
				return reject("", "Invalid 'messages[%d]'. Image URLs are only allowed for messages with role 'user', but this message with role '%s' contains an image URL.", i, role).at(fmt.Sprintf("messages[%d]", i), "invalid_value")
			}
			return checkWord("", fmt.Sprintf("messages[%d].content[%d].type", i, j), kind, "text", "image_url", "input_audio", "refusal", "audio", "file")
		})
	})
}
