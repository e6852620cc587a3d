package scenario_test

import (
	"sync"
	"testing"

	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/explore"
	"github.com/looptape/looptape/loop/scenario"
)

func TestZY(t *testing.T) {
	start, err := scenario.Program(scriptN(1, 2), func(c *loop.Config) { c.Concurrency = -1 })
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	set := map[uint64]bool{}
	n := 0
	var deflt string
	wrap := func(show bool) func() explore.Program {
		return func() explore.Program {
			p := start()
			return func(c *explore.Choices) explore.Outcome {
				o := p(c)
				mu.Lock()
				defer mu.Unlock()
				if !set[o.Digest] {
					set[o.Digest] = true
					if len(set) == 1 { deflt = o.Text() }
					if show && n < 8 {
						n++
						t.Logf("OUTSIDE %s\n%s", explore.Labels(c), explore.LineDiff(deflt, o.Text()))
					}
				}
				return o
			}
		}
	}
	explore.Exhaust(wrap(false), explore.Bounds{Faults: 1})
	explore.Exhaust(wrap(true), explore.Bounds{Faults: 1, Preemptions: 100})
}
