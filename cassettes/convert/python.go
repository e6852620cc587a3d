package convert

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// plainTags are the YAML tags of the values that PyYAML writes with a tag of Python. See its
// constructor.py and https://pyyaml.org/wiki/PyYAMLDocumentation.
var plainTags = map[string]string{
	"str": "!!str", "unicode": "!!str", "bytes": "!!binary", "int": "!!int", "long": "!!int", "float": "!!float",
	"bool": "!!bool", "none": "!!null", "list": "!!seq", "tuple": "!!seq", "dict": "!!map",
}

// objects returns the values of the objects that appear in the bodies, methods and statuses
// of vcrpy's cassettes, by the last word of their class and by their arguments or state.
var objects = map[string]func(list []*yaml.Node) (yaml.Node, error){
	"BytesIO": firstOf, "StringIO": firstOf, "HTTPMethod": firstOf, "HTTPStatus": firstOf, "istr": firstOf,
	"bytearray": bytesOf, "iter": joined,
}

// fromPython replaces tags and duplicate keys, which only the loader of Python accepts, by
// plain YAML with the same meaning: the last of several members with the same key counts.
func fromPython(n *yaml.Node) error { return pythonLoader{}.replace(n) }

// pythonLoader contains the nodes with an anchor that were replaced.
type pythonLoader map[*yaml.Node]bool

func (l pythonLoader) replace(n *yaml.Node) error {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Anchor != "" {
		if l[n] {
			return nil
		}
		l[n] = true
	}
	for _, part := range n.Content {
		if err := l.replace(part); err != nil {
			return err
		}
	}
	if n.Kind == yaml.MappingNode {
		n.Content = withoutDuplicates(n.Content)
	}
	tag, ok := strings.CutPrefix(n.Tag, "!!python/")
	if !ok {
		return nil
	}
	if n.Tag = plainTags[tag]; n.Tag != "" {
		return nil
	}
	object, err := construct(tag[strings.LastIndexAny(tag, ":.")+1:], n)
	if err != nil {
		return fmt.Errorf("yaml: line %d: %w (!!python/%s); record it again with a body of bytes or text", n.Line, err, tag)
	}
	object.Line, object.Column, object.Anchor = n.Line, n.Column, n.Anchor
	*n = object
	return nil
}

// withoutDuplicates returns the members of a mapping, each key with its last value.
func withoutDuplicates(members []*yaml.Node) []*yaml.Node {
	type name struct{ tag, value string }
	at := make(map[name]int, len(members)/2)
	out := make([]*yaml.Node, 0, len(members))
	for i := 0; i+1 < len(members); i += 2 {
		key, value := members[i], members[i+1]
		id := name{key.ShortTag(), key.Value}
		if first, found := at[id]; found && key.Kind == yaml.ScalarNode {
			out[first] = value
			continue
		}
		at[id] = len(out) + 1
		out = append(out, key, value)
	}
	return out
}

// construct returns the value of an object. Its arguments or its state are a sequence, which may
// be a member of a mapping.
func construct(class string, n *yaml.Node) (yaml.Node, error) {
	list := n
	if n.Kind == yaml.MappingNode {
		object, err := decodeNode[struct {
			Arguments yaml.Node `yaml:"args"`
			State     yaml.Node
		}](n)
		if err != nil {
			return yaml.Node{}, err
		}
		if list = &object.Arguments; list.IsZero() {
			list = &object.State
		}
	}
	if value := objects[class]; value != nil && list.Kind == yaml.SequenceNode {
		return value(list.Content)
	}
	return yaml.Node{}, errors.New("unsupported object of Python")
}

// child returns the value of a member, or nil.
func child(n *yaml.Node, name string) *yaml.Node {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i+1]
		}
	}
	return nil
}

var errArguments = errors.New("missing arguments of an object of Python")

func firstOf(list []*yaml.Node) (yaml.Node, error) {
	if len(list) == 0 {
		return yaml.Node{}, errArguments
	}
	if list[0].Kind == yaml.AliasNode {
		return *list[0].Alias, nil
	}
	return *list[0], nil
}

// bytesOf returns the bytes of a bytearray, which PyYAML writes as text in Latin-1.
func bytesOf(list []*yaml.Node) (yaml.Node, error) {
	if len(list) == 0 {
		return binary(nil), nil
	}
	s, err := decodeNode[string](list[0])
	if err != nil || len(list) == 1 {
		return binary([]byte(s)), err
	}
	var out []byte
	for _, r := range s {
		if r > 0xff {
			return yaml.Node{}, fmt.Errorf("character %q in the text of bytes", r)
		}
		out = append(out, byte(r))
	}
	return binary(out), nil
}

// joined returns the chunks of an iterator as one value.
func joined(list []*yaml.Node) (yaml.Node, error) {
	if len(list) == 0 {
		return yaml.Node{}, errArguments
	}
	chunks, err := decodeNode[[]string](list[0])
	return binary([]byte(strings.Join(chunks, ""))), err
}

func binary(b []byte) yaml.Node {
	return yaml.Node{Kind: yaml.ScalarNode, Tag: "!!binary", Style: yaml.TaggedStyle, Value: base64.StdEncoding.EncodeToString(b)}
}
