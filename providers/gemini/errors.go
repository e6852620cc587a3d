package gemini

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/codec"
)

// DecodeError implements [protocol.Protocol]. The code is the reason of google.rpc.ErrorInfo
// (API_KEY_INVALID), else the status (UNAVAILABLE). RetryAfter comes from google.rpc.RetryInfo.
// A daily quota is not retryable.
func (GenerateContent) DecodeError(status int, _ http.Header, body []byte) *llm.APIError {
	e := readErrorBody(body)
	if e == nil {
		e = &llm.APIError{Message: codec.Beginning(body), Retryable: codec.Retryable(status)}
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
		d.Array()
	}
	if d.Peek() != '{' {
		return nil
	}
	var e *llm.APIError
	kind := "" // in addition to an error that is a string, of Gemini-compatible servers
	lenient.Read(&d, nil, "error", func() { e = readError(&d) }, "errorType", &kind)
	if e != nil {
		e.Code = cmp.Or(e.Code, kind)
	}
	return e
}

const codeDaily = "DAILY_QUOTA_EXCEEDED"

func readError(d *jsonio.Dec) *llm.APIError {
	e := &llm.APIError{}
	if d.Peek() != '{' {
		e.Message = codec.Text(d)
		return e
	}
	reason, daily := "", false
	lenient.Read(d, nil,
		"code", func() {
			if d.Peek() == '"' {
				e.Code = d.String()
				return
			}
			e.Status = int(codec.Count(d))
		},
		"message", &e.Message,
		"status", &e.Code,
		"details", func() { daily = readDetails(d, e, &reason) })
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

// readDetails reads the details, which are google.rpc messages in any order. It reports whether
// they name a daily quota.
func readDetails(d *jsonio.Dec, e *llm.APIError, reason *string) (daily bool) {
	for range codec.Items(d) {
		lenient.Read(d, nil,
			"reason", reason,
			"retryDelay", func() {
				if wait, err := time.ParseDuration(codec.String(d)); err == nil && wait > 0 {
					e.RetryAfter = wait
				}
			},
			"violations", func() { daily = strings.Contains(d.Raw(), "PerDay") || daily })
	}
	return daily
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
	w := codec.Writer{Dst: []byte(`{"error":{`)}
	w.Int("code", int64(status))
	w.Text("message", e.Message)
	w.Text("status", word)
	details := codec.Writer{Dst: []byte{'['}}
	detail := func(kind string) { details.Next(`{"@type":"type.googleapis.com/google.rpc.` + kind + `"`) }
	if e.Code != "" && e.Code != word {
		detail("ErrorInfo")
		details.Text("reason", e.Code)
		details.Add(`,"domain":"googleapis.com","metadata":{"service":"generativelanguage.googleapis.com"}}`)
	}
	if field, ok := violated(e.Message); ok {
		detail("BadRequest")
		details.Raw("fieldViolations", "[{")
		details.Text("field", field)
		details.Text("description", e.Message)
		details.Add("}]}")
	}
	if e.RetryAfter > 0 {
		detail("RetryInfo")
		seconds, _ := json.Marshal(e.RetryAfter.Seconds())
		details.Text("retryDelay", string(seconds)+"s")
		details.Add("}")
	}
	if len(details.Dst) > 1 {
		w.Raw("details", string(details.Dst)+"]")
	}
	return append(w.Dst, "}}"...)
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
