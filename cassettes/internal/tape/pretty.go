package tape

import (
	"bytes"
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
	if !IsText(body) || len(body) == 0 || !jsonio.Valid(body) {
		return dst, false
	}
	p := printer{dst: dst, mark: mark}
	d := jsonio.NewDec(jsonio.View(body))
	p.begin(0)
	p.value(&d, 0, 0)
	return append(p.dst, '\n'), d.End() == nil
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

// value writes the next value. Used is the number of characters before it on the line.
func (p *printer) value(d *jsonio.Dec, depth, used int) {
	ahead := *d
	raw := strings.TrimSpace(ahead.Raw())
	kind := byte(0)
	if raw != "" {
		kind = raw[0]
	}
	from := len(p.dst)
	if leaf := kind != '{' && kind != '[' || depth == maxDepth; leaf || len(raw) <= maxWidth {
		if p.dst = AppendSpaced(p.dst, raw, true); leaf || used+2*depth+len(p.dst)-from <= maxWidth {
			*d = ahead
			return
		}
		p.dst = p.dst[:from]
	}
	if kind == '{' {
		p.object(d, depth)
	} else {
		p.array(d, depth)
	}
}

func (p *printer) object(d *jsonio.Dec, depth int) {
	d.Object()
	p.dst = append(p.dst, '{')
	for first := true; ; {
		was := first
		before := *d
		key, ok := rawKey(&before, d, &first)
		if !ok {
			break
		}
		if !was {
			p.dst = append(p.dst, ',')
		}
		p.next(depth + 1)
		p.dst = append(append(p.dst, key...), ": "...)
		p.value(d, depth+1, len(key)+2)
	}
	p.next(depth)
	p.dst = append(p.dst, '}')
}

func (p *printer) array(d *jsonio.Dec, depth int) {
	d.Array()
	p.dst = append(p.dst, '[')
	for first := true; ; {
		was := first
		if !d.More(&first) {
			break
		}
		if !was {
			p.dst = append(p.dst, ',')
		}
		p.next(depth + 1)
		p.value(d, depth+1, 0)
	}
	p.next(depth)
	p.dst = append(p.dst, ']')
}

func rawKey(before, d *jsonio.Dec, first *bool) (key string, ok bool) {
	if _, ok = d.Key(first); !ok {
		return "", false
	}
	text := strings.TrimLeft(d.Since(before.Offset()), " \t\r\n,")
	return text[:StringEnd(text)], true
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

func restoreJSON(dst []byte, mark byte, lines []byte, spaced bool) ([]byte, error) {
	for len(lines) > 0 {
		line, rest, err := nextLine(mark, lines)
		if err != nil {
			return dst, err
		}
		// A line ends after a comma; its space is not written.
		dst = AppendSpaced(dst, jsonio.View(bytes.TrimRight(line, " ")), spaced)
		lines = rest
	}
	return dst, nil
}
