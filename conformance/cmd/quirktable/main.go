// Command quirktable runs loops of other projects, and looptape's own, against each quirk of the
// fake provider. It writes the results to docs/quirks-and-clients.md:
//
//	go run ./cmd/quirktable
//
// It needs Node.js and the packages of npm/ (npm ci there), and a quarter of an hour. With -only it
// runs some quirks again, which is faster. The programs use only servers on loopback.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/looptape/looptape/conformance/node"
	"github.com/looptape/looptape/fake/wire"
	"github.com/looptape/looptape/loop"
)

func main() {
	jobs := flag.Int("jobs", 3, "`number` of concurrent clients")
	only := flag.String("only", "", "run only the quirks whose names begin with this `prefix`, and keep the other cells of the page")
	why := flag.Bool("why", false, "explain each cell that is not ok on standard error")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	b := runner{jobs: *jobs, log: os.Stderr, why: *why}
	if err := write(ctx, b, *only); err != nil {
		fmt.Fprintln(os.Stderr, "quirktable:", err)
		os.Exit(1) //nolint:gocritic // nothing is left to stop
	}
}

// page is the generated page.
const page = "docs/quirks-and-clients.md"

// write runs the quirks whose names begin with only, and writes the page.
func write(ctx context.Context, b runner, only string) error {
	root, err := top()
	if err != nil {
		return err
	}
	if _, err := node.Dir(); err != nil {
		return err
	}
	all, err := newClients(root)
	if err != nil {
		return err
	}
	list, err := rows(root)
	if err != nil {
		return err
	}
	file := filepath.Join(root, page)
	found := map[cellKey]string{}
	if only != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if found, err = readCells(string(text), all, list); err != nil {
			return err
		}
	}
	selected := slices.DeleteFunc(slices.Clone(list), func(r row) bool { return !strings.HasPrefix(r.name, only) })
	now, err := b.run(ctx, all, selected)
	if err != nil {
		return err
	}
	maps.Copy(found, now)
	return os.WriteFile(file, []byte(document(all, list, found)), 0o644) //nolint:gosec // a public page
}

// top returns the folder of the repository.
func top() (string, error) {
	here, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for at := here; at != filepath.Dir(at); at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, goldens)); err == nil {
			return at, nil
		}
	}
	return "", fmt.Errorf("missing folder %s in %s and above", goldens, here)
}

// runner runs clients.
type runner struct {
	jobs int       // number of concurrent clients; 0 means one
	log  io.Writer // for people
	why  bool      // explain each cell that is not ok
}

// cellKey identifies a cell.
type cellKey struct {
	client, quirk, protocol string
	streaming               bool
}

// outcome is the outcome of a test case.
type outcome struct {
	result
	hangs bool
	shown bool // the server showed the quirk
	wire.Report
}

// errHangs is the cause of the cancellation of a test case.
var errHangs = errors.New("the loop hangs")

// timeout limits a test case.
const timeout = 10 * time.Second

// run runs each row with each client, in all protocols and response modes of both, and returns
// the status of each.
func (b runner) run(ctx context.Context, all []client, list []row) (map[cellKey]string, error) {
	expected, err := b.runClient(ctx, all[0], list)
	if err != nil {
		return nil, err
	}
	found := map[cellKey]string{}
	add := func(c client, list map[cellKey]outcome) {
		for at, o := range list {
			to := at
			to.client = looptape.name
			found[at] = o.status(expected[to].result)
			if b.why && found[at] != ok {
				mode := map[bool]string{true: "streaming", false: "non-streaming"}[at.streaming]
				_, _ = fmt.Fprintln(b.log, c.name, at.quirk, at.protocol, mode+":", o.explain(expected[to].result))
			}
		}
	}
	add(all[0], expected)
	var mu sync.Mutex
	var failed []error
	var wg sync.WaitGroup
	slots := make(chan struct{}, max(b.jobs, 1))
	for _, c := range all[1:] {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			results, err := b.runClient(ctx, c, list)
			mu.Lock()
			defer mu.Unlock()
			add(c, results)
			failed = append(failed, err)
		})
	}
	wg.Wait()
	return found, errors.Join(failed...)
}

