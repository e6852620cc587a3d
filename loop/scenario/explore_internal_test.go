package scenario

import (
	"testing"

	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/check"
)

// TestExploredText: the text of a run has each violation after its event.
func TestExploredText(t *testing.T) {
	x := &exploration{events: []trace.Event{
		{Run: "r1", Seq: 0, Step: trace.NoStep, Body: trace.RunStart{}},
		{Run: "r1", Seq: 1, Step: 0, Body: trace.StepStart{}},
		{Run: "r2", Seq: 1, Step: 0, Body: trace.StepStart{}},
	}}
	found := []check.Violation{{Invariant: "INV-07", Run: "r1", Event: 1, Message: "lost\x1b[2J"}, {Invariant: "INV-26", Event: check.NoEvent, Message: "endless"}}
	const want = "run.start       r1\nstep.start      0\n^ INV-07: lost\x1b[2J\nstep.start      r2:0\n"
	if got := x.text(found); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
