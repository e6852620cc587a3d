package wire

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/looptape/looptape/fake"
)

// Hello is what a Server serves, and where. GET / answers with its JSON form.
type ServerInfo struct {
	URL string `json:"url"`
	// BaseURLs are what the official SDKs take, by provider: openai, anthropic,
	// gemini.
	BaseURLs map[Provider]string `json:"base_urls"`
	// Lane is what a base URL has in front of its provider for a client that is to
	// be kept apart from others; NAME is any.
	Session string   `json:"lane"`
	Models  []string `json:"models"` // those that there are; empty if any is
	Quirks  []string `json:"quirks"`
}

// Hello returns what s serves under an address.
func (s *Server) Info(url string) ServerInfo {
	h := ServerInfo{
		URL: url, BaseURLs: map[Provider]string{}, Session: "/lane/NAME",
		Models: append([]string{}, s.cfg.Models...), Quirks: []string{},
	}
	for _, p := range []Provider{OpenAI, Anthropic, Gemini} {
		h.BaseURLs[p] = BaseURL(url, "", p)
	}
	for _, q := range s.cfg.Quirks {
		h.Quirks = append(h.Quirks, q.String())
	}
	return h
}

func (s *Server) greet(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	text, err := json.Marshal(s.Info("http://" + r.Host))
	if err == nil { // there is nothing in it that JSON cannot say
		_, _ = w.Write(append(text, '\n')) // the client may be gone
	}
}

// ModelOf returns the model of a scenario for clients that know nothing of it: the
// lane of a request is that of its URL or else its model, and a lane that the
// scenario does not name plays its first model, for itself.
func ModelOf(s *fake.Script) *fake.Model {
	m := s.NewModel(nil)
	if len(s.Models) == 0 {
		return m
	}
	m.Responses = s.Models[0].Responses
	delete(m.Sessions, m.Default)
	if len(m.Sessions) == 0 {
		m.Sessions = nil
	}
	m.DiscardRequests, m.IsolateConversations = true, true
	return m
}

// Env are the variables that tell the official SDKs and the libraries over them
// where the server is, NAME=VALUE in the order of their names. The lane may be empty.
func Env(url, lane, key string) []string {
	env := []string{
		"OPENAI_BASE_URL=" + BaseURL(url, lane, OpenAI),
		"OPENAI_API_KEY=" + key,
		"ANTHROPIC_BASE_URL=" + BaseURL(url, lane, Anthropic),
		"ANTHROPIC_API_KEY=" + key,
		"GOOGLE_GEMINI_BASE_URL=" + BaseURL(url, lane, Gemini),
		"GEMINI_API_KEY=" + key,
		"GOOGLE_API_KEY=" + key,
		"GOOGLE_GENERATIVE_AI_API_KEY=" + key,
		"GOOGLE_GENAI_USE_VERTEXAI=false",
		"LOOPTAPE_URL=" + url,
	}
	slices.Sort(env)
	return env
}
