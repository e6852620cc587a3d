package evals_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/evals/scorers"
)

// countedReader counts the bytes that its reader returns.
type countedReader struct {
	from  io.Reader
	bytes int
}

func (r *countedReader) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	r.bytes += n
	return n, err
}

func (r *countedReader) Close() error { return nil }

// countedFile also supports random access, which archives need.
type countedFile struct {
	countedReader

	at     io.ReaderAt
	random int
}

func (f *countedFile) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.at.ReadAt(p, off)
	f.random += n
	return n, err
}

// TestScoreFilesReadsInputOnce counts what scoring reads of an input, with several scorers and with
// a new journal. Random access is for the head only, from which the format is detected.
func TestScoreFilesReadsInputOnce(t *testing.T) {
	const head = 3 * 4096
	var text strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&text, `{"case":"%d","reward":1,"messages":[{"role":"user","content":"Add 2 and 2."},{"role":"assistant","content":"4"}]}`+"\n", i)
	}
	exact, err := scorers.Parse("exact", "", []byte(`{"expected":["4"]}`))
	if err != nil {
		t.Fatal(err)
	}
	steps, err := scorers.Parse("steps", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, journal := range []bool{false, true} {
		t.Run(fmt.Sprint("journal ", journal), func(t *testing.T) {
			o := &evals.Options{Scorers: []evals.Scoring{{Name: "recorded"}, {Name: "exact", Scorer: exact}, {Name: "steps", Scorer: steps}}}
			if journal {
				f, err := os.Create(filepath.Join(t.TempDir(), "journal"))
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = f.Close() }()
				if o.Journal, err = evals.OpenJournal(f, "test"); err != nil {
					t.Fatal(err)
				}
			}
			stream := &countedReader{from: strings.NewReader(text.String())}
			file := &countedFile{countedReader: countedReader{from: strings.NewReader(text.String())}, at: strings.NewReader(text.String())}
			opened := 0
			for name, from := range map[string]io.ReadCloser{"stream": stream, "file": file} {
				in := evals.Input{Name: name, Open: func() (io.ReadCloser, error) { opened++; return from, nil }}
				r, err := evals.ScoreFiles(context.Background(), []evals.Input{in}, o)
				if err != nil || r.Rows.Len() != 1000 || len(r.Unreadable) > 0 {
					t.Fatalf("%s: got %v, %v, want 1000 rows", name, r, err)
				}
			}
			if opened != 2 || stream.bytes != text.Len() || file.bytes != text.Len() || file.random > head {
				t.Errorf("got %d opens, %d bytes of the stream, and %d and %d of the file, want 2 opens, %d bytes of both, and at most %d by random access",
					opened, stream.bytes, file.bytes, file.random, text.Len(), head)
			}
		})
	}
}
