package wire_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/looptape/looptape/fake/wire"
)

// Any two forms of OpenAI's protocols can be shown in one answer: the server answers
// in HTTP, the loop ends, and what every run must hold is held.
func TestQuirkPairs(t *testing.T) {
	for _, protocol := range []string{"openai-chat", "openai-responses"} {
		var forms []wire.QuirkForm
		for _, f := range wire.Quirks() {
			if slices.Contains(f.Protocols, protocol) && !strings.HasPrefix(f.ID, "QT-") {
				forms = append(forms, f)
			}
		}
		for i, a := range forms {
			t.Run(protocol+"/"+a.ID+"-"+a.Form, func(t *testing.T) {
				for _, b := range forms[i+1:] {
					testPair(t, protocol, a, b)
				}
			})
		}
	}
}

func testPair(t *testing.T, protocol string, a, b wire.QuirkForm) {
	t.Helper()
	for _, word := range []string{"streamed", "buffered"} {
		if word == "buffered" && (a.Streamed || b.Streamed) {
			continue
		}
		pair := []string{a.ID + ":" + a.Form, b.ID + ":" + b.Form}
		quirks := make([]wire.Quirk, len(pair))
		for i, s := range pair {
			q, err := wire.ParseQuirk(strings.TrimSuffix(s, ":"))
			if err != nil {
				t.Fatal(err)
			}
			quirks[i] = q
		}
		o := over(t, "openai/everything", protocol, deliveries[word], quirks...)
		before := t.Failed()
		o.holds(t)
		for i, x := range o.exchanges {
			if x.response == nil || x.err != nil {
				t.Errorf("answer %d broke off: %v", i+1, x.err)
			}
		}
		if t.Failed() && !before {
			t.Errorf("%s with %s and %s; what follows is not looked at:\n%s", word, pair[0], pair[1], o.Trace())
			return
		}
	}
}
