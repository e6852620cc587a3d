package evals_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/looptape/looptape/evals"
)

// tb is what *testing.T and *rapid.T have in common.
type tb interface {
	Helper()
	Errorf(format string, args ...any)
	Fatal(args ...any)
}

// file is an input with this text.
func file(name, text string) evals.Input {
	return evals.Input{Name: name, Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }}
}

// runs is a file of runs, one word per run: case, epoch and score, as in "a/0=1". Without an
// epoch, as in "a=1", the recording does not contain it; the text after a score in "a=1:hello"
// is the text of the run.
func runs(words string) string {
	var text strings.Builder
	for word := range strings.FieldsSeq(words) {
		id, rest, _ := strings.Cut(word, "=")
		score, said, _ := strings.Cut(rest, ":")
		name, epoch, ok := strings.Cut(id, "/")
		if ok {
			epoch = `"epoch":` + epoch + `,`
		}
		if score != "" {
			score = `"score":` + score + `,`
		}
		fmt.Fprintf(&text, `{"case":%q,%s%s"messages":[{"role":"user","content":%q}]}`+"\n", name, epoch, score, said)
	}
	return text.String()
}

// score scores inputs, which may not fail.
func score(t tb, inputs ...evals.Input) *evals.Result {
	t.Helper()
	r, err := evals.ScoreFiles(context.Background(), inputs, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// written is the file of a result.
func written(t tb, r *evals.Result) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// fails checks that an error contains all of these parts.
func fails(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want one with %q", parts)
		return
	}
	for _, inputResult := range parts {
		if !strings.Contains(err.Error(), inputResult) {
			t.Errorf("got error %q, want %q in it", err, inputResult)
		}
	}
}

// listed compares rows with cmp, without unexported fields.
var listed = cmp.Options{
	cmp.Transformer("rows", func(r evals.Rows) []evals.Row { return slices.Collect(r.All()) }),
	cmpopts.IgnoreUnexported(evals.Result{}, evals.Row{}),
}
