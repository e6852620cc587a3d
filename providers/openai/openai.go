// Package openai speaks the two wire protocols of OpenAI: Chat Completions, with
// the many servers that imitate it (Chat), and Responses (Responses). Each is a
// protocol.Protocol: a codec in both directions, streamed and not, errors
// included. A protocol.Client makes one an llm.Model over HTTP:
//
//	model := &protocol.Client{
//		Protocol:  openai.Chat{},
//		BaseURL:   openai.BaseURL,
//		Authorize: openai.Key(key),
//	}
//
// Another server is another BaseURL, another credential another Authorize; for Azure
// see docs/providers.md.
//
// The package promises that whatever a server sends becomes events or an error
// and nothing is lost that has to go back, and that a request asks for what the
// llm.Request says or is an error that names the message and the part. It keeps
// no connection, retries nothing and runs no tool.
package openai

import (
	"errors"
	"net/http"

	"github.com/looptape/looptape/providers/openai/internal/api"
)

// BaseURL is where OpenAI serves both protocols.
const BaseURL = "https://api.openai.com/v1"

// Key returns the authorizer of an API key, which is sent as a bearer token.
func Key(key string) func(*http.Request) error {
	return func(req *http.Request) error {
		if key == "" {
			return errors.New("the API key is empty; pass one to openai.Key")
		}
		req.Header.Set("Authorization", "Bearer "+key)
		return nil
	}
}

// Error is OpenAI's error object; what is empty is null on the wire.
type Error struct {
	Message string
	Type    string // such as invalid_request_error
	Param   string // the path of what is wrong in the request
	Code    string
}

// AppendJSON appends the body of an error response.
func (e Error) AppendJSON(dst []byte) []byte {
	return api.AppendError(dst, e.Message, e.Type, e.Param, e.Code)
}
