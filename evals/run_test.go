package evals_test

import (
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/looptape/looptape/evals"
)

// folder is one with a baseline of runs, and these runs.
func folder(t *testing.T, words string) fstest.MapFS {
	t.Helper()
	b, err := evals.NewBaseline(score(t, file("runs.jsonl", runs("a/0=1 b/0=1 c/0=1 d/0=1 e/0=1"))), nil, []string{"a"})
	if err != nil {
		t.Fatal(err)
	}
	return fstest.MapFS{"baseline.json": {Data: []byte(text(t, b.Write))}, "runs.jsonl": {Data: []byte(words)}}
}

func TestRun(t *testing.T) {
	evals.Run(t, &evals.Suite{Runs: []string{"*.jsonl"}, Baseline: "baseline.json"}, folder(t, runs("a/0=1 b/0=1 c/0=1 d/0=1 e/0=0")))
}

// What fails a gate fails the tests, too.
func TestRunFails(t *testing.T) {
	suite := &evals.Suite{Runs: []string{"*.jsonl"}, Baseline: "baseline.json", Gate: evals.Gate{Alpha: 0.07}}
	lists := func(s *evals.Suite, in fs.FS) func(*testing.T) {
		return func(t *testing.T) { evals.Run(t, s, in) }
	}
	all := func(string, string) (bool, error) { return true, nil }
	for name, test := range map[string]func(*testing.T){
		"a case":             lists(suite, folder(t, runs("a/0=0 b/0=1 c/0=1 d/0=1 e/0=1"))),
		"a drop":             lists(suite, folder(t, runs("a/0=1 b/0=0 c/0=0 d/0=0 e/0=0"))),
		"no baseline":        lists(&evals.Suite{Runs: []string{"*.jsonl"}}, folder(t, runs("a/0=1"))),
		"no runs":            lists(&evals.Suite{Runs: []string{"x"}, Baseline: "baseline.json"}, folder(t, "")),
		"unreadable":         lists(suite, folder(t, runs("a/0=1 b/0=1 c/0=1 d/0=1 e/0=1")+"{\"messages\":[7]}\n")),
		"a lost file":        lists(&evals.Suite{Runs: []string{"*.jsonl"}, Baseline: "none.json"}, folder(t, runs("a/0=1"))),
		"no baseline at all": lists(&evals.Suite{Runs: []string{"*.jsonl"}, Baseline: "runs.jsonl"}, folder(t, runs("a/0=1"))),
		"a run twice":        lists(suite, folder(t, runs("a/0=1 a/0=1"))),
	} {
		if testing.RunTests(all, []testing.InternalTest{{Name: name, F: test}}) {
			t.Errorf("%s: the tests hold", name)
		}
	}
}
