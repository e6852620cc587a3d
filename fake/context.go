package fake

import (
	"context"
	"slices"
	"sync"
)

// runContext is a context that ends when end is called. Contexts within it end at once.
type runContext struct {
	context.Context // without an end
	done            chan struct{}

	mu    sync.Mutex
	err   error
	after []*func()
}

// NewContext returns a context that ends when end is called, with its error: context.Canceled, or context.DeadlineExceeded for a
// deadline that is not a time. It has no Deadline.
func NewContext() (ctx context.Context, end func(err error)) {
	c := newRunContext()
	return c, c.end
}

func newRunContext() *runContext {
	return &runContext{Context: context.Background(), done: make(chan struct{})}
}

func (c *runContext) Done() <-chan struct{} { return c.done }

func (c *runContext) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// AfterFunc calls f at the end. Package context uses it for the contexts within.
func (c *runContext) AfterFunc(f func()) (stop func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		go f()
		return func() bool { return false }
	}
	c.after = append(c.after, &f)
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		i := slices.Index(c.after, &f)
		if i >= 0 {
			c.after = slices.Delete(c.after, i, i+1)
		}
		return i >= 0
	}
}

func (c *runContext) end(err error) {
	c.mu.Lock()
	after := c.after
	c.after = nil
	if c.err == nil {
		c.err = err
		close(c.done)
	}
	c.mu.Unlock()
	for _, f := range after {
		(*f)()
	}
}
