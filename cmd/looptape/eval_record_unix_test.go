//go:build unix

package main

import (
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/looptape/looptape/cmd/looptape/internal/cli"
)

// TestEvalRecordKilled kills a recording at each request, and another one while it continues. The same
// command, or one with --record missing, asks only for the rest, and the scores are those of a whole
// recording. Before, the cassette is that of an older recording.
func TestEvalRecordKilled(t *testing.T) {
	for _, mode := range []string{"all", "missing"} {
		for most := range 9 {
			g := newGraded(t)
			whole := g.whole(9)
			g.kill("all", most/2)
			g.kill(mode, most)
			journal := filepath.Join(g.dir, "grader.tape.journal")
			if _, _, _, said := g.score(); most > 0 && !strings.Contains(said, "grader.tape.journal: the responses of an interrupted recording are used: complete it with looptape eval score --record ") {
				t.Errorf("%s, killed after %d requests: got %q without --record, want a message about the journal", mode, most, said)
			}
			status, _, _, said := g.score("--record="+mode, "-o", g.path("scores"))
			if _, good := g.counts(); status != cli.OK || good != 9+9 {
				t.Errorf("%s, killed after %d requests: got status %d, %d grades and %q, want 0 and 9", mode, most, status, good-9, said)
			}
			if got := g.read("scores"); got != whole {
				t.Errorf("%s, killed after %d requests: got the scores %s, want %s", mode, most, got, whole)
			}
			if most > 0 && !strings.Contains(said, "grader.tape.journal: continuing an interrupted recording with ") {
				t.Errorf("%s, killed after %d requests: got %q, want a message about the journal", mode, most, said)
			}
			if _, err := os.Stat(journal); !os.IsNotExist(err) {
				t.Errorf("the journal at the end: got %v, want none", err)
			}
		}
	}
}

// kill records with a process that is killed when it has most responses, of all processes so far.
func (g *graded) kill(mode string, most int) {
	g.Helper()
	self, err := os.Executable()
	if err != nil {
		g.Fatal(err)
	}
	looptape := filepath.Join(g.TempDir(), "looptape")
	if err := os.Symlink(self, looptape); err != nil { // by this name, TestMain runs the command
		g.Fatal(err)
	}
	reached := make(chan struct{}, 100)
	g.limit(9+most, func(_ http.ResponseWriter, r *http.Request) {
		reached <- struct{}{}
		<-r.Context().Done()
	})
	var words bytes.Buffer
	cmd := exec.CommandContext(g.Context(), looptape, "eval", "score", "--record="+mode, "-o", g.path("killed"), g.path("eval.yaml"))
	cmd.Env = append(os.Environ(), "OPENAI_API_KEY=key-of-the-test", "OPENAI_BASE_URL="+g.url, "GOMAXPROCS=1")
	cmd.Stderr = &words
	if err := cmd.Start(); err != nil {
		g.Fatal(err)
	}
	<-reached
	if err := cmd.Process.Kill(); err != nil {
		g.Fatal(err)
	}
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != -1 {
		g.Fatalf("the process was not killed, but ended with %v: %s", err, &words)
	}
	g.limit(1000, nil)
}
