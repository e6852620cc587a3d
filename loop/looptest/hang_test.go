package looptest_test

import (
	"slices"
	"testing"
	"time"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop/looptest"
	"github.com/looptape/looptape/trace/check"
)

// unfinished are the faults of the other loop with which no run does what the model says, with the
// invariant that each case reports. The cases in allowed may report nothing.
var unfinished = map[string]struct {
	invariant string
	allowed   []string
}{
	"no call":     {"INV-11", []string{"INV-17/cancel before the start"}},
	"fails":       {"INV-11", []string{"INV-17/cancel before the start"}},
	"one call":    {"INV-11", []string{"INV-17/cancel before the start", "INV-26/the model waits", "INV-24/an empty response"}},
	"exits":       {"INV-23", nil},
	"panics":      {"INV-23", nil},
	"sleeps":      {"INV-26", nil},
	"asks always": {"INV-26", nil},
}

// TestUnfinishedRuns checks that no case is passed by a loop that never does its work, and that each
// of these loops ends.
func TestUnfinishedRuns(t *testing.T) {
	for fault, want := range unfinished {
		t.Run(fault, func(t *testing.T) {
			missing := func(found []check.Violation, http bool) (names []string) {
				return slices.DeleteFunc(looptest.CaseNames(http), func(name string) bool {
					return slices.Contains(want.allowed, name) || slices.ContainsFunc(found, func(v check.Violation) bool {
						return v.Run == name && (v.Invariant == want.invariant || v.Invariant == "INV-23" && want.invariant == "INV-11")
					})
				})
			}
			if names := missing(looptest.Violations(t, &other{fault: fault}), false); len(names) > 0 {
				t.Errorf("Check: got no %s in the cases %q", want.invariant, names)
			}
			if names := missing(looptest.HTTPViolations(t, httpLoop("chat", llm.NonStreaming, fault)), true); len(names) > 0 {
				t.Errorf("HTTP: got no %s in the cases %q", want.invariant, names)
			}
		})
	}
}

func waitsOutside() *other {
	return &other{fault: "waits outside", expired: make(chan time.Time, 1), outside: make(chan struct{})}
}

// TestRealTimeLimit checks that a suite has a limit of real time if go test has one, for each case
// up to the first one that hangs.
func TestRealTimeLimit(t *testing.T) {
	if _, limited := t.Deadline(); looptest.HasRealTimeLimit(t) != limited {
		t.Errorf("the suite has a limit of real time: %t, want %t", !limited, limited)
	}
	if got, want := looptest.Restarts(t, &other{}), len(looptest.CaseNames(false)); got != want {
		t.Errorf("the limit restarts %d times, want once for each of the %d cases", got, want)
	}
	if got, want := looptest.Restarts(t, &other{fault: "stuck"}), slices.Index(looptest.CaseNames(false), "INV-12/both response modes"); got != want {
		t.Errorf("the limit restarts %d times, want one restart for each of the %d cases before the first that hangs", got, want)
	}
}
