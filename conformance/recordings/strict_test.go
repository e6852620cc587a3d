package recordings

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	fakewire "github.com/looptape/looptape/fake/wire"
	"github.com/looptape/looptape/providers/protocol"
)

// TestStrict sends each recorded question to the strict server, as it was and as our
// codec writes it: a provider took it, so the server has to. What it may refuse has a
// reason.
func TestStrict(t *testing.T) {
	for _, s := range sets {
		t.Run(s.name, func(t *testing.T) {
			excused := map[string]int{}
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
				again.Body = unwrapped(t, x.url, again.Body)
				was := protocol.Request{Path: path, Body: unwrapped(t, x.url, x.request)}
				for _, r := range []protocol.Request{was, *again} {
					status, report := send(t, w, r)
					if why := excuse(x.url, report); why != "" {
						excused[why]++
					} else if status != http.StatusOK || !report.Held() {
						t.Errorf("status %d, %+v\n%s", status, report, r.Body)
					}
				}
			})
			if diff := gocmp.Diff(s.excused, excused); diff != "" {
				t.Errorf("requests that may be refused (-want +got):\n%s", diff)
			}
		})
	}
}

// excuse is why a request may be refused that a provider took: empty if there is no
// reason.
func excuse(url string, r fakewire.Report) string {
	if !ofOpenAI(url) && len(r.Refusals) == 1 && r.Refusals[0].ID == "SO-10" {
		return longIDs
	}
	return ""
}

const longIDs = "an imitator of OpenAI gave ids that are longer than OpenAI's may be"

// send sends a request to a strict server with a script of one turn.
func send(t *testing.T, p protocol.Protocol, req protocol.Request) (status int, report fakewire.Report) {
	t.Helper()
	server := fakewire.New(fakewire.Config{Model: fake.NewModel(fake.Turn{Text: "fine"})})
	base := map[string]string{"openai-chat": "/openai/v1", "openai-responses": "/openai/v1", "anthropic-messages": "/anthropic", "gemini": "/gemini/v1beta"}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, base[p.Name()]+req.Path, bytes.NewReader(req.Body))
	r.Header.Set("Authorization", "Bearer some-key")
	r.Header.Set("X-Goog-Api-Key", "some-key")
	r.Header.Set("Anthropic-Version", "2023-06-01")
	w := httptest.NewRecorder()
	server.ServeHTTP(w, r)
	return w.Code, server.Report()
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
