package convert

import (
	"encoding/json"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/looptape/looptape/internal/jsonio"
)

// text is a YAML string that all readers restore byte for byte.
type text string

// MarshalYAML implements yaml.Marshaler. It writes !!binary for other encodings than UTF-8,
// and double quotes for text that some readers would change.
func (t text) MarshalYAML() (any, error) {
	s := string(t)
	if !utf8.ValidString(s) || isSimple(s) {
		return s, nil
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Style: yaml.DoubleQuotedStyle, Value: s}, nil
}

// noText matches text that YAML 1.1 readers (yaml.org/type) decode as another type, and
// that the encoder does not quote: a value key, numbers and times.
var noText = regexp.MustCompile(`^(=|[-+]?0[bx]_+|[-+]?[0-9_]*\.[0-9_]*([eE][-+][0-9]+)?|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}[Tt \t][0-9:. \tZ+-]+)$`)

func isSimple(s string) bool {
	return strings.TrimLeft(s, " \n") == s && !noText.MatchString(s) && !strings.ContainsFunc(s, func(r rune) bool {
		return r != '\n' && !unicode.IsPrint(r)
	})
}

// values are the values of a header: a list or a single value.
type values []text

// UnmarshalYAML implements yaml.Unmarshaler.
func (v *values) UnmarshalYAML(n *yaml.Node) error {
	*v = values{""}
	if n.Kind == yaml.ScalarNode {
		return n.Decode(&(*v)[0])
	}
	return n.Decode((*[]text)(v))
}

// UnmarshalJSON implements json.Unmarshaler.
func (v *values) UnmarshalJSON(src []byte) error {
	*v = values{""}
	if src[0] == '"' {
		return json.Unmarshal(src, &(*v)[0])
	}
	return json.Unmarshal(src, (*[]text)(v))
}

// MarshalJSON implements json.Marshaler.
func (v values) MarshalJSON() ([]byte, error) { return jsonio.AppendString(nil, string(v[0])), nil }

type headers map[text]values

func headersOf(h http.Header) headers {
	out := headers{}
	for name, list := range h {
		for _, v := range list {
			out[text(name)] = append(out[text(name)], text(v))
		}
	}
	return out
}

func (h headers) header() http.Header {
	out := http.Header{}
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, v := range h[name] {
			out.Add(string(name), string(v))
		}
	}
	return out
}

func (h headers) trailer() http.Header {
	if len(h) == 0 {
		return nil
	}
	return h.header()
}
