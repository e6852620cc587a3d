package loop

import "sync"

// crew runs functions at the same time, on goroutines that it uses again: a new
// one has a small stack, which the runtime moves as it grows, and starting one
// costs more than most tools of tests do.
//
// A function that was handed in always gets a goroutine, however long the others
// take. Workers are called one by one: one that has taken a function calls the
// next before it runs it, and what is quick is done before the others come.
type crew struct {
	mu     sync.Mutex
	wake   sync.Cond
	todo   []func()
	taken  int  // how many of todo have been taken
	idle   int  // workers that wait
	coming bool // a worker was called and has not looked yet
	over   bool
}

func newCrew() *crew {
	c := &crew{}
	c.wake.L = &c.mu
	return c
}

// Go runs f at the same time as its caller. f may end its goroutine.
func (c *crew) Go(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.todo = append(c.todo, f)
	c.call()
}

// call calls a worker if there is something to do and none is on its way.
func (c *crew) call() {
	switch {
	case c.coming || c.taken == len(c.todo):
		return
	case c.idle > 0:
		c.idle--
		c.wake.Signal()
	default:
		go c.work()
	}
	c.coming = true
}

func (c *crew) work() {
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
		c.idle++
		c.wake.Wait()
	}
}

// dismiss ends the workers that wait, and the others when they are done.
func (c *crew) dismiss() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	c.wake.Broadcast()
}
