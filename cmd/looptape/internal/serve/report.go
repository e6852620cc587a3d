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
	v.w.Table([]string{"unmatched request", "times", "served paths"}, unmatchedRequests(r))
	v.w.Table(bySession(r, []string{"request", "session", "invariant", "violation"}, violatedInvariants(r)))
	v.w.Table(bySession(r, []string{"request", "session", "protocol", "rule", "status", "error"}, rejectedRequests(r)))
	v.w.Table([]string{"quirk", "responses"}, shownQuirks(r))
	for _, response := range r.Unused {
		v.w.Printf("never requested: %s\n", response)
	}
	v.w.ResultLine(summaryLine(r), r.OK())
}

func unmatchedRequests(r *wire.Report) (rows [][]string) {
	for _, x := range r.UnmatchedRequests {
		rows = append(rows, []string{x.Method + " " + x.Path, strconv.Itoa(x.Times), x.Served})
	}
	return rows
}

func violatedInvariants(r *wire.Report) (rows [][]string) {
	for _, x := range r.Violations {
		what := x.Message
		if x.Suppressed != "" {
			what += " (accepted: " + x.Suppressed + ")"
		}
		rows = append(rows, []string{strconv.Itoa(x.Request), x.Session, x.Invariant, what})
	}
	return rows
}

// rejectedRequests has a row for each line of an error message.
func rejectedRequests(r *wire.Report) (rows [][]string) {
	for _, x := range r.RejectedRequests {
		why := x.Message
		if x.RetryOf > 0 {
			why = "retry of request " + strconv.Itoa(x.RetryOf)
		}
		row := []string{strconv.Itoa(x.Request), x.Session, x.Protocol, x.ID, strconv.Itoa(x.Status)}
		for line := range strings.SplitSeq(why, "\n") {
			rows = append(rows, append(row, line))
			row = make([]string, len(row))
		}
	}
	return rows
}

// bySession removes the session column if there was only one session.
func bySession(r *wire.Report, header []string, rows [][]string) ([]string, [][]string) {
	if len(r.Sessions) > 1 {
		return header, rows
	}
	for i, row := range rows {
		rows[i] = slices.Delete(row, 1, 2)
	}
	return slices.Delete(header, 1, 2), rows
}

func shownQuirks(r *wire.Report) (rows [][]string) {
	for _, name := range slices.Sorted(maps.Keys(r.Shown)) {
		rows = append(rows, []string{name, strconv.Itoa(r.Shown[name])})
	}
	return rows
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
