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

// text is a string of YAML that comes back byte for byte, whatever reads it.
type text string

// MarshalYAML implements yaml.Marshaler. What is not UTF-8 becomes !!binary, and what
// some readers would change stands in double quotes.
func (t text) MarshalYAML() (any, error) {
	s := string(t)
	if !utf8.ValidString(s) || isSimple(s) {
		return s, nil
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Style: yaml.DoubleQuotedStyle, Value: s}, nil
}

// noText is what readers of YAML 1.1 (yaml.org/type) take for another thing than a text,
// and the encoder for one: a value key, numbers, and times.
var noText = regexp.MustCompile(`^(=|[-+]?0[bx]_+|[-+]?[0-9_]*\.[0-9_]*([eE][-+][0-9]+)?|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}[Tt \t][0-9:. \tZ+-]+)$`)

// isSimple reports whether every reader of YAML gives a text back in any style.
func isSimple(s string) bool {
	return strings.TrimLeft(s, " \n") == s && !noText.MatchString(s) && !strings.ContainsFunc(s, func(r rune) bool {
		return r != '\n' && !unicode.IsPrint(r)
	})
}

// values are those of a header with one name: a list, or one alone.
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

// MarshalJSON implements json.Marshaler: of those that are written there is one.
func (v values) MarshalJSON() ([]byte, error) { return jsonio.AppendString(nil, string(v[0])), nil }

// headers are those of a request or a response, by name, or the fields of a form.
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

// header is one with names as Go spells them.
func (h headers) header() http.Header {
	out := http.Header{}
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, v := range h[name] {
			out.Add(string(name), string(v))
		}
	}
	return out
}

// trailer is nil if there is none.
func (h headers) trailer() http.Header {
	if len(h) == 0 {
		return nil
	}
	return h.header()
}
