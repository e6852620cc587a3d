package fake

import "context"

// gate blocks tasks until it is opened. It stays open.
type gate struct {
	name   string
	opened bool
}

// gate returns the gate with this name, always the same one. The caller holds the lock.
func (c *Clock) gate(name string) *gate {
	g := c.gates[name]
	if g == nil {
		g = &gate{name: name}
		if c.gates == nil {
			c.gates = map[string]*gate{}
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

// WaitGate waits until the named gate is open. It returns the context's cause if ctx ends
// before, or has ended already.
func (c *Clock) WaitGate(ctx context.Context, name string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	c.mu.Lock()
	g := c.gate(name)
	if g.opened {
		c.mu.Unlock()
		return nil
	}
	return c.wait(waitState{description: "gate " + name, ctx: ctx, on: g, failsOnDeadlock: true})
}

// OpenGate opens the named gate, which stays open. Opening it again has no effect.
func (c *Clock) OpenGate(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.openGate(c.gate(name))
}

// openGate makes the waiting tasks ready, in the order in which they began to wait.
func (c *Clock) openGate(g *gate) {
	g.opened = true
	for t := c.firstWaiting(g); t != nil; t = c.firstWaiting(g) {
		c.wake(t, nil)
	}
}
