package eval

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/looptape/looptape/cassettes"
	"github.com/looptape/looptape/cmd/looptape/internal/cli"
	"github.com/looptape/looptape/evals/scorers"
	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/internal/atomicfile"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/anthropic"
	"github.com/looptape/looptape/providers/gemini"
	"github.com/looptape/looptape/providers/openai"
	"github.com/looptape/looptape/providers/openai/chat"
	"github.com/looptape/looptape/providers/openai/responses"
	"github.com/looptape/looptape/providers/protocol"
)

// graders are models, such as those that grade the runs of a suite. They respond from
// cassettes, which close closes, or from a script.
type graders struct {
	w             *cli.World
	folder        string // of their files
	recordCommand string // the command that records them
	// missingCommand is the command that records what a cassette does not contain; empty means
	// recordCommand.
	missingCommand string
	record         recordMode
	// suite says that a suite names the files and servers, and not the command line. Then hosts get the keys of providers,
	// in addition to the providers themselves and this machine.
	suite bool
	// trusted says that links of the suite may lead out of its folder.
	trusted bool
	hosts   []string
	// plan, if not nil, counts the requests; no request is sent and no cassette opened.
	plan *recordingPlan
	// meter, if not nil, counts the tokens of responses.
	meter *recordingPlan
	// tapes are the cassettes by their full path; nil for one that is not opened, and for a journal.
	tapes map[string]*cassettes.Cassette
}

// codec is a protocol with its name for users and its provider.
type codec struct {
	name, provider string
	protocol       protocol.Protocol
	base           string // URL
	key            func(string) func(*http.Request) error
}

// codecs lists the protocols of graders.
func codecs() []codec {
	return []codec{
		{"openai", "openai", chat.Protocol{}, openai.BaseURL, openai.Key},
		{"openai-responses", "openai", responses.Protocol{}, openai.BaseURL, openai.Key},
		{"anthropic", "anthropic", anthropic.Messages{}, anthropic.BaseURL, anthropic.Key},
		{"gemini", "gemini", gemini.GenerateContent{}, gemini.BaseURL, gemini.Key},
	}
}

// open opens the model of the settings.
func (g *graders) open(s *scorers.Grader) (llm.Model, error) {
	switch {
	case (s.Cassette == "") == (s.Scenario == ""):
		return nil, errors.New("set exactly one of cassette and scenario: the file with the responses of the model")
	case g.suite:
		if err := g.checkFile(s.Cassette + s.Scenario); err != nil {
			return nil, err
		}
	}
	if s.Scenario != "" {
		return g.script(s)
	}
	at := slices.IndexFunc(codecs(), func(x codec) bool { return x.name == s.Provider })
	if at < 0 {
		return nil, fmt.Errorf("unknown provider %q: want openai, openai-responses, anthropic or gemini", s.Provider)
	}
	if s.Model == "" {
		return nil, errors.New("missing model: set the provider's name of the model")
	}
	x := codecs()[at]
	base := cmp.Or(s.BaseURL, x.base)
	key := cli.AnyKey
	opts := &cassettes.Options{AllowUnused: true, RecordCommand: cmp.Or(g.missingCommand, g.recordCommand)}
	if g.record != "" {
		var err error
		if key, err = g.live(&x, base, opts); err != nil {
			return nil, err
		}
	}
	file := filepath.Join(g.folder, s.Cassette)
	client := func(tape *cassettes.Cassette) llm.Model {
		return &protocol.Client{Protocol: x.protocol, BaseURL: base, HTTP: tape.Client(), Authorize: x.key(key)}
	}
	if g.plan != nil {
		return g.planned(file, s.Model, client)
	}
	tape, err := g.tape(file, opts)
	if err != nil {
		return nil, err
	}
	if g.meter != nil {
		return &meteredModel{client(tape), g.meter, s.Model}, nil
	}
	return client(tape), nil
}

// planned returns a model that counts requests.
func (g *graders) planned(file, name string, client func(*cassettes.Cassette) llm.Model) (llm.Model, error) {
	g.plan.opened++
	full := cassettes.FullPath(file)
	g.add(full, nil)
	list, err := g.kept(file)
	if err != nil {
		return nil, err
	}
	replays, err := g.plan.replays(full, list)
	m := &plannedModel{plan: g.plan, name: name}
	for _, tape := range replays {
		m.kept = append(m.kept, client(tape))
	}
	return m, err
}

