package llm_test

import (
	"strings"
	"testing"

	"github.com/looptape/looptape/llm"
)

// Results within results are read and written, however deep and wherever their
// type stands.
func TestDeepParts(t *testing.T) {
	const depth = 1000
	for name, level := range map[string]string{
		"type first": `{"type":"tool_result","content":[`, "type last": `{"content":[`, "no type": `{"x":[`, "parts of events": `{"part":[`,
	} {
		tail := `]}`
		if name == "type last" {
			tail = `],"type":"tool_result"}`
		}
		text := strings.Repeat(level, depth) + strings.Repeat(tail, depth)
		part, err := llm.UnmarshalPart([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		again, err := llm.UnmarshalPart(llm.AppendPart(nil, part))
		if err != nil || string(llm.AppendPart(nil, again)) != string(llm.AppendPart(nil, part)) {
			t.Errorf("%s: not read back: %v", name, err)
		}
	}
}
