package evals_test

import (
	"context"
	"fmt"
	"io/fs"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/evals"
)

// folder is one with a baseline of runs, and these runs.
func folder(t *testing.T, words string) fstest.MapFS {
	t.Helper()
	b, err := score(t, file("runs.jsonl", runs("a/0=1 b/0=1 c/0=1 d/0=1 e/0=1"))).Baseline(nil, []string{"a"})
	if err != nil {
		t.Fatal(err)
	}
	return fstest.MapFS{"baseline.json": {Data: []byte(text(t, b.Write))}, "runs.jsonl": {Data: []byte(words)}}
}

func TestRun(t *testing.T) {
	evals.Run(t, &evals.Suite{Runs: []string{"*.jsonl"}, Baseline: "baseline.json"}, folder(t, runs("a/0=1 b/0=1 c/0=1 d/0=1 e/0=0")))
}

// told is a test that records its failures and those of its subtests.
type describePointers struct {
	name  string
	lines *[]string
}

func (t describePointers) Helper()                  {}
func (t describePointers) Context() context.Context { return context.Background() }
func (t describePointers) Error(args ...any) {
	*t.lines = append(*t.lines, t.name+": "+fmt.Sprint(args...))
}
func (t describePointers) Errorf(format string, args ...any) { t.Error(fmt.Sprintf(format, args...)) }
func (t describePointers) Fatal(args ...any)                 { t.Error(args...); runtime.Goexit() }
func (t describePointers) Run(name string, f func(describePointers)) bool {
	f(describePointers{t.name + "/" + name, t.lines})
	return true
}

// What fails a gate fails the tests, too: that of the case, where it is about one.
func TestRunFails(t *testing.T) {
	suite := &evals.Suite{Runs: []string{"*.jsonl"}, Baseline: "baseline.json", Gate: evals.Gate{Alpha: 0.07}}
	dropped := "T: drop: score: the mean of 5 cases went from 1.0000 to 0.2000, p = 0.0625"
	for _, name := range []string{"b", "c", "d", "e"} {
		dropped += "\nT/" + name + ": worse: score: " + name + ": the mean of the case went from 1.0000 to 0.0000 (1 and 1 runs), 95 % of the difference -1.0000 to +0.1221"
	}
	for name, c := range map[string]struct {
		suite *evals.Suite
		in    fs.FS
		want  string // the failures, or a prefix of the only one
	}{
		"a case":             {suite, folder(t, runs("a/0=0 b/0=1 c/0=1 d/0=1 e/0=1")), "T/a: must pass: score: a: the run run-1 failed"},
		"a drop":             {suite, folder(t, runs("a/0=1 b/0=0 c/0=0 d/0=0 e/0=0")), dropped},
		"no baseline":        {&evals.Suite{Runs: []string{"*.jsonl"}}, folder(t, runs("a/0=1")), "T: the suite has no baseline"},
		"no runs":            {&evals.Suite{Runs: []string{"x"}, Baseline: "baseline.json"}, folder(t, ""), "T: runs: no file matches x"},
		"unreadable":         {suite, folder(t, runs("a/0=1 b/0=1 c/0=1 d/0=1 e/0=1")+"{\"messages\":[7]}\n"), "T: runs.jsonl:6: messages[0]: expected an object"},
		"a lost file":        {&evals.Suite{Runs: []string{"*.jsonl"}, Baseline: "none.json"}, folder(t, runs("a/0=1")), "T: open none.json: file does not exist"},
		"no baseline at all": {&evals.Suite{Runs: []string{"*.jsonl"}, Baseline: "runs.jsonl"}, folder(t, runs("a/0=1")), "T: runs.jsonl: not a baseline of"},
		"a run twice":        {suite, folder(t, runs("a/0=1 a/0=1")), `T: two runs of case "a"`},
	} {
		t.Run(name, func(t *testing.T) {
			var lines []string
			done := make(chan bool)
			go func() { // which Fatal ends
				defer close(done)
				evals.Run(describePointers{"T", &lines}, c.suite, c.in)
			}()
			<-done
			for i := range lines {
				lines[i] = lines[i][:min(len(lines[i]), len(c.want))]
			}
			if diff := cmp.Diff(c.want, strings.Join(lines, "\n")); diff != "" {
				t.Errorf("reported (-want +got):\n%s", diff)
			}
		})
	}
}
