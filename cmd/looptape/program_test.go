package main

import (
	"bytes"
	"context"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/looptape/looptape/cmd/looptape/internal/cli"
	"github.com/looptape/looptape/cmd/looptape/internal/cli/clitest"
)

// readyThen is what a program writes; it stops the command once the output shows that the
// program is ready.
type readyThen struct {
	said bytes.Buffer // with a name: otherwise its ReadFrom would be used, not Write
	stop context.CancelFunc
}

func (r *readyThen) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("ready")) {
		r.stop()
	}
	return r.said.Write(p)
}

// A signal to stop reaches the program and its children; a program
// that then ends in order has not failed.
func TestServeStopsProgram(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no sh")
	}
	const waits = `sh -c "echo ready; exec sleep 100" & wait`
	for name, c := range map[string]struct {
		script string
		status cli.Status
		prints string // by the program
		words  string // by the command
	}{
		"in order":     {`trap "echo told; exit 0" TERM; ` + waits, cli.OK, "told", ""},
		"with a child": {`(trap "echo told; exit 0" TERM; ` + waits + `) & wait`, cli.Failed, "told", "the program ended with signal: terminated"},
		"in disorder":  {`trap "exit 5" TERM; ` + waits, cli.Failed, "", "the program ended with exit status 5"},
	} {
		t.Run(name, func(t *testing.T) {
			w, _, words := clitest.Terminal(nil)
			w.Environ = func() []string { return []string{"PATH=" + os.Getenv("PATH")} }
			out := &readyThen{}
			w.Out = out
			w.Interrupted = func(ctx context.Context) (context.Context, context.CancelFunc) {
				ctx, out.stop = context.WithCancel(ctx)
				return ctx, out.stop
			}
			if got := execute([]string{"serve", weatherFile(t), "--", "sh", "-c", c.script}, w); got != c.status {
				t.Errorf("exit status %d, want %d; %s", got, c.status, words)
			}
			if !strings.Contains(out.said.String(), c.prints) || !strings.Contains(words.String(), c.words) || c.words == "" && strings.Contains(words.String(), "ended") {
				t.Errorf("the program printed %q, the command %q", out.said.String(), words)
			}
		})
	}
}
