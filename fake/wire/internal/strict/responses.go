package strict

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/looptape/looptape/providers/protocol"
)

// strictResponses checks a request by the rules of Responses (SR-01 to SR-17).
func strictResponses(in Request, body object) *Error {
	model := body.text("model")
	items := objects(body.get("input"))
	e := cmp.Or(
		unknownOpenAI(in, model),
		unknownResponsesSetting(body),
		responsesTools(body.get("tools")),
		responsesItems(items),
		responsesValues(body),
	)
	if e != nil {
		return e
	}
	return in.scripted(model).strict(body, items)
}

func responsesTools(tools value) *Error {
	return tools.first(func(i int, t value) *Error {
		o := t.object()
		if kind := o.text("type"); kind != "function" && kind != "custom" {
			return nil
		}
		path, name := fmt.Sprintf("tools[%d].", i), o.get("name")
		if !name.isSet() {
			return missingParameter("SR-13", path+"name")
		}
		strict := o.get("strict")
		return cmp.Or(
			checkName("SR-14", path+"name", name.string()),
			checkFunction("SR-16", path+"parameters", name.string(), o.get("parameters"), strict == "" || strict == "true"),
		)
	})
}

func responsesItems(items []object) *Error {
	return first(items, func(i int, it object) *Error {
		path := fmt.Sprintf("input[%d].", i)
		return cmp.Or(
			checkItemID(path+"id", it),
			unknownMember(path, it),
			incompleteItem(path, it),
			tooLong("SR-15", path+"call_id", it.text("call_id"), 64),
			checkCallName(path+"name", it),
			checkContent(path, it),
		)
	})
}

var itemPrefixes = map[string]string{"function_call": "fc", "message": "msg", "reasoning": "rs"}

func checkItemID(param string, it object) *Error {
	id := it.get("id")
	if !id.isSet() {
		return nil
	}
	text := id.string()
	if !protocol.IsName(text) {
		return reject("SR-06", "Invalid '%s': '%s'. Expected an ID that contains letters, numbers, underscores, or dashes, but this value contained additional characters.", param, text).at(param, "")
	}
	prefix := itemPrefixes[kindOfItem(it)]
	if !strings.HasPrefix(text, prefix) {
		return reject("SR-05", "Invalid '%s': '%s'. Expected an ID that begins with '%s'.", param, text, prefix).at(param, "invalid_value")
	}
	return nil
}

func kindOfItem(it object) string {
	if kind := it.text("type"); kind != "" || !it.get("role").isSet() {
		return kind
	}
	return "message"
}

// itemMembers are the members of the items that are checked.
var itemMembers = map[string][]string{
	"message":              {"type", "role", "content", "id", "status", "phase"},
	"reasoning":            {"type", "id", "summary", "content", "encrypted_content"},
	"function_call":        {"type", "id", "call_id", "name", "namespace", "arguments", "status"},
	"function_call_output": {"type", "id", "call_id", "output", "status"},
	"item_reference":       {"type", "id"},
}

func unknownMember(path string, it object) *Error {
	known, ok := itemMembers[kindOfItem(it)]
	if !ok {
		return nil
	}
	for _, m := range it {
		if !slices.Contains(known, m.key) {
			return reject("SR-17", "Unknown parameter: '%s%s'.", path, m.key).at(path+m.key, "unknown_parameter")
		}
	}
	return nil
}

func checkCallName(param string, it object) *Error {
	if kindOfItem(it) != "function_call" {
		return nil
	}
	return checkCalledName("", param, it.text("name"))
}

func checkContent(path string, it object) *Error {
	if it.text("role") != "assistant" {
		return nil
	}
	return it.get("content").first(func(i int, part value) *Error {
		return checkWord("SR-12", fmt.Sprintf("%scontent[%d]", path, i), part.text("type"), "output_text", "refusal")
	})
}

func responsesValues(body object) *Error {
	input := body.get("input")
	elsewhere := func(key string) bool { return body.get(key).isSet() }
	switch {
	case !elsewhere("model") && !elsewhere("prompt"):
		return missingParameter("", "model")
	case (!input.isSet() || input.empty()) && !slices.ContainsFunc([]string{"previous_response_id", "prompt", "conversation"}, elsewhere):
		return reject("", `One of "input" or "previous_response_id" or 'prompt' or 'conversation_id' must be provided.`)
	case body.text("tool_choice") == "required" && !elsewhere("tools"):
		return reject("", "Tool choice 'required' must be specified with 'tools' parameter.").at("tool_choice", "")
	}
	choice := body.get("tool_choice")
	if name := choice.text("name"); choice.text("type") == "function" && !hasTool(body.get("tools"), name) {
		return reject("", "Tool choice '%s' not found in 'tools' parameter.", name).at("tool_choice", "")
	}
	if !isOpenAIs(body.text("model")) {
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
	case id.string() == "":
		return emptyString("", path+"call_id")
	case kind == "function_call_output" && !it.get("output").isSet():
		return missingParameter("", path+"output")
	}
	return nil
}
