package yamlfile

import (
	"encoding/json"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/looptape/looptape/internal/jsonio"
)

// JSON appends a node as JSON. It keeps the order of members and the digits of numbers.
func (r *Reader) JSON(dst []byte, n *yaml.Node) []byte {
	switch n.Kind {
	case yaml.MappingNode:
		dst = append(dst, '{')
		keys, values := r.Pairs(n, "a value")
		for i, k := range keys {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(jsonio.AppendString(dst, k.Value), ':')
			dst = r.JSON(dst, values[i])
		}
		return append(dst, '}')
	case yaml.SequenceNode:
		dst = append(dst, '[')
		for i, e := range n.Content {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = r.JSON(dst, e)
		}
		return append(dst, ']')
	case yaml.ScalarNode, yaml.DocumentNode, yaml.AliasNode:
	}
	switch n.ShortTag() {
	case "!!null":
		return append(dst, "null"...)
	case "!!bool":
		return append(dst, strings.ToLower(n.Value)...)
	case "!!int", "!!float":
		if !isNumber(n.Value) {
			r.Errorf(n, "expected a JSON number or a quoted string, found %s", n.Value)
			return append(dst, '0')
		}
		return append(dst, n.Value...)
	}
	return jsonio.AppendString(dst, n.Value)
}

// isNumber reports whether s is a JSON number.
func isNumber(s string) bool {
	return s != "" && strings.Contains("-0123456789", s[:1]) && jsonio.Valid([]byte(s))
}

// JSONNode returns JSON as a node. Invalid JSON becomes a string.
func JSONNode(raw json.RawMessage) *yaml.Node {
	if !jsonio.Valid(raw) {
		return StringNode(string(raw))
	}
	d := jsonio.NewDec(string(raw))
	return valueNode(&d)
}

func valueNode(d *jsonio.Dec) *yaml.Node {
	switch d.Peek() {
	case '{':
		out := &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}
		for key := range d.Members() {
			out.Content = append(out.Content, StringNode(key), valueNode(d))
		}
		return out
	case '[':
		out := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
		for range d.Elements() {
			out.Content = append(out.Content, valueNode(d))
		}
		return out
	case '"':
		return StringNode(d.String())
	case 't', 'f':
		return PlainNode("!!bool", strconv.FormatBool(d.Bool()))
	case 'n':
		d.Null()
		return PlainNode("!!null", "null")
	}
	n := PlainNode("", d.Raw())
	n.Tag = n.ShortTag() // as YAML reads it: a long number is a float
	if n.Tag != "!!int" {
		n.Tag = "!!float"
	}
	return n
}
