// Package wire is a fake provider over HTTP: it plays a scripted model in four
// wire protocols, streamed and buffered, so that a program in any language can be
// tested with no change to it but a base URL.
//
// Under the address of a Server each provider has a base path, to which its own
// paths are added as its SDKs do:
//
//	/openai/v1          chat/completions, responses
//	/anthropic          v1/messages
//	/gemini             v1beta/models/{model}:generateContent, :streamGenerateContent
//
// Some clients ask Gemini for v1 instead of v1beta, and some expect the v1 of Anthropic
// in their base URL and leave it out of the path: they are served too. GET of models,
// and of models/{model}, tells which models there are, as the provider does.
//
// In front of them /lane/NAME puts the requests into a lane of the script, so that
// several clients can be served at once. An answer is a function of the script, the
// lane and the conversation so far, tries counted (see fake.Model), and of nothing
// else: no clock is read, and nothing waits.
package wire

import (
	"net/http"
	"strings"

	"github.com/looptape/looptape/providers/anthropic"
	"github.com/looptape/looptape/providers/gemini"
	openaichat "github.com/looptape/looptape/providers/openai/chat"
	openairesponses "github.com/looptape/looptape/providers/openai/responses"
	"github.com/looptape/looptape/providers/protocol"
)

// Provider is a provider that a Server plays.
type Provider string

// The providers.
const (
	OpenAI    Provider = "openai"
	Anthropic Provider = "anthropic"
	Gemini    Provider = "gemini"
)

// BaseURL is what a client of the provider's official SDK gets as its base URL. A
// lane may be empty.
func BaseURL(server string, lane string, p Provider) string {
	base := strings.TrimSuffix(server, "/")
	if lane != "" {
		base += "/lane/" + lane
	}
	base += "/" + string(p)
	if p == OpenAI {
		base += "/v1"
	}
	return base
}

// endpoint is one path of a provider.
type endpoint struct {
	provider Provider
	proto    protocol.Protocol
	path     string // for the codec
}

// route finds what a path means.
func route(path string) (lane string, e endpoint, ok bool) {
	lane, rest := laneOf(path)
	switch {
	case rest == "/openai/v1/chat/completions":
		return lane, endpoint{OpenAI, openaichat.Protocol{}, "/chat/completions"}, true
	case rest == "/openai/v1/responses":
		return lane, endpoint{OpenAI, openairesponses.Protocol{}, "/responses"}, true
	case rest == "/anthropic/v1/messages", rest == "/anthropic/messages":
		return lane, endpoint{Anthropic, anthropic.Messages{}, "/v1/messages"}, true
	}
	for _, version := range []string{"/gemini/v1beta", "/gemini/v1"} {
		if after, has := strings.CutPrefix(rest, version); has && strings.HasPrefix(after, "/models/") {
			return lane, endpoint{Gemini, gemini.GenerateContent{}, after}, true
		}
	}
	return "", endpoint{}, false
}

// laneOf parts a path from the lane in front of it.
func laneOf(path string) (lane, rest string) {
	after, has := strings.CutPrefix(path, "/lane/")
	if !has {
		return "", path
	}
	lane, rest, _ = strings.Cut(after, "/")
	if lane == "" {
		return "", path // which leads nowhere
	}
	return lane, "/" + rest
}

// key returns the credential of a request.
func (e endpoint) key(r *http.Request) string {
	bearer := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	switch e.provider {
	case Anthropic:
		if k := r.Header.Get("X-Api-Key"); k != "" {
			return k
		}
	case Gemini:
		if k := r.Header.Get("X-Goog-Api-Key"); k != "" {
			return k
		}
		if k := r.URL.Query().Get("key"); k != "" {
			return k
		}
	case OpenAI:
	}
	return bearer
}

// idHeader is where the provider tells what it calls a request; empty if nowhere.
func (e endpoint) idHeader() string {
	switch e.provider {
	case Anthropic:
		return "Request-Id"
	case OpenAI:
		return "X-Request-Id"
	case Gemini:
	}
	return ""
}
