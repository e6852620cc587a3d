package runs

import (
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/looptape/looptape/cmd/looptape/internal/cli"
	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/internal/testreport"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/check"
	"github.com/looptape/looptape/trace/importer"
)

// NewCheck returns the command check.
func NewCheck(w *cli.World) *cobra.Command {
	c := &cobra.Command{
		Use:   "check FILE|FOLDER…",
		Short: "Check recorded runs against the invariants",
		Long: `check reads recorded runs and reports each violation of an invariant. It reads
looptape traces, message lists and bodies of requests and responses in the
protocols of the providers (a JSON array or JSON Lines), sessions of Claude
Code, Codex, the Claude Agent SDK and managed agents, trajectories in ATIF,
messages of LangChain, runs of LangSmith, files of Inspect, tau-bench,
tau2-bench, promptfoo, SWE-agent, ADK, the AI SDK and Langfuse, spans of
OpenTelemetry and OpenInference, rows of prompt and answer (JSON Lines or CSV),
and recorded HTTP (cassettes of looptape, go-vcr and vcrpy, HAR files, httprr
traces). Files may be compressed with gzip or zstd. check detects the format
from the content. - reads standard input. Of a folder, check reads all files
except hidden ones, and lists those that are not recordings as skipped, unless
they are JSON that may have messages. With several files, each run's name
follows its file's name.

In recorded HTTP, check covers the requests to models in the protocols of OpenAI
(Chat Completions, Responses, Completions), Anthropic, Gemini, Bedrock Converse,
Cohere and Ollama. A conversation is a run. Its name is the number of its first
interaction. Requests that were not accepted are also checked against the rules
of the strict server of serve. Other requests are listed as skipped. check reads
an incomplete recording up to its end, and reads FILE.journal if FILE does not
exist.

A violation has a level. An error is one that a provider rejects, or that the
recorded loop declared not to happen. A note deserves a look. Notes do not
change the exit status, unless --strict is set.

check does not check limits that a run does not declare. It lists violations
that a run declares as accepted, and does not count them. It reports each record
that it cannot read and checks the rest. After a missing event or record it
stops checking that run. Parts that it does not understand are listed with the
records that it cannot read.

Exit status: 0 if there is no error, 1 if there is one, else 2 if a record could
not be read or understood, or if a file has nothing that can be checked
(--allow-empty accepts such files).`,
		Example: "  looptape check run.jsonl\n  gunzip -c results.json.gz | looptape check --format json -",
		Args:    cli.NeedFiles,
	}
	format := cli.FormatFlag(c, "table", "json", "jsonl", "github")
	reports := cli.ReportFlags(c)
	allowEmpty := c.Flags().Bool("allow-empty", false, "accept files in which nothing can be checked")
	strict := c.Flags().Bool("strict", false, "exit with status 1 if there are notes")
	c.RunE = func(_ *cobra.Command, args []string) error {
		files, meter, err := w.Gather(args)
		if err != nil {
			return err
		}
		r := checkFiles(meter, files, *allowEmpty)
		r.strict = *strict
		if err := reports.Write(w, r.report()); err != nil {
			return err
		}
		return r.print(w, *format)
	}
	return c
}

// report is the result of check and the output of --format json.
type report struct {
	Runs       int                `json:"runs"`
	Violations []violation        `json:"violations"`
	Counts     map[string]int     `json:"counts"` // of violations, by invariant
	Notes      int                `json:"notes"`  // number of violations that are notes
	Unreadable []evals.Unreadable `json:"unreadable"`
	Suppressed []violation        `json:"suppressed,omitempty"`
	Recordings []recorded         `json:"recordings,omitempty"` // files of recorded HTTP
	Skipped    []string           `json:"skipped,omitempty"`    // files in folders that are not recordings

	// checked is the number of runs with a response of a model, of requests to models, and of
	// runs of traces.
	checked    int
	allowEmpty bool
	strict     bool // notes fail too
}

