package recordings

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/conformance/strict"
	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/protocol"
)

// TestStrict sends each recorded request to the strict server, unchanged and as the codec encodes it.
// The server must accept it, because a provider did. Without its last result, the server must reject it.
func TestStrict(t *testing.T) {
	for _, s := range sets {
		t.Run(s.name, func(t *testing.T) {
			unanswered := map[string]int{}
			s.each(t, func(t *testing.T, x exchange) {
				w, path := dialectOf(t, x.url)
				req, err := w.DecodeRequest(path, x.request)
				if err != nil {
					t.Fatal(err)
				}
				take(t, w, protocol.Request{Path: path, Body: unwrapped(t, x.url, x.request)})
				again, err := w.EncodeRequest(req)
				if err != nil {
					t.Fatal(err)
				}
				again.Body = unwrapped(t, x.url, again.Body)
				take(t, w, *again)
				if !loseResult(req) {
					return
				}
				broken, err := w.EncodeRequest(req)
				if err != nil {
					t.Fatal(err)
				}
				broken.Body = unwrapped(t, x.url, broken.Body)
				response, report := strict.Ask(t.Context(), fake.Response{Text: "fine"}, w, broken)
				if response.Code != http.StatusBadRequest || len(report.RejectedRequests) != 1 {
					t.Fatalf("without its last result: status %d, %+v\n%s", response.Code, report, broken.Body)
				}
				unanswered[report.RejectedRequests[0].ID]++
			})
			if diff := gocmp.Diff(s.unanswered, unanswered); diff != "" {
				t.Errorf("requests without a result, by the reason for the rejection (-want +got):\n%s", diff)
			}
		})
	}
}

// take sends a request that the server must accept.
func take(t *testing.T, p protocol.Protocol, req protocol.Request) {
	t.Helper()
	if response, report := strict.Ask(t.Context(), fake.Response{Text: "fine"}, p, &req); response.Code != http.StatusOK || !report.OK() {
		t.Errorf("status %d, %+v\n%s", response.Code, report, req.Body)
	}
}

// loseResult removes the last result of a history, and reports whether it had one.
func loseResult(req *llm.Request) bool {
	for i, m := range slices.Backward(req.Messages) {
		if n := len(m.Parts) - 1; m.Role == llm.RoleTool {
			m.Parts = m.Parts[:n]
			req.Messages[i] = m
			if n == 0 {
				req.Messages = slices.Delete(req.Messages, i, i+1)
			}
			return true
		}
	}
	return false
}

// unwrapped converts a request to Vertex or Bedrock, which have the model in the path and the version
// in the body, to a request to Anthropic.
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
