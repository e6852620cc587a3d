package protocol

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// UnexpectedBody is the error of a body that is none of the protocol's: an error page
// of a proxy, nothing at all.
func UnexpectedBody(body []byte) error {
	if len(strings.TrimSpace(string(body))) == 0 {
		return fmt.Errorf("the answer is empty")
	}
	return fmt.Errorf("the answer is none that the protocol knows; it begins with %q", Beginning(body))
}

// cutMark stands where the rest of a text was left out.
const cutMark = "…"

// Beginning is the first part of a body, for an error.
func Beginning(body []byte) string {
	const most = 200
	text := strings.TrimSpace(string(body[:min(len(body), 4*most)]))
	if len(text) <= most {
		return text
	}
	end := most
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + cutMark
}
