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

// testcase is a script with its requests and checks.
type testcase struct {
	property      Property // of the case; the case checks the others too
	name          string
	needs         []Feature
	needsRequests bool // checks recorded requests
	script        map[string]Response
	do            func(w *caseRun)
}

// run runs the case in a bubble. It returns a violation, or the reason to skip the case.
func (c *testcase) run(t *testing.T, s *Suite) (found *Violation, skip string) {
	t.Helper()
	for _, f := range c.needs {
		if slices.Contains(s.Unsupported, f) {
			return nil, fmt.Sprintf("the model does not support %s (see Suite.Unsupported)", f)
		}
	}
	w := &caseRun{c: c, suite: s}
	ended := bubble.Run(t, func(t *testing.T) {
		w.subject = s.New(t, c.script)
		if c.needsRequests && w.subject.Requests == nil {
			skip = "the test does not record requests (see Subject.Requests)"
			return
		}
		synctest.Wait()
		w.goroutines = bubble.Goroutines()
		c.do(w)
		w.checkLeaks("")
	})
	if !ended {
		w.report(Leaks, "a goroutine cannot end")
	}
	return w.found, skip
}

// caseRun is the run of one case.
type caseRun struct {
	c          *testcase
	suite      *Suite
	subject    Subject
	goroutines map[string]string // those that are not of the model

	mu    sync.Mutex
	found *Violation
}

// report records the first violation of the case. Later ones may follow from it.
func (w *caseRun) report(law Property, format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.found == nil {
		w.found = &Violation{law, w.c.name, fmt.Sprintf(format, args...), law.Hint()}
	}
}

// compare reports a response that differs.
func (w *caseRun) compare(law Property, want, got, format string, args ...any) {
	if diff := differ(want, got); diff != "" {
		w.report(law, format+"; %s", append(args, diff)...)
	}
}

// failed reports whether the case has a violation.
func (w *caseRun) failed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.found != nil
}

// checkLeaks reports goroutines that remain after all responses.
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

// result is the result of one iteration.
type result struct {
	events     []llm.Event
	err        error
	stopped    bool // the consumer stopped the iteration
	panicValue any
}

// response returns the assembled response.
func (a *result) response() *llm.Response {
	var acc llm.Accumulator
	for _, ev := range a.events {
		acc.Add(ev)
	}
	return acc.Response()
}

// String returns the response and the error for comparison.
func (a *result) String() string {
	s := describe(a.response())
	if a.err != nil {
		s += "error " + a.err.Error() + "\n"
	}
	return s
}

// streamTimeout is longer than any response of a case.
const streamTimeout = 3 * time.Hour

// stream sends a request and checks the properties of all responses. listen, if not nil,
// gets the number of events and reports whether to continue.
func (w *caseRun) stream(ctx context.Context, req *llm.Request, listen func(n int) bool) *result {
	a := &result{}
	done := make(chan struct{})
	before := jsonOf(req)
	go func() {
		defer close(done)
		defer func() { a.panicValue = recover() }()
		w.consume(ctx, req, listen, a)
	}()
	select {
	case <-done:
	case <-time.After(streamTimeout): //nolint:forbidigo // virtual: it is a bubble's
		w.report(Liveness, "the response does not end: %s", hangReason(ctx))
		return &result{err: context.DeadlineExceeded}
	}
	if a.panicValue != nil {
		w.report(NoPanic, "the model panicked: %v", a.panicValue)
	}
	if wrong := changed(req, before); wrong != "" {
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
		return "nothing is left to wait for"
	}
	return "its context has ended, but the model still waits"
}

// consume iterates without a range statement, so that it sees late events.
func (w *caseRun) consume(ctx context.Context, req *llm.Request, listen func(n int) bool, a *result) {
	over := ""
	w.subject.Model.Stream(ctx, req)(func(ev llm.Event, err error) bool {
		switch {
		case over != "":
			w.report(OneEnd, "%s, and then another item comes: %s", over, formatItem(ev, err))
			return false
		case err != nil && ev != nil:
			w.report(OneEnd, "an event comes with an error: %s, %v", formatEvent(ev), err)
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
			over, a.stopped = "the consumer stopped", true
		}
		return !a.stopped
	})
}

