// Package runs contains the commands that run scenarios and check, show and convert recorded runs.
package runs

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/looptape/looptape/cassettes"
	"github.com/looptape/looptape/cmd/looptape/internal/cli"
	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/internal/testreport"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/scenario"
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/check"
)

// NewRun returns the command run.
func NewRun(w *cli.World) *cobra.Command {
	c := &cobra.Command{
		Use:   "run SCENARIO…",
		Short: "Run the loop on scripted models and compare its trace",
		Long: `run runs scenario files. A scenario file contains the responses of the models,
the behavior of the tools and, in the section "trace" of a txtar archive, the
expected trace. run compares the trace and checks the invariants. It prints the
trace of a file without an expected trace, and of all files with --print.

With --non-streaming, run runs each file twice: unchanged and with non-streaming
models. Messages, results, usage and stop reason must be equal (INV-12). It
prints and records the second run.

Only the file determines the run: run uses no network and does not wait. The
same file gives the same trace each time.

Exit status: 0 if all runs are as expected, 1 if a trace differs, an invariant
is violated or a request does not match the script, 2 if a file cannot be read.`,
		Example: "  looptape run testdata/*.txtar\n  looptape run --update weather.txtar\n  looptape run --record run.jsonl weather.yaml",
		Args:    cli.NeedFiles,
	}
	var p player
	c.Flags().BoolVar(&p.update, "update", false, "write the traces into the files as expected traces")
	c.Flags().BoolVar(&p.show, "print", false, "print each trace, including expected ones")
	cli.OutputFlag(c, &p.record, "record", "also write the runs to this trace `file`")
	c.Flags().BoolVar(&p.nonStreaming, "non-streaming", false, "run again with non-streaming models and compare (INV-12)")
	p.format = cli.FormatFlag(c, "text", "json", "github")
	p.reports = cli.ReportFlags(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		if p.update && p.nonStreaming {
			return fmt.Errorf("--update and --non-streaming cannot be combined: set the response mode in the file instead; see %s --help", c.CommandPath())
		}
		return p.play(c, w, args)
	}
	return c
}

// player runs scenario files.
type player struct {
	update, show, nonStreaming bool
	record                     string
	format                     *string
	reports                    *cli.ReportFiles
}

// played is the result of a scenario and the output of --format json.
type played struct {
	File       string      `json:"file"`
	OK         bool        `json:"ok"`
	Updated    bool        `json:"updated,omitempty"`
	Difference string      `json:"difference,omitempty"`
	Violations []violation `json:"violations,omitempty"`
	Unused     []string    `json:"unused,omitempty"`
	Error      string      `json:"error,omitempty"`
	Trace      string      `json:"trace,omitempty"`

	unreadable bool
}

var runJSON = cli.NewJSON("run", 1, "run --format json, one object for each scenario", played{})

func (p *player) play(c *cobra.Command, w *cli.World, args []string) error {
	if p.update {
		if err := w.CheckOutputs(args...); err != nil {
			return err
		}
	}
	failed, unreadable := false, false
	report := &testreport.Report{Name: "looptape run"}
	each := func(sink *trace.Writer) {
		for i, name := range args {
			out := p.one(c, w, name, sink, i)
			failed, unreadable = failed || !out.OK && !out.unreadable, unreadable || out.unreadable
			report.Tests = append(report.Tests, out.test())
			p.print(w, out, len(args) > 1)
		}
	}
	end := func() error {
		report.Summary = cli.Count(len(args), "scenario")
		if err := p.reports.Write(w, report); err != nil {
			return err
		}
		status := cli.Result(failed, unreadable)
		if *p.format == "github" {
			return cli.Annotations(w, report, status)
		}
		return status
	}
	if p.record == "" {
		each(nil)
		return end()
	}
	err := w.Output(p.record, func(out io.Writer) error {
		sink := trace.NewWriter(out, trace.Header{Writer: "looptape " + w.Version()})
		each(sink)
		return sink.Flush()
	})
	return cmp.Or(err, end())
}

// test returns the result for CI systems.
func (out *played) test() testreport.Test {
	t := testreport.Test{Class: "scenarios", Name: out.File}
	add := func(kind, message, text string, level testreport.Level) {
		t.Findings = append(t.Findings, testreport.Finding{Type: kind, Message: message, Text: out.File + ": " + text, File: out.File, Level: level})
	}
	if out.Error != "" {
		add("error", out.Error, out.Error, testreport.Error)
	}
	if out.Difference != "" {
		message := "the trace differs: to accept the new one, read it and run looptape run --update " + out.File
		add("trace", message, message+"\n"+out.Difference, testreport.Failure)
	}
	for i := range out.Violations {
		message := out.Violations[i].line()
		add(out.Violations[i].Invariant, message, out.Violations[i].Invariant+": "+message, testreport.Failure)
	}
	return t
}

