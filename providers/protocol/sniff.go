package protocol

import (
	"bufio"
	"strings"
)

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

// isField reports whether text begins with a field or comment of a stream, and whether longer
// text may.
func isField(text string) (is, may bool) {
	for _, field := range [...]string{":", "data:", "event:", "id:", "retry:"} {
		is = is || strings.HasPrefix(text, field)
		may = may || len(text) < len(field) && strings.HasPrefix(field, text)
	}
	return is, may
}
