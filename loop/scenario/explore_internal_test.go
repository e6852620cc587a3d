package scenario

import (
	"fmt"
	"slices"
	"testing"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
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

// TestSentRequestChanged: a request that is changed after it was sent is reported, and one that continues another is not.
func TestSentRequestChanged(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(first, second *llm.Request)
		want   string
	}{
		"nothing":                    {func(_, _ *llm.Request) {}, ""},
		"the messages of the first":  {func(first, _ *llm.Request) { first.Messages = nil }, "INV-06: request 1 was changed after it was sent"},
		"a part that both have":      {func(first, _ *llm.Request) { first.Messages[0].Parts[0] = llm.Text{Text: "other"} }, "INV-06: request 1 was changed after it was sent"},
		"the new one of the second":  {func(_, second *llm.Request) { second.Messages[1].Parts[0] = llm.Text{Text: "other"} }, "INV-06: request 2 was changed after it was sent"},
		"fewer messages than before": {func(_, second *llm.Request) { second.Messages = second.Messages[:0] }, "INV-06: request 2 was changed after it was sent"},
	} {
		x := &exploration{world: fake.NewWorld(&fake.Script{}), ctx: t.Context(), maxCalls: 10}
		first := &llm.Request{Messages: []llm.Message{llm.User("go")}}
		second := &llm.Request{Messages: append(slices.Clone(first.Messages), llm.Assistant(llm.Text{Text: "yes"}))}
		x.Stream(t.Context(), first)
		x.Stream(t.Context(), second)
		tt.change(first, second)
		got := ""
		x.checkSent(func(invariant, format string, args ...any) { got = invariant + ": " + fmt.Sprintf(format, args...) })
		if got != tt.want {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}

// TestEndlessRun ends the goroutine of a loop that calls the model again and again although the run is canceled.
func TestEndlessRun(t *testing.T) {
	x := &exploration{world: fake.NewWorld(&fake.Script{}), maxCalls: 10}
	defer x.world.Close()
	x.ctx, _ = x.world.Begin(scripted{})
	x.world.Go(func() {
		for {
			_, _ = llm.Collect(x.Stream(x.ctx, &llm.Request{}))
		}
	})
	if got := len(x.sent); got != 21 || x.ctx.Err() == nil {
		t.Errorf("the loop made %d calls, and the context of the run has the error %v; want 21 calls, and that it has ended", got, x.ctx.Err())
	}
}

// scripted chooses what the script says.
type scripted struct{}

func (scripted) Order(string, string, []string) int  { return 0 }
func (scripted) Switch(string, string, []string) int { return 0 }
func (scripted) Fault(string, string, []string) int  { return 0 }
