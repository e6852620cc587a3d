package fake

import (
	"go.yaml.in/yaml/v3"

	"github.com/looptape/looptape/fake/internal/yamlfile"
)

// Option is a named value of a script's loop options. This package does not interpret it.
type Option struct {
	Name  string
	Value Value
	Pos   Pos // of the name
}

// Value is the value of an [Option].
type Value struct {
	Kind ValueKind
	// Text is the string, the digits of the number, or true or false.
	Text   string
	Items  []Value  // of a list
	Fields []Option // of a map, in order
	Pos    Pos
}

// ParseOptions reads any YAML file as options. Its errors are those of [ParseScript] for
// invalid YAML and duplicate keys.
func ParseOptions(name string, src []byte) ([]Option, error) {
	r := newReader(name)
	var options []Option
	if root := r.Document(src); root != nil {
		r.CheckYAML(root)
		options = readOptions(r, root)
	}
	return options, r.Err()
}

// ValueKind is the kind of a [Value].
type ValueKind int

// The kinds of values.
const (
	Null ValueKind = iota
	Text
	Number
	Bool
	List
	Map
)

// String describes the kind for error messages.
func (k ValueKind) String() string {
	return [...]string{"null", "a string", "a number", "true or false", "a list", "a map"}[k]
}

var optionsCodec = yamlfile.Of(readOptions, optionsNode,
	func(yamlfile.Defs) yamlfile.Schema { return yamlfile.Schema{"type": "object"} })

func readOptions(r *yamlfile.Reader, n *yaml.Node) []Option {
	keys, values := r.Pairs(n, "options by name")
	out := make([]Option, len(keys))
	for i, k := range keys {
		out[i] = Option{k.Value, readValue(r, values[i]), pos(k)}
	}
	return out
}

func readValue(r *yamlfile.Reader, n *yaml.Node) Value {
	v := Value{Kind: Text, Text: n.Value, Pos: pos(n)}
	switch n.Kind {
	case yaml.MappingNode:
		v.Kind, v.Fields = Map, readOptions(r, n)
		return v
	case yaml.SequenceNode:
		v.Kind = List
		for _, e := range n.Content {
			v.Items = append(v.Items, readValue(r, e))
		}
		return v
	case yaml.ScalarNode, yaml.DocumentNode, yaml.AliasNode:
	}
	switch n.ShortTag() {
	case "!!null":
		v.Kind, v.Text = Null, ""
	case "!!bool", "!!int", "!!float":
		v.Kind, v.Text = Number, string(r.JSON(nil, n))
		if n.ShortTag() == "!!bool" {
			v.Kind = Bool
		}
	}
	return v
}

func optionsNode(options []Option) *yaml.Node {
	out := &yaml.Node{Kind: yaml.MappingNode}
	for _, o := range options {
		out.Content = append(out.Content, yamlfile.StringNode(o.Name), o.Value.node())
	}
	return out
}

func (v Value) node() *yaml.Node {
	switch v.Kind {
	case Null:
		return yamlfile.PlainNode("!!null", "null")
	case Number, Bool:
		return yamlfile.JSONNode([]byte(v.Text))
	case List:
		out := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
		for _, e := range v.Items {
			out.Content = append(out.Content, e.node())
		}
		return out
	case Map:
		out := optionsNode(v.Fields)
		out.Style = yaml.FlowStyle
		return out
	case Text:
	}
	return yamlfile.StringNode(v.Text)
}
