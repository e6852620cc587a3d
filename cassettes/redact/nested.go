package redact

import "strings"

// nested finds values in arrays and objects with secret names in text that is not valid
// JSON. As in JSON, these are the strings in an array and the member value of an object.
type nested struct {
	o      *Rules
	text   string
	at     int // position; each byte is examined once
	within []bracket
	member string // of the current object
	parts  []part
}

// bracket is an array or object with its name. An element of an array has the name of the
// array.
type bracket struct {
	kind byte
	name string
}

func (n *nested) after(colon int) {
	from := colon + 1
	value := strings.TrimLeft(n.text[from:], " ")
	if from < n.at || value == "" || value[0] != '[' && value[0] != '{' {
		return
	}
	name, quote := nameBefore(n.text[:colon])
	if quote == "" || n.o.secrecy(kindBody, name) == secretNever {
		return
	}
	n.member, n.within = name, nil
	n.at = len(n.text) - len(value)
	for n.at < len(n.text) && n.next() {
		n.at++
	}
}

// next examines the current byte and reports whether to continue after it.
func (n *nested) next() bool {
	switch c := n.text[n.at]; c {
	case '[', '{':
		n.within = append(n.within, bracket{c, n.name()})
	case ']', '}':
		n.within = n.within[:len(n.within)-1]
		return len(n.within) > 0
	case '"', '\'':
		return n.string()
	default:
		return strings.IndexByte(" \t\r\n,:+-.0123456789Etruefalsn\\", c) >= 0
	}
	return true
}

func (n *nested) name() string {
	if i := len(n.within) - 1; i >= 0 && n.within[i].kind == '[' {
		return n.within[i].name
	}
	return n.member
}

// string examines a string, whose quotes may have backslashes.
func (n *nested) string() bool {
	before := n.text[:n.at]
	opening := n.text[len(strings.TrimRight(before, `\`)) : n.at+1]
	from := n.at + 1
	to := from + closing(n.text[from:], opening)
	rest, closed := strings.CutPrefix(n.text[to:], opening)
	n.at = len(n.text) - len(rest) - 1
	said, in := n.text[from:to], n.within[len(n.within)-1]
	switch {
	case in.kind == '[':
		n.value(in.name, from, to)
	case strings.HasPrefix(strings.TrimLeft(rest, " \t\r\n"), ":"):
		n.member = said
	case n.member == "value":
		n.value(in.name, from, to)
	}
	return closed
}

func (n *nested) value(name string, from, to int) {
	said := n.text[from:to]
	if s := n.o.secrecy(kindBody, name); s == secretAlways || s == secretIfRandom && looksRandom(decodedValue(said, 0)) {
		n.parts = append(n.parts, part{from: from + len(scheme(said)), to: to})
	}
}
