// Package clients tests the fake provider with the software of others. The official SDKs must read
// all that it serves. Their requests must keep their meaning when the codecs decode and encode them.
package clients

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/conformance/meaning"
	"github.com/looptape/looptape/conformance/strict"
	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/anthropic"
	"github.com/looptape/looptape/providers/gemini"
	"github.com/looptape/looptape/providers/openai/chat"
	"github.com/looptape/looptape/providers/openai/responses"
	"github.com/looptape/looptape/providers/protocol"
)

// protocols are the protocols of the server, by the end of the path.
var protocols = map[string]protocol.Protocol{
	"/chat/completions":      chat.Protocol{},
	"/responses":             responses.Protocol{},
	"/v1/messages":           anthropic.Messages{},
	":generateContent":       gemini.GenerateContent{},
	":streamGenerateContent": gemini.GenerateContent{},
}

// lab is a fake provider on loopback with the requests that it received.
type lab struct {
	wire  *wire.Server
	model *fake.Model
	http  *httptest.Server

	mu   sync.Mutex
	sent []sent
}

// sent is a received request.
type sent struct {
	path string
	body []byte
}

// open starts a server with these responses.
func open(t testing.TB, turns ...fake.Response) *lab {
	t.Helper()
	l := &lab{model: fake.NewModel(turns...)}
	l.wire = wire.New(wire.Config{Model: l.model, Key: key})
	l.http = httptest.NewServer(l)
	t.Cleanup(l.http.Close)
	t.Cleanup(l.http.Client().CloseIdleConnections)
	return l
}

// key is the credential of all clients.
const key = "sk-of-the-tests"

// base returns the base URL for the SDK of a provider.
func (l *lab) base(provider string) string {
	return wire.ServerInfo{URL: l.http.URL}.BaseURL(provider, "")
}

// ServeHTTP stores the request and passes it to the server.
func (l *lab) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	l.mu.Lock()
	l.sent = append(l.sent, sent{r.URL.Path, body})
	l.mu.Unlock()
	r.Body = io.NopCloser(bytes.NewReader(body))
	l.wire.ServeHTTP(w, r)
}

// quiet fails if the server rejected a request or found a violation, or if the number of requests is
// wrong.
func (l *lab) quiet(t *testing.T, requests int) {
	t.Helper()
	r := l.wire.Report()
	if r.Requests != requests || len(r.RejectedRequests) > 0 || len(r.Violations) > 0 {
		t.Errorf("the server has seen %d requests, want %d; refused %+v; broken %+v", r.Requests, requests, r.RejectedRequests, r.Violations)
	}
}

// asked returns the decoded requests. It fails if an encoded one has another meaning, or if the
// server rejects it.
func (l *lab) asked(t *testing.T) (requests []*llm.Request) {
	t.Helper()
	for i, s := range l.sent {
		p, path := protocolOf(t, s.path)
		req, err := p.DecodeRequest(path, s.body)
		if err != nil {
			t.Fatalf("request %d: %v\n%s", i, err, s.body)
		}
		again, err := p.EncodeRequest(req)
		if err != nil {
			t.Fatalf("request %d: %v\n%s", i, err, s.body)
		}
		if diff := cmp.Diff(asks(t, p, s.body), asks(t, p, again.Body)); diff != "" || again.Path != path {
			t.Errorf("request %d, to %s and %s (-the client's +written again):\n%s", i, path, again.Path, diff)
		}
		response, report := strict.Ask(t.Context(), fake.Response{Text: "Fine."}, p, again)
		if response.Code != http.StatusOK || !report.OK() {
			t.Errorf("request %d, written again: status %d, %+v\n%s", i, response.Code, report, again.Body)
		}
		requests = append(requests, req)
	}
	return requests
}

func asks(t *testing.T, p protocol.Protocol, body []byte) meaning.Object {
	t.Helper()
	m, _, err := meaning.Of(p.Name(), body)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// protocolOf returns the protocol of a path, and the path for its codec.
func protocolOf(t *testing.T, path string) (p protocol.Protocol, rest string) {
	t.Helper()
	for end, p := range protocols {
		if !strings.HasSuffix(path, end) {
			continue
		}
		if i := strings.Index(path, "/models/"); i >= 0 {
			return p, path[i:]
		}
		return p, end
	}
	t.Fatalf("no protocol has the path %s", path)
	return nil, ""
}
