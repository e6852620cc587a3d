package match

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Mark is what stands in the place of a secret: "[redacted #a1b2 51 chars]". It is the
// same for the same secret, so that a recording that is made again is the same, and a
// reader sees where two secrets differ.
//
// The four digits are 16 bits of its SHA-256, less for less than 16 bytes: they tell
// nothing that helps to find a key, and of a password that can be guessed they leave
// most guesses possible. There is no salt: one in the file would not keep anybody from
// guessing, and one that is thrown away would change all marks with each recording.
func Placeholder(secret string) string {
	digits := 4
	if len(secret) < 2*MinSecret {
		digits = 2
	}
	if len(secret) < MinSecret {
		digits = 1
	}
	sum := sha256.Sum256([]byte(secret))
	return "[redacted #" + hex.EncodeToString(sum[:])[:digits] + " " + strconv.Itoa(utf8.RuneCountInString(secret)) + " chars]"
}

// leastEcho is how long a secret is that is looked for everywhere.
const MinSecret = 8

// urlMark is a mark as it stands in a URL.
func EscapedPlaceholder(mark string) string { return url.PathEscape(mark) }

// markForm is a mark, also as URLs and forms have it, and URLs in them.
var PlaceholderPattern = regexp.MustCompile(`(?:\[|%(?:25)*5B)redacted(?: |\+|%(?:25)*20)(?:#|%(?:25)*23)[0-9a-f]{1,4}(?: |\+|%(?:25)*20)[0-9]+(?: |\+|%(?:25)*20)chars(?:\]|%(?:25)*5D)`)

// hasMark reports whether a part of a text was redacted.
func HasPlaceholder(text string) bool {
	return strings.Contains(text, "redacted") && PlaceholderPattern.MatchString(text)
}

// plainRedacted is a text without what tells one redacted secret from another. What
// stands in the place of a mark is in no text.
func plainRedacted(text []byte) []byte {
	if !bytes.Contains(text, []byte("redacted")) {
		return text
	}
	return PlaceholderPattern.ReplaceAll(text, []byte("[redacted\xff]"))
}

// sameButMarks reports whether a text is another one, in which marks stand for what the
// text says.
func sameButMarks(was, now string) bool {
	for {
		at := PlaceholderPattern.FindStringIndex(was)
		if at == nil {
			return was == now
		}
		mark := was[at[0]:at[1]]
		if !strings.HasPrefix(now, was[:at[0]]) {
			return false
		}
		was, now = was[at[1]:], now[at[0]:]
		rest, same := strings.CutPrefix(now, mark)
		if !same {
			if rest, same = cutMarked(now, mark); !same {
				return false
			}
		}
		now = rest
	}
}

// cutMarked cuts what a mark stands for off a text.
func cutMarked(text, mark string) (rest string, is bool) {
	words := strings.Fields(mark) // one in percent encoding is one word
	if len(words) < 4 {
		return "", false
	}
	left, err := strconv.Atoi(words[2])
	if err != nil || left < MinSecret { // which is looked for nowhere else
		return "", false
	}
	end := len(text)
	for i := range text {
		if left == 0 {
			end = i
			break
		}
		left--
	}
	if left > 0 || Placeholder(text[:end]) != mark {
		return "", false
	}
	return text[end:], true
}
