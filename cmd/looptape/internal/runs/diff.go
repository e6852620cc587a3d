package runs

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/looptape/looptape/trace"
)

// difference is the first difference between two lists of events.
type difference struct {
	// Index is the position of the first different events in both lists.
	Index int
	// A and B are these events; nil if the list has ended.
	A, B *trace.Event
	// Text shows the difference for people: the common lines before it ("  "), then the lines
	// of A ("- ") and of B ("+ ").
	Text string
}

// String returns the position of the difference and the text of both events.
func (d difference) String() string {
	at := d.A
	if at == nil {
		at = d.B
	}
	place := fmt.Sprintf("run %s, event %d", at.Run, at.Seq)
	if at.Step != trace.NoStep {
		place += fmt.Sprintf(", step %d", at.Step)
	}
	return place + "\n" + d.Text
}

// The number of lines that a difference shows before its place, and of each side after it.
const linesBefore, linesAfter = 3, 2

// diff compares two lists of events, usually in canonical form or as a projection. It returns the first
// difference; found reports whether there is one.
func diff(a, b []trace.Event) (d difference, found bool) {
	var x, y []byte
	i := 0
	for ; i < len(a) && i < len(b); i++ {
		x, y = a[i].AppendJSON(x[:0]), b[i].AppendJSON(y[:0])
		if !bytes.Equal(x, y) {
			break
		}
	}
	if i == len(a) && i == len(b) {
		return difference{}, false
	}
	d.Index = i
	if i < len(a) {
		d.A = &a[i]
	}
	if i < len(b) {
		d.B = &b[i]
	}
	var text strings.Builder
	before, left := around(a, i)
	_, right := around(b, i)
	mark(&text, "  ", before)
	mark(&text, "- ", left)
	mark(&text, "+ ", right)
	d.Text = text.String()
	return d, true
}

// around returns the lines before event i, and those from it on.
func around(events []trace.Event, i int) (before, from []string) {
	lines := strings.SplitAfter(trace.FormatText(events[:min(len(events), i+1+linesAfter)]), "\n")
	lines = lines[:len(lines)-1]
	return lines[max(0, i-linesBefore):i], lines[i:]
}

func mark(text *strings.Builder, prefix string, lines []string) {
	for _, line := range lines {
		text.WriteString(prefix + line)
	}
}
