package redact

import (
	"encoding/binary"
	"strings"
	"unicode/utf16"
)

// fromUTF16 returns text in UTF-16 as UTF-8. Text that is mostly of Latin letters is recognized, in which every
// second byte is zero.
func fromUTF16(text string) (plain string, ok bool) {
	if !strings.Contains(text[:min(len(text), len("....")*2)], "\x00") {
		return "", false
	}
	var zeros [2]int
	for i := range len(text) {
		if text[i] == 0 {
			zeros[i%2]++
		}
	}
	var order binary.ByteOrder = binary.LittleEndian
	if zeros[0] > zeros[1] {
		order = binary.BigEndian
	}
	if max(zeros[0], zeros[1])*4 < len(text) || min(zeros[0], zeros[1])*16 > len(text) {
		return "", false
	}
	units := make([]uint16, len(text)/2)
	for i := range units {
		units[i] = order.Uint16([]byte(text[2*i : 2*i+2]))
	}
	return strings.TrimPrefix(string(utf16.Decode(units)), "\ufeff"), true
}

// findUTF16 returns a hit for the whole text if its plain form has a secret.
func (o *Rules) findUTF16(text, plain string) []hit {
	whole := []hit{{to: len(text), what: "a secret in UTF-16", known: true}}
	if len(o.findShapes(plain)) > 0 {
		return whole
	}
	x := leaf{place: place{kind: kindBody}, text: plain}
	for _, p := range o.namedParts(&x, 0) {
		if p.to-p.from >= minNamed {
			return whole
		}
	}
	return nil
}
