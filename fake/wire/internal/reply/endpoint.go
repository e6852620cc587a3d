// Package reply renders a scripted response in the wire protocol of a provider, as a
// [Reply] that quirks can edit before it is written. What requests are rejected is in
// package strict.
package reply

import "github.com/looptape/looptape/providers/protocol"

// Provider is the name of a provider.
type Provider string

// The providers.
const (
	OpenAI    Provider = "openai"
	Anthropic Provider = "anthropic"
	Gemini    Provider = "gemini"
)

// The names of the protocols.
const (
	Chat      = "openai-chat"
	Responses = "openai-responses"
	Messages  = "anthropic-messages"
	Generate  = "gemini"
)

// The types that providers give to an invalid request.
const (
	InvalidRequest  = "invalid_request_error"
	InvalidArgument = "INVALID_ARGUMENT"
)

// Messages of providers that both a rejected request and a quirk show.
const (
	// UnansweredToolUses takes the index of the message and the ids.
	UnansweredToolUses = "messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s. Each `tool_use` block must have a corresponding `tool_result` block in the next message."
	UnequalResponses   = "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn."
)

// Endpoint is one path of a provider.
type Endpoint struct {
	Provider Provider
	Protocol protocol.Protocol
	Path     string // for the codec
}

// IDHeader returns the header with the provider's id of a request; empty means none.
func (e Endpoint) IDHeader() string {
	switch e.Provider {
	case Anthropic:
		return "Request-Id"
	case OpenAI:
		return "X-Request-Id"
	case Gemini:
	}
	return ""
}

// InvalidType returns the type that the provider gives to an invalid request.
func (e Endpoint) InvalidType() string {
	if e.Provider == Gemini {
		return InvalidArgument
	}
	return InvalidRequest
}
