// Package program runs a program of a user again and again for package explore, each time with other responses of a
// server on this machine. The server and the checks of its requests are in package fake/wire.
package program

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/looptape/looptape/fake/wire"
	"github.com/looptape/looptape/internal/child"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/explore"
)

// Config is how a program is run.
type Config struct {
	// Wire is what the server serves. Each server has the Token.
	Wire wire.Config
	Args []string
	// Env returns the environment of the program for a server at a URL.
	Env func(url string) []string
	// Keep keeps the program for all runs: it reads a line "run N" for each, and writes a line "done" or "done STATUS" at its end.
	// Otherwise it is started for each run.
	Keep bool
	// Timeout is the time after which a run is ended.
	Timeout time.Duration
	// Stall is how long a response stalls before its connection ends.
	Stall time.Duration
	// Cancel is how a run is canceled; empty means that it is not. A run that is canceled must end within CancelTimeout.
	Cancel        Cancel
	CancelTimeout time.Duration
	// Settle is how long a program that can have several open requests is observed for another one.
	Settle time.Duration
	// Status is the exit status of a run without an error; empty means 0, and any that it is unknown whether a run failed.
	Status string
	Log    *log.Logger
}

// Cancel is how a run of a program is canceled.
type Cancel string

// The ways to cancel a run. CancelLine is for a program that is kept, the others for one that is started for each run.
const (
	CancelSIGTERM Cancel = "term"
	CancelSIGINT  Cancel = "int"
	CancelLine    Cancel = "line" // a line "cancel N"
)

// AnyStatus is a [Config.Status].
const AnyStatus = "any"

// Explorer makes programs that share what is known about a program.
type Explorer struct {
	Config

	ctx   context.Context //nolint:containedctx // of all runs
	clock loop.SystemClock
	world *wire.World

	parallel atomic.Bool // the program has had several open requests
	probing  atomic.Bool
	requests atomic.Int64 // of all runs

	mu      sync.Mutex
	learned map[string]int  // the highest number of requests that came, by what was delivered before
	ends    map[string]bool // what was delivered before the end of a run
	gap     time.Duration   // the longest time between two concurrent requests
	err     error           // why programs cannot be run
}

// New returns an Explorer, after first runs without a fault. It returns an error if the program cannot be run, or makes
// no request. All runs end when ctx ends.
func New(ctx context.Context, cfg Config) (*Explorer, error) {
	e := &Explorer{Config: cfg, ctx: ctx, world: wire.NewWorld(cfg.Wire), learned: map[string]int{}, ends: map[string]bool{}}
	e.probing.Store(true)
	p := e.Program()
	defer p.Close()
	o, _ := explore.Replay(p, nil)
	if e.Keep && e.parallel.Load() && e.Err() == nil { // a run as fast as the others
		o, _ = explore.Replay(p, nil)
	}
	e.probing.Store(false)
	switch err := e.Err(); {
	case err != nil:
		return nil, err
	case e.requests.Load() == 0:
		text := ""
		if o.Text != nil {
			text = "\n" + o.Text()
		}
		return nil, fmt.Errorf("the program made no request for a response: it uses another base URL, or ended before its first request%s", strings.TrimSuffix(text, "\n"))
	}
	return e, nil
}

// Err returns why the program could not be run, or nil.
func (e *Explorer) Err() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.err == nil && e.ctx.Err() != nil {
		return errors.New("interrupted before the last run")
	}
	return e.err
}

// Parallel reports whether the program has had several open requests, so that Settle matters.
func (e *Explorer) Parallel() bool { return e.parallel.Load() }

func (e *Explorer) fail(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.err == nil {
		e.err = err
	}
}

// Program returns a program with a server of its own. The caller must close it.
func (e *Explorer) Program() explore.Program {
	p := &process{Explorer: e, world: e.world.Copy()}
	p.world.Stall = func(ctx context.Context) {
		p.stalling.Add(1)
		defer p.stalling.Add(-1)
		_ = e.clock.Sleep(ctx, e.Stall)
	}
	l, err := (&net.ListenConfig{}).Listen(e.ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		e.fail(err)
		return p
	}
	const headerTimeout = 10 * time.Second
	p.server = &http.Server{Handler: p, ErrorLog: e.Log, ReadHeaderTimeout: headerTimeout}
	p.url = "http://" + l.Addr().String()
	if t := e.Wire.Token; t != "" {
		p.url += "/" + t
	}
	p.served.Go(func() { _ = p.server.Serve(l) }) // always ErrServerClosed
	return p
}

// process is a program with its server. It has one run at a time.
type process struct {
	*Explorer

	world   *wire.World
	server  *http.Server
	url     string
	served  sync.WaitGroup
	current atomic.Pointer[run]
	kept    *child.Process // with Keep
	n       int            // runs
	cold    atomic.Bool    // kept, and in its first run

	stalling atomic.Int64 // responses that stall

	signals chan syscall.Signal           // of the current run
	running atomic.Pointer[child.Process] // kept, while it makes a run
}

