package loop

import (
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
)

// What is handed in gets a goroutine up to the limit, though all that was handed in
// before waits for it.
func TestCrewRunsAllAtOnce(t *testing.T) {
	for _, n := range []int{1, 2, 8, 100} {
		synctest.Test(t, func(*testing.T) {
			c := newCrew(n)
			defer c.dismiss()
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
				t.Errorf("%d functions at once, three times: %d workers, want %d", n, c.idle, n)
			}
		})
	}
}

// A function that ends its goroutine takes no other with it.
func TestCrewOutlivesGoexit(t *testing.T) {
	synctest.Test(t, func(*testing.T) {
		c := newCrew(-1)
		defer c.dismiss()
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

// No more functions than the limit run at once, and a function that ends its goroutine
// frees its place.
func TestCrewKeepsLimit(t *testing.T) {
	synctest.Test(t, func(*testing.T) {
		const limit = 3
		c := newCrew(limit)
		defer c.dismiss()
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
					t.Fatalf("round %d, with %d left, %d functions run at once, want %d", round, left, got, want)
				}
				<-here
				gate <- struct{}{}
			}
		}
	})
}

// Work that takes no time is done by the worker that came first.
func TestCrewUsesWorkersAgain(t *testing.T) {
	synctest.Test(t, func(*testing.T) {
		c := newCrew(-1)
		ran := 0
		for range 1000 {
			c.Go(func() { ran++ })
			synctest.Wait()
		}
		if ran != 1000 || c.idle != 1 {
			t.Errorf("ran %d functions of 1000, on %d workers, want 1", ran, c.idle)
		}
		if cap(c.todo) > 8 {
			t.Errorf("the list of what is to do grew to %d", cap(c.todo))
		}
		c.dismiss() // else synctest reports that the worker waits for ever
	})
}

// A worker that is busy when the crew is dismissed ends when it is done.
func TestCrewIsDismissedWhileBusy(t *testing.T) {
	synctest.Test(t, func(*testing.T) {
		c := newCrew(-1)
		gate := make(chan struct{})
		c.Go(func() { <-gate })
		synctest.Wait()
		c.dismiss()
		close(gate)
	})
}
