package demo

import (
	"context"
	"io/fs"
	"net/http"
	"path"

	"github.com/looptape/looptape/cassettes"
	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/scenario"
	"github.com/looptape/looptape/providers/anthropic"
	"github.com/looptape/looptape/providers/gemini"
	"github.com/looptape/looptape/providers/openai/chat"
	"github.com/looptape/looptape/providers/openai/responses"
	"github.com/looptape/looptape/providers/protocol"
)

// The files of data/wire are recordings of the adapters: the HTTP interactions with a fake
// provider and the trace of each run. Tests write them.
const (
	wireFolder   = "data/wire"
	wireScenario = wireFolder + "/scenario.yaml"
	wireTape     = wireFolder + "/adapters.tape"
)

// adapter is a recorded adapter.
type adapter struct {
	protocol protocol.Protocol
	provider string
	version  string // path of the API version, after the base URL
	model    string
}

// adapters lists the recorded adapters.
func adapters() []adapter {
	return []adapter{
		{chat.Protocol{}, wire.OpenAI, "", "gpt-5"},
		{responses.Protocol{}, wire.OpenAI, "", "gpt-5"},
		{anthropic.Messages{}, wire.Anthropic, "", "claude-sonnet-4-5"},
		{gemini.GenerateContent{}, wire.Gemini, "/v1beta", "gemini-3-pro-preview"},
	}
}

// responseModes lists the recorded response modes.
func responseModes() []llm.ResponseMode { return []llm.ResponseMode{llm.Streaming, llm.NonStreaming} }

// traceFile returns the file of a run's trace.
func (a *adapter) traceFile(d llm.ResponseMode) string {
	return path.Join(wireFolder, a.protocol.Name()+"-"+responseModeName(d)+".trace")
}

func responseModeName(d llm.ResponseMode) string {
	if d == llm.NonStreaming {
		return "non-streaming"
	}
	return "streaming"
}

// run runs the scenario of the recording with a model over HTTP. Reach returns the
// transport; the script is for a server that serves it.
func (a *adapter) run(ctx context.Context, s *fake.Script, d llm.ResponseMode, reach func(script *fake.Model) http.RoundTripper) (*scenario.Result, error) {
	return scenario.Run(ctx, s, &scenario.Options{
		Adjust: func(c *loop.Config) { c.Model, c.ResponseMode = a.model, d },
		Model: func(script *fake.Model) llm.Model {
			return &protocol.Client{
				Protocol: a.protocol,
				BaseURL:  wire.ServerInfo{URL: "http://fake.invalid/lane/main"}.BaseURL(a.provider, "") + a.version,
				HTTP:     &http.Client{Transport: reach(script)},
			}
		},
	})
}

// adapters replays the recording. It returns the number of runs, and how many of them gave
// the recorded trace.
func (d *demonstration) adapters(ctx context.Context) (n, same int, err error) {
	s, tape, err := d.recording()
	if err != nil {
		return 0, 0, err
	}
	n = len(adapters()) * len(responseModes())
	d.w.Printf("Replaying %d runs over HTTP from a cassette, without a network: through the\nadapter of each protocol and a real loop.\n\n", n)
	var rows [][]string
	for _, a := range adapters() {
		row := []string{a.protocol.Name()}
		for _, mode := range responseModes() {
			o, err := a.run(ctx, s, mode, func(*fake.Model) http.RoundTripper { return tape })
			if err != nil {
				return 0, 0, err
			}
			want, err := fs.ReadFile(d.files, a.traceFile(mode))
			if err != nil {
				return 0, 0, err
			}
			result := "FAIL"
			if o.Trace() == string(want) {
				result = "same trace"
				same++
			}
			row = append(row, result)
		}
		rows = append(rows, row)
	}
	if err := tape.Close(); err != nil {
		d.w.Printf("%v\n\n", err)
		same = min(same, n-1) // a run did not use all interactions
	}
	d.w.Table([]string{"protocol", "streaming", "non-streaming"}, rows)
	return n, same, nil
}

// recording opens the recording of the adapters.
func (d *demonstration) recording() (*fake.Script, *cassettes.Cassette, error) {
	f, err := d.parse(wireScenario)
	if err != nil {
		return nil, nil, err
	}
	text, err := fs.ReadFile(d.files, wireTape)
	if err != nil {
		return nil, nil, err
	}
	file, err := cassettes.Parse(wireTape, text)
	if err != nil {
		return nil, nil, err
	}
	tape, err := file.Replay(nil)
	return f.Script, tape, err
}
