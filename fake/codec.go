package fake

import (
	"encoding/base64"
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// codec reads and writes a value of a scenario file, and describes it in the JSON Schema.
type codec[T any] struct {
	read   func(r *reader, n *yaml.Node) T
	write  func(v T) *yaml.Node
	schema func(d defs) schema
}

type schema = map[string]any

// defs contains the named schemas.
type defs map[string]schema

// field is a member of a T.
type field[T any] struct {
	key    string
	read   func(r *reader, n *yaml.Node, to *T)
	write  func(v *T) *yaml.Node // returns nil to omit the field
	schema func(d defs) schema
}

// member returns a field. Its writer omits zero values.
func member[T, F any](key, doc string, c codec[F], place func(*T) *F) field[T] {
	return field[T]{
		key:  key,
		read: func(r *reader, n *yaml.Node, to *T) { *place(to) = c.read(r, n) },
		write: func(v *T) *yaml.Node {
			f := *place(v)
			if reflect.ValueOf(&f).Elem().IsZero() {
				return nil
			}
			return c.write(f)
		},
		schema: func(d defs) schema {
			s := schema{"description": doc}
			for k, v := range c.schema(d) {
				s[k] = v
			}
			return s
		},
	}
}

// bytesFields returns two fields for a string that need not be UTF-8: key, and key_b64
// with the bytes in base64.
func bytesFields[T any](key, doc string, c codec[string], place func(*T) *string) []field[T] {
	plain, b64 := member(key, doc, c, place), member(key+"_b64", "The same in base64, for bytes that are not UTF-8.", base64Codec, place)
	only := func(f field[T], utf bool) field[T] {
		write := f.write
		f.write = func(v *T) *yaml.Node {
			if utf8.ValidString(*place(v)) != utf {
				return nil
			}
			return write(v)
		}
		return f
	}
	return []field[T]{only(plain, true), only(b64, false)}
}

// object is a map with these fields. check, if not nil, gets the value after reading.
func object[T any](name, of string, fields []field[T], check func(r *reader, n *yaml.Node, v *T)) codec[T] {
	return codec[T]{
		read: func(r *reader, n *yaml.Node) (v T) {
			keys, values := r.pairs(n, of)
			known := r.keys(keysOf(fields))
			for i, k := range keys {
				at := slices.Index(known, k.Value)
				if at < 0 {
					r.unknown(k, "key in "+of, known)
					continue
				}
				r.rename(k, fields[at].key)
				fields[at].read(r, values[i], &v)
			}
			if check != nil {
				check(r, n, &v)
			}
			return v
		},
		write: func(v T) *yaml.Node {
			out := &yaml.Node{Kind: yaml.MappingNode}
			for _, f := range fields {
				if n := f.write(&v); n != nil {
					out.Content = append(out.Content, stringNode(f.key), n)
				}
			}
			return out
		},
		schema: func(d defs) schema {
			if _, ok := d[name]; !ok {
				d[name] = nil // for recursive references
				props := schema{}
				for _, f := range fields {
					props[f.key] = f.schema(d)
				}
				d[name] = schema{"type": "object", "additionalProperties": false, "properties": props}
			}
			return schema{"$ref": "#/$defs/" + name}
		},
	}
}

func listOf[T any](of string, c codec[T]) codec[[]T] {
	return codec[[]T]{
		read: func(r *reader, n *yaml.Node) []T {
			if n.Kind != yaml.SequenceNode {
				r.errorf(n, "expected a list of %s, found %s", of, describeNode(n))
				return nil
			}
			out := make([]T, len(n.Content))
			for i, e := range n.Content {
				out[i] = c.read(r, e)
			}
			return out
		},
		write: func(v []T) *yaml.Node {
			out := &yaml.Node{Kind: yaml.SequenceNode}
			for _, e := range v {
				out.Content = append(out.Content, c.write(e))
			}
			return out
		},
		schema: func(d defs) schema { return schema{"type": "array", "items": c.schema(d)} },
	}
}

// byName is a list that the file contains as a map by name. place returns the name of an
// element and its position.
func byName[T any](of string, c codec[T], place func(*T) (name *string, at *Pos)) codec[[]T] {
	return codec[[]T]{
		read: func(r *reader, n *yaml.Node) []T {
			keys, values := r.pairs(n, of)
			out := make([]T, len(keys))
			for i, k := range keys {
				out[i] = c.read(r, values[i])
				name, at := place(&out[i])
				*name, *at = k.Value, r.pos(k)
			}
			return out
		},
		write: func(v []T) *yaml.Node {
			out := &yaml.Node{Kind: yaml.MappingNode}
			for _, e := range v {
				name, _ := place(&e)
				out.Content = append(out.Content, stringNode(*name), c.write(e))
			}
			return out
		},
		schema: func(d defs) schema { return schema{"type": "object", "additionalProperties": c.schema(d)} },
	}
}

func pointerTo[T any](c codec[T]) codec[*T] {
	return codec[*T]{
		read: func(r *reader, n *yaml.Node) *T {
			v := c.read(r, n)
			return &v
		},
		write:  func(v *T) *yaml.Node { return c.write(*v) },
		schema: c.schema,
	}
}

// scalar is a codec for scalars with these tags.
func scalar[T any](of string, tags []string, parse func(text string) (T, bool), format func(T) *yaml.Node, s schema) codec[T] {
	return codec[T]{
		read: func(r *reader, n *yaml.Node) (v T) {
			ok := n.Kind == yaml.ScalarNode && slices.Contains(tags, n.ShortTag())
			if ok {
				v, ok = parse(n.Value)
			}
			if !ok {
				r.errorf(n, "expected %s, found %s", of, describeNode(n))
			}
			return v
		},
		write:  format,
		schema: func(defs) schema { return s },
	}
}

// stringNode quotes a string only if it is not made of words. Printable ASCII gets single
// quotes.
func stringNode(s string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Value: s}
	ascii := !strings.ContainsFunc(s, func(c rune) bool { return c < ' ' || c > '~' })
	switch {
	case plainWords.MatchString(s) && n.ShortTag() == "!!str":
	case ascii:
		n.Style = yaml.SingleQuotedStyle
	default:
		n.Style = yaml.DoubleQuotedStyle
	}
	n.Tag = "!!str"
	return n
}

