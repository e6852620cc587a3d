package loop

import "sync"

// crew runs functions at the same time, on goroutines that it uses again: a new
// one has a small stack, which the runtime moves as it grows, and starting one
// costs more than most tools of tests do.
//
// Up to limit functions that were handed in get goroutines, however long they take,
// and the others wait. Workers are called one by one: one that has taken a function
// calls the next before it runs it, and what is quick is done before the others come.
type crew struct {
	limit int // negative if there is none

	mu     sync.Mutex
	wake   sync.Cond
	todo   []func()
	taken  int  // how many of todo have been taken
	busy   int  // workers that do not wait
	idle   int  // workers that wait
	coming bool // a worker was called and has not looked yet
	over   bool
}

func newCrew(limit int) *crew {
	c := &crew{limit: limit}
	c.wake.L = &c.mu
	return c
}

// Go runs functions at the same time as its caller. Each may end its goroutine.
func (c *crew) Go(fs ...func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.todo = append(c.todo, fs...)
	c.call()
}

// call calls a worker if there is something to do, none is on its way, and the limit
// admits another.
func (c *crew) call() {
	switch {
	case c.coming || c.busy == c.limit || c.taken == len(c.todo):
		return
	case c.idle > 0:
		c.idle--
		c.wake.Signal()
	default:
		go c.work()
	}
	c.coming = true
	c.busy++
}

func (c *crew) work() {
	defer c.leave()
	c.mu.Lock()
	for {
		c.coming = false
		for c.taken < len(c.todo) {
			f := c.todo[c.taken]
			c.todo[c.taken] = nil
			if c.taken++; c.taken == len(c.todo) {
				c.todo, c.taken = c.todo[:0], 0
			}
			c.call()
			c.mu.Unlock()
			f()
			c.mu.Lock()
		}
		if c.over {
			c.mu.Unlock()
			return
		}
		c.busy--
		c.idle++
		c.wake.Wait()
	}
}

// leave calls a worker for one that ends, as what it runs may make it.
func (c *crew) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy--
	c.call()
}

// dismiss ends the workers that wait, and the others when they are done.
func (c *crew) dismiss() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	c.busy, c.idle = c.busy+c.idle, 0
	c.wake.Broadcast()
}
