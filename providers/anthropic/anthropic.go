// Package anthropic speaks the Messages API of Anthropic, in both directions: what
// asks a question and what answers it, in one piece and streamed, and errors.
//
//	model := &protocol.Client{
//		Protocol:  anthropic.Messages{},
//		BaseURL:   anthropic.BaseURL,
//		Authorize: anthropic.Key(key),
//	}
//
// What Anthropic wants back unchanged stands as Opaque on the part that it came
// with, an object of the members that llm has no field for, by their names on the
// wire: the signature of a thinking block, citations, cache_control, the caller of
// a call. Those that are not known here stand together in a member "anthropic", so
// that those of other providers are not sent. A redacted_thinking block is Reasoning with the whole block as Opaque. A
// call that Anthropic ran itself is a ToolCall that says so; its result, and every
// block of a type that is not known here, is llm.Unknown (for those of other providers
// see protocol.Omits). The container of an
// answer is in the Opaque of its message, and the last one of a history is sent
// back with the request; its stop sequence and members of it that are not known are
// there too, and are not sent back.
//
// The facts are those of Anthropic's API reference ("Messages", "Streaming
// messages", "Errors", "Structured outputs"). Beta features are asked for with the
// header Anthropic-Beta, in protocol.Client.Header. Bedrock's and Vertex's ways to
// wrap the same bodies are not here.
package anthropic

import (
	"errors"
	"net/http"
)

// BaseURL is where Anthropic's own service is.
const BaseURL = "https://api.anthropic.com"

// path is the path of every request.
const path = "/v1/messages"

// version is the version of the API that requests ask for.
const version = "2023-06-01"

// DefaultMaxTokens is the max_tokens of a request whose settings have none: the
// API requires one.
const DefaultMaxTokens = 4096

// WarnNoMessageStop is the code of the warning about a stream that ended after its
// stop reason without message_stop (quirk QA-13).
const WarnNoMessageStop = "missing_message_stop"

// Messages is the protocol.
type Messages struct{}

// Name implements protocol.Protocol.
func (Messages) Name() string { return name }

const name = "anthropic-messages"

// Key returns an authorizer that sends an API key.
func Key(key string) func(*http.Request) error {
	return func(r *http.Request) error {
		if key == "" {
			return errors.New("the API key is empty; get one from the Anthropic console")
		}
		r.Header.Set("X-Api-Key", key)
		return nil
	}
}