type violation struct {
	Invariant string `json:"invariant"`
	Level     string `json:"level"` // error or note
	Run       string `json:"run"`
	Event     int    `json:"event"` // -1 if no single event shows it
	Message   string `json:"message"`
	Reason    string `json:"reason,omitempty"` // why it is suppressed
}

func newReport(allowEmpty bool) *report {
	return &report{Violations: []violation{}, Counts: map[string]int{}, Unreadable: []evals.Unreadable{}, allowEmpty: allowEmpty}
}

// checkFiles checks files concurrently. The result is in their order.
func checkFiles(m *cli.Meter, files []cli.Recording, allowEmpty bool) *report {
	results := make([]chan *report, len(files))
	for i := range results {
		results[i] = make(chan *report, 1)
	}
	var next atomic.Int64
	for range runtime.GOMAXPROCS(0) {
		go func() {
			for i := next.Add(1) - 1; i < int64(len(files)); i = next.Add(1) - 1 {
				r := newReport(allowEmpty)
				prefix := ""
				if len(files) > 1 {
					prefix = files[i].Name + ": "
				}
				r.file(m, files[i], prefix)
				results[i] <- r
			}
		}()
	}
	all := newReport(allowEmpty)
	read := map[string]bool{} // whether a file of a folder is a recording
	for i, result := range results {
		next := <-result
		all.merge(next)
		read[files[i].Folder] = read[files[i].Folder] || next.Skipped == nil
	}
	for _, folder := range slices.Sorted(maps.Keys(read)) {
		if !read[folder] {
			all.unread(folder, importer.ErrFormat)
		}
	}
	return all
}

// merge adds the result of the next file.
func (r *report) merge(next *report) {
	r.Runs += next.Runs
	r.Notes += next.Notes
	r.checked += next.checked
	r.Skipped = append(r.Skipped, next.Skipped...)
	r.Violations = append(r.Violations, next.Violations...)
	r.Unreadable = append(r.Unreadable, next.Unreadable...)
	r.Suppressed = append(r.Suppressed, next.Suppressed...)
	r.Recordings = append(r.Recordings, next.Recordings...)
	for id, n := range next.Counts {
		r.Counts[id] += n
	}
}

// file checks the runs of a file. It skips a file in a folder that is not a recording.
func (r *report) file(m *cli.Meter, in cli.Recording, prefix string) {
	name, f, err := m.OpenRecording(in.Name)
	if err != nil {
		r.unread(name, err)
		return
	}
	src, err := importer.Open(name, f)
	if in.Folder != "" && errors.Is(err, importer.ErrFormat) && !hasMessages(err) {
		r.Skipped = append(r.Skipped, name)
		if err := f.Close(); err != nil {
			r.unread(name, err)
		}
		return
	}
	checked, unread := r.checked, len(r.Unreadable)
	switch {
	case err != nil:
		r.unread(name, err)
	case src.Format.Name == "trace":
		r.trace(src, name, prefix)
	case src.Format.HTTP:
		r.http(src, name, prefix)
	default:
		isText := r.lists(src, name, prefix)
		if in.Folder != "" && isText && src.Format.Name == "rows" && r.Runs == 1 && len(r.Violations)+len(r.Unreadable) == unread {
			*r = *newReport(r.allowEmpty) // any object may have an input and an output
			r.Skipped, checked = []string{name}, -1
		}
	}
	if r.checked == checked && len(r.Unreadable) == unread && !r.allowEmpty {
		r.unread(name, errNothingChecked)
	}
	if err := f.Close(); err != nil {
		r.unread(name, err)
	}
}

// hasMessages reports whether the error is for a file that may have messages in an unknown format.
func hasMessages(err error) bool {
	e, ok := errors.AsType[interface {
		error
		HasMessages() bool
	}](err)
	return ok && e.HasMessages()
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
			r.checked++
		}
		c.Add(ev)
	}
	r.add(prefix, c.Done())
	for i := range r.Unreadable[before:] {
		u := &r.Unreadable[before+i]
		u.Error += cutAt(u.Line, c.PartialRuns())
	}
	for _, cut := range c.PartialRuns() {
		if cut.Place == 0 { // an event is missing without a broken line
			r.unread(name, errors.New(cut.String()))
		}
	}
}

