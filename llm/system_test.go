package llm_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
)

func TestSystemText(t *testing.T) {
	for _, c := range []struct {
		system llm.System
		want   string
	}{
		{nil, ""},
		{llm.SystemText(""), ""},
		{llm.SystemText(" a\n"), " a\n"},
		{llm.System{{Text: "a", CacheMark: true}}, "a"},
		{llm.System{{Text: "a", CacheMark: true}, {Text: "b"}, {Text: "c", CacheMark: true}}, "a\n\nb\n\nc"},
		{llm.System{{}, {Text: "a"}, {CacheMark: true}, {Text: "\n"}}, "a\n\n\n"},
	} {
		if diff := cmp.Diff(c.want, c.system.Text()); diff != "" {
			t.Errorf("text of %+v (-want +got):\n%s", c.system, diff)
		}
	}
	if got := llm.SystemText(""); got != nil {
		t.Errorf("SystemText(\"\") = %+v, want nil", got)
	}
}
