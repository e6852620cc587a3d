package arguments

import (
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/looptape/looptape/internal/jsonio"
)

// shape is a plain schema, such as Go types give. It checks arguments without decoding them.
// It may reject allowed arguments, but never accepts others.
type shape struct {
	kinds    []string          // the JSON types that it allows
	members  map[string]*shape // of an object; nil accepts anything
	required []string
	closed   bool   // other members are not allowed
	items    *shape // of an array; nil accepts anything
}

// maxRequired is the largest number of required members of a shape.
const maxRequired = 8

// newShape returns the shape of a schema, or nil if it has other keywords.
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
	sh.members = make(map[string]*shape, len(s.Properties))
	for name, p := range s.Properties {
		if sh.members[name] = newShape(p); sh.members[name] == nil {
			return nil
		}
	}
	return sh
}

// accepts reports whether the arguments are an object that CheckObject and the schema allow.
func (sh *shape) accepts(args string) bool {
	d := jsonio.NewDec(args)
	return d.Peek() == '{' && sh.value(&d, 1) && d.End() == nil && utf8.ValidString(args) && !hasLoneSurrogate(args)
}

func (sh *shape) value(d *jsonio.Dec, depth int) bool {
	if sh == nil {
		sh = &shape{} // accepts any plain value
	}
	switch c := d.Peek(); c {
	case '{':
		return sh.allows("object") && sh.object(d, depth)
	case '[':
		return sh.allows("array") && sh.array(d, depth)
	case '"':
		d.Skip()
		return sh.allows("string")
	case 't', 'f':
		d.Skip()
		return sh.allows("boolean")
	case 'n':
		d.Skip()
		return sh.allows("null")
	default:
		return sh.number(d)
	}
}

func (sh *shape) allows(kind string) bool {
	return len(sh.kinds) == 0 || slices.Contains(sh.kinds, kind)
}

// number accepts numbers whose digits are all significant. It leaves numbers with
// an exponent to the schema: 1e2 is an integer, and 1e999 is out of range.
func (sh *shape) number(d *jsonio.Dec) bool {
	digits := "-0123456789"
	if sh.allows("number") {
		digits += "."
	} else if !sh.allows("integer") {
		return false
	}
	const exact = 15
	text := d.Raw()
	return len(text) <= exact && strings.TrimLeft(text, digits) == ""
}

func (sh *shape) object(d *jsonio.Dec, depth int) bool {
	if depth > maxDepth {
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
	if depth > maxDepth {
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
