package conversation

import (
	"encoding/json"
	"testing"

	"github.com/looptape/looptape/llm"
)

func TestEqualMessage(t *testing.T) {
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
		if got := equalMessage(&c.a, &c.b); got != c.want {
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
		if got := CommonPrefix(a, c.b); got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
	}
}
