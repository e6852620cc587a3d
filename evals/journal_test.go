package evals_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/trace/importer"
)

// disk is a file in memory; a capacity other than 0 is how many more bytes it takes.
type disk struct {
	text     []byte
	at       int
	capacity int
}

func (d *disk) Read(p []byte) (int, error) {
	n := copy(p, d.text[d.at:])
	d.at += n
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

func (d *disk) Write(p []byte) (int, error) {
	if d.capacity > 0 && len(p) > d.capacity {
		return 0, errFull
	}
	d.text = append(d.text[:d.at], p...)
	d.at += len(p)
	return len(p), nil
}

var errFull = errors.New("the disk is full")

func (d *disk) Seek(offset int64, _ int) (int64, error) { d.at = int(offset); return offset, nil }

func (d *disk) Truncate(size int64) error { d.text = d.text[:size]; return nil }

// again is an input that can be read twice, and counts how often it is scored.
func again(name, text string) evals.Input {
	in := file(name, text)
	in.Open = func() (io.ReadCloser, error) {
		return struct {
			io.ReaderAt
			io.ReadCloser
		}{strings.NewReader(text), io.NopCloser(strings.NewReader(text))}, nil
	}
	return in
}

// counted returns the recorded scores and counts the runs that it has scored.
func counted(n *atomic.Int64) []evals.Scoring {
	return []evals.Scoring{{Name: "recorded", Scorer: evals.ScorerFunc(func(ctx context.Context, run *importer.Run) []evals.Score {
		n.Add(1)
		return evals.Recorded(ctx, run)
	})}}
}

// resumed scores inputs with a journal, and returns the file of the result and how many
// runs were scored.
func resumed(t tb, d *disk, by string, inputs ...evals.Input) (text string, scored int64) {
	t.Helper()
	d.at = 0
	j, err := evals.OpenJournal(d, by)
	if err != nil {
		t.Fatal(err)
	}
	var n atomic.Int64
	r, err := evals.ScoreFiles(context.Background(), inputs, &evals.Options{Scorers: counted(&n), Journal: j})
	if err != nil {
		t.Fatal(err)
	}
	return written(t, r), n.Load()
}

// Whatever part of its journal a killed process has written, continuing gives the same bytes as an
// uninterrupted run, also the second time.
func TestJournalKilledAnywhere(t *testing.T) {
	inputs := []evals.Input{
		again("a.jsonl", runs("a/0=1 a/1=0")), again("b.jsonl", runs("b/0=0.25 b/1=1")), again("c.jsonl", runs("c=1:hello c=1:hello")),
		again("empty.jsonl", "{}"), {Name: "README", Found: true, Open: again("README", "some words").Open},
	}
	whole := &disk{}
	want, all := resumed(t, whole, "v1", inputs...)
	if never := written(t, must(evals.ScoreFiles(context.Background(), inputs, nil))(t)); want != never {
		t.Fatalf("with a journal (-without +with):\n%s", cmp.Diff(never, want))
	}
	rapid.Check(t, func(rt *rapid.T) {
		left := &disk{text: slices.Clone(whole.text[:rapid.IntRange(0, len(whole.text)).Draw(rt, "left")])}
		if head := bytes.IndexByte(whole.text, '\n') + 1; len(left.text) > head { // other bytes that a disk may contain
			switch rapid.SampledFrom([]string{"nothing", "zeros", "a bit"}).Draw(rt, "broken") {
			case "zeros":
				left.text = append(left.text, "\x00\x00\x00\n\x00"...)
			case "a bit":
				left.text[rapid.IntRange(head, len(left.text)-1).Draw(rt, "at")] ^= 1
			}
		}
		for range 2 {
			got, scored := resumed(rt, left, "v1", inputs...)
			if got != want || scored > all {
				rt.Fatalf("%d runs scored; the result (-want +got):\n%s", scored, cmp.Diff(want, got))
			}
		}
		if !bytes.Equal(sorted(left.text), sorted(whole.text)) {
			rt.Errorf("the journal (-want +got):\n%s", cmp.Diff(string(whole.text), string(left.text)))
		}
	})
}

// sorted returns the lines of a text in sorted order.
func sorted(text []byte) []byte {
	lines := bytes.SplitAfter(text, []byte("\n"))
	slices.SortFunc(lines, bytes.Compare)
	return bytes.Join(lines, nil)
}

// What was kept is not scored again, unless something is not as it was.
func TestJournalKnows(t *testing.T) {
	a, b := again("a.jsonl", runs("a/0=1 a/1=0")), again("b.jsonl", runs("b/0=1"))
	inputResult := again("part.jsonl", written(t, score(t, file("z.jsonl", runs("z/0=1")))))
	for name, c := range map[string]struct {
		by     string
		inputs []evals.Input
		want   int64 // runs that are scored
	}{
		"the same":             {"v1", []evals.Input{b, a}, 0},
		"one more":             {"v1", []evals.Input{a, b, again("c.jsonl", runs("c/0=1"))}, 1},
		"one less":             {"v1", []evals.Input{b}, 0},
		"another name":         {"v1", []evals.Input{again("c.jsonl", runs("a/0=1 a/1=0")), b}, 2},
		"another content":      {"v1", []evals.Input{again("a.jsonl", runs("a/0=0 a/1=0")), b}, 2},
		"another version":      {"v2", []evals.Input{a, b}, 3},
		"not found, but named": {"v1", []evals.Input{{Name: "a.jsonl", Found: true, Open: a.Open}, b}, 2},
		"no file":              {"v1", []evals.Input{file("a.jsonl", runs("a/0=1 a/1=0")), b}, 2},
		"the file of a result": {"v1", []evals.Input{a, b, inputResult}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			d := &disk{}
			resumed(t, d, "v1", a, b)
			before := string(d.text)
			text, scored := resumed(t, d, c.by, c.inputs...)
			if scored != c.want {
				t.Errorf("%d runs were scored, want %d", scored, c.want)
			}
			if want := written(t, score(t, c.inputs...)); text != want {
				t.Errorf("the result (-want +got):\n%s", cmp.Diff(want, text))
			}
			if !strings.HasPrefix(string(d.text), before) {
				t.Errorf("the journal was %q and is %q", before, d.text)
			}
		})
	}
}

