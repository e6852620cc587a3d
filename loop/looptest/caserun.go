package looptest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/internal/bubble"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/check"
)

type caseRun struct {
	c          *testcase
	found      []check.Violation
	model      *fake.Model
	ctx        context.Context
	cancel     context.CancelFunc
	goroutines map[string]string // those that are not of the loop
	release    chan struct{}     // closed to release a loop that hangs
	http       *httpRun          // nil for a loop that calls an llm.Model
	skipped    string            // why nothing was checked; empty if it was
	unused     bool              // see noRequest

	mu         sync.Mutex
	modelCalls int // model calls
	entries    []entry
	inFlight   int
	steps      []snapshot

	input      []llm.Message // in a larger array
	before     []byte        // the JSON of the input before the run
	result     *Result
	err        error
	aborted    string   // how the loop ended if it did not return
	transcript []string // the requests and the result
}

type entry struct{ name, args string }

// label names the call in choices.
func (e entry) label() string { return e.name + " " + e.args }

// snapshot contains messages that the loop exposed, and their JSON at that time.
type snapshot struct {
	messages []llm.Message
	json     []byte
}

var errReleased = errors.New("looptest: released a loop that hung")

func newRun(ctx context.Context, c *testcase) *caseRun {
	w := &caseRun{c: c, model: fake.NewModel(c.responses...), release: make(chan struct{}), result: &Result{}}
	w.ctx, w.cancel = context.WithCancel(ctx)
	w.input = append(make([]llm.Message, 0, len(c.input)+8), clone(c.input)...)
	w.before = jsonOf(w.input)
	if c.http {
		w.http = newHTTPRun(w)
	}
	return w
}

// run runs the loop in this bubble and checks the run.
func (w *caseRun) run(loop Loop) {
	defer func() { // end all goroutines that can be ended
		w.cancel()
		close(w.release)
		w.http.stop()
		if len(w.found) > 0 {
			endsInTime(nil)
		}
	}()
	if w.c.when == before {
		w.cancel()
	}
	w.goroutines = bubble.Goroutines()
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if v := recover(); v != nil {
				w.aborted = fmt.Sprintf("the loop panicked: %v", v)
			}
		}()
		w.aborted = "the loop did not return: it called runtime.Goexit, or a method such as FailNow or SkipNow of its test"
		out, err := loop.Run(w.ctx, &Input{Model: w, Tools: w.tools(), Messages: w.input, ResponseMode: w.c.mode, Step: w.step, Approve: approve, Choose: choose})
		w.aborted = ""
		if w.err = err; out != nil {
			w.result = out
		}
	}()
	if w.c.when == blocked {
		synctest.Wait()
		w.cancel()
	}
	if !endsInTime(done) {
		reason := "its context has ended, but something still waits, such as a model call with another context"
		switch {
		case w.ctx.Err() == nil:
			reason = "nothing is left to wait for"
		case w.running() > 0:
			reason = "its context has ended, but the context of the tool has not"
		}
		w.report("INV-26", "the run does not end; %s", reason)
		return
	}
	if n := w.running(); n > 0 {
		w.report("INV-16", "the run returned while %d of its tools were running", n)
	}
	w.http.stop()
	synctest.Wait()
	if who := bubble.Since(w.goroutines); len(who) > 0 {
		w.report("INV-16", "the run returned, but %d of its goroutines have not ended: %s", len(who), strings.Join(who, ", "))
	}
	switch {
	case w.modelCalls > maxModelCalls: // which is reported
	case w.aborted != "":
		w.report("INV-23", "%s", w.aborted)
	case w.noRequest() != "":
		w.report("INV-11", "%s", w.noRequest())
		w.found[len(w.found)-1].Hint, w.unused = useModel, true
	case !w.reached() && w.err != nil:
		w.report("INV-11", "the run fails before the case cancels it: %v", w.err)
	case !w.reached():
		w.report("INV-11", "the run ends before the case cancels it")
	case w.http != nil:
		w.http.check()
	default:
		w.checkRun()
	}
	w.transcript = w.summary()
}

// noRequest returns why a case shows nothing: the model of the suite got no request. It is empty if there
// was one, or if the case needs none.
func (w *caseRun) noRequest() string {
	switch {
	case w.c.when == before:
		return ""
	case w.http != nil:
		return w.http.unused()
	case w.modelCalls == 0:
		return "the loop did not call Input.Model"
	}
	return ""
}

// useModel is the hint for a loop that sends no request.
const useModel = `Call the model of the input. With HTTP, configure the SDK with the given client and a base URL of the server, such as baseURL + "/openai/v1".`

// runTimeout is longer than any tool of a case.
const runTimeout = 3 * time.Hour

// endsInTime reports whether done is closed before runTimeout.
func endsInTime(done chan struct{}) bool {
	select {
	case <-done:
		return true
	case <-time.After(runTimeout): //nolint:forbidigo // virtual: it is a bubble's
		return false
	}
}

