package tape

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/looptape/looptape/cassettes/recording"
	"github.com/looptape/looptape/internal/jsonio"
)

// form is the encoding of a body in the file.
type form string

// The forms. A writer uses the first form that restores the body byte for byte.
const (
	// formEvents has one line per server-sent event, with its delay. ␊ replaces newlines
	// in the event; the empty line at its end is omitted.
	formEvents form = "events"
	// formEventsCRLF is formEvents with CR LF line ends.
	formEventsCRLF form = "events-crlf"
	// formJSON is JSON without white space, formatted in lines.
	formJSON form = "json"
	// formJSONLine is formJSON with a newline at the end.
	formJSONLine form = "json-line"
	// formSpaced is JSON with one space after each colon and comma, formatted in lines.
	formSpaced form = "json-spaced"
	// formText is text, line by line.
	formText form = "text"
	// formBase64 is used for all other bodies.
	formBase64 form = "base64"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Checksum returns the CRC-32 (Castagnoli) of b.
func Checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// The forms to try, in this order, before formBase64.
var (
	eventForms = []form{formEvents, formEventsCRLF, formText}
	otherForms = []form{formJSON, formJSONLine, formSpaced, formText}
)

// appendBody appends a body with this line prefix (> or <) and returns its form.
func appendBody(dst []byte, mark byte, body []byte, events bool, chunks []recording.Chunk) ([]byte, form) {
	forms := otherForms
	if events {
		forms = eventForms
	}
	for _, f := range forms {
		if out, ok := f.append(dst, mark, body, chunks); ok && f.restores(mark, out[len(dst):], body) {
			return out, f
		}
	}
	return appendBase64(dst, mark, body), formBase64
}

// append appends a body. It returns false if the form cannot represent the body.
func (f form) append(dst []byte, mark byte, body []byte, chunks []recording.Chunk) (out []byte, ok bool) {
	switch {
	case !IsText(body):
		return dst, false
	case f.isEvents():
		return appendEvents(dst, mark, body, f.newline(), chunks, &rounder{})
	case f == formText:
		return appendLines(dst, mark, body), true
	}
	if f == formJSONLine {
		if body, ok = bytes.CutSuffix(body, []byte("\n")); !ok {
			return dst, false
		}
	}
	return appendJSON(dst, mark, body)
}

// restore appends the body to dst. For events it also returns the chunks.
func (f form) restore(dst []byte, mark byte, lines []byte) (body []byte, chunks []recording.Chunk, err error) {
	if f != formBase64 && !slices.Contains(eventForms, f) && !slices.Contains(otherForms, f) {
		return dst, nil, fmt.Errorf("the form %q of the body is not known", string(f))
	}
	if f.isEvents() {
		chunks = slices.Grow(chunks, bytes.Count(lines, []byte("\n")))
	}
	for first := true; len(lines) > 0; first = false {
		line, rest, err := nextLine(mark, lines)
		if err != nil {
			return dst, nil, err
		}
		lines = rest
		switch f {
		case formEvents, formEventsCRLF:
			ev, err := readEvent(line)
			if err != nil {
				return dst, nil, err
			}
			from := len(dst)
			dst = ev.append(dst, f.newline())
			chunks = append(chunks, recording.Chunk{After: ev.wait, Len: len(dst) - from})
		case formText:
			if !first {
				dst = append(dst, '\n')
			}
			dst = append(dst, line...)
		case formBase64:
			if dst, err = base64.StdEncoding.AppendDecode(dst, line); err != nil {
				return dst, nil, fmt.Errorf("the line %q is not base64: %w", shortened(line), err)
			}
		default: // a line of JSON ends after a comma, without the space
			dst = AppendSpaced(dst, jsonio.View(bytes.TrimRight(line, " ")), f == formSpaced)
		}
	}
	if f == formJSONLine {
		dst = append(dst, '\n')
	}
	return dst, chunks, nil
}

const batch = 64 << 10 // bytes that restores checks at a time

// restores reports whether lines encode body, without a copy of the whole body.
func (f form) restores(mark byte, lines, body []byte) bool {
	if f == formJSONLine {
		f, body = formJSON, body[:len(body)-1]
	}
	var back []byte
	for len(lines) > 0 {
		n := len(lines)
		if n > batch {
			n = batch + bytes.IndexByte(lines[batch:], '\n') + 1
		}
		var err error
		back, _, err = f.restore(back[:0], mark, lines[:n])
		if lines = lines[n:]; len(lines) > 0 && f == formText {
			back = append(back, '\n')
		}
		rest, found := bytes.CutPrefix(body, back)
		if err != nil || !found {
			return false
		}
		body = rest
	}
	return len(body) == 0
}

// IsText reports whether a body is UTF-8 without control characters other than tabs and
// line ends.
func IsText(body []byte) bool {
	for _, c := range body {
		if c < ' ' && c != '\t' && c != '\r' && c != '\n' || c == 0x7f {
			return false
		}
	}
	return utf8.Valid(body)
}

// nextLine returns the first line without its prefix.
func nextLine(mark byte, lines []byte) (line, rest []byte, err error) {
	line, rest, found := bytes.Cut(lines, []byte("\n"))
	switch {
	case !found:
		return nil, nil, fmt.Errorf("a line has no end")
	case len(line) == 1 && line[0] == mark:
		return nil, rest, nil
	case len(line) < 3 || line[0] != mark || line[1] != ' ':
		return nil, nil, fmt.Errorf("the line %q does not begin with %q", shortened(line), string(mark)+" ")
	}
	return line[2:], rest, nil
}

func shortened(b []byte) []byte {
	const maxShown = 60
	if len(b) <= maxShown {
		return b
	}
	return append(bytes.ToValidUTF8(b[:maxShown], nil), "…"...)
}

func appendLines(dst []byte, mark byte, body []byte) []byte {
	if len(body) == 0 {
		return dst
	}
	for line := range bytes.SplitSeq(body, []byte("\n")) {
		if dst = append(dst, mark); len(line) > 0 {
			dst = append(append(dst, ' '), line...)
		}
		dst = append(dst, '\n')
	}
	return dst
}

const base64Line = 57 // bytes in a line

func appendBase64(dst []byte, mark byte, body []byte) []byte {
	lines := len(body)/base64Line + 1
	dst = slices.Grow(dst, lines*(len("> \n")+base64.StdEncoding.EncodedLen(base64Line)))
	for len(body) > 0 {
		n := min(base64Line, len(body))
		dst = base64.StdEncoding.AppendEncode(append(dst, mark, ' '), body[:n])
		dst, body = append(dst, '\n'), body[n:]
	}
	return dst
}

const (
	maxWidth = 90 // of a value on one line
	maxDepth = 32 // at which every value is on one line
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
