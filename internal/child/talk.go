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
	exited  chan struct{}      // closed when it has ended
	failure error              // how it ended; good once exited is closed
	words   words
}

// line is a line that a program wrote, or why there is no more.
type line struct {
	text []byte
	err  error
}

// Talk starts a program, which then is asked line by line: In is not used, and Most is how
// long a line of its output may be. What it writes to its standard error also goes to
// stderr, unless that is nil. It has to be ended with Kill.
func (p *Program) Talk(stderr io.Writer) (*Talker, error) {
	in, childIn, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, childOut, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, in.Close(), childIn.Close())
	}
	in, childIn = childIn, in // of this pipe the child has the end to read from
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
		if err := t.cmd.Wait(); !errors.Is(err, exec.ErrWaitDelay) { // of what it has started; see Kill
			t.failure = err
		}
		close(t.exited)
	}()
	go t.read(ctx)
	return t, nil
}

// read hands on what the program writes, until it ends or ctx does.
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

// line reads a line. One without an end is one, too.
func (t *Talker) line(r *bufio.Reader) (l line) {
	for {
		piece, err := r.ReadSlice('\n')
		l.text = append(l.text, piece...)
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

// Ask writes a line and returns the one that answers it, until ctx ends: the error is then
// its cause. After an error there is nothing left but to kill the program.
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

// next returns the next line; io.EOF if there is none any more. When the program has ended,
// what it has started is not waited for.
func (t *Talker) next(ctx context.Context) ([]byte, error) {
	for exited := t.exited; ; {
		select {
		case l := <-t.lines:
			return l.text, l.err
		case <-exited:
			_ = Signal(t.cmd, syscall.SIGKILL) // its output ends with the last that holds it
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

// Finish closes the input of the program, and waits for its end, until ctx ends. The error
// says that it wrote more lines than it was asked, or did not end with status 0.
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
		return fmt.Errorf("the program answered all, but did not end in order: %w", err)
	}
	return nil
}

// Kill kills the program, if it has not ended, and all that it has started and that is
// still in its process group. It returns the error with the last words of its standard
// error behind it; nil if that is.
func (t *Talker) Kill(why error) error {
	_ = Signal(t.cmd, syscall.SIGKILL) // mostly there is nobody left
	t.quit()
	<-t.exited
	_, _ = t.in.Close(), t.out.Close() // nobody is there any more
	if why == nil {
		return nil
	}
	return t.words.behind(why)
}

// words is a tail that is read while it may still be written to, and that writes to
// another, too.
type words struct {
	also io.Writer // may be nil

	mu   sync.Mutex
	tail tail
}

// Write implements io.Writer. What the other does not take is lost there.
func (w *words) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.also != nil {
		_, _ = w.also.Write(p)
	}
	return w.tail.Write(p)
}

func (w *words) behind(err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.tail.behind(err)
}
