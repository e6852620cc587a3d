package evals_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/trace/importer"
)

// TestMergeEqualsTogether checks that merging any division of the runs in any order, with or without
// score files, gives the bytes of the result of all runs.
func TestMergeEqualsTogether(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		inputs := files(t)
		whole := score(t, inputs...)
		order := rapid.Permutation(inputs).Draw(t, "order")
		var parts []*evals.Result
		for len(order) > 0 {
			n := rapid.IntRange(1, len(order)).Draw(t, "files of a part")
			inputResult := score(t, order[:n]...)
			if rapid.Bool().Draw(t, "through a file") {
				inputResult = reread(t, inputResult)
			}
			parts, order = append(parts, inputResult), order[n:]
		}
		merged, err := evals.Merge(parts...)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(written(t, whole), written(t, merged)); diff != "" {
			t.Fatalf("the merged result (-whole +merged):\n%s", diff)
		}
	})
}

// files draws some files of runs, a broken line here and there.
func files(t *rapid.T) (inputs []evals.Input) {
	line := rapid.SampledFrom([]string{"a=1:x", "a=0:x", "a=1", "b=0.5:y", "b:z", `c="high"`})
	for i := range rapid.IntRange(1, 5).Draw(t, "files") {
		words := rapid.SliceOfN(line, 1, 6).Draw(t, "runs")
		for e := range rapid.IntRange(0, 2).Draw(t, "runs with an epoch") {
			words = append(words, fmt.Sprintf("d/%d=1 a/%d=0", 10*i+e, 10*i+e))
		}
		words = append(words, fmt.Sprintf("own%d=1", i))
		text := runs(strings.Join(words, " "))
		if rapid.Bool().Draw(t, "with a broken line") {
			text += "{\"messages\":[7]}\n"
		}
		inputs = append(inputs, file(fmt.Sprintf("%d.jsonl", i), text))
	}
	return inputs
}

func reread(t tb, r *evals.Result) *evals.Result {
	t.Helper()
	back, err := evals.ReadResult("part", strings.NewReader(written(t, r)))
	if err != nil {
		t.Fatal(err)
	}
	return back
}

