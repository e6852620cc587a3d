package fake

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// reader reads YAML nodes and collects what is wrong with them.
type reader struct {
	file   string
	before int // lines of the file before the text
	errs   []error
}

func (r *reader) errorAt(line, col int, format string, args ...any) {
	r.errs = append(r.errs, &SyntaxError{r.file, r.before + line, col, fmt.Sprintf(format, args...)})
}

func (r *reader) errorf(n *yaml.Node, format string, args ...any) {
	r.errorAt(n.Line, n.Column, format, args...)
}

func (r *reader) pos(n *yaml.Node) Pos { return Pos{r.before + n.Line, n.Column} }

// clean reports whether YAML can hold the characters of src.
func (r *reader) clean(src []byte) bool {
	line, col := 1, 1
	for i := 0; i < len(src); {
		c, n := utf8.DecodeRune(src[i:])
		if c == utf8.RuneError && n == 1 {
			r.errorAt(line, col, "the byte %#02x is not UTF-8", src[i])
			return false
		}
		if c < ' ' && !strings.ContainsRune("\t\n\r", c) || c == 0x7f || c >= 0x80 && c < 0xa0 && c != 0x85 || c == 0xfffe || c == 0xffff {
			r.errorAt(line, col, "the control character %U can not stand here; write it as an escape in double quotes", c)
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

// refuse reports what this package does not take of YAML: anchors, aliases and
// tags of one's own.
func (r *reader) refuse(n *yaml.Node) {
	switch tag := n.ShortTag(); {
	case n.Kind == yaml.AliasNode:
		r.errorf(n, "an alias (*%s) is not allowed; write the value again", n.Value)
		return
	case n.Anchor != "":
		r.errorf(n, "an anchor (&%s) is not allowed; write the value where it is needed", n.Anchor)
	case !slices.Contains([]string{"!!map", "!!seq", "!!str", "!!int", "!!float", "!!bool", "!!null", "!!timestamp", "!!merge"}, tag):
		r.errorf(n, "the tag %s is not allowed; leave it out", tag)
	}
	for _, c := range n.Content {
		r.refuse(c)
	}
}

// what names what a node is, for errors.
func what(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a map"
	case yaml.SequenceNode:
		return "a list"
	case yaml.DocumentNode, yaml.ScalarNode, yaml.AliasNode:
	}
	switch n.ShortTag() {
	case "!!null":
		return "nothing"
	case "!!int", "!!float":
		return "the number " + n.Value
	case "!!bool":
		return "the truth value " + n.Value
	}
	return strconv.Quote(n.Value)
}

// pairs returns the keys and values of a map, or reports that it is none.
func (r *reader) pairs(n *yaml.Node, of string) (keys, values []*yaml.Node) {
	if n.Kind != yaml.MappingNode {
		r.errorf(n, "expected %s, which is a map, found %s", of, what(n))
		return nil, nil
	}
	seen := map[string]bool{}
	for i := 0; i < len(n.Content); i += 2 {
		k := n.Content[i]
		switch {
		case k.Kind != yaml.ScalarNode:
			r.errorf(k, "expected a key, found %s", what(k))
			continue
		case seen[k.Value]:
			r.errorf(k, "the key %q stands here a second time", k.Value)
			continue
		}
		seen[k.Value] = true
		keys, values = append(keys, k), append(values, n.Content[i+1])
	}
	return keys, values
}

// unknown reports a word that is none of those that are known.
func (r *reader) unknown(n *yaml.Node, of string, known []string) {
	hint := ""
	if near := Suggest(n.Value, known); near != "" {
		hint = fmt.Sprintf("did you mean %q? ", near)
	}
	r.errorf(n, "unknown %s %q; %sallowed: %s", of, n.Value, hint, strings.Join(known, ", "))
}

// Nearest returns the known word that differs least, or nothing if all differ
// in more than a third of their letters.
func Suggest(word string, known []string) string {
	best, at := "", 0
	for _, k := range known {
		if d := distance(word, k); d <= (len(k)+2)/3 && (best == "" || d < at) {
			best, at = k, d
		}
	}
	return best
}

// distance is how many letters have to be put in, taken out or replaced, at
// most (V. Levenshtein, 1966).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
