package eval

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

	"github.com/looptape/looptape/cmd/looptape/internal/cli"
	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/evals/rerun"
	"github.com/looptape/looptape/evals/scorers"
	"github.com/looptape/looptape/trace"
)

func newRerun(w *cli.World) *cobra.Command {
	c := &cobra.Command{
		Use:   "rerun FILE…",
		Short: "Rerun recorded runs with other tools or another model",
		Long: `rerun repeats recorded runs with one change and prints the differences from the
recording. It uses no network.

With --tools live, the model repeats its recorded responses and the tools run:
--tool sets the program of one tool, --tools-cmd the program of all others. A
tool without a program returns the recorded result. rerun prints which results
differ and where. A program reads one call per line, such as
  {"run":"task-3","case":"3","epoch":1,"step":0,"index":0,"tool":"find",
   "arguments":{"id":7}}
and writes one line for each: {"result": VALUE}, {"error": "TEXT"}, or
{"recorded": true} for the recorded result. Each run has its own process.

With --model, another model responds: from a scenario file, or from a cassette
that --record creates with requests to the provider. --system and --prompt
replace the system prompt and the first user message; {recorded} in them is the
recorded text. Calls get the recorded results by tool and arguments, and user
messages are as recorded. rerun prints where each run diverges: at a call that
was not recorded, or at an answer before all recorded calls. The run ends there;
with --unknown error it continues.

The runs come from recordings in any format, from folders, or from a suite file.
-o writes the reruns as a trace.

Exit status: 0 if nothing differs from the recording; 1 if something differs or
a program or the model failed; 2 if a record could not be read.`,
		Example: "  looptape eval rerun --tools live --tools-cmd 'python3 tools.py' runs.jsonl\n  looptape eval rerun --tool 'find=node find.js' --ignore find=/took_ms runs/\n  looptape eval rerun --model new.yaml --system prompt.txt -o new.jsonl runs/",
		Args:    cli.NeedFiles,
	}
	v := rerunner{w: w}
	f := c.Flags()
	f.StringVar(&v.tools, "tools", "", "`source` of results: live, or recorded with --model")
	f.StringArrayVar(&v.programs, "tool", nil, "program of a tool, `NAME=CMD` (repeatable)")
	f.StringVar(&v.all, "tools-cmd", "", "program of all other tools, a shell `command`")
	f.DurationVar(&v.timeout, "timeout", rerun.DefaultTimeout, "time limit of a program for one call")
	f.StringVar(&v.model, "model", "", "model: a scenario `file`, or cassette:FILE with --provider and --name")
	f.StringVar(&v.client.Provider, "provider", "", "`provider` of a cassette: openai, openai-responses, anthropic or gemini")
	f.StringVar(&v.client.Model, "name", "", "provider's `name` of the model")
	f.StringVar(&v.client.BaseURL, "base-url", "", "base `URL` of a cassette, if not the provider's")
	f.BoolVar(&v.recording, "record", false, "send requests to the provider and record the responses into the cassette")
	f.StringVar(&v.system, "system", "", "with --model: a `file` with the new system prompt")
	f.StringVar(&v.prompt, "prompt", "", "with --model: a `file` with the new first message of the user")
	f.StringVar(&v.definitions, "tool-defs", "", "with --model: a `file` with a JSON array of tools, if the recording does not contain them")
	f.StringVar(&v.unknown, "unknown", "stop", "with --model: `action` for a call that is not recorded: stop or error")
	f.StringArrayVar(&v.ignore, "ignore", nil, "value to ignore in results, or with --model in arguments: a JSON `pointer` with * for any name, or TOOL=pointer (repeatable)")
	f.BoolVar(&v.compare.IgnoreSpace, "ignore-space", false, "ignore white space in this comparison")
	cli.OutputFlag(c, &v.output, "output", "trace `file` for the reruns")
	v.format = cli.FormatFlag(c, "table", "json", "jsonl")
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := rejectUnused(c,
			unused{v.model == "", "without --model: add it, or remove the flag", []string{"provider", "name", "base-url"}},
			unused{v.model != "", "with --model, which starts no program: remove one of them", []string{"timeout"}}); err != nil {
			return err
		}
		v.models = graders{w: w, recordCommand: v.recordCommand(args)}
		if v.recording {
			v.models.record = recordAll
		}
		return v.run(c.Context(), args)
	}
	return c
}

