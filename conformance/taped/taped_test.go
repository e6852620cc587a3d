// Package taped tests official SDKs with looptape record and looptape replay. A replay responds as
// the recorded server did, and a request that was not recorded fails once, without retries.
package taped

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/cassettes"
	"github.com/looptape/looptape/conformance/node"
)

// root is the folder of looptape's own module.
const root = "../.."

// The number of requests in the scenario, and its final text.
const (
	requests = 3
	answer   = "It rains in Bern, the sun shines in Rome ☀."
)

// otherKeys returns keys that are not in the recording.
func otherKeys() []string {
	return []string{"OPENAI_API_KEY=sk-another-0", "ANTHROPIC_API_KEY=sk-another-0", "GEMINI_API_KEY=another-0"}
}

// program uses an SDK. It reads a node.Case and prints its node.Result.
type program struct {
	name      string
	protocols []string
	// command returns the command that starts it.
	command func(t *testing.T) []string
}

// programs returns the manual loops with the official SDKs. Other libraries change errors.
func programs() []program {
	var list []program
	for _, p := range goPrograms {
		list = append(list, program{p.name, p.protocols, func(*testing.T) []string { return []string{os.Args[0], p.name} }})
	}
	for _, c := range node.Clients() {
		switch c.Name {
		case "openai", "anthropic", "google":
			list = append(list, program{c.Name, c.Protocols, func(t *testing.T) []string {
				return []string{"node", filepath.Join(installed(t), c.File())}
			}})
		}
	}
	return list
}

func TestMain(m *testing.M) {
	for _, p := range goPrograms {
		if len(os.Args) == 2 && os.Args[1] == p.name {
			os.Exit(runGo(p, os.Stdin, os.Stdout))
		}
	}
	m.Run()
}

// installed returns the folder of the programs. If they cannot run, it skips the test, or fails it
// if LOOPTAPE_NPM is set.
func installed(t *testing.T) string {
	t.Helper()
	dir, err := node.Dir()
	switch {
	case err == nil:
	case os.Getenv("LOOPTAPE_NPM") != "":
		t.Fatal(err)
	default:
		t.Skip(err)
	}
	return dir
}

// build builds the command looptape and returns its path.
func build(t *testing.T) string {
	t.Helper()
	looptape := filepath.Join(t.TempDir(), "looptape")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", looptape, "./cmd/looptape")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return looptape
}

func TestRecordAndReplay(t *testing.T) {
	looptape := build(t)
	for _, p := range programs() {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			command := p.command(t)
			for _, protocol := range p.protocols {
				for _, streaming := range []bool{true, false} {
					c := node.Case{ID: protocol + map[bool]string{true: "/streaming", false: "/non-streaming"}[streaming], Protocol: protocol, Streaming: streaming}
					t.Run(c.ID, func(t *testing.T) { recordAndReplay(t, looptape, command, c) })
				}
			}
		})
	}
}

// recordAndReplay records a case, replays it with other keys, and then sends another prompt.
func recordAndReplay(t *testing.T, looptape string, command []string, c node.Case) {
	t.Helper()
	tape := filepath.Join(t.TempDir(), "c.tape")
	scenario := filepath.Join(root, "fake", "wire", "testdata", "scenarios", "calls.yaml")
	got := run(t, c, nil, append([]string{looptape, "serve", scenario, "--no-token", "--", looptape, "record", "-o", tape, "--"}, command...))
	want := finished{Result: node.Result{ID: c.ID, Text: answer}}
	if diff := cmp.Diff(want, got, ignoreStderr); diff != "" {
		t.Fatalf("recorded (-want +got):\n%s\n%s", diff, got.stderr)
	}
	if f, err := cassettes.ReadFile(tape); err != nil || f.Len() != requests {
		t.Fatalf("want %d recorded requests: %v\n%s", requests, err, got.stderr)
	}
	replay := append([]string{looptape, "replay", tape, "--"}, command...)
	got = run(t, c, otherKeys(), replay)
	if diff := cmp.Diff(want, got, ignoreStderr); diff != "" {
		t.Errorf("replayed (-want +got):\n%s\n%s", diff, got.stderr)
	}
	c.Input = "How is the weather in Oslo?"
	got = run(t, c, otherKeys(), replay)
	for _, want := range []string{"400", "request not recorded", "weather in Oslo?"} {
		if !strings.Contains(got.Error, want) {
			t.Errorf("missing %q in the error of the SDK:\n%s", want, got.Error)
		}
	}
	if n := strings.Count(got.stderr, "request not recorded"); n != 1 || got.status != 1 {
		t.Errorf("got %d misses and exit status %d, want 1 and 1:\n%s", n, got.status, got.stderr)
	}
}

// finished is a case that was run.
type finished struct {
	node.Result
	status int // of looptape
	stderr string
}

var ignoreStderr = cmp.Options{cmp.AllowUnexported(finished{}), cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".stderr" }, cmp.Ignore())}

// run runs a program with a case.
func run(t *testing.T, c node.Case, env, command []string) (f finished) {
	t.Helper()
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.Env, cmd.Stdin, cmd.Stderr = append(os.Environ(), env...), bytes.NewReader(append(text, '\n')), &stderr
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		f.status = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	f.stderr = stderr.String()
	line, _, _ := bytes.Cut(out, []byte("\n"))
	if err := json.Unmarshal(line, &f.Result); err != nil {
		t.Fatalf("%v: %s\n%s", err, out, f.stderr)
	}
	return f
}
