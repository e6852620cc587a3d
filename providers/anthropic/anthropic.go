// Package anthropic encodes and decodes requests, responses, streams and errors of the Anthropic
// Messages API.
//
//	model := anthropic.New(key).Model("claude-opus-4-8")
//
// For another server or credential, set the fields of the [protocol.Client].
//
// Data that Anthropic requires back unchanged is the Opaque of its part: an object with the
// members that llm has no field for, such as the signature of a thinking block, citations,
// cache_control, and the caller of a call. The member "anthropic" contains those that this
// package does not know, so that requests omit those of other providers. A redacted_thinking
// block is Reasoning with the whole block as Opaque. A call that Anthropic ran is a ToolCall
// with ProviderExecuted. Its result, and each block of an unknown type, is [llm.Unknown] (see
// [protocol.Omits]). The container of a response is in the Opaque of its message, and requests
// contain the last one. The stop sequence and unknown members of the response are there too,
// and are not sent back.
//
// The source is Anthropic's API reference ("Messages", "Streaming messages", "Errors",
// "Structured outputs"). To enable beta features, set the header Anthropic-Beta in
// [protocol.Client]. The package does not support the formats of Bedrock and Vertex AI.
package anthropic

import (
	"errors"
	"net/http"

	"github.com/looptape/looptape/providers/protocol"
)

const (
	// BaseURL is the base URL of the Anthropic API.
	BaseURL = "https://api.anthropic.com"
	// DefaultMaxTokens is the max_tokens of a request without a limit, because the API
	// requires one.
	DefaultMaxTokens = 4096
	// WarnNoMessageStop is the code of the warning that a stream ended after its stop reason
	// without message_stop (quirk QA-13).
	WarnNoMessageStop = "missing_message_stop"
)

const version = "2023-06-01"

// Messages is the protocol of the Messages API. It is safe for concurrent use.
type Messages struct{}

// Name implements [protocol.Protocol].
func (Messages) Name() string { return name }

const name = "anthropic-messages"

// New returns a client of the Anthropic API.
func New(key string) *protocol.Client {
	return &protocol.Client{Protocol: Messages{}, BaseURL: BaseURL, Authorize: Key(key)}
}

// Key returns an authorizer that sends an API key.
func Key(key string) func(*http.Request) error {
	return func(r *http.Request) error {
		if key == "" {
			return errors.New("anthropic: empty API key: get one from the Anthropic console")
		}
		r.Header.Set("X-Api-Key", key)
		return nil
	}
}
