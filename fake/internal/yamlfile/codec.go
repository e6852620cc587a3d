package yamlfile

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

// Field is a member of a T.
type Field[T any] struct {
	Key    string
	Read   func(r *Reader, n *yaml.Node, to *T)
	Write  func(v *T) *yaml.Node // returns nil to omit the field
	Schema func(d Defs) Schema
}

// Member returns a field. Its writer omits zero values.
func Member[T, F any](key, doc string, c Codec[F], place func(*T) *F) Field[T] {
	return Field[T]{
		Key:  key,
		Read: func(r *Reader, n *yaml.Node, to *T) { *place(to) = c.Read(r, n) },
		Write: func(v *T) *yaml.Node {
			f := *place(v)
			if reflect.ValueOf(&f).Elem().IsZero() {
				return nil
			}
			return c.Write(f)
		},
		Schema: func(d Defs) Schema {
			s := Schema{"description": doc}
			for k, v := range c.Schema(d) {
				s[k] = v
			}
			return s
		},
	}
}

// BytesFields returns two fields for a string that need not be UTF-8: key, and key_b64
// with the bytes in base64.
func BytesFields[T any](key, doc string, c Codec[string], place func(*T) *string) []Field[T] {
	plain, b64 := Member(key, doc, c, place), Member(key+"_b64", "The same in base64, for bytes that are not UTF-8.", Base64Codec, place)
	only := func(f Field[T], utf bool) Field[T] {
		write := f.Write
		f.Write = func(v *T) *yaml.Node {
			if utf8.ValidString(*place(v)) != utf {
				return nil
			}
			return write(v)
		}
		return f
	}
	return []Field[T]{only(plain, true), only(b64, false)}
}

