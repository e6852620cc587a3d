package bubble_test

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/internal/bubble"
)

// wait is a goroutine that waits for this channel.
func wait(c chan int) { <-c }

func start(c chan int) { go wait(c) }

func TestSinceListsStartedGoroutines(t *testing.T) {
	if !bubble.Run(t, func(t *testing.T) {
		first, second := make(chan int), make(chan int)
		start(first)
		before := bubble.Goroutines()
		if got := bubble.Since(before); got != nil {
			t.Errorf("nothing was started, but there are %q", got)
		}
		start(second)
		synctest.Wait()
		want := []string{"started by github.com/looptape/looptape/internal/bubble_test.start"}
		if diff := cmp.Diff(want, bubble.Since(before)); diff != "" {
			t.Errorf("goroutines (-want +got):\n%s", diff)
		}
		close(first)
		close(second)
		synctest.Wait()
		if got := bubble.Since(before); got != nil {
			t.Errorf("all have ended, but there are %q", got)
		}
	}) {
		t.Error("the bubble has not ended")
	}
}

func TestRunReportsGoroutinesThatCannotEnd(t *testing.T) {
	if bubble.Run(t, func(*testing.T) { start(make(chan int)) }) {
		t.Error("the bubble is reported as ended while a goroutine runs")
	}
}

// A goroutine that waits for a channel of another bubble stops the time of its own.
func TestRunUntilReportsGoroutinesThatStopTime(t *testing.T) {
	expired, outside := make(chan time.Time, 1), make(chan int)
	ended, stacks, locked := bubble.RunUntil(t, expired, func(*testing.T) {
		go wait(make(chan int))
		expired <- time.Time{}
		wait(outside)
	})
	close(outside)
	if ended || locked || !strings.Contains(stacks, "bubble_test.wait(") || strings.Contains(stacks, "(durable)") {
		t.Errorf("got ended %t and the stacks:\n%s\nwant the goroutine that waits outside of the bubble", ended, stacks)
	}
}

// poll waits with short sleeps.
func poll(end *atomic.Bool) {
	for !end.Load() {
		time.Sleep(time.Millisecond) //nolint:forbidigo // virtual: it is a bubble's
	}
}

func TestRunUntilReportsGoroutinesThatPoll(t *testing.T) {
	expired := make(chan time.Time, 1)
	var end atomic.Bool
	ended, stacks, locked := bubble.RunUntil(t, expired, func(*testing.T) {
		expired <- time.Time{}
		poll(&end)
	})
	end.Store(true)
	if ended || locked || !strings.Contains(stacks, "bubble_test.") {
		t.Errorf("got ended %t and the stacks:\n%s\nwant the goroutine that polls", ended, stacks)
	}
}

// A goroutine that sleeps with a locked mutex for which another one waits never wakes up.
func TestRunUntilReportsLockedMutexes(t *testing.T) {
	for name, lock := range map[string]func(m *sync.RWMutex){"Lock": (*sync.RWMutex).Lock, "RLock": (*sync.RWMutex).RLock} {
		ended, stacks, locked := bubble.RunUntil(t, nil, func(t *testing.T) {
			var m sync.RWMutex
			m.Lock()
			go func() { lock(&m) }()
			sleep(t)
			m.Unlock()
		})
		if ended || !locked || strings.Count(stacks, "goroutine ") != 2 || !strings.Contains(stacks, "."+name+"(") { // with "created by"
			t.Errorf("%s: got ended %t, locked %t and the stacks:\n%s\nwant the goroutine that waits for the mutex", name, ended, locked, stacks)
		}
	}
}

func TestRunUntilEnds(t *testing.T) {
	if ended, stacks, locked := bubble.RunUntil(t, nil, sleep); !ended || stacks != "" || locked {
		t.Errorf("got ended %t and the stacks:\n%s\nwant a run that has ended", ended, stacks)
	}
}

func sleep(*testing.T) { time.Sleep(time.Hour) } //nolint:forbidigo // virtual: it is a bubble's