// rerunner is a command line of eval rerun.
type rerunner struct {
	w *cli.World

	tools, all, output                          string
	model, system, prompt, definitions, unknown string
	programs, ignore                            []string
	timeout                                     time.Duration
	compare                                     rerun.Options
	client                                      scorers.Grader // of a cassette
	recording                                   bool
	models                                      graders
	format                                      *string
}

var (
	toolsJSON  = cli.NewJSON("rerun-tools", 1, "eval rerun --tool --format json", rerun.ToolsReport{})
	toolsLines = cli.NewJSONLinesOf("rerun-tools-lines", 1, "eval rerun --tool --format jsonl", rerun.ToolsReport{}.Runs)
	modelJSON  = cli.NewJSON("rerun-model", 1, "eval rerun --model --format json", rerun.ModelReport{})
	modelLines = cli.NewJSONLinesOf("rerun-model-lines", 1, "eval rerun --model --format jsonl", rerun.ModelReport{}.Runs)
)

// rerunning reruns each run and collects the report.
type rerunning struct {
	head any // first of the lines
	// run reruns a run. It returns the line of the report and the events of the rerun.
	run    func(ctx context.Context, run *rerun.Recorded) (line any, events []trace.Event)
	unread func(err error)
	// end returns the result after all runs.
	end func() (rerunResult, error)
	// tables prints the result and returns the last line.
	tables func() (line string)
}

// rerunResult is the result of all reruns.
type rerunResult struct {
	report     any // for JSON
	unreadable []evals.Unreadable
	runs       int
	differs    bool // a rerun differs from the recording
}

func (v *rerunner) run(ctx context.Context, names []string) error {
	how, err := v.how()
	if err != nil {
		return err
	}
	set, err := setOf(v.w, names, nil, graders{}, &rowFlags{programs: programs{allow: true}})
	if err != nil {
		return err
	}
	inputs, err := inputs(v.w, set)
	if err != nil {
		return err
	}
	ctx, stop := v.w.Interrupted(ctx)
	defer stop()
	err = v.recorded(func(sink *trace.Writer) error {
		n := 0
		for run, err := range rerun.Runs(ctx, inputs, &set.Options) {
			if err != nil {
				how.unread(err)
				continue
			}
			n++
			if n == 1 && *v.format == "jsonl" {
				v.w.JSON(how.head)
			}
			line, events := how.run(ctx, &run)
			if ctx.Err() != nil {
				break
			}
			if err := v.put(line, sink, &run, n, events); err != nil {
				return err
			}
		}
		return context.Cause(ctx)
	})
	if err != nil {
		err = fmt.Errorf("rerunning stopped: %w", err)
	}
	if err := errors.Join(v.models.close(err), set.graders.close(nil)); err != nil {
		return err
	}
	r, err := how.end()
	if err != nil {
		return err
	}
	status := cli.Result(r.differs, len(r.unreadable) > 0 || r.runs == 0)
	if *v.format == "jsonl" { // printed run by run before
		cli.PrintErrors(v.w, r.unreadable)
		return status
	}
	return cli.Report(v.w, *v.format, r.report, r.unreadable, how.tables, status)
}

// put prints the line of a run and writes the events of its rerun, as the flags require.
func (v *rerunner) put(line any, sink *trace.Writer, run *rerun.Recorded, number int, events []trace.Event) error {
	if *v.format == "jsonl" {
		v.w.JSON(line)
	}
	if err := v.w.OutputError(); err != nil || sink == nil {
		return err
	}
	return run.Write(sink, number, events)
}

