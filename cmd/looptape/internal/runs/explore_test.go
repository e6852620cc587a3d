package runs

import (
	"bytes"
	"context"
	"encoding/json"
	"go/format"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/looptape/looptape/cmd/looptape/internal/cli"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/explore"
	"github.com/looptape/looptape/loop/scenario"
	"github.com/looptape/looptape/trace/check"
)

// losesResult is a program that loses a result if its tool fails.
func losesResult() explore.Program {
	return explore.ProgramFunc(func(c *explore.Choices) explore.Outcome {
		text := "begin\nend\n"
		var found []check.Violation
		if c.Fault("tool call", "it's", []string{"", "fails"}) == 1 {
			text = "begin\nlost\n"
			found = []check.Violation{check.Violation{Invariant: "INV-01", Run: "r1", Event: 3, Message: "no result"}.WithHint()}
		}
		return explore.Outcome{Digest: uint64(len(found)), Violations: found, Text: func() string { return text }}
	})
}

// TestExploreReport: the report of a failure has the choices, the difference to the passing run, and the command
// that repeats it; JSON has the same.
func TestExploreReport(t *testing.T) {
	r := explore.Exhaust(losesResult, explore.Bounds{Faults: 1})
	var stdout, stderr bytes.Buffer
	x := explorer{w: &cli.World{Out: &stdout, Err: &stderr}, c: &cobra.Command{}}
	out := explored{File: "my file.yaml", Failures: []exploredFailure{}}
	out.take(r, x.program.command(out.File))
	x.print(&out, r)
	for _, want := range []string{
		"FAIL     my file.yaml: 2 runs, 2 different: all of 1 order", "INV-01", "no result", "Append one result for each call",
		"with these choices:\n  tool call it's: fails\n", "\n  begin\n- lost\n+ end\n", `looptape explore --choice 'tool call it'\''s: fails' 'my file.yaml'`,
	} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("the report has no %q:\n%s", want, stdout.String())
		}
	}
	text, err := json.Marshal(exploreJSON.Of(out))
	if want := `"choices":["tool call it's: fails"],"minimal":true,"without":"tool call it's: fails","command":"looptape explore --choice 'tool call it'\\''s: fails' 'my file.yaml'","trace":"begin\nlost\n","passing":"begin\nend\n"`; err != nil || out.OK || !strings.Contains(string(text), want) {
		t.Errorf("%v, ok %v: want %s in\n%s", err, out.OK, want, text)
	}
}

// TestExploredOK: an exploration is ok if it found nothing, and made all runs, or those of its seed.
func TestExploredOK(t *testing.T) {
	for name, r := range map[string]*explore.Result{
		"a failure":  {Complete: true, Failures: []*explore.Failure{{}}},
		"unstable":   {Complete: true, Unstable: []string{"differs"}},
		"incomplete": {},
	} {
		var out explored
		if out.take(r, ""); out.OK {
			t.Errorf("%s: ok", name)
		}
	}
	for name, r := range map[string]*explore.Result{"complete": {Complete: true}, "random": {Random: &explore.Guarantee{}}} {
		var out explored
		if out.take(r, ""); !out.OK {
			t.Errorf("%s: not ok", name)
		}
	}
}

// TestExploreReplayed: a failure of a run with --choice has what the schema requires.
func TestExploreReplayed(t *testing.T) {
	var stdout, stderr bytes.Buffer
	format := "json"
	x := explorer{w: &cli.World{Out: &stdout, Err: &stderr}, c: &cobra.Command{}, choices: []string{"tool call it's: fails"}, format: &format}
	out := explored{File: "weather.yaml", Failures: []exploredFailure{}}
	if bad, cut := x.replay(&out, losesResult(), func() error { return nil }, nil); !bad || cut {
		t.Errorf("bad %v, cut %v", bad, cut)
	}
	for _, want := range []string{`"by_fault":{}`, `"command":"looptape explore --choice 'tool call it'\\''s: fails' weather.yaml"`, `"choices":["tool call it's: fails"]`} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("the output has no %s:\n%s", want, stdout.String())
		}
	}
}

