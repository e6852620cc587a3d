package suggest_test

import (
	"fmt"
	"testing"

	"github.com/looptape/looptape/internal/suggest"
)

func TestHint(t *testing.T) {
	known := []string{"input", "output", "at"}
	for _, c := range []struct {
		word  string
		known []string
		want  string
	}{
		{"inputt", known, "input"},
		{"inpt", known, "input"},
		{"tupni", known, ""},
		{"inzzt", known, "input"},
		{"izzzt", known, ""},
		{"outpt", known, "output"},
		{"", known, ""},
		{"a", known, "at"},
		{"t", known, "at"},
		{"xy", known, ""},
		{"put", known, "input"},
		{"ATT", known, ""},
		{"a", []string{"ab", "ac"}, "ab"}, // the first of equally similar words
		{"ac", []string{"ab", "ac"}, "ac"},
	} {
		want := ""
		if c.want != "" {
			want = fmt.Sprintf("did you mean %q? ", c.want)
		}
		if got := suggest.Hint(c.word, c.known); got != want {
			t.Errorf("Hint(%q, %q) = %q, want %q", c.word, c.known, got, want)
		}
	}
}
