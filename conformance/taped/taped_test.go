// Package taped puts official SDKs through looptape record and looptape replay: a replay
// answers as the recorded server did, and what was not recorded fails at once, and once.
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

// The scenario takes so many requests, and this is its last text.
const (
	requests = 3
	answer   = "It rains in Bern, the sun shines in Rome ☀."
)

// another are keys that the recording has not seen.
func another() []string {
	return []string{"OPENAI_API_KEY=sk-another-0", "ANTHROPIC_API_KEY=sk-another-0", "GEMINI_API_KEY=another-0"}
}

// program is an SDK's: it reads a node.Case and prints its node.Outcome.
type program struct {
	name      string
	protocols []string
	// command is how it starts; an error is why it cannot.
	command func() ([]string, error)
}

// programs are those by hand over the official SDKs: others make of errors what they
// like.
func programs() []program {
	list := []program{{goClient, []string{"openai-chat"}, func() ([]string, error) {
		self, err := os.Executable()
		return []string{self, goClient}, err
	}}}
	for _, c := range node.Clients() {
		switch c.Name {
		case "openai", "anthropic", "google":
			list = append(list, program{c.Name, c.Protocols, func() ([]string, error) {
				dir, err := node.Dir()
				return []string{"node", filepath.Join(dir, c.File())}, err
			}})
		}
	}
	return list
}

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == goClient {
		os.Exit(playGo(os.Stdin, os.Stdout))
	}
	m.Run()
}

func TestRecordAndReplay(t *testing.T) {
	looptape := filepath.Join(t.TempDir(), "looptape")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", looptape, "./cmd/looptape")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, p := range programs() {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			command, err := p.command()
			switch {
			case err == nil:
			case os.Getenv("LOOPTAPE_NPM") != "":
				t.Fatal(err)
			default:
				t.Skip(err)
			}
			for _, protocol := range p.protocols {
				for _, streamed := range []bool{true, false} {
					c := node.Case{ID: protocol + map[bool]string{true: "/streamed", false: "/buffered"}[streamed], Protocol: protocol, Streamed: streamed}
					t.Run(c.ID, func(t *testing.T) { tapes(t, looptape, command, c) })
				}
			}
		})
	}
}

// tapes records a case, replays it with other keys, and then asks something else.
func tapes(t *testing.T, looptape string, command []string, c node.Case) {
	t.Helper()
	tape := filepath.Join(t.TempDir(), "c.tape")
	scenario := filepath.Join(root, "fake", "wire", "testdata", "scenarios", "calls.yaml")
	got := play(t, c, nil, append([]string{looptape, "serve", scenario, "--", looptape, "record", "-o", tape, "--"}, command...))
	right := node.Outcome{ID: c.ID, Text: answer}
	if diff := cmp.Diff(played{Outcome: right}, got, said); diff != "" {
		t.Fatalf("recorded (-want +got):\n%s\n%s", diff, got.said)
	}
	if f, err := cassettes.ReadFile(tape); err != nil || f.Len() != requests {
		t.Fatalf("%d requests should be recorded: %v\n%s", requests, err, got.said)
	}
	replay := append([]string{looptape, "replay", tape, "--"}, command...)
	got = play(t, c, another(), replay)
	if diff := cmp.Diff(played{Outcome: right}, got, said); diff != "" {
		t.Errorf("replayed (-want +got):\n%s\n%s", diff, got.said)
	}
	c.Input = "How is the weather in Oslo?"
	got = play(t, c, another(), replay)
	for _, want := range []string{"400", "there is no recording of", "weather in Oslo?"} {
		if !strings.Contains(got.Error, want) {
			t.Errorf("of %q, the SDK's error does not tell:\n%s", want, got.Error)
		}
	}
	if n := strings.Count(got.said, "there is no recording of"); n != 1 || got.status != 1 {
		t.Errorf("%d requests were missed, and the exit status is %d; want 1 and 1:\n%s", n, got.status, got.said)
	}
}

// played is what came of a case.
type played struct {
	node.Outcome
	status int    // with which looptape has ended
	said   string // on standard error
}

// said leaves out what was said.
var said = cmp.Options{cmp.AllowUnexported(played{}), cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".said" }, cmp.Ignore())}

// play has a program play a case.
func play(t *testing.T, c node.Case, env, command []string) (p played) {
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
		p.status = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	p.said = stderr.String()
	line, _, _ := bytes.Cut(out, []byte("\n"))
	if err := json.Unmarshal(line, &p.Outcome); err != nil {
		t.Fatalf("%v: %s\n%s", err, out, p.said)
	}
	return p
}
