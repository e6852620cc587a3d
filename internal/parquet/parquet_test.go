package parquet_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/internal/parquet"
)

var columns = []parquet.Column{{Name: "t", Kind: parquet.Text}, {Name: "w", Kind: parquet.Whole}, {Name: "r", Kind: parquet.Real}}

// Write rejects invalid tables. Module conformance, package tables, reads valid ones; the
// goldens of evals/report contain their bytes.
func TestWriteRefuses(t *testing.T) {
	got := map[string]bool{}
	for _, row := range [][]any{{}, {"a", int64(1)}, {1.0, int64(1), 1.0}, {"a", 1.0, 1.0}, {"a", int64(1), "b"}, {"a", 1, 1.0}} {
		if err := parquet.NewWriter(io.Discard, columns).Write(row); err != nil {
			got[err.Error()] = true
		}
	}
	want := map[string]bool{
		"a row of 0 values in a table of 3 columns": true,
		"a row of 2 values in a table of 3 columns": true,
		`the column "t": unexpected type float64`:   true,
		`the column "w": unexpected type float64`:   true,
		`the column "r": unexpected type string`:    true,
		`the column "w": unexpected type int`:       true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
}

// A table that cannot be written is an error in the end, wherever it began.
func TestWriteFails(t *testing.T) {
	write := func(to io.Writer) error {
		w := parquet.NewWriter(to, columns)
		return errors.Join(w.Write([]any{"a", nil, 0.5}), w.Close())
	}
	var whole bytes.Buffer
	if err := write(&whole); err != nil {
		t.Fatal(err)
	}
	for left := range whole.Len() {
		if err := write(&cut{left}); !errors.Is(err, errFull) {
			t.Errorf("after %d of %d bytes: got %v", left, whole.Len(), err)
		}
	}
	if err := write(&cut{whole.Len()}); err != nil {
		t.Error(err)
	}
}

var errFull = errors.New("the disk is full")

// cut accepts this number of bytes and then fails.
type cut struct{ left int }

func (c *cut) Write(p []byte) (int, error) {
	if c.left < len(p) {
		return 0, errFull
	}
	c.left -= len(p)
	return len(p), nil
}
