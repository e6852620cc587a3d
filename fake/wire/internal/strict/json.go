package strict

import (
	"iter"
	"strconv"

	"github.com/looptape/looptape/internal/jsonio"
)

// value is the text of a JSON value, which is valid; empty if there is none.
type value string

// parse returns valid JSON as a value.
func parse(body []byte) value {
	d := jsonio.NewDec(jsonio.View(body))
	return value(d.Raw())
}

// given reports whether there is a value, and it is not null.
func (v value) given() bool { return v != "" && v != "null" }

// is reports whether the value begins with this byte, which tells its kind.
func (v value) is(c byte) bool { return v != "" && v[0] == c }

// text returns a string; of any other value nothing.
func (v value) text() string {
	if !v.is('"') {
		return ""
	}
	d := jsonio.NewDec(string(v))
	return d.String()
}

// number returns a number; any other value is not ok.
func (v value) number() (n float64, ok bool) {
	n, err := strconv.ParseFloat(string(v), 64)
	return n, err == nil
}

// elements are those of an array; any other value has none.
func (v value) elements() iter.Seq2[int, value] {
	return func(yield func(int, value) bool) {
		if !v.is('[') {
			return
		}
		d := jsonio.NewDec(string(v))
		d.Array()
		for i, first := 0, true; d.More(&first); i++ {
			if !yield(i, value(d.Raw())) {
				return
			}
		}
	}
}

// empty reports whether the value is an array without elements.
func (v value) empty() bool {
	for range v.elements() {
		return false
	}
	return v.is('[')
}

// object returns the members of an object in order; any other value has none.
func (v value) object() object {
	if !v.is('{') {
		return nil
	}
	const usual = 8 // members, at most
	var o object
	d := jsonio.NewDec(string(v))
	d.Object()
	for first := true; ; {
		key, ok := d.Key(&first)
		if !ok {
			return o
		}
		if o == nil {
			o = make(object, 0, usual)
		}
		o = append(o, member{key, value(d.Raw())})
	}
}

// get returns the value of a member of an object.
func (v value) get(key string) value { return v.object().get(key) }

// object is a JSON object.
type object []member

type member struct {
	key string
	value
}

// get returns the value of a member, the last one of that name.
func (o object) get(key string) value {
	for i := len(o) - 1; i >= 0; i-- {
		if o[i].key == key {
			return o[i].value
		}
	}
	return ""
}

// objects are the elements of an array.
func objects(v value) []object {
	var out []object
	for _, e := range v.elements() {
		out = append(out, e.object())
	}
	return out
}
