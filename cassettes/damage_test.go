package cassettes_test

import (
	"bytes"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"github.com/looptape/looptape/cassettes"
	"github.com/looptape/looptape/cassettes/internal/match"
	"github.com/looptape/looptape/cassettes/internal/tape"
	"github.com/looptape/looptape/cassettes/recording"
)

// Open of a truncated or changed journal replays the interactions before the damage and
// counts the bytes after them; Close succeeds. Without a complete first frame there is
// nothing to replay. Open rejects a changed first frame.
func TestOpenDamagedJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j.tape")
	rapid.Check(t, func(t *rapid.T) {
		journal, err := tape.CreateJournal(path, recording.Metadata{Match: match.Matcher{}.Name()})
		if err != nil {
			t.Fatal(err)
		}
		read := func() []byte {
			text, err := os.ReadFile(cassettes.JournalPath(path))
			if err != nil {
				t.Fatal(err)
			}
			return text
		}
		ends := []int{len(read())} // of the first frame and of each interaction
		for i := range rapid.IntRange(1, 4).Draw(t, "frames") {
			body := rapid.SliceOfN(rapid.Byte(), 0, 200)
			x := &recording.Interaction{
				Request:  recording.Request{Method: "POST", URL: "http://example.com/", Header: http.Header{}, Body: body.Draw(t, "request")},
				Response: recording.Response{Status: 200, Proto: "HTTP/1.1", Header: http.Header{}, Body: body.Draw(t, "response")},
			}
			if err := journal.Add(i+1, x, tape.Keys{Exact: uint64(i)}); err != nil {
				t.Fatal(err)
			}
			ends = append(ends, len(read()))
		}
		text := read()
		if err := journal.Remove(); err != nil {
			t.Fatal(err)
		}
		at := rapid.IntRange(0, len(text)-1).Draw(t, "at")
		changed := rapid.Bool().Draw(t, "changed")
		damaged := text[:at]
		if changed {
			damaged = bytes.Clone(text)
			damaged[at] ^= byte(1) << rapid.IntRange(0, 7).Draw(t, "bit")
		}
		if err := os.WriteFile(cassettes.JournalPath(path), damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := os.Remove(cassettes.JournalPath(path)); err != nil {
				t.Fatal(err)
			}
		}()
		complete := -1
		for ends[complete+1] <= at {
			complete++
		}
		c, err := cassettes.Open(path, &cassettes.Options{AllowUnused: true})
		if complete < 0 {
			if _, ok := errors.AsType[*recording.FormatError](err); changed && !ok || !changed && !errors.Is(err, fs.ErrNotExist) {
				t.Fatalf("damaged first frame: got %v", err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		incomplete, ok := errors.AsType[*recording.IncompleteError](c.Incomplete())
		if want := (recording.IncompleteError{File: cassettes.JournalPath(path), Complete: complete, TrailingBytes: len(damaged) - ends[complete]}); !ok || *incomplete != want {
			t.Fatalf("got %+v, want %+v", incomplete, want)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
