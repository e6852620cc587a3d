package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/looptape/looptape/fake/wire"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/scenario"
	"github.com/looptape/looptape/trace/check"
)

func newServe(w *world) *cobra.Command {
	c := &cobra.Command{
		Use:   "serve SCENARIO [-- CMD ARG…]",
		Short: "Play a scenario over HTTP, as a strict fake of real providers",
		Long: `serve plays the models of a scenario file over HTTP, in four wire protocols:
OpenAI Chat Completions and Responses, Anthropic Messages and Gemini. A program
in any language is tested with no change to it but a base URL and any key.

The server is strict: a request that the real provider would refuse gets that
provider's error, and the scenario does not advance. It notes which invariants
the requests broke. With --quirk its answers are as odd as real ones: an id such
as QG-02, with a form where there are several (QT-06:529) and a turn, from 1,
where not all are meant (QO-03@2). --quirk help lists them.

Behind -- stands a program to start: it has the base URLs and keys of all
providers in its environment, under the names that the official SDKs read
(OPENAI_BASE_URL, ANTHROPIC_BASE_URL, GOOGLE_GEMINI_BASE_URL …). serve ends with
it. Without a program it serves until it is told to stop (Ctrl-C, SIGTERM).

At the end it prints a report, and writes it as JSON with --report.

Exit status: 0 if no invariant was broken, no request refused or to a wrong path
and the program held; 1 if not; 2 if serving or the program could not start.`,
		Example: "  looptape serve weather.yaml\n  looptape serve weather.yaml --quirk QG-02 --report r.json -- node agent.js",
	}
	v := server{w: w, command: c}
	f := c.Flags()
	f.StringVar(&v.addr, "addr", "127.0.0.1:0", "`HOST:PORT` to listen at; port 0 is any that is free")
	f.StringArrayVar(&v.quirks, "quirk", nil, "show this quirk, `ID[:FORM][@TURN]`; may be repeated")
	f.StringVar(&v.report, "report", "", "write the report to this `file`, as JSON")
	f.StringVar(&v.key, "key", "", "the only `key` that is right; without it any is")
	f.StringArrayVar(&v.models, "model", nil, "a `name` of a model that there is; without it all are")
	f.StringArrayVar(&v.suppress, "suppress", nil, "accept that an invariant is broken, `INV-05=why`; may be repeated")
	f.BoolVar(&v.delays, "delays", false, "wait as long as the scenario says; otherwise nothing waits")
	v.format = formatFlag(c, "table", "json")
	c.Args = v.arguments
	c.RunE = func(_ *cobra.Command, args []string) error { return v.serve(args) }
	return c
}

// server is a command line of serve.
type server struct {
	w       *world
	command *cobra.Command

	addr, report, key        string
	quirks, models, suppress []string
	delays                   bool
	format                   *string
}

func (v *server) arguments(c *cobra.Command, args []string) error {
	if slices.Contains(v.quirks, "help") {
		return nil
	}
	n := len(args)
	if dash := c.ArgsLenAtDash(); dash >= 0 {
		if n == dash {
			return fmt.Errorf("%s: -- stands before a program to start, and there is none; see %s --help", c.CommandPath(), c.CommandPath())
		}
		n = dash
	}
	if n != 1 {
		return fmt.Errorf("%s takes one scenario file, got %d; a program to start stands behind --; see %s --help", c.CommandPath(), n, c.CommandPath())
	}
	return nil
}

func (v *server) serve(args []string) error {
	if slices.Contains(v.quirks, "help") {
		return v.list()
	}
	cfg, err := v.config(args[0])
	if err != nil {
		return err
	}
	if v.report != "" {
		if err := canWrite(v.report); err != nil { // better told now than when all is over
			return err
		}
	}
	ctx, stop := v.w.interrupted(v.command.Context())
	defer stop()
	s := wire.New(*cfg)
	failed, err := v.w.serve(ctx, v.addr, s, program{
		args:  args[1:],
		greet: func(url string) error { return v.greet(args[0], s.Info(url)) },
		env:   func(url string) []string { return wire.Env(url, "", cmp.Or(v.key, anyKey)) },
	})
	if err != nil {
		return err
	}
	return v.tell(s.Done(), failed)
}

