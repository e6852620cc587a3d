package main

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop/scenario"
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/check"
	"github.com/looptape/looptape/trace/importer"
)

// demoFiles are scenarios, and runs that were recorded: traces of those scenarios,
// conversations, and what went over HTTP (see demo_wire.go). The runs whose names begin
// with "planted-" are broken on purpose, in the way that plantedRuns tells.
//
//go:embed demo
var demoFiles embed.FS

// plantedRuns maps the runs that are broken on purpose to the invariant that each
// breaks.
var plantedRuns = map[string]string{
	"planted-id-used-again":       "INV-04",
	"planted-call-without-result": "INV-01",
	"planted-usage-counted-twice": "INV-18",
}

func newDemo(w *world) *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Show the main job on recordings that are built in",
		Long: `demo replays scenarios and a recording of HTTP, checks recorded runs and prints
their figures, all of it from files that are built into the command. Three of
the runs are broken on purpose.

Exit status: 0 if the scenarios and the recording gave their traces and just the
three broken runs were found, else 1.`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error { return demo(c.Context(), w, demoFiles) },
	}
}

func demo(ctx context.Context, w *world, files fs.FS) error {
	d := demonstration{w: w, files: files}
	replayed, same, err := d.replay(ctx)
	if err != nil {
		return err
	}
	recorded, again, err := d.adapters(ctx)
	if err != nil {
		return err
	}
	runs, err := d.check()
	if err != nil {
		return err
	}
	if err := d.figures(runs); err != nil {
		return err
	}
	found, alarms := d.verdict(runs)
	d.printf("%d of %d scenarios gave their trace.\n%d of %d replays gave the trace of their recording.\nOf %d runs, %d of %d broken ones were found, with %s.\n",
		same, replayed, again, recorded, len(runs), found, len(plantedRuns), count(alarms, "false alarm"))
	d.printf("Next: looptape check YOUR-RUNS   (message lists, traces, recordings of HTTP)\n")
	if d.err == nil && (same != replayed || again != recorded || found != len(plantedRuns) || alarms > 0) {
		return status(statusBroken)
	}
	return d.err
}

type demonstration struct {
	w     *world
	files fs.FS
	err   error
}

func (d *demonstration) printf(format string, args ...any) {
	if d.err == nil {
		_, d.err = fmt.Fprintf(d.w.out, format, args...)
	}
}

// replay runs the scenarios and compares their traces.
func (d *demonstration) replay(ctx context.Context) (n, same int, err error) {
	files, err := fs.Glob(d.files, "demo/scenarios/*.txtar")
	if err != nil {
		return 0, 0, err
	}
	d.printf("Replaying %d scenarios: scripted models and tools that misbehave, a real loop.\n\n", len(files))
	for _, name := range files {
		src, err := fs.ReadFile(d.files, name)
		if err != nil {
			return 0, 0, err
		}
		f, err := scenario.Parse(name, src)
		if err != nil {
			return 0, 0, err
		}
		o, err := scenario.Run(ctx, f.Script, nil)
		if err != nil {
			return 0, 0, err
		}
		verdict := "ok  "
		if f.Compare(o) == "" && len(violations(o.Events)) == 0 {
			same++
		} else {
			verdict = "FAIL"
		}
		about, _, _ := strings.Cut(f.Comment, "\n")
		d.printf("  %s  %s\n", verdict, about)
	}
	d.printf("\n")
	return len(files), same, d.err
}

// demoRun is a recorded run with what was found in it.
type demoRun struct {
	name                 string
	turns, calls, failed int
	usage                llm.Usage
	end                  string // why it ended
	violations           []check.Violation
}

// check reads the recorded runs and holds each against the invariants.
func (d *demonstration) check() ([]*demoRun, error) {
	var runs []*demoRun
	for _, name := range []string{"demo/runs.jsonl", "demo/chats.jsonl"} {
		src, err := fs.ReadFile(d.files, name)
		if err != nil {
			return nil, err
		}
		s, err := importer.Open(path.Base(name), bytes.NewReader(src))
		if err != nil {
			return nil, err
		}
		for run, err := range s.Runs() {
			if err != nil {
				return nil, err
			}
			runs = append(runs, newDemoRun(run))
		}
	}
	d.printf("Checking %d recorded runs against the %d of %d invariants that a\nrecording can show.\n\n", len(runs), shown(), len(check.Catalogue()))
	var rows [][]string
	for _, r := range runs {
		for _, v := range r.violations {
			rows = append(rows, []string{v.Invariant, r.name, v.Message})
		}
	}
	if d.err != nil {
		return nil, d.err
	}
	return runs, printTable(d.w, []string{"invariant", "run", "message"}, rows)
}

// shown is how many invariants a recording of one run can show: not those for
// which the running loop has to be watched or two runs to be compared.
func shown() int {
	n := 0
	for _, i := range check.Catalogue() {
		if i.Evidence == check.EvidenceMessages || i.Evidence == check.EvidenceTrace {
			n++
		}
	}
	return n
}

func newDemoRun(run importer.Run) *demoRun {
	r := &demoRun{name: run.Name}
	if run.Events == nil {
		r.violations = check.Messages(run.Name, run.Messages)
		for _, m := range run.Messages {
			r.message(m)
		}
		r.end = "-"
		return r
	}
	c := check.New(nil)
	for _, ev := range run.Events {
		c.Add(ev)
		switch b := ev.Body.(type) {
		case trace.ModelResponse:
			r.turns++
			r.calls += len(b.Message.Calls())
		case trace.ToolEnd:
			r.fail(b.Result)
		case trace.ToolSkip:
			r.fail(b.Result)
		case trace.RunEnd:
			r.end, r.usage = string(b.StopReason), b.Usage
		default:
		}
	}
	r.violations = c.Done()
	return r
}

func (r *demoRun) message(m llm.Message) {
	if m.Role == llm.RoleAssistant {
		r.turns++
		r.calls += len(m.Calls())
	}
	for _, p := range m.Parts {
		if res, ok := p.(llm.ToolResult); ok {
			r.fail(res)
		}
	}
}

func (r *demoRun) fail(res llm.ToolResult) {
	if res.IsError {
		r.failed++
	}
}

// figures prints a line a run.
func (d *demonstration) figures(runs []*demoRun) error {
	var rows [][]string
	for _, r := range runs {
		tokens := "-"
		if r.usage != (llm.Usage{}) {
			tokens = strconv.FormatInt(r.usage.Total(), 10)
		}
		rows = append(rows, []string{r.name, strconv.Itoa(r.turns), strconv.Itoa(r.calls), strconv.Itoa(r.failed), tokens, r.end})
	}
	return printTable(d.w, []string{"run", "turns", "calls", "failed", "tokens", "end"}, rows)
}

// verdict counts the broken runs that were found for what they are, and the
// violations in runs that are not broken, or of other invariants.
func (d *demonstration) verdict(runs []*demoRun) (found, alarms int) {
	for _, r := range runs {
		want := plantedRuns[r.name]
		hit := slices.ContainsFunc(r.violations, func(v check.Violation) bool { return v.Invariant == want })
		if hit {
			found++
		}
		for _, v := range r.violations {
			if v.Invariant != want {
				alarms++
			}
		}
	}
	return found, alarms
}
