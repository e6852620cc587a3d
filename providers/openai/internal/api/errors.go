package api

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/wirejson"
	"github.com/looptape/looptape/providers/protocol"
)

// The types of errors that OpenAI tells.
const (
	typeInvalid = "invalid_request_error"
	typeServer  = "server_error"
	typeLimit   = "requests" // of a rate limit; "tokens" is the other one
	typeQuota   = "insufficient_quota"
)

// appendError appends an error object; what is empty is null.
func AppendError(dst []byte, message, typ, param, code string) []byte {
	dst = jsonio.AppendString(append(dst, `{"error":{"message":`...), message)
	for _, m := range [...][2]string{{"type", typ}, {"param", param}, {"code", code}} {
		dst = append(append(append(dst, `,"`...), m[0]...), `":`...)
		if m[1] == "" {
			dst = append(dst, "null"...)
			continue
		}
		dst = jsonio.AppendString(dst, m[1])
	}
	return append(dst, `}}`...)
}

// encodeError returns the body that tells e. The type follows from the code and
// the status; a code that is the type does not stand twice.
func EncodeError(e *llm.APIError) []byte {
	typ, code := typeInvalid, e.Code
	switch {
	case e.Code == typeQuota:
		typ = typeQuota
	case e.Status == http.StatusTooManyRequests:
		typ = typeLimit
	case e.Status >= http.StatusInternalServerError:
		typ = typeServer
	}
	if code == typ && code != typeQuota {
		code = ""
	}
	return AppendError(nil, e.Message, typ, "", code)
}

// decodeError reads the body of an error response, in OpenAI's form or an
// imitator's. What is neither gives the body's beginning as the message.
func DecodeError(status int, body []byte) *llm.APIError {
	if t, ok := ReadError(string(body)); ok {
		return t.APIError(status)
	}
	return ErrorInfo{Message: wirejson.Beginning(body)}.APIError(status)
}

// told is what a server says of an error.
type ErrorInfo struct {
	Message, Type, Code string
	status              int // as the server counts, which may differ from the response's
}

// readTold reads an error from a JSON text, which may stand in an array (as in
// Google's imitation). It is not ok if nothing of an error is in it.
func ReadError(text string) (t ErrorInfo, ok bool) {
	if !jsonio.Valid([]byte(text)) {
		return t, false
	}
	d := jsonio.NewDec(text)
	if d.Peek() == '[' {
		d.Array()
	}
	if d.Peek() != '{' {
		return t, false
	}
	t.read(&d)
	return t, t != ErrorInfo{}
}

// read takes the members of an error object, or of the object around it:
// OpenAI's {"error":{…}}, vLLM's {"object":"error","message":…}, TGI's
// {"error":"…","error_type":"…"}, OpenRouter's with the words of the provider
// behind it in "metadata", and {"detail":…}.
func (t *ErrorInfo) read(d *jsonio.Dec) {
	d.Object()
	for first := true; ; {
		key, ok := d.Key(&first)
		if !ok {
			return
		}
		switch key {
		case "error":
			if d.Peek() == '{' {
				t.read(d)
				continue
			}
			t.Message = cmp.Or(t.Message, wirejson.String(d))
		case "message":
			t.Message = cmp.Or(wirejson.String(d), t.Message)
		case "detail":
			t.Message = cmp.Or(t.Message, wirejson.Text(d))
		case "type", "error_type":
			t.Type = cmp.Or(t.Type, wirejson.String(d))
		case "code", "status", "status_code", "statusCode":
			t.number(d)
		case "metadata":
			t.metadata(d)
		default:
			d.Skip()
		}
	}
}

// number reads a code, which is a word or a status or, in quotes, both.
func (t *ErrorInfo) number(d *jsonio.Dec) {
	quoted := d.Peek() == '"'
	text := wirejson.Text(d)
	n, _ := strconv.Atoi(text)
	isStatus := n >= 100 && n < 600
	if isStatus {
		t.status = n
	}
	if quoted || !isStatus {
		t.Code = cmp.Or(t.Code, text)
	}
}

// metadata reads what OpenRouter tells of the provider behind it.
func (t *ErrorInfo) metadata(d *jsonio.Dec) {
	if !wirejson.BeginObject(d) {
		return
	}
	for first := true; ; {
		key, ok := d.Key(&first)
		if !ok {
			return
		}
		if raw := wirejson.Text(d); key == "raw" && raw != "" {
			t.Message = strings.TrimPrefix(t.Message+": "+wirejson.Beginning([]byte(raw)), ": ")
		}
	}
}

// apiError returns the error of a response with such a status; a status of
// success, or none, gives way to the one that the server tells.
func (t ErrorInfo) APIError(status int) *llm.APIError {
	if status < http.StatusBadRequest && t.status != 0 {
		status = t.status
	}
	e := &llm.APIError{Status: status, Code: cmp.Or(t.Code, t.Type), Message: t.Message}
	if e.Code == "" && t.status != 0 {
		e.Code = strconv.Itoa(t.status)
	}
	e.Retryable = t.retryable(status)
	return e
}

// retryWords are codes and types of errors that may pass.
var retryWords = []string{
	typeServer, typeLimit, "tokens", "rate_limit_exceeded", "rate_limit_error", "overloaded_error", "overloaded",
	"internal_error", "internal_server_error", "api_error", "timeout", "service_unavailable", "service_unavailable_error",
}

func (t ErrorInfo) retryable(status int) bool {
	switch {
	case t.Code == typeQuota || t.Type == typeQuota:
		return false
	case status >= http.StatusBadRequest:
		return protocol.Retryable(status)
	}
	return slices.Contains(retryWords, t.Code) || slices.Contains(retryWords, t.Type)
}