// TestExploreNoResponse: a scenario without a response of a model is an error, with a program and without one.
func TestExploreNoResponse(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("empty.yaml", []byte("version: 2\nmodels: {main: []}\ninput: go\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{nil, {"/no/such/program"}} {
		var stdout, stderr bytes.Buffer
		formatText := "text"
		x := explorer{w: &cli.World{Out: &stdout, Err: &stderr, Now: time.Now}, c: &cobra.Command{}, format: &formatText, program: programFlags{args: args}}
		bad, cut := x.file("empty.yaml")
		if want := "empty.yaml: the scenario has no response of a model: add one under models"; bad || !cut || !strings.Contains(stderr.String(), want) {
			t.Errorf("%q: bad %v, cut %v, got %s%s, want the error %s", args, bad, cut, stdout.String(), stderr.String(), want)
		}
	}
}

// TestExploreWritesCommand: the command in a written scenario repeats the run, also with an id that is not one line.
func TestExploreWritesCommand(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip(err)
	}
	t.Chdir(t.TempDir())
	source := `{version: 2, tools: {a: {text: fine}}, models: {main: [{calls: [{id: "it's\na \x01line", name: a, arguments: {}}]}, {text: done}]}, input: go}`
	if err := os.WriteFile("id.yaml", []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	formatText := "text"
	x := explorer{w: &cli.World{Out: &stdout, Err: &stderr, Now: time.Now}, c: &cobra.Command{}, bounds: explore.Bounds{Faults: 1}, folder: ".", format: &formatText, adjust: deaf}
	if bad, cut := x.file("id.yaml"); !bad || cut {
		t.Fatalf("bad %v, cut %v:\n%s%s", bad, cut, stdout.String(), stderr.String())
	}
	yaml, err := os.ReadFile("id-inv-26.yaml")
	if err != nil {
		t.Fatal(err)
	}
	command := strings.TrimPrefix(strings.Split(string(yaml), "\n")[1], "# ")
	cmd := exec.CommandContext(t.Context(), bash, "-c", `looptape() { printf '%s\0' "$@"; }`+"\n"+command) //nolint:gosec // the command above
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
	out, err := cmd.Output()
	args := strings.Split(string(out), "\x00")
	if err != nil || len(args) != 5 || args[1] != "--choice" {
		t.Fatalf("%v: the command %s has the arguments %q", err, command, args)
	}
	stdout.Reset()
	x.choices = args[2:3]
	if bad, cut := x.file(args[3]); !bad || cut {
		t.Errorf("%s: bad %v, cut %v:\n%s%s", command, bad, cut, stdout.String(), stderr.String())
	}
}

// deaf changes a tool so that it does not get the end of the context: a run in which it hangs does not end.
func deaf(c *loop.Config) {
	run := c.Tools[0].Run
	c.Tools[0].Run = func(ctx context.Context, call loop.Call) (loop.Output, error) {
		return run(context.WithoutCancel(ctx), call)
	}
}

// TestExploreWrites: --write writes a scenario that is smaller, and a test with the choices that repeat the failure.
func TestExploreWrites(t *testing.T) {
	t.Chdir(t.TempDir())
	source := `version: 2
doc: a long scenario
loop: {max_steps: 9}
tools:
  a: {text: fine, delay: 2s}
  b: {text: fine}
  c: {text: fine}
models:
  main:
    - text: first
      calls: [{id: c1, name: b, arguments: {}}]
    - expect: {tools: [a, b, c]}
      calls: [{id: c2, name: a, arguments: {n: 1}}, {id: c3, name: b, arguments: {n: 2}}]
    - {text: done}
input: go
`
	if err := os.WriteFile("long.yaml", []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	formatText := "text"
	x := explorer{w: &cli.World{Out: &stdout, Err: &stderr, Now: time.Now}, c: &cobra.Command{}, bounds: explore.Bounds{Faults: 1}, folder: "out/failures", format: &formatText, adjust: deaf}
	if err := x.makeFolder([]string{"long.yaml"}); err != nil {
		t.Fatal(err)
	}
	if bad, cut := x.file("long.yaml"); !bad || cut {
		t.Errorf("bad %v, cut %v:\n%s%s", bad, cut, stdout.String(), stderr.String())
	}
	if err := x.makeFolder([]string{"long.yaml", "other/long.yml"}); err == nil || !strings.Contains(err.Error(), "the files of long.yaml and other/long.yml would have the same names") {
		t.Errorf("got %v, want an error for two scenarios with one name", err)
	}
	const yamlName = "out/failures/long-inv-26.yaml"
	yaml, err := os.ReadFile(yamlName)
	if err != nil {
		t.Fatalf("%v\n%s", err, stdout.String())
	}
	want := `# looptape explore --choice 'tool call c2: hangs until its context ends' long-inv-26.yaml
version: 2
tools:
  a: {}
models:
  main:
    - calls:
        - id: c2
          name: a
          arguments: '{"n":1}'
input: go
`
	if _, rest, _ := strings.Cut(string(yaml), "\n"); rest != want {
		t.Errorf("got the scenario\n%s\nwant\n%s", yaml, want)
	}
	test, err := os.ReadFile("out/failures/long_inv_26_test.go")
	if err != nil || !strings.Contains(string(test), `{At: "tool call c2", Option: "hangs until its context ends"},`) || !strings.Contains(string(test), "func TestExplored_long_inv_26(t *testing.T)") {
		t.Errorf("%v: got the test\n%s", err, test)
	}
	for _, test := range [][]byte{test, testSource("a", "a.yaml", &explore.Failure{})} {
		if formatted, err := format.Source(test); err != nil || string(formatted) != string(test) {
			t.Errorf("%v: got the test\n%s\nwant it as gofmt formats it", err, test)
		}
	}
	file, err := scenario.Parse(yamlName, yaml)
	if err != nil {
		t.Fatal(err)
	}
	start, err := scenario.Program(file.Script, deaf)
	if err != nil {
		t.Fatal(err)
	}
	p := start()
	defer p.Close()
	run, unused := explore.Replay(p, []explore.Choice{{At: "tool call c2", Option: "hangs until its context ends"}})
	if len(unused) > 0 || len(run.Violations) == 0 || run.Violations[0].Invariant != "INV-26" {
		t.Errorf("got %v, unused %v; want INV-26", run.Violations, unused)
	}
	for _, want := range []string{"wrote " + yamlName, "found in run "} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("the report has no %q:\n%s", want, stdout.String())
		}
	}
}
