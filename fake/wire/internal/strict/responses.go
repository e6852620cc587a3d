package strict

import (
	"cmp"
	"encoding/base64"
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
		unknownParameter("", "", body, responsesSettings),
		responsesValues(body),
		responsesConversation(body, items),
	)
	if e != nil {
		return e
	}
	return in.scripted(model).strict(body, items)
}

// responsesConversation checks the tools, and each item alone.
func responsesConversation(body object, items []object) *Error {
	return cmp.Or(responsesTools(body.get("tools")), responsesChoice(body), responsesItems(items))
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
		path, kind := fmt.Sprintf("input[%d].", i), kindOfItem(it)
		e := checkItemID(path+"id", it)
		if known := itemMembers[kind]; e == nil && known != nil {
			e = unknownParameter("SR-17", path, it, known)
		}
		e = cmp.Or(e, incompleteItem(path, it), tooLong("SR-15", path+"call_id", it.text("call_id"), 64))
		if e == nil && kind == "function_call" {
			e = checkCalledName("", path+"name", it.text("name"))
		}
		if e != nil || it.text("role") != "assistant" {
			return e
		}
		return it.get("content").first(func(i int, part value) *Error {
			return checkWord("SR-12", fmt.Sprintf("%scontent[%d]", path, i), part.text("type"), "output_text", "refusal")
		})
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

func responsesValues(body object) *Error {
	input := body.get("input")
	elsewhere := func(key string) bool { return body.get(key).isSet() }
	switch {
	case !elsewhere("model") && !elsewhere("prompt"):
		return missingParameter("", "model")
	case (!input.isSet() || input.empty()) && !slices.ContainsFunc([]string{"previous_response_id", "prompt", "conversation"}, elsewhere):
		return reject("", `One of "input" or "previous_response_id" or 'prompt' or 'conversation_id' must be provided.`)
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

func responsesChoice(body object) *Error {
	choice := body.get("tool_choice")
	switch name := choice.text("name"); {
	case choice.string() == "required" && !body.get("tools").isSet():
		return reject("", "Tool choice 'required' must be specified with 'tools' parameter.").at("tool_choice", "")
	case choice.text("type") == "function" && !hasTool(body.get("tools"), name):
		return reject("", "Tool choice '%s' not found in 'tools' parameter.", name).at("tool_choice", "")
	}
	return nil
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

// strict checks the items of a request against each other and against the responses.
func (p *scripted) strict(body object, items []object) *Error {
	previous := body.get("previous_response_id")
	before, known := p.answer(previous.string())
	if previous.isSet() && !known {
		return reject("SR-11", "Previous response with id '%s' not found.", previous.string())
	}
	unstored := body.get("store") == "false"
	resolved := make([]object, len(items))
	for i, it := range items {
		resolved[i] = it
		if kindOfItem(it) == "item_reference" && !unstored {
			resolved[i], _ = p.item(it.text("id"))
		}
		if e := p.checkStored(it, resolved[i], unstored); e != nil {
			return e
		}
	}
	return cmp.Or(
		checkDuplicates(before, resolved),
		p.checkEncrypted(resolved),
		unfollowed(resolved),
		p.checkReasoning(resolved),
		answered(before, resolved),
	)
}

// checkStored rejects a reference to an item that is not stored.
func (p *scripted) checkStored(it, resolved object, unstored bool) *Error {
	id := it.text("id")
	switch kindOfItem(it) {
	case "item_reference":
		if resolved != nil && !unstored {
			return nil
		}
	case "reasoning":
		if !unstored || id == "" || it.get("encrypted_content").isSet() {
			return nil
		}
		if message, _ := p.item(id); message != nil && !message.get("encrypted_content").isSet() {
			return nil
		}
	default:
		return nil
	}
	message := "Item with id '" + id + "' not found."
	if unstored {
		message += " Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input."
	}
	return reject("SR-10", "%s", message)
}

func checkDuplicates(before, items []object) *Error {
	seen := map[string]bool{}
	for _, it := range before {
		seen[it.text("id")] = true
	}
	return first(items, func(_ int, it object) *Error {
		id := it.text("id")
		if id != "" && seen[id] {
			return reject("SR-04", "Duplicate item found with id %s. Remove duplicate items from your input and try again.", id)
		}
		seen[id] = true
		return nil
	})
}

// checkEncrypted rejects encrypted content that was changed.
func (p *scripted) checkEncrypted(items []object) *Error {
	return first(items, func(_ int, it object) *Error {
		text := it.text("encrypted_content")
		if kindOfItem(it) != "reasoning" || text == "" {
			return nil
		}
		message, _ := p.item(it.text("id"))
		if p.isOwn(text) && (message == nil || message.text("encrypted_content") == text) {
			return nil
		}
		if len(text) > 8 {
			text = text[:4] + "..." + text[len(text)-4:]
		}
		return reject("SR-09", "The encrypted content %s could not be verified.", text)
	})
}

// generatedPrefix begins encrypted content that the server generates. The item's id
// follows in base64.
const generatedPrefix = "gAAAAAB"

// isOwn reports whether encrypted content is from these sessions, or not from the
// server.
func (p *scripted) isOwn(text string) bool {
	rest, marked := strings.CutPrefix(text, generatedPrefix)
	if !marked || !strings.HasPrefix(rest, base64.RawURLEncoding.EncodeToString([]byte("rs_"))) {
		return true
	}
	id, _ := base64.RawURLEncoding.DecodeString(rest)
	_, ok := p.keyOf(string(id))
	return ok
}

// unfollowed rejects reasoning without the item after it.
func unfollowed(items []object) *Error {
	return first(items, func(i int, it object) *Error {
		if kindOfItem(it) != "reasoning" || i+1 < len(items) && follows(items[i+1]) {
			return nil
		}
		return reject("SR-07", "Item '%s' of type 'reasoning' was provided without its required following item.", it.text("id"))
	})
}

// checkReasoning rejects a call without its reasoning.
func (p *scripted) checkReasoning(items []object) *Error {
	seen := map[string]bool{}
	for _, it := range items {
		id := it.text("id")
		switch kindOfItem(it) {
		case "reasoning":
			seen[p.withoutAttempt(id)] = true
		case "function_call":
			if at, ok := p.keyOf(id); ok && !p.thinks(at) {
				continue // the response has no reasoning
			}
			_, before := p.item(id)
			for _, r := range slices.Backward(before) {
				if kindOfItem(r) != "reasoning" {
					continue
				}
				if led := r.text("id"); !seen[p.withoutAttempt(led)] {
					return reject("SR-08", "Item '%s' of type 'function_call' was provided without its required 'reasoning' item: '%s'.", id, led)
				}
				break
			}
		}
	}
	return nil
}

// withoutAttempt returns the id of an item without the attempt: the script may give a
// call the same id in each attempt.
func (p *scripted) withoutAttempt(id string) string {
	at, ok := p.keyOf(id)
	if !ok {
		return id
	}
	at.Attempt, at.Conversation = 0, ""
	kind, rest, _ := strings.Cut(id, "_")
	return kind + "_" + at.ID() + rest[strings.IndexByte(rest, '_')+1:]
}

func follows(it object) bool {
	kind := kindOfItem(it)
	return !strings.HasSuffix(kind, "_output") && (kind != "message" || it.text("role") == "assistant")
}

// answered rejects calls and outputs without each other. It includes the calls of
// the previous response.
func answered(before, items []object) *Error {
	called, done := map[string]bool{}, map[string]bool{}
	all := slices.Concat(before, items)
	e := first(all, func(_ int, it object) *Error {
		id := it.text("call_id")
		switch kindOfItem(it) {
		case "function_call", "custom_tool_call":
			called[id] = true
		case "function_call_output", "custom_tool_call_output":
			switch {
			case !called[id]:
				return reject("SR-02", "No tool call found for function call output with call_id %s.", id)
			case done[id]:
				return reject("SR-03", "Duplicate function_call_output for call_id '%s'. Each function_call must have exactly one matching function_call_output", id)
			}
			done[id] = true
		}
		return nil
	})
	return cmp.Or(e, first(all, func(_ int, it object) *Error {
		kind, id := kindOfItem(it), it.text("call_id")
		if done[id] || kind != "function_call" && kind != "custom_tool_call" {
			return nil
		}
		return reject("SR-01", "No tool output found for function call %s.", id)
	}))
}
