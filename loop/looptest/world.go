package looptest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/internal/bubble"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/check"
)

// world is one run of a loop with all that is around it. What it holds is
// guarded by mu while the loop runs.
type caseRun struct {
	c       *testcase
	found   []check.Violation
	model   *fake.Model
	ctx     context.Context
	cancel  context.CancelFunc
	goroutines  map[string]string // the goroutines that are not the loop's
	release chan struct{}     // closed to end the waits of a loop that hangs

	mu       sync.Mutex
	modelCalls    int // model calls
	entries  []entry
	inFlight int
	steps    []snapshot

	input  []llm.Message // the input, within a larger array
	before []byte        // the input's JSON at first
	result    *Result
	err    error
	panicValue any      // what the loop panicked with
	transcript   []string // what was sent and what came out, as it was at the end
}

// entry is a call of a tool.
type entry struct{ name, args string }

// handOut is something that the loop gave away, and its JSON at that time.
type snapshot struct {
	messages []llm.Message
	json      []byte
}

var errReleased = errors.New("looptest: the loop hung and was let go")

func newRun(ctx context.Context, c *testcase) *caseRun {
	w := &caseRun{c: c, model: fake.NewModel(c.responses...), release: make(chan struct{}), result: &Result{}}
	w.ctx, w.cancel = context.WithCancel(ctx)
	w.input = append(make([]llm.Message, 0, len(c.input)+8), clone(c.input)...)
	w.before = jsonOf(w.input)
	return w
}

// play runs the loop in this bubble and looks at all that any case can show.
func (w *caseRun) run(loop Loop) {
	defer w.cleanUp()
	if w.c.when == before {
		w.cancel()
	}
	w.goroutines = bubble.Goroutines()
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.call(loop)
	}()
	if w.c.when == blocked {
		synctest.Wait()
		w.cancel()
	}
	if !endsInTime(done) {
		w.report("INV-26", "the run does not end; %s", w.hangReason())
		return
	}
	w.checkLeaks()
	w.checkRun()
	w.transcript = w.summary()
}

// letGo ends all that can be ended, so that nothing is left in the bubble but
// what nothing can end.
func (w *caseRun) cleanUp() {
	w.cancel()
	close(w.release)
	if len(w.found) > 0 {
		endsInTime(nil)
	}
}

func (w *caseRun) call(loop Loop) {
	defer func() { w.panicValue = recover() }()
	out, err := loop.Run(w.ctx, &Input{
		Model: w, Tools: w.tools(), Messages: w.input, ResponseMode: w.c.mode, Step: w.step,
	})
	if w.err = err; out != nil {
		w.result = out
	}
}

// patience is longer than any of the tools.
const runTimeout = 3 * time.Hour

// ends reports whether done is closed before patience is over.
func endsInTime(done chan struct{}) bool {
	select {
	case <-done:
		return true
	case <-time.After(runTimeout): //nolint:forbidigo // virtual: it is a bubble's
		return false
	}
}

func (w *caseRun) hangReason() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.ctx.Err() == nil:
		return "nothing that it could wait for is left"
	case w.inFlight > 0:
		return "its context has ended, but the tool that it waits for was not told"
	}
	return "its context has ended, but something still waits, such as a model call that was not told"
}

// left reports what still runs when the run has returned.
func (w *caseRun) checkLeaks() {
	w.mu.Lock()
	n := w.inFlight
	w.mu.Unlock()
	if n > 0 {
		w.report("INV-16", "the run has returned while %d of its tools were running", n)
	}
	synctest.Wait()
	if who := bubble.Since(w.goroutines); len(who) > 0 {
		w.report("INV-16", "the run has returned, but %d of its goroutines have not ended: %s", len(who), strings.Join(who, ", "))
	}
}

// Stream is the model: the script, and behind its last event a stall if the case
// has one there.
func (w *caseRun) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		w.mu.Lock()
		w.modelCalls++
		n := w.modelCalls
		w.mu.Unlock()
		switch {
		case n > len(w.c.responses) && !w.c.fails:
			w.report("INV-11", "the model is asked again after a turn without calls")
		case w.ctx.Err() != nil:
			w.report("INV-17", "the model is asked although the run was cancelled")
		}
		for ev, err := range w.model.Stream(ctx, req) {
			if !yield(ev, err) || err != nil {
				return
			}
		}
		if n == w.c.stall {
			yield(nil, w.wait(ctx))
		}
	}
}

// wait waits for the end of ctx.
func (w *caseRun) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-w.release:
		return errReleased
	}
}

// tools are those of the case, watched.
func (w *caseRun) tools() []Tool {
	out := slices.Clone(w.c.tools)
	for i, t := range out {
		out[i].Parameters = object
		out[i].Run = func(ctx context.Context, args string) (string, error) {
			w.toolStarted(t.Name, args)
			defer w.toolEnded()
			return w.c.act(ctx, w, t.Name, args)
		}
	}
	return out
}

func (w *caseRun) toolStarted(name, args string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.inFlight++
	w.entries = append(w.entries, entry{name, args})
}

func (w *caseRun) toolEnded() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.inFlight--
}

// step keeps what the loop hands out.
func (w *caseRun) step(messages []llm.Message) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.steps = append(w.steps, snapshot{messages, jsonOf(messages)})
}

// report notes a violation, an invariant once.
func (w *caseRun) report(id, format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if slices.ContainsFunc(w.found, func(v check.Violation) bool { return v.Invariant == id }) {
		return
	}
	w.found = append(w.found, violation(id, w.c.name, fmt.Sprintf(format, args...)))
}

func violation(id, name, message string) check.Violation {
	v := check.Violation{Invariant: id, Run: name, Event: check.NoEvent, Message: message}
	for _, info := range check.Catalogue() {
		if info.ID == id {
			v.Hint = info.Hint
		}
	}
	return v
}

// run plays the case in bubbles of its own and returns what it found.
func (c *testcase) run(t *testing.T, loop Loop) []check.Violation {
	t.Helper()
	var prev *caseRun
	for range max(1, c.times) {
		again := *c
		if prev != nil && c.vary != nil {
			c.vary(&again, prev)
		}
		var w *caseRun
		ended := bubble.Run(t, func(t *testing.T) {
			w = newRun(t.Context(), &again)
			w.run(loop)
		})
		if !ended && len(w.found) == 0 {
			w.report("INV-16", "the run has returned, but has left a goroutine that nothing can end")
		}
		if prev != nil && c.same != "" && len(w.found) == 0 {
			w.compare(prev)
		}
		if len(w.found) > 0 {
			return w.found
		}
		prev = w
	}
	return nil
}

func jsonOf(messages []llm.Message) []byte {
	var out []byte
	for _, m := range messages {
		out = append(m.AppendJSON(out), '\n')
	}
	return out
}

// clone returns messages that share nothing with those it is given.
func clone(messages []llm.Message) []llm.Message {
	out := make([]llm.Message, len(messages))
	for i, m := range messages {
		if err := out[i].UnmarshalJSON(m.AppendJSON(nil)); err != nil {
			out[i] = m // it is a case's own, and can be read
		}
	}
	return out
}

func same(a, b []llm.Message) bool { return bytes.Equal(jsonOf(a), jsonOf(b)) }
