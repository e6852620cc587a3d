package runs

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/looptape/looptape/cassettes/recording"
	"github.com/looptape/looptape/cassettes/redact"
	"github.com/looptape/looptape/cmd/looptape/internal/cli"
	"github.com/looptape/looptape/cmd/looptape/internal/program"
	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire"
	"github.com/looptape/looptape/internal/child"
	"github.com/looptape/looptape/loop/explore"
	"github.com/looptape/looptape/trace/check"
)

// programFlags are the flags of explore for a program.
type programFlags struct {
	args                   []string // the program; empty means the loop of looptape
	keep, allowUnused      bool
	timeout, stall, settle time.Duration
	cancel                 string
	cancelTimeout          time.Duration
	repeat                 int
	status                 string
	suppress               []string
}

// names of the flags that have an effect only with a program, and of those that have none.
var (
	forProgram     = []string{"keep", "timeout", "cancel", "cancel-timeout", "stall", "settle", "repeat", "expect-status", "suppress", "allow-unused"}
	withoutProgram = []string{"preemptions"}
)

func (p *programFlags) add(c *cobra.Command) {
	f := c.Flags()
	f.BoolVar(&p.keep, "keep", false, "program: start it once; it reads a line \"run N\" for each run and writes \"done\" or \"done STATUS\"")
	f.DurationVar(&p.timeout, "timeout", 10*time.Second, "program: end a run after this `time`, and report it")
	f.StringVar(&p.cancel, "cancel", "", "program: `how` runs are canceled: term, int or none; with --keep, line or none (default: term; with --keep and on Windows none)")
	f.DurationVar(&p.cancelTimeout, "cancel-timeout", 2*time.Second, "program: report a canceled run that does not end within this `time`")
	f.DurationVar(&p.stall, "stall", 100*time.Millisecond, "program: end the connection of a response that stalls after this `time`")
	f.DurationVar(&p.settle, "settle", 10*time.Millisecond, "program: wait this `time` for other requests, if it can have several open ones")
	f.IntVar(&p.repeat, "repeat", 5, "program: repeat a failure `n` times with its choices")
	f.StringVar(&p.status, "expect-status", "0", "program: exit `status` of a run without an error, or any if the status shows no error")
	f.StringArrayVar(&p.suppress, "suppress", nil, "program: accept violations of an invariant, `INV-05=reason` (repeatable)")
	f.BoolVar(&p.allowUnused, "allow-unused", false, "program: accept responses that were never requested")
}

// validate checks the flags. scenarios is the number of scenario files.
func (p *programFlags) validate(x *explorer, changed func(string) bool, scenarios int) error {
	names, with := forProgram, "a program after --"
	if len(p.args) > 0 {
		names, with = withoutProgram, "the loop of looptape, not with a program"
	}
	for _, name := range names {
		if changed(name) {
			return cli.UsageError(x.c, "--%s has an effect only with %s", name, with)
		}
	}
	_, err := strconv.ParseUint(p.status, 10, 8)
	switch {
	case x.c.ArgsLenAtDash() >= 0 && len(p.args) == 0:
		return cli.UsageError(x.c, "missing program after --")
	case len(p.args) > 0 && scenarios != 1:
		return cli.UsageError(x.c, "takes one scenario with a program, got %d", scenarios)
	case p.timeout <= 0 || p.cancelTimeout <= 0 || p.stall < 0 || p.settle < 0:
		return cli.UsageError(x.c, "--timeout, --cancel-timeout, --stall and --settle: want a time such as 10s")
	case !slices.Contains(p.cancels(), p.cancel):
		return cli.UsageError(x.c, "--cancel %q: want %s", p.cancel, strings.Join(p.cancels()[1:], ", "))
	case p.repeat < 1:
		return cli.UsageError(x.c, "--repeat %d: want a number from 1", p.repeat)
	case err != nil && p.status != program.AnyStatus:
		return cli.UsageError(x.c, "--expect-status %q: want an exit status from 0 to 255, or %s", p.status, program.AnyStatus)
	}
	return nil
}

