package node

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// block matches a code block of a page and the name of its file.
var block = regexp.MustCompile("(?s)in `([\\w.]+)`[.:]\n\n```\\w+\n(.*?)```")

// recipes writes the files of docs/testing-your-loop.md and the command into a new folder below a
// parent, and returns the folder and the environment with the command.
func recipes(t *testing.T, root, parent string) (dir string, env []string) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(root, "docs", "testing-your-loop.md"))
	if err != nil {
		t.Fatal(err)
	}
	if dir, err = os.MkdirTemp(parent, "recipe"); err != nil { //nolint:usetesting // vitest is in a parent folder
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	for _, m := range block.FindAllStringSubmatch(string(page), -1) {
		if err := os.WriteFile(filepath.Join(dir, m[1]), []byte(m[2]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Dir(built(t, root)) + string(os.PathListSeparator) + os.Getenv("PATH")
	return dir, append(os.Environ(), "PATH="+path, "NO_COLOR=1")
}

// runRecipe runs a test runner on a recipe, with the program of the page and with one that sends no
// request, and checks the results.
func runRecipe(t *testing.T, dir string, env []string, program, passed, failed string, runner ...string) {
	t.Helper()
	for _, want := range []string{passed, failed} {
		cmd := exec.CommandContext(t.Context(), runner[0], runner[1:]...)
		cmd.Dir, cmd.Env = dir, env
		out, err := cmd.CombinedOutput()
		if !strings.Contains(string(out), want) || (err == nil) != (want == passed) {
			t.Errorf("%v: %v; want %q in the output:\n%s", runner, err, want, out)
		}
		if err := os.WriteFile(filepath.Join(dir, program), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestVitestRecipe runs the recipe for vitest.
func TestVitestRecipe(t *testing.T) {
	npm := installed(t)
	dir, env := recipes(t, filepath.Join(npm, "..", ".."), npm)
	runRecipe(t, dir, env, "agent.js", "1 passed", "No request came", "node", filepath.Join(npm, "node_modules", "vitest", "vitest.mjs"), "run", "--root", dir)
}

// TestPytestRecipe runs the recipe for pytest.
func TestPytestRecipe(t *testing.T) {
	python := "python3"
	if os.Getenv("LOOPTAPE_PYTEST") != "" {
		python = "/usr/bin/python3" // Debian's, which .ci/tools installs pytest for
	} else if err := exec.CommandContext(t.Context(), python, "-m", "pytest", "--version").Run(); err != nil {
		t.Skip("pytest is not installed")
	}
	dir, env := recipes(t, filepath.Join("..", ".."), t.TempDir())
	runRecipe(t, dir, env, "agent.py", "1 passed", "No request came", python, "-m", "pytest", "-p", "no:cacheprovider", "-q", "test_agent.py")
}
