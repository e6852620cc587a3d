package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/looptape/looptape/fake/wire"
)

// printReport prints what the server has seen.
func (v *server) printReport(r *wire.Report) error {
	if *v.format == "json" {
		return printJSON(v.w.out, r)
	}
	for _, t := range []serveTable{strays(r), brokenInvariants(r), refusals(r), shownQuirks(r)} {
		if err := printTable(v.w, t.header, t.rows); err != nil {
			return err
		}
	}
	for _, turn := range r.Unused {
		if _, err := fmt.Fprintln(v.w.out, "nobody asked for", turn); err != nil {
			return err
		}
	}
	return printVerdict(v.w, figures(r), r.OK())
}

// serveTable is a part of the report.
type serveTable struct {
	header []string
	rows   [][]string
}

func strays(r *wire.Report) serveTable {
	t := serveTable{header: []string{"what is not there", "times", "what is"}}
	for _, x := range r.UnmatchedRequests {
		t.rows = append(t.rows, []string{x.Method + " " + x.Path, strconv.Itoa(x.Times), x.Served})
	}
	return t
}

func brokenInvariants(r *wire.Report) serveTable {
	t := serveTable{header: []string{"request", "lane", "invariant", "what is broken"}}
	for _, x := range r.Violations {
		what := x.Message
		if x.Suppressed != "" {
			what += " (accepted: " + x.Suppressed + ")"
		}
		t.rows = append(t.rows, []string{strconv.Itoa(x.Request), x.Session, x.Invariant, what})
	}
	return t.inLanes(r)
}

// refusals has a row for each line of what was said.
func refusals(r *wire.Report) serveTable {
	t := serveTable{header: []string{"request", "lane", "protocol", "rule", "status", "why it was refused"}}
	for _, x := range r.RejectedRequests {
		why := x.Message
		if x.RetryOf > 0 {
			why = "request " + strconv.Itoa(x.RetryOf) + " again"
		}
		row := []string{strconv.Itoa(x.Request), x.Session, x.Protocol, x.ID, strconv.Itoa(x.Status)}
		for line := range strings.SplitSeq(why, "\n") {
			t.rows = append(t.rows, append(row, line))
			row = make([]string, len(row))
		}
	}
	return t.inLanes(r)
}

// inLanes is the table without its second column if one lane was all there was.
func (t serveTable) inLanes(r *wire.Report) serveTable {
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
	t := serveTable{header: []string{"quirk", "answers that showed it"}}
	for _, name := range slices.Sorted(maps.Keys(r.Shown)) {
		t.rows = append(t.rows, []string{name, strconv.Itoa(r.Shown[name])})
	}
	return t
}

// figures is the report in one line.
func figures(r *wire.Report) string {
	broken, again, astray := 0, 0, 0
	for _, n := range r.Counts {
		broken += n
	}
	for _, x := range r.RejectedRequests {
		if x.RetryOf > 0 {
			again++
		}
	}
	for _, x := range r.UnmatchedRequests {
		astray += x.Times
	}
	line := fmt.Sprintf("%s served: %s, %d refused", count(r.Requests, "request"), count(broken, "violation"), len(r.RejectedRequests))
	if again > 0 {
		line += fmt.Sprintf(" (%d again)", again)
	}
	if astray > 0 {
		line += fmt.Sprintf(", %d astray", astray)
	}
	return line
}
