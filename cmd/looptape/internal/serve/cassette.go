package serve

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"os/exec"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/looptape/looptape/cassettes"
	"github.com/looptape/looptape/cmd/looptape/internal/cli"
)

// NewRecord returns the command record.
func NewRecord(w *cli.World) *cobra.Command {
	c := &cobra.Command{
		Use:   "record -o FILE [-- CMD ARG…]",
		Short: "Record the HTTP requests of a program into a cassette",
		Long: `record is a proxy between a program in any language and the servers that it
calls. It forwards requests and responses, streams included, and writes them to
a cassette for looptape replay.

--upstream NAME=URL names a server by the base URL of its client. Without this
flag the servers are OpenAI, Anthropic and Gemini, at the addresses in
OPENAI_BASE_URL, ANTHROPIC_BASE_URL and GOOGLE_GEMINI_BASE_URL or at the
providers' own.

record starts the program after -- with a base URL for each server in its
environment: these variables, and NAME_BASE_URL for others. It forwards the
program's keys and does not record them. Without a program it records until
Ctrl-C or SIGTERM, or with --until-eof until the end of standard input, which is
also there when the parent process dies. To record programs that run
concurrently, give each its own session: put /session/NAME before the path of
its base URL. Give looptape replay the same --ignore and --secret.

At the end the file replaces an older one, unless no request got a response. An
incomplete recording stays in the journal file, and looptape replay reads it up
to its end. Convert or remove the journal before you record again.

Exit status: that of the program, or 128 plus the number of the signal that
ended it; 1 if no request came, one failed or a redirect led it past looptape,
or if the file was not replaced; 2 if the recording or the program could not
start.`,
		Example: "  looptape record -o weather.tape -- node agent.js\n  looptape record -o x.tape --upstream my=http://localhost:80/v1 -- ./agent",
	}
	v := cassetteServer{command: command{Command: c, w: w}, opts: cassettes.Options{Mode: cassettes.Record}}
	f := c.Flags()
	f.StringVarP(&v.file, "output", "o", "", "cassette `file` to write") // a new folder is created
	f.StringArrayVar(&v.upstreams, "upstream", nil, "server `NAME=URL` (repeatable)")
	v.addrFlags()
	v.format = cli.FormatFlag(c, "text", "json")
	ignoreFlag(c, &v.opts)
	cli.SecretFlags(c, &v.opts)
	_ = c.MarkFlagRequired("output") // the name was just defined, so this cannot fail
	c.Args = func(_ *cobra.Command, args []string) error { return v.need(args, 0, "0 arguments before --") }
	c.RunE = func(_ *cobra.Command, args []string) error { return v.start(args) }
	return c
}

// NewReplay returns the command replay.
func NewReplay(w *cli.World) *cobra.Command {
	c := &cobra.Command{
		Use:   "replay FILE [-- CMD ARG…]",
		Short: "Serve recorded HTTP responses to a program",
		Long: `replay serves the responses that looptape record recorded to a program in any
language. FILE may also be a recording of go-vcr or vcrpy, a HAR file or an
httprr trace. replay never uses the network. A request that is not in the
cassette, or that is repeated more often than it was recorded, gets status 400,
which clients do not retry, and a description of how it differs from the nearest
match.

replay starts the program after -- with the same environment variables as
record, and with any-key as the key of each provider. Without a program it
serves until Ctrl-C or SIGTERM, or with --until-eof until the end of standard
input, which is also there when the parent process dies.

Exit status: that of the program, or 128 plus the number of the signal that
ended it; 1 if a request was not in the cassette, a redirect led it past
looptape, an interaction was not used or no request came; 2 if the cassette
cannot be read or the program could not start.`,
		Example: "  looptape replay weather.tape -- node agent.js",
	}
	v := cassetteServer{command: command{Command: c, w: w}, opts: cassettes.Options{Mode: cassettes.Replay}}
	f := c.Flags()
	f.StringArrayVar(&v.upstreams, "upstream", nil, "server `NAME=URL` in addition to those in the cassette (repeatable)")
	f.Float64Var(&v.opts.DelayFactor, "delay-factor", 0, "`factor` for the recorded delays of responses (default 0: no delays)")
	f.BoolVar(&v.opts.AllowUnused, "allow-unused", false, "accept unused interactions")
	cli.OutputFlag(c, &v.report, "report", "append the used interactions to this `file`, for looptape cassette verify --used")
	v.addrFlags()
	v.format = cli.FormatFlag(c, "text", "json")
	ignoreFlag(c, &v.opts)
	cli.SecretFlag(c, &v.opts)
	c.Args = func(_ *cobra.Command, args []string) error { return v.need(args, 1, "1 argument before --") }
	c.RunE = func(_ *cobra.Command, args []string) error {
		v.file = args[0]
		return v.start(args[1:])
	}
	return c
}