// config is what the flags and the scenario come to.
func (v *server) config(name string) (*wire.Config, error) {
	src, err := v.w.readAll(name)
	if err != nil {
		return nil, err
	}
	f, err := scenario.Parse(name, src)
	if err != nil {
		return nil, err
	}
	cfg := &wire.Config{
		Model: wire.ModelOf(f.Script), Key: v.key, Models: v.models,
		Wait: loop.SystemClock{}.Sleep, Delays: v.delays, Suppress: map[string]string{},
	}
	for _, s := range v.quirks {
		q, err := wire.ParseQuirk(s)
		if err != nil {
			return nil, fmt.Errorf("%w; see %s --quirk help", err, v.command.CommandPath())
		}
		cfg.Quirks = append(cfg.Quirks, q)
	}
	for _, s := range v.suppress {
		id, why, ok := strings.Cut(s, "=")
		known := slices.ContainsFunc(check.Catalogue(), func(i check.Info) bool { return i.ID == id })
		if !ok || why == "" || !known {
			return nil, fmt.Errorf("--suppress %q: it has to be one of the invariants INV-01 to INV-27 and the reason why it may be broken, INV-05=why", s)
		}
		cfg.Suppress[id] = why
	}
	return cfg, nil
}

// list prints the quirks that there are.
func (v *server) list() error {
	all := wire.Quirks()
	if *v.format == "json" {
		return printJSON(v.w.out, all)
	}
	var rows [][]string
	for _, q := range all {
		name := strings.TrimSuffix(q.ID+":"+q.Form, ":")
		rows = append(rows, []string{name, protocols(q.Protocols), q.Description})
	}
	return printTable(v.w, []string{"quirk", "protocols", "what is on the wire"}, rows)
}

// protocols names some of the four in few words.
func protocols(some []string) string {
	short := strings.NewReplacer("openai-chat", "chat", "openai-responses", "responses", "anthropic-messages", "anthropic")
	all := []string{"openai-chat", "openai-responses", "anthropic-messages", "gemini"}
	missing := slices.DeleteFunc(all, func(name string) bool { return slices.Contains(some, name) })
	switch len(missing) {
	case 0:
		return "all"
	case 1:
		return "not " + short.Replace(missing[0])
	}
	return short.Replace(strings.Join(some, " "))
}

// greet says where what is served. With a program, that is for its user, not part
// of the results.
func (v *server) greet(name string, h wire.ServerInfo) error {
	if *v.format == "json" {
		return printJSON(v.w.out, h)
	}
	text := fmt.Sprintf("looptape serves %s at %s\n", name, h.URL)
	for _, p := range []wire.Provider{wire.OpenAI, wire.Anthropic, wire.Gemini} {
		text += fmt.Sprintf("  %-10s %s\n", p, h.BaseURLs[p])
	}
	text += fmt.Sprintf("  %-10s %s/openai/v1, and so on\n", "a lane", h.URL+h.Session)
	if len(h.Quirks) > 0 {
		text += fmt.Sprintf("  %-10s %s\n", "quirks", strings.Join(h.Quirks, " "))
	}
	_, err := fmt.Fprint(v.w.err, text)
	return err
}

// tell prints and writes the report, and returns the status.
func (v *server) tell(r wire.Report, failed error) error {
	if _, ok := errors.AsType[*startError](failed); ok {
		return failed
	}
	if err := v.printReport(&r); err != nil {
		return err
	}
	if v.report != "" {
		if err := v.w.writeJSON(v.report, r); err != nil {
			return err
		}
	}
	if failed != nil {
		complain(v.w, fmt.Errorf("the program ended with %w", failed))
	}
	if failed != nil || !r.OK() {
		return status(statusBroken)
	}
	return nil
}

// canWrite returns an error if a file cannot be written. What is in it stays, and where
// there is none, there is none after it.
func canWrite(name string) error {
	_, missing := os.Stat(name)
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return err
	}
	err = f.Close()
	if errors.Is(missing, fs.ErrNotExist) {
		err = errors.Join(err, os.Remove(name))
	}
	return err
}

// writeJSON writes a file with v on one line. What stands in the file of standard output
// stays, whatever name it goes by.
func (w *world) writeJSON(name string, v any) error {
	if w.isOut(name) {
		return printJSON(w.out, v)
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return closeAfter(f, printJSON(f, v))
}

// isOut reports whether a name is that of the file that is standard output.
func (w *world) isOut(name string) bool {
	f, ok := w.out.(*os.File)
	if !ok {
		return false
	}
	out, err := f.Stat()
	if err != nil {
		return false
	}
	info, err := os.Stat(name)
	return err == nil && os.SameFile(out, info)
}
