package codec

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
// leave the target unchanged. Rest reads each other member; nil skips them. Read is fastest if
// the members come in the order of the fields.
func (o Object) Read(d *jsonio.Dec, rest func(key string), fields ...any) {
	if !o.Strict && d.Peek() != '{' {
		d.Skip()
		return
	}
	next := 0
	for key := range d.Members() {
		name := key
		if o.Name != nil {
			name = o.Name(key)
		}
		at := find(fields, name, next)
		switch {
		case at >= 0:
			next = at + 2
			o.store(d, fields[at+1])
		case rest != nil:
			rest(key)
		default:
			d.Skip()
		}
	}
}

// Read reads an object and skips values of an unexpected type; see [Object.Read].
func Read(d *jsonio.Dec, rest func(key string), fields ...any) { Object{}.Read(d, rest, fields...) }

// ReadStrict reads an object. A value of an unexpected type is an error; see [Object.Read].
func ReadStrict(d *jsonio.Dec, rest func(key string), fields ...any) {
	Object{Strict: true}.Read(d, rest, fields...)
}

// find returns the position of a field, or -1. It begins at from.
func find(fields []any, key string, from int) int {
	for range len(fields) / 2 {
		if from >= len(fields) {
			from = 0
		}
		if fields[from] == key {
			return from
		}
		from += 2
	}
	return -1
}

func (o Object) store(d *jsonio.Dec, to any) {
	if d.Null() {
		return
	}
	switch to := to.(type) {
	case nil:
		d.Skip()
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
		*to = stringList(d)
	case *json.RawMessage:
		if raw := d.Raw(); raw != "" {
			*to = Compact(raw)
		}
	default:
		panic("codec: unknown type of target")
	}
}

func stringList(d *jsonio.Dec) (list []string) {
	for range d.Elements() {
		list = append(list, d.String())
	}
	return list
}
