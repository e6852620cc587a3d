// Package jsonval compares JSON values: canonical form, equality, and JSON pointers. Package jsonio
// reads and writes JSON.
package jsonval

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/looptape/looptape/internal/jsonio"
)

// Canonical returns JSON with sorted keys and without insignificant space, so that equal values
// have equal encodings. Of several members with the same name it keeps the last. Numbers remain as written. It
// returns a string that is not JSON unchanged.
func Canonical(text string) string {
	if !utf8.ValidString(text) {
		return text
	}
	c := canon{dec: jsonio.NewDec(text), dst: make([]byte, 0, len(text))}
	c.value()
	switch {
	case c.dec.End() != nil || string(c.dst) == text:
		return text
	case c.deep:
		v, _ := Decode([]byte(text))
		sorted, _ := json.Marshal(v) // v was JSON
		return Canonical(string(sorted))
	}
	return string(c.dst)
}

// canon writes the canonical form of a value while it is read.
type canon struct {
	dec   jsonio.Dec
	dst   []byte
	depth int
	deep  bool // see object
}

func (c *canon) value() {
	switch c.dec.Peek() {
	case '{':
		c.object()
	case '[':
		c.depth++
		c.dst = append(c.dst, '[')
		for range c.dec.Elements() {
			c.comma('[')
			c.value()
		}
		c.dst = append(c.dst, ']')
		c.depth--
	case '"':
		c.dst = jsonio.AppendString(c.dst, c.dec.String())
	default:
		c.dst = append(c.dst, c.dec.Raw()...)
	}
}

// comma appends a comma if a value precedes.
func (c *canon) comma(opening byte) {
	if c.dst[len(c.dst)-1] != opening {
		c.dst = append(c.dst, ',')
	}
}

// span is the position of a member in dst.
type span struct {
	key      string
	from, to int
}

// maxSortedDepth is the maximum depth of an object whose members are sorted in place. Each such
// object moves its content once more, so that without a limit the time could grow with the square
// of the length.
const maxSortedDepth = 64

func (c *canon) object() {
	c.depth++
	var buf [8]span
	members := buf[:0]
	sorted := true
	c.dst = append(c.dst, '{')
	body := len(c.dst)
	for key := range c.dec.Members() {
		c.comma('{')
		m := span{key: key, from: len(c.dst)}
		c.dst = append(jsonio.AppendString(c.dst, key), ':')
		c.value()
		m.to = len(c.dst)
		sorted = sorted && (len(members) == 0 || members[len(members)-1].key < key)
		members = append(members, m)
	}
	switch {
	case sorted:
	case c.depth > maxSortedDepth:
		c.deep = true
	default:
		c.sort(body, members)
	}
	c.dst = append(c.dst, '}')
	c.depth--
}

// sort sorts the members, which begin at body, by their keys.
func (c *canon) sort(body int, members []span) {
	from := bytes.Clone(c.dst[body:])
	slices.SortStableFunc(members, func(a, b span) int { return strings.Compare(a.key, b.key) })
	c.dst = c.dst[:body]
	for i, m := range members {
		if i+1 < len(members) && members[i+1].key == m.key {
			continue
		}
		if len(c.dst) > body {
			c.dst = append(c.dst, ',')
		}
		c.dst = append(c.dst, from[m.from-body:m.to-body]...)
	}
}
