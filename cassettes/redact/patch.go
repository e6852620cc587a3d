package redact

import "strings"

// patch is a text in which parts are changed, from its beginning on. It is copied only if
// one is.
type patch struct {
	text string
	out  strings.Builder
	done int // so much of the text is in out
}

// put puts something in the place of so many bytes at a place.
func (p *patch) put(at, length int, now string) {
	p.out.WriteString(p.text[p.done:at])
	p.out.WriteString(now)
	p.done = at + length
}

// set is put of a part that was something else before, if it was.
func (p *patch) set(at int, was, now string) {
	if now != was {
		p.put(at, len(was), now)
	}
}

// whole is the text as it is now.
func (p *patch) whole() string {
	if p.done == 0 {
		return p.text
	}
	p.out.WriteString(p.text[p.done:])
	return p.out.String()
}
