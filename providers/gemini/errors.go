package gemini

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
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
	e.Retryable = codec.Retryable(e.Status) || e.Status == 0 && slices.Contains(temporary, e.Code)
	switch {
	case daily:
		e.Code, e.Retryable = codeDaily, false
	case reason != "":
		e.Code = reason
	}
	return e
}

// temporary are the statuses of google.rpc.Code that a later request may not get.
var temporary = []string{"UNAVAILABLE", "RESOURCE_EXHAUSTED", "INTERNAL", "DEADLINE_EXCEEDED", "ABORTED"}

// readDetails reads google.rpc messages and reports whether they name a daily quota.
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
	word := statusWord(status, e.Code)
	var w, details codec.Writer
	w.Add(`{"error":{"code":%,"message":%,"status":%`, int64(status), e.Message, word)
	details.Add("[")
	detail := func(kind string) { details.Next(`{"@type":%`, "type.googleapis.com/google.rpc."+kind) }
	if e.Code != "" && e.Code != word {
		detail("ErrorInfo")
		details.Add(`,"reason":%,"domain":"googleapis.com"`, e.Code)
		details.Add(`,"metadata":{"service":"generativelanguage.googleapis.com"}}`)
	}
	if field, ok := violated(e.Message); ok {
		detail("BadRequest")
		details.Add(`,"fieldViolations":[{"field":%,"description":%}]}`, field, e.Message)
	}
	if e.RetryAfter > 0 {
		detail("RetryInfo")
		seconds, _ := json.Marshal(e.RetryAfter.Seconds())
		details.Add(`,"retryDelay":%}`, string(seconds)+"s")
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

// statusWords are the google.rpc.Code names of HTTP statuses. The first of a status is written.
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

// statusWord returns the word for a status: code if it is one.
func statusWord(status int, code string) string {
	word := "UNKNOWN"
	if status < http.StatusInternalServerError {
		word = statusWords[0].word
	}
	for _, w := range slices.Backward(statusWords) {
		if w.word == code {
			return code
		}
		if w.status == status {
			word = w.word
		}
	}
	return word
}
