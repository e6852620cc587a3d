package main

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

// The files of demo/wire are what was recorded of the adapters: all that went over HTTP
// between them and a fake provider, and the trace of each run, which tests write.
const (
	wireFolder   = "demo/wire"
	wireScenario = wireFolder + "/scenario.yaml"
	wireTape     = wireFolder + "/adapters.tape"
)

// adapter is one of the adapters that were recorded.
type adapter struct {
	protocol protocol.Protocol
	provider wire.Provider
	version  string // of the API, behind the base URL
	model    string
}

// adapters are those that were recorded.
func adapters() []adapter {
	return []adapter{
		{chat.Protocol{}, wire.OpenAI, "", "gpt-5"},
		{responses.Protocol{}, wire.OpenAI, "", "gpt-5"},
		{anthropic.Messages{}, wire.Anthropic, "", "claude-sonnet-4-5"},
		{gemini.GenerateContent{}, wire.Gemini, "/v1beta", "gemini-3-pro-preview"},
	}
}

// deliveries are both ways in which each was recorded.
func deliveries() []llm.ResponseMode { return []llm.ResponseMode{llm.Streaming, llm.NonStreaming} }

// traceFile is where the trace of a run stands.
func (a *adapter) traceFile(d llm.ResponseMode) string {
	return path.Join(wireFolder, a.protocol.Name()+"-"+deliveryName(d)+".trace")
}

func deliveryName(d llm.ResponseMode) string {
	if d == llm.NonStreaming {
		return "buffered"
	}
	return "streamed"
}

// run plays the scenario of the recording, asking the model over HTTP. Reach returns what
// carries the requests; the script is for a server that plays it.
func (a *adapter) run(ctx context.Context, s *fake.Script, d llm.ResponseMode, reach func(script *fake.Model) http.RoundTripper) (*scenario.Result, error) {
	return scenario.Run(ctx, s, &scenario.Options{
		Adjust: func(c *loop.Config) { c.Model, c.ResponseMode = a.model, d },
		Model: func(script *fake.Model) llm.Model {
			return &protocol.Client{
				Protocol: a.protocol,
				BaseURL:  wire.BaseURL(wire.PipeURL, "main", a.provider) + a.version,
				HTTP:     &http.Client{Transport: reach(script)},
			}
		},
	})
}

// adapters replays the recording, and tells how many of its runs there are, and how many
// gave the trace that they had when they were recorded.
func (d *demonstration) adapters(ctx context.Context) (n, same int, err error) {
	s, tape, err := d.recording()
	if err != nil {
		return 0, 0, err
	}
	n = len(adapters()) * len(deliveries())
	d.printf("Replaying %d runs that went over HTTP, from a cassette and without a network:\nthrough the adapter of each protocol and a real loop.\n\n", n)
	var rows [][]string
	for _, a := range adapters() {
		row := []string{a.protocol.Name()}
		for _, delivery := range deliveries() {
			o, err := a.run(ctx, s, delivery, func(*fake.Model) http.RoundTripper { return tape })
			if err != nil {
				return 0, 0, err
			}
			want, err := fs.ReadFile(d.files, a.traceFile(delivery))
			if err != nil {
				return 0, 0, err
			}
			verdict := "FAIL"
			if o.Trace() == string(want) {
				verdict = "same trace"
				same++
			}
			row = append(row, verdict)
		}
		rows = append(rows, row)
	}
	if err := tape.Close(); err != nil {
		d.printf("%v\n\n", err)
		same = min(same, n-1) // a run has asked for less
	}
	if d.err != nil {
		return 0, 0, d.err
	}
	return n, same, printTable(d.w, []string{"protocol", "streamed", "buffered"}, rows)
}

// recording opens what was recorded of the adapters.
func (d *demonstration) recording() (*fake.Script, *cassettes.Cassette, error) {
	src, err := fs.ReadFile(d.files, wireScenario)
	if err != nil {
		return nil, nil, err
	}
	f, err := scenario.Parse(wireScenario, src)
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