// ignoreFlag adds the flag for the parts of a request that matching ignores.
func ignoreFlag(c *cobra.Command, o *cassettes.Options) {
	c.Flags().StringArrayVar(&o.Ignore, "ignore", nil, "part of requests to ignore in matching: `/json/pointer` with * for any name, or ?query (repeatable)")
}

// cassetteServer is a command line of record or replay.
type cassetteServer struct {
	command

	opts      cassettes.Options
	file      string
	upstreams []string
}

// limitMemory makes garbage collection more frequent where record needs more memory than a stream with the largest body
// does. On a machine with other work a collection may otherwise end too late. GOMEMLIMIT sets another limit.
func limitMemory(maxBody int64) {
	const usual, copies = 384 << 20, 6
	if debug.SetMemoryLimit(-1) == math.MaxInt64 {
		debug.SetMemoryLimit(max(usual, copies*maxBody))
	}
}

func (v *cassetteServer) start(args []string) error {
	var err error
	if v.opts.Upstreams, err = v.servers(); err != nil {
		return err
	}
	if err := v.checkReport(); err != nil {
		return err
	}
	v.opts.Token, v.opts.AllowOrigins = v.access()
	v.opts.MaxBody = int64(v.maxBody) << 20
	v.opts.Recorder, v.opts.Now = "looptape "+v.w.Version(), v.w.Now
	if v.opts.Mode == cassettes.Record {
		limitMemory(v.opts.MaxBody)
	}
	c, err := v.open(args)
	if err != nil {
		return err
	}
	p, err := cassettes.NewProxy(c, v.w.Log())
	if err != nil {
		return errors.Join(err, c.Abandon())
	}
	out := v.w.Out
	if *v.format == "json" {
		out = v.w.Err // the report alone is on standard output
	}
	failed, err := v.command.serve(p, program{
		args:  args,
		greet: func(url string, env []string) error { return v.greet(url, p.Names(), env, len(args) > 0) },
		env:   func(url string) []string { return v.env(url, p.Names()) },
		keys:  v.opts.Mode == cassettes.Record,
		out:   out,
	})
	if err != nil {
		return errors.Join(err, c.Abandon())
	}
	if isStartError(failed) {
		return errors.Join(failed, c.Abandon())
	}
	if v.report != "" {
		if err := c.Report(v.report); err != nil {
			return errors.Join(err, c.Abandon())
		}
	}
	return v.end(p.Failures(), v.close(c, p.Requested(), failed), failed)
}

// close ends the cassette. Without a request, a recording is not kept, and it is an error, as is a replay to a program that
// succeeds.
func (v *cassetteServer) close(c *cassettes.Cassette, requested bool, failed error) error {
	const none = "no request came: the client uses another base URL, or ended before its first request"
	if !requested && v.opts.Mode == cassettes.Record {
		return errors.Join(errors.New(none+"; no cassette was written"), c.Abandon())
	}
	err := c.Close()
	if err == nil && !requested && failed == nil && !v.opts.AllowUnused {
		err = errors.New(none)
	}
	return err
}

// checkReport returns an error if the file to which the usage is appended is not such a report.
func (v *cassetteServer) checkReport() error {
	text, err := os.ReadFile(v.report)
	if v.report == "" || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		_, err = cassettes.ReadReport(v.report, text)
	}
	if err != nil {
		return fmt.Errorf("--report: %w", err)
	}
	return nil
}

