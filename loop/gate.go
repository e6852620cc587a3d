package loop

import "sync"

// gate is what model calls go through: one at a time, and only while it is open.
type gate struct {
	mu     sync.Mutex
	opened bool
}

// set opens or closes the gate. It waits for a call that has gone through.
func (g *gate) set(open bool) {
	g.mu.Lock()
	g.opened = open
	g.mu.Unlock()
}

// open opens the gate, unless it is open.
func (g *gate) open() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	was := g.opened
	g.opened = true
	return !was
}

// enter reports whether a call may go through. One that may ends with leave.
func (g *gate) enter() bool {
	if !g.mu.TryLock() {
		return false
	}
	open := g.opened
	if !open {
		g.mu.Unlock()
	}
	return open
}

func (g *gate) leave() { g.mu.Unlock() }
