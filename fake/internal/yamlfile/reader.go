// Package yamlfile reads YAML files into values, writes them, and describes them by a JSON
// Schema, all by the same codecs. It does not know the format of a file.
package yamlfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/looptape/looptape/internal/suggest"
)

// Reader reads YAML nodes and collects errors.
type Reader struct {
	// NewError returns an error with a position in the file.
	NewError func(line, col int, message string) error
	Errs     []error
	// Old maps keys to their names in the version of the file; nil means the current names.
	Old map[string]string
	// Renamed is called for each key with another name in the current version. It may be
	// nil.
	Renamed func(key *yaml.Node, name string)
}

// ErrorAt records an error.
func (r *Reader) ErrorAt(line, col int, format string, args ...any) {
	r.Errs = append(r.Errs, r.NewError(line, col, fmt.Sprintf(format, args...)))
}

// Errorf records an error at the position of a node.
func (r *Reader) Errorf(n *yaml.Node, format string, args ...any) {
	r.ErrorAt(n.Line, n.Column, format, args...)
}

// Err returns the first errors, joined.
func (r *Reader) Err() error { return errors.Join(r.Errs[:min(len(r.Errs), 20)]...) }

// Key returns the name of a key in the version of the file.
func (r *Reader) Key(name string) string {
	if old, ok := r.Old[name]; ok {
		return old
	}
	return name
}

// Keys returns the names of keys in the version of the file.
func (r *Reader) Keys(names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = r.Key(name)
	}
	return out
}

// Rename reports a key that has this name in the current version.
func (r *Reader) Rename(key *yaml.Node, name string) {
	if r.Renamed != nil && key.Value != name {
		r.Renamed(key, name)
	}
}

// Document returns the root of the only YAML document of src.
func (r *Reader) Document(src []byte) *yaml.Node {
	if !r.clean(src) {
		return nil
	}
	dec := yaml.NewDecoder(bytes.NewReader(src))
	var doc, more yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		r.ErrorAt(1, 1, "empty file: begin with version: 2")
		return nil
	case err != nil:
		r.yamlError(dec, err)
		return nil
	}
	switch err := dec.Decode(&more); {
	case err == nil:
		r.Errorf(&more, "a second YAML document: put one document into a file")
		return nil
	case !errors.Is(err, io.EOF):
		r.yamlError(dec, err)
		return nil
	}
	return doc.Content[0]
}

// clean reports whether YAML allows the characters of src.
func (r *Reader) clean(src []byte) bool {
	line, col := 1, 1
	for i := 0; i < len(src); {
		c, n := utf8.DecodeRune(src[i:])
		if c == utf8.RuneError && n == 1 {
			r.ErrorAt(line, col, "the byte %#02x is not UTF-8: use a key that ends in _b64", src[i])
			return false
		}
		if c < ' ' && !strings.ContainsRune("\t\n\r", c) || c == 0x7f || c >= 0x80 && c < 0xa0 && c != 0x85 || c == 0xfffe || c == 0xffff {
			r.ErrorAt(line, col, "the control character %U is not allowed: escape it in double quotes", c)
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

// CheckYAML reports anchors, aliases and custom tags.
func (r *Reader) CheckYAML(n *yaml.Node) {
	switch tag := n.ShortTag(); {
	case n.Kind == yaml.AliasNode:
		r.Errorf(n, "an alias (*%s) is not allowed: repeat the value", n.Value)
		return
	case n.Anchor != "":
		r.Errorf(n, "an anchor (&%s) is not allowed: repeat the value", n.Anchor)
	case !slices.Contains([]string{"!!map", "!!seq", "!!str", "!!int", "!!float", "!!bool", "!!null", "!!timestamp", "!!merge"}, tag):
		r.Errorf(n, "the tag %s is not allowed: remove it", tag)
	}
	for _, c := range n.Content {
		r.CheckYAML(c)
	}
}

// DescribeNode describes a node for errors.
func DescribeNode(n *yaml.Node) string {
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

// Pairs returns the keys and values of a map. It reports any other node.
func (r *Reader) Pairs(n *yaml.Node, of string) (keys, values []*yaml.Node) {
	if n.Kind != yaml.MappingNode {
		r.Errorf(n, "expected %s (a map), found %s", of, DescribeNode(n))
		return nil, nil
	}
	seen := map[string]bool{}
	for i := 0; i < len(n.Content); i += 2 {
		k := n.Content[i]
		switch {
		case k.Kind != yaml.ScalarNode:
			r.Errorf(k, "expected a key, found %s", DescribeNode(k))
			continue
		case seen[k.Value]:
			r.Errorf(k, "duplicate key %q", k.Value)
			continue
		}
		seen[k.Value] = true
		keys, values = append(keys, k), append(values, n.Content[i+1])
	}
	return keys, values
}

// Unknown reports an unknown word.
func (r *Reader) Unknown(n *yaml.Node, of string, known []string) {
	r.Errorf(n, "unknown %s %q: %swant one of %s", of, n.Value, suggest.Hint(n.Value, known), strings.Join(known, ", "))
}

// Child returns the value of a key of a map, or nil.
func Child(n *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key && n.Kind == yaml.MappingNode {
			return n.Content[i+1]
		}
	}
	return nil
}
