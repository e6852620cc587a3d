package openai

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/protocol"
)

// Error is OpenAI's error object; what is empty is null on the wire.
type Error struct {
	Message string
	Type    string // such as invalid_request_error
	Param   string // the path of what is wrong in the request
	Code    string
}

// AppendJSON appends the body of an error response.
func (e Error) AppendJSON(dst []byte) []byte {
	dst = jsonio.AppendString(append(dst, `{"error":{"message":`...), e.Message)
	for _, m := range [...][2]string{{"type", e.Type}, {"param", e.Param}, {"code", e.Code}} {
		dst = append(append(append(dst, `,"`...), m[0]...), `":`...)
		if m[1] == "" {
			dst = append(dst, "null"...)
			continue
		}
		dst = jsonio.AppendString(dst, m[1])
	}
	return append(dst, `}}`...)
}

// The types of errors that OpenAI tells.
const (
	typeInvalid = "invalid_request_error"
	typeServer  = "server_error"
	typeLimit   = "requests" // of a rate limit; "tokens" is the other one
	typeQuota   = "insufficient_quota"
)

// encodeError returns the body that tells e. The type follows from the code and
// the status; a code that is the type does not stand twice.
func encodeError(e *llm.APIError) []byte {
	out := Error{Message: e.Message, Type: typeInvalid, Code: e.Code}
	switch {
	case e.Code == typeQuota:
		out.Type = typeQuota
	case e.Status == http.StatusTooManyRequests:
		out.Type = typeLimit
	case e.Status >= http.StatusInternalServerError:
		out.Type = typeServer
	}
	if out.Code == out.Type && out.Code != typeQuota {
		out.Code = ""
	}
	return out.AppendJSON(nil)
}

// decodeError reads the body of an error response, in OpenAI's form or an
// imitator's. What is neither gives the body's beginning as the message.
func decodeError(status int, body []byte) *llm.APIError {
	if t, ok := readTold(string(body)); ok {
		return t.apiError(status)
	}
	return told{message: protocol.Beginning(body)}.apiError(status)
}

// told is what a server says of an error.
type told struct {
	message, typ, code string
	status             int // as the server counts, which may differ from the response's
}

// readTold reads an error from a JSON text, which may stand in an array (as in
// Google's imitation). It is not ok if nothing of an error is in it.
func readTold(text string) (t told, ok bool) {
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
	return t, t != told{}
}

// read takes the members of an error object, or of the object around it:
// OpenAI's {"error":{…}}, vLLM's {"object":"error","message":…}, TGI's
// {"error":"…","error_type":"…"}, OpenRouter's with the words of the provider
// behind it in "metadata", and {"detail":…}.
func (t *told) read(d *jsonio.Dec) {
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
			t.message = cmp.Or(t.message, word(d))
		case "message":
			t.message = cmp.Or(word(d), t.message)
		case "detail":
			t.message = cmp.Or(t.message, anyText(d))
		case "type", "error_type":
			t.typ = cmp.Or(t.typ, word(d))
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
func (t *told) number(d *jsonio.Dec) {
	quoted := d.Peek() == '"'
	text := anyText(d)
	n, _ := strconv.Atoi(text)
	isStatus := n >= 100 && n < 600
	if isStatus {
		t.status = n
	}
	if quoted || !isStatus {
		t.code = cmp.Or(t.code, text)
	}
}

// metadata reads what OpenRouter tells of the provider behind it.
func (t *told) metadata(d *jsonio.Dec) {
	if !object(d) {
		return
	}
	for first := true; ; {
		key, ok := d.Key(&first)
		if !ok {
			return
		}
		if raw := anyText(d); key == "raw" && raw != "" {
			t.message = strings.TrimPrefix(t.message+": "+protocol.Beginning([]byte(raw)), ": ")
		}
	}
}

// apiError returns the error of a response with such a status; a status of
// success, or none, gives way to the one that the server tells.
func (t told) apiError(status int) *llm.APIError {
	if status < http.StatusBadRequest && t.status != 0 {
		status = t.status
	}
	e := &llm.APIError{Status: status, Code: cmp.Or(t.code, t.typ), Message: t.message}
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

func (t told) retryable(status int) bool {
	switch {
	case t.code == typeQuota || t.typ == typeQuota:
		return false
	case status >= http.StatusBadRequest:
		return protocol.Retryable(status)
	}
	return slices.Contains(retryWords, t.code) || slices.Contains(retryWords, t.typ)
}
