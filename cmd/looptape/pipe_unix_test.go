//go:build unix

package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/looptape/looptape/cassettes"
	"github.com/looptape/looptape/cmd/looptape/internal/cli/clitest"
)

// A named pipe that a suite names is refused, and one in a folder is skipped by name. Opening it would not end.
func TestNamedPipes(t *testing.T) {
	t.Chdir(t.TempDir())
	const judge = "suite: 2\nruns: [runs.jsonl]\nscorers:\n  - {kind: rubric, metric: m, settings: {criteria: x, grader: {%s}}}\n"
	files := map[string]string{
		"runs.jsonl": `{"case":"c","reward":1,"messages":[]}` + "\n", "folder/runs.jsonl": `{"case":"c","reward":1,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":"x"}]}` + "\n",
		"s.yaml": weather, "runs.yaml": "suite: 2\nruns: [pipe]\n", "pattern.yaml": "suite: 2\nruns: ['p*e']\n", "dataset.yaml": "suite: 2\nruns: [runs.jsonl]\ndataset: pipe\n",
		"baseline.yaml": "suite: 2\nruns: [runs.jsonl]\nbaseline: pipe\n", "folder.yaml": "suite: 2\nruns: [folder]\n",
		"against.yaml":  "suite: 2\nruns: [runs.jsonl]\nscorers:\n  - {kind: pairwise, metric: m, settings: {criteria: x, against: [pipe], grader: {scenario: s.yaml}}}\n",
		"scenario.yaml": fmt.Sprintf(judge, "scenario: pipe"), "cassette.yaml": fmt.Sprintf(judge, "provider: openai, model: m, cassette: pipe"), "journal.yaml": fmt.Sprintf(judge, "provider: openai, model: m, cassette: x.tape"),
	}
	if err := os.Mkdir("folder", 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"pipe", "folder/pipe", cassettes.JournalPath("x.tape")} {
		if err := syscall.Mkfifo(name, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const refused = "pipe: it is a named pipe: name a regular file"
	for command, want := range map[string]string{
		"eval score runs.yaml": refused, "eval score pattern.yaml": refused, "eval score dataset.yaml": refused, "eval gate baseline.yaml": refused,
		"eval score against.yaml": refused, "eval score scenario.yaml": refused, "eval score cassette.yaml": refused, "eval score --record cassette.yaml": refused,
		"eval score journal.yaml": cassettes.JournalPath("x.tape") + ": it is a named pipe", "eval score --allow-programs runs.yaml": refused,
		"check folder": "folder/pipe: skipped: it is not a regular file", "eval score folder": "folder/pipe: skipped", "eval score folder.yaml": "folder/pipe: skipped",
	} {
		w, _, errs := clitest.Terminal(nil)
		if _ = execute(strings.Fields(command), w); !strings.Contains(errs.String(), want) {
			t.Errorf("%s: got %s, want %s", command, errs, want)
		}
	}
}

// A named pipe that the user names is read, as those of a shell's <(command) are.
func TestNamedPipeOfUser(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, command := range []string{"check", "eval score", "scenario from"} {
		_ = os.Remove("pipe")
		if err := syscall.Mkfifo("pipe", 0o600); err != nil {
			t.Fatal(err)
		}
		written := make(chan error, 1)
		go func() {
			written <- os.WriteFile("pipe", []byte(`{"case":"c","reward":1,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":"x"}]}`+"\n"), 0o600)
		}()
		w, _, errs := clitest.Terminal(nil)
		if status := execute(append(strings.Fields(command), "pipe"), w); status != 0 {
			t.Errorf("%s: exit status %d: %s", command, status, errs)
		}
		if err := <-written; err != nil {
			t.Error(err)
		}
	}
}
