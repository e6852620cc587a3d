package wire

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/looptape/looptape/fake/wire/internal/reply"
	"github.com/looptape/looptape/fake/wire/internal/strict"
	"github.com/looptape/looptape/internal/access"
	"github.com/looptape/looptape/providers/anthropic"
	"github.com/looptape/looptape/providers/gemini"
	"github.com/looptape/looptape/providers/openai/chat"
)

// ServerInfo describes what a [Server] serves and its URLs. GET / returns its JSON form.
type ServerInfo struct {
	URL string `json:"url"`
	// BaseURLs are the base URLs for the official SDKs.
	BaseURLs map[string]string `json:"base_urls"`
	// Session is the prefix of a base URL that isolates a client from others. NAME is
	// any name.
	Session string   `json:"session"`
	Models  []string `json:"models"` // empty means that any is known
	Quirks  []string `json:"quirks"`
}

// Info describes what s serves at a URL.
func (s *Server) Info(url string) ServerInfo {
	info := ServerInfo{
		URL: url, BaseURLs: map[string]string{}, Session: "/session/NAME",
		Models: append([]string{}, s.cfg.Models...), Quirks: []string{},
	}
	for _, p := range []string{OpenAI, Anthropic, Gemini} {
		info.BaseURLs[p] = info.BaseURL(p, "")
	}
	for _, q := range s.cfg.Quirks {
		info.Quirks = append(info.Quirks, q.String())
	}
	return info
}

// BaseURL returns the base URL for a provider's official SDK. An empty session means that
// the model of a request selects the session.
func (i ServerInfo) BaseURL(provider, session string) string {
	base := strings.TrimSuffix(i.URL, "/")
	if session != "" {
		base += "/session/" + session
	}
	base += "/" + provider
	if provider == OpenAI {
		base += "/v1"
	}
	return base
}

// Env returns the environment variables for the official SDKs and the libraries that use
// them, as NAME=VALUE sorted by name. The session may be empty.
func (i ServerInfo) Env(session, key string) []string {
	env := []string{
		"OPENAI_BASE_URL=" + i.BaseURL(OpenAI, session),
		"OPENAI_API_KEY=" + key,
		"ANTHROPIC_BASE_URL=" + i.BaseURL(Anthropic, session),
		"ANTHROPIC_API_KEY=" + key,
		"GOOGLE_GEMINI_BASE_URL=" + i.BaseURL(Gemini, session),
		"GEMINI_API_KEY=" + key,
		"GOOGLE_API_KEY=" + key,
		"GOOGLE_GENERATIVE_AI_API_KEY=" + key,
		"GOOGLE_GENAI_USE_VERTEXAI=false",
		"LOOPTAPE_URL=" + i.URL,
	}
	slices.Sort(env)
	return env
}

// writeJSON writes a value that JSON can encode.
func writeJSON(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	if text, err := json.Marshal(value); err == nil {
		_, _ = w.Write(text) // the client may have disconnected
	}
}

// modelsPath matches the paths that list models.
var modelsPath = regexp.MustCompile(`^/(?:openai/v1|anthropic|anthropic/v1|gemini/v1|gemini/v1beta)/models(?:/(.+))?$`)

// modelsAt returns the name of the model that a path describes; empty means all.
func modelsAt(path string) (e reply.Endpoint, name string, ok bool) {
	_, rest := sessionOf(path)
	found := modelsPath.FindStringSubmatch(rest)
	if found == nil {
		return e, "", false
	}
	e, name = providerAt(rest).Endpoint, found[1]
	e.Path = rest
	return e, name, e.Provider != reply.Gemini || !strings.Contains(name, ":") // which calls a model
}

// list lists the models as the provider's API reference specifies it, on one page.
func (x *exchange) list(r *http.Request, name string) {
	x.server.mu.Lock()
	x.server.listed++
	x.server.mu.Unlock()
	in := strict.Request{Endpoint: x.Endpoint, Config: &x.server.strict, Key: credential(x.Provider, r)}
	e := in.Unauthorized()
	if e == nil && name != "" {
		e = in.UnknownModel(name)
	}
	if e != nil {
		x.reject(e)
		return
	}
	if name != "" {
		writeJSON(x.w, describeModel(x.Provider, name))
		return
	}
	writeJSON(x.w, describeModels(x.Provider, x.server.cfg.modelNames()))
}

// modelNames returns the known models or, if any is known, those of the script.
func (c *Config) modelNames() []string {
	if len(c.Models) > 0 {
		return c.Models
	}
	names := slices.AppendSeq([]string{c.Model.Default}, maps.Keys(c.Model.Sessions))
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == "" })
}

