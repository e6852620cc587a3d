package looptest_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/looptape/looptape/loop/looptest"
)

func TestMain(m *testing.M) {
	// The faults "watcher" and "stuck" leave these behind for good.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/looptape/looptape/loop/looptest_test.watch"))
}

func TestAnotherLoop(t *testing.T) { looptest.Check(t, &other{}) }

// faults names the invariant that each fault of the other loop breaks, and what
// it does.
var faults = []struct{ id, fault string }{
	{"INV-01", "drops"}, {"INV-01", "mixes"},
	{"INV-02", "reminds"},
	{"INV-03", "finished"},
	{"INV-04", "ids"},
	{"INV-05", "trims"},
	{"INV-06", "scratch"}, {"INV-06", "array"}, {"INV-06", "cache"}, {"INV-06", "request"},
	{"INV-07", "unanswered"},
	{"INV-08", "twice"}, {"INV-08", "guesses"},
	{"INV-09", "encodes"}, {"INV-09", "{} instead"},
	{"INV-11", "finish stop"}, {"INV-11", "finish calls"},
	{"INV-12", "buffered"},
	{"INV-16", "no wait"}, {"INV-16", "watcher"},
	{"INV-17", "starts on"}, {"INV-17", "asks on"},
	{"INV-18", "last usage"},
	{"INV-22", "unsigned"},
	{"INV-23", "unmarked"}, {"INV-23", "escapes"}, {"INV-23", "panics"},
	{"INV-24", "empty"},
	{"INV-26", "deaf model"}, {"INV-26", "deaf tool"}, {"INV-26", "stuck"},
	{"INV-27", "counter"},
}

// Each fault is reported as the invariant that it breaks and as no other.
func TestFaults(t *testing.T) {
	for _, f := range faults {
		t.Run(f.id+"/"+f.fault, func(t *testing.T) {
			found := looptest.Violations(t, &other{fault: f.fault})
			if len(found) == 0 {
				t.Errorf("nothing was reported, want %s", f.id)
			}
			for _, v := range found {
				if v.Invariant != f.id || v.Hint == "" || v.Run == "" {
					t.Errorf("got %s in %q, want %s:\n%s", v.Invariant, v.Run, f.id, v.Message)
				}
			}
		})
	}
}
