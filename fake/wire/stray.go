package wire

import (
	"net/http"
	"slices"
	"strings"

	"github.com/looptape/looptape/providers/anthropic"
	"github.com/looptape/looptape/providers/gemini"
	openaichat "github.com/looptape/looptape/providers/openai/chat"
)

// Stray are requests to where no model is: to a path that no provider has, or with
// another method than POST, unless they ask which models there are. Their commonest cause is a wrong base URL.
type UnmatchedRequest struct {
	Method string `json:"method"`
	Path   string `json:"path"` // without the query, which may hold a key
	Times  int    `json:"times"`
	Served string `json:"served"` // the paths that there are for such a client
}

// offer is what there is of a provider.
type offer struct {
	endpoint
	base    string   // of all its paths
	ends    []string // how its clients' paths end
	unknown string   // the type of its error for a path that there is not
	paths   string
}

func offers() []offer {
	return []offer{
		{
			endpoint{provider: OpenAI, proto: openaichat.Protocol{}}, "/openai/", []string{"/completions", "/responses"}, invalidRequest,
			"POST /openai/v1/chat/completions, /openai/v1/responses",
		},
		{
			endpoint{provider: Anthropic, proto: anthropic.Messages{}}, "/anthropic/", []string{"/messages"}, "not_found_error",
			"POST /anthropic/v1/messages",
		},
		{
			endpoint{provider: Gemini, proto: gemini.GenerateContent{}}, "/gemini/", []string{":generateContent", ":streamGenerateContent"}, "NOT_FOUND",
			"POST /gemini/v1beta/models/MODEL:generateContent, :streamGenerateContent",
		},
	}
}

// meant returns the offer that a path was meant for, by how it begins or else ends; nil
// if that cannot be told.
func meant(path string) *offer {
	_, rest := laneOf(path)
	for _, fits := range []func(offer) bool{
		func(o offer) bool { return strings.HasPrefix(rest, o.base) },
		func(o offer) bool {
			return slices.ContainsFunc(o.ends, func(end string) bool { return strings.HasSuffix(path, end) })
		},
	} {
		if i := slices.IndexFunc(offers(), fits); i >= 0 {
			return &offers()[i]
		}
	}
	return nil
}

// stray answers such a request, in the envelope of the provider that it was meant for,
// and notes it. There is something at its path if another method is all that is wrong.
func (s *Server) stray(w http.ResponseWriter, r *http.Request, there bool) {
	served, to := "base URLs: /openai/v1, /anthropic, /gemini, each with /lane/NAME in front or without", meant(r.URL.Path)
	if to != nil {
		served = to.paths
	}
	path := r.URL.EscapedPath()
	s.noteStray(UnmatchedRequest{r.Method, path, 1, served})
	e := &refusal{status: http.StatusNotFound, message: r.Method + " " + path + ": there is no such path; served here: " + served}
	switch {
	case there:
		e = &refusal{status: http.StatusMethodNotAllowed, kind: to.invalidKind(), message: "the method has to be POST"}
		w.Header().Set("Allow", http.MethodPost)
	case to == nil:
		http.Error(w, e.message, e.status)
		return
	default:
		e.kind = to.unknown
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(e.status)
	_, _ = w.Write(e.body(to.endpoint, "")) // the client may be gone
}

func (s *Server) noteStray(x UnmatchedRequest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := x.Method + " " + x.Path
	if i, known := s.strays[key]; known {
		s.report.UnmatchedRequests[i].Times++
		return
	}
	if s.strays == nil {
		s.strays = map[string]int{}
	}
	s.strays[key] = len(s.report.UnmatchedRequests)
	s.report.UnmatchedRequests = append(s.report.UnmatchedRequests, x)
}
