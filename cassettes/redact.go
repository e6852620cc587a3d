package cassettes

import "strings"

// plainRedacted is a text without what tells one redacted secret from another.
func plainRedacted(s string) string {
	if strings.HasPrefix(s, redactedMark) {
		return redactedMark + "]"
	}
	return s
}

// redactedMark begins what stands in the place of a secret.
const redactedMark = "[redacted"
