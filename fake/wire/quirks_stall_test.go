package wire_test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/trace"
)

// stallDeadline is the deadline of runs whose responses stall: two and a half pings.
const stallDeadline = 40 * time.Second

// playInBubble plays a scenario whose responses need not end, in a bubble of its own time.
// It returns once the server has ended them, so no goroutine is left in the bubble.
func playInBubble(t *testing.T, script *fake.Script, protocol string, responseMode llm.ResponseMode, quirks ...wire.Quirk) (o *played) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		o = playScript(t, func(c *loop.Config) { c.Deadline = stallDeadline }, script, protocol, responseMode, quirks...)
	})
	return o
}

// follower notes what is read of a body.
type follower struct {
	io.ReadCloser
	x *exchanged
}

func (f *follower) Read(p []byte) (int, error) {
	n, err := f.ReadCloser.Read(p)
	f.x.answer, f.x.body = append(f.x.answer, p[:n]...), append(f.x.body, p[:n]...)
	if err != nil && !errors.Is(err, io.EOF) {
		f.x.err = err
	}
	return n, err
}

// A loop that waits for twenty seconds and no longer for more of a response gives up
// after that time, whatever comes to keep the connection open; one that got nothing
// yet attempts again.
func TestStallTimeout(t *testing.T) {
	for _, form := range wire.Quirks() {
		for _, protocol := range form.Protocols {
			for _, mode := range modes {
				if form.ID != "QT-10" || form.Streaming && mode == "non-streaming" {
					continue
				}
				t.Run(fmt.Sprintf("%s %s %s", form.Form, protocol, mode), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { testStallTimeout(t, form, protocol, mode) })
				})
			}
		}
	}
}

func testStallTimeout(t *testing.T, form wire.Quirk, protocol, mode string) {
	q, err := wire.ParseQuirk("QT-10:" + form.Form + "@1")
	if err != nil {
		t.Fatal(err)
	}
	const limit = 20 * time.Second
	took, tries := limit, 1
	if form.Form == "headers" {
		took, tries = 4*limit+7*time.Second, 4 // waits of one, two and four seconds
	}
	clock := loop.SystemClock{}
	begun := clock.Now()
	o := playScript(t, func(c *loop.Config) { c.StallTimeout = limit }, loadScenario(t, "calls"), protocol, responseModes[mode], q)
	o.checkInvariants(t)
	if got := clock.Now().Sub(begun); got != took || !errors.Is(o.Err, loop.ErrStalled) || o.Run.StopReason != trace.ReasonDeadline {
		t.Errorf("after %v the run stopped by %s with %v; want %s with %v after %v", got, o.Run.StopReason, o.Err, trace.ReasonDeadline, loop.ErrStalled, took)
	}
	if len(o.exchanges) != tries || slices.ContainsFunc(o.Events, func(ev trace.Event) bool { _, ok := ev.Body.(trace.ToolStart); return ok }) {
		t.Errorf("%d requests, want %d, and no tool: %s", len(o.exchanges), tries, o.Trace())
	}
}
