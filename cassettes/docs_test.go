package cassettes

import (
	"os"
	"strings"
	"testing"
	"time"
)

// The document shows a cassette that can be read.
func TestDocument(t *testing.T) {
	page, err := os.ReadFile("../docs/cassette-format.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```text\n")
	text, _, _ := strings.Cut(rest, "```\n")
	f, err := Parse("weather.tape", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var list []*Interaction
	for x, err := range f.All() {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, x)
	}
	if got := string(Encode(f.Head, nil, list)); got != text || f.Recorded != time.Unix(1795250000, 0).UTC() {
		t.Errorf("what is shown is not what is written:\n%s", got)
	}
}
