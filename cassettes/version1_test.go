package cassettes

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/looptape/looptape/cassettes/recording"
)

// A cassette of version 1 is read as the cassette of version 2 with the same content.
func TestParseVersion1(t *testing.T) {
	old, err := os.ReadFile("testdata/version1/documented.tape")
	if err != nil {
		t.Fatal(err)
	}
	f, err := Parse("old", old)
	if err != nil {
		t.Fatal(err)
	}
	list := interactionsOf(t, f)
	if f.Recorder != "looptape 0.3.0" || len(list) != 2 || list[1].Response.Termination != recording.Truncated || list[1].Session != "critic" {
		t.Errorf("got %+v and %d interactions", f.Metadata, len(list))
	}
	text := Encode(f.Metadata, nil, list)
	if !strings.HasPrefix(string(text), "looptape-cassette 2\n") {
		t.Errorf("written as %.40s", text)
	}
	now, err := Parse("new", text)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(list, interactionsOf(t, now)); diff != "" {
		t.Errorf("version 2 (-want +got):\n%s", diff)
	}
	if updated, changed, err := UpdateChecksums("old", old); err != nil || changed != nil || string(updated) != string(text) {
		t.Errorf("updated, with changes %q and error %v:\n%s", changed, err, updated)
	}
}

// A journal of version 1 is recovered.
func TestParseVersion1Journal(t *testing.T) {
	f, err := ReadFile("testdata/version1/unclosed.tape.journal")
	if err != nil {
		t.Fatal(err)
	}
	if len(interactionsOf(t, f)) == 0 || f.Incomplete() == nil || f.Recorder == "" {
		t.Errorf("got %+v, %d interactions and %v", f.Metadata, f.Len(), f.Incomplete())
	}
}

// A chunked body of version 1 keeps its chunks.
func TestParseVersion1Chunks(t *testing.T) {
	x := &recording.Interaction{
		Request:  recording.Request{Method: "GET", URL: "https://example.com/"},
		Response: recording.Response{Status: 200, Proto: "HTTP/1.1", Body: []byte("abcdef"), Chunked: true, Chunks: []recording.Chunk{{After: 1e6, Len: 2}, {After: 2e6, Len: 4}}},
	}
	text := string(Encode(recording.Metadata{}, nil, []*recording.Interaction{x}))
	body, _, _ := strings.Cut(strings.NewReplacer("looptape-cassette 2", "looptape-cassette 1", " chunks ", " chunks ", " metadata ", " head ").Replace(text), "=== end")
	f, err := Parse("old", footed(body))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(x.Response.Chunks, interactionsOf(t, f)[0].Response.Chunks); diff != "" {
		t.Errorf("chunks (-want +got):\n%s", diff)
	}
}

func interactionsOf(t *testing.T, f *File) (list []*recording.Interaction) {
	t.Helper()
	for x, err := range f.All() {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, x)
	}
	return list
}