// formatItem formats an event or an error.
func formatItem(ev llm.Event, err error) string {
	if ev == nil {
		return fmt.Sprintf("the error %v", err)
	}
	return formatEvent(ev)
}

// complete returns a complete response without an error. It reports failures and returns
// nil.
func (w *caseRun) complete(req *llm.Request) *result {
	return w.completeContext(context.Background(), req)
}

func (w *caseRun) completeContext(ctx context.Context, req *llm.Request) *result {
	a := w.stream(ctx, req, nil)
	if a.err != nil {
		w.report(ResponseContent, "a response of %s ends with an error: %v", req.Model, a.err)
	}
	if w.failed() {
		return nil
	}
	return a
}

// request returns a request for the response with this name. Requests share no memory.
func (w *caseRun) request(model string, messages ...llm.Message) *llm.Request {
	if len(messages) == 0 {
		messages = []llm.Message{llm.User("What is the weather?")}
	}
	req := &llm.Request{
		Model: model,
		// The slices have capacity for appends, which the suite detects.
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

func jsonOf(req *llm.Request) []byte {
	if req == nil {
		return nil
	}
	return req.AppendJSON(nil)
}

// changed describes changes of a request that had this JSON, or of its arrays after its slices.
func changed(req *llm.Request, before []byte) string {
	if req == nil {
		return ""
	}
	if is := req.AppendJSON(nil); !bytes.Equal(before, is) {
		return fmt.Sprintf("the request was changed:\n- %s\n+ %s", before, is)
	}
	for _, m := range req.Messages[len(req.Messages):cap(req.Messages)] {
		if m.Role != "" || m.Parts != nil {
			return fmt.Sprintf("the model appended a message to the array of the caller: %s", m.AppendJSON(nil))
		}
	}
	for _, t := range req.Tools[len(req.Tools):cap(req.Tools)] {
		if t.Name != "" {
			return fmt.Sprintf("the model appended a tool to the array of the caller: %s", t.AppendJSON(nil))
		}
	}
	return ""
}

// checkOrder describes the first violation in the order of events, or returns an empty
// string. complete is true if the response reached its end.
func checkOrder(events []llm.Event, complete bool) string {
	var s sequence
	for i, ev := range events {
		if wrong := s.next(ev); wrong != "" {
			return fmt.Sprintf("event %d, %s: %s", i, formatEvent(ev), wrong)
		}
	}
	switch {
	case !complete:
		return ""
	case !s.finished:
		return "the response ended without a Finish"
	case len(s.open) > 0:
		return fmt.Sprintf("the response ended before the call %s", s.open[0])
	}
	return ""
}

// sequence is the state of a response.
type sequence struct {
	open     []callKey
	finished bool
}

// callKey identifies the events of a call.
type callKey struct {
	index int
	id    string
}

func (k callKey) String() string { return fmt.Sprintf("%d %q", k.index, k.id) }

func (s *sequence) next(ev llm.Event) string {
	switch ev := ev.(type) {
	case llm.Usage, llm.Warning, llm.Unknown:
		return ""
	case llm.Finish:
		if s.finished {
			return "a second Finish"
		}
		s.finished = true
		return ""
	case llm.ToolCallStart:
		s.open = append(s.open, callKey{ev.Index, ev.ID})
	case llm.ToolCallDelta:
		if s.find(ev.Index, ev.ID) < 0 {
			return "arguments of a call that is not open"
		}
	case llm.ToolCallEnd:
		i := s.find(ev.Index, ev.ID)
		if i < 0 {
			return "the end of a call that is not open"
		}
		s.open = append(s.open[:i], s.open[i+1:]...)
	case llm.TextDelta, llm.ReasoningDelta, llm.PartDone:
	}
	if s.finished {
		return "content after the Finish"
	}
	return ""
}

// find returns the index of the open call of an event, or -1. It compares the index, or
// else the id, or else takes the last call.
func (s *sequence) find(index int, id string) int {
	for i, k := range slices.Backward(s.open) {
		if index == k.index && (index != 0 || id == "" || id == k.id) {
			return i
		}
	}
	return -1
}

func formatEvent(ev llm.Event) string { return string(llm.AppendEvent(nil, ev)) }
