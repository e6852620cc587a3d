package main

import (
	"bytes"
	"context"
	"io"
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

// A signal to stop reaches the program and its children; the report has no failure of a
// program that then ends in order.
func TestServeStopsProgram(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no sh")
	}
	const waits = `sh -c "echo ready; exec sleep 100" & wait`
	for name, c := range map[string]struct {
		script string
		prints string // by the program
		ending string // in the report
	}{
		"in order":     {`trap "echo told; exit 0" TERM; ` + waits, "told", ""},
		"with a child": {`(trap "echo told; exit 0" TERM; ` + waits + `) & wait`, "told", "The program ended with signal: terminated, expected exit status 0."},
		"in disorder":  {`trap "exit 5" TERM; ` + waits, "", "The program ended with exit status 5, expected exit status 0."},
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
			if got := execute([]string{"serve", weatherFile(t), "--", "sh", "-c", c.script}, w); got != cli.Failed {
				t.Errorf("exit status %d, want %d, because no request came; %s", got, cli.Failed, words)
			}
			printed := out.said.String()
			if !strings.Contains(printed, c.prints) || !strings.Contains(printed, c.ending) || c.ending == "" && strings.Contains(printed, "The program ended") {
				t.Errorf("got the output %q, want %q and %q", printed, c.prints, c.ending)
			}
		})
	}
}

// A process that the program has left is stopped when the program has ended.
func TestServeStopsChildOfEndedProgram(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no sh")
	}
	r, in, err := os.Pipe() // only the left process has the other end
	if err != nil {
		t.Fatal(err)
	}
	w, _, words := clitest.Terminal(nil)
	w.In = in
	w.Environ = func() []string { return []string{"PATH=" + os.Getenv("PATH")} }
	if got := execute([]string{"serve", weatherFile(t), "--", "sh", "-c", "exec 3>&0; sleep 1000 0<&- >/dev/null 2>&1 &"}, w); got != cli.Failed {
		t.Errorf("exit status %d, want %d, because no request came; %s", got, cli.Failed, words)
	}
	if err := in.Close(); err != nil {
		t.Error(err)
	}
	if text, err := io.ReadAll(r); len(text) > 0 || err != nil { // ends with the last process
		t.Errorf("got %q and the error %v", text, err)
	}
}
