package cli

import (
	"strings"
	"testing"
)

func TestBar(t *testing.T) {
	full := "[" + strings.Repeat("#", barWidth) + "] 100 %"
	for _, c := range []struct {
		done, size int64
		want       string
	}{
		{0, 10, "[" + strings.Repeat(".", barWidth) + "]   0 %"},
		{10, 10, full},
		{11, 10, full}, // the file has grown
		{5, 0, full},   // a pipe
	} {
		if got := bar(c.done, c.size); got != c.want {
			t.Errorf("bar(%d, %d) = %q, want %q", c.done, c.size, got, c.want)
		}
	}
}
