package main

import (
	"cmp"
	"errors"
	"fmt"
	"log"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/looptape/looptape/cassettes"
)

func newRecord(w *world) *cobra.Command {
	c := &cobra.Command{
		Use:   "record -o FILE [-- CMD ARG…]",
		Short: "Record what a program says over HTTP into a cassette",
		Long: `record stands between a program, in any language, and the servers that it calls.
It passes on what goes over HTTP, streams as they come, and keeps it in a
cassette that looptape replay plays.

--upstream NAME=URL names a server: the URL that its client has as base URL, the
path and all. Without one they are OpenAI, Anthropic and Gemini, where the
variables OPENAI_BASE_URL, ANTHROPIC_BASE_URL and GOOGLE_GEMINI_BASE_URL say, or
else where the providers are.

Behind -- stands the program. Its environment has a base URL for each server:
these variables, and NAME_BASE_URL for others; its keys are passed on, and are
not recorded. Without a program it records until it is told to stop (Ctrl-C,
SIGTERM). /lane/LANE in front of the path of a base URL keeps programs that run
at once apart. What --volatile and --secret name, looptape replay is told, too.

The file replaces an older one at the end, unless no request was answered. A
recording that breaks off is kept beside it, and replayed as far as it came; it
is not recorded again until that was converted or removed.

Exit status: that of the program, or 128 and the number of the signal that ended
it; 1 if a request failed or was sent past looptape by a redirect, or the file
was not replaced; 2 if recording or the program could not start.`,
		Example: "  looptape record -o weather.tape -- node agent.js\n  looptape record -o x.tape --upstream my=http://localhost:80/v1 -- ./agent",
	}
	v := deck{w: w, command: c, opts: cassettes.Options{Mode: cassettes.Record}}
	f := c.Flags()
	f.StringVarP(&v.file, "output", "o", "", "the cassette to write, a `file`")
	f.StringArrayVar(&v.upstreams, "upstream", nil, "a server, `NAME=URL`; may be repeated")
	f.StringVar(&v.addr, "addr", "127.0.0.1:0", "`HOST:PORT` to listen at; port 0 is any that is free")
	volatileFlag(c, &v.opts)
	secretFlag(c, &v.opts)
	opaqueFlag(c, &v.opts)
	_ = c.MarkFlagRequired("output") // the name was just defined, so this cannot fail
	c.Args = func(_ *cobra.Command, args []string) error { return v.arguments(args, 0) }
	c.RunE = func(_ *cobra.Command, args []string) error { return v.run(args) }
	return c
}

func newReplay(w *world) *cobra.Command {
	c := &cobra.Command{
		Use:   "replay FILE [-- CMD ARG…]",
		Short: "Answer a program over HTTP from a cassette",
		Long: `replay answers a program, in any language, with what looptape record has
recorded. The network is never touched. A request that was not recorded, or more
often than it was recorded, is answered with 400, which clients do not try
again, and with how it differs from the nearest one.

Behind -- stands the program, with the same variables in its environment as when
it was recorded, and a key for each provider where it has none.

Exit status: that of the program, or 128 and the number of the signal that ended
it; 1 if a request was not in the cassette or was sent past looptape by a
redirect, or an interaction of it was not asked for; 2 if the cassette cannot be
read or the program could not start.`,
		Example: "  looptape replay weather.tape -- node agent.js",
	}
	v := deck{w: w, command: c, opts: cassettes.Options{Mode: cassettes.Replay}}
	f := c.Flags()
	f.StringArrayVar(&v.upstreams, "upstream", nil, "a server, `NAME=URL`, beside those that the cassette tells of; may be repeated")
	f.Float64Var(&v.opts.DelayFactor, "pace", 0, "how many times the recorded time an answer takes; 0 is none")
	f.BoolVar(&v.opts.AllowUnused, "allow-unused", false, "accept that interactions are not asked for")
	f.StringVar(&v.report, "report", "", "add to a `file` which interactions were used, for looptape cassette verify --used")
	f.StringVar(&v.addr, "addr", "127.0.0.1:0", "`HOST:PORT` to listen at; port 0 is any that is free")
	volatileFlag(c, &v.opts)
	secretFlag(c, &v.opts)
	c.Args = func(_ *cobra.Command, args []string) error { return v.arguments(args, 1) }
	c.RunE = func(_ *cobra.Command, args []string) error {
		v.file = args[0]
		return v.run(args[1:])
	}
	return c
}

// volatileFlag gives a command the flag that tells what does not count in matching.
func volatileFlag(c *cobra.Command, o *cassettes.Options) {
	c.Flags().StringArrayVar(&o.Ignore, "volatile", nil, "what does not count in a request: `/json/pointer` with * for any, or ?query; may be repeated")
}

// deck is a command line of record or replay.
type deck struct {
	w       *world
	command *cobra.Command
	opts    cassettes.Options

	file, addr, report string
	upstreams          []string
}

