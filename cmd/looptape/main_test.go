package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"
	"go.uber.org/goleak"

	"github.com/looptape/looptape/cmd/looptape/internal/cli"
	"github.com/looptape/looptape/cmd/looptape/internal/cli/clitest"
	"github.com/looptape/looptape/cmd/looptape/internal/root"
)

func TestMain(m *testing.M) {
	testscript.Main(withoutLeaks{m}, map[string]func(){"looptape": checkedCommand, "looptape-unchecked": main, "agent": agent, "client": client, "visitor": visitor, "reader": reader, "sender": sender})
}

// withoutLeaks are tests that fail if a goroutine outlives them.
type withoutLeaks struct{ *testing.M }

func (m withoutLeaks) Run() int {
	code := m.M.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, "goroutines outlive the tests:", err)
		return 1
	}
	return code
}

// TestHelpFits checks that the help of no command, nor what the demo prints, is
// wider than a terminal.
func TestHelpFits(t *testing.T) {
	var fits func(c *cobra.Command)
	fits = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() && sub.Name() != "completion" { // the words are cobra's
				fits(sub)
			}
		}
		args := append(strings.Fields(c.CommandPath())[1:], "--help")
		wide(t, printed(t, args...))
	}
	fits(root.New(&cli.World{}))
	wide(t, printed(t, "demo"))
}

// printed is the output of a command line that succeeds.
func printed(t *testing.T, args ...string) string {
	t.Helper()
	w, out, err := clitest.Terminal(map[string]string{"NO_COLOR": "1"})
	if status := execute(args, w); status != cli.OK {
		t.Fatalf("looptape %q: exit status %d: %s", args, status, err)
	}
	return out.String()
}

func wide(t *testing.T, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > cli.Columns {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"status": wantStatus, "replace": replaceIn, "schema": schemaCommand},
	})
}

var update = flag.Bool("update", false, "rewrite the expected output in the scripts")

// wantStatus is the script command `status N ARGUMENT…`: looptape with these
// arguments exits with N.
func wantStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N ARGUMENT…")
	}
	got := "0"
	if exit, ok := errors.AsType[*exec.ExitError](ts.Exec("looptape", args[1:]...)); ok {
		got = strconv.Itoa(exit.ExitCode())
	}
	if got != args[0] {
		ts.Fatalf("exit status %s, want %s", got, args[0])
	}
}

// replaceIn is the script command `replace OLD NEW FILE`: the only OLD in a file becomes
// NEW.
func replaceIn(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: replace OLD NEW FILE")
	}
	text := ts.ReadFile(args[2])
	if n := strings.Count(text, args[0]); n != 1 {
		ts.Fatalf("%s has %q %d times", args[2], args[0], n)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), []byte(strings.Replace(text, args[0], args[1], 1)), 0o600))
}

func TestColour(t *testing.T) {
	file := filepath.Join(t.TempDir(), "run.json")
	if err := os.WriteFile(file, []byte(`[{"role":"user","content":"hi"},{"role":"assistant","content":"Hello."}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	const plain = "1 run checked: 0 violations, 0 unreadable records\n"
	for name, c := range map[string]struct {
		env  map[string]string
		want string
	}{
		"terminal":      {nil, "\x1b[32m" + strings.TrimSpace(plain) + "\x1b[0m\n"},
		"NO_COLOR":      {map[string]string{"NO_COLOR": "1"}, plain},
		"dumb terminal": {map[string]string{"TERM": "dumb"}, plain},
	} {
		t.Run(name, func(t *testing.T) {
			w, out, _ := clitest.Terminal(c.env)
			if got := execute([]string{"check", file}, w); got != cli.OK {
				t.Errorf("exit status %d, want %d", got, cli.OK)
			}
			if diff := cmp.Diff(c.want, out.String()); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
		})
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("the pipe is broken") }

// Results that cannot be written are an error, whatever the results are.
func TestOutputFails(t *testing.T) {
	file := filepath.Join(t.TempDir(), "run.json")
	if err := os.WriteFile(file, []byte(`[{"role":"tool","tool_call_id":"a","content":"x"}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"table", "json", "jsonl"} {
		w, _, errs := clitest.Terminal(nil)
		w.Out = failing{}
		if got := execute([]string{"check", "--format", format, file}, w); got != cli.Usage {
			t.Errorf("%s: exit status %d, want %d", format, got, cli.Usage)
		}
		if want := "looptape: the pipe is broken\n"; errs.String() != want {
			t.Errorf("%s: standard error %q, want %q", format, errs, want)
		}
	}
}

// The recorded results of tau-bench use call ids again in 49 of 200 runs, which providers of Chat
// Completions accept, and break nothing else.
func TestCheckTauAirline(t *testing.T) {
	file := sharedData(t, "tau-airline", "gpt-4o-airline.json.gz")
	w, out, _ := clitest.Terminal(nil)
	if got := execute([]string{"check", "--strict", "--format", "json", file}, w); got != cli.Failed {
		t.Errorf("with --strict: exit status %d, want %d", got, cli.Failed)
	}
	out.Reset()
	if got := execute([]string{"check", "--format", "json", file}, w); got != cli.OK {
		t.Errorf("exit status %d, want %d", got, cli.OK)
	}
	var r struct {
		Runs       int
		Violations []struct{ Run, Invariant string }
		Counts     map[string]int
		Unreadable []any
	}
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	flagged := map[string]bool{}
	for _, v := range r.Violations {
		flagged[v.Run+" "+v.Invariant] = true
	}
	got := []int{r.Runs, len(flagged), len(r.Violations) - r.Counts["INV-04"], len(r.Unreadable)}
	if diff := cmp.Diff([]int{200, 49, 0, 0}, got); diff != "" {
		t.Errorf("runs, flagged runs, other violations, unreadable parts (-want +got):\n%s", diff)
	}
}