// ServeHTTP implements [http.Handler].
func (p *process) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	run := p.current.Load()
	if run == nil || !run.enter() {
		w.Header().Set("X-Should-Retry", "false")
		http.Error(w, "no run of the program is active", http.StatusServiceUnavailable)
		return
	}
	defer run.leave()
	run.server.ServeHTTP(w, r)
}

// Close ends the program and its server.
func (p *process) Close() {
	if p.kept != nil {
		ctx, cancel := p.clock.WithTimeout(context.WithoutCancel(p.ctx), time.Second, errors.New("the program does not end"))
		defer cancel()
		_ = p.kept.Kill(p.kept.Finish(ctx)) // all runs were checked
		p.kept = nil
	}
	if p.server != nil {
		_ = p.server.Close() // of the listener
		p.served.Wait()
	}
}

// ending is how a run of the program ended.
type ending struct {
	failed   string // not as expected; empty if it ended as expected
	timeout  bool
	unending bool   // although it was canceled
	left     bool   // a process that it has started kept its output open
	stderr   string // the end of its standard error
}

// timeoutError is the cause of the context of a run that takes too long.
type timeoutError time.Duration

func (e timeoutError) Error() string {
	return fmt.Sprintf("the run did not end within %s (--timeout)", time.Duration(e))
}

// canceledError is the cause of the context of a run that was canceled and takes too long to end.
type canceledError struct {
	by      Cancel
	timeout time.Duration
}

func (e canceledError) Error() string {
	return fmt.Sprintf("the run did not end within %s after %s (--cancel-timeout)", e.timeout, e.by.describe())
}

func (c Cancel) describe() string {
	if c == CancelLine {
		return "the line cancel"
	}
	return "SIG" + strings.ToUpper(string(c))
}

// cancel cancels the current run, unless it has ended.
func (p *process) cancel(ended <-chan struct{}) {
	if p.Cancel == CancelLine {
		if kept := p.running.Load(); kept != nil {
			go func() { _ = kept.Send(fmt.Appendf(nil, "cancel %d\n", p.n)) }() // the program may have ended, or not read
		}
		return
	}
	signal := map[Cancel]syscall.Signal{CancelSIGTERM: syscall.SIGTERM, CancelSIGINT: syscall.SIGINT}[p.Cancel]
	select {
	case p.signals <- signal:
	case <-ended:
	}
}

// stderrText is what follows the text of an error of package child.
const stderrText = "; its standard error: "

// execute makes a run of the program.
func (p *process) execute(ctx context.Context) (end ending) {
	var err error
	status := 0
	if p.Keep {
		status, err = p.request(ctx)
	} else {
		const maxOutput = 64 << 20
		_, err = (&child.Program{Args: p.Args, Env: p.Env(p.url), MaxOutput: maxOutput, Signals: p.signals}).Run(ctx)
	}
	exit, exited := errors.AsType[*exec.ExitError](err)
	_, timedOut := errors.AsType[timeoutError](err)
	_, end.unending = errors.AsType[canceledError](err)
	switch {
	case ctx.Err() != nil && !timedOut: // interrupted
	case timedOut:
		end.timeout = true
	case exited:
		end.failed = exit.Error()
	case errors.Is(err, child.ErrStart):
		p.fail(err)
	case errors.Is(err, child.ErrOutput):
		end.left = true
	case err != nil:
		end.failed, _, _ = strings.Cut(err.Error(), stderrText)
	case status != 0:
		end.failed = fmt.Sprintf("exit status %d", status)
	}
	if err != nil {
		_, end.stderr, _ = strings.Cut(err.Error(), stderrText)
	}
	if s := p.Status; s == AnyStatus || s != "" && end.failed == "exit status "+s {
		end.failed = ""
	} else if s != "" && s != "0" && end.failed == "" && !end.timeout {
		end.failed = "exit status 0"
	}
	return end
}

// request asks the program that is kept for a run, and returns its status.
func (p *process) request(ctx context.Context) (status int, err error) {
	p.cold.Store(p.kept == nil)
	if p.kept == nil {
		const maxLine = 1 << 20
		p.kept, err = (&child.Program{Args: p.Args, Env: p.Env(p.url), MaxOutput: maxLine}).Start(nil)
		if err != nil {
			p.kept = nil
			return 0, err
		}
	}
	p.n++
	p.running.Store(p.kept)
	defer p.running.Store(nil)
	line, err := p.kept.Exchange(ctx, fmt.Appendf(nil, "run %d\n", p.n))
	for err == nil {
		word, rest, _ := strings.Cut(strings.TrimSpace(string(line)), " ")
		if word == "done" {
			if rest == "" {
				return 0, nil
			}
			status, err = strconv.Atoi(rest)
			if err == nil {
				return status, nil
			}
			err = fmt.Errorf("the program wrote %q: want done, or done and an exit status", line)
			break
		}
		line, err = p.kept.Next(ctx) // other lines are output
	}
	err = p.kept.Kill(err)
	p.kept = nil
	return 0, err
}
