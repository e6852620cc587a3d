package protocol

import (
	"bufio"
	"strings"
)

// byteOrderMark may stand before a stream or an answer in one piece.
const byteOrderMark = "\ufeff"

// beginsStream reports whether a body begins as server-sent events do: some servers
// and proxies give them no Content-Type, or another. JSON never begins so. It reads
// no further than it must, and takes nothing off the body.
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

// isField reports whether text begins with a field or a comment of a stream, and
// whether more of it is needed to know.
func isField(text string) (is, may bool) {
	for _, field := range [...]string{":", "data:", "event:", "id:", "retry:"} {
		is = is || strings.HasPrefix(text, field)
		may = may || len(text) < len(field) && strings.HasPrefix(field, text)
	}
	return is, may
}
