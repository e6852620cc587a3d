package preset_test

import (
	"iter"
	"slices"
	"testing"

	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/preset"
	"github.com/looptape/looptape/loop/preset/deuz"
	"github.com/looptape/looptape/trace"
)

func TestApply(t *testing.T) {
	cfg, err := preset.Apply("deuz", loop.Config{Concurrency: 2})
	if err != nil || cfg.MaxSteps != 1 || cfg.Concurrency != 2 || cfg.Preset != "deuz" {
		t.Errorf("got %+v, %v", cfg, err)
	}
	if cfg := deuz.Fill(loop.Config{MaxSteps: 7}); cfg.MaxSteps != 7 {
		t.Errorf("MaxSteps 7 became %d", cfg.MaxSteps)
	}
	if _, err := preset.Apply("duez", loop.Config{}); err == nil || err.Error() != `preset: unknown preset "duez": want one of deuz, agentier, deepagents, agentloop, reactagent` {
		t.Errorf("got error %v", err)
	}
	if got := preset.Names(); !slices.Equal(got, []string{"deuz", "agentier", "deepagents", "agentloop", "reactagent"}) {
		t.Errorf("got %q", got)
	}
}

func seq(bodies ...trace.Body) iter.Seq2[trace.Event, error] {
	return func(yield func(trace.Event, error) bool) {
		for i, b := range bodies {
			if !yield(trace.Event{Seq: i, Body: b}, nil) {
				return
			}
		}
	}
}

// No part follows after the caller has stopped the iteration.
func TestPresetPartsStopEarly(t *testing.T) {
	p, err := preset.Lookup("deuz")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for range p.Parts(seq(trace.StepStart{}, trace.StepStart{})) {
		n++
		break
	}
	if n != 1 {
		t.Errorf("got %d parts, want 1", n)
	}
}
