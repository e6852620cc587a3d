package wire

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/openai"
)

// inbound is a request as it came, and what it is held against.
type inbound struct {
	endpoint
	lane   string
	cfg    *Config
	header http.Header
	key    string // the credential
	body   []byte
	req    *llm.Request // nil if the codec cannot read the body
	err    error        // why it cannot
}

// strict returns the refusal that the real provider would answer a request with;
// nil if it would take it. It is a function of the request and the script.
func strict(in inbound) *refusal {
	if in.err != nil {
		if told, ok := errors.AsType[*llm.APIError](in.err); ok {
			return &refusal{status: told.Status, code: told.Code, message: told.Message}
		}
		return &refusal{status: http.StatusBadRequest, message: in.err.Error()}
	}
	return nil
}

// refusal is an error that the client is to blame for.
type refusal struct {
	id      string // of the rule; may be empty
	status  int
	kind    string // the type; empty for the one that goes with the status
	param   string // where in the request; only OpenAI tells it
	code    string
	message string
}

// unreadable is the refusal of a body that is too long or breaks off.
func unreadable(err error) *refusal {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return &refusal{status: http.StatusRequestEntityTooLarge, message: fmt.Sprintf("the body has more than %d bytes", maxBody)}
	}
	return &refusal{status: http.StatusBadRequest, message: "the body breaks off: " + err.Error()}
}

// unauthorized is the refusal of a request with a wrong credential or none. No
// part of it is repeated.
func (in inbound) unauthorized() *refusal {
	right := in.cfg.Key
	if in.key != "" && (right == "" || in.key == right) {
		return nil
	}
	switch in.provider {
	case Anthropic:
		return &refusal{id: "SA-21", status: http.StatusUnauthorized, kind: "authentication_error", message: "invalid x-api-key"}
	case Gemini:
		return &refusal{id: "SG-17", status: http.StatusBadRequest, kind: "INVALID_ARGUMENT", code: "API_KEY_INVALID", message: "API key not valid. Please pass a valid API key."}
	case OpenAI:
	}
	message := "You didn't provide an API key."
	if in.key != "" {
		message = "Incorrect API key provided: ****. You can find your API key at https://platform.openai.com/account/api-keys."
	}
	return &refusal{id: "SO-17", status: http.StatusUnauthorized, code: "invalid_api_key", message: message}
}

// refuse answers with a refusal, and notes it.
func (x *exchange) refuse(e *refusal) {
	id := "req_" + name(x.place)
	body := e.body(x, id)
	x.server.mu.Lock()
	x.server.report.Refusals = append(x.server.report.Refusals, Refusal{
		Request: x.n, Protocol: x.proto.Name(), Lane: x.lane, ID: e.id,
		Status: e.status, Type: e.kind, Param: e.param, Code: e.code, Message: e.message,
	})
	x.server.mu.Unlock()
	x.w.Header().Set("Content-Type", "application/json")
	if h := x.idHeader(); h != "" {
		x.w.Header().Set(h, id)
	}
	x.w.WriteHeader(e.status)
	_, _ = x.w.Write(body) // the client may be gone
}

// body returns the refusal in the provider's envelope, and fills in its type.
func (e *refusal) body(x *exchange, id string) []byte {
	switch x.provider {
	case OpenAI:
		if e.kind == "" {
			e.kind = "invalid_request_error"
		}
		return openai.Error{Message: e.message, Type: e.kind, Param: e.param, Code: e.code}.AppendJSON(nil)
	case Anthropic:
		return x.proto.EncodeError(&llm.APIError{Status: e.status, Code: e.kind, Message: e.message, RequestID: id})
	case Gemini:
	}
	code := e.code
	if code == "" {
		code = e.kind
	}
	return x.proto.EncodeError(&llm.APIError{Status: e.status, Code: code, Message: e.message})
}
