package cassettes

import (
	"bytes"
	"testing"
	"time"
)

// The document shows a cassette that can be read.
func TestDocument(t *testing.T) {
	text := shownFile(t)
	f, err := Parse("weather.tape", text)
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
	if got := Encode(f.Metadata, nil, list); !bytes.Equal(got, text) || f.Recorded != time.Unix(1795250000, 0).UTC() {
		t.Errorf("what is shown is not what is written:\n%s", got)
	}
}
