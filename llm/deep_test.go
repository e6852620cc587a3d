package llm_test

import (
	"strings"
	"testing"

	"github.com/looptape/looptape/llm"
)

// Results within results are read and written wherever their type occurs, to a
// depth of 100, and other nested values to any depth.
func TestDeepParts(t *testing.T) {
	const tooDeep = "llm: tool results are nested in each other more than 100 deep at content[0].content[0]."
	for _, c := range []struct {
		name, level, tail string
		depth             int
		ok                bool
	}{
		{"type first", `{"type":"tool_result","content":[`, `]}`, 100, true},
		{"type first, too deep", `{"type":"tool_result","content":[`, `]}`, 101, false},
		{"type last", `{"content":[`, `],"type":"tool_result"}`, 100, true},
		{"type last, too deep", `{"content":[`, `],"type":"tool_result"}`, 101, false},
		{"side by side", `{"type":"tool_result","content":[{"type":"tool_result","content":[]},`, `]}`, 99, true},
		{"no type", `{"x":[`, `]}`, 1000, true},
		{"parts of events", `{"part":[`, `]}`, 1000, true},
	} {
		inner := `{"type":"text","text":"x"}`
		text := strings.Repeat(c.level, c.depth) + inner + strings.Repeat(c.tail, c.depth)
		part, err := llm.UnmarshalPart([]byte(text))
		if !c.ok {
			if err == nil || !strings.HasPrefix(err.Error(), tooDeep) {
				t.Errorf("%s: got %v, want %s…", c.name, err, tooDeep)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		again, err := llm.UnmarshalPart(llm.AppendPart(nil, part))
		if err != nil || string(llm.AppendPart(nil, again)) != string(llm.AppendPart(nil, part)) {
			t.Errorf("%s: not read back: %v", c.name, err)
		}
	}
}
