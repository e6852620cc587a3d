package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/net/netutil"

	"github.com/looptape/looptape/cmd/looptape/internal/cli"
	"github.com/looptape/looptape/internal/access"
	"github.com/looptape/looptape/internal/child"
	"github.com/looptape/looptape/loop"
)

// command is what serve, record and replay share: a server, and a program that uses it.
type command struct {
	*cobra.Command

	w            *cli.World
	addr, report string
	token        string // of the URLs; empty with --no-token
	noToken      bool
	allowOrigins []string
	maxBody      uint32        // in MiB
	timeout      time.Duration // of serving; 0 means none
	maxRequests  int           // 0 means no limit
	untilEOF     bool          // serve until the end of the standard input
	format       *string
}

// addrFlags adds the flags for the address of the server and for who may use it.
func (c *command) addrFlags() {
	f := c.Flags()
	f.StringVar(&c.addr, "addr", "127.0.0.1:0", "listen address `HOST:PORT`; port 0 selects a free port")
	f.BoolVar(&c.noToken, "no-token", false, "accept requests to base URLs without the token")
	f.BoolVar(&c.untilEOF, "until-eof", false, "without a program: stop at the end of standard input")
	f.Uint32Var(&c.maxBody, "max-body", access.MaxBody>>20, "largest body of a request or recorded response in `MiB`")
	f.Func("allow-origin", "`origin` of web pages that may send requests, such as http://localhost:5173, or * for any (repeatable)", c.allowOrigin)
}

func (c *command) allowOrigin(text string) error {
	if u, err := url.Parse(text); text != "*" && (err != nil || u.Scheme == "" || u.Host == "" || !strings.EqualFold(strings.TrimSuffix(text, "/"), u.Scheme+"://"+u.Host)) {
		return errors.New("want the scheme and host of a page without a path, such as http://localhost:5173, or * for any")
	}
	c.allowOrigins = append(c.allowOrigins, text)
	return nil
}

// access chooses the token of the server.
func (c *command) access() (token string, origins []string) {
	if c.token == "" && !c.noToken {
		c.token = strings.ToLower(c.w.Token())
	}
	return c.token, c.allowOrigins
}

// need checks that there are n arguments before a program, if there is one; want describes them.
func (c *command) need(args []string, n int, want string) error {
	got, dash := len(args), c.ArgsLenAtDash()
	switch path := c.CommandPath(); {
	case got == dash:
		return fmt.Errorf("%s: missing program after --; see %s --help", path, path)
	case dash >= 0:
		got = dash
		if c.untilEOF {
			return cli.UsageError(c.Command, "takes --until-eof or a program, got both")
		}
	}
	if got != n {
		return cli.UsageError(c.Command, "takes %s, got %d: put the program after --", want, got)
	}
	return nil
}

// program is a program to start with a server.
type program struct {
	args []string // empty means no program
	// greet prints the address of the server, and the variables of env, before the program starts.
	greet func(url string, env []string) error
	// env returns the environment variables of the program with the URLs and keys of the server.
	env func(url string) []string
	// keys leaves the keys of providers in the environment of the command, which otherwise are replaced.
	keys bool
	// out is the standard output of the program.
	out io.Writer
}

// serve serves a handler until the program ends, or without a program until a signal to stop or the
// end of the standard input. The error failed is the program's. It is a *startError if the program could not be started, and a
// limitError if it was stopped at a limit.
func (c *command) serve(h http.Handler, p program) (failed, err error) {
	w := c.w
	ctx, stop := w.Interrupted(c.Context())
	defer stop()
	h, ctx, cancel := c.limited(ctx, h)
	defer cancel()
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.addr)
	if err != nil {
		return nil, fmt.Errorf("--addr %s: %w", c.addr, err)
	}
	s := newServer(h, w.Log())
	served := make(chan error, 1)
	go func() { served <- s.Serve(newListener(l)) }()
	host, port, _ := net.SplitHostPort(l.Addr().String()) // the address of a TCP listener has both
	if net.ParseIP(host).IsUnspecified() {
		host = "127.0.0.1" // reachable from this machine without a proxy
	}
	url := "http://" + net.JoinHostPort(host, port)
	if c.token != "" {
		url += "/" + c.token
	}
	env := p.variables(w, url)
	if err := p.greet(url, env); err != nil {
		return nil, errors.Join(err, s.Close(), closed(<-served))
	}
	if len(p.args) > 0 {
		failed = run(ctx, w, p, env)
		_, _ = fmt.Fprintln(w.Err) // its last line may lack a newline
	} else {
		c.wait(ctx)
	}
	if limit, ok := errors.AsType[limitError](context.Cause(ctx)); ok && !isStartError(failed) {
		failed = limit
	}
	return failed, errors.Join(s.Close(), closed(<-served))
}

