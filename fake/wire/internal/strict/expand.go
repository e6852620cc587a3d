package strict

import (
	"bytes"

	"github.com/looptape/looptape/fake/wire/internal/reply"
	"github.com/looptape/looptape/internal/jsonio"
)

// Expanded returns the body of a request with the complete conversation, which clients
// of Responses may omit. It replaces references by the items of the session's responses.
// It inserts the input and the output of the previous response. It keeps unknown
// references.
func (in Request) Expanded() []byte {
	refers := bytes.Contains(in.Body, []byte("item_reference")) || bytes.Contains(in.Body, []byte("previous_response_id"))
	if in.Protocol.Name() != reply.Responses || !refers || !jsonio.Valid(in.Body) {
		return in.Body
	}
	body := parse(in.Body).object()
	p := in.scripted(body.text("model"))
	previous := body.text("previous_response_id")
	items, _ := p.answer(previous)
	for i, m := range body {
		if m.key == "input" {
			body[i].value = p.expanded(value(in.Input(previous)), items, m.value)
		}
	}
	return body.json()
}

// Input returns the input of an expanded request to Responses as a JSON array.
func Input(body []byte) string {
	return string((&scripted{}).expanded("", nil, parse(body).get("input")))
}

// expanded returns the elements of before, the items and the elements of input.
func (p *scripted) expanded(before value, items []object, input value) value {
	dst := append(make([]byte, 0, len(before)+len(input)+2), '[')
	add := func(item []byte) {
		if len(dst) > 1 {
			dst = append(dst, ',')
		}
		dst = append(dst, item...)
	}
	for _, v := range before.elements() {
		add([]byte(v))
	}
	for _, it := range items {
		add(it.json())
	}
	if input.is('"') {
		add([]byte(`{"role":"user","content":` + string(input) + `}`))
	}
	for _, v := range input.elements() {
		item := []byte(v)
		if o := v.object(); kindOfItem(o) == "item_reference" {
			if own, _ := p.item(o.text("id")); own != nil {
				item = own.json()
			}
		}
		add(item)
	}
	return value(append(dst, ']'))
}