// cutAt describes the runs that were checked only up to this line.
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
		return fmt.Sprintf("; run %s is checked only up to line %d", names[0], line)
	case n > most:
		names = append(names[:most], fmt.Sprintf("%d more", n-most))
	}
	last := len(names) - 1
	return fmt.Sprintf("; runs %s and %s are checked only up to line %d", strings.Join(names[:last], ", "), names[last], line)
}

// lists checks lists of messages. It reports whether they have nothing but texts.
func (r *report) lists(src *importer.Source, name, prefix string) (isText bool) {
	isText = true
	for run, err := range src.Runs() {
		if err != nil {
			r.unread(name, err)
		}
		if run.Name != "" {
			r.Runs++
			if slices.ContainsFunc(run.Messages, isResponse) {
				r.checked++
			}
			for _, m := range run.Messages {
				isText = isText && !slices.ContainsFunc(m.Parts, func(p llm.Part) bool { _, ok := p.(llm.Text); return !ok })
			}
			r.unknown(name, run.Unknown)
			list := check.List{Run: run.Name, Protocol: run.Protocol, Request: run.Sent, Response: run.Response}
			list.Add(run.Checkable()...)
			r.add(prefix, list.Done())
		}
	}
	return isText
}

var errNothingChecked = errors.New("nothing could be checked: no run has a response of a model, a tool result or an event (--allow-empty accepts such files)")

// isResponse reports whether a message is of a model or a tool.
func isResponse(m llm.Message) bool { return m.Role == llm.RoleAssistant || m.Role == llm.RoleTool }

func (r *report) add(prefix string, found []check.Violation) {
	for _, v := range found {
		x := violation{v.Invariant, "error", prefix + v.Run, v.Event, v.Message, v.Suppressed}
		if v.Note {
			x.Level = "note"
		}
		if v.Suppressed != "" {
			r.Suppressed = append(r.Suppressed, x)
			continue
		}
		r.Violations = append(r.Violations, x)
		r.Counts[v.Invariant]++
		if v.Note {
			r.Notes++
		}
	}
}

// unread records a file or record that cannot be read.
func (r *report) unread(name string, err error) {
	r.Unreadable = evals.AddUnread(r.Unreadable, name, err)
}

// unknown records parts that were not understood.
func (r *report) unknown(name string, parts []*importer.Error) {
	for _, e := range parts {
		r.unread(name, e)
	}
}

// print prints the report and returns the exit status.
func (r *report) print(w *cli.World, format string) error {
	for _, name := range r.Skipped {
		w.Warn("%s: skipped: not a recording of runs", name)
	}
	errs := len(r.Violations) - r.Notes
	status := cli.Result(errs > 0 || r.strict && r.Notes > 0, len(r.Unreadable) > 0)
	switch format {
	case "jsonl":
		r.printLines(w)
		return status
	case "github":
		return cli.Annotations(w, r.report(), status)
	}
	return cli.Report(w, format, checkJSON.Of(*r), r.Unreadable, func() string { return r.printTables(w) }, status)
}

// checkLine is a line of --format jsonl, after the first. It has one member.
type checkLine struct {
	Violation  *violation        `json:"violation,omitempty"`
	Suppressed *violation        `json:"suppressed,omitempty"`
	Unreadable *evals.Unreadable `json:"unreadable,omitempty"`
	Recording  *recorded         `json:"recording,omitempty"`
	Skipped    string            `json:"skipped,omitempty"`
	Summary    *checkSummary     `json:"summary,omitempty"`
}

type checkSummary struct {
	Runs   int            `json:"runs"`
	Counts map[string]int `json:"counts"`
	Notes  int            `json:"notes"`
}

var (
	checkJSON  = cli.NewJSON("check", 1, "check --format json", report{})
	checkLines = cli.NewJSONLines("check-lines", 1, "check --format jsonl", checkLine{})
)

