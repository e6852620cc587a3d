package yamlfile

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Codec reads and writes a value of a scenario file, and describes it in the JSON Schema.
type Codec[T any] struct {
	Read   func(r *Reader, n *yaml.Node) T
	Write  func(v T) *yaml.Node
	Schema func(d Defs) Schema
}

// Schema is a JSON Schema, or a part of one.
type Schema = map[string]any

// Defs contains the named schemas.
type Defs map[string]Schema

// pointers is a Codec[T] for the values at a *T.
type pointers interface {
	read(r *Reader, n *yaml.Node, to any)
	write(from any) *yaml.Node
	schema(d Defs) Schema
}

func (c Codec[T]) read(r *Reader, n *yaml.Node, to any) { *to.(*T) = c.Read(r, n) }
func (c Codec[T]) write(from any) *yaml.Node            { return c.Write(*from.(*T)) }
func (c Codec[T]) schema(d Defs) Schema                 { return c.Schema(d) }

// Codecs has the codecs of keys whose type does not determine one.
type Codecs map[string]pointers

// member is a field of a struct.
type member struct {
	pointers
	key, doc string
	index    []int
	isUTF8   *bool // whether the member is for strings that are UTF-8; nil means for all
}

// members returns the fields of a struct that a table names. See [Object].
func members(t reflect.Type, table string, codecs []Codecs) (all []member) {
	for line := range strings.Lines(strings.TrimSpace(table)) {
		key, doc, _ := strings.Cut(strings.TrimSpace(line), " ")
		key, split := strings.CutSuffix(key, "(_b64)")
		name := strings.ReplaceAll(key, "_", "")
		f, ok := t.FieldByNameFunc(func(s string) bool { return strings.EqualFold(s, name) })
		if !ok {
			panic("yamlfile: " + t.String() + " has no field " + key)
		}
		m := member{key: key, doc: strings.TrimSpace(doc), index: f.Index}
		m.pointers = usual[f.Type]
		for _, c := range codecs {
			m.pointers = cmp.Or(c[key], m.pointers)
		}
		if !split {
			all = append(all, m)
			continue
		}
		m.isUTF8 = new(true)
		encoded := "The same in base64, for bytes that are not UTF-8."
		all = append(all, m, member{base64Codec, key + "_b64", encoded, f.Index, new(false)})
	}
	return all
}

// omits reports whether the writer omits a value: zero, or what another member writes.
func (m *member) omits(v reflect.Value) bool {
	return v.IsZero() || m.isUTF8 != nil && utf8.ValidString(v.String()) != *m.isUTF8
}

// KeysOf returns the keys of the table of an [Object].
func KeysOf[T any](table string) (keys []string) {
	for _, m := range members(reflect.TypeFor[T](), table, nil) {
		keys = append(keys, m.key)
	}
	return keys
}

// Object is a map with the fields of a struct. Each line of the table has a key and its
// description. The field is the one with this name, without regard to case and
// underscores. After a key, (_b64) adds a second one for strings that are not UTF-8. The
// writer omits zero values. check, if not nil, gets the value after reading.
func Object[T any](name, of, table string, check func(r *Reader, n *yaml.Node, v *T), codecs ...Codecs) Codec[T] {
	o := object{name, of, sync.OnceValue(func() []member { return members(reflect.TypeFor[T](), table, codecs) })}
	return Codec[T]{
		Read: func(r *Reader, n *yaml.Node) (v T) {
			o.read(r, n, reflect.ValueOf(&v).Elem())
			if check != nil {
				check(r, n, &v)
			}
			return v
		},
		Write:  func(v T) *yaml.Node { return o.write(reflect.ValueOf(&v).Elem()) },
		Schema: o.schema,
	}
}

// object is what the codecs of an [Object] have in common.
type object struct {
	name, of string
	fields   func() []member
}

