package gemini

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/codec"
)

// Vertex AI can stream the arguments of a call as values at JSON paths (quirk QG-10). The
// decoder builds one object and emits it when the call is complete.

type partialArg struct {
	path  string
	value string // JSON of a scalar; "" if there is none
	text  string // of a string
	isStr bool
}

func (c *call) readPartial(d *jsonio.Dec) {
	eachElement(d, func() {
		var a partialArg
		value := func() { a.value = d.Raw() }
		readObject(d,
			"jsonPath", func() { a.path = codec.String(d) },
			"stringValue", func() { a.text, a.isStr = d.String(), true },
			"numberValue", value,
			"boolValue", value,
			"nullValue", func() { d.Skip(); a.value = "null" })
		c.partial = append(c.partial, a)
	})
}

type openCall struct {
	index  int
	root   node
	broken bool // a value did not fit
}

func (c *decoder) partialCall() {
	p := &c.part
	opaque := p.opaque(nil)
	if p.call.name != "" || c.open == nil {
		c.truncate()
		c.calls++
		c.open = &openCall{index: c.calls}
		c.out = append(c.out, llm.ToolCallStart{Index: c.calls, ID: p.call.id, Name: p.call.name, Opaque: opaque})
		opaque = nil
	}
	o := c.open
	for _, a := range p.call.partial {
		if !o.broken && !o.root.set(a) {
			o.broken = true
		}
	}
	switch {
	case p.call.willContinue:
	case o.broken && p.call.args == "":
		c.truncate()
	default:
		args := p.call.args
		if args == "" {
			args = string(o.root.append(nil))
		}
		c.end(args, llm.ToolCallEnd{Index: o.index, Opaque: opaque})
	}
}

func (c *decoder) end(args string, end llm.ToolCallEnd) {
	c.out = append(c.out, llm.ToolCallDelta{Index: end.Index, Arguments: args}, end)
	c.open = nil
}

// truncate ends the incomplete open call. Its arguments lack the last brace to be invalid.
func (c *decoder) truncate() {
	if c.open == nil {
		return
	}
	args := c.open.root.append(nil)
	c.out = append(c.out, llm.Warning{Code: llm.WarnNoCallEnd, Message: "an incomplete call was ended by another part"})
	c.end(string(args[:len(args)-1]), llm.ToolCallEnd{Index: c.open.index})
}

// node is a value of the arguments. The zero value is an empty object.
type node struct {
	kind  kind
	keys  []string       // of an object
	at    map[string]int // the position of each key
	below []*node        // of an object or an array
	value string         // of a scalar
	text  []byte         // of a string
}

type kind byte

const (
	kindObject kind = iota
	kindNew         // nothing is known of it yet
	kindArray
	kindScalar
	kindString
)

// Limits against hostile servers.
const (
	maxMembers = 4096
	maxPath    = 100
)

// set sets the value at a path. It returns false if the path does not fit.
func (n *node) set(a partialArg) (ok bool) {
	path, ok := steps(a.path)
	if !ok {
		return false
	}
	for _, s := range path {
		if n = n.step(s); n == nil {
			return false
		}
	}
	kind := kindString
	if a.value != "" {
		kind = kindScalar
	}
	if n.kind != kindNew && n.kind != kind {
		return a.value == "" && !a.isStr
	}
	n.kind, n.value, n.text = kind, a.value, append(n.text, a.text...)
	return true
}

// step returns the child node, or a new one. It returns nil if there can be none.
func (n *node) step(s step) *node {
	at, kind := s.index, kindArray
	if !s.isIndex {
		at, kind = n.member(s.key), kindObject
	}
	if n.kind == kindNew {
		n.kind = kind
	}
	if n.kind != kind || at > len(n.below) || at == maxMembers && !s.isIndex {
		return nil
	}
	if at == len(n.below) {
		n.below = append(n.below, &node{kind: kindNew, value: "null"})
	}
	return n.below[at]
}

// member returns the position of a member, at most maxMembers, and adds it if necessary.
func (n *node) member(key string) int {
	i, known := n.at[key]
	if known {
		return i
	}
	if i = len(n.keys); i < maxMembers {
		if n.at == nil {
			n.at = map[string]int{}
		}
		n.at[key] = i
		n.keys = append(n.keys, key)
	}
	return i
}

func (n *node) append(dst []byte) []byte {
	switch n.kind {
	case kindObject:
		dst = append(dst, '{')
		for i, b := range n.below {
			dst = b.append(codec.AppendKey(dst, n.keys[i]))
		}
		return append(dst, '}')
	case kindArray:
		dst = append(dst, '[')
		for _, b := range n.below {
			dst = b.append(codec.AppendComma(dst))
		}
		return append(dst, ']')
	case kindString:
		return jsonio.AppendString(dst, string(n.text))
	case kindScalar, kindNew:
	}
	return append(dst, n.value...)
}

type step struct {
	key     string
	index   int
	isIndex bool
}

var (
	stepForm = regexp.MustCompile(`(?s)^(?:\.([^.[]+)|\[([0-9]+)\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\])`)
	escape   = regexp.MustCompile(`(?s)\\(.)`)
)

// steps parses a path such as $.a.b[0]['c d'], the part of RFC 9535 that names one value.
func steps(path string) (out []step, ok bool) {
	rest, ok := strings.CutPrefix(path, "$")
	for ok && rest != "" && len(out) < maxPath {
		m := stepForm.FindStringSubmatch(rest)
		if m == nil {
			return nil, false
		}
		s := step{key: m[1] + escape.ReplaceAllString(m[3]+m[4], "$1")}
		if m[2] != "" {
			n, err := strconv.ParseUint(m[2], 10, 31)
			s.index, s.isIndex, ok = int(n), true, err == nil
		}
		out, rest = append(out, s), rest[len(m[0]):]
	}
	return out, ok && rest == "" && len(out) > 0
}
