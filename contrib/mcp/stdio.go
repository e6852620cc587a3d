package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/looptape/looptape/internal/child"
	"github.com/looptape/looptape/loop"
)

// program is the stdio transport: a program with its own process group, and a JSON message per line.
// The SDK's transport leaves the child processes of the program running, and gives it unlimited time
// to read a message.
type program struct {
	server *Server
	clock  loop.Clock
	grace  time.Duration
	limit  int // bytes of a line
}

// Connect implements [sdk.Transport].
func (p *program) Connect(context.Context) (sdk.Connection, error) {
	childIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, childOut, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, in.Close(), childIn.Close())
	}
	s := p.server
	c := &stdio{
		program: p, in: in, out: out, lines: bufio.NewReader(out),
		writing: make(chan struct{}, 1), exited: make(chan struct{}), stderr: child.Tail{CopyTo: s.Stderr},
	}
	c.cmd = exec.Command(s.Command[0], s.Command[1:]...) //nolint:gosec,noctx // the user specifies the program, which runs until Close
	c.cmd.Dir, c.cmd.Env, c.cmd.WaitDelay = s.Dir, s.Env, p.grace
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = childIn, childOut, &c.stderr
	child.Group(c.cmd)
	err = c.cmd.Start()
	_, _ = childIn.Close(), childOut.Close() // the program has them now
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the program cannot be started: %w", err), in.Close(), out.Close())
	}
	reading, closed := context.WithCancel(context.Background())
	c.closed = closed
	go func() {
		if err := c.cmd.Wait(); !errors.Is(err, exec.ErrWaitDelay) { // of child processes; see Close
			c.failure = err
		}
		_ = child.Signal(c.cmd, syscall.SIGKILL) // child processes keep the output open
		close(c.exited)
		if c.clock.Sleep(reading, c.grace) == nil { // a process of another group keeps it open
			_ = c.out.SetReadDeadline(time.Unix(1, 0))
		}
	}()
	return c, nil
}

// stdio is the connection to a running program.
type stdio struct {
	*program
	cmd     *exec.Cmd
	in, out *os.File // its standard input and output
	lines   *bufio.Reader
	writing chan struct{} // holds an element while a message is written
	exited  chan struct{} // closed when the program has ended
	failure error         // how it ended; good once exited is closed
	stderr  child.Tail
	close   sync.Once
	closed  context.CancelFunc // called when out is closed
}

// SessionID implements [sdk.Connection].
func (*stdio) SessionID() string { return "" }

// Read implements [sdk.Connection]. Lines that are not messages count as standard error: many programs
// print to standard output. A damaged message ends the connection, because its request would wait
// for ever.
func (c *stdio) Read(context.Context) (jsonrpc.Message, error) {
	for {
		line, err := readLine(c.lines, c.limit)
		switch {
		case errors.Is(err, errLineTooLong):
			return nil, c.stderr.Wrap(fmt.Errorf("the program wrote a line of more than %d bytes (Config.MaxMessage)", c.limit))
		case err != nil && len(line) == 0:
			return nil, c.ended()
		}
		msg, err := decode(line)
		if err == nil {
			return msg, nil
		}
		var other struct {
			Version json.RawMessage `json:"jsonrpc"`
		}
		if line = bytes.TrimSpace(line); bytes.HasPrefix(line, []byte("{")) && (json.Unmarshal(line, &other) != nil || other.Version != nil) {
			return nil, c.stderr.Wrap(fmt.Errorf("the program wrote a line that is not a JSON-RPC message: %w: %.200q", err, line))
		}
		_, _ = c.stderr.Write(append(line, '\n'))
	}
}

// errLineTooLong is the error of readLine for a line over the limit.
var errLineTooLong = errors.New("the line is too long")

// readLine returns the next line with its end. At the end of the input it returns the rest and
// io.EOF.
func readLine(r *bufio.Reader, limit int) (line []byte, err error) {
	for {
		chunk, err := r.ReadSlice('\n')
		if line = append(line, chunk...); len(line) > limit {
			return nil, errLineTooLong
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// ended returns how a program ended that has closed its output.
func (c *stdio) ended() error {
	killed := c.stop()
	switch {
	case killed:
		return c.stderr.Wrap(errors.New("the program closed its standard output"))
	case c.failure != nil:
		return c.stderr.Wrap(fmt.Errorf("the program ended with %w", c.failure))
	}
	return c.stderr.Wrap(errors.New("the program ended"))
}

// Write implements [sdk.Connection]. If ctx ends after a part of the message was written, the
// connection cannot be used any longer.
func (c *stdio) Write(ctx context.Context, msg jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return fmt.Errorf("encoding the message: %w", err)
	}
	select {
	case c.writing <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-c.writing }()
	interrupted := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		_ = c.in.SetWriteDeadline(time.Unix(1, 0))
		close(interrupted)
	})
	n, err := c.in.Write(append(data, '\n'))
	if !stop() {
		<-interrupted
		_ = c.in.SetWriteDeadline(time.Time{})
	}
	switch {
	case err == nil:
		return nil
	case n > 0:
		_ = c.Close()
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return fmt.Errorf("the program did not read its standard input: %w", err)
}

// Close implements [sdk.Connection]. It closes the standard input of the program, asks it to end
// (SIGTERM) if it still runs after the grace period, and kills it after another one. It kills all processes of its group.
func (c *stdio) Close() error {
	c.stop()
	return nil
}

// stop ends the program and reports whether it had to be asked.
func (c *stdio) stop() (asked bool) {
	c.close.Do(func() {
		_ = c.in.Close()
		for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
			if c.wait() {
				break
			}
			asked = true
			_ = child.Signal(c.cmd, sig)
		}
		<-c.exited
		_ = c.out.Close()
		c.closed()
	})
	<-c.exited
	return asked
}

// wait waits for the end of the program, for a grace period at most.
func (c *stdio) wait() bool {
	ctx, cancel := c.clock.WithTimeout(context.Background(), c.grace, nil)
	defer cancel()
	select {
	case <-c.exited:
		return true
	case <-ctx.Done():
		return false
	}
}
