package strict

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// OpenAI rejects these values although no rule of the list names them. OpenAI-compatible
// servers accept wider ranges, more parts and other formats.

func chatValues(body object, model string) *Error {
	if model == "" {
		return reject("", "you must provide a model parameter")
	}
	choice := body.get("tool_choice").get("function").get("name").text()
	if choice != "" && !hasFunction(body.get("tools"), choice) {
		return reject("", "Tool choice '%s' not found in 'tools' parameter.", choice).at("tool_choice", "")
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
		chatParts(objects(body.get("messages"))),
	)
}

func checkTemperature(body object) *Error {
	temperature, hasTemperature := body.get("temperature").number()
	switch {
	case hasTemperature && temperature > 2:
		return reject("", "Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got %v instead.", temperature).at("temperature", "decimal_above_max_value")
	case hasTemperature && temperature < 0:
		return reject("", "Invalid 'temperature': decimal below minimum value. Expected a value >= 0, but got %v instead.", temperature).at("temperature", "decimal_below_min_value")
	}
	return nil
}

func atMost(key string, body object, limit int) *Error {
	n := len(objects(body.get(key)))
	if n <= limit {
		return nil
	}
	return reject("", "Invalid '%s': array too long. Expected an array with maximum length %d, but got an array with length %d instead.", key, limit, n).at(key, "array_above_max_length")
}

func atLeast(key string, body object, minimum float64) *Error {
	n, ok := body.get(key).number()
	if !ok || n >= minimum {
		return nil
	}
	return reject("", "Invalid '%s': integer below minimum value. Expected a value >= %v, but got %v instead.", key, minimum, n).at(key, "integer_below_min_value")
}

// efforts are those of all models.
var efforts = strings.Fields("none minimal low medium high xhigh max")

func checkEffort(param string, effort value) *Error {
	if !effort.isSet() || slices.Contains(efforts, effort.text()) {
		return nil
	}
	return reject("", "Invalid value: '%s'. Supported values are: '%s'.", effort.text(), strings.Join(efforts, "', '")).at(param, "invalid_value")
}

func hasFunction(tools value, name string) bool {
	for _, t := range tools.elements() {
		if t.get("function").get("name").text() == name {
			return true
		}
	}
	return false
}

func chatParts(history []object) *Error {
	for i, m := range history {
		for j, part := range m.get("content").elements() {
			kind, role := part.get("type").text(), m.get("role").text()
			if kind == "thinking" && role == "assistant" { // QO-28
				continue
			}
			switch kind {
			case "text", "input_audio", "refusal", "audio", "file":
			case "image_url":
				if role != "user" {
					return reject("", "Invalid 'messages[%d]'. Image URLs are only allowed for messages with role 'user', but this message with role '%s' contains an image URL.", i, role).at(fmt.Sprintf("messages[%d]", i), "invalid_value")
				}
			default:
				return reject("", "Invalid value: '%s'. Supported values are: 'text', 'image_url', 'input_audio', 'refusal', 'audio', and 'file'.", kind).at(fmt.Sprintf("messages[%d].content[%d].type", i, j), "invalid_value")
			}
		}
	}
	return nil
}

func responsesValues(body object) *Error {
	input := body.get("input")
	elsewhere := func(key string) bool { return body.get(key).isSet() }
	switch {
	case !elsewhere("model") && !elsewhere("prompt"):
		return missingParameter("", "model")
	case (!input.isSet() || input.empty()) && !slices.ContainsFunc([]string{"previous_response_id", "prompt", "conversation"}, elsewhere):
		return reject("", `One of "input" or "previous_response_id" or 'prompt' or 'conversation_id' must be provided.`)
	case body.get("tool_choice").text() == "required" && !elsewhere("tools"):
		return reject("", "Tool choice 'required' must be specified with 'tools' parameter.").at("tool_choice", "")
	}
	choice := body.get("tool_choice")
	if name := choice.get("name").text(); choice.get("type").text() == "function" && !hasTool(body.get("tools"), name) {
		return reject("", "Tool choice '%s' not found in 'tools' parameter.", name).at("tool_choice", "")
	}
	if !isOpenAIs(body.get("model").text()) {
		return nil
	}
	format := body.get("text").get("format")
	return cmp.Or(
		checkTemperature(body),
		atLeast("max_output_tokens", body, 16),
		checkEffort("reasoning.effort", body.get("reasoning").get("effort")),
		checkFormat(format, format, responsesFormat),
	)
}

var itemKinds = strings.Fields(`
	additional_tools apply_patch_call apply_patch_call_output code_interpreter_call compaction compaction_trigger
	computer_call computer_call_output configuration_update custom_tool_call custom_tool_call_output file_search_call
	function_call function_call_output image_generation_call item_reference local_shell_call local_shell_call_output
	mcp_approval_request mcp_approval_response mcp_call mcp_list_tools message program program_output reasoning
	shell_call shell_call_output tool_search_call tool_search_output web_search_call`)

// incompleteItem rejects an unknown type, and an item without a required member.
func incompleteItem(path string, it object) *Error {
	kind := kindOfItem(it)
	if kind != "" && !slices.Contains(itemKinds, kind) {
		return reject("", "Invalid value: '%s'. Supported values are: %s.", kind, "'"+strings.Join(itemKinds, "', '")+"'").at(strings.TrimSuffix(path, "."), "invalid_value")
	}
	id := it.get("call_id")
	switch {
	case kind != "function_call" && kind != "function_call_output":
		return nil
	case !id.isSet():
		return missingParameter("", path+"call_id")
	case id.text() == "":
		return reject("", "Invalid '%scall_id': empty string. Expected a string with minimum length 1, but got an empty string instead.", path).at(path+"call_id", "empty_string")
	case kind == "function_call_output" && !it.get("output").isSet():
		return missingParameter("", path+"output")
	}
	return nil
}
