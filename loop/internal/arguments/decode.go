package arguments

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

// Decode decodes the arguments of a call as encoding/json does. It tries fast, which
// may be nil, and then encoding/json.
func Decode[In any](fast Decoder, args string) (in In, err error) {
	if fast != nil {
		if in, ok := decodeFast[In](fast, args); ok {
			return in, nil
		}
	}
	err = json.Unmarshal([]byte(args), &in)
	return in, err
}

func decodeFast[In any](fast Decoder, args string) (in In, ok bool) {
	d := jsonio.NewDec(args)
	ok = utf8.ValidString(args) && fast(&d, reflect.ValueOf(&in).Elem()) && d.End() == nil
	return in, ok
}

// Decoder decodes plain JSON into a zero value of one Go type, as encoding/json does. It
// reports false for input that it does not support, such as null, duplicate members,
// members in other letter case, and numbers out of range.
type Decoder func(d *jsonio.Dec, to reflect.Value) bool

// NewDecoder returns the decoder of a type that is not recursive. It returns nil unless the
// type consists of strings, numbers, booleans, structs, slices and pointers.
func NewDecoder(t reflect.Type) Decoder {
	p := reflect.PointerTo(t)
	if t == reflect.TypeFor[json.Number]() || p.Implements(reflect.TypeFor[json.Unmarshaler]()) || p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		return nil
	}
	switch t.Kind() {
	case reflect.String:
		return func(d *jsonio.Dec, to reflect.Value) bool {
			ok := d.Peek() == '"'
			if ok {
				to.SetString(d.String())
			}
			return ok
		}
	case reflect.Bool:
		return func(d *jsonio.Dec, to reflect.Value) bool {
			to.SetBool(d.Bool()) // d records an error if the value is not a boolean
			return true
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return func(d *jsonio.Dec, to reflect.Value) bool {
			n, err := strconv.ParseInt(d.Raw(), 10, t.Bits())
			to.SetInt(n)
			return err == nil
		}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return func(d *jsonio.Dec, to reflect.Value) bool {
			n, err := strconv.ParseUint(d.Raw(), 10, t.Bits())
			to.SetUint(n)
			return err == nil
		}
	case reflect.Float32, reflect.Float64:
		return func(d *jsonio.Dec, to reflect.Value) bool {
			n, err := strconv.ParseFloat(d.Raw(), t.Bits())
			to.SetFloat(n)
			return err == nil
		}
	case reflect.Pointer:
		elem := NewDecoder(t.Elem())
		if elem == nil {
			return nil
		}
		return func(d *jsonio.Dec, to reflect.Value) bool {
			to.Set(reflect.New(t.Elem()))
			return elem(d, to.Elem())
		}
	case reflect.Slice:
		return newSliceDecoder(t.Elem())
	case reflect.Struct:
		return newStructDecoder(t)
	default:
		return nil
	}
}

func newSliceDecoder(t reflect.Type) Decoder {
	elem := NewDecoder(t)
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

// maxMembers is the largest number of members of a struct: each has one bit.
const maxMembers = 64

type field struct {
	name string
	at   int
	read Decoder
}

func newStructDecoder(t reflect.Type) Decoder {
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
		read := NewDecoder(f.Type)
		if f.Anonymous || options != "" && options != "omitempty" && options != "omitzero" || !plainName.MatchString(name) ||
			read == nil || len(fields) == maxMembers || slices.ContainsFunc(fields, func(f field) bool { return f.name == name }) {
			return nil
		}
		fields = append(fields, field{name, i, read})
	}
	return func(d *jsonio.Dec, to reflect.Value) bool { return decodeStruct(d, to, fields) }
}

// plainName matches names that encoding/json takes from a tag unchanged.
var plainName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

func decodeStruct(d *jsonio.Dec, to reflect.Value, fields []field) bool {
	if d.Peek() != '{' {
		return false
	}
	d.Object()
	seen := uint64(0)
	for first := true; ; {
		name, more := d.Key(&first)
		if !more {
			return d.Err() == nil
		}
		i := 0
		for i < len(fields) && fields[i].name != name {
			i++
		}
		if i == len(fields) || seen&(1<<i) != 0 || !fields[i].read(d, to.Field(fields[i].at)) {
			return false
		}
		seen |= 1 << i
	}
}
