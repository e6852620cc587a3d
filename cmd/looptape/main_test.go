package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	testscript.Main(withoutLeaks{m}, map[string]func(){"looptape": main, "agent": agent})
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
			if sub.IsAvailableCommand() && sub.Name() != "completion" { // whose words are cobra's
				fits(sub)
			}
		}
		args := append(strings.Fields(c.CommandPath())[1:], "--help")
		wide(t, printed(t, args...))
	}
	fits(newRoot(&world{}))
	wide(t, printed(t, "demo"))
}

// printed is what a command line prints that holds.
func printed(t *testing.T, args ...string) string {
	t.Helper()
	w, out, err := atTerminal(map[string]string{"NO_COLOR": "1"})
	if status := execute(args, w); status != statusOK {
		t.Fatalf("looptape %q: exit status %d: %s", args, status, err)
	}
	return out.String()
}

func wide(t *testing.T, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > columns {
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
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"status": wantStatus, "replace": replaceIn},
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

// replaceIn is the script command `replace OLD NEW FILE`: the one OLD in a file becomes
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

// atTerminal is a world in which a terminal shows everything.
func atTerminal(env map[string]string) (w *world, out, err *bytes.Buffer) {
	out, err = &bytes.Buffer{}, &bytes.Buffer{}
	return &world{
		in: strings.NewReader(""), out: out, err: err,
		env: func(name string) string { return env[name] },
		now: func() time.Time { return time.Time{} }, outTerm: true, errTerm: true,
		environ: func() []string { return nil }, interrupted: context.WithCancel,
	}, out, err
}

func TestColour(t *testing.T) {
	file := filepath.Join(t.TempDir(), "run.json")
	if err := os.WriteFile(file, []byte(`[{"role":"user","content":"hi"}]`), 0o600); err != nil {
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
			w, out, _ := atTerminal(c.env)
			if got := execute([]string{"check", file}, w); got != statusOK {
				t.Errorf("exit status %d, want %d", got, statusOK)
			}
			if diff := cmp.Diff(c.want, out.String()); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
		})
	}
}

// The bar comes after a second of work and goes away at its end.
func TestProgress(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("0123456789"), 0o600); err != nil {
		t.Fatal(err)
	}
	w, _, out := atTerminal(nil)
	now := time.Unix(0, 0)
	w.now = func() time.Time { return now }
	f, err := w.openFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []time.Duration{999 * time.Millisecond, time.Millisecond, 99 * time.Millisecond, time.Millisecond} {
		now = now.Add(step)
		if _, err := f.Read(make([]byte, 2)); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	want := "\r[############..................]  40 % " + file + "\x1b[K" +
		"\r[########################......]  80 % " + file + "\x1b[K" + "\r\x1b[K"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("standard error (-want +got):\n%s", diff)
	}
}

// Files that are read at once have one bar, which goes away with the last of them.
func TestProgressOfFiles(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "b"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("0123456789"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w, _, out := atTerminal(nil)
	now := time.Unix(0, 0)
	w.now = func() time.Time { return now }
	g := gatherer{meter: meter{w: w, name: "2 files", start: now}}
	if err := g.gather(dir); err != nil {
		t.Fatal(err)
	}
	var files []io.ReadCloser
	for _, in := range g.list {
		f, err := in.Open()
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
		now = now.Add(time.Second)
		if _, err := f.Read(make([]byte, 5)); err != nil {
			t.Fatal(err)
		}
	}
	if err := files[0].Close(); err != nil { // what is not read of it counts as done
		t.Fatal(err)
	}
	now = now.Add(time.Second)
	if _, err := files[1].Read(make([]byte, 2)); err != nil {
		t.Fatal(err)
	}
	if err := files[1].Close(); err != nil {
		t.Fatal(err)
	}
	want := "\r[########......................]  25 % 2 files\x1b[K" +
		"\r[###############...............]  50 % 2 files\x1b[K" +
		"\r[##########################....]  85 % 2 files\x1b[K" + "\r\x1b[K"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("standard error (-want +got):\n%s", diff)
	}
}

func TestBar(t *testing.T) {
	full := "[" + strings.Repeat("#", barWidth) + "] 100 %"
	for _, c := range []struct {
		done, size int64
		want       string
	}{
		{0, 10, "[" + strings.Repeat(".", barWidth) + "]   0 %"},
		{10, 10, full},
		{11, 10, full}, // the file has grown
		{5, 0, full},   // a pipe
	} {
		if got := bar(c.done, c.size); got != c.want {
			t.Errorf("bar(%d, %d) = %q, want %q", c.done, c.size, got, c.want)
		}
	}
}

func TestVersion(t *testing.T) {
	revision := debug.BuildSetting{Key: "vcs.revision", Value: "0123456789abcdef"}
	for want, build := range map[string]*debug.BuildInfo{
		"(unknown)":              nil,
		"v1.2.3 go1.26":          {Main: debug.Module{Version: "v1.2.3"}, GoVersion: "go1.26"},
		"(devel) go1.26":         {GoVersion: "go1.26"},
		"v1 0123456789abcdef go": {Main: debug.Module{Version: "v1"}, GoVersion: "go", Settings: []debug.BuildSetting{revision}},
		"v0.0.0-2-0123456789ab go": {
			Main: debug.Module{Version: "v0.0.0-2-0123456789ab"}, GoVersion: "go", Settings: []debug.BuildSetting{revision, {Key: "GOOS", Value: "x"}},
		},
	} {
		if got := version(build); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("the pipe is broken") }

// Results that cannot be written are an error, whatever they say.
func TestOutputFails(t *testing.T) {
	file := filepath.Join(t.TempDir(), "run.json")
	if err := os.WriteFile(file, []byte(`[{"role":"tool","tool_call_id":"a","content":"x"}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"table", "json", "jsonl"} {
		w, _, errs := atTerminal(nil)
		w.out = failing{}
		if got := execute([]string{"check", "--format", format, file}, w); got != statusUsage {
			t.Errorf("%s: exit status %d, want %d", format, got, statusUsage)
		}
		if want := "looptape: the pipe is broken\n"; errs.String() != want {
			t.Errorf("%s: standard error %q, want %q", format, errs, want)
		}
	}
}

// The recorded results of tau-bench use call ids again in 49 of 200 runs, and
// break nothing else.
func TestCheckTauAirline(t *testing.T) {
	file := sharedData(t, "tau-airline", "gpt-4o-airline.json.gz")
	w, out, _ := atTerminal(nil)
	if got := execute([]string{"check", "--format", "json", file}, w); got != statusFailed {
		t.Errorf("exit status %d, want %d", got, statusFailed)
	}
	var r report
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
