package explore

import (
	"fmt"
	"strings"
)

// Summary is one line about what was explored.
func (r *Result) Summary() string {
	what := "all runs"
	if !r.Complete {
		what = "not all runs"
	}
	if g := r.Random; g != nil {
		return fmt.Sprintf("explored %d random runs with at most %d faults and %d preemptions: %d different; with %d tasks and %d points, a run finds a bug of depth %d with a probability of at least %.2g, and %d runs find it with 99.9 %%; set %s",
			r.Runs, r.Bounds.Faults, r.Bounds.Preemptions, r.Traces, g.Tasks, g.Points, g.Depth, g.Chance(), g.Runs(.999), r.Hash)
	}
	return fmt.Sprintf("explored %s with at most %d faults and %d preemptions: %d runs, %d of them different, %d without a fault; set %s",
		what, r.Bounds.Faults, r.Bounds.Preemptions, r.Runs, r.Traces, r.Orders, r.Hash)
}

// Error describes the failure for people.
func (f *Failure) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s\n", f.Violation, f.Hint)
	if len(f.Choices) == 0 {
		b.WriteString("in the run without a fault, in the order of the script\n")
	} else {
		b.WriteString("with these choices:\n")
		for _, c := range f.Choices {
			b.WriteString("  " + c.String() + "\n")
		}
	}
	if f.Flipped != nil {
		fmt.Fprintf(&b, "without %q the run passes; the failing run (-) and the passing one (+):\n%s", f.Flipped, f.Diff())
	} else {
		b.WriteString(f.Text)
	}
	return b.String()
}
