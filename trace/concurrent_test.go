package trace_test

import (
	"bytes"
	"sync"
	"testing"
)

// Several sinks may encode the same event. The race detector shows writes to it.
func TestAppendJSONConcurrently(t *testing.T) {
	evs := sample(3)
	var want [][]byte
	for i := range evs {
		want = append(want, evs[i].AppendJSON(nil))
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range evs {
				if got := evs[i].AppendJSON(nil); !bytes.Equal(got, want[i]) {
					t.Errorf("got %s, want %s", got, want[i])
				}
			}
		})
	}
	wg.Wait()
}
