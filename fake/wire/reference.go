package wire

import (
	"bytes"
	"strconv"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"

	"github.com/looptape/looptape/internal/jsonio"
)

// spelled returns the body of a request with the items of this lane's answers in
// place of the references to them, which Responses has. What cannot be found stays.
func (in inbound) spelled() []byte {
	if in.proto.Name() != responses || !bytes.Contains(in.body, []byte(`"item_reference"`)) || !gjson.ValidBytes(in.body) {
		return in.body
	}
	p := in.past(gjson.GetBytes(in.body, "model").Str)
	body := in.body
	for i, it := range objects(value(gjson.GetBytes(in.body, "input").Raw)) {
		if kindOfItem(it) != "item_reference" {
			continue
		}
		if said, _ := p.item(it.get("id").text()); said != nil {
			body, _ = sjson.SetRawBytes(body, "input."+strconv.Itoa(i), said.json()) // the path is there
		}
	}
	return body
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
