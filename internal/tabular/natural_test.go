package tabular_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/looptape/looptape/internal/tabular"
)

func TestNatural(t *testing.T) {
	want := []string{"", "1", "2", "02", "10", "case 2", "case 10", "case 10b", "case b", "t1-9", "t1-10", "t2-1", "é"}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, tabular.Natural)
	slices.SortFunc(want[2:4], tabular.Natural) // by their text
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("sorted (-want +got):\n%s", diff)
	}
}

// Natural is an order: different names are never equal, and neither their direction nor a third
// name matters.
func TestNaturalIsAnOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringOfN(rapid.RuneFrom([]rune("a0129- ")), 0, 6, -1)
		a, b, c := name.Draw(t, "a"), name.Draw(t, "b"), name.Draw(t, "c")
		if (tabular.Natural(a, b) == 0) != (a == b) || tabular.Natural(a, b) != -tabular.Natural(b, a) {
			t.Errorf("%q and %q: %d and %d", a, b, tabular.Natural(a, b), tabular.Natural(b, a))
		}
		if tabular.Natural(a, b) < 0 && tabular.Natural(b, c) < 0 && tabular.Natural(a, c) >= 0 {
			t.Errorf("%q, %q, %q are not in order", a, b, c)
		}
	})
}
