package redact

import (
	"strings"
	"testing"
)

// The table has keys of at least 120 vendors, each with its page, and no prefix twice.
func TestShapeRows(t *testing.T) {
	vendors, prefixes := map[string]bool{}, map[string]bool{}
	for _, r := range shapeRows {
		vendors[r.vendor] = true
		if !strings.HasPrefix(r.page, "https://") || r.min < 10 || r.max > 0 && r.max < r.min {
			t.Errorf("%+v: want a page, and at least 10 characters", r)
		}
		for _, prefix := range r.prefixes {
			if prefixes[prefix] || len(prefix) < 2 || !alnum[prefix[0]] {
				t.Errorf("the prefix %q is a duplicate, too short, or does not begin with a letter or digit", prefix)
			}
			prefixes[prefix] = true
		}
	}
	if len(vendors) < 120 {
		t.Errorf("%d vendors, want at least 120", len(vendors))
	}
	t.Logf("%d vendors, %d rows, %d prefixes", len(vendors), len(shapeRows), len(prefixes))
}
