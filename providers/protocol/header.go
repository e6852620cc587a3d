package protocol

import (
	"net/http"
	"strconv"
	"time"
)

// retryAfter returns the delay that a response asks for: in milliseconds (retry-after-ms of
// OpenAI and Azure), in seconds, or until a time (RFC 9110, 10.2.3), relative to the Date of
// the response.
func retryAfter(h http.Header) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		return limitDelay(ms * float64(time.Millisecond))
	}
	text := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(text, 64); err == nil {
		return limitDelay(s * float64(time.Second))
	}
	until, err := http.ParseTime(text)
	now, errNow := http.ParseTime(h.Get("Date"))
	if err != nil || errNow != nil {
		return 0
	}
	return limitDelay(float64(until.Sub(now)))
}

// maxDelay exceeds what any provider means.
const maxDelay = 24 * time.Hour

// limitDelay returns d between 0 and maxDelay. It returns 0 for NaN.
func limitDelay(d float64) time.Duration {
	switch {
	case d >= float64(maxDelay):
		return maxDelay
	case d > 0:
		return time.Duration(d)
	}
	return 0
}

func requestID(h http.Header) string {
	for _, name := range []string{"X-Request-Id", "Request-Id", "X-Amzn-Requestid", "Apim-Request-Id"} {
		if id := h.Get(name); id != "" {
			return id
		}
	}
	return ""
}
