package report

import (
	"strings"
	"testing"
)

func TestShortItems(t *testing.T) {
	long := strings.Repeat("x", 170)
	for name, c := range map[string][2]string{
		"short":               {"a; b", "a; b"},
		"one long item":       {`want "` + long + `; y", got "z"`, `want "` + long + `; y", got "z"`},
		"long first item":     {long + "; b; c", long + "; 2 more"},
		"between items":       {strings.Repeat("y", 80) + "; " + strings.Repeat("z", 79) + "; c", strings.Repeat("y", 80) + "; 2 more"},
		"fits":                {strings.Repeat("y", 80) + "; " + strings.Repeat("z", 75) + "; c; d", strings.Repeat("y", 80) + "; " + strings.Repeat("z", 75) + "; 2 more"},
		"within JSON":         {`missing a{"x; y": ["; "]}; ` + long, `missing a{"x; y": ["; "]}; 1 more`},
		"an escaped quote":    {`want "a\"; b"; ` + long, `want "a\"; b"; 1 more`},
		"a brace without end": {long + "}; b", long + "}; 1 more"},
		"not enough brackets": {"a[; " + long, "a[; " + long},
		"a very long item":    {strings.Repeat("é", 1001), strings.Repeat("é", 1000) + "…"},
	} {
		if got := shortItems(c[0]); got != c[1] {
			t.Errorf("%s: got  %s\nwant %s", name, got, c[1])
		}
	}
}
