package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/trace/check"
	"github.com/looptape/looptape/trace/importer"
)

func newCheck(w *world) *cobra.Command {
	c := &cobra.Command{
		Use:   "check FILE…",
		Short: "Hold recorded runs against the invariants",
		Long: `check reads recorded runs and reports every invariant that does not hold: in
traces, in OpenAI-style message lists (a JSON array, or JSON Lines), in what
Inspect, tau-bench, promptfoo, SWE-agent, ADK and the AI SDK write, in spans of
OpenTelemetry, in rows of prompt and answer (JSON Lines or CSV) and in
recordings of HTTP (cassettes of looptape, go-vcr and vcrpy, HAR files, httprr
traces), plain or compressed with gzip or zstd, told apart by their content. -
reads standard input. With several files a run's name stands behind its file's.

Of a recording of HTTP, the requests to models are checked, in the protocols of
OpenAI (Chat Completions, Responses), Anthropic and Gemini. A conversation is a
run, named by the interaction in which it begins. Other requests are listed as
skipped. A recording of looptape that was not closed is read as far as it came,
from FILE.journal if there is no FILE.

What a run does not declare is not checked. A violation that a run declares as
accepted is listed, and does not count. A part of a file that cannot be read is
named, and the rest is checked; of a run that has lost an event there, no more
is said.

Exit status: 0 if every invariant held, 1 if one did not, else 2 if anything
could not be read.`,
		Example: "  looptape check run.jsonl\n  gunzip -c results.json.gz | looptape check --format json -",
		Args:    needFiles,
	}
	format := formatFlag(c, "table", "json", "jsonl")
	c.RunE = func(_ *cobra.Command, args []string) error {
		r := report{Violations: []violation{}, Counts: map[string]int{}, Unreadable: []evals.Unreadable{}}
		for _, name := range args {
			prefix := ""
			if len(args) > 1 {
				prefix = name + ": "
			}
			r.file(w, name, prefix)
		}
		if err := r.print(w, *format); err != nil {
			return err
		}
		return r.status()
	}
	return c
}

// report is the result of check; its JSON is what --format json prints.
type report struct {
	Runs       int                `json:"runs"`
	Violations []violation        `json:"violations"`
	Counts     map[string]int     `json:"counts"` // of violations, by invariant
	Unreadable []evals.Unreadable `json:"unreadable"`
	Suppressed []violation        `json:"suppressed,omitempty"`
	Recordings []recorded         `json:"recordings,omitempty"` // files of what went over HTTP
}

type violation struct {
	Invariant string `json:"invariant"`
	Run       string `json:"run"`
	Event     int    `json:"event"` // -1 where no single event shows it
	Message   string `json:"message"`
	Reason    string `json:"reason,omitempty"` // why it is suppressed
}

func (r *report) status() error {
	switch {
	case len(r.Violations) > 0:
		return status(statusBroken)
	case len(r.Unreadable) > 0:
		return status(statusUsage)
	}
	return nil
}

// file checks the runs of a file.
func (r *report) file(w *world, name, prefix string) {
	name, f, err := w.openRecording(name)
	if err != nil {
		r.unread(name, err)
		return
	}
	src, err := importer.Open(name, f)
	switch {
	case err != nil:
		r.unread(name, err)
	case src.Format == importer.FormatTrace:
		r.trace(src, name, prefix)
	case src.Format.IsHTTP():
		r.http(src, name, prefix)
	default:
		r.lists(src, name, prefix)
	}
	if err := f.Close(); err != nil {
		r.unread(name, err)
	}
}

func (r *report) trace(src *importer.Source, name, prefix string) {
	c := check.New(nil)
	seen := map[string]bool{}
	before := len(r.Unreadable)
	for ev, err := range src.Events() {
		if err != nil {
			r.unread(name, err)
			if e, ok := errors.AsType[*importer.Error](err); ok {
				c.ReportMissing(e.Run, e.Line)
			}
			continue
		}
		if !seen[ev.Run] {
			seen[ev.Run] = true
			r.Runs++
		}
		c.Add(ev)
	}
	r.add(prefix, c.Done())
	for i := range r.Unreadable[before:] {
		u := &r.Unreadable[before+i]
		u.Error += cutAt(u.Line, c.PartialRuns())
	}
	for _, cut := range c.PartialRuns() {
		if cut.Place == 0 { // no line is broken, but one is not there
			r.unread(name, errors.New(cut.String()))
		}
	}
}