// how returns the kind of rerun that the flags select.
func (v *rerunner) how() (*rerunning, error) {
	if err := v.ignored(); err != nil {
		return nil, err
	}
	live := v.all != "" || len(v.programs) > 0
	switch {
	case v.tools != "" && v.tools != "live" && v.tools != "recorded":
		return nil, fmt.Errorf("--tools %q: want live, with --tool or --tools-cmd, or recorded, with --model", v.tools)
	case v.unknown != "stop" && v.unknown != "error":
		return nil, fmt.Errorf("--unknown %q: want stop or error", v.unknown)
	case v.model != "" && (live || v.tools == "live"):
		return nil, errors.New("--model uses recorded results: remove --tools live, --tool and --tools-cmd, or --model")
	case v.model == "" && (v.system != "" || v.prompt != "" || v.definitions != "" || v.unknown != "stop" || v.tools == "recorded" || v.recording):
		return nil, errors.New("--system, --prompt, --tool-defs, --unknown, --record and --tools recorded need --model")
	case v.model != "":
		return v.other()
	case !live:
		return nil, errors.New("missing change: set --tool NAME=CMD or --tools-cmd CMD for tools, or --model; see looptape eval rerun --help")
	}
	return v.live()
}

// live reruns tools.
func (v *rerunner) live() (*rerunning, error) {
	programs, err := v.started()
	r := rerun.NewToolsReport()
	return &rerunning{
		head: toolsLines.Head(),
		run: func(ctx context.Context, run *rerun.Recorded) (line any, events []trace.Event) {
			out, err := programs.Rerun(ctx, &run.Run, &v.compare)
			if out != nil {
				events = out.Events
			}
			return r.Add(run, out, err), events
		},
		unread: r.Unread,
		end:    func() (rerunResult, error) { return v.called(r) },
		tables: func() string { return printTools(v.w, r) },
	}, err
}

// called returns the result of the reruns. It returns an error for a tool that no run calls: its
// name may be wrong.
func (v *rerunner) called(r *rerun.ToolsReport) (rerunResult, error) {
	names := slices.Sorted(maps.Keys(r.Tools))
	for _, text := range v.programs {
		name, _, _ := strings.Cut(text, "=")
		if !slices.Contains(names, name) && len(r.Runs) > 0 {
			return rerunResult{}, fmt.Errorf("--tool %q: no run calls this tool; called tools: %s", name, strings.Join(names, ", "))
		}
	}
	return rerunResult{toolsJSON.Of(*r), r.Unreadable, len(r.Runs), r.Differs()}, nil
}

// recorded calls a function with the writer of the output file, or nil without one.
func (v *rerunner) recorded(reruns func(*trace.Writer) error) error {
	if v.output == "" {
		return reruns(nil)
	}
	return v.w.Output(v.output, func(out io.Writer) error {
		sink := trace.NewWriter(out, trace.Header{Writer: "looptape " + v.w.Version()})
		return errors.Join(reruns(sink), sink.Close())
	})
}

// started returns the programs of the flags.
func (v *rerunner) started() (*rerun.Programs, error) {
	program := func(command string) rerun.Program {
		return rerun.Program{Command: command, Env: cli.WithoutKeys(v.w.Environ()), Stderr: v.w.Err, Timeout: v.timeout}
	}
	out := &rerun.Programs{Tools: map[string]rerun.Program{}}
	if v.all != "" {
		all := program(v.all)
		out.All = &all
	}
	for _, text := range v.programs {
		name, command, ok := strings.Cut(text, "=")
		if !ok || strings.Contains(name, " ") { // a command, which may have a secret
			return nil, errors.New("--tool: missing NAME=: want NAME=CMD, such as now='python3 now.py'")
		}
		if _, twice := out.Tools[name]; name == "" || command == "" || twice {
			return nil, fmt.Errorf("--tool %q: want NAME=CMD, once for each tool", name)
		}
		out.Tools[name] = program(command)
	}
	return out, nil
}

// ignored reads the pointers of the flags.
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
