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

// demoFiles are scenarios and recorded runs: traces of those scenarios, conversations, and
// recorded HTTP (see demo_wire.go). The runs whose names begin with "planted-" each violate
// the invariant in plantedRuns on purpose.
//
//go:embed demo
var demoFiles embed.FS

// plantedRuns maps each run with a planted violation to the violated invariant.
var plantedRuns = map[string]string{
	"planted-id-used-again":       "INV-04",
	"planted-call-without-result": "INV-01",
	"planted-usage-counted-twice": "INV-18",
}

func newDemo(w *world) *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Replay, check and count embedded recordings",
		Long: `demo replays scenarios and recorded HTTP, checks recorded runs and prints their
statistics. All files are embedded in the command. Three runs contain a planted
violation.

Exit status: 0 if all replays gave the recorded traces and check found exactly
the three planted violations, else 1.`,
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
	if err := d.statistics(runs); err != nil {
		return err
	}
	found, alarms := d.countFound(runs)
	d.printf("%d of %d scenarios gave the expected trace.\n%d of %d replays gave the recorded trace.\nIn %d runs, check found %d of %d planted violations, with %s.\n",
		same, replayed, again, recorded, len(runs), found, len(plantedRuns), count(alarms, "false alarm"))
	d.printf("Next: looptape check YOUR-RUNS   (message lists, traces, recordings of HTTP)\n")
	if d.err == nil && (same != replayed || again != recorded || found != len(plantedRuns) || alarms > 0) {
		return status(statusFailed)
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
	d.printf("Replaying %d scenarios: scripted models and tools that fail, and a real loop.\n\n", len(files))
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
		result := "ok  "
		if f.Compare(o) == "" && len(violations(o.Events)) == 0 {
			same++
		} else {
			result = "FAIL"
		}
		about, _, _ := strings.Cut(f.Comment, "\n")
		d.printf("  %s  %s\n", result, about)
	}
	d.printf("\n")
	return len(files), same, d.err
}

// demoRun is a recorded run with its statistics and violations.
type demoRun struct {
	name                     string
	responses, calls, failed int
	usage                    llm.Usage
	end                      string // stop reason
	violations               []check.Violation
}

// check reads the recorded runs and checks each of them.
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

// shown counts the invariants that a recording of one run can show. Others need a running
// loop or two runs.
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
			r.responses++
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
		r.responses++
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

// statistics prints one line per run.
func (d *demonstration) statistics(runs []*demoRun) error {
	var rows [][]string
	for _, r := range runs {
		tokens := "-"
		if r.usage != (llm.Usage{}) {
			tokens = strconv.FormatInt(r.usage.Total(), 10)
		}
		rows = append(rows, []string{r.name, strconv.Itoa(r.responses), strconv.Itoa(r.calls), strconv.Itoa(r.failed), tokens, r.end})
	}
	return printTable(d.w, []string{"run", "responses", "calls", "failed", "tokens", "stop reason"}, rows)
}

// countFound counts the planted violations that were found, and all other violations.
func (d *demonstration) countFound(runs []*demoRun) (found, alarms int) {
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