func describeModel(p reply.Provider, name string) map[string]any {
	switch p {
	case reply.Anthropic:
		return map[string]any{"type": "model", "id": name, "display_name": name, "created_at": "2000-01-01T00:00:00Z"}
	case reply.Gemini:
		return map[string]any{
			"name": "models/" + name, "version": "1", "displayName": name, "inputTokenLimit": 1 << 20, "outputTokenLimit": 1 << 16,
			"supportedGenerationMethods": []string{"generateContent"},
		}
	case reply.OpenAI:
	}
	return map[string]any{"id": name, "object": "model", "created": reply.Epoch, "owned_by": "looptape"}
}

func describeModels(p reply.Provider, names []string) map[string]any {
	all := []any{}
	for _, name := range names {
		all = append(all, describeModel(p, name))
	}
	switch p {
	case reply.Anthropic:
		page := map[string]any{"data": all, "has_more": false, "first_id": nil, "last_id": nil}
		if len(names) > 0 {
			page["first_id"], page["last_id"] = names[0], names[len(names)-1]
		}
		return page
	case reply.Gemini:
		return map[string]any{"models": all}
	case reply.OpenAI:
	}
	return map[string]any{"object": "list", "data": all}
}

// service is what a server has of a provider.
type service struct {
	reply.Endpoint
	base        string   // of all paths
	suffixes    []string // of the paths that clients of the provider use
	unknownType string   // of the error for an unknown path
	served      string
}

var services = []service{
	{
		reply.Endpoint{Provider: reply.OpenAI, Protocol: chat.Protocol{}}, "/openai/", []string{"/completions", "/responses"}, reply.InvalidRequest,
		"POST /openai/v1/chat/completions, /openai/v1/responses",
	},
	{
		reply.Endpoint{Provider: reply.Anthropic, Protocol: anthropic.Messages{}}, "/anthropic/", []string{"/messages"}, "not_found_error",
		"POST /anthropic/v1/messages",
	},
	{
		reply.Endpoint{Provider: reply.Gemini, Protocol: gemini.GenerateContent{}}, "/gemini/", []string{":generateContent", ":streamGenerateContent"}, "NOT_FOUND",
		"POST /gemini/v1beta/models/MODEL:generateContent, :streamGenerateContent",
	},
}

// providerAt returns the provider that a path is intended for, by its beginning or else
// by its end; nil means that it is unknown.
func providerAt(path string) *service {
	_, rest := sessionOf(path)
	i := slices.IndexFunc(services, func(s service) bool { return strings.HasPrefix(rest, s.base) })
	if i < 0 {
		i = slices.IndexFunc(services, func(s service) bool {
			return slices.ContainsFunc(s.suffixes, func(end string) bool { return strings.HasSuffix(path, end) })
		})
	}
	if i < 0 {
		return nil
	}
	return &services[i]
}

// serveUnmatched writes an error in the envelope of the provider that the request is
// intended for, and reports the request. The path is known if only the method is wrong.
func (s *Server) serveUnmatched(w http.ResponseWriter, r *http.Request, known bool) {
	served, to := "base URLs: /openai/v1, /anthropic, /gemini, each with or without the prefix /session/NAME", providerAt(r.URL.Path)
	if to != nil {
		served = to.served
	}
	path := r.URL.EscapedPath()
	s.addUnmatched(UnmatchedRequest{r.Method, path, 1, served})
	e := &strict.Error{Status: http.StatusNotFound, Message: r.Method + " " + path + ": unknown path: this server has " + served}
	switch {
	case known:
		e = &strict.Error{Status: http.StatusMethodNotAllowed, Type: to.InvalidType(), Message: "method not allowed: use POST"}
		w.Header().Set("Allow", http.MethodPost)
	case to == nil:
		http.Error(w, e.Message, e.Status)
		return
	default:
		e.Type = to.unknownType
	}
	writeError(w, e.Status, e.Body(to.Endpoint, ""))
}

// refuse refuses a request that the policy of access does not admit. One of a web page is none of the
// client, so it is only a note.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	if _, page := errors.AsType[*access.PageError](err); page {
		s.mu.Lock()
		if s.pages++; s.pages == 1 {
			s.page = err.Error()
		}
		s.mu.Unlock()
	} else {
		served := "paths that begin with the token of its URL"
		if !errors.Is(err, access.ErrToken) {
			served = "requests to 127.0.0.1 or localhost"
		}
		s.addUnmatched(UnmatchedRequest{r.Method, r.URL.EscapedPath(), 1, served})
	}
	http.Error(w, err.Error(), http.StatusForbidden)
}

func (s *Server) addUnmatched(x UnmatchedRequest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := x.Method + " " + x.Path
	if i, known := s.unmatched[key]; known {
		s.report.UnmatchedRequests[i].Times++
		return
	}
	s.unmatched[key] = len(s.report.UnmatchedRequests)
	s.report.UnmatchedRequests = append(s.report.UnmatchedRequests, x)
}
