package loop

import (
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/looptape/looptape/internal/jsonio"
)

// shape is a schema of the plain sort that Go types give, so that arguments can
// be accepted in one pass over their text, without being decoded. It only ever
// says yes: what it does not accept is looked at again in full, with checkObject
// and the schema itself, and gets its error there.
type shape struct {
	kinds    []string          // the JSON types it takes
	members  map[string]*shape // of an object, nil where anything goes
	required []string
	closed   bool   // no member but those
	items    *shape // of an array, nil where anything goes
}

// maxRequired is how many required members a shape can have.
const maxRequired = 8

// newShape returns the shape of a schema, or nil if it says more than a shape
// can hold.
func newShape(s *jsonschema.Schema) *shape {
	plain := &jsonschema.Schema{
		Schema: s.Schema, Title: s.Title, Description: s.Description, Type: s.Type, Types: s.Types, Properties: s.Properties,
		Required: s.Required, AdditionalProperties: s.AdditionalProperties, Items: s.Items, PropertyOrder: s.PropertyOrder,
	}
	if !reflect.DeepEqual(s, plain) || len(s.Required) > maxRequired {
		return nil
	}
	sh := &shape{kinds: s.Types, required: s.Required}
	if s.Type != "" {
		sh.kinds = []string{s.Type}
	}
	switch {
	case s.AdditionalProperties == nil, reflect.DeepEqual(s.AdditionalProperties, &jsonschema.Schema{}):
	case reflect.DeepEqual(s.AdditionalProperties, &jsonschema.Schema{Not: &jsonschema.Schema{}}):
		sh.closed = true
	default:
		return nil
	}
	if s.Items != nil {
		if sh.items = newShape(s.Items); sh.items == nil {
			return nil
		}
	}
	if len(s.Properties) > 0 {
		sh.members = make(map[string]*shape, len(s.Properties))
	}
	for name, p := range s.Properties {
		if sh.members[name] = newShape(p); sh.members[name] == nil {
			return nil
		}
	}
	return sh
}

// accepts reports whether args is an object that checkObject finds nothing
// wrong with and that the schema allows.
func (sh *shape) accepts(args string) bool {
	d := jsonio.NewDec(args)
	return d.Peek() == '{' && sh.value(&d, 1) && d.End() == nil && utf8.ValidString(args) && !loneSurrogate(args)
}

func (sh *shape) value(d *jsonio.Dec, depth int) bool {
	if sh == nil {
		sh = &shape{} // anything plain
	}
	switch c := d.Peek(); c {
	case '{':
		return sh.takes("object") && sh.object(d, depth)
	case '[':
		return sh.takes("array") && sh.array(d, depth)
	case '"':
		d.Skip()
		return sh.takes("string")
	case 't', 'f':
		d.Skip()
		return sh.takes("boolean")
	case 'n':
		d.Skip()
		return sh.takes("null")
	default:
		return sh.number(d)
	}
}

func (sh *shape) takes(kind string) bool {
	return len(sh.kinds) == 0 || slices.Contains(sh.kinds, kind)
}

// number accepts numbers of few enough digits for all of them to count, whole
// ones also where a fraction may stand. Others are not so plain: 1e2 is an
// integer, and 1e999 is none at all.
func (sh *shape) number(d *jsonio.Dec) bool {
	digits := "-0123456789"
	if sh.takes("number") {
		digits += "."
	} else if !sh.takes("integer") {
		return false
	}
	const exact = 15
	text := d.Raw()
	return len(text) <= exact && strings.TrimLeft(text, digits) == ""
}

func (sh *shape) object(d *jsonio.Dec, depth int) bool {
	if depth > maxArgsDepth {
		return false
	}
	d.Object()
	var seen members
	for first := true; ; {
		key, ok := d.Key(&first)
		if !ok {
			break
		}
		m, known := sh.members[key]
		if seen.add(key) || sh.closed && !known || !m.value(d, depth+1) {
			return false
		}
	}
	for _, name := range sh.required {
		if !seen.has(name) {
			return false
		}
	}
	return d.Err() == nil
}

func (sh *shape) array(d *jsonio.Dec, depth int) bool {
	if depth > maxArgsDepth {
		return false
	}
	d.Array()
	for first := true; d.More(&first); {
		if !sh.items.value(d, depth+1) {
			return false
		}
	}
	return d.Err() == nil
}
