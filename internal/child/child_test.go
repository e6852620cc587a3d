//go:build unix

package child_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/looptape/looptape/internal/child"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func shell(script string) *child.Program {
	return &child.Program{Args: []string{"sh", "-c", script}, In: []byte("in\n"), MaxOutput: 1000}
}

func TestProgramRun(t *testing.T) {
	for script, want := range map[string]string{
		"cat; echo words >&2": "in\n",
		"exec <&-; echo deaf": "deaf\n",
		"printf %01000d 0":    strings.Repeat("0", 1000),
	} {
		if got, err := shell(script).Run(t.Context()); string(got) != want || err != nil {
			t.Errorf("%s: got %q and the error %v, want %q", script, got, err, want)
		}
	}
	p := shell("cat here")
	p.Dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(p.Dir, "here"), []byte("in its folder"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := p.Run(t.Context()); string(got) != "in its folder" || err != nil {
		t.Errorf("got %q and the error %v", got, err)
	}
}

// A program does not have to read what it is given, however long that is.
func TestRunUnreadInput(t *testing.T) {
	p := shell("echo done")
	p.In = make([]byte, 1<<20)
	if got, err := p.Run(t.Context()); string(got) != "done\n" || err != nil {
		t.Errorf("got %q and the error %v", got, err)
	}
}

func TestRunErrors(t *testing.T) {
	for script, want := range map[string]string{
		"exit 3":                       "the program ended with exit status 3",
		"echo why >&2; echo 1; exit 1": "the program ended with exit status 1; its standard error: why",
		"kill -9 $$":                   "the program ended with signal: killed",
		`printf '\377' >&2; exit 1`:    "the program ended with exit status 1; its standard error: \uFFFD",
		"printf %01001d 0":             "the program wrote more than 1000 bytes to its standard output",
		"yes":                          "the program wrote more than 1000 bytes to its standard output",
		"trap '' PIPE TERM; echo no >&2; exec 2>/dev/null; while :; do echo on; done": "the program wrote more than 1000 bytes to its standard output; its standard error: no",
		"printf %01030dX 0 >&2; exit 1":                                               "the program ended with exit status 1; its standard error: … " + strings.Repeat("0", 1023) + "X",
	} {
		got, err := shell(script).Run(t.Context())
		if fmt.Sprint(err) != want || got != nil {
			t.Errorf("%s: got %q and the error %v, want %q", script, got, err, want)
		}
	}
	if _, err := (&child.Program{Args: []string{"/none"}}).Run(t.Context()); fmt.Sprint(err) != "the program cannot be started: fork/exec /none: no such file or directory" {
		t.Errorf("got the error %v", err)
	}
}

// pipe returns a named pipe and a function that returns all data written to it once no process has it
// open, after it called ready with the first data.
func pipe(t *testing.T, ready func()) (name string, all func() string) {
	t.Helper()
	name = filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	text := make(chan string)
	go func() {
		f, err := os.Open(name)
		if err != nil {
			text <- err.Error()
			return
		}
		first := make([]byte, 1)
		_, _ = io.ReadFull(f, first) // an error is one of the rest, too
		ready()
		rest, err := io.ReadAll(f)
		text <- fmt.Sprint(string(first)+string(rest), err, f.Close())
	}()
	return name, func() string { return <-text }
}

// Run kills the processes that a program has started.
func TestRunKillsChildProcesses(t *testing.T) {
	name, all := pipe(t, func() {})
	p := shell(`sh -c "trap '' TERM HUP; echo x; exec sleep 1000" >"$0" 2>&1 </dev/null & echo done`)
	p.Args = append(p.Args, name)
	if got, err := p.Run(t.Context()); string(got) != "done\n" || err != nil {
		t.Errorf("got %q and the error %v", got, err)
	}
	all() // which waits for the end of it
}

// A program that keeps on is killed when its time is over, with what it has started.
func TestRunStoppedByContext(t *testing.T) {
	over := errors.New("the time is over")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	name, all := pipe(t, func() { cancel(over) })
	p := shell(`trap '' TERM INT HUP; echo why >&2; sh -c "echo x; exec sleep 1000" >"$0" & echo 1; wait`)
	p.Args = append(p.Args, name)
	if got, err := p.Run(ctx); !errors.Is(err, over) || fmt.Sprint(err) != "the time is over; its standard error: why" || got != nil {
		t.Errorf("got %q and the error %v", got, err)
	}
	if got := all(); got != "x\n<nil> <nil>" {
		t.Errorf("the child wrote %q", got)
	}
}

// A program that hands its output on to something that outlives it is not waited for.
func TestRunOutputKeptOpen(t *testing.T) {
	if _, err := shell("echo 1; sleep 1000 2>/dev/null &").Run(t.Context()); fmt.Sprint(err) != "the program ended, but what it has started kept its output open" {
		t.Errorf("got the error %v", err)
	}
}

// EndGroup lets a process that a program has left end in order, and kills it if it does not end.
func TestEndGroup(t *testing.T) {
	for trap, want := range map[string]string{
		`"echo told; exit"`: "ready\ntold\n",
		`""`:                "ready\n",
	} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		c := exec.Command("sh", "-c", `sh -c 'trap `+trap+` TERM; echo ready; while :; do sleep 1000 & wait; done' & read line`) //nolint:noctx // EndGroup ends it
		child.Group(c)
		c.Stdout = w
		in, err := c.StdinPipe()
		if err := errors.Join(err, c.Start(), w.Close()); err != nil {
			t.Fatal(err)
		}
		out := bufio.NewReader(r)
		got, err := out.ReadString('\n')
		_, inErr := io.WriteString(in, "end\n")
		if err := errors.Join(err, inErr, c.Wait()); err != nil {
			t.Error(err)
		}
		child.EndGroup(c, func(time.Duration) {
			if !strings.HasSuffix(got, want) {
				line, _ := out.ReadString('\n')
				got += line
			}
		})
		rest, err := io.ReadAll(out) // ends with the last process
		if got += string(rest); got != want || err != nil {
			t.Errorf("trap %s: got %q and the error %v, want %q", trap, got, err, want)
		}
	}
}
