// Package workers runs functions concurrently on reused goroutines.
package workers

import "sync"

// Pool runs functions concurrently on goroutines that it reuses: a new goroutine has
// a small stack that the runtime copies as it grows, and starting one costs more than
// most tools of tests.
//
// At most limit functions run concurrently; the others wait. Workers are called one by
// one: a worker that takes a function calls the next worker before it runs the
// function. So quick functions finish before the other workers arrive.
type Pool struct {
	limit int // negative: unlimited

	mu     sync.Mutex
	wake   sync.Cond
	todo   []func()
	taken  int  // functions of todo that workers have taken
	busy   int  // workers that do not wait for a function
	idle   int  // workers that wait for a function
	coming bool // a called worker has not taken a function yet
	closed bool
}

// NewPool returns a Pool with a concurrency limit. A negative limit means no limit.
func NewPool(limit int) *Pool {
	p := &Pool{limit: limit}
	p.wake.L = &p.mu
	return p
}

// Go runs functions concurrently. A function may end its goroutine.
func (p *Pool) Go(fs ...func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.todo = append(p.todo, fs...)
	p.call()
}

// call calls a worker if a function waits, no called worker is on its way, and the limit
// allows another.
func (p *Pool) call() {
	switch {
	case p.coming || p.busy == p.limit || p.taken == len(p.todo):
		return
	case p.idle > 0:
		p.idle--
		p.wake.Signal()
	default:
		go p.work()
	}
	p.coming = true
	p.busy++
}

func (p *Pool) work() {
	defer p.exit()
	p.mu.Lock()
	for {
		p.coming = false
		for p.taken < len(p.todo) {
			f := p.todo[p.taken]
			p.todo[p.taken] = nil
			if p.taken++; p.taken == len(p.todo) {
				p.todo, p.taken = p.todo[:0], 0
			}
			p.call()
			p.mu.Unlock()
			f()
			p.mu.Lock()
		}
		if p.closed {
			p.mu.Unlock()
			return
		}
		p.busy--
		p.idle++
		p.wake.Wait()
	}
}

// exit calls a replacement for a worker whose function ended the goroutine.
func (p *Pool) exit() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy--
	p.call()
}

// Close ends each worker when its function returns. It does not wait.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.busy, p.idle = p.busy+p.idle, 0
	p.wake.Broadcast()
}
