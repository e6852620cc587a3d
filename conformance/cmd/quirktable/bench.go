package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/looptape/looptape/fake/wire"
	"github.com/looptape/looptape/loop"
)

// bench has clients play.
type bench struct {
	jobs int       // how many at once; 0 is one
	log  io.Writer // for people
	why  bool      // say what stands behind each cell that is not ok
}

// place is where a result belongs.
type place struct {
	client, quirk, protocol string
	streamed                bool
}

// outcome is a game that was played.
type outcome struct {
	end
	hung  bool
	shown bool // the quirk was
	wire.Report
}

// errHung is the cause for which a game is given up.
var errHung = errors.New("it hangs")

// longest is how long a game may take.
const longest = 10 * time.Second

// play plays each row with each client, in all protocols and deliveries that both
// have, and says how each came out, in the words of verdict.
func (b bench) play(ctx context.Context, all []player, list []row) (map[place]string, error) {
	should, err := b.playAll(ctx, all[0], list)
	if err != nil {
		return nil, err
	}
	found := map[place]string{}
	add := func(p player, list map[place]outcome) {
		for at, o := range list {
			to := at
			to.client = ours.name
			found[at] = o.verdict(should[to].end)
			if b.why && found[at] != ok {
				_, _ = fmt.Fprintln(b.log, p.name, at.quirk, at.protocol, deliveryName(at.streamed)+":", o.because(should[to].end))
			}
		}
	}
	add(all[0], should)
	var mu sync.Mutex
	var failed []error
	var wg sync.WaitGroup
	slots := make(chan struct{}, max(b.jobs, 1))
	for _, p := range all[1:] {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			results, err := b.playAll(ctx, p, list)
			mu.Lock()
			defer mu.Unlock()
			add(p, results)
			failed = append(failed, err)
		})
	}
	wg.Wait()
	return found, errors.Join(failed...)
}

func deliveryName(streamed bool) string {
	if streamed {
		return "streamed"
	}
	return "buffered"
}

// playAll has one client play.
func (b bench) playAll(ctx context.Context, p player, list []row) (found map[place]outcome, err error) {
	found = map[place]outcome{}
	run, end := p.start()
	defer func() { err = errors.Join(err, end()) }()
	for _, r := range list {
		for _, protocol := range r.form.Protocols {
			if !slices.Contains(p.protocols, protocol) {
				continue
			}
			for _, streamed := range []bool{true, false} {
				if r.form.Streaming && !streamed {
					continue
				}
				o, err := one(ctx, run, game{r, protocol, streamed})
				if err != nil {
					return found, fmt.Errorf("%s, %s, %s: %w", p.name, r.name, protocol, err)
				}
				found[place{p.name, r.name, protocol, streamed}] = o
			}
		}
	}
	_, _ = fmt.Fprintf(b.log, "%s has played %d games\n", p.name, len(found))
	return found, nil
}

// one plays one game, with a server of its own.
func one(ctx context.Context, run play, g game) (o outcome, err error) {
	s := wire.New(wire.Config{Script: g.script, Quirks: []wire.Quirk{g.quirk}, Wait: loop.SystemClock{}.Sleep})
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return o, err
	}
	h := &http.Server{Handler: s, ErrorLog: log.New(io.Discard, "", 0)} //nolint:gosec // it serves tests
	served := make(chan error, 1)
	go func() { served <- h.Serve(l) }()
	ctx, cancel := loop.SystemClock{}.WithTimeout(ctx, longest, errHung)
	defer cancel()
	o.end, err = run(ctx, g, "http://"+l.Addr().String())
	if o.hung = errors.Is(err, errHung); o.hung {
		err = nil
	}
	err = errors.Join(err, h.Close())
	if e := <-served; !errors.Is(e, http.ErrServerClosed) {
		err = errors.Join(err, e)
	}
	o.Report = s.Done()
	o.shown = g.quirk.ID == "" || o.Shown[g.quirk.String()] > 0
	return o, err
}

// The words of a verdict, beside the invariants that were broken.
const (
	ok     = "ok"
	failed = "error"
	wrong  = "wrong"
	hangs  = "hangs"
	none   = "–"
)

// unanswered is the invariant that a loop breaks, as the server sees it, which ends
// with an error after an answer with calls.
const unanswered = "INV-07"

// verdict says how a game came out that should have come out so.
func (o outcome) verdict(should end) string {
	broken := slices.Sorted(maps.Keys(o.Counts))
	if o.failed != "" || o.hung {
		broken = slices.DeleteFunc(broken, func(id string) bool { return id == unanswered })
	}
	switch {
	case len(broken) > 0:
		return strings.Join(broken, " ")
	case o.hung:
		return hangs
	case !o.shown:
		return none
	case o.failed != "" && should.failed == "":
		return failed
	case o.failed == "" && (should.failed != "" || o.text != should.text):
		return wrong
	}
	return ok
}

// because tells what stands behind a verdict.
func (o outcome) because(should end) string {
	text := fmt.Sprintf("%s: %q %s", o.verdict(should), o.text, o.failed)
	if should != o.end {
		text += fmt.Sprintf("; should: %q %s", should.text, should.failed)
	}
	for _, v := range o.Violations {
		text += fmt.Sprintf("; request %d: %s: %s", v.Request, v.Invariant, v.Message)
	}
	for _, r := range o.RejectedRequests {
		text += fmt.Sprintf("; request %d: %s: %s", r.Request, cmp.Or(r.ID, "refused"), r.Message)
	}
	return text
}
