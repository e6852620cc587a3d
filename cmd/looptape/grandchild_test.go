//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/looptape/looptape/cmd/looptape/internal/cli/clitest"
)

const (
	programRun   = `{"id":"a","messages":[{"role":"user","content":"Where?"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"find","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c1","content":"here"}]}`
	programSuite = "suite: 1\nruns: [runs.jsonl]\nscorers:\n  - kind: program\n    settings: {command: [sh, PROGRAM], timeout: %v}\n"
)

// No process that a program starts outlives the command: one that ignores signals, one in another session, and one
// whose parent has ended. The program ends, takes too long, or is interrupted.
func TestGrandchildrenEnd(t *testing.T) {
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("there is no setsid")
	}
	for name, command := range map[string]string{
		"serve":         "serve weather.yaml -- sh PROGRAM",
		"serve timeout": "serve --timeout 500ms weather.yaml -- sh PROGRAM",
		"replay":        "replay --allow-unused --upstream x=http://127.0.0.1:1 empty.har -- sh PROGRAM",
		"record":        "record -o out --upstream x=http://127.0.0.1:1 -- sh PROGRAM",
		"rerun":         "eval rerun --tools-cmd sh${IFS}PROGRAM runs.jsonl",
		"rerun timeout": "eval rerun --timeout 500ms --tools-cmd sh${IFS}PROGRAM runs.jsonl",
		"score":         "eval score --allow-programs suite.yaml",
		"score timeout": "eval score --allow-programs timeout.yaml",
	} {
		for left, start := range map[string]string{
			"in the group": "exec sh up", "in a session": "exec setsid sh up", "orphan": "setsid sh -c 'sh up & exit'",
		} {
			late := strings.HasSuffix(name, "timeout")
			if !late {
				t.Run(name+", "+left+", exit 0", func(t *testing.T) { endsWithGrandchild(t, command, start, "exit 0", false) })
			}
			t.Run(name+", "+left+", exec sleep 1000", func(t *testing.T) { endsWithGrandchild(t, command, start, "exec sleep 1000", !late) })
		}
	}
}

// endsWithGrandchild runs a command whose program starts a process, and waits until that has ended. It may interrupt
// the command when the process runs.
func endsWithGrandchild(t *testing.T, command, start, end string, interrupted bool) {
	t.Helper()
	t.Chdir(t.TempDir())
	if err := syscall.Mkfifo("pipe", 0o600); err != nil {
		t.Fatal(err)
	}
	program := "trap '' TERM INT HUP\nexec 3>pipe\n(" + start + ") <&- >/dev/null 2>&1 &\nexec 3>&-\ntrap - TERM INT HUP\nuntil [ -e ready ]; do :; done\necho '{\"score\":1,\"result\":\"x\"}'\n" + end + "\n"
	for file, text := range map[string]string{
		"PROGRAM": program, "up": ": >ready\necho x >&3\nexec sleep 1000\n", "weather.yaml": weather, "runs.jsonl": programRun + "\n", "empty.har": `{"log":{"version":"1.2","creator":{"name":"x","version":"1"},"entries":[]}}`,
		"suite.yaml": fmt.Sprintf(programSuite, 1000), "timeout.yaml": fmt.Sprintf(programSuite, 0.5),
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w, _, errs := clitest.Terminal(nil)
	w.Environ = os.Environ
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	w.Interrupted = func(context.Context) (context.Context, context.CancelFunc) { return ctx, stop }
	ended := make(chan error, 1)
	go func() {
		f, err := os.Open("pipe") // waits for the program
		if err == nil {
			_, err = f.Read(make([]byte, 1))
			if interrupted {
				stop()
			}
			_, _ = io.Copy(io.Discard, f) // until no process has it open
			_ = f.Close()
		}
		ended <- err
	}()
	_ = execute(strings.Fields(command), w) // the status is that of the program
	if f, err := os.OpenFile("pipe", os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
		_ = f.Close() // ends a reader that waits for a program which was stopped before it opened the pipe
	}
	if err := <-ended; err != nil && !errors.Is(err, io.EOF) {
		t.Error(err, errs)
	}
}
