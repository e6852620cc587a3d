package cassettes

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/looptape/looptape/cassettes/internal/match"
	"github.com/looptape/looptape/cassettes/recording"
)

// MissError reports that a cassette has no response for a request.
type MissError struct {
	File    string
	Session string
	// Request is the redacted request.
	Request recording.Request
	// NearestMatch is the most similar recorded request. It is nil if the cassette is
	// empty.
	NearestMatch *NearestMatch
	// RecordCommand is the value of Options.RecordCommand.
	RecordCommand string
	// Incomplete is an [*IncompleteError] if the recording was interrupted, and nil
	// otherwise.
	Incomplete error
}

// NearestMatch is the recorded request that is most similar to a request without a
// response.
type NearestMatch struct {
	// Number is the number of the interaction, from 1.
	Number int
	// Recorded is the number of interactions with this request, and Used the number of used
	// ones.
	Recorded, Used int
	// Differences are the differences between the requests. There are none if all
	// recordings of the request are used.
	Differences []Difference
	// Message describes the first message of a conversation that differs. It is empty if
	// none does.
	Message string
}

// maxLines limits the lines for differences.
const maxLines = 20

func (e *MissError) Error() string {
	var b strings.Builder
	n := e.NearestMatch
	what := "there is no recording of"
	if n != nil && len(n.Differences) == 0 {
		what = "no recording is left of"
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
	// shortWhere and shortValue limit the columns of a table.
	maxWhere = 24
	maxValue = 18
)

func (d *Difference) inColumns() bool {
	return utf8.RuneCountInString(d.Where) <= maxWhere && utf8.RuneCountInString(d.Recorded) <= maxValue && utf8.RuneCountInString(d.Now) <= maxValue
}

func writeDifferences(b *strings.Builder, list []Difference) {
	where, recorded := 0, 0
	for _, d := range list {
		if d.inColumns() {
			where, recorded = max(where, utf8.RuneCountInString(d.Where)), max(recorded, utf8.RuneCountInString(d.Recorded))
		}
	}
	lines := 0
	for i, d := range list {
		if lines >= maxLines {
			_, _ = fmt.Fprintf(b, "\n  and in %d more", len(list)-i)
			return
		}
		if d.inColumns() {
			_, _ = fmt.Fprintf(b, "\n  %-*s  recorded %-*s  now %s", where, d.Where, recorded, d.Recorded, d.Now)
			lines++
		} else {
			_, _ = fmt.Fprintf(b, "\n  %s\n    recorded %s\n    now      %s", d.Where, d.Recorded, d.Now)
			lines += 3
		}
	}
}

func (c *Cassette) miss(session string, r recording.Request) *MissError {
	return &MissError{File: c.path, Session: session, Request: r, NearestMatch: nearestMatch(c.index.Nearest(session, &r)), RecordCommand: c.opts.RecordCommand, Incomplete: c.Incomplete()}
}

func nearestMatch(n *match.Nearest) *NearestMatch {
	if n == nil {
		return nil
	}
	out := &NearestMatch{Number: n.Number, Recorded: n.Recorded, Used: n.Used, Message: n.Message}
	for _, d := range n.Differences {
		out.Differences = append(out.Differences, Difference(d))
	}
	return out
}

// Difference is one difference between a request and a recorded one.
type Difference struct {
	// Where is session, method, URL scheme, URL user, URL host, URL path, URL, query NAME,
	// Host, content type, form NAME, form, line NUMBER or body, or a JSON pointer into the
	// body. For a member that the request lacks, the pointer is that of the recording.
	Where string
	// Recorded and Now are the two values as JSON, shortened to the part around the first
	// difference, or "absent".
	Recorded, Now string
}
