package scenario_test

import (
	"sync"
	"testing"
	"time"

	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/explore"
	"github.com/looptape/looptape/loop/scenario"
)

func TestZY(t *testing.T) {
	for _, x := range []struct {
		steps, calls, limit int
		grace               time.Duration
	}{{1, 2, -1, 0}, {2, 2, -1, 0}, {1, 2, -1, time.Second}, {1, 3, 2, 0}, {1, 3, -1, 0}, {1, 3, 2, time.Second}} {
		start, err := scenario.Program(scriptN(x.steps, x.calls), func(c *loop.Config) { c.Concurrency, c.Grace = x.limit, x.grace })
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
				return explore.ProgramFunc(func(c *explore.Choices) explore.Outcome {
					o := p.Run(c)
					mu.Lock()
					defer mu.Unlock()
					if !set[o.Digest] {
						set[o.Digest] = true
						if len(set) == 1 {
							deflt = o.Text()
						}
						if show && n < 3 {
							n++
							t.Logf("OUTSIDE %s\n%s", explore.Labels(c), explore.LineDiff(deflt, o.Text()))
						}
					}
					return o
				})
			}
		}
		r := explore.Exhaust(wrap(false), explore.Bounds{Faults: 1})
		was := len(set)
		p := 100
		if x.calls == 3 || x.steps == 2 {
			p = 2
		}
		q := explore.Exhaust(wrap(true), explore.Bounds{Faults: 1, Preemptions: p})
		t.Logf("%+v reduced %d runs %d traces, all %d runs %d traces; outside %d; failures %d %d; %v", x, r.Runs, r.Traces, q.Runs, q.Traces, len(set)-was, len(r.Failures), len(q.Failures), r.Unstable)
		for _, f := range r.Failures {
			t.Log(f.Violation, f.Choices)
		}
	}
}
