package redact

import (
	"strconv"
	"strings"

	"github.com/looptape/looptape/cassettes/internal/match"
	"github.com/looptape/looptape/cassettes/internal/tape"
	"github.com/looptape/looptape/internal/jsonio"
)

// node is a JSON object or array, or the text that contains it.
type node struct {
	up   *node
	name string // in the parent
	// index is the value of index members, such as output_index. It separates interleaved
	// texts.
	index string

	// named is the value of the member name or key. It names the member value.
	named string

	key   string // the current member
	count int    // the current element
	kind  byte   // { or [, or 0 for text
	value bool   // the name of the current member was read
}

func (n *node) child() string {
	if n.kind == '[' {
		return strconv.Itoa(n.count)
	}
	return n.key
}

// json visits the strings of valid JSON, long member names, and numbers that may be secret.
func (w *walker) json(text string, p *place) string {
	f := w.node(node{up: p.at, name: p.name})
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
			was := text[i : len(text)-len(strings.TrimLeft(text[i:], "0123456789+-.eE"))]
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

// string visits a value or a member name. A short name cannot contain a secret.
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

// minNumber is the minimum length of a secret number. Flags and counts are shorter.
const minNumber = 4

func (w *walker) number(f *node, text string) string {
	p := place{kind: kindNumber, name: f.child(), at: f}
	secret := len(text) >= minNumber && w.o.isSecret(&p, text)
	if !secret && (len(text) < match.MinSecret || strings.ContainsAny(text, ".eE")) {
		return text
	}
	return w.leaf(p, text, secret)
}

func unquoted(quoted string) string {
	d := jsonio.NewDec(quoted)
	return d.String()
}
