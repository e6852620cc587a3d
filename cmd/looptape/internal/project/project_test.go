package project_test

import (
	"cmp"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/looptape/looptape/cmd/looptape/internal/cli"
	"github.com/looptape/looptape/cmd/looptape/internal/cli/clitest"
	"github.com/looptape/looptape/cmd/looptape/internal/project"
)

// In a terminal, only the answer yes writes.
func TestInitAsks(t *testing.T) {
	for answer, want := range map[string]cli.Status{"y\n": cli.OK, "YES\n": cli.OK, "n\n": cli.Failed, "\n": cli.Failed, "": cli.Failed, "yesterday\n": cli.Failed} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module x\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		w, out, messages := clitest.Terminal(nil)
		w.In, w.InTerminal = strings.NewReader(answer), true
		if got := cli.Execute(project.New(w), []string{"--dir", dir}, w); got != want {
			t.Errorf("answer %q: exit status %d, want %d: %s", answer, got, want, messages)
		}
		if !strings.HasPrefix(messages.String(), "Write 9 files into "+dir+"? [y/N]") {
			t.Errorf("answer %q: asked %q", answer, messages)
		}
		_, err := os.Stat(filepath.Join(dir, "looptape-tests", "weather.txtar"))
		if (err == nil) != (want == cli.OK) || strings.Contains(out.String(), "9 files written, 0 kept\n") != (want == cli.OK) {
			t.Errorf("answer %q: the scenario: %v; output:\n%s", answer, err, out)
		}
	}
}

// A release writes its own version, another build the word RELEASE and a note.
func TestInitVersion(t *testing.T) {
	for version, want := range map[string]string{
		"v1.2.3": "v1.2.3", "v1.2.3-rc.1": "v1.2.3-rc.1", "(devel)": "", "": "", "v1.2.3+dirty": "", "v0.0.0-20261129120000-0123456789ab": "",
	} {
		dir := t.TempDir()
		w, out, messages := clitest.Terminal(nil)
		w.Build = &debug.BuildInfo{Main: debug.Module{Version: version}}
		if got := cli.Execute(project.New(w), []string{"--dir", dir, "--language", "go", "--yes"}, w); got != cli.OK {
			t.Fatalf("exit status %d: %s", got, messages)
		}
		workflow, err := os.ReadFile(filepath.Join(dir, ".github", "workflows", "looptape.yml"))
		action := "uses: looptape/looptape@" + cmp.Or(want, "RELEASE") + "\n        with:\n          version: " + cmp.Or(want, "RELEASE") + "\n"
		if err != nil || !strings.Contains(string(workflow), action) {
			t.Errorf("%s: %v, want %q:\n%s", version, err, action, workflow)
		}
		install := "go get github.com/looptape/looptape@" + cmp.Or(want, "latest") + "\n"
		if !strings.Contains(out.String(), install) || strings.Contains(out.String(), "set RELEASE") != (want == "") {
			t.Errorf("%s: want %q:\n%s", version, install, out)
		}
	}
}

// A project whose configuration of vitest selects the tests gets a note.
func TestInitVitestInclude(t *testing.T) {
	const include = "export default { test: { include: ['src/**/*.test.ts'] } };"
	for _, c := range []struct{ name, text, language, want string }{
		{"vitest.config.ts", include, "javascript", "If include in vitest.config.ts selects the tests, add looptape-tests/*.test.mjs to it.\n"},
		{"vite.config.mjs", include, "javascript", "If include in vite.config.mjs selects"},
		{"vitest.config.ts", "export default {};", "javascript", ""},
		{"vitest.config.ts", include, "go", ""},
		{"other.config.ts", include, "javascript", ""},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, c.name), []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		w, out, messages := clitest.Terminal(nil)
		if got := cli.Execute(project.New(w), []string{"--dir", dir, "--language", c.language, "--yes"}, w); got != cli.OK {
			t.Fatalf("exit status %d: %s", got, messages)
		}
		if !strings.Contains(out.String(), c.want) || strings.Contains(out.String(), "If include in") != (c.want != "") {
			t.Errorf("%+v: want %q:\n%s", c, c.want, out)
		}
	}
}
