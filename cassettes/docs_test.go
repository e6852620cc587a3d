package cassettes

import (
	"bytes"
	"github.com/looptape/looptape/cassettes/recording"
	"os"
	"strings"
	"testing"
	"time"
)

// The document contains a valid cassette.
func TestDocument(t *testing.T) {
	page, err := os.ReadFile("../docs/cassette-format.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```text\n")
	shown, _, _ := strings.Cut(rest, "```\n")
	text := []byte(shown)
	f, err := Parse("weather.tape", text)
	if err != nil {
		t.Fatal(err)
	}
	var list []*recording.Interaction
	for x, err := range f.All() {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, x)
	}
	if got := Encode(f.Metadata, nil, list); !bytes.Equal(got, text) || f.Recorded != time.Unix(1795250000, 0).UTC() {
		t.Errorf("what is shown is not what is written:\n%s", got)
	}
}
