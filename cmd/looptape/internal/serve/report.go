package serve

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/looptape/looptape/cmd/looptape/internal/cli"
	"github.com/looptape/looptape/fake/wire"
	"github.com/looptape/looptape/trace/check"
)

var (
	reportJSON  = cli.NewJSON("serve", wire.ReportVersion, "serve --format json or --report", wire.Report{})
	runsJSON    = cli.NewJSON("serve-quirks", wire.ReportVersion, "serve --quirk all --format json or --report", quirkReport{})
	quirksJSON  = cli.NewJSON("quirks", 1, "serve --quirk help --format json", quirks{})
	addressJSON = cli.NewJSON("serve-address", 1, "serve --format json without a program, at its start", address{})
)

// address is where a server is, and the environment variables for a program that uses it.
type address struct {
	wire.ServerInfo
	Env map[string]string `json:"env"`
}

// environment returns the variables of an environment by name. The last value of a name counts.
func environment(env []string) map[string]string {
	out := map[string]string{}
	for _, variable := range env {
		name, value, _ := strings.Cut(variable, "=")
		out[name] = value
	}
	return out
}

// printReport prints what the server has seen. OK is true if the exit status is 0.
func (v *server) printReport(r *wire.Report, ok bool) {
	w := v.w
	if *v.format == "json" {
		w.JSON(reportJSON.Of(*r))
		if ok || !v.untilEOF {
			return
		}
		text := *w
		text.Out, text.OutTerminal = w.Err, w.ErrTerminal
		w = &text
	}
	w.Table([]string{"unmatched request", "times", "served paths"}, unmatchedRequests(r))
	w.Table(bySession(r, []string{"request", "session", "invariant", "violation"}, violatedInvariants(r)))
	w.Table(bySession(r, []string{"request", "session", "protocol", "rule", "status", "error"}, rejectedRequests(r)))
	w.Table([]string{"count", "invariant", "name", "likely cause"}, likelyCauses(r))
	w.Table([]string{"quirk", "responses"}, shownQuirks(r))
	w.Table([]string{"note"}, sentences(r.Notes))
	if v.allowUnused {
		w.Table([]string{"accepted"}, sentences(r.Unused))
	}
	w.Table([]string{"failure"}, sentences(r.Failures))
	w.ResultLine(summaryLine(r), r.OK())
}

func sentences(list []string) (rows [][]string) {
	for _, s := range list {
		rows = append(rows, []string{s})
	}
	return rows
}

// likelyCauses has a row for each violated invariant and cause, as in check.
func likelyCauses(r *wire.Report) (rows [][]string) {
	type cause struct{ invariant, hint string }
	counts := map[cause]int{}
	for _, x := range r.Violations {
		if x.Suppressed == "" {
			counts[cause{x.Invariant, x.Hint}]++
		}
	}
	causes := slices.Collect(maps.Keys(counts))
	sort.Slice(causes, func(i, j int) bool { return causes[i].hint < causes[j].hint })
	for _, info := range check.Catalog() {
		for _, c := range causes {
			if c.invariant == info.ID {
				rows = append(rows, []string{strconv.Itoa(counts[c]), info.ID, info.Name, c.hint})
			}
		}
	}
	return rows
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

// rejectedRequests has a row for each line of an error message. A request that came again has
// the number of its repetitions in the last line.
func rejectedRequests(r *wire.Report) (rows [][]string) {
	again := map[int][]int{} // the numbers of the repetitions, by the first request
	for _, x := range r.RejectedRequests {
		if x.RetryOf > 0 {
			again[x.RetryOf] = append(again[x.RetryOf], x.Request)
		}
	}
	for _, x := range r.RejectedRequests {
		if x.RetryOf > 0 {
			continue
		}
		why := x.Message
		switch list := again[x.Request]; len(list) {
		case 0:
		case 1:
			why += fmt.Sprintf("\nThe same request came again as request %d.", list[0])
		default:
			why += fmt.Sprintf("\nThe same request came again %d times, the last time as request %d.", len(list), list[len(list)-1])
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
