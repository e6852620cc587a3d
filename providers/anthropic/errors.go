package anthropic

import (
	"net/http"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/wirejson"
	"github.com/looptape/looptape/providers/protocol"
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
		e.Message = wirejson.Beginning(body)
	}
	e.Status = status
	if status >= 300 {
		e.Retryable = protocol.Retryable(status) || e.Code == overloadedError || e.Code == rateLimitError
	}
	return e
}

// readError reads the error in a body or event. It returns false if there is none. Retryable
// follows from the type.
func readError(body []byte) (e *llm.APIError, ok bool) {
	e = &llm.APIError{}
	if !jsonio.ValidUTF8(body) {
		return e, false
	}
	d := jsonio.NewDec(string(body))
	if d.Peek() != '{' {
		return e, false
	}
	told := false
	for key := range d.Members() {
		switch key {
		case "error":
			told = told || d.Peek() != 'n'
			readErrorBody(&d, e)
		case "message":
			e.Message = wirejson.String(&d)
			told = told || e.Message != ""
		case "error_type":
			e.Code = wirejson.String(&d)
		case "request_id":
			e.RequestID = wirejson.String(&d)
		default:
			d.Skip()
		}
	}
	if d.End() != nil {
		return &llm.APIError{}, false
	}
	switch e.Code {
	case overloadedError, rateLimitError, timeoutError, apiError:
		e.Retryable = true
	}
	return e, told
}

// readErrorBody reads the member "error", which is a string at some gateways.
func readErrorBody(d *jsonio.Dec, e *llm.APIError) {
	if d.Peek() != '{' {
		e.Message = wirejson.String(d)
		return
	}
	for key := range d.Members() {
		switch key {
		case "type":
			e.Code = wirejson.String(d)
		case "message":
			e.Message = wirejson.String(d)
		default:
			d.Skip()
		}
	}
}

// EncodeError implements [protocol.Protocol]. Without a code the type follows from the status.
func (Messages) EncodeError(e *llm.APIError) []byte {
	kind := e.Code
	if kind == "" {
		kind = errorType(e.Status)
	}
	dst := append([]byte(nil), `{"type":"error","error":{"type":`...)
	dst = jsonio.AppendString(dst, kind)
	dst = jsonio.AppendString(append(dst, `,"message":`...), e.Message)
	dst = append(dst, '}')
	if e.RequestID != "" {
		dst = jsonio.AppendString(append(dst, `,"request_id":`...), e.RequestID)
	}
	return append(dst, '}')
}

const statusOverloaded = 529

func errorType(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "authentication_error"
	case http.StatusPaymentRequired:
		return "billing_error"
	case http.StatusForbidden:
		return "permission_error"
	case http.StatusNotFound:
		return "not_found_error"
	case http.StatusRequestEntityTooLarge:
		return "request_too_large"
	case http.StatusTooManyRequests:
		return rateLimitError
	case http.StatusGatewayTimeout:
		return timeoutError
	case statusOverloaded:
		return overloadedError
	}
	if status >= 400 && status < 500 {
		return "invalid_request_error"
	}
	return apiError
}
