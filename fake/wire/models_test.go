package wire_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire"
)

// got gets a path with a key and returns status and body.
func got(t *testing.T, s *wire.Server, path, key string) (int, string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	r.Header.Set("Authorization", "Bearer "+key)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	if w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("%s is %v", path, w.Header())
	}
	return w.Code, w.Body.String()
}

// Each provider lists the models in its own form. Listing models is not a violation.
func TestModels(t *testing.T) {
	const (
		openaiB    = `{"created":946684800,"id":"b","object":"model","owned_by":"looptape"}`
		openaiList = `{"data":[{"created":946684800,"id":"a/x","object":"model","owned_by":"looptape"},` + openaiB + `],"object":"list"}`
		claudeB    = `{"created_at":"2000-01-01T00:00:00Z","display_name":"b","id":"b","type":"model"}`
		claudeList = `{"data":[{"created_at":"2000-01-01T00:00:00Z","display_name":"a/x","id":"a/x","type":"model"},` + claudeB + `],"first_id":"a/x","has_more":false,"last_id":"b"}`
		geminiB    = `{"displayName":"b","inputTokenLimit":1048576,"name":"models/b","outputTokenLimit":65536,"supportedGenerationMethods":["generateContent"],"version":"1"}`
		geminiList = `{"models":[{"displayName":"a/x","inputTokenLimit":1048576,"name":"models/a/x","outputTokenLimit":65536,"supportedGenerationMethods":["generateContent"],"version":"1"},` + geminiB + `]}`
	)
	s := wire.New(wire.Config{Model: &fake.Model{Default: "b", Sessions: map[string][]fake.Response{"b": nil, "a/x": nil}}})
	cases := []struct{ path, want string }{
		{"/openai/v1/models", openaiList},
		{"/lane/l/openai/v1/models?limit=1", openaiList},
		{"/openai/v1/models/b", openaiB},
		{"/openai/v1/models/ft:a:b", `{"created":946684800,"id":"ft:a:b","object":"model","owned_by":"looptape"}`},
		{"/anthropic/v1/models", claudeList},
		{"/anthropic/models", claudeList},
		{"/anthropic/v1/models/b", claudeB},
		{"/gemini/v1beta/models", geminiList},
		{"/gemini/v1/models", geminiList},
		{"/gemini/v1beta/models/b", geminiB},
	}
	for _, c := range cases {
		if status, body := got(t, s, c.path, "k"); status != http.StatusOK || body != c.want {
			t.Errorf("%s: status %d\n got %s\nwant %s", c.path, status, body, c.want)
		}
	}
	if r := s.Report(); r.Requests != len(cases) || !r.OK() || len(r.Sessions)+len(r.Violations) > 0 {
		t.Errorf("the report is %+v", r)
	}
	for _, path := range []string{"/models", "/v1/models", "/openai/models", "/openai/v1/models/", "/openai/v1/modelsx", "/gemini/v2/models", "/gemini/v1beta/models/b:generateContent"} {
		s.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	}
	s.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodDelete, "/openai/v1/models/b", nil))
	if r := s.Report(); r.Requests != len(cases) || len(r.UnmatchedRequests) != 8 {
		t.Errorf("the report is %+v", r)
	}
}

// The configured models are the only ones. A wrong key and the name of another model are
// rejected.
func TestModelsRejected(t *testing.T) {
	s := wire.New(wire.Config{Model: fake.NewModel(), Key: "right", Models: []string{"z"}})
	for path, ids := range map[string][2]string{
		"/openai/v1/models":     {"SO-17", "SO-16"},
		"/anthropic/v1/models":  {"SA-21", ""},
		"/gemini/v1beta/models": {"SG-17", "SG-16"},
	} {
		before := len(s.Report().RejectedRequests)
		list, all := got(t, s, path, "right")
		known, _ := got(t, s, path+"/z", "right")
		wrong, _ := got(t, s, path, "wrong")
		other, _ := got(t, s, path+"/y", "right")
		r := s.Report()
		if list != 200 || !strings.Contains(all, `z"`) || known != 200 || len(r.RejectedRequests) != before+2 {
			t.Fatalf("%s: status %d with %s, and %d; refused %+v", path, list, all, known, r.RejectedRequests[before:])
		}
		refused := r.RejectedRequests[before:]
		if diff := cmp.Diff(ids, [2]string{refused[0].ID, refused[1].ID}); diff != "" || refused[0].Status != wrong || refused[1].Status != other || other != 404 {
			t.Errorf("%s: status %d and %d; refused %+v", path, wrong, other, refused)
		}
	}
	if r := s.Report(); len(r.Violations) > 0 {
		t.Errorf("violations %+v", r.Violations)
	}
}

