package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/looptape/looptape/evals/rerun"
	"github.com/looptape/looptape/trace"
)

func newEvalRerun(w *world) *cobra.Command {
	c := &cobra.Command{
		Use:   "rerun FILE…",
		Short: "Play recorded runs again with other tools, without a network",
		Long: `rerun plays recorded runs again with something changed, and shows what parts.

With --tools live the model says again what it said, and tools are run: --tool
gives the program of one tool, --tools-cmd that of all others; a tool without a
program answers as recorded. It prints which results are others than those that
were recorded, and where. A program reads a call a line, such as
  {"run":"task-3","case":"3","epoch":1,"step":0,"index":0,"tool":"find",
   "args":{"id":7}}
and answers each with a line: {"result": VALUE}, {"error": "TEXT"}, or
{"recorded": true} for the recorded result. There is a process for each run.

The runs are those of recordings in any format, of folders, or of a suite file.
-o writes the reruns as a trace, which the other commands read.

Exit status: 0 if nothing parts from the record; 1 if something does, or a
program failed; 2 if anything could not be read.`,
		Example: "  looptape eval rerun --tools live --tools-cmd 'python3 tools.py' runs.jsonl\n  looptape eval rerun --tool 'find=node find.js' --ignore find=/took_ms runs/",
		Args:    needFiles,
	}
	v := rerunner{w: w}
	f := c.Flags()
	f.StringVar(&v.tools, "tools", "", "where results come from: live")
	f.StringArrayVar(&v.programs, "tool", nil, "the program of a tool, `NAME=CMD`; may be repeated")
	f.StringVar(&v.all, "tools-cmd", "", "the program of all tools that --tool does not name, a `command` of a shell")
	f.DurationVar(&v.timeout, "timeout", rerun.DefaultTimeout, "how long a program has for a call")
	f.StringArrayVar(&v.ignore, "ignore", nil, "what does not count in results, a JSON `pointer` with * for any, or TOOL=pointer; may be repeated")
	f.BoolVar(&v.compare.IgnoreSpace, "ignore-space", false, "white space does not count in results")
	f.StringVarP(&v.output, "output", "o", "", "the `file` to write the reruns to, as a trace")
	v.format = formatFlag(c, "table", "json", "jsonl")
	c.RunE = func(c *cobra.Command, args []string) error { return v.run(c.Context(), args) }
	return c
}

// rerunner is a command line of eval rerun.
type rerunner struct {
	w *world

	tools, all, output string
	programs, ignore   []string
	timeout            time.Duration
	compare            rerun.Options
	format             *string
}

func (v *rerunner) run(ctx context.Context, names []string) error {
	programs, err := v.started()
	if err != nil {
		return err
	}
	if err := v.ignored(); err != nil {
		return err
	}
	set, err := v.w.setOf(names, nil, false)
	if err != nil {
		return err
	}
	inputs, err := v.w.inputs(set)
	if err != nil {
		return err
	}
	ctx, stop := v.w.interrupted(ctx)
	defer stop()
	r := rerun.NewToolsReport()
	reruns := func(sink *trace.Writer) error {
		for run, err := range rerun.Runs(ctx, inputs, &set.Options) {
			if err != nil {
				r.Unread(err)
				continue
			}
			out, err := programs.Rerun(ctx, &run.Run, &v.compare)
			if ctx.Err() != nil {
				return fmt.Errorf("rerunning stopped: %w", context.Cause(ctx))
			}
			line := r.Add(&run, out, err)
			if *v.format == "jsonl" {
				if err := printJSON(v.w.out, line); err != nil {
					return err
				}
			}
			if out != nil && sink != nil {
				if err := rerun.Write(sink, &run, len(r.Runs), out.Events); err != nil {
					return err
				}
			}
		}
		return nil
	}
	if err := v.recorded(reruns); err != nil {
		return err
	}
	if err := v.uncalled(r); err != nil {
		return err
	}
	return v.w.printToolsReport(r, *v.format)
}

// uncalled is the error for a tool that no run calls: its name may be misspelt.
func (v *rerunner) uncalled(r *rerun.ToolsReport) error {
	names := slices.Sorted(maps.Keys(r.Tools))
	for _, text := range v.programs {
		name, _, _ := strings.Cut(text, "=")
		if !slices.Contains(names, name) && len(r.Runs) > 0 {
			return fmt.Errorf("--tool %s: no run calls this tool; those that are called: %s", name, strings.Join(names, ", "))
		}
	}
	return nil
}

// recorded calls a function with what writes the file of the flag, if there is one.
func (v *rerunner) recorded(reruns func(*trace.Writer) error) error {
	if v.output == "" {
		return reruns(nil)
	}
	return replaceWith(v.output, func(out io.Writer) error {
		sink := trace.NewWriter(out, trace.Header{Writer: "looptape " + version(v.w.versions)})
		return errors.Join(reruns(sink), sink.Close())
	})
}

// started are the programs of the flags.
func (v *rerunner) started() (*rerun.Programs, error) {
	if v.tools != "" && v.tools != "live" {
		return nil, fmt.Errorf("--tools %s: it takes live, which runs the programs of --tool and --tools-cmd", v.tools)
	}
	if v.all == "" && len(v.programs) == 0 {
		return nil, errors.New("say which tools are run, with --tool NAME=CMD or --tools-cmd CMD; see looptape eval rerun --help")
	}
	program := func(command string) rerun.Program {
		return rerun.Program{Command: command, Env: v.w.environ(), Stderr: v.w.err, Timeout: v.timeout}
	}
	out := &rerun.Programs{Tools: map[string]rerun.Program{}}
	if v.all != "" {
		all := program(v.all)
		out.All = &all
	}
	for _, text := range v.programs {
		name, command, ok := strings.Cut(text, "=")
		if _, twice := out.Tools[name]; !ok || name == "" || command == "" || twice {
			return nil, fmt.Errorf("--tool %q: give the name of a tool and its program, NAME=CMD, once for each tool", text)
		}
		out.Tools[name] = program(command)
	}
	return out, nil
}

// ignored takes the pointers of the flags.
func (v *rerunner) ignored() error {
	v.compare.Ignore = map[string][]string{}
	for _, text := range v.ignore {
		tool, pointer, ok := strings.Cut(text, "=")
		if !ok || strings.HasPrefix(text, "/") {
			tool, pointer = "*", text
		}
		v.compare.Ignore[tool] = append(v.compare.Ignore[tool], pointer)
	}
	return v.compare.Check()
}
