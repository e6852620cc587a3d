package loop

import (
	"encoding"
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/looptape/looptape/internal/jsonio"
)

// decodeArgs reads the arguments of a call: with fast if it can, else with encoding/json,
// which has the last word on everything. Fast may be nil.
func decodeArgs[In any](fast decoder, args string) (in In, err error) {
	if fast != nil {
		if in, ok := decodeFast[In](fast, args); ok {
			return in, nil
		}
	}
	err = json.Unmarshal([]byte(args), &in)
	return in, err
}

func decodeFast[In any](fast decoder, args string) (in In, ok bool) {
	d := jsonio.NewDec(args)
	ok = utf8.ValidString(args) && fast(&d, reflect.ValueOf(&in).Elem()) && d.End() == nil
	return in, ok
}

// decoder reads plain JSON into a value of the Go type that it was made for, which is
// zero, as encoding/json does. It reports whether it could: what is odd in any way (null,
// a member twice or in other letters, a number out of range) is not for it.
type decoder func(d *jsonio.Dec, to reflect.Value) bool

// newDecoder returns the decoder of a type that does not hold itself, or nil if it is none
// of texts, numbers, truth values, and structs, slices and pointers of such.
func newDecoder(t reflect.Type) decoder {
	if t == reflect.TypeFor[json.Number]() || readsItself(t) {
		return nil
	}
	switch t.Kind() {
	case reflect.String:
		return decodeText
	case reflect.Bool:
		return decodeBool
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return decodeInt
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return decodeUint
	case reflect.Float32, reflect.Float64:
		return decodeFloat
	case reflect.Pointer:
		return newPointerDecoder(t.Elem())
	case reflect.Slice:
		return newSliceDecoder(t.Elem())
	case reflect.Struct:
		return newStructDecoder(t)
	default:
		return nil
	}
}

// readsItself reports whether a type has its own way of being read.
func readsItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[json.Unmarshaler]()) || p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

func decodeText(d *jsonio.Dec, to reflect.Value) bool {
	if d.Peek() != '"' {
		return false
	}
	to.SetString(d.String())
	return true
}

func decodeBool(d *jsonio.Dec, to reflect.Value) bool {
	to.SetBool(d.Bool()) // which d notes if it is none
	return true
}

func decodeInt(d *jsonio.Dec, to reflect.Value) bool {
	n, err := strconv.ParseInt(d.Raw(), 10, to.Type().Bits())
	to.SetInt(n)
	return err == nil
}

func decodeUint(d *jsonio.Dec, to reflect.Value) bool {
	n, err := strconv.ParseUint(d.Raw(), 10, to.Type().Bits())
	to.SetUint(n)
	return err == nil
}

func decodeFloat(d *jsonio.Dec, to reflect.Value) bool {
	n, err := strconv.ParseFloat(d.Raw(), to.Type().Bits())
	to.SetFloat(n)
	return err == nil
}

func newPointerDecoder(t reflect.Type) decoder {
	elem := newDecoder(t)
	if elem == nil {
		return nil
	}
	return func(d *jsonio.Dec, to reflect.Value) bool {
		to.Set(reflect.New(t))
		return elem(d, to.Elem())
	}
}

func newSliceDecoder(t reflect.Type) decoder {
	elem := newDecoder(t)
	if elem == nil || t.Kind() == reflect.Uint8 { // bytes are base64
		return nil
	}
	return func(d *jsonio.Dec, to reflect.Value) bool {
		if d.Peek() != '[' {
			return false
		}
		d.Array()
		to.Set(reflect.MakeSlice(to.Type(), 0, 0))
		for first, n := true, 0; d.More(&first); n++ {
			to.Grow(1)
			to.SetLen(n + 1)
			to.Index(n).SetZero()
			if !elem(d, to.Index(n)) {
				return false
			}
		}
		return true
	}
}

// maxMembers is how many members a struct can have: one bit each tells those that came.
const maxMembers = 64

// field is a field of a struct as JSON has it.
type field struct {
	name string
	at   int
	read decoder
}

func newStructDecoder(t reflect.Type) decoder {
	var fields []field
	for i := range t.NumField() {
		f := t.Field(i)
		tag := f.Tag.Get("json")
		if !f.Anonymous && (!f.IsExported() || tag == "-") {
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		if name == "" {
			name = f.Name
		}
		read := newDecoder(f.Type)
		if f.Anonymous || options != "" && options != "omitempty" && options != "omitzero" || !plainName.MatchString(name) ||
			read == nil || len(fields) == maxMembers || slices.ContainsFunc(fields, func(f field) bool { return f.name == name }) {
			return nil
		}
		fields = append(fields, field{name, i, read})
	}
	return func(d *jsonio.Dec, to reflect.Value) bool { return decodeStruct(d, to, fields) }
}

// plainName is a name that means itself in a tag.
var plainName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

func decodeStruct(d *jsonio.Dec, to reflect.Value, fields []field) bool {
	if d.Peek() != '{' {
		return false
	}
	d.Object()
	came := uint64(0)
	for first := true; ; {
		name, more := d.Key(&first)
		if !more {
			return d.Err() == nil
		}
		i := 0
		for i < len(fields) && fields[i].name != name {
			i++
		}
		if i == len(fields) || came&(1<<i) != 0 || !fields[i].read(d, to.Field(fields[i].at)) {
			return false
		}
		came |= 1 << i
	}
}
