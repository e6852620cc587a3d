package llmtest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/looptape/looptape/internal/bubble"
	"github.com/looptape/looptape/llm"
)

// testcase is a script, and how it is asked for.
type testcase struct {
	property    Property // that it is about; others are looked at too
	name   string
	needs  []Feature
	needsRequests   bool // looks at what was asked
	script Script
	do   func(w *caseRun)
}

// run plays the case in a bubble of its own. It returns what it found, or why it was
// not played.
func (c *testcase) run(t *testing.T, s *Suite) (found *Violation, skip string) {
	t.Helper()
	for _, f := range c.needs {
		if slices.Contains(s.Unsupported, f) {
			return nil, fmt.Sprintf("the model cannot say this: %s (see Suite.Lacks)", f)
		}
	}
	w := &caseRun{c: c, suite: s}
	ended := bubble.Run(t, func(t *testing.T) {
		w.subject = s.New(t, c.script)
		if c.needsRequests && w.subject.Requests == nil {
			skip = "the test cannot see what the model asked (see Subject.Asked)"
			return
		}
		synctest.Wait()
		w.goroutines = bubble.Goroutines()
		c.do(w)
		w.checkLeaks("")
	})
	if !ended {
		w.report(Leaks, "a goroutine is left that nothing can end")
	}
	return w.found, skip
}

// world is one case with all that is around it.
type caseRun struct {
	c       *testcase
	suite   *Suite
	subject Subject
	goroutines  map[string]string // the goroutines that are not the model's

	mu    sync.Mutex
	found *Violation
}

// report notes a violation. Only the first one of a case is told: what comes behind it
// may follow from it.
func (w *caseRun) report(law Property, format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.found == nil {
		w.found = &Violation{law, w.c.name, fmt.Sprintf(format, args...), law.hint()}
	}
}

// broken tells whether a violation was found.
func (w *caseRun) failed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.found != nil
}

// left reports the goroutines that are left once all answers have ended.
func (w *caseRun) checkLeaks(when string) {
	if w.failed() {
		return
	}
	if w.subject.CloseIdle != nil {
		w.subject.CloseIdle()
	}
	synctest.Wait()
	if who := bubble.Since(w.goroutines); len(who) > 0 {
		w.report(Leaks, "%d goroutines have not ended%s: %s", len(who), when, strings.Join(who, ", "))
	}
}

// answer is what a model said.
type result struct {
	events []llm.Event
	err    error
	stopped   bool // the range was left
	panicValue any
}

// turn is the answer assembled.
func (a *result) response() *llm.Response {
	var acc llm.Accumulator
	for _, ev := range a.events {
		acc.Add(ev)
	}
	return acc.Response()
}

// String is the answer as people compare it.
func (a *result) String() string {
	s := describe(a.response())
	if a.err != nil {
		s += "error " + a.err.Error() + "\n"
	}
	return s
}

// patience is longer than any model of a case takes.
const streamTimeout = 3 * time.Hour

// ask asks and listens: listen, which may be nil, gets the number of events so far
// and returns whether to hear more. All that every answer has to hold is looked at.
func (w *caseRun) stream(ctx context.Context, req *llm.Request, listen func(n int) bool) *result {
	a := &result{}
	done := make(chan struct{})
	before := newSnapshot(req)
	go func() {
		defer close(done)
		defer func() { a.panicValue = recover() }()
		w.consume(ctx, req, listen, a)
	}()
	select {
	case <-done:
	case <-time.After(streamTimeout): //nolint:forbidigo // virtual: it is a bubble's
		w.report(Liveness, "the answer does not end; %s", hangReason(ctx))
		return &result{err: context.DeadlineExceeded}
	}
	if a.panicValue != nil {
		w.report(NoPanic, "the model panicked: %v", a.panicValue)
	}
	if wrong := before.changed(req); wrong != "" {
		w.report(Immutable, "%s", wrong)
	}
	complete := a.err == nil && !a.stopped && ctx.Err() == nil && a.panicValue == nil
	if wrong := checkOrder(a.events, complete); wrong != "" {
		w.report(Order, "%s", wrong)
	}
	return a
}

func hangReason(ctx context.Context) string {
	if ctx.Err() == nil {
		return "nothing that the model could wait for is left"
	}
	return "its context has ended, but the model still waits"
}

// hear ranges over an answer by hand, so that what comes too late is seen.
func (w *caseRun) consume(ctx context.Context, req *llm.Request, listen func(n int) bool, a *result) {
	over := ""
	w.subject.Model.Stream(ctx, req)(func(ev llm.Event, err error) bool {
		switch {
		case over != "":
			w.report(OneEnd, "%s, and then something more comes: %s", over, formatItem(ev, err))
			return false
		case err != nil && ev != nil:
			w.report(OneEnd, "an event comes together with an error: %s, %v", formatEvent(ev), err)
		case err == nil && ev == nil:
			w.report(OneEnd, "neither an event nor an error comes")
			return true
		}
		if err != nil {
			over, a.err = "an error comes", err
			return true
		}
		a.events = append(a.events, ev)
		if listen != nil && !listen(len(a.events)) {
			over, a.stopped = "the range was left", true
		}
		return !a.stopped
	})
}

// item writes what came at once.
func formatItem(ev llm.Event, err error) string {
	if ev == nil {
		return fmt.Sprintf("the error %v", err)
	}
	return formatEvent(ev)
}

// whole asks for an answer that has no error. It returns nil if anything is wrong,
// which is reported.
func (w *caseRun) complete(req *llm.Request) *result { return w.completeContext(context.Background(), req) }

func (w *caseRun) completeContext(ctx context.Context, req *llm.Request) *result {
	a := w.stream(ctx, req, nil)
	if a.err != nil {
		w.report(ResponseContent, "an answer of %s ends with an error: %v", req.Model, a.err)
	}
	if w.failed() {
		return nil
	}
	return a
}

// request asks what the answer of this name is for, with parts of its own so that
// nothing is shared with another one.
func (w *caseRun) request(model string, messages ...llm.Message) *llm.Request {
	if len(messages) == 0 {
		messages = []llm.Message{llm.User("What is the weather?")}
	}
	req := &llm.Request{
		Model: model,
		// With room behind it, which is the caller's.
		Messages: append(make([]llm.Message, 0, len(messages)+2), messages...),
		Tools:    append(make([]llm.Tool, 0, 3), weather),
	}
	w.prepare(req)
	return req
}

func (w *caseRun) prepare(req *llm.Request) {
	if w.suite.Prepare != nil {
		w.suite.Prepare(req)
	}
}

// snapshot is a request as it was.
type snapshot struct{ json []byte }

func newSnapshot(req *llm.Request) snapshot {
	if req == nil {
		return snapshot{}
	}
	return snapshot{req.AppendJSON(nil)}
}

// changed says what has been changed in the request since, or in the arrays of it
// behind what it shows.
func (s snapshot) changed(req *llm.Request) string {
	if req == nil {
		return ""
	}
	if is := req.AppendJSON(nil); !bytes.Equal(s.json, is) {
		return fmt.Sprintf("the request was changed:\n- %s\n+ %s", s.json, is)
	}
	for _, m := range req.Messages[len(req.Messages):cap(req.Messages)] {
		if m.Role != "" || m.Parts != nil {
			return fmt.Sprintf("a message was appended to the caller's own array: %s", m.AppendJSON(nil))
		}
	}
	for _, t := range req.Tools[len(req.Tools):cap(req.Tools)] {
		if t.Name != "" {
			return fmt.Sprintf("a tool was appended to the caller's own array: %s", t.AppendJSON(nil))
		}
	}
	return ""
}
