package recordings

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/looptape/looptape/fake"
	fakewire "github.com/looptape/looptape/fake/wire"
	"github.com/looptape/looptape/providers/protocol"
)

// TestStrict sends each recorded question to the strict server, as it was and as our
// codec writes it: a provider took it, so the server has to.
func TestStrict(t *testing.T) {
	for _, s := range sets {
		t.Run(s.name, func(t *testing.T) {
			s.each(t, func(t *testing.T, x exchange) {
				w, path := wireOf(t, x.url)
				req, err := w.DecodeRequest(path, x.request)
				if err != nil {
					t.Fatal(err)
				}
				again, err := w.EncodeRequest(req)
				if err != nil {
					t.Fatal(err)
				}
				send(t, w, protocol.Request{Path: path, Body: unwrapped(t, x.url, x.request)})
				again.Body = unwrapped(t, x.url, again.Body)
				send(t, w, *again)
			})
		})
	}
}

func send(t *testing.T, p protocol.Protocol, req protocol.Request) {
	t.Helper()
	server := fakewire.New(fakewire.Config{Model: fake.NewModel(fake.Turn{Text: "fine"})})
	base := map[string]string{"openai-chat": "/openai/v1", "openai-responses": "/openai/v1", "anthropic-messages": "/anthropic", "gemini": "/gemini/v1beta"}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, base[p.Name()]+req.Path, bytes.NewReader(req.Body))
	r.Header.Set("Authorization", "Bearer some-key")
	r.Header.Set("X-Goog-Api-Key", "some-key")
	w := httptest.NewRecorder()
	server.ServeHTTP(w, r)
	report := server.Report()
	if w.Code != http.StatusOK || len(report.Refusals) > 0 || len(report.Violations) > 0 {
		t.Errorf("status %d, %+v\n%s", w.Code, report, req.Body)
	}
}

// unwrapped is the body of a request to Anthropic's own service, of one that went to
// Vertex or Bedrock: they have the model in the path, and the version in the body.
func unwrapped(t *testing.T, url string, body []byte) []byte {
	t.Helper()
	_, path, ok := strings.Cut(url, "/models/") // Vertex
	if !ok {
		_, path, ok = strings.Cut(url, "/model/") // Bedrock
	}
	if !ok || !strings.Contains(url, "anthropic") {
		return body
	}
	var members map[string]any
	if err := json.Unmarshal(body, &members); err != nil {
		t.Fatal(err)
	}
	delete(members, "anthropic_version")
	members["model"], _, _ = strings.Cut(path[strings.LastIndex(path, "/")+1:], ":")
	out, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
