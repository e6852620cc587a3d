package child

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// Process is a running program that reads lines and answers each with a line. It is for one
// goroutine.
type Process struct {
	cmd     *exec.Cmd
	maxLine int
	in      *os.File // its standard input,
	out     *os.File // and output
	lines   chan line
	quit    context.CancelFunc // ends what reads it
	exited  chan struct{}      // closed when the program has ended
	failure error              // how it ended; good once exited is closed
	stderr  Tail
}

// line is a line of output, or the error after the last one.
type line struct {
	text []byte
	err  error
}

// Start starts a program for [Process.Exchange]. In is ignored, and MaxOutput limits each
// output line. Standard error is copied to stderr, unless that is nil. The caller must end the
// program with Kill.
func (p *Program) Start(stderr io.Writer) (*Process, error) {
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
	t := &Process{
		cmd: p.command(ctx), maxLine: p.MaxOutput, in: in, out: out,
		lines: make(chan line), quit: quit, exited: make(chan struct{}), stderr: Tail{CopyTo: stderr},
	}
	t.cmd.Stdin, t.cmd.Stdout, t.cmd.Stderr = childIn, childOut, &t.stderr
	err = t.cmd.Start()
	_, _ = childIn.Close(), childOut.Close() // the program has them now
	if err != nil {
		quit()
		return nil, errors.Join(fmt.Errorf("%w: %w", ErrStart, err), in.Close(), out.Close())
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
func (p *Process) read(ctx context.Context) {
	r := bufio.NewReader(p.out)
	for l := (line{}); l.err == nil; {
		l = p.line(r)
		select {
		case p.lines <- l:
		case <-ctx.Done():
			return
		}
	}
}

// line reads a line. The last one needs no line feed.
func (p *Process) line(r *bufio.Reader) (l line) {
	for {
		chunk, err := r.ReadSlice('\n')
		l.text = append(l.text, chunk...)
		switch {
		case len(l.text) > p.maxLine:
			return line{err: fmt.Errorf("the program wrote a line of more than %d bytes to its standard output", p.maxLine)}
		case errors.Is(err, bufio.ErrBufferFull):
		case err == nil || errors.Is(err, io.EOF) && len(l.text) > 0:
			return l
		default:
			return line{err: err}
		}
	}
}

// Exchange writes a line and returns the line that answers it. If ctx ends, it returns the cause.
// After an error the caller must kill the program.
func (p *Process) Exchange(ctx context.Context, input []byte) ([]byte, error) {
	wrote := make(chan error, 1) // which may wait for the program to read
	go func() {
		_, err := p.in.Write(input)
		wrote <- err
	}()
	text, err := p.next(ctx)
	if errors.Is(err, io.EOF) {
		if err = p.wait(ctx); err == nil {
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

// Send writes a line that has no answer of its own. It may be called during [Process.Exchange] and [Process.Next]. It fails if the
// program has ended, and waits while the program does not read its input.
func (p *Process) Send(input []byte) error {
	_, err := p.in.Write(input)
	return err
}

// Next returns another line that the program writes. If ctx ends, it returns the cause. After an error the caller must kill
// the program.
func (p *Process) Next(ctx context.Context) ([]byte, error) {
	text, err := p.next(ctx)
	if errors.Is(err, io.EOF) {
		if err = p.wait(ctx); err == nil {
			err = errors.New("the program ended")
		}
	}
	return text, err
}

// next returns the next line, or io.EOF. It does not wait for child processes after the program
// has ended.
func (p *Process) next(ctx context.Context) ([]byte, error) {
	for exited := p.exited; ; {
		select {
		case l := <-p.lines:
			return l.text, l.err
		case <-exited:
			killGroup(p.cmd) // closes the output that child processes keep open
			exited = nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// wait waits for the end of a program that has closed its output.
func (p *Process) wait(ctx context.Context) error {
	select {
	case <-p.exited:
		return p.failure
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Finish closes the input of the program and waits for its end or for ctx. It returns an error
// for unexpected lines and for a status other than 0.
func (p *Process) Finish(ctx context.Context) error {
	if err := p.in.Close(); err != nil {
		return err
	}
	text, err := p.next(ctx)
	switch {
	case err == nil:
		return fmt.Errorf("the program wrote more lines than it was asked: %.200q", text)
	case !errors.Is(err, io.EOF):
		return err
	}
	if err := p.wait(ctx); err != nil {
		return fmt.Errorf("the program answered all lines and then failed: %w", err)
	}
	return nil
}

// Kill kills the program and all processes in its group. It appends the standard error to err; it
// returns nil for a nil error.
func (p *Process) Kill(why error) error {
	killGroup(p.cmd)
	p.quit()
	<-p.exited
	_, _ = p.in.Close(), p.out.Close() // no process is left
	if why == nil {
		return nil
	}
	return p.stderr.Wrap(why)
}
