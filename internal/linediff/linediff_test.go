package linediff_test

import (
	"testing"

	"github.com/looptape/looptape/internal/linediff"
)

func TestLines(t *testing.T) {
	for _, tt := range []struct {
		a, b, want string
		at         int
	}{
		{"a\nb\n", "a\nb\n", "", 0},
		{"", "a\n", "+ a\n", 1},
		{"a\n", "", "- a\n", 1},
		{"a", "a\n", "- a\n+ a\n", 1},
		{"1\n2\n3\n4\nx\n5\n", "1\n2\n3\n4\ny\nz\n5\n", "  3\n  4\n- x\n+ y\n+ z\n", 5},
		{"1\n2\n2\n3\n", "1\n2\n3\n", "  1\n  2\n- 2\n", 3},
	} {
		if got, at := linediff.Lines(tt.a, tt.b); got != tt.want || at != tt.at {
			t.Errorf("%q, %q: got %q from line %d, want %q from line %d", tt.a, tt.b, got, at, tt.want, tt.at)
		}
	}
}
