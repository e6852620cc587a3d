package strict

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/looptape/looptape/fake/wire/internal/reply"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/openai"
)

// Error is an error that the client caused.
type Error struct {
	ID      string // of the [Rule]; may be empty
	Status  int
	Type    string // empty means the type of an invalid request
	Param   string // the position in the request; only OpenAI reports it
	Code    string
	Message string
	Setup   bool // the loop is correct: the script has no response, or the model is unknown
}

// reject returns an error with status 400.
func reject(id, format string, args ...any) *Error {
	return &Error{ID: id, Status: http.StatusBadRequest, Message: fmt.Sprintf(format, args...)}
}

// at sets the position in the request, and the code.
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

// MaxBody is the maximum size of a request body in bytes.
const MaxBody = 64 << 20

// Unreadable returns the error of a body that is too large or incomplete.
func Unreadable(err error) *Error {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return &Error{Status: http.StatusRequestEntityTooLarge, Message: fmt.Sprintf("the body has more than %d bytes", MaxBody)}
	}
	return &Error{Status: http.StatusBadRequest, Message: "the body is incomplete: " + err.Error()}
}

// Unauthorized returns the error of a wrong or missing credential, or nil. The error
// contains no part of the credential.
func (in Request) Unauthorized() *Error {
	right := in.Config.Key
	if in.Key != "" && (right == "" || in.Key == right) {
		return nil
	}
	switch in.Provider {
	case reply.Anthropic:
		return &Error{ID: "SA-21", Status: http.StatusUnauthorized, Type: "authentication_error", Message: "invalid x-api-key"}
	case reply.Gemini:
		return reject("SG-17", "API key not valid. Please pass a valid API key.").at("", "API_KEY_INVALID")
	case reply.OpenAI:
	}
	message := "You didn't provide an API key."
	if in.Key != "" {
		message = "Incorrect API key provided: ****. You can find your API key at https://platform.openai.com/account/api-keys."
	}
	return &Error{ID: "SO-17", Status: http.StatusUnauthorized, Code: "invalid_api_key", Message: message}
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
