package loop_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/looptape/looptape/loop"
)

func TestSystemClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := loop.SystemClock{}
		begun := clock.Now()
		if err := clock.Sleep(t.Context(), time.Hour); err != nil || clock.Now().Sub(begun) != time.Hour {
			t.Errorf("slept %v, %v", clock.Now().Sub(begun), err)
		}
		for _, d := range []time.Duration{0, -1} {
			if err := clock.Sleep(t.Context(), d); err != nil {
				t.Errorf("sleeping %v: %v", d, err)
			}
		}
		cause := errors.New("enough")
		ctx, stop := clock.WithTimeout(t.Context(), time.Minute, cause)
		defer stop()
		if err := clock.Sleep(ctx, time.Hour); !errors.Is(err, cause) || clock.Now().Sub(begun) != time.Hour+time.Minute {
			t.Errorf("a sleep that is cut: %v after %v", err, clock.Now().Sub(begun))
		}
		for range 100 {
			if err := clock.Sleep(ctx, 0); !errors.Is(err, cause) {
				t.Fatalf("a sleep in a context that has ended: %v", err)
			}
		}
	})
}

// Each notify lets one wait return, also a later one.
func TestSystemClockSignal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wait, notify := loop.SystemClock{}.Signal()
		waited := 0
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		loop.SystemClock{}.Go(func() {
			for ctx.Err() == nil {
				wait()
				waited++
			}
		})
		for want, notes := range []int{0, 1, 1, 1} {
			for range notes {
				notify()
			}
			synctest.Wait()
			if waited != want {
				t.Errorf("after %d notes: waited %d times", want, waited)
			}
		}
		notify()
		notify()
		synctest.Wait()
		if waited != 5 {
			t.Errorf("after two concurrent notes: waited %d times, want 5", waited)
		}
		cancel()
		notify()
	})
}
