package main

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/looptape/looptape/cassettes"
	"github.com/looptape/looptape/evals/scorers"
	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/anthropic"
	"github.com/looptape/looptape/providers/gemini"
	"github.com/looptape/looptape/providers/openai"
	"github.com/looptape/looptape/providers/openai/chat"
	"github.com/looptape/looptape/providers/openai/responses"
	"github.com/looptape/looptape/providers/protocol"
)

// graders are models, such as those that grade the runs of a suite. They answer from
// cassettes, which are closed with them, or by script.
type graders struct {
	w      *world
	folder string // of their files
	again  string // the command that records them
	record bool   // asks the providers, and records what they answer
	tapes  map[string]*cassettes.Cassette
}

// codec is a protocol by its name for users, and whose server speaks it.
type codec struct {
	name, provider string
	protocol       protocol.Protocol
	base           string // URL
	key            func(string) func(*http.Request) error
}

// codecs are the protocols that a grader may speak.
func codecs() []codec {
	return []codec{
		{"openai", "openai", chat.Protocol{}, openai.BaseURL, openai.Key},
		{"openai-responses", "openai", responses.Protocol{}, openai.BaseURL, openai.Key},
		{"anthropic", "anthropic", anthropic.Messages{}, anthropic.BaseURL, anthropic.Key},
		{"gemini", "gemini", gemini.GenerateContent{}, gemini.BaseURL, gemini.Key},
	}
}

// open opens the model that settings name.
func (g *graders) open(s *scorers.Grader) (llm.Model, error) {
	switch {
	case (s.Cassette == "") == (s.Scenario == ""):
		return nil, errors.New("give one of cassette and scenario, a file from which the model answers")
	case s.Scenario != "":
		return g.script(s)
	}
	at := slices.IndexFunc(codecs(), func(x codec) bool { return x.name == s.Provider })
	if at < 0 {
		return nil, fmt.Errorf("provider %q: give one of openai, openai-responses, anthropic and gemini", s.Provider)
	}
	if s.Model == "" {
		return nil, errors.New("there is no model; give the provider's name of one")
	}
	x := codecs()[at]
	base := cmp.Or(s.BaseURL, x.base)
	key := anyKey
	opts := &cassettes.Options{AllowUnused: true, RecordCommand: g.again}
	if g.record {
		var err error
		if key, err = g.live(&x, base, opts); err != nil {
			return nil, err
		}
	}
	tape, err := g.tape(filepath.Join(g.folder, s.Cassette), opts)
	if err != nil {
		return nil, err
	}
	return &protocol.Client{Protocol: x.protocol, BaseURL: base, HTTP: tape.Client(), Authorize: x.key(key)}, nil
}

// script is a model that answers by a scenario.
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

// live changes the options of a cassette to record what a provider answers, and returns the
// key. The environment may tell another server, which the cassette does not.
func (g *graders) live(x *codec, base string, opts *cassettes.Options) (string, error) {
	p := providers()[slices.IndexFunc(providers(), func(p provider) bool { return p.name == x.provider })]
	key := g.w.env(p.key)
	if key == "" {
		return "", fmt.Errorf("--record asks %s, which needs a key in the variable %s", base, p.key)
	}
	opts.Mode, opts.Recorder, opts.Now = cassettes.Record, "looptape "+version(g.w.versions), g.w.now
	if to := g.w.env(p.base); to != "" && base == x.base {
		opts.Transport = &elsewhere{base, to}
	}
	return key, nil
}

// tape opens a cassette once.
func (g *graders) tape(file string, opts *cassettes.Options) (*cassettes.Cassette, error) {
	name := cassettes.FullPath(file)
	if tape := g.tapes[name]; tape != nil {
		return tape, nil
	}
	tape, err := cassettes.Open(file, opts)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("%w; record it with %s", err, opts.RecordCommand)
	case err != nil:
		return nil, err
	}
	if g.tapes == nil {
		g.tapes = map[string]*cassettes.Cassette{}
	}
	g.tapes[name] = tape
	return tape, nil
}

// close ends the cassettes. What was recorded replaces their files, unless failed says that
// it is not all.
func (g *graders) close(failed error) error {
	errs := []error{failed}
	for _, tape := range g.tapes {
		if failed != nil {
			errs = append(errs, tape.Abandon())
		} else {
			errs = append(errs, tape.Close())
		}
	}
	return errors.Join(errs...)
}

// elsewhere sends what is for one base URL to another.
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