// servers returns the upstreams of the flags. If record has none, they are the providers.
func (v *cassetteServer) servers() (map[string]string, error) {
	out := map[string]string{}
	for _, text := range v.upstreams {
		name, url, ok := strings.Cut(text, "=")
		if !ok {
			return nil, errors.New("--upstream: missing NAME=: want NAME=URL, such as openai=https://api.openai.com/v1")
		}
		out[name] = url
	}
	if len(out) == 0 && v.opts.Mode == cassettes.Record {
		for _, p := range cli.Providers() {
			out[p.Name] = cmp.Or(v.w.Getenv(p.BaseVariable), p.URL)
		}
	}
	return out, nil
}

// cassetteAddress is where a proxy is, and the environment variables for a program that uses it.
type cassetteAddress struct {
	URL string `json:"url"`
	// BaseURLs are those of the servers by name.
	BaseURLs map[string]string `json:"base_urls"`
	Env      map[string]string `json:"env"`
}

// cassetteResult is the result of a recording or replay.
type cassetteResult struct {
	OK bool `json:"ok"`
	// Failures describe requests, programs and cassettes that failed.
	Failures []string `json:"failures"`
}

var (
	cassetteAddressJSON = cli.NewJSON("cassette-address", 1, "record or replay --format json without a program, at its start", cassetteAddress{})
	cassetteResultJSON  = cli.NewJSON("cassette-result", 1, "record or replay --format json, at its end", cassetteResult{})
)

// greet prints the addresses, as serve does.
func (v *cassetteServer) greet(url string, names, env []string, started bool) error {
	if *v.format == "json" && !started {
		a := cassetteAddress{url, map[string]string{}, environment(env)}
		for _, name := range names {
			a.BaseURLs[name] = url + "/" + name
		}
		v.w.JSON(cassetteAddressJSON.Of(a))
		return v.w.OutputError()
	}
	does := map[cassettes.Mode]string{cassettes.Record: "records into", cassettes.Replay: "replays"}
	text := fmt.Sprintf("looptape %s %s at %s\n", does[v.opts.Mode], v.file, url)
	for _, name := range names {
		text += fmt.Sprintf("  %-10s %s\n", name, url+"/"+name)
	}
	return v.w.Message("%s", text)
}

// env returns the variables with the base URLs of the servers.
func (v *cassetteServer) env(url string, names []string) []string {
	vars := map[string]string{"LOOPTAPE_URL": url}
	for _, name := range names {
		vars[strings.ToUpper(strings.ReplaceAll(name, "-", "_"))+"_BASE_URL"] = url + "/" + name
	}
	for _, p := range cli.Providers() {
		if slices.Contains(names, p.Name) {
			vars[p.BaseVariable] = url + "/" + p.Name
			if v.opts.Mode == cassettes.Replay {
				vars[p.KeyVariable] = cli.AnyKey
			}
		}
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		out = append(out, name+"="+vars[name])
	}
	return out
}

// end reports what failed and returns the status.
func (v *cassetteServer) end(failures []error, closed, failed error) error {
	if closed != nil {
		failures = append(failures, closed)
	}
	asJSON := *v.format == "json"
	exited, status := programStatus(failed)
	if len(failures) > 0 {
		status = cli.Failed
	} else if failed != nil && (asJSON || !exited) {
		failures = append(failures, fmt.Errorf("the program ended with %w", failed))
	}
	if asJSON {
		result := cassetteResult{status == nil, []string{}}
		for _, err := range failures {
			result.Failures = append(result.Failures, err.Error())
		}
		v.w.JSON(cassetteResultJSON.Of(result))
		if !v.untilEOF {
			return status
		}
	}
	for _, err := range failures {
		v.w.PrintError(err)
	}
	return status
}

// programStatus returns the status of a program that ended with an error, and whether it is the exit
// status of the program.
func programStatus(failed error) (exited bool, status error) {
	if failed == nil {
		return true, nil
	}
	exit, ok := errors.AsType[*exec.ExitError](failed)
	if ok && exit.ExitCode() > 0 {
		return true, cli.Status(exit.ExitCode())
	}
	if ok {
		if by, ok := exit.Sys().(syscall.WaitStatus); ok && by.Signaled() {
			return false, cli.Status(signaled + int(by.Signal()))
		}
	}
	return false, cli.Failed
}

// signaled is the number that shells add to the signal that ended a program.
const signaled = 128