// Other scorers, an input with unreadable or unscored runs, and standard input are scored
// each time.
func TestJournalDoesNotKeep(t *testing.T) {
	d := &disk{}
	inputs := []evals.Input{again("a.jsonl", runs("a/0=1")+"{"), file("-", runs("b/0=1")), again("c.jsonl", runs(`c/0=1 c/1="high"`))}
	for range 2 {
		if _, scored := resumed(t, d, "v1", inputs...); scored != 4 {
			t.Errorf("%d runs were scored, want 4", scored)
		}
	}
	a := again("a.jsonl", runs("a/0=1"))
	resumed(t, d, "v1", a)
	j := must(evals.OpenJournal(&disk{text: d.text}, "v1"))(t)
	if n := j.Kept(); n != 1 {
		t.Errorf("%d inputs are kept, want 1", n)
	}
	other := []evals.Scoring{{Name: "other", Scorer: evals.ScorerFunc(func(context.Context, *importer.Run) []evals.Score {
		return []evals.Score{{Metric: "other", Value: 1}}
	})}}
	r := must(evals.ScoreFiles(context.Background(), []evals.Input{a}, &evals.Options{Scorers: other, Journal: j}))(t)
	if diff := cmp.Diff(evals.NewByName(map[string]float64{"other": 1}), r.Rows.At(0).Scores); diff != "" {
		t.Errorf("scores (-want +got):\n%s", diff)
	}
}

// TestJournalStopped checks that canceled scoring stores complete inputs only.
func TestJournalStopped(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	stops := []evals.Scoring{{Name: "recorded", Scorer: evals.ScorerFunc(func(ctx context.Context, run *importer.Run) []evals.Score {
		if run.Case == "b" {
			stop()
		}
		return evals.Recorded(ctx, run)
	})}}
	d := &disk{}
	a, b := again("a.jsonl", runs("a/0=1 a/1=0")), again("b.jsonl", runs("b/0=1 b/1=1"))
	resumed(t, d, "v1", a)
	d.at = 0
	j := must(evals.OpenJournal(d, "v1"))(t)
	_, err := evals.ScoreFiles(ctx, []evals.Input{a, b}, &evals.Options{Scorers: stops, Journal: j})
	if !errors.Is(err, context.Canceled) || j.Kept() != 1 {
		t.Errorf("%d inputs are kept, and the error is %v", j.Kept(), err)
	}
	if _, scored := resumed(t, d, "v1", a, b); scored != 2 {
		t.Errorf("%d runs were scored, want 2", scored)
	}
}

func TestJournalErrors(t *testing.T) {
	for _, text := range []string{"my notes", "my\nnotes", `{"format":"looptape-eval","version":1,`, strings.Repeat("x", 100) + "\n"} {
		d := &disk{text: []byte(text)}
		_, err := evals.OpenJournal(d, "v1")
		fails(t, err, "not a journal of looptape eval score --resume: remove the file, or name another output")
		if string(d.text) != text {
			t.Errorf("the file %q is %q now", text, d.text)
		}
	}
	_, err := evals.OpenJournal(&disk{capacity: 1}, "v1")
	if !errors.Is(err, errFull) {
		t.Errorf("got %v", err)
	}
	j := must(evals.OpenJournal(&disk{capacity: 100}, "v1"))(t)
	_, err = evals.ScoreFiles(context.Background(), []evals.Input{again("a", runs("a/0=1")), again("b", runs("b/0=1"))}, &evals.Options{Journal: j})
	if !errors.Is(err, errFull) {
		t.Errorf("got %v", err)
	}
	fails(t, err, "write the journal: ")
	for _, f := range []bad{{&disk{}, "read"}, {&disk{}, "seek"}, {&disk{}, "truncate"}} {
		if _, err := evals.OpenJournal(f, "v1"); !errors.Is(err, errFull) {
			t.Errorf("%v: got %v", f, err)
		}
	}
}

// bad is a file with a failing part.
type bad struct {
	*disk

	what string
}

func (b bad) Read(p []byte) (int, error) {
	if b.what == "read" {
		return 0, errFull
	}
	return b.disk.Read(p)
}

func (b bad) Seek(offset int64, whence int) (int64, error) {
	if b.what == "seek" {
		return 0, errFull
	}
	return b.disk.Seek(offset, whence)
}

func (b bad) Truncate(size int64) error {
	if b.what == "truncate" {
		return errFull
	}
	return b.disk.Truncate(size)
}

// must is a value that there has to be.
func must[T any](v T, err error) func(t tb) T {
	return func(t tb) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
