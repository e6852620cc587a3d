package tape

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"hash/crc32"
	"slices"
	"unicode/utf8"

	"github.com/looptape/looptape/cassettes/recording"
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

// appendBody appends a body with this line prefix (> or <) and returns its form.
func appendBody(dst []byte, mark byte, body []byte, events bool, chunks []recording.Chunk) ([]byte, form) {
	forms := []form{formJSON, formJSONLine, formSpaced, formText}
	if events {
		forms = []form{formEvents, formEventsCRLF, formText}
	}
	from := len(dst)
	for _, f := range forms {
		out, ok := f.append(dst, mark, body, chunks)
		if !ok {
			continue
		}
		if f.restores(mark, out[from:], body) {
			return out, f
		}
	}
	out, _ := formBase64.append(dst, mark, body, nil)
	return out, formBase64
}

func (f form) append(dst []byte, mark byte, body []byte, chunks []recording.Chunk) (out []byte, ok bool) {
	switch f {
	case formEvents, formEventsCRLF:
		return appendEvents(dst, mark, body, f.newline(), chunks)
	case formJSON, formSpaced:
		return appendJSON(dst, mark, body)
	case formJSONLine:
		body, ok = bytes.CutSuffix(body, []byte("\n"))
		if !ok {
			return dst, false
		}
		return appendJSON(dst, mark, body)
	case formText:
		return appendLines(dst, mark, body), IsText(body)
	case formBase64:
	}
	return appendBase64(dst, mark, body), true
}

// restore appends the body to dst. For events it also returns the chunks.
func (f form) restore(dst []byte, mark byte, lines []byte) (body []byte, chunks []recording.Chunk, err error) {
	switch f {
	case formEvents, formEventsCRLF:
		return restoreEvents(dst, mark, lines, f.newline())
	case formJSON:
		body, err = restoreJSON(dst, mark, lines, false)
	case formJSONLine:
		body, err = restoreJSON(dst, mark, lines, false)
		body = append(body, '\n')
	case formSpaced:
		body, err = restoreJSON(dst, mark, lines, true)
	case formText:
		body, err = restoreLines(dst, mark, lines)
	case formBase64:
		body, err = restoreBase64(dst, mark, lines)
	default:
		err = fmt.Errorf("the form %q of the body is not known", string(f))
	}
	return body, nil, err
}

// batch is the number of bytes that restores checks at a time.
const batch = 64 << 10

// restores reports whether lines encode body, without a copy of the whole body.
func (f form) restores(mark byte, lines, body []byte) bool {
	between := ""
	if f == formText {
		between = "\n"
	}
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
		if lines = lines[n:]; len(lines) > 0 {
			back = append(back, between...)
		}
		if err != nil || !bytes.HasPrefix(body, back) {
			return false
		}
		body = body[len(back):]
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

func appendLine(dst []byte, mark byte, line []byte) []byte {
	dst = append(dst, mark)
	if len(line) > 0 {
		dst = append(append(dst, ' '), line...)
	}
	return append(dst, '\n')
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
	for {
		line, rest, found := bytes.Cut(body, []byte("\n"))
		dst = appendLine(dst, mark, line)
		if !found {
			return dst
		}
		body = rest
	}
}

func restoreLines(dst []byte, mark byte, lines []byte) ([]byte, error) {
	for first := true; len(lines) > 0; first = false {
		line, rest, err := nextLine(mark, lines)
		if err != nil {
			return dst, err
		}
		if !first {
			dst = append(dst, '\n')
		}
		dst, lines = append(dst, line...), rest
	}
	return dst, nil
}

// base64Line is the number of bytes in a line of base64.
const base64Line = 57

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

func restoreBase64(dst []byte, mark byte, lines []byte) ([]byte, error) {
	for len(lines) > 0 {
		line, rest, err := nextLine(mark, lines)
		if err != nil {
			return dst, err
		}
		if dst, err = base64.StdEncoding.AppendDecode(dst, line); err != nil {
			return dst, fmt.Errorf("the line %q is not base64: %w", shortened(line), err)
		}
		lines = rest
	}
	return dst, nil
}