// script returns a model that responds from a scenario.
func (g *graders) script(s *scorers.Grader) (llm.Model, error) {
	file := filepath.Join(g.folder, s.Scenario)
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	script, err := fake.ParseScript(file, text)
	if err != nil {
		return nil, err
	}
	m := script.NewModel(nil)
	m.IsolateConversations, m.DiscardRequests = true, true
	return m, nil
}

// live sets the options of a cassette to record a provider's responses, and returns the
// key. The environment may name another server, which the cassette does not contain.
func (g *graders) live(x *codec, base string, opts *cassettes.Options) (string, error) {
	p := cli.Providers()[slices.IndexFunc(cli.Providers(), func(p cli.Provider) bool { return p.Name == x.provider })]
	if g.suite && base != x.base && !g.getsKeys(base) {
		return "", fmt.Errorf("--record would send the key in %s to the server of base_url, %s: add --key-host %[2]s if you trust it", p.KeyVariable, hostOf(base))
	}
	key := g.w.Getenv(p.KeyVariable)
	if key == "" {
		return "", fmt.Errorf("--record sends requests to %s: set the key in the variable %s", base, p.KeyVariable)
	}
	opts.Mode, opts.Recorder, opts.Now = cassettes.Record, "looptape "+g.w.Version(), g.w.Now
	if to := g.w.Getenv(p.BaseVariable); to != "" && base == x.base {
		opts.Transport = &elsewhere{base, to}
	}
	return key, nil
}

// checkFile checks a file that a suite names.
func (g *graders) checkFile(file string) error {
	if !filepath.IsLocal(file) {
		return fmt.Errorf("the file %s is not in the folder of the suite", file)
	}
	name := filepath.Join(g.folder, file)
	if !g.trusted {
		if err := noLinksOut(g.folder, name); err != nil {
			return err
		}
	}
	return cmp.Or(atomicfile.CheckInput(name, os.Stat), atomicfile.CheckInput(cassettes.JournalPath(name), os.Stat))
}

// getsKeys reports whether a server that a suite names may get the key of a provider.
func (g *graders) getsKeys(base string) bool {
	host := hostOf(base)
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback() || host != "" && slices.Contains(g.hosts, host)
}

// hostOf returns the host of a URL, or an empty string.
func hostOf(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// tape opens a cassette once.
func (g *graders) tape(file string, opts *cassettes.Options) (*cassettes.Cassette, error) {
	name := cassettes.FullPath(file)
	if tape := g.tapes[name]; tape != nil {
		return tape, nil
	}
	if opts.Mode == cassettes.Record {
		var err error
		if opts.Keep, err = g.kept(file); err != nil {
			return nil, err
		}
	}
	tape, err := cassettes.Open(file, opts)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("%w: record it with %s", err, g.recordCommand)
	case err != nil:
		return nil, err
	}
	if opts.Mode != cassettes.Record && tape.Incomplete() != nil {
		g.w.Warn("%s: the responses of an interrupted recording are used: complete it with %s, or remove the file", cassettes.JournalPath(file), g.recordCommand)
	}
	g.add(name, tape)
	return tape, nil
}

func (g *graders) add(name string, tape *cassettes.Cassette) {
	if g.tapes == nil {
		g.tapes = map[string]*cassettes.Cassette{}
	}
	g.tapes[name], g.tapes[cassettes.JournalPath(name)] = tape, nil
}

// close closes the cassettes. A new recording replaces the file unless failed is an error; then it
// stays in its journal, and the same command continues it.
func (g *graders) close(failed error) error {
	errs := []error{failed}
	for _, tape := range g.tapes {
		switch {
		case tape == nil:
		case failed != nil:
			errs = append(errs, tape.Abandon())
		default:
			errs = append(errs, tape.Close())
		}
	}
	return errors.Join(errs...)
}

// elsewhere sends requests for one base URL to another.
type elsewhere struct{ from, to string }

func (e *elsewhere) RoundTrip(r *http.Request) (*http.Response, error) {
	to, err := url.Parse(e.to + strings.TrimPrefix(r.URL.String(), e.from))
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.URL, r.Host = to, to.Host
	return http.DefaultTransport.RoundTrip(r)
}
