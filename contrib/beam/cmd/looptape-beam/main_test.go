package main

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"looptape-beam": main})
}

// TestScripts runs the command next to looptape.
func TestScripts(t *testing.T) {
	bin := t.TempDir()
	build(t, filepath.Join("..", "..", "..", ".."), bin, "./cmd/looptape")
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(e *testscript.Env) error {
			e.Setenv("PATH", bin+string(os.PathListSeparator)+e.Getenv("PATH"))
			return nil
		},
	})
}

func build(t *testing.T, dir, bin, pkg string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", bin, pkg)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, out)
	}
}

// TestDocumentedFlags checks that the flags and files in the documentation exist.
func TestDocumentedFlags(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "beam.md"))
	if err != nil {
		t.Fatal(err)
	}
	flags := flag.NewFlagSet("looptape-beam", flag.ContinueOnError)
	o := ownFlags(flags)
	flag.CommandLine.VisitAll(func(f *flag.Flag) { flags.Var(texts{}, f.Name, f.Usage) })
	commands := regexp.MustCompile(`(?m)^looptape-beam (?:.*\\\n)*.*`).FindAllString(string(page), -1)
	for _, c := range commands {
		args := strings.Fields(strings.ReplaceAll(c, "\\\n", " "))[1:]
		if err := flags.Parse(args); err != nil || o.out+o.summary == "" || flags.NArg() == 0 {
			t.Errorf("%s\nerror %v, -o %q, %d files", c, err, o.out, flags.NArg())
		}
	}
	if len(commands) < 3 {
		t.Errorf("%d commands are documented, want one for each runner, 3 at least", len(commands))
	}
}

// texts takes any value of a flag, and leaves the flag of the process alone.
type texts struct{}

func (texts) String() string   { return "" }
func (texts) Set(string) error { return nil }