// cutAt says which runs were checked up to this line only.
func cutAt(line int, cuts []check.PartialRun) string {
	const most = 3
	var names []string
	for _, c := range cuts {
		if c.Place == line {
			names = append(names, strconv.Quote(c.Run))
		}
	}
	switch n := len(names); {
	case n == 0:
		return ""
	case n == 1:
		return fmt.Sprintf("; the run %s is checked up to line %d only", names[0], line)
	case n > most:
		names = append(names[:most], fmt.Sprintf("%d more", n-most))
	}
	last := len(names) - 1
	return fmt.Sprintf("; the runs %s and %s are checked up to line %d only", strings.Join(names[:last], ", "), names[last], line)
}

func (r *report) lists(src *importer.Source, name, prefix string) {
	for run, err := range src.Runs() {
		if err != nil {
			r.unread(name, err)
		}
		if run.Name != "" {
			r.Runs++
			r.add(prefix, check.Messages(run.Name, run.Messages))
		}
	}
}

func (r *report) add(prefix string, found []check.Violation) {
	for _, v := range found {
		x := violation{v.Invariant, prefix + v.Run, v.Event, v.Message, v.Suppressed}
		if v.Suppressed != "" {
			r.Suppressed = append(r.Suppressed, x)
			continue
		}
		r.Violations = append(r.Violations, x)
		r.Counts[v.Invariant]++
	}
}

// unread notes what cannot be read.
func (r *report) unread(name string, err error) {
	r.Unreadable = append(r.Unreadable, evals.Unread(name, err))
}

func (r *report) print(w *world, format string) error {
	switch format {
	case "json":
		return printJSON(w.out, r)
	case "jsonl":
		return r.printLines(w)
	}
	return r.printTable(w)
}

// printLines prints a violation a line, then a line of figures; the kind of a
// line is its first member's name.
func (r *report) printLines(w *world) error {
	for _, v := range r.Violations {
		if err := printJSON(w.out, map[string]violation{"violation": v}); err != nil {
			return err
		}
	}
	for _, v := range r.Suppressed {
		if err := printJSON(w.out, map[string]violation{"suppressed": v}); err != nil {
			return err
		}
	}
	for _, u := range r.Unreadable {
		if err := printJSON(w.out, map[string]evals.Unreadable{"unreadable": u}); err != nil {
			return err
		}
	}
	for _, seen := range r.Recordings {
		if err := printJSON(w.out, map[string]recorded{"recording": seen}); err != nil {
			return err
		}
	}
	type summary struct {
		Runs   int            `json:"runs"`
		Counts map[string]int `json:"counts"`
	}
	return printJSON(w.out, map[string]summary{"summary": {r.Runs, r.Counts}})
}

// printTable prints tables for people, and tells on standard error what could
// not be read.
func (r *report) printTable(w *world) error {
	tellUnreadable(w, r.Unreadable)
	rows := make([][]string, 0, len(r.Violations)+len(r.Suppressed))
	for _, v := range r.Violations {
		rows = append(rows, []string{v.Invariant, v.Run, place(v.Event), v.Message})
	}
	for _, v := range r.Suppressed {
		rows = append(rows, []string{"(" + v.Invariant + ")", v.Run, place(v.Event), "accepted: " + v.Reason})
	}
	if err := printTable(w, []string{"invariant", "run", "event", "message"}, rows); err != nil {
		return err
	}
	if err := printTable(w, []string{"count", "runs", "invariant", "name", "usual cause"}, r.hints()); err != nil {
		return err
	}
	if err := r.printRecordings(w); err != nil {
		return err
	}
	return printSummary(w, r)
}

// hints has a row for each invariant that did not hold.
func (r *report) hints() (rows [][]string) {
	about := map[string]check.Info{}
	for _, info := range check.Catalogue() {
		about[info.ID] = info
	}
	runs := map[string]map[string]bool{}
	for _, v := range r.Violations {
		if runs[v.Invariant] == nil {
			runs[v.Invariant] = map[string]bool{}
		}
		runs[v.Invariant][v.Run] = true
	}
	for _, id := range slices.Sorted(maps.Keys(r.Counts)) {
		rows = append(rows, []string{strconv.Itoa(r.Counts[id]), strconv.Itoa(len(runs[id])), id, about[id].Name, about[id].Hint})
	}
	return rows
}

func place(event int) string {
	if event == check.NoEvent {
		return ""
	}
	return strconv.Itoa(event)
}