func (p *player) one(c *cobra.Command, w *cli.World, name string, sink *trace.Writer, index int) played {
	out := played{File: name}
	fail := func(err error) played {
		out.Error = err.Error()
		return out
	}
	src, f, err := w.ReadScenario(name)
	if err != nil {
		out.unreadable = true
		return fail(err)
	}
	o, err := scenario.Run(c.Context(), f.Script, nil)
	if err == nil && p.nonStreaming {
		o, err = p.twin(c, w, f, o, &out)
	}
	if err != nil {
		_, syntax := errors.AsType[*fake.SyntaxError](err)
		out.unreadable = syntax
		return fail(err)
	}
	if err := writeRun(sink, o.Events, index); err != nil {
		return fail(err)
	}
	out.Unused = o.Unused
	out.Violations = append(out.Violations, violations(o.Events)...)
	switch {
	case p.update && name == "-":
		return fail(errors.New("standard input cannot be updated; give the file's name"))
	case p.update:
		if text := f.With(o); !bytes.Equal(src, text) {
			if err := cassettes.Replace(name, text); err != nil {
				return fail(err)
			}
		}
		out.Updated = true
	case !p.nonStreaming:
		out.Difference = f.Compare(o)
	}
	if p.show || !f.HasTrace && !p.update {
		out.Trace = o.Trace()
	}
	out.OK = out.Difference == "" && len(out.Violations) == 0
	return out
}

// twin compares the unchanged run with the expected trace, runs the file again with
// non-streaming models, and compares the two runs.
func (p *player) twin(c *cobra.Command, w *cli.World, f *scenario.File, o *scenario.Result, out *played) (*scenario.Result, error) {
	out.Difference = f.Compare(o)
	whole, err := scenario.Run(c.Context(), f.Script, &scenario.Options{Adjust: func(cfg *loop.Config) { cfg.ResponseMode = llm.NonStreaming }})
	if err != nil {
		return nil, err
	}
	if s := f.Script; s.StopAfter > 0 || s.Cancel != nil && s.Cancel.AfterEvents > 0 {
		w.Warn("%s: the run ends after a number of events, which differs in a non-streaming run: the two runs are not compared", f.Name)
		return whole, nil
	}
	out.Violations = reported(check.Pair(o.Events, whole.Events, check.ResponseMode))
	return whole, nil
}

// writeRun writes a run's events to the sink, which may be nil, under a unique name.
func writeRun(sink *trace.Writer, events []trace.Event, index int) error {
	if sink == nil {
		return nil
	}
	for _, ev := range events {
		ev.Run = fmt.Sprintf("r%d", index+1)
		if err := sink.Write(ev); err != nil {
			return err
		}
	}
	return nil
}

func violations(events []trace.Event) []violation {
	c := check.New(nil)
	for _, ev := range events {
		c.Add(ev)
	}
	return reported(c.Done())
}

// reported returns the violations that are not suppressed.
func reported(found []check.Violation) []violation {
	r := report{Counts: map[string]int{}}
	r.add("", found)
	return r.Violations
}

func (p *player) print(w *cli.World, out played, many bool) {
	switch {
	case *p.format == "json":
		w.JSON(runJSON.Of(out))
		return
	case *p.format == "github":
		return // after all scenarios
	case out.Error != "":
		w.PrintError(errors.New(out.Error))
		return
	case out.Updated:
		w.Printf("updated  %s\n", out.File)
	case !out.OK:
		w.Printf("FAIL     %s\n", out.File)
	case out.Trace == "" || many:
		w.Printf("ok       %s\n", out.File)
	}
	w.Printf("%s%s", out.Trace, out.Difference)
	for _, v := range out.Violations {
		where := ""
		if v.Event != check.NoEvent {
			where = fmt.Sprintf(" at event %d", v.Event)
		}
		w.Printf("%s%s: %s\n", v.Invariant, where, v.Message)
	}
	if out.Difference != "" {
		w.Printf("To accept the new trace, read it and run: looptape run --update %s\n", out.File)
	}
	if n := len(out.Unused); n > 0 && (out.Trace != "" || !out.OK) {
		w.Warn("%s: %s of the script never requested, from %s", out.File, cli.Count(n, "response"), out.Unused[0])
	}
}
