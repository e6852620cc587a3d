// Package yamljson converts YAML to JSON as PyYAML reads it and Python writes it.
package yamljson

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/looptape/looptape/internal/jsonio"
)

// Limits of a value with aliases, which can contain itself or be long.
const (
	maxDepth = 1000
	maxSize  = 256 << 20 // bytes
)

// Append appends a node as compact JSON, with the members in the order of the file. The errors
// name the line.
func Append(dst []byte, n *yaml.Node) ([]byte, error) {
	return (&writer{}).append(dst, n, maxDepth)
}

// Parse returns the only document of a file; it has no content if the file has none. Another
// document that is not empty is an error. The errors name the line.
func Parse(src []byte) (*yaml.Node, error) {
	dec := yaml.NewDecoder(bytes.NewReader(src))
	var top, next yaml.Node
	err := dec.Decode(&top)
	for err == nil {
		if err = dec.Decode(&next); err == nil && next.Content[0].ShortTag() != "!!null" {
			err = fmt.Errorf("yaml: line %d: the file has another document: make a file of each", next.Content[0].Line)
		}
	}
	if !errors.Is(err, io.EOF) {
		return nil, err
	}
	return &top, nil
}

// Document returns the document of a file as JSON. Its elements and members are on the lines
// of the file, so that errors in the JSON have the lines of the file.
func Document(src []byte) ([]byte, error) {
	top, err := Parse(src)
	if err != nil {
		return nil, err
	}
	if len(top.Content) == 0 {
		return []byte("null"), nil
	}
	return (&writer{lines: true, line: 1}).append(nil, top.Content[0], maxDepth)
}

type writer struct {
	lines bool // keep the lines of the file
	line  int
}

// advance appends the ends of the lines before a node.
func (w *writer) advance(dst []byte, n *yaml.Node) []byte {
	if !w.lines || n.Line <= w.line {
		return dst
	}
	dst = append(dst, bytes.Repeat([]byte{'\n'}, n.Line-w.line)...)
	w.line = n.Line
	return dst
}

func (w *writer) append(dst []byte, n *yaml.Node, depth int) ([]byte, error) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if depth == 0 || len(dst) > maxSize {
		return nil, fmt.Errorf("yaml: line %d: the value has more than %d levels or %d MiB", n.Line, maxDepth, maxSize>>20)
	}
	if n.Kind == yaml.ScalarNode {
		return appendScalar(dst, n)
	}
	brackets, err := "[]", error(nil)
	if n.Kind == yaml.MappingNode {
		brackets = "{}"
	}
	dst = append(dst, brackets[0])
	for i, part := range n.Content {
		isKey := n.Kind == yaml.MappingNode && i%2 == 0
		switch {
		case i == 0:
		case n.Kind == yaml.MappingNode && !isKey:
			dst = append(dst, ':')
		default:
			dst = append(dst, ',')
		}
		dst = w.advance(dst, part)
		from := len(dst)
		if dst, err = w.append(dst, part, depth-1); err != nil {
			return nil, err
		}
		if isKey && dst[from] != '"' { // a number or a word, which Python writes as a string
			dst = jsonio.AppendString(dst[:from], string(dst[from:]))
		}
	}
	return append(dst, brackets[1]), nil
}

// appendScalar appends a scalar as PyYAML reads it and Python writes it as JSON.
func appendScalar(dst []byte, n *yaml.Node) (_ []byte, err error) {
	tag := n.ShortTag()
	if n.Style == 0 {
		tag = plainTag(n.Value)
	}
	number := ""
	switch tag {
	case "!!str":
		return jsonio.AppendString(dst, n.Value), nil
	case "!!null":
		return append(dst, "null"...), nil
	case "!!bool":
		return strconv.AppendBool(dst, slices.Contains([]string{"yes", "true", "on"}, strings.ToLower(n.Value))), nil
	case "!!int", "!!float":
		number, err = jsonNumber(n.Value)
	default:
		err = fmt.Errorf("%.40q (%s) is not a JSON value", n.Value, tag)
	}
	if err != nil {
		return nil, fmt.Errorf("yaml: line %d: %w: quote it if it is text", n.Line, err)
	}
	return append(dst, number...), nil
}

// plainWords match the scalars without quotes that are not strings: PyYAML's resolver.py, which
// has the types of YAML 1.1. They differ from those of YAML 1.2, where 12e5 is a number.
var plainWords = []struct {
	tag     string
	pattern *regexp.Regexp
}{
	{"!!null", regexp.MustCompile(`^(~|null|Null|NULL|)$`)},
	{"!!bool", regexp.MustCompile(`^(yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF)$`)},
	{"!!int", regexp.MustCompile(`^[-+]?(0b[01_]+|0[0-7_]+|0|[1-9][0-9_]*(:[0-5]?[0-9])*|0x[0-9a-fA-F_]+)$`)},
	{"!!float", regexp.MustCompile(`^([-+]?[0-9][0-9_]*\.[0-9_]*([eE][-+][0-9]+)?|\.[0-9][0-9_]*([eE][-+][0-9]+)?|[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+\.[0-9_]*|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$`)},
	{"!!timestamp", regexp.MustCompile(`^[0-9]{4}-([0-9]{2}-[0-9]{2}|[0-9]{1,2}-[0-9]{1,2}([Tt]|[ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}(\.[0-9]*)?([ \t]*(Z|[-+][0-9]{1,2}(:[0-9]{2})?))?)$`)},
	{"!!merge", regexp.MustCompile(`^<<$`)},
}

// plainTag returns the tag of a scalar without quotes.
func plainTag(value string) string {
	if value != "" && !strings.ContainsRune("~-+.<0123456789nNyYtTfFoO", rune(value[0])) {
		return "!!str"
	}
	for _, w := range plainWords {
		if w.pattern.MatchString(value) {
			return w.tag
		}
	}
	return "!!str"
}

// jsonNumber returns a number of YAML 1.1 as JSON. PyYAML writes 1e-07 as 1.0e-07.
func jsonNumber(text string) (string, error) {
	if short := strings.Replace(text, ".0e", "e", 1); jsonio.Valid([]byte(short)) {
		return short, nil
	}
	digits := strings.ReplaceAll(text, "_", "")
	if i, ok := new(big.Int).SetString(digits, 0); ok {
		return i.String(), nil
	}
	f, err := strconv.ParseFloat(digits, 64)
	if out := strconv.FormatFloat(f, 'g', -1, 64); err == nil && jsonio.Valid([]byte(out)) {
		return out, nil
	}
	return "", fmt.Errorf("%.40q is not a JSON number", text)
}
