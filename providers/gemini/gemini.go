// Package gemini encodes and decodes requests, responses, streams and errors of the methods
// generateContent and streamGenerateContent of the Gemini API and Vertex AI.
//
//	model := &protocol.Client{
//		Protocol:  gemini.GenerateContent{},
//		BaseURL:   gemini.BaseURL,
//		Authorize: gemini.Key(key),
//	}
//
// For Vertex AI set the fields of the [protocol.Client]: the base URL ends with
// /publishers/google, and the authorizer sets a bearer token.
//
// The protocol differs from llm in these points:
//
//   - The schema of a tool is parametersJsonSchema, that of the response responseJsonSchema. A
//     schema in Gemini's own form (type: "STRING", nullable) is read as JSON Schema. If a tool
//     is strict and the tool choice is free, the mode is VALIDATED for all tools.
//   - Settings.ReasoningEffort is the thinkingLevel, or the thinkingBudget if it is an integer.
//   - Request.Extra replaces members of the body. The members of its generationConfig and
//     toolConfig are joined with those of the request and win. Its tools follow those of the
//     request. Members of a function in it are added to the tool of that name.
//   - A call without an id is sent back without one, and so is its result. A decoded request
//     has the ids that the loop generates, matched by name and order.
//   - A name that begins with a digit or dash gets an underscore in front. Decoding removes it.
//   - Arguments that are not a JSON object, or nest too deeply for Gemini, become {}.
//   - A refusal is a plain text. Empty text and empty messages are omitted.
//   - A result is {"result": text} or {"error": text}. It contains its media for Gemini 3. For
//     older models they follow it.
//   - For Gemini 3, the first call of a message without a signature gets the value that Google
//     names for calls of other models.
//
// Opaque data of a part contains thoughtSignature, thought, videoMetadata, mediaResolution and
// partMetadata under their own names, and unknown members in "gemini". Requests omit members
// of other providers, their parts (see [protocol.Protocol]) and their reasoning. Unknown members
// of a response and its candidate, such as groundingMetadata, are in the member "gemini_answer"
// of the message's opaque data. They are not sent back.
package gemini

import (
	"net/http"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/protocol"
)

// BaseURL is the base URL of the Gemini API.
const BaseURL = "https://generativelanguage.googleapis.com/v1beta"

// GenerateContent is the protocol. It is safe for concurrent use.
type GenerateContent struct{}

var _ protocol.Protocol = GenerateContent{}

// Name implements [protocol.Protocol].
func (GenerateContent) Name() string { return name }

const name = "gemini"

// NewDecoder implements [protocol.Protocol].
func (GenerateContent) NewDecoder() protocol.Decoder { return &decoder{} }

// NewEncoder implements [protocol.Protocol].
func (GenerateContent) NewEncoder(a protocol.ResponseMeta) protocol.Encoder {
	return &encoder{meta: a, usage: llm.Usage{InputTokens: a.Input}}
}

// Key returns an authorizer that sends an API key in the header X-Goog-Api-Key.
func Key(key string) func(*http.Request) error {
	return func(r *http.Request) error {
		r.Header.Set("X-Goog-Api-Key", key)
		return nil
	}
}
