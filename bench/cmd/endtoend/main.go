//go:build unix

// Command endtoend runs looptape and promptfoo from their command lines with the same assertions on the same
// generated answers, alternately, and prints the time and the memory of each as Markdown. Run it in the folder
// bench after npm install in the folder promptfoo; see README.md. Its exit status is 1 if the numbers of passed
// assertions differ, and 2 if a tool cannot be run.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/looptape/looptape/bench/assertions"
)

func main() {
	n := flag.Int("rows", 10_000, "number of answers")
	rounds := flag.Int("rounds", 3, "number of runs of each tool")
	flag.Parse()
	same, err := run(context.Background(), os.Stdout, *n, *rounds)
	if err != nil {
		fmt.Fprintln(os.Stderr, "endtoend:", err)
		os.Exit(2)
	}
	if !same {
		fmt.Fprintln(os.Stderr, "endtoend: the tools passed different numbers of assertions")
		os.Exit(1)
	}
}

// names are the assertions in order.
var names = []string{"equals", "contains", "regex"}

const suite = `suite: 2
runs: [rows.jsonl]
scorers:
  - {kind: exact, metric: equals}
  - {kind: contains, metric: contains, settings: {expected: [Bern]}}
  - {kind: regexp, metric: regex, settings: {pattern: '^The capital is \w+\.$'}}
`

const config = `prompts: ['{{answer}}']
providers: [echo]
tests: file://tests.jsonl
defaultTest:
  assert:
    - {type: equals, value: '{{ideal}}'}
    - {type: contains, value: Bern}
    - {type: regex, value: '^The capital is \w+\.$'}
`

// write writes the inputs of both tools to a folder.
func write(folder string, n int) error {
	var rows, tests bytes.Buffer
	ours, theirs := json.NewEncoder(&rows), json.NewEncoder(&tests)
	rng := rand.New(rand.NewPCG(4, 2))
	cities := []string{"Bern", "Paris", "Rome", "Oslo", "Addis Ababa"} // the last one does not match the pattern
	for i := range n {
		answer := "The capital is " + cities[rng.IntN(len(cities))] + "."
		ideal := "The capital is " + cities[rng.IntN(len(cities))] + "."
		err := errors.Join(
			ours.Encode(map[string]any{"task_id": fmt.Sprint("case-", i), "prompt": "Which is the capital?", "completion": answer, "ideal": ideal}),
			theirs.Encode(map[string]any{"vars": map[string]string{"answer": answer, "ideal": ideal}}))
		if err != nil {
			return err
		}
	}
	var all error
	for name, text := range map[string]string{"rows.jsonl": rows.String(), "tests.jsonl": tests.String(), "eval.yaml": suite, "promptfooconfig.yaml": config} {
		all = errors.Join(all, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	return all
}

// tool is a command, the exit statuses of a complete evaluation, and the measurements of its runs.
type tool struct {
	name     string
	command  []string
	statuses []int
	passed   func(folder string) ([]int, error)

	wall, processor []time.Duration
	peak            []int64 // bytes
}

func (t *tool) run(ctx context.Context, folder string) error {
	cmd := exec.CommandContext(ctx, t.command[0], t.command[1:]...)
	cmd.Dir = folder
	cmd.Env = assertions.Offline(filepath.Join(folder, "config"))
	start := time.Now()
	text, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil || !slices.Contains(t.statuses, cmd.ProcessState.ExitCode()) {
		return fmt.Errorf("%s: %w: %s", t.name, err, text)
	}
	t.wall = append(t.wall, time.Since(start))
	t.processor = append(t.processor, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
	t.peak = append(t.peak, cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss<<10)
	return nil
}

func run(ctx context.Context, out io.Writer, n, rounds int) (same bool, err error) {
	folder, err := os.MkdirTemp("", "endtoend")
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	ours := filepath.Join(folder, "looptape")
	build := exec.CommandContext(ctx, "go", "build", "-o", ours, "./cmd/looptape")
	build.Dir = ".." // the module of the command
	if text, err := build.CombinedOutput(); err != nil {
		return false, fmt.Errorf("%w: %s", err, text)
	}
	theirs, err := filepath.Abs("promptfoo/node_modules/.bin/promptfoo")
	if err != nil {
		return false, err
	}
	if err := write(folder, n); err != nil {
		return false, err
	}
	tools := []*tool{
		{name: "looptape", command: []string{ours, "eval", "score", "-o", "scores.jsonl", "eval.yaml"}, statuses: []int{0}, passed: ourPasses},
		{name: "promptfoo", command: []string{theirs, "eval", "-c", "promptfooconfig.yaml", "--no-cache", "--no-table", "--no-write", "--no-progress-bar", "-o", "out.json"}, statuses: []int{0, 100}, passed: theirPasses},
	}
	for range rounds {
		for _, t := range tools {
			if err := t.run(ctx, folder); err != nil {
				return false, err
			}
		}
	}
	var table strings.Builder
	fmt.Fprintf(&table, "| tool | %s | time | processor time | peak memory |\n| --- | %s---: | ---: | ---: |\n", strings.Join(names, " | "), strings.Repeat("---: | ", len(names)))
	var passed [][]int
	for _, t := range tools {
		list, err := t.passed(folder)
		if err != nil {
			return false, fmt.Errorf("%s: %w", t.name, err)
		}
		passed = append(passed, list)
		fmt.Fprintf(&table, "| %s | %s | %.2f s | %.2f s | %d MB |\n", t.name, strings.Trim(strings.ReplaceAll(fmt.Sprint(list), " ", " | "), "[]"),
			slices.Min(t.wall).Seconds(), slices.Min(t.processor).Seconds(), slices.Min(t.peak)>>20)
	}
	_, err = io.WriteString(out, table.String())
	return slices.Equal(passed[0], passed[1]), err
}

// ourPasses returns the number of passed runs of each assertion in a score file.
func ourPasses(folder string) ([]int, error) {
	text, err := os.ReadFile(filepath.Join(folder, "scores.jsonl"))
	passed := make([]int, len(names))
	for line := range bytes.Lines(text) {
		var row struct {
			Run struct{ Scores map[string]float64 }
		}
		err = errors.Join(err, json.Unmarshal(line, &row))
		for i, name := range names {
			passed[i] += int(row.Run.Scores[name])
		}
	}
	return passed, err
}

// theirPasses returns the number of passed runs of each assertion in an output file of promptfoo.
func theirPasses(folder string) ([]int, error) {
	text, err := os.ReadFile(filepath.Join(folder, "out.json"))
	if err != nil {
		return nil, err
	}
	var out struct {
		Results struct {
			Results []struct {
				GradingResult struct {
					ComponentResults []struct{ Pass bool }
				}
			}
		}
	}
	if err := json.Unmarshal(text, &out); err != nil {
		return nil, err
	}
	passed := make([]int, len(names))
	for _, r := range out.Results.Results {
		for i, c := range r.GradingResult.ComponentResults {
			if c.Pass {
				passed[i]++
			}
		}
	}
	return passed, nil
}
