package redact

import "strings"

// patch replaces parts of text in order. It copies text only if there is a replacement.
type patch struct {
	text string
	out  strings.Builder
	done int // bytes of text in out
}

func (p *patch) put(at, length int, now string) {
	p.out.WriteString(p.text[p.done:at])
	p.out.WriteString(now)
	p.done = at + length
}

func (p *patch) set(at int, was, now string) {
	if now != was {
		p.put(at, len(was), now)
	}
}

func (p *patch) whole() string {
	if p.done == 0 {
		return p.text
	}
	p.out.WriteString(p.text[p.done:])
	return p.out.String()
}
