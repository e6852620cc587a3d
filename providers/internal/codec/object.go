package codec

import (
	"encoding/json"
	"iter"

	"github.com/looptape/looptape/internal/jsonio"
)

// Fields returns the names of the members of an object, except those that are null. It skips each
// value that the loop does not read, and any value but an object.
func Fields(d *jsonio.Dec) iter.Seq[string] { return fields(d, false) }

// RequiredFields is [Fields], but a value that is not an object is an error.
func RequiredFields(d *jsonio.Dec) iter.Seq[string] { return fields(d, true) }

func fields(d *jsonio.Dec, required bool) iter.Seq[string] {
	return func(yield func(string) bool) {
		if !required && d.Peek() != '{' {
			d.Skip()
			return
		}
		d.Object()
		first := true
		for key, ok := d.Key(&first); ok; key, ok = d.Key(&first) {
			isNull := d.Peek() == 'n'
			from := d.Offset()
			if !isNull && !yield(key) {
				return
			}
			if d.Offset() == from {
				d.Skip()
			}
		}
	}
}

// Object reads objects. The zero value skips values of an unexpected type.
type Object struct {
	// Required makes a value that is not an object an error.
	Required bool
	// Strict makes any value of an unexpected type an error.
	Strict bool
	// Name maps the names of members; nil means that they stay as they are.
	Name func(key string) string
}

// Read reads an object. Fields alternate between the name of a member and its target: a pointer,
// a func() that reads the value, a [NotNull], or nil, which skips it. Null, and a value that is
// skipped, leave the target unchanged. Rest reads each other member; nil skips them. Read is fastest if
// the members come in the order of the fields, and slower than a loop over [Fields].
func (o Object) Read(d *jsonio.Dec, rest func(key string), fields ...any) {
	if !o.Strict && !o.Required && d.Peek() != '{' {
		d.Skip()
		return
	}
	next := 0
	for key := range d.Members() {
		name := key
		if o.Name != nil {
			name = o.Name(key)
		}
		at := next
		if at >= len(fields) || fields[at].(string) != name {
			at = find(fields, name)
		}
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

// NotNull reads a value that may not be null: it gets the null, too, and reports the error.
type NotNull func()

// Read reads an object and skips values of an unexpected type; see [Object.Read].
func Read(d *jsonio.Dec, rest func(key string), fields ...any) { Object{}.Read(d, rest, fields...) }

// ReadObject reads an object, which is required, and skips members of an unexpected type.
func ReadObject(d *jsonio.Dec, rest func(key string), fields ...any) {
	Object{Required: true}.Read(d, rest, fields...)
}

// ReadStrict reads an object. A value of an unexpected type is an error; see [Object.Read].
func ReadStrict(d *jsonio.Dec, rest func(key string), fields ...any) {
	Object{Strict: true}.Read(d, rest, fields...)
}

func find(fields []any, key string) int {
	for at := 0; at < len(fields); at += 2 {
		if fields[at].(string) == key {
			return at
		}
	}
	return -1
}

func (o Object) store(d *jsonio.Dec, to any) {
	if read, is := to.(NotNull); is {
		read()
		return
	}
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
	case *jsonio.Dec: // a reader of the value
		*to = *d
		d.Skip()
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
