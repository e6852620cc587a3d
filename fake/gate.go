package fake

import "context"

// Gate holds tasks up until it is opened. It stays open.
type Gate struct {
	clock  *Clock
	name   string
	opened bool
}

// Gate returns the gate of this name, the same one each time.
func (c *Clock) Gate(name string) *Gate {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.gates[name]
	if g == nil {
		g = &Gate{clock: c, name: name}
		if c.gates == nil {
			c.gates = map[string]*Gate{}
		}
		c.gates[name] = g
	}
	return g
}

// OpenInOrder declares the order in which gates open by themselves: whenever
// all tasks wait, the first of these that a task waits for opens. Names are
// added behind those that were declared before.
func (c *Clock) OpenInOrder(names ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.order = append(c.order, names...)
}

// Wait waits until the gate is open, or until ctx ends: then it returns the
// context's cause, and so it does if ctx had ended before.
func (g *Gate) Wait(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	g.clock.mu.Lock()
	if g.opened {
		g.clock.mu.Unlock()
		return nil
	}
	return g.clock.park(wait{what: "gate " + g.name, ctx: ctx, on: g, fails: true})
}

// Open opens the gate. Opening it again changes nothing.
func (g *Gate) Open() {
	g.clock.mu.Lock()
	defer g.clock.mu.Unlock()
	g.clock.open(g)
}

// open makes all who wait ready, in the order in which they began to wait.
func (c *Clock) open(g *Gate) {
	g.opened = true
	for t := c.waiter(g); t != nil; t = c.waiter(g) {
		c.rouse(t, nil)
	}
}