var plainWords = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_ .?!/()-]*[A-Za-z0-9_.?!/()-])?$`)

func plainNode(tag, text string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: text}
}

var textCodec = scalar("a string (quote it if it looks like another type)", []string{"!!str", "!!timestamp", "!!merge"},
	func(s string) (string, bool) { return s, true }, stringNode, schema{"type": "string"})

var base64Codec = scalar("base64", []string{"!!str"},
	func(s string) (string, bool) {
		b, err := base64.StdEncoding.DecodeString(s)
		return string(b), err == nil
	},
	func(s string) *yaml.Node { return stringNode(base64.StdEncoding.EncodeToString([]byte(s))) },
	schema{"type": "string", "contentEncoding": "base64"})

var boolCodec = scalar("true or false", []string{"!!bool"},
	func(s string) (bool, bool) { return strings.EqualFold(s, "true"), true },
	func(v bool) *yaml.Node { return plainNode("!!bool", strconv.FormatBool(v)) }, schema{"type": "boolean"})

// number is a codec for whole numbers that are not below the minimum.
func number[T int | int64](of string, minimum T) codec[T] {
	return scalar(of, []string{"!!int"}, func(s string) (T, bool) {
		n, err := strconv.ParseInt(s, 10, 64)
		return T(n), err == nil && n >= int64(minimum)
	}, func(v T) *yaml.Node { return plainNode("!!int", strconv.FormatInt(int64(v), 10)) }, schema{"type": "integer", "minimum": int(minimum)})
}

// maxRepeat is the maximum of Response.Repeat. It protects against typing errors.
const maxRepeat = 10000

var (
	countCodec  = number[int]("a whole number, 0 or above", 0)
	repeatCodec = scalar("a whole number from 0 to 10000", []string{"!!int"}, func(s string) (int, bool) {
		n, err := strconv.Atoi(s)
		return n, err == nil && n >= 0 && n <= maxRepeat
	}, func(v int) *yaml.Node { return plainNode("!!int", strconv.Itoa(v)) }, schema{"type": "integer", "minimum": 0, "maximum": maxRepeat})
	tokenCodec = number[int64]("a number of tokens, 0 or above", 0)
)

var durationCodec = scalar("a duration like 30ms or 1m30s, 0s or above", []string{"!!str"},
	func(s string) (time.Duration, bool) {
		d, err := time.ParseDuration(s)
		return d, err == nil && d >= 0
	},
	func(d time.Duration) *yaml.Node { return stringNode(d.String()) },
	schema{"type": "string", "pattern": `^\+?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$`})

// oneOf is a codec for words.
func oneOf[T ~string](of string, words ...T) codec[T] {
	known := make([]string, len(words))
	for i, w := range words {
		known[i] = string(w)
	}
	return codec[T]{
		read: func(r *reader, n *yaml.Node) T {
			if n.Kind != yaml.ScalarNode {
				r.errorf(n, "expected a %s, found %s", of, describeNode(n))
				return ""
			}
			if !slices.Contains(known, n.Value) {
				r.unknown(n, of, known)
			}
			return T(n.Value)
		},
		write:  func(v T) *yaml.Node { return stringNode(string(v)) },
		schema: func(defs) schema { return schema{"enum": known} },
	}
}

// jsonCodec reads any value as JSON.
var jsonCodec = codec[json.RawMessage]{
	read:   func(r *reader, n *yaml.Node) json.RawMessage { return r.json(nil, n) },
	write:  func(v json.RawMessage) *yaml.Node { return jsonNode(v) },
	schema: func(defs) schema { return schema{} },
}

// argumentsCodec reads a string, or a map as JSON.
var argumentsCodec = codec[string]{
	read: func(r *reader, n *yaml.Node) string {
		if n.Kind == yaml.MappingNode {
			return string(r.json(nil, n))
		}
		return textCodec.read(r, n)
	},
	write:  stringNode,
	schema: func(defs) schema { return schema{"type": []string{"string", "object"}} },
}
