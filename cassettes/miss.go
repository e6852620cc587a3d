package cassettes

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/looptape/looptape/cassettes/recording"
)

// MissError reports that a cassette has no response for a request.
type MissError struct {
	File    string
	Session string
	// Request is the redacted request, without keys of known shapes.
	Request recording.Request
	// NearestMatch is the most similar recorded request. It is nil if the cassette is
	// empty.
	NearestMatch *recording.NearestMatch
	// RecordCommand is the value of Options.RecordCommand.
	RecordCommand string
	// Incomplete is an [*IncompleteError] if the recording was interrupted, and nil
	// otherwise.
	Incomplete error
}

const maxLines = 20 // for differences

func (e *MissError) Error() string {
	var b strings.Builder
	n := e.NearestMatch
	what := "request not recorded"
	if n != nil && len(n.Differences) == 0 {
		what = "every recording of this request was used"
	}
	_, _ = fmt.Fprintf(&b, "%s: %s\n  %s %s", e.File, what, e.Request.Method, e.Request.URL)
	if e.Session != "" {
		b.WriteString("\n  in the session " + e.Session)
	}
	switch {
	case n == nil:
		b.WriteString("\nThe cassette is empty.")
	case len(n.Differences) == 0:
		_, _ = fmt.Fprintf(&b, "\nIt is the request of interaction %d, recorded %s and used %[2]s.", n.Number, times(n.Recorded))
	default:
		_, _ = fmt.Fprintf(&b, "\nThe nearest is interaction %d, recorded %s and %s, which differs in", n.Number, times(n.Recorded), usedTimes(n.Used))
		writeDifferences(&b, n.Differences)
	}
	if n != nil && n.Message != "" {
		b.WriteString("\n" + n.Message)
	}
	if e.Incomplete != nil {
		b.WriteString("\n" + e.Incomplete.Error())
	}
	return b.String() + recordHint(e.RecordCommand)
}

func recordHint(again string) string {
	if again == "" {
		return ""
	}
	return "\nTo record again: " + again
}

func times(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
}

func usedTimes(n int) string {
	if n == 0 {
		return "not used yet"
	}
	return "used " + times(n)
}

const (
	maxWhere = 24 // characters in a column
	maxValue = 18
)

func inColumns(d recording.Difference) bool {
	longest := max(utf8.RuneCountInString(d.Recorded), utf8.RuneCountInString(d.Now))
	return utf8.RuneCountInString(d.Where) <= maxWhere && longest <= maxValue
}

func writeDifferences(b *strings.Builder, list []recording.Difference) {
	where, recorded := 0, 0
	for _, d := range list {
		if inColumns(d) {
			where, recorded = max(where, utf8.RuneCountInString(d.Where)), max(recorded, utf8.RuneCountInString(d.Recorded))
		}
	}
	lines := 0
	for i, d := range list {
		if lines >= maxLines {
			_, _ = fmt.Fprintf(b, "\n  and in %d more", len(list)-i)
			return
		}
		if inColumns(d) {
			_, _ = fmt.Fprintf(b, "\n  %-*s  recorded %-*s  now %s", where, d.Where, recorded, d.Recorded, d.Now)
			lines++
		} else {
			_, _ = fmt.Fprintf(b, "\n  %s\n    recorded %s\n    now      %s", d.Where, d.Recorded, d.Now)
			lines += 3
		}
	}
}

func (c *Cassette) miss(session string, r recording.Request) *MissError {
	c.missing.Lock()
	defer c.missing.Unlock()
	clean, _ := c.opts.Scrubbed(&recording.Interaction{Request: r}) // also without keys of known shapes
	r = clean.Request
	return &MissError{
		File: c.path, Session: session, Request: r, NearestMatch: c.index.Nearest(session, &r),
		RecordCommand: c.opts.RecordCommand, Incomplete: c.Incomplete(),
	}
}
