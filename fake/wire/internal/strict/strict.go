// Package strict rejects the requests that the real providers reject, by protocol, with
// the status, type, code and message of the provider.
package strict

import (
	"net/http"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire/internal/reply"
	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
)

// Config is what a server has.
type Config struct {
	Script *fake.Model
	Key    string   // the only valid credential; empty means that any is valid
	Models []string // the models; empty means that any is known
	// Render renders a response with its quirks, EditScript applies those that change
	// the script. Both are nil if there are no quirks.
	Render     func(*reply.Response) *reply.Reply
	EditScript func(*reply.Response)
}

// Request is a request with what it is checked against.
type Request struct {
	reply.Endpoint
	Config   *Config
	Session  string   // of the URL
	Key      string   // the credential
	Answered []string // models that have answered before, if there is no session
	// Input returns the input that the response with an id answers, as JSON.
	Input   func(responseID string) string
	Header  http.Header
	Body    []byte
	Decoded *llm.Request // nil if the codec cannot decode the body
	Err     error        // the error of the codec
}

// Check returns the error that the real provider returns for a request, or nil. It
// depends on the request, on the script and on in.Answered alone. Of several errors it
// returns the first in this order: JSON, model, members, order of the messages.
func Check(in Request) *Error {
	if in.Err != nil && !jsonio.Valid(in.Body) {
		message := map[reply.Provider]string{
			reply.OpenAI:    "The body of the request is not valid JSON: ",
			reply.Anthropic: "The request body is not valid JSON: ",
			reply.Gemini:    "Invalid JSON payload received. ",
		}[in.Provider]
		return reject("", "%s%v", message, in.Err)
	}
	body := parse(in.Body).object()
	var e *Error
	switch in.Protocol.Name() {
	case reply.Chat:
		e = strictChat(in, body)
	case reply.Responses:
		e = strictResponses(in, body)
	case reply.Messages:
		e = strictMessages(in, body)
	case reply.Generate:
		e = strictGenerate(in, body)
	}
	if e == nil && in.Err != nil {
		e = reject("", "%v", in.Err) // the codec rejects it by none of the rules
	}
	return e
}
