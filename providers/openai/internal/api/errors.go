// Package api contains what Chat Completions and Responses share: error objects, usage, rules
// of tool schemas, and the names of opaque members.
package api

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/codec"
)

// Error types of the OpenAI API.
const (
	typeInvalid = "invalid_request_error"
	typeServer  = "server_error"
	typeLimit   = "requests" // of a rate limit; "tokens" is the other one
	typeQuota   = "insufficient_quota"
)

// AppendError appends an error object. Empty strings become null.
func AppendError(dst []byte, message, typ, param, code string) []byte {
	w := codec.Writer{Dst: append(dst, `{"error":{`...)}
	w.Text("message", message)
	w.TextOrNull("type", typ)
	w.TextOrNull("param", param)
	w.TextOrNull("code", code)
	return append(w.Dst, "}}"...)
}

// EncodeError returns the body of an error response. The type follows from the code and the
// status. A code equal to the type is omitted.
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

// DecodeError reads the body of an error response of OpenAI or an OpenAI-compatible server. Of
// other bodies the message contains the beginning.
func DecodeError(status int, body []byte) *llm.APIError {
	if t, ok := ReadError(string(body)); ok {
		return t.APIError(status)
	}
	return ErrorInfo{Message: codec.Beginning(body)}.APIError(status)
}

// ErrorInfo contains the members of an error object.
type ErrorInfo struct {
	Message, Type, Code string
	status              int // as the server counts, which may differ from the response's
}

// ReadError reads an error from JSON, which may be in an array (Google). It returns false if
// the JSON contains no error.
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

// read reads the members of an error object or of the object around it: {"error":{…}} of
// OpenAI, {"object":"error","message":…} of vLLM, {"error":"…","error_type":"…"} of TGI,
// "metadata" of OpenRouter with the provider's own error, and {"detail":…}.
func (t *ErrorInfo) read(d *jsonio.Dec) {
	for key := range d.Members() {
		switch key {
		case "error":
			if d.Peek() == '{' {
				t.read(d)
				continue
			}
			t.Message = cmp.Or(t.Message, codec.String(d))
		case "message":
			t.Message = cmp.Or(codec.String(d), t.Message)
		case "detail":
			t.Message = cmp.Or(t.Message, codec.Text(d))
		case "type", "error_type":
			t.Type = cmp.Or(t.Type, codec.String(d))
		case "code", "status", "status_code", "statusCode":
			t.number(d)
		case "metadata":
			t.metadata(d)
		default:
			d.Skip()
		}
	}
}

// number reads a code: a string, a status or a status in a string.
func (t *ErrorInfo) number(d *jsonio.Dec) {
	quoted := d.Peek() == '"'
	text := codec.Text(d)
	n, _ := strconv.Atoi(text)
	isStatus := n >= 100 && n < 600
	if isStatus {
		t.status = n
	}
	if quoted || !isStatus {
		t.Code = cmp.Or(t.Code, text)
	}
}

// metadata reads the provider's own error, which OpenRouter adds.
func (t *ErrorInfo) metadata(d *jsonio.Dec) {
	for key := range codec.Fields(d) {
		if raw := codec.Text(d); key == "raw" && raw != "" {
			t.Message = strings.TrimPrefix(t.Message+": "+codec.Beginning([]byte(raw)), ": ")
		}
	}
}

// APIError returns the error. The status in the body counts if status is no error.
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

var retryWords = []string{
	typeServer, typeLimit, "tokens", "rate_limit_exceeded", "rate_limit_error", "overloaded_error", "overloaded",
	"internal_error", "internal_server_error", "api_error", "timeout", "service_unavailable", "service_unavailable_error",
}

func (t ErrorInfo) retryable(status int) bool {
	switch {
	case t.Code == typeQuota || t.Type == typeQuota:
		return false
	case status >= http.StatusBadRequest:
		return codec.Retryable(status)
	}
	return slices.Contains(retryWords, t.Code) || slices.Contains(retryWords, t.Type)
}

// ReadUsage reads the usage of a response with the names of Chat Completions, Responses or
// OpenAI-compatible servers. Some servers write the names of both protocols, with 0 for one.
func ReadUsage(d *jsonio.Dec) (u llm.Usage) {
	var total int64
	for key := range codec.Fields(d) {
		switch key {
		case "prompt_tokens", "input_tokens":
			u.InputTokens = cmp.Or(codec.Count(d), u.InputTokens)
		case "completion_tokens", "output_tokens":
			u.OutputTokens = cmp.Or(codec.Count(d), u.OutputTokens)
		case "total_tokens":
			total = codec.Count(d)
		case "prompt_tokens_details", "completion_tokens_details", "input_tokens_details", "output_tokens_details":
			readUsageDetails(d, &u)
		case "prompt_cache_hit_tokens", "cached_tokens": // DeepSeek, and Moonshot
			u.CacheReadInputTokens = cmp.Or(u.CacheReadInputTokens, codec.Count(d))
		case "cache_creation_input_tokens": // Vercel's gateway
			u.CacheCreationInputTokens = cmp.Or(u.CacheCreationInputTokens, codec.Count(d))
		}
	}
	// xAI, and Vercel's gateway for Gemini, exclude reasoning from the output tokens.
	if u.ReasoningOutputTokens > u.OutputTokens || total == u.InputTokens+u.OutputTokens+u.ReasoningOutputTokens {
		u.OutputTokens += u.ReasoningOutputTokens
	}
	return u
}

func readUsageDetails(d *jsonio.Dec, u *llm.Usage) {
	for key := range codec.Fields(d) {
		switch key {
		case "cached_tokens":
			u.CacheReadInputTokens = cmp.Or(codec.Count(d), u.CacheReadInputTokens)
		case "cache_write_tokens": // OpenRouter
			u.CacheCreationInputTokens = cmp.Or(codec.Count(d), u.CacheCreationInputTokens)
		case "reasoning_tokens":
			u.ReasoningOutputTokens = cmp.Or(codec.Count(d), u.ReasoningOutputTokens)
		}
	}
}
