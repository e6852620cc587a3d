package wirejson

import (
	"encoding/json"

	"github.com/looptape/looptape/internal/jsonio"
)

// Object reads objects. The zero value skips values of an unexpected type.
type Object struct {
	// Strict makes a value of an unexpected type an error.
	Strict bool
	// Name maps the names of members; nil means that they stay as they are.
	Name func(key string) string
}

// Read reads an object. Fields alternate between the name of a member and its target: a pointer,
// a func() that reads the value, or nil, which skips it. Null, and a value that is skipped,
// leave the target unchanged. Rest reads each other member; nil skips them.
func (o Object) Read(d *jsonio.Dec, rest func(key string), fields ...any) {
	if !o.Strict && d.Peek() != '{' {
		d.Skip()
		return
	}
	for key := range d.Members() {
		switch to, known := o.target(key, fields); {
		case known && to != nil && !d.Null():
			o.store(d, to)
		case known && to == nil, !known && rest == nil:
			d.Skip()
		case !known:
			rest(key)
		}
	}
}

// Read reads an object and skips values of an unexpected type; see [Object.Read].
func Read(d *jsonio.Dec, rest func(key string), fields ...any) { Object{}.Read(d, rest, fields...) }

// ReadStrict reads an object. A value of an unexpected type is an error; see [Object.Read].
func ReadStrict(d *jsonio.Dec, rest func(key string), fields ...any) {
	Object{Strict: true}.Read(d, rest, fields...)
}

func (o Object) target(key string, fields []any) (to any, known bool) {
	if o.Name != nil {
		key = o.Name(key)
	}
	for i := 0; i < len(fields); i += 2 {
		if fields[i] == key {
			return fields[i+1], true
		}
	}
	return nil, false
}

func (o Object) store(d *jsonio.Dec, to any) {
	switch to := to.(type) {
	case func():
		to()
	case *string:
		if o.Strict || d.Peek() == '"' {
			*to = d.String()
			return
		}
		d.Skip()
	case *int64:
		if o.Strict {
			*to = d.Int()
			return
		}
		*to = CountOr(d, *to)
	case *int:
		*to = int(d.Int())
	case *bool:
		*to = d.Bool()
	case **bool:
		*to = new(d.Bool())
	case **int64:
		*to = new(d.Int())
	case **float64:
		*to = new(d.Float())
	case *[]string:
		for range d.Elements() {
			*to = append(*to, d.String())
		}
	case *json.RawMessage:
		if raw := d.Raw(); raw != "" {
			*to = Compact(raw)
		}
	default:
		panic("wirejson: unknown type of target")
	}
}
