// Package gemini speaks the wire protocol of Gemini's generateContent and
// streamGenerateContent, as the Gemini API and Vertex AI serve it, in both
// directions. A client of it:
//
//	model := &protocol.Client{
//		Protocol:  gemini.GenerateContent{},
//		BaseURL:   gemini.BaseURL,
//		Authorize: gemini.Key(key),
//	}
//
// For Vertex AI the base URL ends with /publishers/google, and the authorizer
// sets a bearer token.
//
// What Gemini calls otherwise, and what it cannot say:
//
//   - A tool's schema goes as parametersJsonSchema, that of the answer as
//     responseJsonSchema; a schema in Gemini's own form (type: "STRING",
//     nullable) is read as JSON Schema. If a tool is strict and the choice of
//     tools is free, the mode is VALIDATED, which holds for all of them.
//   - Settings.ReasoningEffort is the thinkingLevel, or the thinkingBudget if it is a
//     whole number.
//   - Request.Extra goes into the body. Its generationConfig and toolConfig are
//     joined with what the request says, member by member, and win; its tools
//     stand behind those of the request, and what it says of a function is added
//     to the tool of that name.
//   - A call that the provider gave no id is sent back without one, and so is its
//     result; when a request is read, such a call gets the id that the loop would
//     give it, and its result the same, by name and order.
//   - A name that begins with a digit or a dash gets an underscore in front, which
//     is taken away again when a name is read.
//   - Arguments that are no JSON object, or are nested deeper than Gemini reads,
//     are sent as {}.
//   - A refusal is a text like any other, a text that is empty is left out, and so
//     is a message with nothing in it.
//   - A result is {"result": text} or {"error": text}. Its media stand in it for
//     Gemini 3, and behind it for older models.
//   - For Gemini 3, the first call of a message without a signature (one that
//     another model made) gets the value that Google names for it.
//
// Opaque data of a part: thoughtSignature, thought, videoMetadata,
// mediaResolution and partMetadata under their own names, and what else this
// package does not know within a member "gemini". Members of other providers are
// not sent, and neither are their parts (see protocol.Omits) and reasoning that
// carries such members. What it does not know of an answer and its candidate, such as
// groundingMetadata, is in the opaque data of the message, within a member
// "gemini_answer", and is not sent back.
package gemini

import (
	"net/http"

	"github.com/looptape/looptape/providers/protocol"
)

// BaseURL is where the Gemini API is.
const BaseURL = "https://generativelanguage.googleapis.com/v1beta"

// GenerateContent is the protocol. Its values are all the same.
type GenerateContent struct{}

var _ protocol.Protocol = GenerateContent{}

// Name implements protocol.Protocol.
func (GenerateContent) Name() string { return name }

const name = "gemini"

// NewDecoder implements protocol.Protocol.
func (GenerateContent) NewDecoder() protocol.Decoder { return &decoder{} }

// NewEncoder implements protocol.Protocol.
func (GenerateContent) NewEncoder(a protocol.ResponseMeta) protocol.Encoder { return newEncoder(a) }

// Key returns an authorizer that sends an API key in the header that the Gemini
// API reads.
func Key(key string) func(*http.Request) error {
	return func(r *http.Request) error {
		r.Header.Set("X-Goog-Api-Key", key)
		return nil
	}
}
