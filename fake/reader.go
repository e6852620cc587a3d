package fake

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/looptape/looptape/internal/suggest"
)

// reader reads YAML nodes and collects errors.
type reader struct {
	file    string
	version int // of the format; 0 if it is unknown
	errs    []error
	renames map[Pos][2]string // see Script.Renames
}

func (r *reader) errorAt(line, col int, format string, args ...any) {
	r.errs = append(r.errs, &SyntaxError{r.file, line, col, fmt.Sprintf(format, args...)})
}

func (r *reader) errorf(n *yaml.Node, format string, args ...any) {
	r.errorAt(n.Line, n.Column, format, args...)
}

func (r *reader) pos(n *yaml.Node) Pos { return Pos{n.Line, n.Column} }

// clean reports whether YAML allows the characters of src.
func (r *reader) clean(src []byte) bool {
	line, col := 1, 1
	for i := 0; i < len(src); {
		c, n := utf8.DecodeRune(src[i:])
		if c == utf8.RuneError && n == 1 {
			r.errorAt(line, col, "the byte %#02x is not UTF-8: use a key that ends in _b64", src[i])
			return false
		}
		if c < ' ' && !strings.ContainsRune("\t\n\r", c) || c == 0x7f || c >= 0x80 && c < 0xa0 && c != 0x85 || c == 0xfffe || c == 0xffff {
			r.errorAt(line, col, "the control character %U is not allowed: escape it in double quotes", c)
			return false
		}
		i += n
		col++
		if c == '\n' {
			line, col = line+1, 1
		}
	}
	return true
}

// checkYAML reports anchors, aliases and custom tags.
func (r *reader) checkYAML(n *yaml.Node) {
	switch tag := n.ShortTag(); {
	case n.Kind == yaml.AliasNode:
		r.errorf(n, "an alias (*%s) is not allowed: repeat the value", n.Value)
		return
	case n.Anchor != "":
		r.errorf(n, "an anchor (&%s) is not allowed: repeat the value", n.Anchor)
	case !slices.Contains([]string{"!!map", "!!seq", "!!str", "!!int", "!!float", "!!bool", "!!null", "!!timestamp", "!!merge"}, tag):
		r.errorf(n, "the tag %s is not allowed: remove it", tag)
	}
	for _, c := range n.Content {
		r.checkYAML(c)
	}
}

// describeNode describes a node for errors.
func describeNode(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a map"
	case yaml.SequenceNode:
		return "a list"
	case yaml.DocumentNode, yaml.ScalarNode, yaml.AliasNode:
	}
	switch n.ShortTag() {
	case "!!null":
		return "null"
	case "!!int", "!!float":
		return "the number " + n.Value
	case "!!bool":
		return "the boolean " + n.Value
	}
	return strconv.Quote(n.Value)
}

// pairs returns the keys and values of a map. It reports any other node.
func (r *reader) pairs(n *yaml.Node, of string) (keys, values []*yaml.Node) {
	if n.Kind != yaml.MappingNode {
		r.errorf(n, "expected %s (a map), found %s", of, describeNode(n))
		return nil, nil
	}
	seen := map[string]bool{}
	for i := 0; i < len(n.Content); i += 2 {
		k := n.Content[i]
		switch {
		case k.Kind != yaml.ScalarNode:
			r.errorf(k, "expected a key, found %s", describeNode(k))
			continue
		case seen[k.Value]:
			r.errorf(k, "duplicate key %q", k.Value)
			continue
		}
		seen[k.Value] = true
		keys, values = append(keys, k), append(values, n.Content[i+1])
	}
	return keys, values
}

// unknown reports an unknown word.
func (r *reader) unknown(n *yaml.Node, of string, known []string) {
	r.errorf(n, "unknown %s %q: %swant one of %s", of, n.Value, suggest.Hint(n.Value, known), strings.Join(known, ", "))
}
