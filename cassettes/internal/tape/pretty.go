package tape

import (
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
)

const (
	// maxWidth is the maximum length of a value on one line.
	maxWidth = 90
	// maxDepth is the depth at which every value is on one line.
	maxDepth = 32
)

// appendJSON formats JSON in lines. It does not change strings, numbers or their order.
func appendJSON(dst []byte, mark byte, body []byte) (out []byte, ok bool) {
	if !jsonio.Valid(body) {
		return dst, false
	}
	p := printer{dst: dst, mark: mark}
	p.begin(0)
	p.value(jsonio.View(body), 0, 0)
	return append(p.dst, '\n'), true
}

type printer struct {
	dst  []byte
	mark byte
}

func (p *printer) begin(depth int) {
	p.dst = append(append(p.dst, p.mark), ' ')
	for range depth {
		p.dst = append(p.dst, "  "...)
	}
}

func (p *printer) next(depth int) {
	p.dst = append(p.dst, '\n')
	p.begin(depth)
}

const space = " \t\r\n"

// value writes the first value of valid JSON and returns the rest. Used is the number of
// characters before the value on the line.
func (p *printer) value(text string, depth, used int) (rest string) {
	d := jsonio.NewDec(text)
	raw := d.Raw()
	rest = text[d.Offset():]
	leaf := raw[0] != '{' && raw[0] != '[' || depth == maxDepth
	if leaf || len(raw) <= maxWidth {
		from := len(p.dst)
		if p.dst = AppendSpaced(p.dst, raw, true); leaf || used+2*depth+len(p.dst)-from <= maxWidth {
			return rest
		}
		p.dst = p.dst[:from]
	}
	closing := raw[len(raw)-1]
	p.dst = append(p.dst, raw[0])
	for in := strings.TrimLeft(raw[1:], space); in[0] != closing; in = strings.TrimLeft(in, space) {
		if in[0] == ',' {
			p.dst, in = append(p.dst, ','), strings.TrimLeft(in[1:], space)
		}
		p.next(depth + 1)
		used = 0
		if closing == '}' {
			name := in[:StringEnd(in)]
			_, in, _ = strings.Cut(in[len(name):], ":")
			p.dst = append(append(p.dst, name...), ": "...)
			used = len(name) + len(": ")
		}
		in = p.value(in, depth+1, used)
	}
	p.next(depth)
	p.dst = append(p.dst, closing)
	return rest
}

// StringEnd returns the end of the JSON string at the beginning of text.
func StringEnd(text string) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

// AppendSpaced appends JSON without white space. If spaced is true, a space follows each
// colon and comma.
func AppendSpaced(dst []byte, raw string, spaced bool) []byte {
	for i := 0; i < len(raw); {
		switch c := raw[i]; c {
		case '"':
			n := StringEnd(raw[i:])
			dst = append(dst, raw[i:i+n]...)
			i += n
			continue
		case ' ', '\t', '\r', '\n':
		case ':', ',':
			dst = append(dst, c)
			if spaced {
				dst = append(dst, ' ')
			}
		default:
			dst = append(dst, c)
		}
		i++
	}
	return dst
}
