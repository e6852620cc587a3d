package yamlfile

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Codec reads and writes a value of a scenario file, and describes it in the JSON Schema.
// Read sets the value at a pointer, and Write gets a pointer.
type Codec struct {
	Read   func(r *Reader, n *yaml.Node, to any)
	Write  func(from any) *yaml.Node
	Schema func(d Defs) Schema
}

// Of returns the codec of functions for values of a type.
func Of[T any](read func(r *Reader, n *yaml.Node) T, write func(v T) *yaml.Node, schema func(d Defs) Schema) Codec {
	return Codec{
		Read:   func(r *Reader, n *yaml.Node, to any) { *to.(*T) = read(r, n) },
		Write:  func(from any) *yaml.Node { return write(*from.(*T)) },
		Schema: schema,
	}
}

// Checked is c with a function that gets each value after reading.
func Checked[T any](c Codec, check func(r *Reader, n *yaml.Node, v *T)) Codec {
	read := c.Read
	c.Read = func(r *Reader, n *yaml.Node, to any) {
		read(r, n, to)
		check(r, n, to.(*T))
	}
	return c
}

// Schema is a JSON Schema, or a part of one.
type Schema = map[string]any

// Defs contains the named schemas.
type Defs map[string]Schema

// Codecs has the codecs of keys whose type does not determine one.
type Codecs map[string]Codec

// member is a field of a struct.
type member struct {
	Codec
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
		m.Codec = usual[f.Type]
		for _, c := range codecs {
			if special, ok := c[key]; ok {
				m.Codec = special
			}
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
// writer omits zero values.
func Object[T any](name, of, table string, codecs ...Codecs) Codec {
	return objectCodec(reflect.TypeFor[T](), name, of, table, codecs)
}

func objectCodec(t reflect.Type, name, of, table string, codecs []Codecs) Codec {
	o := object{name, of, sync.OnceValue(func() []member { return members(t, table, codecs) })}
	return Codec{o.read, o.write, o.schema}
}

// object is the codec of an [Object].
type object struct {
	name, of string
	fields   func() []member
}

func (o *object) read(r *Reader, n *yaml.Node, to any) {
	v := reflect.ValueOf(to).Elem()
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
		all[at].Read(r, values[i], v.FieldByIndex(all[at].index).Addr().Interface())
	}
}

func (o *object) write(value any) *yaml.Node {
	v := reflect.ValueOf(value).Elem()
	out := &yaml.Node{Kind: yaml.MappingNode}
	for _, m := range o.fields() {
		from := v.FieldByIndex(m.index)
		if !m.omits(from) {
			out.Content = append(out.Content, StringNode(m.key), m.Write(from.Addr().Interface()))
		}
	}
	return out
}

func (o *object) schema(d Defs) Schema {
	props := Schema{}
	for _, m := range o.fields() {
		props[m.key] = maps.Clone(m.Schema(d))
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
func ListOf(of string, c Codec) Codec {
	return Codec{
		Read: func(r *Reader, n *yaml.Node, to any) {
			if n.Kind != yaml.SequenceNode {
				r.Errorf(n, "expected a list of %s, found %s", of, DescribeNode(n))
				return
			}
			list := makeList(to, len(n.Content))
			for i, e := range n.Content {
				c.Read(r, e, list.Index(i).Addr().Interface())
			}
		},
		Write: func(from any) *yaml.Node {
			out := &yaml.Node{Kind: yaml.SequenceNode}
			for _, e := range reflect.ValueOf(from).Elem().Seq2() {
				out.Content = append(out.Content, c.Write(e.Addr().Interface()))
			}
			return out
		},
		Schema: func(d Defs) Schema { return Schema{"type": "array", "items": c.Schema(d)} },
	}
}

// makeList sets the slice at a pointer to one with n elements, and returns it.
func makeList(to any, n int) reflect.Value {
	v := reflect.ValueOf(to).Elem()
	v.Set(reflect.MakeSlice(v.Type(), n, n))
	return v
}

// ByName is a list that the file contains as a map by name. An element has the fields
// Name and Pos, a position with Line and Col.
func ByName(of string, c Codec) Codec {
	return Codec{
		Read: func(r *Reader, n *yaml.Node, to any) {
			keys, values := r.Pairs(n, of)
			list := makeList(to, len(keys))
			for i, k := range keys {
				v := list.Index(i)
				c.Read(r, values[i], v.Addr().Interface())
				v.FieldByName("Name").SetString(k.Value)
				at := v.FieldByName("Pos")
				at.FieldByName("Line").SetInt(int64(k.Line))
				at.FieldByName("Col").SetInt(int64(k.Column))
			}
		},
		Write: func(from any) *yaml.Node {
			out := &yaml.Node{Kind: yaml.MappingNode}
			for _, e := range reflect.ValueOf(from).Elem().Seq2() {
				out.Content = append(out.Content, StringNode(e.FieldByName("Name").String()), c.Write(e.Addr().Interface()))
			}
			return out
		},
		Schema: func(d Defs) Schema { return Schema{"type": "object", "additionalProperties": c.Schema(d)} },
	}
}

// PointerTo is a value that may be missing.
func PointerTo(c Codec) Codec {
	return Codec{
		Read: func(r *Reader, n *yaml.Node, to any) {
			v := reflect.ValueOf(to).Elem()
			v.Set(reflect.New(v.Type().Elem()))
			c.Read(r, n, v.Interface())
		},
		Write:  func(from any) *yaml.Node { return c.Write(reflect.ValueOf(from).Elem().Interface()) },
		Schema: c.Schema,
	}
}
