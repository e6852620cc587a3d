package loop

import (
	"encoding/json"
	"testing"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
)

func TestSameMessage(t *testing.T) {
	parts := []llm.Part{llm.Text{Text: "a"}, llm.Text{Text: "b"}}
	full := llm.Message{Role: llm.RoleUser, Parts: parts}
	for _, c := range []struct {
		name string
		a, b llm.Message
		want bool
	}{
		{"itself", full, full, true},
		{"a copy", full, llm.Message{Role: llm.RoleUser, Parts: []llm.Part{llm.Text{Text: "a"}, llm.Text{Text: "b"}}}, true},
		{"its beginning", full, llm.Message{Role: llm.RoleUser, Parts: parts[:1]}, false},
		{"another role", full, llm.Message{Role: llm.RoleAssistant, Parts: parts}, false},
		{"other data", full, llm.Message{Role: llm.RoleUser, Parts: parts, Opaque: json.RawMessage(`1`)}, false},
		{"another text", full, llm.Message{Role: llm.RoleUser, Parts: []llm.Part{llm.Text{Text: "a"}, llm.Text{Text: "c"}}}, false},
		{"none and none", llm.Message{Role: llm.RoleUser}, llm.Message{Role: llm.RoleUser}, true},
		{"none of another role", llm.Message{Role: llm.RoleUser}, llm.Message{Role: llm.RoleTool}, false},
	} {
		if got := sameMessage(&c.a, &c.b); got != c.want {
			t.Errorf("%s: got %v", c.name, got)
		}
	}
}

func TestCommonPrefix(t *testing.T) {
	a := []llm.Message{llm.User("1"), llm.User("2"), llm.User("3")}
	copied := append([]llm.Message(nil), a...)
	other := []llm.Message{llm.User("1"), llm.User("x"), llm.User("3")}
	for _, c := range []struct {
		name string
		b    []llm.Message
		want int
	}{
		{"the same array", a, 3}, {"its beginning", a[:2], 2}, {"a copy", copied, 3}, {"a copy's beginning", copied[:1], 1},
		{"nothing", nil, 0}, {"another second", other, 1}, {"without the first", a[1:], 0},
	} {
		if got := commonPrefix(a, c.b); got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
	}
}

// Whatever stands outside the messages makes another setup, alone.
func TestSameSetup(t *testing.T) {
	two := 2.0
	base := func() trace.ModelConfig {
		return trace.ModelConfig{Model: "m", System: "s", Tools: []llm.Tool{{Name: "a"}, {Name: "b"}}}
	}
	one := base()
	for name, change := range map[string]func(*trace.ModelConfig){
		"model":           func(s *trace.ModelConfig) { s.Model = "n" },
		"system":          func(s *trace.ModelConfig) { s.System = "t" },
		"another tool":    func(s *trace.ModelConfig) { s.Tools = []llm.Tool{{Name: "a"}, {Name: "c"}} },
		"fewer tools":     func(s *trace.ModelConfig) { s.Tools = s.Tools[:1] },
		"no tools":        func(s *trace.ModelConfig) { s.Tools = nil },
		"choice":          func(s *trace.ModelConfig) { s.ToolChoice.Mode = llm.ChooseNone },
		"settings":        func(s *trace.ModelConfig) { s.Settings.Temperature = &two },
		"something extra": func(s *trace.ModelConfig) { s.Extra = map[string]json.RawMessage{"k": json.RawMessage(`1`)} },
	} {
		same := one
		if !sameSetup(&same, &one) {
			t.Errorf("%s: a copy is another setup", name)
		}
		other := one
		change(&other)
		if sameSetup(&other, &one) || sameSetup(&one, &other) {
			t.Errorf("%s: it makes no difference", name)
		}
		if name == "something extra" {
			more := other
			more.Extra = map[string]json.RawMessage{"k": json.RawMessage(`2`)}
			if sameSetup(&more, &other) {
				t.Error("another value of what is extra makes no difference")
			}
		}
	}
	equal := base()
	if !sameSetup(&equal, &one) {
		t.Error("equal tools elsewhere in memory are another setup")
	}
}

// The setup of a run's requests is found to be the same without being written,
// and each of the settings makes another.
func TestSameSettings(t *testing.T) {
	one, two, yes, no := 1.0, 2.0, true, false
	seed, other := int64(1), int64(2)
	full := llm.Settings{
		MaxTokens: 1, Temperature: &one, TopP: &one, Seed: &seed, StopSequences: []string{"a", "b"}, ParallelToolCalls: &yes,
		ReasoningEffort: "low", OutputSchema: json.RawMessage(`{}`),
	}
	a := trace.ModelConfig{Model: "m", System: "s", Tools: []llm.Tool{{Name: "a"}}, Settings: full}
	b := a
	if n := testing.AllocsPerRun(10, func() {
		if !sameSetup(&a, &b) {
			t.Error("a copy is another setup")
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
		if sameSetup(&a, &b) {
			t.Errorf("%s: it makes no difference", name)
		}
	}
}
