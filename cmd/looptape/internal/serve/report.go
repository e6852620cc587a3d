package serve

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/looptape/looptape/cmd/looptape/internal/cli"
	"github.com/looptape/looptape/fake/wire"
)

// printReport prints what the server has seen.
func (v *server) printReport(r *wire.Report) {
	if *v.format == "json" {
		v.w.JSON(r)
		return
	}
	tables := []serveTable{unmatchedRequests(r), violatedInvariants(r), rejectedRequests(r), shownQuirks(r)}
	for _, t := range tables {
		v.w.Table(t.header, t.rows)
	}
	for _, response := range r.Unused {
		v.w.Printf("never requested: %s\n", response)
	}
	v.w.ResultLine(summaryLine(r), r.OK())
}

// serveTable is a part of the report.
type serveTable struct {
	header []string
	rows   [][]string
}

func unmatchedRequests(r *wire.Report) serveTable {
	t := serveTable{header: []string{"unmatched request", "times", "served paths"}}
	for _, x := range r.UnmatchedRequests {
		t.rows = append(t.rows, []string{x.Method + " " + x.Path, strconv.Itoa(x.Times), x.Served})
	}
	return t
}

func violatedInvariants(r *wire.Report) serveTable {
	t := serveTable{header: []string{"request", "session", "invariant", "violation"}}
	for _, x := range r.Violations {
		what := x.Message
		if x.Suppressed != "" {
			what += " (accepted: " + x.Suppressed + ")"
		}
		t.rows = append(t.rows, []string{strconv.Itoa(x.Request), x.Session, x.Invariant, what})
	}
	return t.bySession(r)
}

// rejectedRequests has a row for each line of an error message.
func rejectedRequests(r *wire.Report) serveTable {
	t := serveTable{header: []string{"request", "session", "protocol", "rule", "status", "error"}}
	for _, x := range r.RejectedRequests {
		why := x.Message
		if x.RetryOf > 0 {
			why = "retry of request " + strconv.Itoa(x.RetryOf)
		}
		row := []string{strconv.Itoa(x.Request), x.Session, x.Protocol, x.ID, strconv.Itoa(x.Status)}
		for line := range strings.SplitSeq(why, "\n") {
			t.rows = append(t.rows, append(row, line))
			row = make([]string, len(row))
		}
	}
	return t.bySession(r)
}

// bySession removes the session column if there was only one session.
func (t serveTable) bySession(r *wire.Report) serveTable {
	if len(r.Sessions) > 1 {
		return t
	}
	for i, row := range t.rows {
		t.rows[i] = slices.Delete(row, 1, 2)
	}
	t.header = slices.Delete(t.header, 1, 2)
	return t
}

func shownQuirks(r *wire.Report) serveTable {
	t := serveTable{header: []string{"quirk", "responses"}}
	for _, name := range slices.Sorted(maps.Keys(r.Shown)) {
		t.rows = append(t.rows, []string{name, strconv.Itoa(r.Shown[name])})
	}
	return t
}

// summaryLine is the report in one line.
func summaryLine(r *wire.Report) string {
	violations, retries, unmatched := 0, 0, 0
	for _, n := range r.Counts {
		violations += n
	}
	for _, x := range r.RejectedRequests {
		if x.RetryOf > 0 {
			retries++
		}
	}
	for _, x := range r.UnmatchedRequests {
		unmatched += x.Times
	}
	line := fmt.Sprintf("%s served: %s, %d rejected", cli.Count(r.Requests, "request"), cli.Count(violations, "violation"), len(r.RejectedRequests))
	if retries > 0 {
		line += fmt.Sprintf(" (%d retries)", retries)
	}
	if unmatched > 0 {
		line += fmt.Sprintf(", %d unmatched", unmatched)
	}
	return line
}
