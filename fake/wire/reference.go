package wire

import (
	"bytes"

	"github.com/looptape/looptape/internal/jsonio"
)

// spelled returns the body of a request with the whole conversation in it that
// Responses lets a client leave out: items of this lane's answers stand in place of
// the references to them, and those of the answer before in front of the others.
// What cannot be found stays as it is.
func (in inbound) spelled() []byte {
	if in.proto.Name() != responses || !refers(in.body) || !jsonio.Valid(in.body) {
		return in.body
	}
	d := jsonio.NewDec(jsonio.View(in.body))
	body := value(d.Raw()).object()
	p := in.past(body.get("model").text())
	items, _ := p.answer(body.get("previous_response_id").text())
	for i, m := range body {
		if m.key == "input" {
			body[i].value = p.spelled(items, m.value)
		}
	}
	return body.json()
}

// refers reports whether a body may refer to what was said before.
func refers(body []byte) bool {
	return bytes.Contains(body, []byte("item_reference")) || bytes.Contains(body, []byte("previous_response_id"))
}

// spelled returns an input with these items in front.
func (p *past) spelled(items []object, input value) value {
	dst := []byte{'['}
	add := func(item []byte) {
		if len(dst) > 1 {
			dst = append(dst, ',')
		}
		dst = append(dst, item...)
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
			if said, _ := p.item(o.get("id").text()); said != nil {
				item = said.json()
			}
		}
		add(item)
	}
	return value(append(dst, ']'))
}

// json writes the object.
func (o object) json() []byte {
	dst := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(jsonio.AppendString(dst, m.key), ':'), m.value...)
	}
	return append(dst, '}')
}
