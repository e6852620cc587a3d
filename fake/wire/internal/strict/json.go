package strict

import (
	"iter"
	"strconv"

	"github.com/looptape/looptape/internal/jsonio"
)

// value is valid JSON; empty means that there is no value.
type value string

// parse returns valid JSON as a value.
func parse(body []byte) value {
	d := jsonio.NewDec(jsonio.View(body))
	return value(d.Raw())
}

// isSet reports whether the value exists and is not null.
func (v value) isSet() bool { return v != "" && v != "null" }

// is reports whether the value begins with this byte, which identifies its type.
func (v value) is(c byte) bool { return v != "" && v[0] == c }

// text returns a string; empty if the value is not a string.
func (v value) text() string {
	if !v.is('"') {
		return ""
	}
	d := jsonio.NewDec(string(v))
	return d.String()
}

func (v value) number() (n float64, ok bool) {
	n, err := strconv.ParseFloat(string(v), 64)
	return n, err == nil
}

// elements returns the elements of an array; none if the value is not an array.
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

// object returns the members of an object in order; nil if the value is not an object.
func (v value) object() object {
	if !v.is('{') {
		return nil
	}
	const usual = 8 // members, usually at most
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

func (v value) get(key string) value { return v.object().get(key) }

type object []member

type member struct {
	key string
	value
}

// get returns the value of the last member with this name.
func (o object) get(key string) value {
	for i := len(o) - 1; i >= 0; i-- {
		if o[i].key == key {
			return o[i].value
		}
	}
	return ""
}

func objects(v value) []object {
	var out []object
	for _, e := range v.elements() {
		out = append(out, e.object())
	}
	return out
}
