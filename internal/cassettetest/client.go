package cassettetest

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"net/http"
	"slices"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/scenario"
	"github.com/looptape/looptape/providers/anthropic"
	"github.com/looptape/looptape/providers/gemini"
	"github.com/looptape/looptape/providers/openai"
	"github.com/looptape/looptape/providers/openai/chat"
	"github.com/looptape/looptape/providers/openai/responses"
	"github.com/looptape/looptape/providers/protocol"
)

// dialect is a protocol with the names that its clients use.
type dialect struct {
	protocol.Protocol
	provider string // of the server
	version  string // path of the API version, after the base URL
	path     string // of a request
	model    string // of all clients

	baseVariable, keyVariable string
	authorize                 func(key string) func(*http.Request) error
}

var dialects = []dialect{
	{chat.Protocol{}, wire.OpenAI, "", "/chat/completions", "gpt-4.1", "OPENAI_BASE_URL", "OPENAI_API_KEY", openai.Key},
	{responses.Protocol{}, wire.OpenAI, "", "/responses", "gpt-4.1", "OPENAI_BASE_URL", "OPENAI_API_KEY", openai.Key},
	{anthropic.Messages{}, wire.Anthropic, "", "/v1/messages", "claude-opus-4-5", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", anthropic.Key},
	{gemini.GenerateContent{}, wire.Gemini, "/v1beta", "/models/gemini-3-pro-preview:generateContent", "gemini-3-pro-preview", "GOOGLE_GEMINI_BASE_URL", "GEMINI_API_KEY", gemini.Key},
}

// Protocols returns the names of the protocols.
func Protocols() (names []string) {
	for _, d := range dialects {
		names = append(names, d.Name())
	}
	return names
}

// dialect returns the protocol of the recording.
func (r *Recording) dialect() (*dialect, error) {
	i := slices.IndexFunc(dialects, func(d dialect) bool { return d.Name() == r.Protocol })
	if i < 0 {
		return nil, fmt.Errorf("%s: unknown protocol %q: want one of %q", r.Name, r.Protocol, Protocols())
	}
	return &dialects[i], nil
}

// Client is the program that looptape record starts for [Looptape]: it runs the scenario of a
// recording with the base URL and the key in its environment. root is a folder testdata.
func Client(root, name string, getenv func(string) string) error {
	list, err := Table(root)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(list, func(r Recording) bool { return r.Name == name })
	if i < 0 {
		return fmt.Errorf("the table has no recording %s", name)
	}
	r := &list[i]
	d, err := r.dialect()
	if err != nil {
		return err
	}
	_, err = r.run(context.Background(), &protocol.Client{
		Protocol: d.Protocol, BaseURL: getenv(d.baseVariable) + d.version, Authorize: d.authorize(getenv(d.keyVariable)),
	})
	return err
}

// run runs the scenario of the recording with a client.
func (r *Recording) run(ctx context.Context, c *protocol.Client) (*scenario.Result, error) {
	script, err := r.script()
	if err != nil {
		return nil, err
	}
	d, err := r.dialect()
	if err != nil {
		return nil, err
	}
	w := &watcher{Client: c}
	o, err := scenario.Run(ctx, script, &scenario.Options{
		Adjust: func(c *loop.Config) { c.Model, c.ResponseMode = d.model, r.Mode },
		Model:  func(*fake.Model) llm.Model { return w },
	})
	if o != nil {
		o.MutatedRequests = w.mutated()
	}
	return o, err
}

// watcher keeps the requests of a client as they were sent.
type watcher struct {
	*protocol.Client

	requests []*llm.Request
	sent     [][]byte
}

func (w *watcher) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	if r, err := w.Protocol.EncodeRequest(req); err == nil { // Stream returns the error
		w.requests, w.sent = append(w.requests, req), append(w.sent, r.Body)
	}
	return w.Client.Stream(ctx, req)
}

// mutated describes the requests that the loop has changed since it sent them.
func (w *watcher) mutated() (list []string) {
	for i, req := range w.requests {
		if r, err := w.Protocol.EncodeRequest(req); err != nil || !bytes.Equal(r.Body, w.sent[i]) {
			list = append(list, fmt.Sprintf("request %d was changed after it was sent", i+1))
		}
	}
	return list
}
