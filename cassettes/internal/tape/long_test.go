package tape

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/looptape/looptape/cassettes/recording"
)

// A file whose longer bodies stay on disk has the same content.
func TestLongBodiesOnDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.tape")
	rapid.Check(t, func(t *rapid.T) {
		text, head, list := drawFile(t)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := readLong(path, 0, rapid.IntRange(0, 200).Draw(t, "most"))
		if err != nil {
			t.Fatal(err)
		}
		if got == nil {
			return // no body is longer
		}
		want, err := Parse(path, text)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(head, got.Metadata); diff != "" {
			t.Errorf("metadata (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(want.Lines(), got.Lines()); diff != "" {
			t.Errorf("lines (-want +got):\n%s", diff)
		}
		for i := range list {
			x, err := want.Interaction(i)
			if err != nil {
				t.Fatal(err)
			}
			y, err := got.Interaction(i)
			if diff := cmp.Diff(x, y, empty); err != nil || diff != "" {
				t.Errorf("interaction %d: %v (-want +got)\n%s", i, err, diff)
			}
			if y, err := got.Request(i); err != nil || cmp.Diff(x.Request, y.Request, empty) != "" {
				t.Errorf("the request of interaction %d: %v (-want +got)\n%s", i, err, cmp.Diff(x.Request, y.Request, empty))
			}
			answer, err := answerOf(got, i)
			if diff := cmp.Diff(&x.Response, answer, empty); err != nil || diff != "" {
				t.Errorf("answer %d: %v (-want +got)\n%s", i, err, diff)
			}
			if got.Title(i) != want.Title(i) || !bytes.Equal(got.RequestBody(i), want.RequestBody(i)) {
				t.Errorf("interaction %d: other title or body", i+1)
			}
		}
	})
}

// Damage in events that stay on disk is found.
func TestLongBodyDamaged(t *testing.T) {
	x := &recording.Interaction{Request: recording.Request{Method: "GET", URL: "http://a/"}}
	r := &x.Response
	r.Status, r.Proto, r.Header, r.Chunked = 200, "HTTP/1.1", http.Header{"Content-Type": {"text/event-stream"}}, true
	r.Body = []byte(strings.Repeat("data: abc\n\n", 100))
	r.Chunks = EventChunks(r.Body)
	text := Encode(recording.Metadata{}, []*recording.Interaction{x, x}, func(*recording.Interaction) Keys { return Keys{} })
	at := bytes.LastIndex(text, []byte("abc"))
	text[at] = 'x'
	path := filepath.Join(t.TempDir(), "x.tape")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := readLong(path, 0, 50)
	_, want := Parse(path, text)
	if err == nil || err.Error() != want.Error() {
		t.Errorf("got %v, want %v", err, want)
	}
}

// A response that is written in parts has the lines of one that is written as a whole, and its parts
// have all events.
func TestSpool(t *testing.T) {
	dir, n := t.TempDir(), 0
	rapid.Check(t, func(t *rapid.T) {
		n++ // a failed check leaves its journal
		path := filepath.Join(dir, strconv.Itoa(n)+".tape")
		x := drawInteraction(t)
		newline := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "newline")
		var events []string
		for i := range rapid.IntRange(2, 30).Draw(t, "events") {
			events = append(events, fmt.Sprintf("data: %d ", i)+strings.Repeat("a", rapid.IntRange(0, 20).Draw(t, "size"))+newline+newline)
		}
		r := &x.Response
		r.Status, r.Proto, r.Header, r.Body = 200, "HTTP/1.1", http.Header{"Content-Type": {"text/event-stream"}}, []byte(strings.Join(events, ""))
		r.Chunks = drawPieces(t, r.Body, true)
		j, err := CreateJournal(path, recording.Metadata{})
		if err != nil {
			t.Fatal(err)
		}
		s, err := j.NewSpool(1)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Remove()
		body := r.Body
		for from := 0; from < len(events); {
			to := rapid.IntRange(from+1, len(events)).Draw(t, "to")
			size := len(strings.Join(events[from:to], ""))
			if err := s.Add(body[:size], r.Chunks[from:to]); err != nil {
				t.Fatal(err)
			}
			body, from = body[size:], to
		}
		s.End(1, x, Keys{Exact: 7})
		if err := j.AddLong(1, s); err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		if err := j.frames[0].copyTo(&got, 1, make([]byte, 100)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(appendInteraction(nil, 1, x, keyText(Keys{Exact: 7}))), got.String()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if f, err := Load(path); err != nil || f.Len() != 1 {
			t.Errorf("the journal cannot be read: %v", err)
		}
		lines := io.NewSectionReader(s.file, 0, s.size)
		size := PartSize{rapid.IntRange(1, 200).Draw(t, "part"), rapid.IntRange(0, 100).Draw(t, "overlap")}
		last := -1
		if !parts(s.start, s.end, lines, size, func(part *recording.Interaction) bool {
			list := SplitEvents(part.Response.Body)
			first := numberOf(t, list[0])
			if latest := last + 1; first > latest || first == latest && last >= 0 && size.Overlap > maxLine {
				t.Errorf("a part begins with event %d after event %d", first, last)
			}
			last = max(last, numberOf(t, list[len(list)-1]))
			return true
		}) || last != len(events)-1 {
			t.Errorf("the parts have %d events, want %d", last+1, len(events))
		}
		if err := j.Remove(); err != nil {
			t.Fatal(err)
		}
	})
}

const maxLine = 50 // of the events of TestSpool

func numberOf(t *rapid.T, event []byte) (n int) {
	if _, err := fmt.Sscanf(string(event), "data: %d ", &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// What the form of events cannot restore is refused.
func TestSpoolRefuses(t *testing.T) {
	j, err := CreateJournal(filepath.Join(t.TempDir(), "x.tape"), recording.Metadata{})
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{"data: \x00\n\n", "data: ␊\n\n", "data: a\n\r\ndata: b\n\n", "data: a\r\rdata: b\r\r"} {
		s, err := j.NewSpool(1)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Add([]byte(body), EventChunks([]byte(body))); err != ErrEvents {
			t.Errorf("%q: got %v, want %v", body, err, ErrEvents)
		}
		s.Remove()
	}
	if err := j.Remove(); err != nil {
		t.Fatal(err)
	}
	list, err := os.ReadDir(filepath.Dir(j.path))
	if err != nil || len(list) > 0 {
		t.Errorf("files remain: %v, %v", list, err)
	}
}