// The list of models of a script without names is empty and not an error.
func TestModelsEmpty(t *testing.T) {
	s := wire.New(wire.Config{Model: fake.NewModel()})
	for path, want := range map[string]string{
		"/openai/v1/models":     `{"data":[],"object":"list"}`,
		"/anthropic/v1/models":  `{"data":[],"first_id":null,"has_more":false,"last_id":null}`,
		"/gemini/v1beta/models": `{"models":[]}`,
	} {
		if status, body := got(t, s, path, "k"); status != http.StatusOK || body != want {
			t.Errorf("%s: status %d, got %s, want %s", path, status, body, want)
		}
	}
}

// A browser gets the headers that let a page with an allowed origin send requests and read responses.
// Other clients do not get them, and other pages get status 403.
func TestAllowOrigin(t *testing.T) {
	s := wire.New(wire.Config{Model: fake.NewModel(), AllowOrigins: []string{"http://page"}})
	for _, c := range []struct {
		method, path, origin string
		status               int
		want                 [4]string
	}{
		{http.MethodOptions, "/openai/v1/chat/completions", "http://page", 204, [4]string{"http://page", "*", "GET, POST", "authorization,x-any"}},
		{http.MethodPost, "/openai/v1/chat/completions", "http://page", 401, [4]string{"http://page", "*"}},
		{http.MethodPost, "/openai/v1/chat/completions", "http://other", 403, [4]string{}},
		{http.MethodOptions, "/openai/v1/chat/completions", "http://other", 403, [4]string{}},
		{http.MethodPost, "/openai/v1/chat/completions", "", 401, [4]string{}},
		{http.MethodGet, "/health", "http://page", 204, [4]string{"http://page", "*"}},
		{http.MethodOptions, "/anthropic/v1/messages", "", 405, [4]string{}},
	} {
		r := httptest.NewRequestWithContext(t.Context(), c.method, c.path, http.NoBody)
		r.Header.Set("Access-Control-Request-Headers", "authorization,x-any")
		if c.origin != "" {
			r.Header.Set("Origin", c.origin)
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		h := w.Header()
		have := [4]string{h.Get("Access-Control-Allow-Origin"), h.Get("Access-Control-Expose-Headers"), h.Get("Access-Control-Allow-Methods"), h.Get("Access-Control-Allow-Headers")}
		if diff := cmp.Diff(c.want, have); diff != "" || w.Code != c.status {
			t.Errorf("%s %s from %q: status %d (-want +got):\n%s", c.method, c.path, c.origin, w.Code, diff)
		}
	}
	r := s.Done()
	if len(r.UnmatchedRequests) != 1 {
		t.Errorf("the unmatched requests are %+v", r.UnmatchedRequests)
	}
	if want := []string{"Refused requests of web pages: 2. The first: a web page of \"http://other\" sent this request, which is refused: allow its origin with --allow-origin."}; !cmp.Equal(r.Notes, want) {
		t.Errorf("the notes are %q", r.Notes)
	}
}

// A server with a token serves the paths that begin with it, and describes them.
func TestToken(t *testing.T) {
	s := wire.New(wire.Config{Model: fake.NewModel(), Token: "abc"})
	for path, want := range map[string]int{
		"/abc/openai/v1/models": 401, "/openai/v1/models": 403, "/abcd/openai/v1/models": 403, "/ab/openai/v1/models": 403,
		"/abc": 200, "/abc/": 200, "/": 403, "/health": 403, "/abc/health": 204, "//abc/health": 403, "/%61bc/health": 403, "/abc%2Fhealth": 403,
	} {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
		if w.Code != want {
			t.Errorf("%s: status %d, want %d: %s", path, w.Code, want, w.Body)
		}
		if w.Code == 200 && !strings.Contains(w.Body.String(), `"url":"http://example.com/abc"`) {
			t.Errorf("%s: %s", path, w.Body)
		}
	}
	for _, r := range s.Report().UnmatchedRequests {
		if r.Served != "paths that begin with the token of its URL" {
			t.Errorf("the unmatched request is %+v", r)
		}
	}
}