// Object is a map with these fields. check, if not nil, gets the value after reading.
func Object[T any](name, of string, fields []Field[T], check func(r *Reader, n *yaml.Node, v *T)) Codec[T] {
	return Codec[T]{
		Read: func(r *Reader, n *yaml.Node) (v T) {
			keys, values := r.Pairs(n, of)
			known := r.Keys(KeysOf(fields))
			for i, k := range keys {
				at := slices.Index(known, k.Value)
				if at < 0 {
					r.Unknown(k, "key in "+of, known)
					continue
				}
				r.Rename(k, fields[at].Key)
				fields[at].Read(r, values[i], &v)
			}
			if check != nil {
				check(r, n, &v)
			}
			return v
		},
		Write: func(v T) *yaml.Node {
			out := &yaml.Node{Kind: yaml.MappingNode}
			for _, f := range fields {
				if n := f.Write(&v); n != nil {
					out.Content = append(out.Content, StringNode(f.Key), n)
				}
			}
			return out
		},
		Schema: func(d Defs) Schema {
			if _, ok := d[name]; !ok {
				d[name] = nil // for recursive references
				props := Schema{}
				for _, f := range fields {
					props[f.Key] = f.Schema(d)
				}
				d[name] = Schema{"type": "object", "additionalProperties": false, "properties": props}
			}
			return Schema{"$ref": "#/$defs/" + name}
		},
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

// ByName is a list that the file contains as a map by name. place returns the name of an
// element and its position.
func ByName[T any](of string, c Codec[T], place func(*T) (name *string, line, column *int)) Codec[[]T] {
	return Codec[[]T]{
		Read: func(r *Reader, n *yaml.Node) []T {
			keys, values := r.Pairs(n, of)
			out := make([]T, len(keys))
			for i, k := range keys {
				out[i] = c.Read(r, values[i])
				name, line, column := place(&out[i])
				*name, *line, *column = k.Value, k.Line, k.Column
			}
			return out
		},
		Write: func(v []T) *yaml.Node {
			out := &yaml.Node{Kind: yaml.MappingNode}
			for _, e := range v {
				name, _, _ := place(&e)
				out.Content = append(out.Content, StringNode(*name), c.Write(e))
			}
			return out
		},
		Schema: func(d Defs) Schema { return Schema{"type": "object", "additionalProperties": c.Schema(d)} },
	}
}

// PointerTo is a value that may be missing.
func PointerTo[T any](c Codec[T]) Codec[*T] {
	return Codec[*T]{
		Read: func(r *Reader, n *yaml.Node) *T {
			v := c.Read(r, n)
			return &v
		},
		Write:  func(v *T) *yaml.Node { return c.Write(*v) },
		Schema: c.Schema,
	}
}

// scalar is a codec for scalars with these tags.
func scalar[T any](of string, tags []string, parse func(text string) (T, bool), format func(T) *yaml.Node, s Schema) Codec[T] {
	return Codec[T]{
		Read: func(r *Reader, n *yaml.Node) (v T) {
			ok := n.Kind == yaml.ScalarNode && slices.Contains(tags, n.ShortTag())
			if ok {
				v, ok = parse(n.Value)
			}
			if !ok {
				r.Errorf(n, "expected %s, found %s", of, DescribeNode(n))
			}
			return v
		},
		Write:  format,
		Schema: func(Defs) Schema { return s },
	}
}

// StringNode quotes a string only if it is not made of words. Printable ASCII gets single
// quotes.
func StringNode(s string) *yaml.Node {
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

// PlainNode returns a scalar without quotes.
func PlainNode(tag, text string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: text}
}

// TextCodec reads a string.
var TextCodec = scalar("a string (quote it if it looks like another type)", []string{"!!str", "!!timestamp", "!!merge"},
	func(s string) (string, bool) { return s, true }, StringNode, Schema{"type": "string"})

// Base64Codec reads a string in base64.
var Base64Codec = scalar("base64", []string{"!!str"},
	func(s string) (string, bool) {
		b, err := base64.StdEncoding.DecodeString(s)
		return string(b), err == nil
	},
	func(s string) *yaml.Node { return StringNode(base64.StdEncoding.EncodeToString([]byte(s))) },
	Schema{"type": "string", "contentEncoding": "base64"})

// BoolCodec reads a boolean.
var BoolCodec = scalar("true or false", []string{"!!bool"},
	func(s string) (bool, bool) { return strings.EqualFold(s, "true"), true },
	func(v bool) *yaml.Node { return PlainNode("!!bool", strconv.FormatBool(v)) }, Schema{"type": "boolean"})

// number is a codec for whole numbers that are not below the minimum.
func number[T int | int64](of string, minimum T) Codec[T] {
	return scalar(of, []string{"!!int"}, func(s string) (T, bool) {
		n, err := strconv.ParseInt(s, 10, 64)
		return T(n), err == nil && n >= int64(minimum)
	}, func(v T) *yaml.Node { return PlainNode("!!int", strconv.FormatInt(int64(v), 10)) }, Schema{"type": "integer", "minimum": int(minimum)})
}

// maxRepeat is the maximum of a repetition. It protects against typing errors.
const maxRepeat = 10000

// Codecs of whole numbers.
var (
	CountCodec  = number[int]("a whole number, 0 or above", 0)
	RepeatCodec = scalar("a whole number from 0 to 10000", []string{"!!int"}, func(s string) (int, bool) {
		n, err := strconv.Atoi(s)
		return n, err == nil && n >= 0 && n <= maxRepeat
	}, func(v int) *yaml.Node { return PlainNode("!!int", strconv.Itoa(v)) }, Schema{"type": "integer", "minimum": 0, "maximum": maxRepeat})
	TokenCodec = number[int64]("a number of tokens, 0 or above", 0)
)

// DurationCodec reads a duration that is not negative.
var DurationCodec = scalar("a duration like 30ms or 1m30s, 0s or above", []string{"!!str"},
	func(s string) (time.Duration, bool) {
		d, err := time.ParseDuration(s)
		return d, err == nil && d >= 0
	},
	func(d time.Duration) *yaml.Node { return StringNode(d.String()) },
	Schema{"type": "string", "pattern": `^\+?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$`})

// OneOf is a codec for words.
func OneOf[T ~string](of string, words ...T) Codec[T] {
	known := make([]string, len(words))
	for i, w := range words {
		known[i] = string(w)
	}
	return Codec[T]{
		Read: func(r *Reader, n *yaml.Node) T {
			if n.Kind != yaml.ScalarNode {
				r.Errorf(n, "expected a %s, found %s", of, DescribeNode(n))
				return ""
			}
			if !slices.Contains(known, n.Value) {
				r.Unknown(n, of, known)
			}
			return T(n.Value)
		},
		Write:  func(v T) *yaml.Node { return StringNode(string(v)) },
		Schema: func(Defs) Schema { return Schema{"enum": known} },
	}
}

// JSONCodec reads any value as JSON.
var JSONCodec = Codec[json.RawMessage]{
	Read:   func(r *Reader, n *yaml.Node) json.RawMessage { return r.JSON(nil, n) },
	Write:  func(v json.RawMessage) *yaml.Node { return JSONNode(v) },
	Schema: func(Defs) Schema { return Schema{} },
}

// ArgumentsCodec reads a string, or a map as JSON.
var ArgumentsCodec = Codec[string]{
	Read: func(r *Reader, n *yaml.Node) string {
		if n.Kind == yaml.MappingNode {
			return string(r.JSON(nil, n))
		}
		return TextCodec.Read(r, n)
	},
	Write:  StringNode,
	Schema: func(Defs) Schema { return Schema{"type": []string{"string", "object"}} },
}

// KeysOf returns the keys of fields.
func KeysOf[T any](fields []Field[T]) []string {
	out := make([]string, len(fields))
	for i, f := range fields {
		out[i] = f.Key
	}
	return out
}

// Exclude reports the keys that key excludes.
func Exclude(r *Reader, n *yaml.Node, key string, others []string) {
	others = r.Keys(others)
	for i := 0; i < len(n.Content); i += 2 {
		if k := n.Content[i]; slices.Contains(others, k.Value) {
			r.Errorf(k, "%s and %s exclude each other: keep one", r.Key(key), k.Value)
		}
	}
}
