package tape

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"github.com/looptape/looptape/cassettes/recording"
)

// appendFrame appends a frame to a journal.
func appendFrame(journal, text []byte) []byte {
	return append(append(journal, frameLine(int64(len(text)), Checksum(text))...), text...)
}

// Load of a truncated or changed journal returns the interactions before the damage and
// counts the bytes after them. Without a complete first frame there is nothing to read.
// Load rejects a changed first frame.
func TestJournalDamage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j.tape")
	rapid.Check(t, func(t *rapid.T) {
		text := appendFrame(nil, metadataText(recording.Metadata{Match: "2"}))
		ends := []int{len(text)} // of the head and of each frame
		for i := range rapid.IntRange(1, 4).Draw(t, "frames") {
			text = appendFrame(text, appendInteraction(nil, i+1, drawInteraction(t), keyText(Keys{Exact: uint64(i)})))
			ends = append(ends, len(text))
		}
		place := rapid.IntRange(0, len(text)-1).Draw(t, "place")
		changed := rapid.Bool().Draw(t, "changed")
		damaged := text[:place]
		if changed {
			damaged = bytes.Clone(text)
			damaged[place] ^= byte(1) << rapid.IntRange(0, 7).Draw(t, "bit")
		}
		if err := os.WriteFile(path+JournalSuffix, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		whole := -1
		for ends[whole+1] <= place {
			whole++
		}
		f, err := Load(path)
		if whole < 0 {
			if _, ok := errors.AsType[*recording.FormatError](err); changed && !ok || !changed && !errors.Is(err, fs.ErrNotExist) {
				t.Fatalf("with a head that is damaged: %v", err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		broken, ok := errors.AsType[*recording.IncompleteError](f.Incomplete())
		if want := (recording.IncompleteError{File: path + JournalSuffix, Complete: whole, TrailingBytes: len(damaged) - ends[whole]}); !ok || *broken != want {
			t.Fatalf("got %+v, want %+v", broken, want)
		}
	})
}

func TestIncompleteErrorText(t *testing.T) {
	err := &recording.IncompleteError{File: "x.tape.journal", Complete: 1, TrailingBytes: 20}
	const want = "x.tape.journal: the recording was not closed; complete interactions: 1, bytes lost after them: 20"
	if got := err.Error(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
