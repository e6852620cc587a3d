package strict

import (
	"cmp"
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
)

// strict holds the items of a Responses request to each other and to the past.
func (p *past) strict(body object, items []object) *Error {
	previous := body.get("previous_response_id")
	before, known := p.answer(previous.text())
	if previous.given() && !known {
		return reject("SR-11", "Previous response with id '%s' not found.", previous.text()).at("previous_response_id", "previous_response_not_found")
	}
	unstored := body.get("store") == "false"
	resolved := make([]object, len(items))
	for i, it := range items {
		resolved[i] = it
		if kindOfItem(it) == "item_reference" && !unstored {
			resolved[i], _ = p.item(it.get("id").text())
		}
		if e := p.kept(it, resolved[i], unstored); e != nil {
			return e
		}
	}
	return cmp.Or(
		repeated(before, resolved),
		p.genuine(resolved),
		p.reasoned(resolved),
		answered(before, resolved),
	)
}

// kept refuses an item by its id alone that nobody keeps.
func (p *past) kept(it, resolved object, unstored bool) *Error {
	id := it.get("id").text()
	switch kindOfItem(it) {
	case "item_reference":
		if resolved != nil && !unstored {
			return nil
		}
	case "reasoning":
		if !unstored || id == "" || it.get("encrypted_content").given() {
			return nil
		}
		if said, _ := p.item(id); said != nil && !said.get("encrypted_content").given() {
			return nil
		}
	default:
		return nil
	}
	message := "Item with id '" + id + "' not found."
	if unstored {
		message += " Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input."
	}
	e := reject("SR-10", "%s", message).at("input", "")
	e.Status = http.StatusNotFound
	return e
}

// repeated refuses an item that is there already.
func repeated(before, items []object) *Error {
	seen := map[string]bool{}
	for _, it := range before {
		seen[it.get("id").text()] = true
	}
	for _, it := range items {
		id := it.get("id").text()
		if id != "" && seen[id] {
			return reject("SR-04", "Duplicate item found with id %s. Remove duplicate items from your input and try again.", id).at("input", "")
		}
		seen[id] = true
	}
	return nil
}

// genuine refuses encrypted content that is not as it was sent.
func (p *past) genuine(items []object) *Error {
	for _, it := range items {
		text := it.get("encrypted_content").text()
		if kindOfItem(it) != "reasoning" || text == "" {
			continue
		}
		said, _ := p.item(it.get("id").text())
		if said != nil && said.get("encrypted_content").text() != text || !p.ours(text) {
			shown := text
			if len(text) > 8 {
				shown = text[:4] + "..." + text[len(text)-4:]
			}
			return reject("SR-09", "The encrypted content %s could not be verified.", shown).at("", "invalid_encrypted_content")
		}
	}
	return nil
}

// madeUp is how the encrypted content begins that the server makes up: behind it is
// the id of its item, in base64.
const madeUp = "gAAAAAB"

// ours reports whether encrypted content is of these lanes, if the server made it up;
// any other is.
func (p *past) ours(text string) bool {
	rest, marked := strings.CutPrefix(text, madeUp)
	if !marked || !strings.HasPrefix(rest, base64.RawURLEncoding.EncodeToString([]byte("rs_"))) {
		return true
	}
	id, _ := base64.RawURLEncoding.DecodeString(rest)
	_, ok := p.madeBy(string(id))
	return ok
}

// reasoned refuses reasoning without what it led to, and a call without the
// reasoning that led to it.
func (p *past) reasoned(items []object) *Error {
	seen := map[string]bool{}
	for i, it := range items {
		id := it.get("id").text()
		switch kindOfItem(it) {
		case "reasoning":
			if i+1 == len(items) || !follows(items[i+1]) {
				return reject("SR-07", "Item '%s' of type 'reasoning' was provided without its required following item.", id).at("input", "")
			}
			seen[p.anyTry(id)] = true
		case "function_call":
			if at, ok := p.madeBy(id); ok && !p.thinks(at) {
				continue // as in most turns: they need not be made again
			}
			_, before := p.item(id)
			for _, r := range slices.Backward(before) {
				if kindOfItem(r) != "reasoning" {
					continue
				}
				if led := r.get("id").text(); !seen[p.anyTry(led)] {
					return reject("SR-08", "Item '%s' of type 'function_call' was provided without its required 'reasoning' item: '%s'.", id, led).at("input", "")
				}
				break
			}
		}
	}
	return nil
}

// anyTry is the id of an item without the attempt, if the server made it: a call
// that has its id from the script has it in each of them.
func (p *past) anyTry(id string) string {
	at, ok := p.madeBy(id)
	if !ok {
		return id
	}
	at.Attempt, at.Conversation = 0, ""
	kind, rest, _ := strings.Cut(id, "_")
	return kind + "_" + at.ID() + rest[strings.IndexByte(rest, '_')+1:]
}

// follows reports whether an item can come after reasoning.
func follows(it object) bool {
	kind := kindOfItem(it)
	return !strings.HasSuffix(kind, "_output") && (kind != "message" || it.get("role").text() == "assistant")
}

// answered refuses calls and outputs that do not belong together. The calls of the
// answer before are to be answered too.
func answered(before, items []object) *Error {
	called, done := map[string]bool{}, map[string]bool{}
	all := slices.Concat(before, items)
	for _, it := range all {
		id := it.get("call_id").text()
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
	}
	for _, it := range all {
		switch kindOfItem(it) {
		case "function_call", "custom_tool_call":
			if id := it.get("call_id").text(); !done[id] {
				return reject("SR-01", "No tool output found for function call %s.", id).at("input", "")
			}
		}
	}
	return nil
}
