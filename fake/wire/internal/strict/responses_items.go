package strict

import (
	"cmp"
	"encoding/base64"
	"slices"
	"strings"
)

// strict checks the items of a request against each other and against the responses.
func (p *scripted) strict(body object, items []object) *Error {
	previous := body.get("previous_response_id")
	before, known := p.answer(previous.string())
	if previous.isSet() && !known {
		return reject("SR-11", "Previous response with id '%s' not found.", previous.string()).at("previous_response_id", "previous_response_not_found")
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
	return reject("SR-10", "%s", message).at("input", "")
}

func checkDuplicates(before, items []object) *Error {
	seen := map[string]bool{}
	for _, it := range before {
		seen[it.text("id")] = true
	}
	return first(items, func(_ int, it object) *Error {
		id := it.text("id")
		if id != "" && seen[id] {
			return reject("SR-04", "Duplicate item found with id %s. Remove duplicate items from your input and try again.", id).at("input", "")
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
		return reject("SR-09", "The encrypted content %s could not be verified.", text).at("", "invalid_encrypted_content")
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

// checkReasoning rejects reasoning without the item after it, and a call without its
// reasoning.
func (p *scripted) checkReasoning(items []object) *Error {
	seen := map[string]bool{}
	for i, it := range items {
		id := it.text("id")
		switch kindOfItem(it) {
		case "reasoning":
			if i+1 == len(items) || !follows(items[i+1]) {
				return reject("SR-07", "Item '%s' of type 'reasoning' was provided without its required following item.", id).at("input", "")
			}
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
					return reject("SR-08", "Item '%s' of type 'function_call' was provided without its required 'reasoning' item: '%s'.", id, led).at("input", "")
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
				return reject("SR-02", "No tool call found for function call output with call_id %s.", id).at("input", "")
			case done[id]:
				return reject("SR-03", "Duplicate function_call_output for call_id '%s'. Each function_call must have exactly one matching function_call_output", id).at("input", "")
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
		return reject("SR-01", "No tool output found for function call %s.", id).at("input", "")
	}))
}
