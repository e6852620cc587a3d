package protocol

import (
	"net/http"
	"strconv"
	"time"
)

// retryAfter reads how long a response asks to wait: in milliseconds
// (retry-after-ms, of OpenAI and Azure), in seconds, or until a time (RFC 9110,
// 10.2.3), which counts from the response's own Date.
func retryAfter(h http.Header) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		return wait(ms * float64(time.Millisecond))
	}
	text := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(text, 64); err == nil {
		return wait(s * float64(time.Second))
	}
	until, err := http.ParseTime(text)
	now, errNow := http.ParseTime(h.Get("Date"))
	if err != nil || errNow != nil {
		return 0
	}
	return wait(float64(until.Sub(now)))
}

// longestWait is more than any provider means.
const longestWait = 24 * time.Hour

// wait is d, or 0 or the longest wait where d is beyond them. NaN is 0.
func wait(d float64) time.Duration {
	switch {
	case d >= float64(longestWait):
		return longestWait
	case d > 0:
		return time.Duration(d)
	}
	return 0
}

// requestID is what the provider calls the request.
func requestID(h http.Header) string {
	for _, name := range []string{"X-Request-Id", "Request-Id", "X-Amzn-Requestid", "Apim-Request-Id"} {
		if id := h.Get(name); id != "" {
			return id
		}
	}
	return ""
}

// Retryable reports whether a request that was answered with such a status may
// succeed later: 408 Request Timeout, 409 Conflict, 429 Too Many Requests and what
// failed on the server's side, Anthropic's 529 Overloaded among them.
func Retryable(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		return true
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
		return false
	}
	return status >= 500
}
