package tape

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/looptape/looptape/cassettes/recording"
)

// UpdateChecksums implements cassettes.UpdateChecksums. The function encode writes a
// cassette.
func UpdateChecksums(name string, text []byte, encode func(recording.Metadata, []*recording.Interaction) []byte) (sealed []byte, changed []string, err error) {
	f := &File{Name: name, text: withFoot(text)}
	if line, err := f.readMetadata(); err != nil {
		return nil, nil, &recording.FormatError{File: name, Line: line, Err: err}
	}
	_ = f.find(0) // the expected number is checked below
	var list []*recording.Interaction
	last := 0
	for i := range f.entries {
		x, err := f.read(i, true)
		if err != nil {
			return nil, nil, err
		}
		list = append(list, x)
		var of []string
		last, of = f.changes(i, x, last)
		changed = append(changed, of...)
	}
	switch n, _, err := f.foot(); {
	case err != nil:
		changed = append(changed, fmt.Sprintf("the last line is missing, with all interactions after interaction %d", last))
	case n > last:
		changed = append(changed, gone(last+1, n))
	}
	sealed = encode(f.Metadata, list)
	if _, err := Parse(name, text); err != nil && len(changed) == 0 {
		changed = []string{"the metadata of the cassette, the last line of an interaction, or the layout of a body"}
	}
	return sealed, changed, nil
}

// withFoot returns text with a last line, so that find finds the last interaction.
func withFoot(text []byte) []byte {
	if bytes.Contains(text, []byte("\n"+foot)) {
		return text
	}
	return append(slices.Clip(text), "\n"+foot...)
}

func gone(first, last int) string {
	if first == last {
		return fmt.Sprintf("interaction %d is gone", first)
	}
	return fmt.Sprintf("interactions %d to %d are gone", first, last)
}

// changes lists the edits of an interaction, and the interactions that are missing between
// it and the number last. It returns its number, or last if the interaction was moved.
func (f *File) changes(i int, x *recording.Interaction, last int) (number int, out []string) {
	line := f.title(i)
	m, _ := readFooter(lastLine(f.lines(i)))                       // read before
	number, before, _ := readTitle(line, &recording.Interaction{}) // the same
	add := func(format string, args ...any) {
		out = append(out, strings.TrimPrefix(string(line), "=== ")+": "+fmt.Sprintf(format, args...))
	}
	switch {
	case number <= last:
		add("it was moved here, or added")
		number = last
	case number > last+1:
		out = append(out, gone(last+1, number-1))
	}
	switch status := strconv.Itoa(x.Response.Status); {
	case x.Response.Status != 0 && status != before:
		add("the status, now %s, %s before; a header may be changed, too", status, before)
	case f.metadataEdited(i):
		add("the title, a header or the termination")
	}
	for _, part := range []struct {
		name string
		body []byte
		was  bodyInfo
	}{{"request", x.Request.Body, m.sent}, {"response", x.Response.Body, m.got}} {
		if infoOf(part.was.form, part.body) != part.was {
			add("the body of the %s, now %d bytes, %d before", part.name, len(part.body), part.was.length)
		}
	}
	return number, out
}
