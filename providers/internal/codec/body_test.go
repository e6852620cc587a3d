package codec_test

import (
	"strings"
	"testing"

	"github.com/looptape/looptape/providers/internal/codec"
)

func TestUnexpectedBodyQuotesBeginning(t *testing.T) {
	for body, want := range map[string]string{
		"":                             "the response is empty",
		" \n":                          "the response is empty",
		"<html>no</html>\n":            `the response does not have the format of the protocol; it begins with "<html>no</html>"`,
		strings.Repeat("ä", 100):       `the response does not have the format of the protocol; it begins with "` + strings.Repeat("ä", 100) + `"`,
		strings.Repeat("ä", 101):       `the response does not have the format of the protocol; it begins with "` + strings.Repeat("ä", 100) + `…"`,
		"x" + strings.Repeat("ä", 101): `the response does not have the format of the protocol; it begins with "x` + strings.Repeat("ä", 99) + `…"`,
	} {
		if got := codec.UnexpectedBody([]byte(body)).Error(); got != want {
			t.Errorf("%q: %s", body, got)
		}
	}
}
