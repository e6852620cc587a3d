package wire_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire"
)

func TestUnmatchedPath(t *testing.T) {
	_, clients := serve(t, wire.Config{Model: fake.NewModel()}, "")
	c := clients["openai-chat"]
	for path, want := range map[string]int{"/health": 204, "/": 200, "/openai/v1/embeddings": 404, "/lane/": 404, "/lane/x": 404, "/lane/x/openai": 404} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.BaseURL[:len(c.BaseURL)-len("/openai/v1")]+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := c.HTTP.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s: status %d, want %d", path, resp.StatusCode, want)
		}
	}
}

// An error outside of the protocols has the error form of the provider.
func TestUnmatchedPathEnvelope(t *testing.T) {
	for _, c := range []struct {
		method, path string
		status       int
		want         string
	}{
		{http.MethodPost, "/openai/v1/foo", 404, `{"error":{"message":"POST /openai/v1/foo: unknown path: `},
		{http.MethodPost, "/lane/x/anthropic/v1/foo", 404, `{"type":"error","error":{"type":"not_found_error","message":"POST /lane/x/anthropic/v1/foo: unknown path: `},
		{http.MethodGet, "/gemini/v1beta/files", 404, `{"error":{"code":404,"message":"GET /gemini/v1beta/files: unknown path: `},
		{http.MethodPost, "/v1/chat/completions", 404, `{"error":{"message":"POST /v1/chat/completions: unknown path: `},
		{http.MethodPost, "/lane//openai/v1/chat/completions", 404, `{"error":{"message":"POST /lane//openai/v1/chat/completions: unknown path: `},
		{http.MethodPost, "/v1/foo", 404, "POST /v1/foo: unknown path: "},
		{http.MethodGet, "/openai/v1/chat/completions", 405, `{"error":{"message":"method not allowed: use POST","type":"invalid_request_error"`},
		{http.MethodPut, "/anthropic/v1/messages", 405, `{"type":"error","error":{"type":"invalid_request_error","message":"method not allowed: use POST"`},
		{http.MethodGet, "/gemini/v1beta/models/m:generateContent", 405, `{"error":{"code":405,"message":"method not allowed: use POST","status":"INVALID_ARGUMENT"`},
	} {
		w := httptest.NewRecorder()
		wire.New(wire.Config{Model: fake.NewModel()}).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), c.method, c.path, nil))
		if w.Code != c.status || !strings.HasPrefix(w.Body.String(), c.want) || (w.Header().Get("Allow") == http.MethodPost) != (c.status == 405) {
			t.Errorf("%s %s: %d %v %s", c.method, c.path, w.Code, w.Header(), w.Body)
		}
		if json := strings.HasPrefix(c.want, "{"); json != (w.Header().Get("Content-Type") == "application/json") {
			t.Errorf("%s %s is %v", c.method, c.path, w.Header())
		}
	}
}

// The report lists an unmatched path once, without its query, with the endpoints for such a
// client.
func TestUnmatchedRequests(t *testing.T) {
	s := wire.New(wire.Config{Model: fake.NewModel(fake.Response{Text: "one"})})
	for _, at := range []string{
		"POST /v1/chat/completions?api_key=some-key", "POST /v1/chat/completions", "GET /v1/chat/completions", "POST /lane/a/responses", "POST /openai/v1/embeddings",
		"POST /v1/messages", "POST /anthropic/v1/complete", "POST /v1beta/models/m:streamGenerateContent?key=some-key", "POST /models/m:generateContent", "POST /gemini/v2/models/m:generateContent",
		"GET /openai/v1/responses", "GET /health", "GET /", "PUT /favicon%1B.ico",
	} {
		method, path, _ := strings.Cut(at, " ")
		s.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), method, path, http.NoBody))
	}
	const (
		openAI    = "POST /openai/v1/chat/completions, /openai/v1/responses"
		anthropic = "POST /anthropic/v1/messages"
		gemini    = "POST /gemini/v1beta/models/MODEL:generateContent, :streamGenerateContent"
	)
	want := []wire.UnmatchedRequest{
		{Method: "POST", Path: "/v1/chat/completions", Times: 2, Served: openAI},
		{Method: "GET", Path: "/v1/chat/completions", Times: 1, Served: openAI},
		{Method: "POST", Path: "/lane/a/responses", Times: 1, Served: openAI},
		{Method: "POST", Path: "/openai/v1/embeddings", Times: 1, Served: openAI},
		{Method: "POST", Path: "/v1/messages", Times: 1, Served: anthropic},
		{Method: "POST", Path: "/anthropic/v1/complete", Times: 1, Served: anthropic},
		{Method: "POST", Path: "/v1beta/models/m:streamGenerateContent", Times: 1, Served: gemini},
		{Method: "POST", Path: "/models/m:generateContent", Times: 1, Served: gemini},
		{Method: "POST", Path: "/gemini/v2/models/m:generateContent", Times: 1, Served: gemini},
		{Method: "GET", Path: "/openai/v1/responses", Times: 1, Served: openAI},
		{Method: "PUT", Path: "/favicon%1B.ico", Times: 1, Served: "base URLs: /openai/v1, /anthropic, /gemini, each with or without the prefix /session/NAME"},
	}
	r := s.Report()
	if diff := cmp.Diff(want, r.UnmatchedRequests); diff != "" || r.Requests != 0 || len(r.RejectedRequests)+len(r.Violations) > 0 || r.OK() {
		t.Errorf("the report is %+v; unmatched requests (-want +got):\n%s", r, diff)
	}
	text, err := json.Marshal(r)
	if err != nil || strings.Contains(string(text), "some-key") {
		t.Errorf("the report is %s, %v", text, err)
	}
}

// A request that counts tokens is listed, and is no failure.
func TestUnmatchedRequestsForCounts(t *testing.T) {
	for _, path := range []string{"/anthropic/v1/messages/count_tokens", "/openai/v1/responses/input_tokens", "/anthropic/v1/complete"} {
		s := wire.New(wire.Config{Model: fake.NewModel(fake.Response{Text: "one"})})
		post := func(path, body string) (status int) {
			w, req := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body))
			req.Header = http.Header{"Authorization": {"Bearer k"}, "X-Goog-Api-Key": {"k"}}
			s.ServeHTTP(w, req)
			return w.Code
		}
		post(path, "{}")
		if r := s.Report(); post("/openai/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"q"}]}`) != http.StatusOK || len(r.UnmatchedRequests) != 1 || r.OK() != !strings.HasSuffix(path, "/complete") {
			t.Errorf("%s: OK %v, report %+v", path, r.OK(), r)
		}
	}
}
