// Package serve contains the commands with an HTTP server: serve, record and replay.
package serve

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/looptape/looptape/cmd/looptape/internal/cli"
	"github.com/looptape/looptape/fake/wire"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/trace/check"
)

// New returns the command serve.
func New(w *cli.World) *cobra.Command {
	c := &cobra.Command{
		Use:   "serve SCENARIO [-- CMD ARG…]",
		Short: "Serve a scenario over HTTP as a strict fake of real providers",
		Long: `serve serves the models of a scenario file over HTTP in four wire protocols:
OpenAI Chat Completions and Responses, Anthropic Messages and Gemini. A program
in any language needs only another base URL and any key.

The server is strict: it rejects a request that the real provider would reject,
with that provider's error, and the scenario does not advance. It records which
invariants the requests violate. --quirk adds a documented deviation of a
provider to the responses: an id such as QG-02, with a form if there are several
(QT-06:529), and a response number from 1 to change only that one (QO-03@2).
--quirk help lists the quirks.

serve starts the program after -- with the base URLs and keys of all providers
in the environment variables that the official SDKs read (OPENAI_BASE_URL,
ANTHROPIC_BASE_URL, GOOGLE_GEMINI_BASE_URL …), and stops when the program ends.
Without a program it serves until Ctrl-C or SIGTERM.

At the end serve prints a report. --report also writes it as JSON.

Exit status: 0 if no invariant was violated, no request was rejected or
unmatched, and the program succeeded; 1 if not; 2 if the server or the program
could not start.`,
		Example: "  looptape serve weather.yaml\n  looptape serve weather.yaml --quirk QG-02 --report r.json -- node agent.js",
	}
	v := server{command: command{Command: c, w: w}}
	f := c.Flags()
	v.addrFlag()
	f.StringArrayVar(&v.quirks, "quirk", nil, "quirk `ID[:FORM][@RESPONSE]` of the responses (repeatable)")
	f.StringVar(&v.report, "report", "", "write the report to this `file` as JSON")
	f.StringVar(&v.key, "key", "", "`key` to accept (default: any key)")
	f.StringArrayVar(&v.models, "model", nil, "model `name` to accept (repeatable; default: all)")
	f.StringArrayVar(&v.suppress, "suppress", nil, "accept violations of an invariant, `INV-05=reason` (repeatable)")
	f.BoolVar(&v.delays, "delays", false, "wait for the delays of the scenario (default: no delays)")
	v.format = cli.FormatFlag(c, "table", "json")
	c.Args = v.arguments
	c.RunE = func(_ *cobra.Command, args []string) error { return v.start(args) }
	return c
}

// server is a command line of serve.
type server struct {
	command

	key                      string
	quirks, models, suppress []string
	delays                   bool
	format                   *string
}

func (v *server) arguments(_ *cobra.Command, args []string) error {
	if slices.Contains(v.quirks, "help") {
		return nil
	}
	return v.need(args, 1, "one scenario file")
}

func (v *server) start(args []string) error {
	if slices.Contains(v.quirks, "help") {
		v.list()
		return nil
	}
	cfg, err := v.config(args[0])
	if err != nil {
		return err
	}
	if v.report != "" {
		if err := canWrite(v.report); err != nil { // fail now, not after serving
			return err
		}
	}
	s := wire.New(*cfg)
	failed, err := v.command.serve(s, program{
		args:  args[1:],
		greet: func(url string) error { return v.greet(args[0], s.Info(url)) },
		env:   func(url string) []string { return s.Info(url).Env("", cmp.Or(v.key, cli.AnyKey)) },
	})
	if err != nil {
		return err
	}
	return v.finish(s.Done(), failed)
}

// config returns the configuration from the flags and the scenario.
func (v *server) config(name string) (*wire.Config, error) {
	_, f, err := v.w.ReadScenario(name)
	if err != nil {
		return nil, err
	}
	cfg := &wire.Config{
		Script: f.Script, Key: v.key, Models: v.models,
		Wait: loop.SystemClock{}.Sleep, Delays: v.delays, Suppress: map[string]string{},
	}
	for _, s := range v.quirks {
		q, err := wire.ParseQuirk(s)
		if err != nil {
			return nil, fmt.Errorf("%w; see %s --quirk help", err, v.CommandPath())
		}
		cfg.Quirks = append(cfg.Quirks, q)
	}
	for _, s := range v.suppress {
		id, why, ok := strings.Cut(s, "=")
		known := slices.ContainsFunc(check.Catalog(), func(i check.Info) bool { return i.ID == id })
		if !ok || why == "" || !known {
			return nil, fmt.Errorf("--suppress %q: want an invariant (INV-01 to INV-27) and a reason, such as INV-05=compaction", s)
		}
		cfg.Suppress[id] = why
	}
	return cfg, nil
}

// list prints all quirks.
func (v *server) list() {
	all := wire.Quirks()
	if *v.format == "json" {
		v.w.JSON(all)
		return
	}
	var rows [][]string
	for _, q := range all {
		name := strings.TrimSuffix(q.ID+":"+q.Form, ":")
		rows = append(rows, []string{name, protocols(q.Protocols), q.Description})
	}
	v.w.Table([]string{"quirk", "protocols", "description"}, rows)
}

// protocols returns a short description of a set of protocols.
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

// greet prints the addresses. With a program they go to standard error, since they are not
// a result.
func (v *server) greet(name string, h wire.ServerInfo) error {
	if *v.format == "json" {
		v.w.JSON(h)
		return v.w.OutputError() // do not serve at an address that was not printed
	}
	text := fmt.Sprintf("looptape serves %s at %s\n", name, h.URL)
	for _, p := range []string{wire.OpenAI, wire.Anthropic, wire.Gemini} {
		text += fmt.Sprintf("  %-10s %s\n", p, h.BaseURLs[p])
	}
	text += fmt.Sprintf("  %-10s %s/openai/v1, and so on\n", "session", h.URL+h.Session)
	if len(h.Quirks) > 0 {
		text += fmt.Sprintf("  %-10s %s\n", "quirks", strings.Join(h.Quirks, " "))
	}
	_, err := fmt.Fprint(v.w.Err, text)
	return err
}

// finish prints and writes the report, and returns the status.
func (v *server) finish(r wire.Report, failed error) error {
	if _, ok := errors.AsType[*startError](failed); ok {
		return failed
	}
	v.printReport(&r)
	if v.report != "" {
		if err := writeJSON(v.w, v.report, r); err != nil {
			return err
		}
	}
	if failed != nil {
		v.w.Warn("the program ended with %w", failed)
	}
	return cli.Result(failed != nil || !r.OK(), false)
}

// canWrite returns an error if a file cannot be written. It does not change the file, and
// creates none.
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

// writeJSON writes a file with v on one line. If the file is standard output, it appends
// to it.
func writeJSON(w *cli.World, name string, v any) error {
	if isOut(w, name) {
		w.JSON(v)
		return nil
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(cli.WriteJSON(f, v), f.Close())
}

// isOut reports whether name is the file of standard output.
func isOut(w *cli.World, name string) bool {
	f, ok := w.Out.(*os.File)
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
