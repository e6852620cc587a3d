package loop

import "sync"

// turns lets the calls that run together do something one at a time, in their order.
type turns struct {
	signal func() (wait, notify func())

	mu    sync.Mutex
	calls []*plannedCall
	next  int // index of the first call that has not passed
}

// turn is the part of one call.
type turn struct {
	of     *turns
	passed bool
	wake   func() // of the call that waits
}

// begin begins with other calls.
func (t *turns) begin(calls []*plannedCall) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calls, t.next = calls, 0
	for _, p := range calls {
		p.turn = turn{of: t, passed: p.is(callAnswered) || p.is(callClientSide)}
	}
	t.advance()
}

// pass lets the next call have its turn, once per call.
func (t *turns) pass(p *plannedCall) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p.turn.passed = true
	t.advance()
}

func (t *turns) advance() {
	for t.next < len(t.calls) && t.calls[t.next].turn.passed {
		t.next++
	}
	if t.next < len(t.calls) {
		if p := t.calls[t.next]; p.turn.wake != nil {
			p.turn.wake()
			p.turn.wake = nil
		}
	}
}

func (t *turns) await(p *plannedCall) {
	t.mu.Lock()
	if p.turn.passed || t.calls[t.next] == p {
		t.mu.Unlock()
		return
	}
	wait, notify := t.signal()
	p.turn.wake = notify
	t.mu.Unlock()
	wait()
}

// InOrder calls f when no earlier call of the step will: after each of them has called InOrder, or
// has ended. So the functions of a step run one at a time, in the order of the calls. A nil f lets
// later calls go first. Only the first InOrder of a call waits. It is for WrapTool hooks and tools.
func (c Call) InOrder(f func()) {
	p := c.planned
	if p == nil {
		if f != nil {
			f()
		}
		return
	}
	defer p.turn.of.pass(p)
	if f != nil {
		p.turn.of.await(p)
		f()
	}
}
