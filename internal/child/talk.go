package child

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// Talker is a program that answers lines with lines. It is for one goroutine.
type Talker struct {
	cmd     *exec.Cmd
	most    int
	in      *os.File // its standard input,
	out     *os.File // and output
	lines   chan line
	quit    context.CancelFunc // ends what reads it
	exited  chan struct{}      // closed when the program has ended
	failure error              // how it ended; good once exited is closed
	words   words
}

// line is a line of output, or the error after the last one.
type line struct {
	text []byte
	err  error
}

// Talk starts a program for [Talker.Ask]: In is ignored and Most is the maximum length of an
// output line. Standard error is copied to stderr, unless that is nil. The caller must end the
// program with Kill.
func (p *Program) Talk(stderr io.Writer) (*Talker, error) {
	in, childIn, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, childOut, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, in.Close(), childIn.Close())
	}
	in, childIn = childIn, in // the child reads from this pipe
	ctx, quit := context.WithCancel(context.Background())
	t := &Talker{most: p.Most, in: in, out: out, lines: make(chan line), quit: quit, exited: make(chan struct{})}
	t.words.also = stderr
	t.cmd = exec.CommandContext(ctx, p.Args[0], p.Args[1:]...) //nolint:gosec // it is what the user asks for
	t.cmd.Dir, t.cmd.Env, t.cmd.WaitDelay = p.Dir, p.Env, grace
	t.cmd.Stdin, t.cmd.Stdout, t.cmd.Stderr = childIn, childOut, &t.words
	Group(t.cmd)
	err = t.cmd.Start()
	_, _ = childIn.Close(), childOut.Close() // the program has them now
	if err != nil {
		quit()
		return nil, errors.Join(fmt.Errorf("the program cannot be started: %w", err), in.Close(), out.Close())
	}
	go func() {
		if err := t.cmd.Wait(); !errors.Is(err, exec.ErrWaitDelay) { // of child processes; see Kill
			t.failure = err
		}
		close(t.exited)
	}()
	go t.read(ctx)
	return t, nil
}

// read sends the output lines until the program or ctx ends.
func (t *Talker) read(ctx context.Context) {
	r := bufio.NewReader(t.out)
	for {
		l := t.line(r)
		select {
		case t.lines <- l:
		case <-ctx.Done():
			return
		}
		if l.err != nil {
			return
		}
	}
}

// line reads a line. The last one needs no line feed.
func (t *Talker) line(r *bufio.Reader) (l line) {
	for {
		chunk, err := r.ReadSlice('\n')
		l.text = append(l.text, chunk...)
		switch {
		case len(l.text) > t.most:
			return line{err: fmt.Errorf("the program wrote a line of more than %d bytes to its standard output", t.most)}
		case errors.Is(err, bufio.ErrBufferFull):
		case err == nil || errors.Is(err, io.EOF) && len(l.text) > 0:
			return l
		default:
			return line{err: err}
		}
	}
}

// Ask writes a line and returns the line that answers it. If ctx ends, it returns the cause.
// After an error the caller must kill the program.
func (t *Talker) Ask(ctx context.Context, asks []byte) ([]byte, error) {
	wrote := make(chan error, 1) // which may wait for the program to read
	go func() {
		_, err := t.in.Write(asks)
		wrote <- err
	}()
	text, err := t.next(ctx)
	if errors.Is(err, io.EOF) {
		if err = t.wait(ctx); err == nil {
			return nil, errors.New("the program ended without an answer")
		}
		return nil, fmt.Errorf("the program gave no answer: %w", err)
	} else if err != nil {
		return nil, err
	}
	select {
	case err = <-wrote:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("the program answered what it did not read: %w", err)
	}
	return text, nil
}

// next returns the next line, or io.EOF. It does not wait for child processes after the program
// has ended.
func (t *Talker) next(ctx context.Context) ([]byte, error) {
	for exited := t.exited; ; {
		select {
		case l := <-t.lines:
			return l.text, l.err
		case <-exited:
			_ = Signal(t.cmd, syscall.SIGKILL) // closes the output that child processes keep open
			exited = nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// wait waits for the end of a program that has closed its output.
func (t *Talker) wait(ctx context.Context) error {
	select {
	case <-t.exited:
		return t.failure
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Finish closes the input of the program and waits for its end or for ctx. It returns an error
// for unexpected lines and for a status other than 0.
func (t *Talker) Finish(ctx context.Context) error {
	if err := t.in.Close(); err != nil {
		return err
	}
	text, err := t.next(ctx)
	switch {
	case err == nil:
		return fmt.Errorf("the program wrote more lines than it was asked: %.200q", text)
	case !errors.Is(err, io.EOF):
		return err
	}
	if err := t.wait(ctx); err != nil {
		return fmt.Errorf("the program answered all lines and then failed: %w", err)
	}
	return nil
}

// Kill kills the program and all processes in its group. It appends the standard error to err; it
// returns nil for a nil error.
func (t *Talker) Kill(why error) error {
	_ = Signal(t.cmd, syscall.SIGKILL) // mostly there is nobody left
	t.quit()
	<-t.exited
	_, _ = t.in.Close(), t.out.Close() // no process is left
	if why == nil {
		return nil
	}
	return t.words.wrap(why)
}

// words is a tail for concurrent use that also copies to another writer.
type words struct {
	also io.Writer // may be nil

	mu   sync.Mutex
	tail tail
}

// Write implements [io.Writer]. It ignores errors of the other writer.
func (w *words) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.also != nil {
		_, _ = w.also.Write(p)
	}
	return w.tail.Write(p)
}

func (w *words) wrap(err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.tail.wrap(err)
}
