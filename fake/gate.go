package fake

import "context"

// Gate blocks tasks until it is opened. It stays open.
type Gate struct {
	clock  *Clock
	name   string
	opened bool
}

// Gate returns the gate with this name, always the same one.
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

// OpenInOrder appends names to the order in which gates open: whenever all tasks wait,
// the clock opens the first gate in this order that a task waits for.
func (c *Clock) OpenInOrder(names ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.order = append(c.order, names...)
}

// Wait waits until the gate is open. It returns the context's cause if ctx ends before, or
// has ended already.
func (g *Gate) Wait(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	g.clock.mu.Lock()
	if g.opened {
		g.clock.mu.Unlock()
		return nil
	}
	return g.clock.wait(waitState{description: "gate " + g.name, ctx: ctx, on: g, failsOnDeadlock: true})
}

// Open opens the gate. Opening it again has no effect.
func (g *Gate) Open() {
	g.clock.mu.Lock()
	defer g.clock.mu.Unlock()
	g.clock.openGate(g)
}

// openGate makes the waiting tasks ready, in the order in which they began to wait.
func (c *Clock) openGate(g *Gate) {
	g.opened = true
	for t := c.firstWaiting(g); t != nil; t = c.firstWaiting(g) {
		c.wake(t, nil)
	}
}
