// Package child runs programs of users: to their end, such as scorers, or line by line, such as
// tools. A program cannot block its caller, write unlimited output or leave processes running.
// The caller interprets the output.
package child

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Program is a program that reads one input and writes one output.
type Program struct {
	Args      []string // the program, as exec.LookPath finds it, and its arguments
	Dir       string   // where it runs; "" is where this process does
	Env       []string // its environment; nil is that of this process
	In        []byte   // its standard input; the program may leave some unread
	MaxOutput int      // maximum bytes of standard output
	// Signals are sent to the process group of the program while Run runs it. See [CanSignal].
	Signals <-chan syscall.Signal
}

// The errors of programs.
var (
	ErrStart  = errors.New("the program cannot be started")
	ErrOutput = errors.New("the program ended, but what it has started kept its output open")
)

// grace is the time to wait for pipes that child processes keep open.
const grace = time.Second

// Run runs the program and returns its standard output. If ctx ends, Run kills the program and
// returns the cause of ctx. In the end it kills all processes in the process group of the
// program. An error ends with the last part of its standard error.
func (p *Program) Run(ctx context.Context) ([]byte, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	out := &bounded{max: p.MaxOutput, full: cancel}
	stderr := &Tail{}
	c := p.command(ctx)
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(string(p.In)), out, stderr
	c.Cancel = func() error { return Signal(c, syscall.SIGKILL) }
	if err := c.Start(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrStart, err)
	}
	stop := p.sendSignals(c)
	err := c.Wait()
	stop()
	killGroup(c)
	switch cause := context.Cause(ctx); {
	case err == nil:
		return out.text, nil
	case cause != nil:
		err = cause
	case errors.Is(err, exec.ErrWaitDelay):
		err = ErrOutput
	default:
		err = fmt.Errorf("the program ended with %w", err)
	}
	return nil, stderr.Wrap(err)
}

// sendSignals sends signals to a program until stop is called.
func (p *Program) sendSignals(c *exec.Cmd) (stop func()) {
	ended, returned := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(returned)
		for {
			select {
			case s := <-p.Signals:
				_ = Signal(c, s) // the program may have ended
			case <-ended:
				return
			}
		}
	}()
	return func() {
		close(ended)
		<-returned
	}
}

// command returns a command in its own process group.
func (p *Program) command(ctx context.Context) *exec.Cmd {
	c := exec.CommandContext(ctx, p.Args[0], p.Args[1:]...) //nolint:gosec // the user specifies the program
	c.Dir, c.Env, c.WaitDelay = p.Dir, p.Env, grace
	Group(c)
	Mark(c)
	return c
}

// killGroup kills the processes in the group of a program and those with its mark, also after the program has
// ended.
func killGroup(c *exec.Cmd) {
	_ = Signal(c, syscall.SIGKILL) // usually no process is left
	KillMarked(c)
}

// marks is the number of marked programs.
var marks atomic.Uint64

// variable has the mark of a program: that of the program around it, if there is one, and its own.
const variable = "LOOPTAPE_PROGRAM="

// Mark puts a mark into the environment of a program that is going to be started, by which [KillMarked] finds what
// it starts in other groups and sessions.
func Mark(c *exec.Cmd) {
	c.Env = c.Environ()
	mark := variable
	for _, v := range c.Env {
		if strings.HasPrefix(v, variable) {
			mark = v
		}
	}
	c.Env = append(c.Env, fmt.Sprintf("%s/%d-%d", mark, os.Getpid(), marks.Add(1)))
}

// KillMarked kills the processes that a marked program has left, on Linux. It does not find those that have
// cleared their environment. It does nothing after a program without a mark.
func KillMarked(c *exec.Cmd) {
	if n := len(c.Env); n > 0 && strings.HasPrefix(c.Env[n-1], variable) {
		killMarked(c.Env[n-1])
	}
}

// EndGroup ends the processes in the group of a program that has ended. It sends SIGTERM, and SIGKILL
// to those that still run after a second. Sleep waits for a time.
func EndGroup(c *exec.Cmd, sleep func(time.Duration)) {
	const interval = 10 * time.Millisecond
	err := Signal(c, syscall.SIGTERM)
	for waited := time.Duration(0); err == nil && waited < grace; waited += interval {
		sleep(interval)
		err = Signal(c, 0) // an error if no process is left
	}
	killGroup(c)
}

// bounded stores output up to a limit.
type bounded struct {
	text []byte
	max  int
	full func(error)
}

func (b *bounded) Write(p []byte) (int, error) {
	if len(b.text)+len(p) > b.max {
		err := fmt.Errorf("the program wrote more than %d bytes to its standard output", b.max)
		b.full(err)
		return 0, err
	}
	b.text = append(b.text, p...)
	return len(p), nil
}

// Tail stores the end of an output, and copies all of it to another writer. Its zero value copies
// nothing. It is safe for concurrent use.
type Tail struct {
	CopyTo io.Writer // may be nil; its errors are ignored

	mu   sync.Mutex
	text []byte
	cut  bool
}

// Write implements [io.Writer]. It never fails.
func (t *Tail) Write(p []byte) (int, error) {
	const most = 1 << 10
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.CopyTo != nil {
		_, _ = t.CopyTo.Write(p)
	}
	t.text = append(t.text, p...)
	if more := len(t.text) - most; more > 0 {
		t.text, t.cut = append(t.text[:0], t.text[more:]...), true
	}
	return len(p), nil
}

// Wrap appends the end of the output to an error.
func (t *Tail) Wrap(err error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.TrimSpace(strings.ToValidUTF8(string(t.text), "\uFFFD"))
	if text == "" {
		return err
	}
	if t.cut {
		text = "… " + text
	}
	return fmt.Errorf("%w; its standard error: %s", err, text)
}
