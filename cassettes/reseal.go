package cassettes

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// Reseal returns a cassette that was edited by hand with its lengths, checksums and keys
// made anew, and what was changed, a line each: there is none if the file is as it was
// written. Bodies may have been laid out in another way; what is not a line of a
// cassette is an error, a *FormatError.
func Reseal(name string, text []byte) (sealed []byte, changed []string, err error) {
	f := &File{name: name, text: withFoot(text)}
	if line, err := f.head(); err != nil {
		return nil, nil, &FormatError{File: name, Line: line, Err: err}
	}
	_ = f.find(0) // how many there should be does not count
	var list []*Interaction
	for i := range f.entries {
		x, err := f.read(i, true)
		if err != nil {
			return nil, nil, err
		}
		list = append(list, x)
		changed = append(changed, f.changes(i, x)...)
	}
	sealed = Encode(f.Head, nil, list)
	if _, err := Parse(name, text); err != nil && len(changed) == 0 {
		changed = []string{"lines that are not of a body, or how many interactions there are"}
	}
	return sealed, changed, nil
}

// withFoot is a text with a last line, for find to find the interaction before it.
func withFoot(text []byte) []byte {
	if bytes.Contains(text, []byte("\n"+foot)) {
		return text
	}
	return append(slices.Clip(text), "\n"+foot...)
}

// changes tells which bodies of an interaction are not what their marks say.
func (f *File) changes(i int, x *Interaction) (out []string) {
	text := f.text[f.entries[i].from:f.entries[i].to]
	m, err := readMarks(lastLine(text))
	if err != nil {
		return nil
	}
	title, _, _ := strings.Cut(strings.TrimPrefix(string(text), "=== "), "\n")
	for _, part := range []struct {
		name string
		body []byte
		was  mark
	}{{"request", x.Request.Body, m.sent}, {"response", x.Response.Body, m.got}} {
		if len(part.body) != part.was.length || checksum(part.body) != part.was.crc {
			out = append(out, fmt.Sprintf("%s: the body of the %s, now %d bytes, %d before", title, part.name, len(part.body), part.was.length))
		}
	}
	return out
}
