package fake_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/looptape/looptape/fake"
)

// firstOptions chooses what the script says.
type firstOptions struct{}

func (firstOptions) Order(string, string, []string) int  { return 0 }
func (firstOptions) Switch(string, string, []string) int { return 0 }
func (firstOptions) Fault(string, string, []string) int  { return 0 }

// TestWorldDeadlock: a run whose goroutines wait for each other is not canceled. It has a deadlock.
func TestWorldDeadlock(t *testing.T) {
	w := fake.NewWorld(&fake.Script{})
	defer w.Close()
	ctx, clock := w.Begin(firstOptions{})
	panicked := w.Go(func() {
		wait, _ := clock.Signal()
		wait()
	})
	if err, _ := panicked.(error); err == nil {
		t.Errorf("got %v, want a deadlock", panicked)
	} else if _, is := errors.AsType[*fake.DeadlockError](err); !is {
		t.Errorf("got %v, want a deadlock", err)
	}
	if ctx.Err() != nil {
		t.Errorf("the context of the run has ended: %v", ctx.Err())
	}
}

// TestWorldPolls: a goroutine that sleeps again and again does not end the time of a run: the run has a deadlock.
func TestWorldPolls(t *testing.T) {
	w := fake.NewWorld(&fake.Script{})
	_, clock := w.Begin(firstOptions{})
	ctx, end := context.WithCancel(t.Context())
	var err error
	if panicked := w.Go(func() {
		clock.Go(func() {
			for clock.Sleep(ctx, time.Second) == nil {
			}
		})
		err = clock.Drain()
		end()
		_ = clock.Drain() // of this test
		w.Close()
	}); panicked != nil {
		t.Error(panicked)
	}
	if _, is := errors.AsType[*fake.DeadlockError](err); !is {
		t.Errorf("got %v, want a deadlock", err)
	}
}
