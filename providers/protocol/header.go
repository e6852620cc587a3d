package protocol

import (
	"bufio"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// retryAfter returns the delay that a response requests: in milliseconds (retry-after-ms of
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
	if d > 0 {
		return time.Duration(min(d, float64(maxDelay)))
	}
	return 0
}

// byteOrderMark may precede a body.
const byteOrderMark = "\ufeff"

// beginsStream reports whether a body begins like server-sent events. Some servers and proxies
// send another Content-Type or none. JSON never begins so. It only peeks.
func beginsStream(body *bufio.Reader) bool {
	for n := 1; ; n++ {
		head, err := body.Peek(n)
		if err != nil { // the end, or no more than blank lines in all the buffer
			return false
		}
		text := string(head)
		if strings.HasPrefix(byteOrderMark, text) {
			continue
		}
		text = strings.TrimLeft(strings.TrimPrefix(text, byteOrderMark), "\r\n")
		is, may := isField(text)
		if !may {
			return is
		}
	}
}

// isField reports whether text, or longer text, begins with a field or comment of a stream.
func isField(text string) (is, may bool) {
	for _, field := range [...]string{":", "data:", "event:", "id:", "retry:"} {
		is = is || strings.HasPrefix(text, field)
		may = may || len(text) < len(field) && strings.HasPrefix(field, text)
	}
	return is, may
}
