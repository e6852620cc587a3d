package loop

import (
	"encoding/json"
	"testing"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
)

// Each field of a request except its messages is part of its config.
func TestEqualConfig(t *testing.T) {
	two := 2.0
	base := func() trace.ModelConfig {
		return trace.ModelConfig{Model: "m", System: llm.SystemText("s"), Tools: []llm.Tool{{Name: "a"}, {Name: "b"}}}
	}
	one := base()
	for name, change := range map[string]func(*trace.ModelConfig){
		"model":           func(s *trace.ModelConfig) { s.Model = "n" },
		"system":          func(s *trace.ModelConfig) { s.System = llm.SystemText("t") },
		"a cache mark":    func(s *trace.ModelConfig) { s.System = llm.System{{Text: "s", CacheMark: true}} },
		"parts":           func(s *trace.ModelConfig) { s.System = append(s.System[:1:1], llm.SystemPart{Text: "t"}) },
		"another tool":    func(s *trace.ModelConfig) { s.Tools = []llm.Tool{{Name: "a"}, {Name: "c"}} },
		"fewer tools":     func(s *trace.ModelConfig) { s.Tools = s.Tools[:1] },
		"no tools":        func(s *trace.ModelConfig) { s.Tools = nil },
		"choice":          func(s *trace.ModelConfig) { s.ToolChoice.Mode = llm.ChooseNone },
		"settings":        func(s *trace.ModelConfig) { s.Settings.Temperature = &two },
		"something extra": func(s *trace.ModelConfig) { s.Extra = map[string]json.RawMessage{"k": json.RawMessage(`1`)} },
	} {
		same := one
		if !equalConfig(&same, &one) {
			t.Errorf("%s: a copy is another config", name)
		}
		other := one
		change(&other)
		if equalConfig(&other, &one) || equalConfig(&one, &other) {
			t.Errorf("%s: it makes no difference", name)
		}
		if name == "something extra" {
			more := other
			more.Extra = map[string]json.RawMessage{"k": json.RawMessage(`2`)}
			if equalConfig(&more, &other) {
				t.Error("another value of what is extra makes no difference")
			}
		}
	}
	equal := base()
	if !equalConfig(&equal, &one) {
		t.Error("equal tools elsewhere in memory are another config")
	}
}

// The configurations of a run's requests are compared without encoding. Each setting makes a
// difference.
func TestEqualSettings(t *testing.T) {
	one, two, yes, no := 1.0, 2.0, true, false
	seed, other := int64(1), int64(2)
	full := llm.Settings{
		MaxTokens: 1, Temperature: &one, TopP: &one, Seed: &seed, StopSequences: []string{"a", "b"}, ParallelToolCalls: &yes,
		ReasoningEffort: "low", OutputSchema: json.RawMessage(`{}`),
	}
	a := trace.ModelConfig{Model: "m", System: llm.SystemText("s"), Tools: []llm.Tool{{Name: "a"}}, Settings: full}
	b := a
	if n := testing.AllocsPerRun(10, func() {
		if !equalConfig(&a, &b) {
			t.Error("a copy is another config")
		}
	}); n != 0 {
		t.Errorf("comparing equal setups took %v allocations", n)
	}
	for name, change := range map[string]func(*llm.Settings){
		"max tokens":  func(s *llm.Settings) { s.MaxTokens = 2 },
		"temperature": func(s *llm.Settings) { s.Temperature = &two },
		"top p":       func(s *llm.Settings) { s.TopP = &two },
		"seed":        func(s *llm.Settings) { s.Seed = &other },
		"stop":        func(s *llm.Settings) { s.StopSequences = s.StopSequences[:1] },
		"parallel":    func(s *llm.Settings) { s.ParallelToolCalls = &no },
		"reasoning":   func(s *llm.Settings) { s.ReasoningEffort = "high" },
		"schema":      func(s *llm.Settings) { s.OutputSchema = json.RawMessage(`{"type":"object"}`) },
	} {
		b := a
		change(&b.Settings)
		if equalConfig(&a, &b) {
			t.Errorf("%s: it makes no difference", name)
		}
	}
}
