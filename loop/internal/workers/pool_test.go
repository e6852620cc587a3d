package workers

import (
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
)

// Each function gets a goroutine up to the limit, while all functions before it wait.
func TestPoolRunsAllConcurrently(t *testing.T) {
	for _, n := range []int{1, 2, 8, 100} {
		synctest.Test(t, func(*testing.T) {
			c := NewPool(n)
			defer c.Close()
			for range 3 { // the second time with workers that wait
				var here, done sync.WaitGroup
				here.Add(n)
				for range n {
					done.Add(1)
					c.Go(func() {
						defer done.Done()
						here.Done()
						here.Wait()
					})
				}
				done.Wait()     // or synctest reports a deadlock
				synctest.Wait() // until the workers wait, too
			}
			if c.idle != n {
				t.Errorf("%d concurrent functions, three times: %d workers, want %d", n, c.idle, n)
			}
		})
	}
}

// A function that ends its goroutine does not affect the others.
func TestPoolReplacesExitedWorkers(t *testing.T) {
	synctest.Test(t, func(*testing.T) {
		c := NewPool(-1)
		defer c.Close()
		var done sync.WaitGroup
		for range 5 {
			for range 4 {
				done.Add(1)
				c.Go(func() {
					defer done.Done()
					runtime.Goexit()
				})
			}
			done.Wait()
			done.Go(func() { c.Go(func() {}) })
		}
		synctest.Wait()
		if len(c.todo) != 0 || c.coming {
			t.Errorf("%d functions were not run (coming: %t)", len(c.todo), c.coming)
		}
	})
}

// Functions run concurrently up to the limit, and a function that ends its goroutine
// frees its place.
func TestPoolKeepsLimit(t *testing.T) {
	synctest.Test(t, func(*testing.T) {
		const limit = 3
		c := NewPool(limit)
		defer c.Close()
		here, gate := make(chan struct{}, 10), make(chan struct{})
		f := func() {
			here <- struct{}{}
			<-gate
		}
		exits := func() {
			f()
			runtime.Goexit()
		}
		all := []func(){f, exits, exits, exits, f, exits, f}
		for round := range 3 { // the second time with workers that wait
			c.Go(all...)
			for left := len(all); left > 0; left-- {
				synctest.Wait()
				if got, want := len(here), min(left, limit); got != want {
					t.Fatalf("batch %d, with %d left, %d functions run concurrently, want %d", round, left, got, want)
				}
				<-here
				gate <- struct{}{}
			}
		}
	})
}

// One worker runs functions that take no time.
func TestPoolReusesWorkers(t *testing.T) {
	synctest.Test(t, func(*testing.T) {
		c := NewPool(-1)
		ran := 0
		for range 1000 {
			c.Go(func() { ran++ })
			synctest.Wait()
		}
		if ran != 1000 || c.idle != 1 {
			t.Errorf("ran %d functions of 1000, on %d workers, want 1", ran, c.idle)
		}
		if cap(c.todo) > 8 {
			t.Errorf("the queue grew to %d", cap(c.todo))
		}
		c.Close() // else synctest reports that the worker waits forever
	})
}

// A worker that runs a function when the pool is closed ends with its function.
func TestPoolCloseWhileBusy(t *testing.T) {
	synctest.Test(t, func(*testing.T) {
		c := NewPool(-1)
		gate := make(chan struct{})
		c.Go(func() { <-gate })
		synctest.Wait()
		c.Close()
		close(gate)
	})
}