// runClient runs the rows with one client.
func (b runner) runClient(ctx context.Context, c client, list []row) (found map[cellKey]outcome, err error) {
	found = map[cellKey]outcome{}
	run, stop := c.start()
	defer func() { err = errors.Join(err, stop()) }()
	for _, r := range list {
		for _, protocol := range r.form.Protocols {
			if !slices.Contains(c.protocols, protocol) {
				continue
			}
			for _, streaming := range []bool{true, false} {
				if r.form.Streaming && !streaming {
					continue
				}
				o, err := runCase(ctx, run, testCase{r, protocol, streaming})
				if err != nil {
					return found, fmt.Errorf("%s, %s, %s: %w", c.name, r.name, protocol, err)
				}
				found[cellKey{c.name, r.name, protocol, streaming}] = o
			}
		}
	}
	_, _ = fmt.Fprintf(b.log, "%s: %d test cases\n", c.name, len(found))
	return found, nil
}

// runCase runs one test case with its own server.
func runCase(ctx context.Context, run runFunc, c testCase) (o outcome, err error) {
	s := wire.New(wire.Config{Script: c.script, Quirks: []wire.Quirk{c.quirk}, Wait: loop.SystemClock{}.Sleep})
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return o, err
	}
	h := &http.Server{Handler: s, ErrorLog: log.New(io.Discard, "", 0)} //nolint:gosec // it serves tests
	served := make(chan error, 1)
	go func() { served <- h.Serve(l) }()
	ctx, cancel := loop.SystemClock{}.WithTimeout(ctx, timeout, errHangs)
	defer cancel()
	o.result, err = run(ctx, c, "http://"+l.Addr().String())
	if o.hangs = errors.Is(err, errHangs); o.hangs {
		err = nil
	}
	err = errors.Join(err, h.Close())
	if e := <-served; !errors.Is(e, http.ErrServerClosed) {
		err = errors.Join(err, e)
	}
	o.Report = s.Done()
	o.shown = c.quirk.ID == "" || o.Shown[c.quirk.String()] > 0
	return o, err
}

// The statuses, in addition to the ids of violated invariants.
const (
	ok     = "ok"
	failed = "error"
	wrong  = "wrong"
	hangs  = "hangs"
	none   = "–"
)

// unanswered is the invariant that the server reports for a loop that ends with an error after a
// response with calls.
const unanswered = "INV-07"

// status returns the status of an outcome with this expected result.
func (o outcome) status(expected result) string {
	violated := slices.Sorted(maps.Keys(o.Counts))
	if o.failed != "" || o.hangs {
		violated = slices.DeleteFunc(violated, func(id string) bool { return id == unanswered })
	}
	switch {
	case len(violated) > 0:
		return strings.Join(violated, " ")
	case o.hangs:
		return hangs
	case !o.shown:
		return none
	case o.failed != "" && expected.failed == "":
		return failed
	case o.failed == "" && (expected.failed != "" || o.text != expected.text):
		return wrong
	}
	return ok
}

// explain returns the reason of a status.
func (o outcome) explain(expected result) string {
	text := fmt.Sprintf("%s: %q %s", o.status(expected), o.text, o.failed)
	if expected != o.result {
		text += fmt.Sprintf("; want %q %s", expected.text, expected.failed)
	}
	for _, v := range o.Violations {
		text += fmt.Sprintf("; request %d: %s: %s", v.Request, v.Invariant, v.Message)
	}
	for _, r := range o.RejectedRequests {
		text += fmt.Sprintf("; request %d: %s: %s", r.Request, cmp.Or(r.ID, "rejected"), r.Message)
	}
	return text
}
