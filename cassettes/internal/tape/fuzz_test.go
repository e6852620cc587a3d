package tape

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	cmpdiff "github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/cassettes/recording"
)

// shownFile returns the cassette of the format document.
func shownFile(t testing.TB) []byte {
	page, err := os.ReadFile("../../../docs/cassette-format.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```text\n")
	text, _, _ := strings.Cut(rest, "```\n")
	return []byte(text)
}

// encodeAny writes a cassette with the checksums of the request bodies as keys.
func encodeAny(h recording.Metadata, list []*recording.Interaction) []byte {
	return Encode(h, list, func(x *recording.Interaction) Keys { return Keys{Exact: uint64(Checksum(x.Request.Body))} })
}

// Parse reads a file or returns an error with its line. UpdateChecksums returns a valid
// cassette without changing its content.
func FuzzParse(f *testing.F) {
	f.Add(shownFile(f))
	f.Add([]byte("looptape-cassette 1\n\n=== 1 GET x -> failed 1s\n>\n<! failed \"a\"\n--- > text 0 00000000 < text 0 00000000 pieces 0+0ms key 1\n\n=== end 1 interaction crc 00000000\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := Parse("x", bytes.Clone(text))
		if err != nil {
			if at, ok := errors.AsType[*recording.FormatError](err); !ok || at.Line < 0 || at.Line > bytes.Count(text, []byte("\n"))+2 {
				t.Fatalf("the error %v is of no line", err)
			}
		} else {
			readAll(t, file)
		}
		sealed, _, err := UpdateChecksums("x", bytes.Clone(text), encodeAny)
		if err != nil {
			return
		}
		file, err = Parse("x", sealed)
		if err != nil {
			t.Fatalf("checksums updated: %v\n%s", err, sealed)
		}
		readAll(t, file)
		again, changed, err := UpdateChecksums("x", sealed, encodeAny)
		if err != nil || changed != nil || !bytes.Equal(again, sealed) {
			t.Fatalf("checksums updated twice: %v, %q\n%s\n%s", err, changed, sealed, again)
		}
	})
}

// readAll reads all valid interactions. A response that is read alone is equal.
func readAll(t *testing.T, f *File) {
	t.Helper()
	for i := range f.Len() {
		x, err := f.Interaction(i)
		if err != nil {
			if _, ok := errors.AsType[*recording.FormatError](err); !ok {
				t.Fatal(err)
			}
			continue
		}
		if r, err := answerOf(f, i); err != nil || cmpdiff.Diff(&x.Response, r, empty) != "" {
			t.Fatalf("alone it is %v, %v:\n%s", r, err, f.text)
		}
	}
}

// The complete frames of a journal are read, and the bytes after them are counted.
func FuzzJournal(f *testing.F) {
	head := appendFrame(nil, metadataText(recording.Metadata{Match: "1"}))
	f.Add(append(bytes.Clone(head), "=== frame 0 00000000\n=== frame 9 12345678\n=== 1 GET"...))
	f.Add(appendFrame(head, []byte("=== 1 GET x -> failed 1s\n>\n<! failed\n--- > text 0 00000000 < text 0 00000000\n")))
	f.Add(appendFrame(nil, head))
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := parseJournal("x", bytes.Clone(text))
		if err != nil {
			if at, ok := errors.AsType[*recording.FormatError](err); !ok || at.File != "x" {
				t.Fatalf("the error %v is of no file", err)
			}
			return
		}
		if lost := file.Incomplete().(*recording.IncompleteError).TrailingBytes; lost < 0 || lost > len(text) {
			t.Fatalf("%d bytes lost", lost)
		}
		readAll(t, file)
	})
}
