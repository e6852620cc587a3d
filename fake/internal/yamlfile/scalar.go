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
var usual = map[reflect.Type]Codec{
	reflect.TypeFor[bool]():            boolCodec,
	reflect.TypeFor[int]():             number("a whole number, 0 or above", 0),
	reflect.TypeFor[int64]():           number("a number of tokens, 0 or above", 0),
	reflect.TypeFor[string]():          TextCodec,
	reflect.TypeFor[time.Duration]():   durationCodec,
	reflect.TypeFor[json.RawMessage](): JSONCodec,
	reflect.TypeFor[*bool]():           PointerTo(boolCodec),
	reflect.TypeFor[*string]():         PointerTo(TextCodec),
	reflect.TypeFor[[]string]():        ListOf("strings", TextCodec),
}

// scalar is a codec for scalars with these tags. It writes the first one. The function set
// reports whether the text is a value.
func scalar(of string, s Schema, set func(v reflect.Value, text string) bool, tags ...string) Codec {
	return Codec{
		Read: func(r *Reader, n *yaml.Node, to any) {
			if n.Kind != yaml.ScalarNode || !slices.Contains(tags, n.ShortTag()) || !set(reflect.ValueOf(to).Elem(), n.Value) {
				r.Errorf(n, "expected %s, found %s", of, DescribeNode(n))
			}
		},
		Write: func(from any) *yaml.Node {
			text := fmt.Sprint(reflect.ValueOf(from).Elem())
			if tags[0] == "!!str" {
				return StringNode(text)
			}
			return PlainNode(tags[0], text)
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

// TextCodec is for a string.
var TextCodec = scalar("a string (quote it if it looks like another type)", Schema{"type": "string"},
	func(v reflect.Value, s string) bool {
		v.SetString(s)
		return true
	}, "!!str", "!!timestamp", "!!merge")

// ReadText reads a string.
func ReadText(r *Reader, n *yaml.Node) (s string) {
	TextCodec.Read(r, n, &s)
	return s
}

// base64Codec is for the bytes of a string.
var base64Codec = Codec{
	Read: scalar("base64", nil, func(v reflect.Value, s string) bool {
		b, err := base64.StdEncoding.DecodeString(s)
		v.SetString(string(b))
		return err == nil
	}, "!!str").Read,
	Write: func(from any) *yaml.Node {
		return StringNode(base64.StdEncoding.EncodeToString([]byte(*from.(*string))))
	},
	Schema: func(Defs) Schema { return Schema{"type": "string", "contentEncoding": "base64"} },
}

var boolCodec = scalar("true or false", Schema{"type": "boolean"},
	func(v reflect.Value, s string) bool {
		v.SetBool(strings.EqualFold(s, "true"))
		return true
	}, "!!bool")

// number is a codec for whole numbers from 0 to a maximum, if that is not 0.
func number(of string, maximum int64) Codec {
	s := Schema{"type": "integer", "minimum": 0}
	if maximum > 0 {
		s["maximum"] = maximum
	}
	return scalar(of, s, func(v reflect.Value, s string) bool {
		n, err := strconv.ParseInt(s, 10, 64)
		v.SetInt(n)
		return err == nil && n >= 0 && (maximum == 0 || n <= maximum)
	}, "!!int")
}

// RepeatCodec is for a number of repetitions. Its maximum protects against typing errors.
var RepeatCodec = number("a whole number from 0 to 10000", 10000)

var durationCodec = scalar("a duration like 30ms or 1m30s, 0s or above",
	Schema{"type": "string", "pattern": `^\+?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$`},
	func(v reflect.Value, s string) bool {
		d, err := time.ParseDuration(s)
		v.SetInt(int64(d))
		return err == nil && d >= 0
	}, "!!str")

// OneOf is a codec for words.
func OneOf[T ~string](of string, words ...T) Codec {
	known := make([]string, len(words))
	for i, w := range words {
		known[i] = string(w)
	}
	return word(of, known)
}

func word(of string, known []string) Codec {
	return Codec{
		Read: func(r *Reader, n *yaml.Node, to any) {
			if n.Kind != yaml.ScalarNode {
				r.Errorf(n, "expected a %s, found %s", of, DescribeNode(n))
				return
			}
			if !slices.Contains(known, n.Value) {
				r.Unknown(n, of, known)
			}
			reflect.ValueOf(to).Elem().SetString(n.Value)
		},
		Write:  func(from any) *yaml.Node { return StringNode(reflect.ValueOf(from).Elem().String()) },
		Schema: func(Defs) Schema { return Schema{"enum": known} },
	}
}

// JSONCodec is for any value as JSON.
var JSONCodec = Of(
	func(r *Reader, n *yaml.Node) json.RawMessage { return r.JSON(nil, n) },
	func(v json.RawMessage) *yaml.Node { return JSONNode(v) },
	func(Defs) Schema { return Schema{} },
)

// ArgumentsCodec is for a string, or a map as JSON.
var ArgumentsCodec = Of(
	func(r *Reader, n *yaml.Node) string {
		if n.Kind == yaml.MappingNode {
			return string(r.JSON(nil, n))
		}
		return ReadText(r, n)
	},
	StringNode,
	func(Defs) Schema { return Schema{"type": []string{"string", "object"}} },
)
