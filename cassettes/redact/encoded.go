package redact

import (
	"slices"
	"strconv"
	"strings"

	"github.com/looptape/looptape/cassettes/internal/match"
)

// maxEncodings limits repeated percent encoding.
const maxEncodings = 3

// namedParts returns the values that names in text mark as secret, also within percent
// encoding, such as a URL in a query.
func (o *Rules) namedParts(l *leaf, times int) []part {
	parts := slices.Concat(o.assigned(l), o.elements(l.text), userinfo(l.text))
	if times == 0 {
		return parts
	}
	ends := queryEnds(l.kind) + "?"
	for at := 0; ; {
		escape := strings.IndexByte(l.text[at:], '%')
		if escape < 0 {
			return parts
		}
		escape += at
		from := at + strings.LastIndexAny(l.text[at:escape], ends+"=") + 1
		at = len(l.text)
		if end := strings.IndexAny(l.text[escape:], ends); end >= 0 {
			at = escape + end
		}
		parts = append(parts, o.encodedParts(l, from, at, times-1)...)
	}
}

// encodedParts returns the secret parts of the decoded word without placeholders.
func (o *Rules) encodedParts(l *leaf, from, to, times int) (parts []part) {
	plain, places := decoded(l.text[from:to])
	marks := match.PlaceholderPattern.FindAllStringIndex(plain, -1)
	for _, p := range o.namedParts(&leaf{place: l.place, text: plain}, times) {
		i, _ := slices.BinarySearchFunc(marks, p.from, func(mark []int, at int) int { return mark[0] - at })
		if i == len(marks) || marks[i][0] >= p.to {
			parts = append(parts, part{from + places[p.from], from + places[p.to], p.encoded + 1})
		}
	}
	return parts
}

// decoded returns decoded text and the position of each of its bytes, and of its end, in
// text.
func decoded(text string) (plain string, places []int) {
	out := make([]byte, 0, len(text))
	places = make([]int, 0, len(text)+1)
	for at := 0; at < len(text); at++ {
		places = append(places, at)
		c := text[at]
		if c == '%' && at+2 < len(text) {
			if code, err := strconv.ParseUint(text[at+1:at+3], 16, 8); err == nil {
				c = byte(code)
				at += 2
			}
		}
		out = append(out, c)
	}
	return string(out), append(places, len(text))
}