// A file that was renamed, or cut in two at any place, has the same epochs: they go by
// the content.
func TestEpochsGoByContent(t *testing.T) {
	words := []string{"a=1:x", "a=0:y", "a=0.5:z", "a/1=0.25", "b=1"}
	lines := func(words []string) string { return runs(strings.Join(words, " ")) }
	statistics := func(r *evals.Result) *evals.Summary {
		f, err := r.Summary(nil)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	want := statistics(score(t, file("f", lines(words))))
	if got := want.Epochs; got != 4 {
		t.Errorf("%d epochs, want 4", got)
	}
	for i := range words[1:] {
		cut := score(t, file("z", lines(words[:i+1])), file("y", lines(words[i+1:])))
		if diff := cmp.Diff(want, statistics(cut)); diff != "" {
			t.Errorf("cut after run %d (-whole +cut):\n%s", i+1, diff)
		}
	}
}

// Runs without an epoch are after those of their case that have one.
func TestRowsWithoutEpochLast(t *testing.T) {
	var got []int
	for row := range score(t, file("f", runs("a=1 a/1=1 a/0=1 b/0=1"))).Rows.All() {
		got = append(got, row.Epoch)
	}
	if diff := cmp.Diff([]int{0, 1, importer.NoEpoch, 0}, got); diff != "" {
		t.Errorf("epochs (-want +got):\n%s", diff)
	}
}

// A run that is given twice is never counted twice: the error names both places.
func TestRunGivenTwice(t *testing.T) {
	inputResult := func(name string, words string) evals.Input {
		return file(name, written(t, score(t, file("f", runs(words)))))
	}
	versionOne := func(name string, words string) evals.Input {
		return file(name, strings.Replace(written(t, score(t, file("f", runs(words)))), `"version":2`, `"version":1`, 1))
	}
	for name, c := range map[string]struct {
		inputs []evals.Input
		want   []string
	}{
		"an epoch in two files": {
			[]evals.Input{file("f", runs("a/0=1 b/1=1")), file("g", runs("b/0=0 b/1=1"))},
			[]string{`two runs of case "b", epoch 1: f:2 (run-2) and g:2 (run-2): pass each run once`},
		},
		"an epoch in one file": {
			[]evals.Input{file("f", runs("a/0=1 a/0=0"))},
			[]string{`two runs of case "a", epoch 0: f:1 (run-1) and f:2 (run-2)`},
		},
		"a file twice": {
			[]evals.Input{file("f", runs("a=1 a=1")), file("f", runs("a=1 a=1"))},
			[]string{"the same run twice: f:1 (run-1) and f:1 (run-1): pass each run once"},
		},
		"a copy of a file": {
			[]evals.Input{file("f", runs("a=1 b=1")), file("e", runs("b=1")), file("g", runs("b=1 a=1"))},
			[]string{"g has the same runs as f, without epochs: pass each file once"},
		},
		"parts that overlap": {
			[]evals.Input{inputResult("p", "a/0=1 b/0=0"), inputResult("q", "c/0=1 b/0=0")},
			[]string{`case "b", epoch 0: f:2 (run-2, in the score file p) and f:2 (run-2, in the score file q)`},
		},
		"a part and its file": {
			[]evals.Input{file("f", runs("a=1")), inputResult("p", "a=1")},
			[]string{"the same run twice: f:1 (run-1) and f:1 (run-1, in the score file p)"},
		},
		"a file and its score file of version 1": {
			[]evals.Input{versionOne("p", "a=1"), file("g", runs("a=1 b=1"))},
			[]string{`case "a" has runs without epochs in a score file of version 1 and elsewhere, which may be the same: f:1 (run-1, in the score file p) and g:1 (run-1): score the recordings of version 1 again`},
		},
		"a file and a score file made of version 1": {
			[]evals.Input{file("m", written(t, score(t, versionOne("p", "a=1")))), file("g", runs("a=1 b=1"))},
			[]string{`case "a" has runs without epochs in a score file of version 1 and elsewhere`},
		},
		"score files of version 1": {
			[]evals.Input{versionOne("p", "a=1"), versionOne("q", "a=1")},
			[]string{"the same run twice: f:1 (run-1, in the score file p) and f:1 (run-1, in the score file q)"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := evals.ScoreFiles(context.Background(), c.inputs, nil)
			fails(t, err, c.want...)
		})
	}
	// Runs of other cases, or with epochs, do not need a digest of the same form.
	score(t, versionOne("p", "a=1 b/0=1"), file("g", runs("a/0=1 b/1=1 c=1")))
	// Similar runs are not copies.
	score(t, file("f", runs("a=1 b=1")), file("g", runs("a=1 b=1:more")), file("h", runs("a=1 b=1 c=1")), file("i", runs("d/0=1")), file("j", runs("d/1=1")))
}

// Results of different scorers have nothing to do with each other.
func TestMergeOtherScorers(t *testing.T) {
	_, err := evals.Merge(&evals.Result{Scorers: []string{"x"}}, &evals.Result{Scorers: []string{"x", "y"}})
	fails(t, err, `with the scorers ["x"] and ["x" "y"]`)
}

// The result does not depend on which run is scored first.
func TestScoreConcurrently(t *testing.T) {
	var inputs []evals.Input
	for i := range 40 {
		inputs = append(inputs, file(fmt.Sprintf("%02d", i), runs(fmt.Sprintf("a=1:%d b/%d=0", i, i))+"7\n"))
	}
	want := written(t, score(t, inputs...))
	for _, n := range []int{1, 2, 7} {
		before := runtime.GOMAXPROCS(n)
		slices.Reverse(inputs)
		got := written(t, score(t, inputs...))
		runtime.GOMAXPROCS(before)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("with %d concurrent runs (-want +got):\n%s", n, diff)
		}
	}
}

