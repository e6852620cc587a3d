// Package protocol is what the wire protocols of models have in common: the
// shape of a codec, in both directions, and the client that makes one an
// llm.Model over HTTP. What the bytes mean is for the package of each provider.
package protocol

import (
	"net/http"
	"strings"

	"github.com/looptape/looptape/llm"
)

// Protocol is the codec of one wire protocol. It is safe for use by many
// goroutines.
type Protocol interface {
	// Name is the protocol's name in reports: openai-chat, openai-responses,
	// anthropic-messages, gemini.
	Name() string

	// EncodeRequest returns what asks the question. It fails for what the
	// protocol cannot say, such as a part of a kind that it does not have; what
	// another provider has left in the history is left out (see Omits).
	EncodeRequest(req *llm.Request) (*Request, error)
	// DecodeRequest reads what a client sent. Path is the one behind the base
	// URL. What the protocol knows and llm.Request does not goes to Extra.
	DecodeRequest(path string, body []byte) (*llm.Request, error)

	// DecodeResponse reads a buffered answer. An error that the provider tells with
	// a status of success is an *llm.APIError; for what is no answer at all see
	// UnexpectedBody.
	DecodeResponse(body []byte, emit func(llm.Event)) error
	// EncodeResponse appends the buffered answer of a turn.
	EncodeResponse(dst []byte, a ResponseMeta, t *llm.Response) ([]byte, error)

	// NewDecoder returns what reads one streamed answer.
	NewDecoder() Decoder
	// NewEncoder returns what writes one streamed answer.
	NewEncoder(a ResponseMeta) Encoder

	// DecodeError reads the error that a response with such a status tells. It
	// is never nil: of a body that is not the protocol's it has the beginning.
	DecodeError(status int, header http.Header, body []byte) *llm.APIError
	// EncodeError returns the body that tells an error.
	EncodeError(e *llm.APIError) []byte
}

// Request is a question on the wire.
type Request struct {
	Path   string // behind the base URL, with a leading slash
	Query  string
	Header http.Header // beside Content-Type and what the authorizer sets; may be nil
	Body   []byte
}

// Decoder reads the events of one streamed answer. It is for one goroutine.
type Decoder interface {
	// Event takes the next event of the stream; emit gets what it says, in
	// order. Done says that it is the terminal mark: nothing is waited for after
	// it, and End is called. An error is the end of the answer: an *llm.APIError
	// if the provider told it. Data may be used again when Event has returned.
	Event(name string, data []byte, emit func(llm.Event)) (done bool, err error)
	// End takes the end of the stream. It fails if the answer is not complete
	// (ErrTruncated).
	End(emit func(llm.Event)) error
}

// Encoder writes one streamed answer as the provider does. It is for one
// goroutine.
type Encoder interface {
	// Event writes what carries ev, if anything does.
	Event(ev llm.Event, write func(name string, data []byte)) error
	// End writes what ends the stream.
	End(write func(name string, data []byte)) error
}

// Answer is what an answer on the wire says of itself, beside what the model said.
type ResponseMeta struct {
	ID      string // of the response
	Model   string
	Created int64 // seconds since 1970
	// Input are the input tokens, for the protocols that tell them before the
	// first word.
	Input int64
}

// IsName reports whether a text has letters, digits, _ and - alone, and one at least: what
// every provider takes as the name of a tool.
func IsName(s string) bool {
	other := func(r rune) bool {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return false
		}
		return true
	}
	return s != "" && !strings.ContainsFunc(s, other)
}
