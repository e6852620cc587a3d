package evals_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/trace/importer"
)

const partText = `{"format":"looptape-eval","version":2,"scorers":["recorded"],"runs":2,"unreadable":1}
{"run":{"case":"a","epoch":0,"run":"run-1","file":"f","line":1,"scores":{"score":1}}}
{"run":{"case":"b","epoch":2,"run":"run-2","file":"f","line":2,"scores":{},"errors":{"score":"no answer"}}}
{"unreadable":{"file":"f","line":3,"error":"messages[0]: expected an object"}}
`

// The file is what it was, and reads back as it is, also through other tools.
func TestScoreFile(t *testing.T) {
	r, err := evals.ScoreFiles(t.Context(), []evals.Input{file("f", runs(`a/0=1 b/2="<high>"`)+"{\"messages\":[7]}\n")}, &evals.Options{
		Scorers: []evals.Scoring{{Name: "recorded", Scorer: evals.ScorerFunc(func(ctx context.Context, run *importer.Run) []evals.Score {
			scores := evals.Recorded(ctx, run)
			if scores[0].Err != nil {
				scores[0].Err = errors.New("no answer")
			}
			return scores
		})}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(partText, written(t, r)); diff != "" {
		t.Errorf("the file (-want +got):\n%s", diff)
	}
	for name, text := range map[string]string{
		"as it is":          partText,
		"without its end":   strings.TrimSuffix(partText, "\n"),
		"with other space":  strings.ReplaceAll(partText, `":`, `": `),
		"with a new member": strings.ReplaceAll(partText, `"epoch"`, `"new":[1],"epoch"`),
		"of a newer writer": strings.ReplaceAll(partText, `"unreadable":1}`, `"unreadable":1,"more":{}}`),
	} {
		if diff := cmp.Diff(partText, written(t, score(t, file("part", text)))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// The largest score that there may be is read.
func TestPartLargestScore(t *testing.T) {
	r, err := evals.ReadResult("part", strings.NewReader(strings.Replace(partText, `"score":1`, `"score":-1e100`, 1)))
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Rows.At(0).Scores.Of("score"); got != -1e100 {
		t.Errorf("got %v, want -1e100", got)
	}
}

// TestScoreFileCompressed reads compressed score files, from a file and from a pipe.
func TestScoreFileCompressed(t *testing.T) {
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	if _, err := zip.Write([]byte(partText)); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "part.gz")
	if err := os.WriteFile(name, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	for way, in := range map[string]evals.Input{
		"a file": {Name: name, Open: func() (io.ReadCloser, error) { return os.Open(name) }},
		"a text": file("part.gz", b.String()),
		"a pipe": {Name: "pipe", Open: func() (io.ReadCloser, error) { return piped(t, b.Bytes()), nil }},
	} {
		if diff := cmp.Diff(partText, written(t, score(t, in))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", way, diff)
		}
	}
}

// piped is a pipe of the operating system, which has no path.
func piped(t *testing.T, text []byte) io.ReadCloser {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return r
}

// A file that is not whole, or not right, is refused with the place.
func TestPartBroken(t *testing.T) {
	lines := strings.SplitAfter(partText, "\n")
	for name, c := range map[string]struct {
		text string
		want string
	}{
		"nothing":               {"", "part: the file is empty"},
		"a recording":           {runs("a/0=1"), "part:1: not a score file of looptape eval score -o"},
		"words":                 {"hello\n", "part:1: not a score file"},
		"a newer version":       {strings.Replace(partText, `"version":2`, `"version":3`, 1), "part:1: version 3: this version of looptape reads 1 to 2"},
		"no version":            {strings.Replace(partText, `"version":2`, `"version":0`, 1), "part:1: version 0"},
		"a run is removed":      {lines[0] + lines[1] + lines[3], "part: got 1 of 2 runs and 1 of 1 unreadable records"},
		"a run too many":        {lines[0] + lines[1] + lines[1] + lines[2] + lines[3], "part: got 3 of 2 runs"},
		"an error is removed":   {lines[0] + lines[1] + lines[2], "part: got 2 of 2 runs and 0 of 1 unreadable records"},
		"a line is cut":         {partText[:len(lines[0])+20], "part:2: unexpected end of JSON input"},
		"an empty line":         {lines[0] + "\n" + lines[1], "part:2: unexpected end"},
		"a line without end":    {lines[0] + strings.Repeat(" ", 64<<20), "part:2: bufio.Scanner: token too long"},
		"broken gzip":           {"\x1f\x8b7", "part: unexpected EOF"},
		"another line":          {lines[0] + "{}\n", "part:2: neither a run nor an unreadable record"},
		"a score beyond reason": {strings.Replace(partText, `"score":1`, `"score":1e101`, 1), `part:2: the score 1e+101 of "score": want a number within ±1e+100`},
		"no epoch":              {strings.Replace(partText, `"epoch":0`, `"epoch":-1`, 1), "part:2: the run has neither an epoch nor a digest"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := evals.ReadResult("part", strings.NewReader(c.text))
			fails(t, err, c.want)
		})
	}
	for i := range len(partText) - 1 {
		if _, err := evals.ReadResult("part", strings.NewReader(partText[:i])); err == nil {
			t.Errorf("cut after %d bytes: no error", i)
		}
	}
	gone := errors.New("gone")
	_, err := evals.ReadResult("part", iotest.ErrReader(gone))
	if fails(t, err, "part: gone"); !errors.Is(err, gone) {
		t.Errorf("%v is not the reader's error", err)
	}
}

// A result that was read is written as the same bytes, if it reads at all.
func FuzzReadResult(f *testing.F) {
	f.Add(partText)
	f.Add(strings.Replace(partText, `"epoch":0`, `"epoch":-1,"digest":"00"`, 1))
	f.Fuzz(func(t *testing.T, text string) {
		r, err := evals.ReadResult("part", strings.NewReader(text))
		if err != nil {
			return
		}
		again := reread(t, r)
		if diff := cmp.Diff(written(t, r), written(t, again)); diff != "" {
			t.Errorf("written again (-first +second):\n%s", diff)
		}
		whole, err := evals.Merge(r)
		if err != nil {
			return
		}
		if _, err := whole.Summary(nil); err != nil {
			t.Log(err)
		}
	})
}
