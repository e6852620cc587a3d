package gemini

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/codec"
	"github.com/looptape/looptape/providers/internal/wirejson"
)

// DecodeError implements [protocol.Protocol]. The code is the reason of google.rpc.ErrorInfo
// (API_KEY_INVALID), else the status (UNAVAILABLE). RetryAfter comes from google.rpc.RetryInfo.
// A daily quota is not retryable.
func (GenerateContent) DecodeError(status int, _ http.Header, body []byte) *llm.APIError {
	e := readErrorBody(body)
	if e == nil {
		e = &llm.APIError{Message: wirejson.Beginning(body), Retryable: codec.Retryable(status)}
	}
	if status >= http.StatusBadRequest {
		e.Status = status
		e.Retryable = codec.Retryable(status) && e.Code != codeDaily
	}
	if e.Message == "" {
		e.Message = http.StatusText(e.Status)
	}
	return e
}

// readErrorBody reads a body that is an error, or an array of one error, as in a stream without
// alt=sse. It returns nil for other bodies.
func readErrorBody(body []byte) *llm.APIError {
	if !jsonio.Valid(body) {
		return nil
	}
	d := jsonio.NewDec(string(body))
	if d.Peek() == '[' {
		first := true
		if !d.Array() || !d.More(&first) {
			return nil
		}
	}
	if d.Peek() != '{' {
		return nil
	}
	var e *llm.APIError
	kind := ""
	eachMember(&d, func(key string) {
		switch camel(key) {
		case "error":
			e = readError(&d)
		case "errorType": // beside an error that is a string, of imitators
			kind = wirejson.String(&d)
		default:
			d.Skip()
		}
	})
	if e != nil && e.Code == "" {
		e.Code = kind
	}
	return e
}

// codeDaily is the code of an exhausted daily quota.
const codeDaily = "DAILY_QUOTA_EXCEEDED"

// readError reads the member "error".
func readError(d *jsonio.Dec) *llm.APIError {
	e := &llm.APIError{}
	if d.Peek() == '"' {
		e.Message = d.String()
		return e
	}
	if d.Peek() != '{' {
		e.Message = d.Raw()
		return e
	}
	reason, daily := "", false
	eachMember(d, func(key string) {
		switch key {
		case "code":
			if d.Peek() == '"' {
				e.Code = d.String()
				return
			}
			e.Status = int(wirejson.Count(d))
		case "message":
			e.Message = wirejson.String(d)
		case "status":
			e.Code = wirejson.String(d)
		case "details":
			readDetails(d, e, &reason, &daily)
		default:
			d.Skip()
		}
	})
	e.Retryable = codec.Retryable(e.Status) || e.Status == 0 && retryableStatus(e.Code)
	switch {
	case daily:
		e.Code, e.Retryable = codeDaily, false
	case reason != "":
		e.Code = reason
	}
	return e
}

// retryableStatus reports whether a status of google.rpc.Code is temporary.
func retryableStatus(status string) bool {
	switch status {
	case "UNAVAILABLE", "RESOURCE_EXHAUSTED", "INTERNAL", "DEADLINE_EXCEEDED", "ABORTED":
		return true
	}
	return false
}

// readDetails reads the details, which are google.rpc messages in any order.
func readDetails(d *jsonio.Dec, e *llm.APIError, reason *string, daily *bool) {
	if d.Peek() != '[' {
		d.Skip()
		return
	}
	eachElement(d, func() {
		if d.Peek() != '{' {
			d.Skip()
			return
		}
		eachMember(d, func(key string) {
			switch key {
			case "reason":
				*reason = wirejson.String(d)
			case "retryDelay":
				if wait, err := time.ParseDuration(wirejson.String(d)); err == nil && wait > 0 {
					e.RetryAfter = wait
				}
			case "violations":
				*daily = *daily || strings.Contains(d.Raw(), "PerDay")
			default:
				d.Skip()
			}
		})
	})
}

// EncodeError implements [protocol.Protocol]. The status word follows from the status. Another
// code becomes the reason.
func (GenerateContent) EncodeError(e *llm.APIError) []byte {
	status := e.Status
	if status < http.StatusBadRequest {
		status = http.StatusInternalServerError
	}
	word := statusWord(status)
	if isStatusWord(e.Code) {
		word = e.Code
	}
	dst := jsonio.AppendInt([]byte(`{"error":{"code":`), int64(status))
	dst = wirejson.AppendString(wirejson.AppendString(dst, "message", e.Message), "status", word)
	details := []byte{'['}
	if e.Code != "" && e.Code != word {
		details = appendDetail(details, "ErrorInfo", func(dst []byte) []byte {
			return append(wirejson.AppendString(wirejson.AppendString(dst, "reason", e.Code), "domain", "googleapis.com"),
				`,"metadata":{"service":"generativelanguage.googleapis.com"}`...)
		})
	}
	if field, ok := violated(e.Message); ok {
		details = appendDetail(details, "BadRequest", func(dst []byte) []byte {
			dst = wirejson.AppendString(append(wirejson.AppendKey(dst, "fieldViolations"), "[{"...), "field", field)
			return append(wirejson.AppendString(dst, "description", e.Message), "}]"...)
		})
	}
	if e.RetryAfter > 0 {
		details = appendDetail(details, "RetryInfo", func(dst []byte) []byte {
			seconds, _ := json.Marshal(e.RetryAfter.Seconds())
			return wirejson.AppendString(dst, "retryDelay", string(seconds)+"s")
		})
	}
	if len(details) > 1 {
		dst = append(append(wirejson.AppendKey(dst, "details"), details...), ']')
	}
	return append(dst, "}}"...)
}

func appendDetail(dst []byte, kind string, members func([]byte) []byte) []byte {
	dst = wirejson.AppendString(append(wirejson.AppendComma(dst), '{'), "@type", "type.googleapis.com/google.rpc."+kind)
	return append(members(dst), '}')
}

// violated returns the field in a message about the JSON of a request.
func violated(message string) (field string, ok bool) {
	if !strings.HasPrefix(message, "Invalid JSON payload received.") && !strings.HasPrefix(message, "Invalid value at ") {
		return "", false
	}
	_, rest, _ := strings.Cut(message, "at '")
	field, _, ok = strings.Cut(rest, "'")
	return field, ok
}

// statusWords are the google.rpc.Code names of HTTP statuses. The first one of a status is
// written.
var statusWords = []struct {
	status int
	word   string
}{
	{400, "INVALID_ARGUMENT"},
	{401, "UNAUTHENTICATED"},
	{403, "PERMISSION_DENIED"},
	{404, "NOT_FOUND"},
	{409, "ABORTED"},
	{429, "RESOURCE_EXHAUSTED"},
	{499, "CANCELLED"},
	{500, "INTERNAL"},
	{501, "UNIMPLEMENTED"},
	{503, "UNAVAILABLE"},
	{504, "DEADLINE_EXCEEDED"},
	{400, "FAILED_PRECONDITION"},
	{400, "OUT_OF_RANGE"},
	{409, "ALREADY_EXISTS"},
	{500, "DATA_LOSS"},
	{500, "UNKNOWN"},
}

func statusWord(status int) string {
	for _, w := range statusWords {
		if w.status == status {
			return w.word
		}
	}
	if status < http.StatusInternalServerError {
		return statusWords[0].word
	}
	return "UNKNOWN"
}

func isStatusWord(word string) bool {
	for _, w := range statusWords {
		if w.word == word {
			return true
		}
	}
	return false
}
