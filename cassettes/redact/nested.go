package redact

import "strings"

// nested are the values in arrays and objects with the names of secrets, in a text that
// is no JSON: JSON that was cut, or in which there is something else. As in JSON, these
// are the strings in an array, and what is called value in an object.
type nested struct {
	o      *Rules
	text   string
	at     int // so far, so that nothing is looked at twice
	within []bracket
	member string // of the object at hand
	parts  []part
}

// bracket is an array or an object, with its name; an element has that of the array.
type bracket struct {
	kind byte
	name string
}

// behind looks at what stands behind a colon, if it is an array or an object.
func (n *nested) behind(colon int) {
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

// next looks at what stands at hand, and reports whether it goes on behind it.
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

// name is that of what comes next.
func (n *nested) name() string {
	if i := len(n.within) - 1; i >= 0 && n.within[i].kind == '[' {
		return n.within[i].name
	}
	return n.member
}

// string looks at a string, whose quotes may have backslashes.
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

// value adds a value if its name makes it a secret.
func (n *nested) value(name string, from, to int) {
	said := n.text[from:to]
	if s := n.o.secrecy(kindBody, name); s == secretAlways || s == secretIfRandom && looksRandom(meaning(said, 0)) {
		n.parts = append(n.parts, part{from: from + len(scheme(said)), to: to})
	}
}
