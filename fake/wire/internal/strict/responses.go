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
	model := body.get("model").text()
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
	for i, t := range tools.elements() {
		o := t.object()
		kind := o.get("type").text()
		if kind != "function" && kind != "custom" {
			continue
		}
		path, name := fmt.Sprintf("tools[%d].", i), o.get("name")
		if !name.isSet() {
			return missingParameter("SR-13", path+"name")
		}
		strict := o.get("strict")
		if e := cmp.Or(
			checkName("SR-14", path+"name", name.text()),
			checkFunction("SR-16", path+"parameters", name.text(), o.get("parameters"), strict == "" || strict == "true"),
		); e != nil {
			return e
		}
	}
	return nil
}

func responsesItems(items []object) *Error {
	for i, it := range items {
		path := fmt.Sprintf("input[%d].", i)
		if e := cmp.Or(
			checkItemID(path+"id", it),
			unknownMember(path, it),
			incompleteItem(path, it),
			tooLong("SR-15", path+"call_id", it.get("call_id").text(), 64),
			checkCallName(path+"name", it),
			checkContent(path, it),
		); e != nil {
			return e
		}
	}
	return nil
}

var itemPrefixes = map[string]string{"function_call": "fc", "message": "msg", "reasoning": "rs"}

func checkItemID(param string, it object) *Error {
	id := it.get("id")
	if !id.isSet() {
		return nil
	}
	text := id.text()
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
	if kind := it.get("type").text(); kind != "" || !it.get("role").isSet() {
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
	return checkCalledName("", param, it.get("name").text())
}

func checkContent(path string, it object) *Error {
	if it.get("role").text() != "assistant" {
		return nil
	}
	for i, part := range it.get("content").elements() {
		switch kind := part.get("type").text(); kind {
		case "output_text", "refusal":
		default:
			param := fmt.Sprintf("%scontent[%d]", path, i)
			return reject("SR-12", "Invalid value: '%s'. Supported values are: 'output_text' and 'refusal'.", kind).at(param, "invalid_value")
		}
	}
	return nil
}
