package project_test

import (
	"os"
	"path/filepath"
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
