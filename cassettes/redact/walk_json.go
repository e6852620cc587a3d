package redact

import (
	"strconv"
	"strings"

	"github.com/looptape/looptape/cassettes/internal/match"
	"github.com/looptape/looptape/cassettes/internal/tape"
	"github.com/looptape/looptape/internal/jsonio"
)

// node is an object or an array of JSON, or the text that it stands in.
type node struct {
	up   *node
	name string // in the node above
	// index is what its members index, output_index and the like say: it tells texts
	// apart that come in turns.
	index string

	// named is what its member name or key says: of a list of headers or fields, that is
	// the name of what its member value says.
	named string

	key   string // the member at hand
	count int    // the element at hand
	kind  byte   // { or [, or 0 of a text
	value bool   // the name of the member at hand was read
}

// child is the name of what stands in the node at hand.
func (n *node) child() string {
	if n.kind == '[' {
		return strconv.Itoa(n.count)
	}
	return n.key
}

// json visits the texts in JSON, which is valid, the names of its members, and numbers
// that may be secret.
func (w *walker) json(text string, f *node) string {
	out := patch{text: text}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '{', '[':
			f = w.node(node{up: f, name: f.child(), kind: c})
		case '}', ']':
			f = f.up
		case ',':
			f.count++
			f.value = false
		case ':':
			f.value = true
		case '"':
			end := i + tape.StringEnd(text[i:])
			was := unquoted(text[i:end])
			if now := w.string(f, was); now != was {
				out.put(i, end-i, string(jsonio.AppendString(nil, now)))
			}
			i = end - 1
		case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
			was := text[i : i+numberLength(text[i:])]
			if strings.HasSuffix(f.key, "index") {
				f.index += was
			}
			if now := w.number(f, was); now != was {
				out.put(i, len(was), string(jsonio.AppendString(nil, now)))
			}
			i += len(was) - 1
		}
	}
	return out.whole()
}

// string visits a string of JSON, which is a value or the name of a member. No secret has
// room in a short word.
func (w *walker) string(f *node, text string) string {
	if f.kind == '{' && !f.value {
		f.key = text
		if len(text) < match.MinSecret && wordLength(text) == len(text) {
			return text
		}
		return w.leaf(place{kind: kindName, at: f}, text, false)
	}
	if f.key == "name" || f.key == "key" {
		f.named = text
	}
	return w.text(place{kind: kindBody, name: f.child(), at: f}, text)
}

// leastNumber is how long a number is that its name makes a secret: flags and counts are
// shorter.
const leastNumber = 4

// number visits a number that its name makes a secret, or that may be one that is
// redacted elsewhere.
func (w *walker) number(f *node, text string) string {
	p := place{kind: kindNumber, name: f.child(), at: f}
	secret := len(text) >= leastNumber && w.o.isSecret(&p, text)
	if !secret && (len(text) < match.MinSecret || strings.ContainsAny(text, ".eE")) {
		return text
	}
	return w.leaf(p, text, secret)
}

// numberLength is how long the number is that a text begins with.
func numberLength(text string) int {
	for i := range len(text) {
		if c := text[i]; !isDigit(c) && strings.IndexByte("+-.eE", c) < 0 {
			return i
		}
	}
	return len(text)
}

// unquoted is what a string of JSON says.
func unquoted(quoted string) string {
	d := jsonio.NewDec(quoted)
	return d.String()
}