// TestScoringStops checks that a canceled context ends scoring after the runs in progress.
func TestScoringStops(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	var done atomic.Int64
	scorer := evals.Scoring{Name: "stops", Scorer: evals.ScorerFunc(func(context.Context, *run) []evals.Score {
		done.Add(1)
		stop()
		return nil
	})}
	_, err := evals.ScoreFiles(ctx, []evals.Input{file("f", runs(strings.Repeat("a=1 ", 100)))}, &evals.Options{Scorers: []evals.Scoring{scorer}})
	fails(t, err, "scoring stopped: context canceled")
	if n, most := done.Load(), int64(1+runtime.GOMAXPROCS(0)); n > most {
		t.Errorf("%d runs were scored, want %d at most", n, most)
	}
}

// TestRunsScoredConcurrently checks that the runs of one file are scored concurrently, one per
// processor.
func TestRunsScoredConcurrently(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	synctest.Test(t, func(t *testing.T) { // which fails if a run waits for ever
		meet := make(chan bool)
		scorer := evals.Scoring{Name: "meets", Scorer: evals.ScorerFunc(func(context.Context, *run) []evals.Score {
			select {
			case meet <- true:
			case <-meet:
			}
			return nil
		})}
		r, err := evals.ScoreFiles(t.Context(), []evals.Input{file("f", runs("a/0 a/1 a/2 a/3"))}, &evals.Options{Scorers: []evals.Scoring{scorer}})
		if err != nil || r.Rows.Len() != 4 {
			t.Errorf("%v, %v", r, err)
		}
	})
}

// TestUnreadable checks that unreadable records are reported and that the others are scored.
func TestUnreadable(t *testing.T) {
	gone := errors.New("gone")
	r := score(t,
		file("f", runs("a=1")+"{\"messages\":[7]}\n"+runs("b=0")),
		file("empty", ""), file("words", "hello"),
		evals.Input{Name: "gone", Open: func() (io.ReadCloser, error) { return nil, gone }},
		evals.Input{Name: "shut", Open: func() (io.ReadCloser, error) { return badClose{strings.NewReader(runs("c=0"))}, nil }},
		file("part", `{"format":"looptape-eval","version":1,"runs":1}`+"\n"),
		file("tape", `{"log":{"version":"1.2","creator":{"name":"x","version":"1"},"entries":[]}}`),
	)
	var got []string
	for row := range r.Rows.All() {
		got = append(got, row.Case)
	}
	if diff := cmp.Diff([]string{"a", "b", "c"}, got); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
	got = nil
	for _, u := range r.Unreadable {
		got = append(got, fmt.Sprintf("%s:%d: %.60s", u.File, u.Line, u.Error))
	}
	if diff := cmp.Diff([]string{
		"empty:0: the file is empty: check that its writer has finished",
		"f:2: messages[0]: expected an object",
		"gone:0: gone",
		"part:0: got 0 of 1 runs and 0 of 0 unreadable records: score the rec",
		"shut:0: shut",
		"tape:0: the recording has no request to a model in a known protocol",
		"words:0: unknown format: the file is neither JSON nor YAML, CSV or se",
	}, got); diff != "" {
		t.Errorf("unreadable (-want +got):\n%s", diff)
	}
}

// run is a recorded run.
type run = importer.Run

type badClose struct{ io.Reader }

func (badClose) Close() error { return errors.New("shut") }

// TestSkippedInputs checks that a found file is skipped if it is not a recording, but not if it is
// invalid.
func TestSkippedInputs(t *testing.T) {
	found := func(name, text string) evals.Input {
		in := file(name, text)
		in.Found = true
		return in
	}
	inputs := []evals.Input{found("words", "hello"), found("f", runs("a=1")), found("broken", "[[7]]"), found("empty", ""), found("more", "words")}
	var passed []string
	r, err := evals.ScoreFiles(context.Background(), inputs, &evals.Options{Skipped: func(name string) { passed = append(passed, name) }})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"words", "more"}, passed); diff != "" {
		t.Errorf("skipped (-want +got):\n%s", diff)
	}
	if r.Rows.Len() != 1 || len(r.Unreadable) != 2 {
		t.Errorf("got %d runs and %v, want 1 and those of broken and empty", r.Rows.Len(), r.Unreadable)
	}
	if again := score(t, inputs...); written(t, r) != written(t, again) {
		t.Error("the result contains skipped runs")
	}
}
