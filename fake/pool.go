package fake

import (
	"strconv"
	"sync"
)

// Go calls f on a goroutine of the world, which a tool may end, and returns its panic when f has ended, or the error
// of a deadlock, which the loop may have handled as the error of a call or a hook.
func (w *World) Go(f func()) (panicked any) {
	t, done := w.pool.take(0), make(chan struct{})
	t.f = func() {
		defer close(done)
		defer func() { panicked = recover() }()
		f()
	}
	t.wake <- struct{}{}
	<-done
	if err := w.model.Clock.deadlock; panicked == nil && err != nil {
		return err
	}
	return panicked
}

// Close ends the goroutines of the world.
func (w *World) Close() {
	w.pool.mu.Lock()
	defer w.pool.mu.Unlock()
	for _, t := range w.pool.idle {
		close(t.wake)
	}
	w.pool.idle, w.pool.closed = nil, true
}

// pool keeps tasks with their goroutines for the next run: their stacks have grown.
type pool struct {
	mu     sync.Mutex
	idle   []*task
	names  []string // by number
	closed bool
}

// take returns a task whose goroutine runs it when it is woken. number is that of the call of Go.
func (p *pool) take(number int) *task {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.names) <= number {
		p.names = append(p.names, "goroutine "+strconv.Itoa(len(p.names)))
	}
	var t *task
	if n := len(p.idle); n > 0 {
		t = p.idle[n-1]
		p.idle = p.idle[:n-1]
	} else {
		t = newTask()
		go func() {
			for range t.wake {
				t.run()
				p.put(t)
			}
		}()
	}
	t.name = p.names[number]
	return t
}

// put keeps a task that has ended, unless the world is closed.
func (p *pool) put(t *task) {
	*t = task{wake: t.wake}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		close(t.wake)
		return
	}
	p.idle = append(p.idle, t)
}