// reached reports whether the run came to the moment at which its case cancels it.
func (w *caseRun) reached() bool {
	switch {
	case w.c.when == never || w.c.when == before:
		return true
	case w.c.stall > 0:
		return w.modelCalls >= w.c.stall
	}
	return len(w.started()) > 0
}

// running returns the number of tools that run.
func (w *caseRun) running() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.inFlight
}

// Stream is the model: the script, and a stall after its last event if the case has one.
func (w *caseRun) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		n := w.countModelCall()
		switch {
		case n > len(w.c.responses) && !w.c.fails:
			w.report("INV-11", "the loop calls the model again after a response without calls")
		case w.ctx.Err() != nil:
			w.report("INV-17", "the loop calls the model after the run was canceled")
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

// maxModelCalls is more than any run needs: a case has at most four responses, and SDKs repeat
// rejected requests a few times.
const maxModelCalls = 100

// countModelCall returns the number of the model call. It ends the goroutine that makes too many.
// Nothing else ends it, because a loop without a wait stops virtual time.
func (w *caseRun) countModelCall() int {
	w.mu.Lock()
	w.modelCalls++
	n := w.modelCalls
	w.mu.Unlock()
	if n > maxModelCalls {
		w.report("INV-26", "the run does not end; it made %d model calls, and the number of scripted responses is %d", maxModelCalls, len(w.c.responses))
		runtime.Goexit()
	}
	return n
}

func (w *caseRun) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-w.release:
		return errReleased
	}
}

// tools returns the tools of the case, which record their calls.
func (w *caseRun) tools() []Tool {
	out := slices.Clone(w.c.tools)
	for i, t := range out {
		out[i].Parameters = object
		out[i].Run = func(ctx context.Context, args string) (string, error) {
			w.count(1, entry{t.Name, args})
			defer w.count(-1)
			return w.c.act(ctx, w, t.Name, args)
		}
	}
	return out
}

func (w *caseRun) count(running int, entered ...entry) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.inFlight += running
	w.entries = append(w.entries, entered...)
}

// started returns the calls that tools got. A faulty loop may still be running some.
func (w *caseRun) started() []entry {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.entries)
}

func (w *caseRun) step(messages []llm.Message) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.steps = append(w.steps, snapshot{messages, jsonOf(messages)})
}

// report records a violation, each invariant once.
func (w *caseRun) report(id, format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if slices.ContainsFunc(w.found, func(v check.Violation) bool { return v.Invariant == id }) {
		return
	}
	v := check.Violation{Invariant: id, Run: w.c.fullName(), Event: check.NoEvent, Message: fmt.Sprintf(format, args...)}
	for _, info := range check.Catalog() {
		if info.ID == id {
			v.Hint = info.Hint
		}
	}
	w.found = append(w.found, v)
}

// run runs the case.
func (c *testcase) run(t *testing.T, loop Loop, limit *realTime) outcome {
	t.Helper()
	var prev *caseRun
	for range max(1, c.times) {
		again := *c
		if prev != nil && c.vary != nil {
			c.vary(&again, prev)
		}
		var w *caseRun
		ended, stacks, locked := bubble.RunUntil(t, limit.expired, func(t *testing.T) {
			w = newRun(t.Context(), &again)
			w.run(loop)
		})
		if stacks != "" { // the run continues, and w is not ours
			w := &caseRun{c: c}
			w.report("INV-26", "%s:\n%s", overLimit(locked), stacks)
			return outcome{found: w.found, abandoned: true}
		}
		if !ended && len(w.found) == 0 {
			w.report("INV-16", "the run returned, but a goroutine cannot end")
		}
		if prev != nil && c.same != "" && len(w.found) == 0 {
			if diff := cmp.Diff(prev.transcript, w.transcript); diff != "" {
				w.report(w.c.same, "two equal runs differ (-first +second):\n%s", diff)
			}
		}
		if len(w.found) > 0 {
			return outcome{found: w.found, unused: w.unused}
		}
		prev = w
	}
	return outcome{skipped: prev.skipped}
}

func jsonOf(messages []llm.Message) []byte { return appendJSON(nil, messages) }

func appendJSON(dst []byte, messages []llm.Message) []byte {
	for _, m := range messages {
		dst = append(m.AppendJSON(dst), '\n')
	}
	return dst
}

func clone(messages []llm.Message) []llm.Message {
	out := slices.Clone(messages)
	for i, m := range messages {
		out[i] = llm.Message{}
		_ = out[i].UnmarshalJSON(m.AppendJSON(nil)) // the messages of the cases are valid
	}
	return out
}

func same(a, b []llm.Message) bool { return bytes.Equal(jsonOf(a), jsonOf(b)) }
