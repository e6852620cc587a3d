package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/scenario"
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/check"
)

func newRun(w *world) *cobra.Command {
	c := &cobra.Command{
		Use:   "run SCENARIO…",
		Short: "Run the loop on scripted models and compare its trace",
		Long: `run plays scenario files: what the models and the tools do is in the file, and
so, if it is a txtar archive with a section "trace", is the trace that must come
out. The run is held against that trace and against the invariants. A file
without an expected trace (or with --print) has its trace printed.

With --buffered the file is played twice: as it is, and with models that give
their answers in one piece. Messages, results, usage and the reason of the stop
must be the same (INV-12); what is printed and recorded is the second run.

Nothing but the file decides what happens: there is no network and no waiting,
and the same file gives the same trace each time.

Exit status: 0 if all came out as expected, 1 if a trace differs, an invariant
does not hold or a script does not fit, 2 if a file cannot be read.`,
		Example: "  looptape run testdata/*.txtar\n  looptape run --update weather.txtar\n  looptape run --record run.jsonl weather.yaml",
		Args:    needFiles,
	}
	var p player
	c.Flags().BoolVar(&p.update, "update", false, "write what came out into the files as what is expected")
	c.Flags().BoolVar(&p.show, "print", false, "print each trace, also where one is expected")
	c.Flags().StringVar(&p.record, "record", "", "also write the runs to this trace `file`")
	c.Flags().BoolVar(&p.buffered, "buffered", false, "also ask the models for whole answers, which must come to the same (INV-12)")
	p.format = formatFlag(c, "text", "json")
	c.RunE = func(c *cobra.Command, args []string) error {
		if p.update && p.buffered {
			return fmt.Errorf("--update writes what comes of the file as it is, and --buffered plays another run; use one of them, or loop: {delivery: buffered} in the file; see %s --help", c.CommandPath())
		}
		return p.play(c, w, args)
	}
	return c
}

// player runs scenario files.
type player struct {
	update, show, buffered bool
	record                 string
	format                 *string
}

// played is what came of a scenario; its JSON is what --format json prints.
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

func (p *player) play(c *cobra.Command, w *world, args []string) error {
	var sink *trace.Writer
	if p.record != "" {
		f, err := os.Create(p.record)
		if err != nil {
			return err
		}
		sink = trace.NewWriter(f, trace.Header{Writer: "looptape " + version(w.versions)})
		defer func() { _ = f.Close() }() // Flush has told what matters
	}
	result := statusHeld
	for i, name := range args {
		out := p.one(c, w, name, sink, i)
		switch {
		case out.unreadable && result == statusHeld:
			result = statusUsage
		case !out.OK && !out.unreadable:
			result = statusBroken
		}
		if err := p.print(w, out, len(args) > 1); err != nil {
			return err
		}
	}
	if sink != nil {
		if err := sink.Flush(); err != nil {
			return fmt.Errorf("%s: %w", p.record, err)
		}
	}
	if result != statusHeld {
		return status(result)
	}
	return nil
}

func (p *player) one(c *cobra.Command, w *world, name string, sink *trace.Writer, index int) played {
	out := played{File: name}
	fail := func(err error) played {
		out.Error = err.Error()
		return out
	}
	src, err := w.readAll(name)
	if err != nil {
		out.unreadable = true
		return fail(err)
	}
	f, err := scenario.Parse(name, src)
	if err != nil {
		out.unreadable = true
		return fail(err)
	}
	o, err := scenario.Run(c.Context(), f.Script, nil)
	if err == nil && p.buffered {
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
		if err := updateFile(name, src, f.With(o)); err != nil {
			return fail(err)
		}
		out.Updated = true
	case !p.buffered:
		out.Difference = f.Compare(o)
	}
	if p.show || !f.HasTrace && !p.update {
		out.Trace = o.Trace()
	}
	out.OK = out.Difference == "" && len(out.Violations) == 0
	return out
}

// twin holds the run of the file as it is against what the file expects, plays the
// file again with whole answers, and holds that run against the first.
func (p *player) twin(c *cobra.Command, w *world, f *scenario.File, o *scenario.Result, out *played) (*scenario.Result, error) {
	out.Difference = f.Compare(o)
	whole, err := scenario.Run(c.Context(), f.Script, &scenario.Options{Adjust: func(cfg *loop.Config) { cfg.ResponseMode = llm.NonStreaming }})
	if err != nil {
		return nil, err
	}
	if s := f.Script; s.Consumer != nil || s.Cancel != nil && s.Cancel.AfterEvents > 0 {
		complain(w, fmt.Errorf("%s: it ends after a number of events, of which a buffered run has others; the two are not compared", f.Name))
		return whole, nil
	}
	out.Violations = reported(check.Pair(o.Events, whole.Events, check.ResponseMode))
	return whole, nil
}

// writeRun writes a run's events to the sink, which may be nil, under a name that
// is unique there.
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

// reported are the violations that count.
func reported(found []check.Violation) []violation {
	r := report{Counts: map[string]int{}}
	r.add("", found)
	return r.Violations
}

// updateFile replaces a file's content if it has changed.
func updateFile(name string, was, now []byte) error {
	if string(was) == string(now) {
		return nil
	}
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	return os.WriteFile(name, now, info.Mode().Perm())
}

func (p *player) print(w *world, out played, many bool) error {
	if *p.format == "json" {
		return printJSON(w.out, out)
	}
	var b strings.Builder
	switch {
	case out.Error != "":
		complain(w, errors.New(out.Error))
		return nil
	case out.Updated:
		fmt.Fprintf(&b, "updated  %s\n", out.File)
	case !out.OK:
		fmt.Fprintf(&b, "FAIL     %s\n", out.File)
	case out.Trace == "" || many:
		fmt.Fprintf(&b, "ok       %s\n", out.File)
	}
	b.WriteString(out.Trace)
	b.WriteString(out.Difference)
	for _, v := range out.Violations {
		where := ""
		if v.Event != check.NoEvent {
			where = fmt.Sprintf(" at event %d", v.Event)
		}
		fmt.Fprintf(&b, "%s%s: %s\n", v.Invariant, where, v.Message)
	}
	if out.Difference != "" {
		fmt.Fprintf(&b, "To accept what came, read it and run: looptape run --update %s\n", out.File)
	}
	if n := len(out.Unused); n > 0 && (out.Trace != "" || !out.OK) {
		complain(w, fmt.Errorf("%s: %s of the script not asked for, from %s", out.File, count(n, "answer"), out.Unused[0]))
	}
	_, err := fmt.Fprint(w.out, b.String())
	return err
}