// cancels are the values of --cancel.
func (p *programFlags) cancels() []string {
	switch {
	case p.keep:
		return []string{"", string(program.CancelLine), "none"}
	case child.CanSignal:
		return []string{"", string(program.CancelSIGTERM), string(program.CancelSIGINT), "none"}
	}
	return []string{"", "none"}
}

// canceled returns how runs are canceled.
func (p *programFlags) canceled() program.Cancel {
	switch {
	case p.cancel == "none" || p.cancel == "" && (p.keep || !child.CanSignal):
		return ""
	case p.cancel == "":
		return program.CancelSIGTERM
	}
	return program.Cancel(p.cancel)
}

// startProgram runs the program with a script for package explore.
func (x *explorer) startProgram(ctx context.Context, script *fake.Script) (*program.Explorer, error) {
	cfg := wire.Config{Script: script, AllowUnused: x.program.allowUnused, Token: strings.ToLower(x.w.Token())}
	var err error
	if cfg.Suppress, err = cli.Suppressed(x.program.suppress); err != nil {
		return nil, err
	}
	info := wire.New(cfg)
	return program.New(ctx, program.Config{
		Wire: cfg, Args: x.program.args, Keep: x.program.keep, Status: x.program.status,
		Cancel: x.program.canceled(), CancelTimeout: x.program.cancelTimeout,
		Timeout: x.program.timeout, Stall: x.program.stall, Settle: x.program.settle,
		Env: func(url string) []string {
			return cli.LocalEnv(x.w, slices.Concat(x.w.Environ(), cli.AnyKeys(x.w.Environ()), info.Info(url).Env("", cli.AnyKey)))
		},
		Log: x.w.Log(),
	})
}

// reduceProgram returns a smaller script with which the program has the failure, or the same script if the failure is unstable.
func (x *explorer) reduceProgram(ctx context.Context, script *fake.Script, f *explore.Failure) (*fake.Script, *explore.Failure) {
	if f.Shown < f.Repeated {
		return script, f
	}
	start := func(script *fake.Script) (explore.Program, error) {
		e, err := x.startProgram(ctx, script)
		if err != nil {
			return nil, err
		}
		return e.Program(), nil
	}
	smaller, reduced := explore.Reduce(f, script, (*fake.Script).Smaller, start)
	p, err := start(smaller)
	if err != nil {
		return script, f
	}
	defer p.Close()
	for range f.Repeated {
		o, _ := explore.Replay(p, reduced.Choices)
		if !slices.ContainsFunc(o.Violations, func(v check.Violation) bool { return v.Invariant == f.Invariant }) {
			return script, f
		}
	}
	return smaller, reduced
}

// command returns the end of a command that repeats a run: the scenario and the program. If the arguments of
// the program have a secret, they are omitted.
func (p *programFlags) command(file string) string {
	if len(p.args) == 0 {
		return quoted(file)
	}
	words := []string{}
	if p.keep {
		words = append(words, "--keep")
	}
	if p.cancel != "" {
		words = append(words, "--cancel", p.cancel)
	}
	for _, f := range []struct {
		name          string
		value, normal time.Duration
	}{{"--timeout", p.timeout, 10 * time.Second}, {"--cancel-timeout", p.cancelTimeout, 2 * time.Second}, {"--stall", p.stall, 100 * time.Millisecond}, {"--settle", p.settle, 10 * time.Millisecond}} {
		if f.value != f.normal {
			words = append(words, f.name, f.value.String())
		}
	}
	if p.status != "0" {
		words = append(words, "--expect-status", p.status)
	}
	for _, s := range p.suppress {
		words = append(words, "--suppress", s)
	}
	if p.allowUnused {
		words = append(words, "--allow-unused")
	}
	words = append(words, file, "--")
	program := cli.ShellLine(p.args...)
	if len((&redact.Rules{}).FindSecrets(&recording.Interaction{Request: recording.Request{URL: "http://localhost", Body: []byte(program)}})) > 0 {
		program = cli.ShellLine(p.args[0]) + " …"
	}
	return cli.ShellLine(words...) + " " + program
}
