// Package strict rejects the requests that the real providers reject, by protocol, with
// the status, type, code and message of the provider.
package strict

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire/internal/reply"
	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/openai"
)

// Config is what a server has.
type Config struct {
	Script *fake.Model
	Key    string   // the only valid credential; empty means that any is valid
	Models []string // the models; empty means that any is known
	// Render renders a response with its quirks, in each form in which it was sent. EditScript applies
	// those that change the script. EditScript is nil if there are no quirks.
	Render     func(*reply.Response) []*reply.Reply
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
	check := map[string]func(in Request, body object) *Error{
		reply.Chat: strictChat, reply.Responses: strictResponses, reply.Messages: strictMessages, reply.Generate: strictGenerate,
	}[in.Protocol.Name()]
	e := check(in, parse(in.Body).object())
	if e == nil && in.Err != nil {
		e = reject("", "%v", in.Err) // the codec rejects it by none of the rules
	}
	return e
}

// CheckConversation returns the error for the tools and the messages of a request, as far as its
// body shows it alone, or nil. It checks neither the settings nor what depends on the responses
// before. The body is valid JSON.
func CheckConversation(protocolName, model string, src []byte) *Error {
	body := parse(src).object()
	switch protocolName {
	case reply.Chat:
		return chatConversation(body, model)
	case reply.Responses:
		items := objects(body.get("input"))
		return cmp.Or(responsesConversation(body, items), checkDuplicates(nil, items), unfollowed(items))
	case reply.Messages:
		history := messagesIn(body.get("messages"))
		all := func(block) bool { return true }
		return cmp.Or(
			loneSurrogate(jsonio.View(src)),
			systemBlocks(body),
			messagesConversation(body, history),
			messagesThinking(body.get("thinking").text("type"), merge(history), all),
			prefilled(model, history),
		)
	case reply.Generate:
		return generateConversation(body, contentsIn(asArray(body.get("contents"))), model)
	}
	return nil
}

// Error is an error that the client caused.
type Error struct {
	ID      string // of the [Rule]; may be empty
	Status  int
	Type    string // empty means the type of an invalid request
	Param   string // the position in the request; only OpenAI reports it
	Code    string
	Message string
	Setup   bool // the loop is correct: the script has no response, the model is unknown, or the body is compressed
	Beyond  bool // the script has no response or attempt left
}

// reject returns the error of a rule, or one with status 400 if id is empty.
func reject(id, format string, args ...any) *Error {
	e := &Error{ID: id, Status: http.StatusBadRequest, Message: fmt.Sprintf(format, args...)}
	if i := slices.IndexFunc(rules, func(r Rule) bool { return r.ID == id }); i >= 0 {
		r := rules[i]
		e.Status, e.Type, e.Param, e.Code = r.Status, r.Type, r.Param, r.Code
	}
	return e
}

// at sets the position in the request, and the code. An error of a rule needs it only if
// the position has an index.
func (e *Error) at(param, code string) *Error {
	e.Param, e.Code = param, code
	return e
}

// Body returns the error in the provider's envelope.
func (e *Error) Body(to reply.Endpoint, requestID string) []byte {
	if to.Provider == reply.OpenAI {
		return openai.Error{Message: e.Message, Type: e.Type, Param: e.Param, Code: e.Code}.AppendJSON(nil)
	}
	api := &llm.APIError{Status: e.Status, Code: cmp.Or(e.Code, e.Type), Message: e.Message}
	if to.Provider == reply.Anthropic {
		api.RequestID = requestID
	}
	return to.Protocol.EncodeError(api)
}

// Unreadable returns the error of a body that is too large or incomplete.
func Unreadable(err error) *Error {
	if most, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return &Error{Status: http.StatusRequestEntityTooLarge, Message: fmt.Sprintf("the body has more than %d bytes", most.Limit)}
	}
	return &Error{Status: http.StatusBadRequest, Message: "the body is incomplete: " + err.Error()}
}

// Encoded returns the error of a body with a content encoding. Some providers accept it.
func Encoded(encoding string) *Error {
	return &Error{Status: http.StatusUnsupportedMediaType, Setup: true, Message: fmt.Sprintf("the content encoding %q is not supported: send the body of the request without it", encoding)}
}

// Unauthorized returns the error of a wrong or missing credential, or nil. The error
// contains no part of the credential.
func (in Request) Unauthorized() *Error {
	right := in.Config.Key
	if in.Key != "" && (right == "" || in.Key == right) {
		return nil
	}
	switch {
	case in.Provider == reply.Anthropic:
		return reject("SA-21", "invalid x-api-key")
	case in.Provider == reply.Gemini:
		return reject("SG-17", "API key not valid. Please pass a valid API key.")
	case in.Key == "":
		return reject("SO-17", "You didn't provide an API key.")
	}
	return reject("SO-17", "Incorrect API key provided: ****. You can find your API key at https://platform.openai.com/account/api-keys.")
}

// unknownModel reports whether the server does not have the model.
func (in Request) unknownModel(name string) bool {
	return len(in.Config.Models) > 0 && !slices.Contains(in.Config.Models, name)
}

// UnknownModel returns the error of a request for an unknown model, or nil.
func (in Request) UnknownModel(name string) *Error {
	switch in.Provider {
	case reply.Anthropic:
		return unknownClaude(in, name)
	case reply.Gemini:
		return unknownGemini(in, name, "generateContent")
	case reply.OpenAI:
	}
	return unknownOpenAI(in, name)
}