// wait waits for the end of a context or, with --until-eof, of the standard input.
func (c *command) wait(ctx context.Context) {
	if c.untilEOF {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		go func() {
			_, _ = io.Copy(io.Discard, c.w.In) // an input that fails has ended
			cancel()
		}()
	}
	<-ctx.Done()
}

// variables returns the environment variables that the program gets in addition to those of the
// command, or in their place.
func (p *program) variables(w *cli.World, url string) []string {
	env := p.env(url)
	if !p.keys {
		env = append(cli.AnyKeys(w.Environ()), env...)
	}
	return cli.LocalEnv(w, env)
}

// Limits of a server. Programs have fewer connections; a further one waits.
const (
	headerTimeout  = 10 * time.Second
	idleTimeout    = 2 * time.Minute
	maxConnections = 1000
)

// newListener returns a listener with the limits of a server.
func newListener(l net.Listener) net.Listener {
	return limitedListener{netutil.LimitListener(l, maxConnections)}
}

// newServer returns the server of a handler. The log gets its errors.
func newServer(h http.Handler, errors *log.Logger) *http.Server {
	return &http.Server{Handler: withBodyLimit(h), ErrorLog: errors, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout}
}

// limitError is a sentence about a limit that a program exceeded.
type limitError string

func (e limitError) Error() string { return string(e) }

// limited returns a handler and a context that end at the limits of the command. The cause of the
// context is then a limitError.
func (c *command) limited(ctx context.Context, h http.Handler) (http.Handler, context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := func() { cancel(nil) }
	if c.timeout > 0 {
		var timer context.CancelFunc
		ctx, timer = loop.SystemClock{}.WithTimeout(ctx, c.timeout, limitError(fmt.Sprintf("The run did not end within %s (--timeout).", c.timeout)))
		stop = func() { timer(); cancel(nil) }
	}
	if c.maxRequests == 0 {
		return h, ctx, stop
	}
	over := limitError(fmt.Sprintf("More than %s came (--max-requests).", cli.Count(c.maxRequests, "request")))
	var n atomic.Int64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1) <= int64(c.maxRequests) {
			h.ServeHTTP(w, r)
			return
		}
		cancel(over)
		w.Header().Set("X-Should-Retry", "false")
		http.Error(w, over.Error(), http.StatusBadRequest)
	}), ctx, stop
}

// closed returns the error of a server, or nil if the server was closed.
func closed(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// killAfter is the time between the signal to stop and killing the program.
const killAfter = 10 * time.Second

// run starts a program with these variables in addition to the command's environment, and
// waits for it. When ctx ends, run sends SIGTERM to the program and to its children. In the end
// it ends the processes that it has left, also in other groups. If in is a terminal, it signals only the program: the
// terminal signals the whole group, and another group could not read from it. The error reports how the program failed; stopping
// on the signal is not a failure. It is a *startError if the program could not be started.
func run(ctx context.Context, w *cli.World, p program, env []string) error {
	c := exec.CommandContext(ctx, p.args[0], p.args[1:]...)
	c.Stdin, c.Stdout, c.Stderr = w.In, p.out, w.Err
	c.Env = slices.Concat(w.Environ(), env)
	child.Mark(c)
	defer child.KillMarked(c)
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	if !w.InTerminal {
		child.Group(c)
		c.Cancel = func() error { return child.Signal(c, syscall.SIGTERM) }
	}
	c.WaitDelay = killAfter
	if err := c.Start(); err != nil {
		return &startError{err}
	}
	err := c.Wait()
	if !w.InTerminal {
		background := context.WithoutCancel(ctx)
		child.EndGroup(c, func(d time.Duration) { _ = loop.SystemClock{}.Sleep(background, d) })
	}
	if ctx.Err() == nil || !errors.Is(err, ctx.Err()) {
		return err
	}
	return nil
}

// startError is the error of a program that could not be started.
type startError struct{ err error }

func (e *startError) Error() string { return e.err.Error() }
func (e *startError) Unwrap() error { return e.err }

func isStartError(err error) bool {
	_, ok := errors.AsType[*startError](err)
	return ok
}
