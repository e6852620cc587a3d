package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// python has a virtual environment with the wheel.
type python struct {
	dir   string // of the environment
	wheel string
	env   []string
	used  time.Duration // of a processor, by all commands
}

// newPython installs the wheel of this machine into a new environment. The test is skipped without Python, venv or pytest,
// or fails if LOOPTAPE_PYTEST is set.
func newPython(t *testing.T) *python {
	t.Helper()
	skip, interpreter := t.Skipf, "python3"
	if os.Getenv("LOOPTAPE_PYTEST") != "" {
		skip, interpreter = t.Fatalf, "/usr/bin/python3" // Debian's, for which .ci/tools installs packages
	}
	if out, err := exec.CommandContext(t.Context(), interpreter, "-c", "import sys, pytest, ensurepip; assert sys.version_info >= (3, 9)").CombinedOutput(); err != nil {
		skip("Python 3.9 or later with venv and pytest is not installed: %v\n%s", err, out)
	}
	files, err := wheels(hostBuild(t))
	if err != nil {
		t.Fatal(err)
	}
	wheel := files[0]
	p := &python{dir: filepath.Join(t.TempDir(), "environment with a space"), wheel: filepath.Join(t.TempDir(), filepath.Base(wheel.name))}
	t.Logf("%s: %.1f MB", filepath.Base(wheel.name), float64(len(wheel.data))/1e6)
	if len(wheel.data) > maxPackage {
		t.Errorf("%s has %d bytes, want at most %d", wheel.name, len(wheel.data), maxPackage)
	}
	if err := os.WriteFile(p.wheel, wheel.data, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, variable := range os.Environ() {
		switch name, _, _ := strings.Cut(variable, "="); {
		case name == "CI", name == "BUILD_NUMBER": // with these, pytest repeats each error in its summary
		case name == "LOOPTAPE_PYTEST" || !strings.HasPrefix(name, "LOOPTAPE_") && !strings.HasPrefix(name, "PYTHON") && !strings.HasPrefix(name, "PYTEST"):
			p.env = append(p.env, variable)
		}
	}
	p.env = append(p.env, "PATH="+filepath.Join(p.dir, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"),
		"PIP_NO_INDEX=1", "PIP_DISABLE_PIP_VERSION_CHECK=1", "PYTEST_ADDOPTS=-p no:cacheprovider", "NO_COLOR=1")
	start := time.Now()
	p.must(t, t.TempDir(), interpreter, "-m", "venv", "--system-site-packages", p.dir)
	t.Logf("python -m venv: %.1f s", time.Since(start).Seconds())
	return p
}

// must runs a command that succeeds. A name without a path is one of the environment, if it has it.
func (p *python) must(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	if path := filepath.Join(p.dir, "bin", name); isFile(path) {
		name = path
	}
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = dir, p.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, out)
	}
	p.used += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return string(out)
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

func TestPython(t *testing.T) {
	p := newPython(t)
	t.Run("wheel", p.install)
	t.Run("tests", func(t *testing.T) {
		tests, err := filepath.Abs(filepath.Join("python", "tests"))
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		out := p.must(t, t.TempDir(), "python", "-B", "-W", "error::ResourceWarning", "-m", "pytest", "-q", "-rs", tests)
		t.Logf("pytest: %.1f s\n%s", time.Since(start).Seconds(), out)
		if os.Getenv("LOOPTAPE_PYTEST") != "" && strings.Contains(out, "skipped") {
			t.Error("tests were skipped")
		}
	})
	t.Run("init", p.init)
	t.Run("uninstall", p.uninstall)
	t.Run("page", func(t *testing.T) {
		runPage(t, "python.md", t.TempDir(), p.env, map[string]string{
			"python -m pip install looptape pytest": "python -m pip install '" + p.wheel + "' pytest",
		})
	})
}

// install installs the wheel without an index, and runs the demo.
func (p *python) install(t *testing.T) {
	dir := t.TempDir()
	if list := p.must(t, dir, "python", "-m", "zipfile", "-l", p.wheel); !strings.Contains(list, "looptape/py.typed") {
		t.Errorf("the wheel has the files\n%s", list)
	}
	start, used := time.Now(), p.used
	p.must(t, dir, "pip", "install", "--quiet", "--no-index", p.wheel)
	out := p.must(t, dir, "looptape", "demo")
	used = p.used - used
	t.Logf("from the wheel to the end of the demo: %.1f s, %.1f s of a processor", time.Since(start).Seconds(), used.Seconds())
	if !strings.Contains(out, "with 0 false alarms") || used > maxDemo {
		t.Errorf("pip install and the demo used %v of a processor, want at most %v; the demo printed:\n%s", used, maxDemo, out)
	}
	if out := p.must(t, dir, "pip", "show", "--files", "looptape"); !strings.Contains(out, "Version: 1.2.3\n") || !strings.Contains(out, "bin/looptape\n") {
		t.Errorf("pip shows:\n%s", out)
	}
}

// init runs the tests that looptape init writes.
func (p *python) init(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "pyproject.toml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p.must(t, dir, "looptape", "init", "--yes")
	if out := p.must(t, dir, "python", "-m", "pytest", "-q", "looptape-tests"); !strings.Contains(out, "2 passed") {
		t.Errorf("the tests that looptape init wrote print:\n%s", out)
	}
}

// uninstall checks that RECORD has all files of the package. Those that pytest compiled are left.
func (p *python) uninstall(t *testing.T) {
	p.must(t, t.TempDir(), "pip", "uninstall", "--quiet", "--yes", "looptape")
	if err := filepath.WalkDir(p.dir, func(path string, d fs.DirEntry, err error) error {
		if strings.HasPrefix(d.Name(), "looptape") && !d.IsDir() || strings.HasSuffix(d.Name(), ".dist-info") && strings.HasPrefix(d.Name(), "looptape") {
			t.Errorf("%s is left", path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(p.dir, "lib", "python*", "site-packages", "looptape", "*"))
	if err != nil || len(left) > 1 || len(left) == 1 && filepath.Base(left[0]) != "__pycache__" {
		t.Errorf("%q are left, %v", left, err)
	}
}

// TestPythonSources parses the sources as the oldest version of Python does, and imports them without other packages.
func TestPythonSources(t *testing.T) {
	interpreter, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	const program = `import ast, pathlib, sys
for path in pathlib.Path("python/looptape").glob("*.py"):
    ast.parse(path.read_text(encoding="utf-8"), str(path), feature_version=(3, 9))
sys.path.insert(0, "python")
import looptape.__main__`
	if out, err := exec.CommandContext(t.Context(), interpreter, "-B", "-S", "-c", program).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
