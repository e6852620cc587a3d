package protocol_test

import (
	"strings"
	"testing"

	"github.com/looptape/looptape/providers/protocol"
)

func TestNotAnswer(t *testing.T) {
	for body, want := range map[string]string{
		"":                             "the answer is empty",
		" \n":                          "the answer is empty",
		"<html>no</html>\n":            `the answer is none that the protocol knows; it begins with "<html>no</html>"`,
		strings.Repeat("ä", 100):       `the answer is none that the protocol knows; it begins with "` + strings.Repeat("ä", 100) + `"`,
		strings.Repeat("ä", 101):       `the answer is none that the protocol knows; it begins with "` + strings.Repeat("ä", 100) + `…"`,
		"x" + strings.Repeat("ä", 101): `the answer is none that the protocol knows; it begins with "x` + strings.Repeat("ä", 99) + `…"`,
	} {
		if got := protocol.UnexpectedBody([]byte(body)).Error(); got != want {
			t.Errorf("%q: %s", body, got)
		}
	}
}
