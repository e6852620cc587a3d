package convert_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/looptape/looptape/cassettes/convert"
	"github.com/looptape/looptape/cassettes/recording"
)

// Strings that a YAML reader parses as another type are quoted. YAML 1.1 has more of them than
// YAML 1.2.
func TestQuotes(t *testing.T) {
	for _, s := range []string{
		"=", "<<", "~", "null", "y", "No", "on", "OFF", "TRUE",
		"017", "0o7", "0x1F", "0b11", "+1", "1_000", "0b_", "-0x_", "12:30:45", "-1:30",
		"1.", ".5", ".5_", "-.5", "1e3", "1.1e+312", "._5E-400", "685_230.15", "1:59.5", ".inf", "-.Inf", ".NaN",
		"2001-01-01", "2001-1-1", "2001-12-14T21:59:43Z", "2001-12-14t1:59:43.10-05:00", "2001-12-14 21:59:43.10 -5", "2001-1-1\t21:59:43. Z",
	} {
		x := answer(body(s))
		x.Request.Header, x.Request.Body = http.Header{"X-A": {s}}, []byte(s)
		for _, f := range []convert.Format{convert.GoVCR1, convert.GoVCR2, convert.VCRPy} {
			text, _, err := convert.Write(f, recording.Metadata{}, []*recording.Interaction{x})
			if err != nil {
				t.Fatal(err)
			}
			quoted := `"` + strings.ReplaceAll(s, "\t", `\t`) + `"`
			if got := strings.Count(string(text), quoted); got != 3 {
				t.Errorf("%s has %s %d times, want 3\n%s", f, quoted, got, text)
			}
		}
	}
}

// An unambiguous string is written without quotes.
func TestPlain(t *testing.T) {
	for _, s := range []string{"==", "a=1", "127.0.0.1:8080", "1.2.3", "0x_g", "2001-12-14Z", "12001-12-14 1:00", "200 OK", "e.1"} {
		text, _, err := convert.Write(convert.VCRPy, recording.Metadata{}, []*recording.Interaction{answer(body(s))})
		if err != nil || !strings.Contains(string(text), "string: "+s+"\n") {
			t.Errorf("%q is not plain: %v\n%s", s, err, text)
		}
	}
}