func (o *object) read(r *Reader, n *yaml.Node, v reflect.Value) {
	names, values := r.Pairs(n, o.of)
	all := o.fields()
	known := make([]string, len(all))
	for i, m := range all {
		known[i] = m.key
	}
	known = r.Keys(known)
	for i, k := range names {
		at := slices.Index(known, k.Value)
		if at < 0 {
			r.Unknown(k, "key in "+o.of, known)
			continue
		}
		r.Rename(k, all[at].key)
		all[at].read(r, values[i], v.FieldByIndex(all[at].index).Addr().Interface())
	}
}

func (o *object) write(v reflect.Value) *yaml.Node {
	out := &yaml.Node{Kind: yaml.MappingNode}
	for _, m := range o.fields() {
		from := v.FieldByIndex(m.index)
		if !m.omits(from) {
			out.Content = append(out.Content, StringNode(m.key), m.write(from.Addr().Interface()))
		}
	}
	return out
}

func (o *object) schema(d Defs) Schema {
	props := Schema{}
	for _, m := range o.fields() {
		props[m.key] = maps.Clone(m.schema(d))
		props[m.key].(Schema)["description"] = m.doc
	}
	d[o.name] = Schema{"type": "object", "additionalProperties": false, "properties": props}
	return Schema{"$ref": "#/$defs/" + o.name}
}

// Exclude reports the keys that key excludes.
func Exclude(r *Reader, n *yaml.Node, key string, others ...string) {
	others = r.Keys(others)
	for i := 0; i < len(n.Content); i += 2 {
		if k := n.Content[i]; slices.Contains(others, k.Value) {
			r.Errorf(k, "%s and %s exclude each other: keep one", r.Key(key), k.Value)
		}
	}
}

// ListOf is a list of values. Errors call them by the noun in of.
func ListOf[T any](of string, c Codec[T]) Codec[[]T] {
	return Codec[[]T]{
		Read: func(r *Reader, n *yaml.Node) []T {
			if n.Kind != yaml.SequenceNode {
				r.Errorf(n, "expected a list of %s, found %s", of, DescribeNode(n))
				return nil
			}
			out := make([]T, len(n.Content))
			for i, e := range n.Content {
				out[i] = c.Read(r, e)
			}
			return out
		},
		Write: func(v []T) *yaml.Node {
			out := &yaml.Node{Kind: yaml.SequenceNode}
			for _, e := range v {
				out.Content = append(out.Content, c.Write(e))
			}
			return out
		},
		Schema: func(d Defs) Schema { return Schema{"type": "array", "items": c.Schema(d)} },
	}
}

// ByName is a list that the file contains as a map by name. An element has the fields
// Name and Pos, a position with Line and Col.
func ByName[T any](of string, c Codec[T]) Codec[[]T] {
	return Codec[[]T]{
		Read: func(r *Reader, n *yaml.Node) []T {
			keys, values := r.Pairs(n, of)
			out := make([]T, len(keys))
			for i, k := range keys {
				out[i] = c.Read(r, values[i])
				v := reflect.ValueOf(&out[i]).Elem()
				v.FieldByName("Name").SetString(k.Value)
				at := v.FieldByName("Pos")
				at.FieldByName("Line").SetInt(int64(k.Line))
				at.FieldByName("Col").SetInt(int64(k.Column))
			}
			return out
		},
		Write: func(v []T) *yaml.Node {
			out := &yaml.Node{Kind: yaml.MappingNode}
			for _, e := range v {
				name := reflect.ValueOf(e).FieldByName("Name").String()
				out.Content = append(out.Content, StringNode(name), c.Write(e))
			}
			return out
		},
		Schema: func(d Defs) Schema { return Schema{"type": "object", "additionalProperties": c.Schema(d)} },
	}
}

// PointerTo is a value that may be missing.
func PointerTo[T any](c Codec[T]) Codec[*T] {
	return Codec[*T]{
		Read:   func(r *Reader, n *yaml.Node) *T { return new(c.Read(r, n)) },
		Write:  func(v *T) *yaml.Node { return c.Write(*v) },
		Schema: c.Schema,
	}
}
