package explore

import (
	"fmt"
	"strings"
)

// Summary is a line about what was explored, and for random runs another one about what they guarantee.
func (r *Result) Summary() string {
	limits := fmt.Sprintf("with at most %s and %s", count(r.Bounds.Faults, "fault"), count(r.Bounds.Preemptions, "preemption"))
	what, more := "not all runs "+limits, ""
	switch g := r.Random; {
	case g != nil && g.Points == 0:
		what, more = "random runs "+limits, "\n  the run without a fault has only one order"
	case g != nil:
		what = "random runs " + limits
		more = fmt.Sprintf("\n  of %s and %s, a run shows a fault that needs %s in one order\n  with a probability of at least %.2g, and %s with 99.9 %%",
			count(g.Tasks, "task"), count(g.Points, "point"), count(g.Depth, "event"), g.Chance(), count(g.Runs(.999), "run"))
	case r.Complete:
		what = "all of " + count(r.Orders, "order")
		if r.Interleavings > 0 {
			what += fmt.Sprintf(" (of %s)", count(r.Interleavings, "interleaving"))
		}
		what += ", " + limits
	}
	return fmt.Sprintf("%s, %d different: %s; set %s%s", count(r.Runs, "run"), r.Traces, what, r.Hash, more)
}

func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// Source returns choices as Go source.
func Source(list []Choice) string {
	if len(list) == 0 {
		return "[]explore.Choice{}"
	}
	var b strings.Builder
	b.WriteString("[]explore.Choice{\n")
	for _, c := range list {
		fmt.Fprintf(&b, "\t{At: %q, Option: %q},\n", c.At, c.Option)
	}
	return b.String() + "}"
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
	switch {
	case f.Shown < f.Repeated:
		fmt.Fprintf(&b, "unstable: %d of %s with these choices showed it; the last one that did:\n%s", f.Shown, count(f.Repeated, "run"), f.Text)
	case f.Flipped != nil:
		fmt.Fprintf(&b, "without %q the run passes; the failing run (-) and the passing one (+):\n%s", f.Flipped, f.Diff())
	default:
		b.WriteString(f.Text)
	}
	return b.String()
}
