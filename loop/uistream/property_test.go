package uistream_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/uistream"
	"github.com/looptape/looptape/trace"
)

// drawTurn draws a response with arbitrary faults.
func drawTurn(t *rapid.T, n int) fake.Response {
	turn := fake.Response{
		Text:         rapid.SampledFrom([]string{"", "a", "some text"}).Draw(t, "text"),
		Reasoning:    rapid.SampledFrom([]string{"", "hm"}).Draw(t, "reasoning"),
		ChunkSize:    rapid.IntRange(0, 3).Draw(t, "chunk"),
		FinishReason: rapid.SampledFrom([]llm.FinishReason{"", llm.FinishStop, llm.FinishLength}).Draw(t, "finish"),
	}
	for i := range rapid.IntRange(0, 3).Draw(t, "calls") {
		turn.Calls = append(turn.Calls, fake.Call{
			ID:        fmt.Sprintf("c%d-%d", n, i),
			Name:      rapid.SampledFrom([]string{"ok", "bad", "ghost", "client"}).Draw(t, "tool"),
			Arguments: rapid.SampledFrom([]string{"{}", `{"n":1}`, `{"n":`, "x", ""}).Draw(t, "args"),
		})
	}
	if rapid.IntRange(0, 9).Draw(t, "fails") == 0 {
		turn.Error = &fake.Failure{Status: 500, Message: "boom"}
	}
	return turn
}

// For any behavior of models and tools, and any point of cancellation or truncation, the
// stream is valid and deterministic.
func TestPartsProperties(t *testing.T) {
	bad := loop.Tool{Name: "bad", Run: func(context.Context, loop.Call) (loop.Output, error) { panic("oh") }}
	ok := loop.Tool{Name: "ok", Run: func(context.Context, loop.Call) (loop.Output, error) { return loop.TextOutput("fine"), nil }}
	rapid.Check(t, func(t *rapid.T) {
		var turns []fake.Response
		for n := range rapid.IntRange(1, 4).Draw(t, "turns") {
			turns = append(turns, drawTurn(t, n))
		}
		cfg := loop.Config{
			Tools: []loop.Tool{ok, bad, {Name: "client"}}, MaxSteps: len(turns), OnStepLimit: rapid.SampledFrom([]loop.OnStepLimit{loop.StepLimitReturn, loop.StepLimitForceFinal, loop.StepLimitError}).Draw(t, "cap"),
			ClientCalls: rapid.SampledFrom([]loop.ClientCalls{loop.ClientBreak, loop.ClientRest}).Draw(t, "client calls"),
		}
		turns = append(turns, fake.Response{Text: "forced", Calls: drawTurn(t, 9).Calls})
		cancelAt, cutAt := rapid.IntRange(0, 60).Draw(t, "cancel"), rapid.IntRange(0, 120).Draw(t, "cut")
		tell := func() (lines []string, r reader) {
			cfg.Clock = fake.NewClock()
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			agent, err := loop.New(fake.NewModel(turns...), &cfg)
			if err != nil {
				t.Fatal(err)
			}
			n, cut := 0, false
			events := func(yield func(trace.Event, error) bool) {
				for ev, err := range agent.Start(ctx, loop.Prompt("go")).Events() {
					if n++; n == cancelAt {
						cancel()
					}
					if cut = n == cutAt; cut || !yield(ev, err) {
						return
					}
				}
			}
			for p := range uistream.Parts(events, uistream.Options{}) {
				r.read(p)
				b, err := p.MarshalJSON()
				if err != nil {
					t.Fatal(err)
				}
				lines = append(lines, string(b))
			}
			if want := map[bool]int{false: 1, true: 0}[cut]; r.ends != want {
				r.problems = append(r.problems, fmt.Sprintf("%d ends, want %d", r.ends, want))
			}
			return lines, r
		}
		lines, r := tell()
		if r.problems != nil {
			t.Fatalf("%s\n%s", strings.Join(r.problems, "\n"), strings.Join(lines, "\n"))
		}
		if again, _ := tell(); !slices.Equal(lines, again) {
			t.Fatalf("first:\n%s\nthen:\n%s", strings.Join(lines, "\n"), strings.Join(again, "\n"))
		}
	})
}
