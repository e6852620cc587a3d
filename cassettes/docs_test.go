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
	want := appendHead(nil, f.Head)
	for i := range f.Len() {
		x, err := f.Interaction(i)
		if err != nil {
			t.Fatal(err)
		}
		key := matching{}.key(x.Lane, &x.Request)
		if key != f.entries[i].key {
			t.Errorf("the key of interaction %d is %016x, and is made to be %016x", i+1, f.entries[i].key, key)
		}
		want = append(appendInteraction(want, i+1, x, keyText(key)), '\n')
	}
	if got := string(appendFoot(want, f.Len())); got != text || f.Recorded != time.Unix(1795250000, 0).UTC() {
		t.Errorf("what is shown is not what is written:\n%s", got)
	}
}
