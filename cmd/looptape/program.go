package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/looptape/looptape/internal/child"
)

// anyKey is a key for servers that take any. Clients keep their keys out of what they
// tell, so it is no word that stands there.
const anyKey = "any-key"

// program is a program to start beside a server.
type program struct {
	args []string // none if there is none to start
	// greet tells where the server is, before the program starts.
	greet func(url string) error
	// env are the variables that tell the program.
	env func(url string) []string
}

// serve serves a handler at an address until the program has ended, or without one
// until ctx ends. Failed says how the program failed.
func (w *world) serve(ctx context.Context, addr string, h http.Handler, p program) (failed, err error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("--addr %s: %w", addr, err)
	}
	s := &http.Server{Handler: h, ErrorLog: log.New(w.err, "looptape: ", 0)} //nolint:gosec // it serves tests
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	host, port, _ := net.SplitHostPort(l.Addr().String()) // the address of a TCP listener has both
	if net.ParseIP(host).IsUnspecified() {
		host = "127.0.0.1" // where a program of this machine finds it, without its proxy
	}
	url := "http://" + net.JoinHostPort(host, port)
	if err := p.greet(url); err != nil {
		return nil, errors.Join(err, s.Close(), closed(<-served))
	}
	if len(p.args) > 0 {
		failed = w.run(ctx, p.args, p.env(url))
		_, _ = fmt.Fprintln(w.err) // its last line may have no end
	} else {
		<-ctx.Done()
	}
	return failed, errors.Join(s.Close(), closed(<-served))
}

// closed is the error of a server that ended, if it is another than that it was
// closed.
func closed(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// killAfter is how long a program has to end by itself once it was told to.
const killAfter = 10 * time.Second

// run starts a program with these variables in its environment, beside those of the
// command, and waits for it. When ctx ends, the program is told to stop; what it has
// started is told as well, unless in is a terminal: that tells all of them by itself, and
// would not let another group read. The error says how the program failed, and stopping in
// order is no failure; it is a *startError if it could not be started.
func (w *world) run(ctx context.Context, args, env []string) error {
	c := exec.CommandContext(ctx, args[0], args[1:]...)
	c.Stdin, c.Stdout, c.Stderr = w.in, w.out, w.err
	c.Env = append(w.environ(), env...)
	for _, name := range []string{"NO_PROXY", "no_proxy"} {
		c.Env = append(c.Env, name+"="+strings.TrimPrefix(w.env(name)+",127.0.0.1,localhost", ","))
	}
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	if !w.inTerm {
		child.Group(c)
		c.Cancel = func() error { return child.Signal(c, syscall.SIGTERM) }
	}
	c.WaitDelay = killAfter
	if err := c.Start(); err != nil {
		return &startError{err}
	}
	if err := c.Wait(); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// startError says that the program could not be started.
type startError struct{ err error }

func (e *startError) Error() string { return e.err.Error() }
func (e *startError) Unwrap() error { return e.err }
