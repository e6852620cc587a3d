// Package serve contains the commands with an HTTP server: serve, record and replay.
package serve

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/looptape/looptape/cmd/looptape/internal/cli"
	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire"
	"github.com/looptape/looptape/loop"
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
--quirk help lists the quirks. --quirk all runs the program without a quirk and
then once for each quirk and form that changes one of its responses. It prints a
table, and the output of the programs on standard error.

serve starts the program after -- with the base URLs and keys of all providers
in the environment variables that the official SDKs read (OPENAI_BASE_URL,
ANTHROPIC_BASE_URL, GOOGLE_GEMINI_BASE_URL …), and stops when the program ends.
Without a program it serves until Ctrl-C or SIGTERM, or with --until-eof until
the end of standard input, which is also there when the parent process dies.

At the end serve prints a report. --report also writes it as JSON. With --format
json the program's standard output goes to standard error. Without a program the
first line has the base URLs and environment variables for a program. With
--until-eof, failures are also on standard error, as text.

Exit status: 0 if requests came and used all responses and attempts of the
scenario, no request was rejected or unmatched, no invariant was violated, and
the program ended with the expected status; 1 if not, or if a limit was
exceeded; 2 if the server or the program could not start, or if no response has
a quirk of --quirk. If a quirk makes all responses errors, the expected status
is any other than 0.`,
		Example: "  looptape serve weather.yaml\n  looptape serve weather.yaml --quirk QG-02 --report r.json -- node agent.js",
	}
	v := server{command: command{Command: c, w: w}}
	f := c.Flags()
	v.addrFlags()
	f.StringArrayVar(&v.quirks, "quirk", nil, "quirk `ID[:FORM][@RESPONSE]` of the responses (repeatable)")
	cli.OutputFlag(c, &v.report, "report", "write the report to this `file` as JSON")
	f.StringVar(&v.key, "key", "", "`key` to accept (default: any key)")
	f.StringArrayVar(&v.models, "model", nil, "model `name` to accept (repeatable; default: all)")
	f.StringArrayVar(&v.suppress, "suppress", nil, "accept violations of an invariant, `INV-05=reason` (repeatable)")
	f.BoolVar(&v.allowUnused, "allow-unused", false, "accept responses and attempts that were never requested")
	f.StringVar(&v.expectStatus, "expect-status", "", "exit `status` with which the program must end, or any (default: 0, or other than 0 after a quirk without a complete response)")
	f.DurationVar(&v.timeout, "timeout", 0, "stop and fail after this `time`, such as 30s (default: no limit; 1m with --quirk all)")
	f.IntVar(&v.maxRequests, "max-requests", 0, "stop and fail after this `number` of requests (default: no limit; 1000 with --quirk all)")
	f.BoolVar(&v.delays, "delays", false, "wait for the delays of the scenario (default: no delays)")
	v.format = cli.FormatFlag(c, "table", "json")
	c.Args = v.arguments
	c.RunE = func(_ *cobra.Command, args []string) error { return v.start(args) }
	return c
}

// server is a command line of serve.
type server struct {
	command

	key, expectStatus        string
	quirks, models, suppress []string
	delays, allowUnused, all bool // all is --quirk all
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
	v.all = slices.Contains(v.quirks, allQuirks)
	if v.all && len(args) == 1 {
		return cli.UsageError(v.Command, "--quirk all needs a program: put it after --")
	}
	cfg, err := v.config(args[0])
	if err != nil {
		return err
	}
	if v.all {
		return v.playAll(cfg, args)
	}
	r, err := v.play(cfg, args)
	if err != nil {
		return err
	}
	untested := addUntested(r)
	v.printReport(r, r.OK() && !untested)
	return v.writeReport(r, r.OK(), untested)
}

// addUntested adds a note for each quirk that no response has, and reports whether there is one.
func addUntested(r *wire.Report) (untested bool) {
	for _, name := range slices.Sorted(maps.Keys(r.Shown)) {
		if r.Shown[name] == 0 {
			untested = true
			r.Notes = append(r.Notes, fmt.Sprintf("No response has the quirk %s, so the run did not test it: choose one with --quirk help for the protocol and the responses.", name))
		}
	}
	return untested
}

// writeReport writes the file of --report and returns the status. Incomplete is true if the run did not
// test what it should.
func (v *server) writeReport(report any, ok, incomplete bool) error {
	if v.report != "" {
		if err := v.w.Output(v.report, func(to io.Writer) error { return cli.WriteJSON(to, report) }); err != nil {
			return err
		}
	}
	return cli.Result(!ok, incomplete)
}

// play serves a scenario to a program, whose arguments follow the name of the scenario, and
// returns the report.
func (v *server) play(cfg *wire.Config, args []string) (*wire.Report, error) {
	s := wire.New(*cfg)
	out := v.w.Out
	if *v.format == "json" || v.all {
		out = v.w.Err // the report alone is on standard output
	}
	failed, err := v.command.serve(s, program{
		args: args[1:],
		greet: func(url string, env []string) error {
			return v.greet(args[0], address{s.Info(url), environment(env)}, len(args) > 1)
		},
		env: func(url string) []string { return s.Info(url).Env("", cmp.Or(v.key, cli.AnyKey)) },
		out: out,
	})
	if err != nil || isStartError(failed) {
		return nil, cmp.Or(err, failed)
	}
	r := s.Done()
	if len(args) > 1 || failed != nil {
		r.Failures = append(r.Failures, v.ending(failed, v.expected(cfg.Quirks, r.Shown))...)
	}
	return &r, nil
}

// Values of --expect-status in addition to numbers.
const (
	anyStatus   = "any"
	errorStatus = "other than 0"
)

// expected returns the expected exit status of the program after responses that showed quirks.
func (v *server) expected(quirks []wire.Quirk, shown map[string]int) string {
	status := "0"
	for _, q := range quirks {
		if other := map[string]string{"error": errorStatus, "early": anyStatus}[q.Ending]; other != "" && shown[q.String()] > 0 && status != errorStatus {
			status = other
		}
	}
	return cmp.Or(v.expectStatus, status)
}

// ending describes in a sentence how the program ended, if that is not as expected.
func (v *server) ending(failed error, expected string) []string {
	limit, limited := errors.AsType[limitError](failed)
	exit, exited := errors.AsType[*exec.ExitError](failed)
	ended := "exit status 0"
	if failed != nil {
		ended = failed.Error()
	}
	switch {
	case limited:
		return []string{string(limit)}
	case expected == anyStatus, ended == "exit status "+expected, expected == errorStatus && exited && exit.Exited():
		return nil
	}
	return []string{fmt.Sprintf("The program ended with %s, expected exit status %s.", ended, expected)}
}

// checkFlags returns an error for an invalid limit or status.
func (v *server) checkFlags() error {
	_, err := strconv.ParseUint(cmp.Or(v.expectStatus, "0"), 10, 8)
	switch {
	case v.all && len(v.quirks) > 1:
		return errors.New("--quirk all: other quirks are not allowed in addition")
	case err != nil && v.expectStatus != anyStatus:
		return fmt.Errorf("--expect-status %q: want an exit status from 0 to 255, or %s", v.expectStatus, anyStatus)
	case v.timeout < 0:
		return fmt.Errorf("--timeout %s: want a time such as 30s, or 0 for no limit", v.timeout)
	case v.maxRequests < 0:
		return fmt.Errorf("--max-requests %d: want a number, or 0 for no limit", v.maxRequests)
	}
	return nil
}

// config returns the configuration from the flags and the scenario.
func (v *server) config(name string) (*wire.Config, error) {
	if err := v.checkFlags(); err != nil {
		return nil, err
	}
	_, f, err := v.w.ReadScenario(name)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(f.Script.Models, func(m fake.ModelScript) bool { return len(m.Responses) > 0 }) {
		return nil, fmt.Errorf("%s: the scenario has no response of a model: add one under models", name)
	}
	cfg := &wire.Config{
		Script: f.Script, Key: v.key, Models: v.models, AllowUnused: v.allowUnused,
		Wait: loop.SystemClock{}.Sleep, Delays: v.delays,
	}
	cfg.Token, cfg.AllowOrigins = v.access()
	cfg.MaxBody = int64(v.maxBody) << 20
	for _, s := range v.quirks {
		if v.all {
			break
		}
		q, err := wire.ParseQuirk(s)
		if err != nil {
			return nil, fmt.Errorf("%w; see %s --quirk help", err, v.CommandPath())
		}
		cfg.Quirks = append(cfg.Quirks, q)
	}
	if cfg.Suppress, err = cli.Suppressed(v.suppress); err != nil {
		return nil, err
	}
	return cfg, nil
}

// quirks is the output of --quirk help --format json.
type quirks struct {
	Quirks []wire.Quirk `json:"quirks"`
}

// list prints all quirks.
func (v *server) list() {
	all := wire.Quirks()
	if *v.format == "json" {
		v.w.JSON(quirksJSON.Of(quirks{all}))
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

// greet prints the addresses. They go to standard error, since they are not a result, unless a
// program reads them as JSON to start clients.
func (v *server) greet(name string, h address, started bool) error {
	if v.all {
		return v.w.Message("looptape serves %s, quirk: %s\n", name, cmp.Or(strings.Join(h.Quirks, " "), noQuirk))
	}
	if *v.format == "json" && !started {
		v.w.JSON(addressJSON.Of(h))
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
	return v.w.Message("%s", text)
}