// arguments checks that there are n arguments before a program, if there is one.
func (v *deck) arguments(args []string, n int) error {
	got, path := len(args), v.command.CommandPath()
	if dash := v.command.ArgsLenAtDash(); dash >= 0 {
		if got == dash {
			return fmt.Errorf("%s: -- stands before a program to start, and there is none; see %s --help", path, path)
		}
		got = dash
	}
	if got != n {
		return fmt.Errorf("%s takes %s before --, got %d; a program to start stands behind --; see %s --help", path, count(n, "argument"), got, path)
	}
	return nil
}

// provider is a server that clients know by variables of their own.
type provider struct{ name, base, url, key string }

// providers are those that the official SDKs read.
func providers() []provider {
	return []provider{
		{"openai", "OPENAI_BASE_URL", "https://api.openai.com/v1", "OPENAI_API_KEY"},
		{"anthropic", "ANTHROPIC_BASE_URL", "https://api.anthropic.com", "ANTHROPIC_API_KEY"},
		{"gemini", "GOOGLE_GEMINI_BASE_URL", "https://generativelanguage.googleapis.com", "GEMINI_API_KEY"},
	}
}

func (v *deck) run(args []string) error {
	var err error
	if v.opts.Upstreams, err = v.servers(); err != nil {
		return err
	}
	v.opts.Recorder, v.opts.Now = "looptape "+version(v.w.versions), v.w.now
	c, err := v.open(args)
	if err != nil {
		return err
	}
	p, err := cassettes.NewProxy(c, log.New(v.w.err, "looptape: ", 0))
	if err != nil {
		return errors.Join(err, c.Abandon())
	}
	ctx, stop := v.w.interrupted(v.command.Context())
	defer stop()
	failed, err := v.w.serve(ctx, v.addr, p, program{
		args:  args,
		greet: func(url string) error { return v.greet(url, p.Names()) },
		env:   func(url string) []string { return v.env(url, p.Names()) },
	})
	if err != nil {
		return errors.Join(err, c.Abandon())
	}
	if _, ok := errors.AsType[*startError](failed); ok {
		return errors.Join(failed, c.Abandon())
	}
	if v.report != "" {
		if err := c.Report(v.report); err != nil {
			return errors.Join(err, c.Abandon())
		}
	}
	return v.end(p.Failures(), c.Close(), failed)
}

// servers are the upstreams of the flags, or of a recording without any those of the
// providers.
func (v *deck) servers() (map[string]string, error) {
	out := map[string]string{}
	for _, text := range v.upstreams {
		name, url, ok := strings.Cut(text, "=")
		if !ok {
			return nil, fmt.Errorf("--upstream %q is not a server such as openai=https://api.openai.com/v1", text)
		}
		out[name] = url
	}
	if len(out) == 0 && v.opts.Mode == cassettes.Record {
		for _, p := range providers() {
			out[p.name] = cmp.Or(v.w.env(p.base), p.url)
		}
	}
	return out, nil
}

func (v *deck) greet(url string, names []string) error {
	does := map[cassettes.Mode]string{cassettes.Record: "records into", cassettes.Replay: "replays"}
	text := fmt.Sprintf("looptape %s %s at %s\n", does[v.opts.Mode], v.file, url)
	for _, name := range names {
		text += fmt.Sprintf("  %-10s %s\n", name, url+"/"+name)
	}
	_, err := fmt.Fprint(v.w.err, text)
	return err
}

// env are the variables that tell a program where the servers are.
func (v *deck) env(url string, names []string) []string {
	vars := map[string]string{"LOOPTAPE_URL": url}
	for _, name := range names {
		vars[strings.ToUpper(strings.ReplaceAll(name, "-", "_"))+"_BASE_URL"] = url + "/" + name
	}
	for _, p := range providers() {
		if slices.Contains(names, p.name) {
			vars[p.base] = url + "/" + p.name
			if v.opts.Mode == cassettes.Replay && v.w.env(p.key) == "" {
				vars[p.key] = anyKey
			}
		}
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		out = append(out, name+"="+vars[name])
	}
	return out
}

// end tells what failed, and returns the status.
func (v *deck) end(requests []error, closed, failed error) error {
	for _, err := range append(requests, closed) {
		if err != nil {
			complain(v.w, err)
		}
	}
	if len(requests) > 0 || closed != nil {
		return status(statusBroken)
	}
	exit, ok := errors.AsType[*exec.ExitError](failed)
	if ok && exit.ExitCode() > 0 {
		return status(exit.ExitCode())
	}
	if failed == nil {
		return nil
	}
	complain(v.w, fmt.Errorf("the program ended with %w", failed))
	if ok {
		if by, ok := exit.Sys().(syscall.WaitStatus); ok && by.Signaled() {
			return status(signalled + int(by.Signal()))
		}
	}
	return status(statusBroken)
}

// signalled is what shells add to the number of the signal that ended a program.
const signalled = 128
