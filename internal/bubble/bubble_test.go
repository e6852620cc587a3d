package bubble_test

import (
	"testing"
	"testing/synctest"

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
