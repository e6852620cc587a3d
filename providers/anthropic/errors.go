package anthropic

import (
	"cmp"
	"net/http"
	"slices"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/codec"
)

// Types of temporary errors (Anthropic, "Errors").
const (
	overloadedError = "overloaded_error"
	rateLimitError  = "rate_limit_error"
	timeoutError    = "timeout_error"
	apiError        = "api_error"
)

// DecodeError implements [protocol.Protocol].
func (Messages) DecodeError(status int, _ http.Header, body []byte) *llm.APIError {
	e, ok := readError(body)
	if !ok {
		e.Message = codec.Beginning(body)
	}
	e.Status = status
	if status >= 300 {
		e.Retryable = codec.Retryable(status) || e.Code == overloadedError || e.Code == rateLimitError
	}
	return e
}

// readError reads the error in a body or event, which is a string at some gateways. It returns
// false if there is none. Retryable follows from the type.
func readError(body []byte) (e *llm.APIError, ok bool) {
	e = &llm.APIError{}
	if !jsonio.IsObject(jsonio.View(body)) {
		return e, false
	}
	d := jsonio.NewDec(string(body))
	codec.Read(&d, nil,
		"error", func() {
			if ok = true; d.Peek() == '"' {
				e.Message = d.String()
				return
			}
			codec.Read(&d, nil, "type", &e.Code, "message", &e.Message)
		},
		"message", &e.Message,
		"error_type", &e.Code,
		"request_id", &e.RequestID)
	e.Retryable = slices.Contains([]string{overloadedError, rateLimitError, timeoutError, apiError}, e.Code)
	return e, ok || e.Message != ""
}

// EncodeError implements [protocol.Protocol]. Without a code the type follows from the status.
func (Messages) EncodeError(e *llm.APIError) []byte {
	w := codec.Writer{Dst: []byte(`{"type":"error","error":{`)}
	w.Text("type", cmp.Or(e.Code, errorType(e.Status)))
	w.Text("message", e.Message)
	w.Add("}")
	w.OptionalText("request_id", e.RequestID)
	return append(w.Dst, '}')
}

const statusOverloaded = 529

var errorTypes = map[int]string{
	http.StatusUnauthorized:          "authentication_error",
	http.StatusPaymentRequired:       "billing_error",
	http.StatusForbidden:             "permission_error",
	http.StatusNotFound:              "not_found_error",
	http.StatusRequestEntityTooLarge: "request_too_large",
	http.StatusTooManyRequests:       rateLimitError,
	http.StatusGatewayTimeout:        timeoutError,
	statusOverloaded:                 overloadedError,
}

func errorType(status int) string {
	if status >= 400 && status < 500 {
		return cmp.Or(errorTypes[status], "invalid_request_error")
	}
	return cmp.Or(errorTypes[status], apiError)
}
