package looptest

import (
	"testing"

	"github.com/looptape/looptape/loop/explore"
)

// Fuzz is [Explore] as a fuzz test: each input is the choices of a run, and the coverage of the loop guides which inputs
// go test -fuzz makes. Use it where all runs are too many, such as with three faults in a run. It fails for the first
// invariant that a run violates, with the fewest choices that violate it.
//
//	func FuzzLoop(f *testing.F) { looptest.Fuzz(f, loop, &looptest.ExploreOptions{Faults: 3}) }
func Fuzz(f *testing.F, loop Loop, opts *ExploreOptions) {
	f.Helper()
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		x := newExploration(t, loop, opts)
		program := x.program()
		o, choices := explore.Draw(program, data, opts.bounds())
		x.accepted.log(t)
		if len(o.Violations) == 0 {
			return
		}
		failure, err := explore.Explain(program, o.Violations[0], choices)
		if err != nil {
			t.Fatalf("the loop is not deterministic: %v", err)
		}
		t.Errorf("%s\n%s", failure, x.repeatTest(failure))
	})
}
