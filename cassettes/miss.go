package cassettes

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// MissError says that a cassette has no answer to a request, and what comes nearest.
type MissError struct {
	File    string
	Session string
	// Request is the request as it would be recorded.
	Request Request
	// Nearest is the recorded request that comes nearest; nil if there is none.
	NearestMatch *NearestMatch
	// Again is how to record again, from Options.RecordCommand.
	RecordCommand string
	// Broken tells that the recording broke off: a *IncompleteError, or nil.
	Incomplete error
}

// Nearest is the recorded request that comes nearest to one that has no answer.
type NearestMatch struct {
	// Number is that of its interaction, from 1.
	Number int
	// Recorded is how many interactions of the cassette have this very request, and
	// Used how many of them were used.
	Recorded, Used int
	// Differences are the things in which the requests differ. There are none if they
	// are the same, and the recordings are used up.
	Differences []Difference
	// Message says which message of a conversation is the first that differs; it is
	// empty if none does.
	Message string
}

// mostLines is how many lines of differences are told.
const mostLines = 20

func (e *MissError) Error() string {
	var b strings.Builder
	n := e.NearestMatch
	what := "there is no recording of"
	if n != nil && len(n.Differences) == 0 {
		what = "no recording is left of"
	}
	_, _ = fmt.Fprintf(&b, "%s: %s\n  %s %s", e.File, what, e.Request.Method, e.Request.URL)
	if e.Session != "" {
		b.WriteString("\n  in the lane " + e.Session)
	}
	switch {
	case n == nil:
		b.WriteString("\nThe cassette is empty.")
	case len(n.Differences) == 0:
		_, _ = fmt.Fprintf(&b, "\nIt is the request of interaction %d, recorded %s and used %[2]s.", n.Number, times(n.Recorded))
	default:
		_, _ = fmt.Fprintf(&b, "\nThe nearest is interaction %d, recorded %s and %s, which differs in", n.Number, times(n.Recorded), usedTimes(n.Used))
		tellDifferences(&b, n.Differences)
	}
	if n != nil && n.Message != "" {
		b.WriteString("\n" + n.Message)
	}
	if e.Incomplete != nil {
		b.WriteString("\n" + e.Incomplete.Error())
	}
	return b.String() + tellAgain(e.RecordCommand)
}

// tellAgain is a line that says how to record again, if that is known.
func tellAgain(again string) string {
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
	// shortWhere and shortValue are how many characters what stands in columns has at
	// most.
	shortWhere = 24
	shortValue = 18
)

// inColumns reports whether a difference is short enough to stand on one line.
func (d *Difference) inColumns() bool {
	return utf8.RuneCountInString(d.Where) <= shortWhere && utf8.RuneCountInString(d.Recorded) <= shortValue && utf8.RuneCountInString(d.Now) <= shortValue
}

// tellDifferences writes the first differences, short ones a line each.
func tellDifferences(b *strings.Builder, list []Difference) {
	where, recorded := 0, 0
	for _, d := range list {
		if d.inColumns() {
			where, recorded = max(where, utf8.RuneCountInString(d.Where)), max(recorded, utf8.RuneCountInString(d.Recorded))
		}
	}
	lines := 0
	for i, d := range list {
		if lines >= mostLines {
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

// miss is the error of a request that has no answer.
func (c *Cassette) miss(k keys, lane string, r Request) *MissError {
	return &MissError{File: c.path, Session: lane, Request: r, NearestMatch: c.tape.nearest(k, lane, &r), RecordCommand: c.opts.RecordCommand, Incomplete: c.Incomplete()}
}

// nearest finds the recorded request that comes nearest to one with these keys; nil if
// there is none.
func (t *tape) nearest(k keys, lane string, r *Request) *NearestMatch {
	for _, key := range []uint64{k.exact, k.bare} {
		if i := t.spent(key); i >= 0 {
			return t.told(i, key)
		}
	}
	now := t.matching.content(r)
	most, best := -1.0, -1
	for _, i := range t.candidates(r) {
		x, err := t.file.Interaction(i)
		if err != nil {
			continue // another one is near, too
		}
		like := t.matching.content(&x.Request).like(now)
		if x.Session == lane {
			like += sameLane
		}
		if like > most {
			most, best = like, i
		}
	}
	if best < 0 {
		return nil
	}
	x, _ := t.file.Interaction(best) // it was read above
	nearest := t.told(best, t.entries[best].keys.exact)
	found := t.matching.between(x, lane, r)
	nearest.Differences, nearest.Message = found, found.message(t.matching.content(&x.Request), now)
	return nearest
}

// sameLane is what the same lane counts, against a body that is the same in all.
const sameLane = 0.1

// told tells of an interaction, and how often a request of its key was recorded and used.
func (t *tape) told(i int, key uint64) *NearestMatch {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := &NearestMatch{Number: i + 1}
	for j, e := range t.entries {
		if e.keys.exact != key && e.keys.bare != key {
			continue
		}
		n.Recorded++
		if t.used[j] {
			n.Used++
		}
	}
	return n
}

// mostCandidates is how many interactions are read to find the nearest.
const mostCandidates = 200

// candidates are the interactions that may be the nearest, by what their first and last
// lines tell: the method, the path of the URL, and the length of the body.
func (t *tape) candidates(r *Request) []int {
	type candidate struct{ index, rank, off int }
	list := make([]candidate, 0, t.file.Len())
	path := pathOf(r.URL)
	for i := range t.file.Len() {
		title, _ := readTitle(t.file.title(i))
		marks, _ := readMarks(lastLine(t.file.lines(i)))
		c := candidate{index: i, off: max(marks.sent.length-len(r.Body), len(r.Body)-marks.sent.length)}
		if title.method == r.Method {
			c.rank++
		}
		if pathOf(title.url) == path {
			c.rank += 2
		}
		list = append(list, c)
	}
	slices.SortStableFunc(list, func(a, b candidate) int { return cmp.Or(b.rank-a.rank, a.off-b.off) })
	var out []int
	for _, c := range list[:min(mostCandidates, len(list))] {
		if c.rank == list[0].rank {
			out = append(out, c.index)
		}
	}
	return out
}

// pathOf is the path of a URL, which is empty if it is none.
func pathOf(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return u.Path
}
