package wire

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
)

// inbound is a request as it came, and what it is held against.
type inbound struct {
	endpoint
	lane   string
	cfg    *Config
	key    string // the credential
	models []string
	asked  map[string]value // the input of requests that were answered, by the answer's id
	header http.Header
	body   []byte
	req    *llm.Request // nil if the codec cannot read the body
	err    error        // why it cannot
}

// strict returns the refusal that the real provider would answer a request with;
// nil if it would take it. It is a function of the request, the script and, without a
// lane in the URL, of the models that have answered before. Where
// there is more than one mistake, it is the first in the order: not JSON, unknown
// model, a field, the order of the messages.
func strict(in inbound) *refusal {
	if in.err != nil && !jsonio.Valid(in.body) {
		return in.malformed()
	}
	d := jsonio.NewDec(jsonio.View(in.body))
	body := value(d.Raw()).object()
	var e *refusal
	switch in.proto.Name() {
	case chat:
		e = strictChat(in, body)
	case responses:
		e = strictResponses(in, body)
	case messages:
		e = strictMessages(in, body)
	case generate:
		e = strictGenerate(in, body)
	}
	if e == nil && in.err != nil {
		e = refused("", "%v", in.err) // the codec cannot read it for a reason that no rule has
	}
	return e
}

// malformed is the refusal of a body that is not JSON.
func (in inbound) malformed() *refusal {
	e := &refusal{status: http.StatusBadRequest}
	switch in.provider {
	case OpenAI:
		e.message = "The body of the request is not valid JSON: " + in.err.Error()
	case Anthropic:
		e.message = "The request body is not valid JSON: " + in.err.Error()
	case Gemini:
		e.message = "Invalid JSON payload received. " + in.err.Error()
	}
	return e
}

// unknownModel reports whether there is no such model.
func (in inbound) unknownModel(name string) bool {
	return len(in.cfg.Models) > 0 && !slices.Contains(in.cfg.Models, name)
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
		return refused("SG-17", "API key not valid. Please pass a valid API key.").at("", "API_KEY_INVALID")
	case OpenAI:
	}
	message := "You didn't provide an API key."
	if in.key != "" {
		message = "Incorrect API key provided: ****. You can find your API key at https://platform.openai.com/account/api-keys."
	}
	return &refusal{id: "SO-17", status: http.StatusUnauthorized, code: "invalid_api_key", message: message}
}
