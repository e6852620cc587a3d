// Package openai contains what both protocols of OpenAI share, and constructors of their
// clients. Package chat implements Chat Completions, also for OpenAI-compatible servers, and
// package responses implements Responses.
//
//	model := openai.NewChat(key)
//
// For another server or credential, set the fields of the [protocol.Client]. For Azure see
// docs/providers.md.
//
// The codecs convert each response to events or an error, and keep all data that a later
// request must contain. An error names the message and the part that a request cannot
// represent. The loop retries requests and runs tools.
package openai

import (
	"errors"
	"net/http"

	"github.com/looptape/looptape/providers/openai/chat"
	"github.com/looptape/looptape/providers/openai/internal/api"
	"github.com/looptape/looptape/providers/openai/responses"
	"github.com/looptape/looptape/providers/protocol"
)

// BaseURL is the base URL of both protocols.
const BaseURL = "https://api.openai.com/v1"

// Key returns an authorizer that sends an API key as a bearer token.
func Key(key string) func(*http.Request) error {
	return func(req *http.Request) error {
		if key == "" {
			return errors.New("openai: empty API key: pass the key to openai.Key")
		}
		req.Header.Set("Authorization", "Bearer "+key)
		return nil
	}
}

// NewChat returns a client for Chat Completions.
func NewChat(key string) *protocol.Client {
	return &protocol.Client{Protocol: chat.Protocol{}, BaseURL: BaseURL, Authorize: Key(key)}
}

// NewResponses returns a client for Responses.
func NewResponses(key string) *protocol.Client {
	return &protocol.Client{Protocol: responses.Protocol{}, BaseURL: BaseURL, Authorize: Key(key)}
}

// Error is OpenAI's error object. Empty strings are null in JSON.
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
