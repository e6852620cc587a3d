package wire

import (
	"bytes"
	"cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/internal/jsonio"
)

// spelled returns the body of a request with the whole conversation in it that
// Responses lets a client leave out: items of this lane's answers stand in place of
// the references to them, and the conversation that the answer before was given to, and
// that answer, in front of the others. What cannot be found stays as it is.
func (in inbound) spelled() []byte {
	if in.proto.Name() != responses || !refers(in.body) || !jsonio.Valid(in.body) {
		return in.body
	}
	d := jsonio.NewDec(jsonio.View(in.body))
	body := value(d.Raw()).object()
	p := in.past(body.get("model").text())
	before := body.get("previous_response_id").text()
	items, _ := p.answer(before)
	for i, m := range body {
		if m.key == "input" {
			body[i].value = p.spelled(in.asked[before], items, m.value)
		}
	}
	return body.json()
}

// refers reports whether a body may refer to what was said before.
func refers(body []byte) bool {
	return bytes.Contains(body, []byte("item_reference")) || bytes.Contains(body, []byte("previous_response_id"))
}

// inputs are those of the last requests to Responses that were answered.
type inputs struct {
	by    map[string]value // by the lane and the answer's id
	order []string
}

// mostInputs are as many as are kept in mind; the first are forgotten first.
const mostInputs = 1000

// asked returns what the answer was given to that a request goes on from, by its id;
// answers in other lanes have other ones.
func (x *exchange) asked(body []byte) map[string]value {
	if x.proto.Name() != responses || !refers(body) || !jsonio.Valid(body) {
		return nil
	}
	d := jsonio.NewDec(jsonio.View(body))
	id := value(d.Raw()).object().get("previous_response_id").text()
	x.server.mu.Lock()
	defer x.server.mu.Unlock()
	return map[string]value{id: x.server.inputs.by[x.lane+" "+id]}
}

// keep takes note of the input that a turn answers.
func (x *exchange) keep(body []byte, t *fake.Response) {
	if x.proto.Name() != responses {
		return
	}
	d := jsonio.NewDec(string(body))
	input := (&past{}).spelled("", nil, value(d.Raw()).object().get("input"))
	key := x.lane + " " + cmp.Or(t.ResponseID, "resp_"+x.place.name())
	x.server.mu.Lock()
	defer x.server.mu.Unlock()
	in := &x.server.inputs
	if in.by == nil {
		in.by = map[string]value{}
	}
	if _, known := in.by[key]; !known {
		in.order = append(in.order, key)
	}
	in.by[key] = input
	if len(in.order) > mostInputs {
		delete(in.by, in.order[0])
		in.order = in.order[1:]
	}
}

// spelled returns an input with another and these items in front.
func (p *past) spelled(before value, items []object, input value) value {
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