// printLines prints one violation per line and then a summary line.
func (r *report) printLines(w *cli.World) {
	w.JSON(checkLines.Head())
	lines(w, r.Violations, func(v *violation) checkLine { return checkLine{Violation: v} })
	lines(w, r.Suppressed, func(v *violation) checkLine { return checkLine{Suppressed: v} })
	lines(w, r.Unreadable, func(u *evals.Unreadable) checkLine { return checkLine{Unreadable: u} })
	lines(w, r.Recordings, func(x *recorded) checkLine { return checkLine{Recording: x} })
	lines(w, r.Skipped, func(name *string) checkLine { return checkLine{Skipped: *name} })
	w.JSON(checkLine{Summary: &checkSummary{r.Runs, r.Counts, r.Notes}})
}

// lines prints a line for each item of a list.
func lines[T any](w *cli.World, list []T, line func(*T) checkLine) {
	for i := range list {
		w.JSON(line(&list[i]))
	}
}

// printTables prints tables for people and returns the last line.
func (r *report) printTables(w *cli.World) (line string) {
	rows := make([][]string, 0, len(r.Violations)+len(r.Suppressed))
	for _, v := range r.Violations {
		rows = append(rows, []string{v.Level, v.Invariant, v.Run, place(v.Event), v.Message})
	}
	for _, v := range r.Suppressed {
		rows = append(rows, []string{"", "(" + v.Invariant + ")", v.Run, place(v.Event), "accepted: " + v.Reason})
	}
	w.Table([]string{"level", "invariant", "run", "event", "message"}, rows)
	w.Table([]string{"count", "runs", "invariant", "name", "likely cause"}, r.hints())
	r.printRecordings(w)
	return r.summary()
}

func (r *report) summary() string {
	line := cli.Count(r.Runs, "run") + " checked: " + cli.Count(len(r.Violations), "violation")
	if r.Notes > 0 {
		line += " (" + cli.Count(r.Notes, "note") + ")"
	}
	line += ", " + cli.Count(len(r.Unreadable), "unreadable record")
	if n := len(r.Skipped); n > 0 {
		line += ", " + cli.Count(n, "file") + " skipped"
	}
	if len(r.Suppressed) > 0 {
		line += fmt.Sprintf(", %d accepted", len(r.Suppressed))
	}
	return line
}

// report returns the result for CI systems: a test for each invariant, and one for each unreadable record. The tests of
// invariants are skipped if there is no run.
func (r *report) report() *testreport.Report {
	out := &testreport.Report{Name: "looptape check", Summary: r.summary()}
	found := map[string][]testreport.Finding{}
	for _, v := range r.Violations {
		f := testreport.Finding{Type: v.Invariant, Message: v.line()}
		f.Text = v.Invariant + ": " + f.Message
		if v.Level == "note" && !r.strict {
			f.Level = testreport.Notice
		}
		found[v.Invariant] = append(found[v.Invariant], f)
	}
	for _, info := range check.Catalog() {
		out.Tests = append(out.Tests, testreport.Test{Class: "invariants", Name: info.ID + " " + info.Name, Findings: found[info.ID], Skipped: r.checked == 0})
	}
	for _, u := range r.Unreadable {
		f := testreport.Finding{Type: "unreadable", Message: u.Error, Text: "unreadable: " + u.String(), File: u.File, Line: u.Line, Level: testreport.Error}
		out.Tests = append(out.Tests, testreport.Test{Class: "files", Name: fmt.Sprintf("%s:%d", u.File, u.Line), Findings: []testreport.Finding{f}})
	}
	return out
}

// line returns the run, the event and the message.
func (v *violation) line() string {
	text := v.Message
	if v.Event != check.NoEvent {
		text = fmt.Sprintf("event %d: %s", v.Event, text)
	}
	if v.Run != "" {
		text = "run " + v.Run + ": " + text
	}
	return text
}

// hints returns one row for each violated invariant.
func (r *report) hints() (rows [][]string) {
	about := map[string]check.Info{}
	for _, info := range check.Catalog() {
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
