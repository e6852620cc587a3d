package yamlfile

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// usual has the codecs of fields without one in their [Codecs].
var usual = map[reflect.Type]pointers{
	reflect.TypeFor[bool]():            BoolCodec,
	reflect.TypeFor[int]():             number[int]("a whole number, 0 or above", 0),
	reflect.TypeFor[int64]():           number[int64]("a number of tokens, 0 or above", 0),
	reflect.TypeFor[string]():          TextCodec,
	reflect.TypeFor[time.Duration]():   durationCodec,
	reflect.TypeFor[json.RawMessage](): JSONCodec,
	reflect.TypeFor[*bool]():           PointerTo(BoolCodec),
	reflect.TypeFor[*string]():         PointerTo(TextCodec),
	reflect.TypeFor[[]string]():        ListOf("strings", TextCodec),
}

// scalar is a codec for scalars with these tags. It writes the first one.
func scalar[T any](of string, s Schema, parse func(text string) (T, bool), tags ...string) Codec[T] {
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
		Write: func(v T) *yaml.Node {
			if tags[0] == "!!str" {
				return StringNode(fmt.Sprint(v))
			}
			return PlainNode(tags[0], fmt.Sprint(v))
		},
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
var TextCodec = scalar("a string (quote it if it looks like another type)", Schema{"type": "string"},
	func(s string) (string, bool) { return s, true }, "!!str", "!!timestamp", "!!merge")

// base64Codec reads the bytes of a string.
var base64Codec = Codec[string]{
	Read: scalar("base64", nil, func(s string) (string, bool) {
		b, err := base64.StdEncoding.DecodeString(s)
		return string(b), err == nil
	}, "!!str").Read,
	Write:  func(s string) *yaml.Node { return StringNode(base64.StdEncoding.EncodeToString([]byte(s))) },
	Schema: func(Defs) Schema { return Schema{"type": "string", "contentEncoding": "base64"} },
}

// BoolCodec reads a boolean.
var BoolCodec = scalar("true or false", Schema{"type": "boolean"},
	func(s string) (bool, bool) { return strings.EqualFold(s, "true"), true }, "!!bool")

// number is a codec for whole numbers from 0 to a maximum, if that is not 0.
func number[T int | int64](of string, maximum int64) Codec[T] {
	s := Schema{"type": "integer", "minimum": 0}
	if maximum > 0 {
		s["maximum"] = maximum
	}
	return scalar(of, s, func(s string) (T, bool) {
		n, err := strconv.ParseInt(s, 10, 64)
		return T(n), err == nil && n >= 0 && (maximum == 0 || n <= maximum)
	}, "!!int")
}

// RepeatCodec reads a number of repetitions. Its maximum protects against typing errors.
var RepeatCodec = number[int]("a whole number from 0 to 10000", 10000)

var durationCodec = scalar("a duration like 30ms or 1m30s, 0s or above",
	Schema{"type": "string", "pattern": `^\+?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$`},
	func(s string) (time.Duration, bool) {
		d, err := time.ParseDuration(s)
		return d, err == nil && d >= 0
	}, "!!str")

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
