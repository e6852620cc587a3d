package agentloop_test

import (
	"testing"
	"time"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/preset/agentloop"
	"github.com/looptape/looptape/trace"
)

// Fill sets the zero fields to the defaults of the reference loop and keeps the caller's
// values.
func TestFill(t *testing.T) {
	for name, c := range map[string]struct {
		in                  loop.Config
		steps, width, stops int
		timeout             time.Duration
	}{
		"nothing": {loop.Config{}, 16, loop.Unlimited, loop.Disabled, 30 * time.Second},
		"his own": {loop.Config{MaxSteps: 1, Concurrency: 2, MaxConsecutiveToolErrors: 3, ToolTimeout: time.Second}, 1, 2, 3, time.Second},
		"none":    {loop.Config{MaxSteps: -1, ToolTimeout: -1}, 16, loop.Unlimited, loop.Disabled, 0},
	} {
		got := agentloop.Fill(c.in)
		if got.Preset != "agentloop" || got.BadArguments != loop.BadArgumentsEmpty {
			t.Errorf("%s: got the preset %q, bad arguments %q", name, got.Preset, got.BadArguments)
		}
		c.in.BadArguments = loop.BadArgumentsPass
		if got := agentloop.Fill(c.in); got.BadArguments != loop.BadArgumentsPass {
			t.Errorf("%s: bad arguments are not passed to the tool but %q", name, got.BadArguments)
		}
		if got.MaxSteps != c.steps || got.Concurrency != c.width || got.MaxConsecutiveToolErrors != c.stops || got.ToolTimeout != c.timeout {
			t.Errorf("%s: got %d steps, %d concurrent tools, %d errors, %v", name, got.MaxSteps, got.Concurrency, got.MaxConsecutiveToolErrors, got.ToolTimeout)
		}
	}
}

// A sink receives the deltas of a response.
func TestSinkHasDeltas(t *testing.T) {
	w := newWorld(t, fake.Response{Text: "x"}).agent(agentloop.Config{})
	if _, err := w.Complete(t.Context(), agentloop.Input{Text: "go"}, nil); err != nil {
		t.Fatal(err)
	}
	for _, ev := range w.trace {
		if d, ok := ev.Body.(trace.ModelDelta); ok && d.Text == "x" {
			return
		}
	}
	t.Errorf("no delta in %d events", len(w.trace))
}
