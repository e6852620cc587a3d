package stats_test

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/looptape/looptape/evals/stats"
)

// TestAdjustPublished is the example of Benjamini & Hochberg (1995): fifteen p-values.
// Bonferroni and Holm reject the first three at level .05, and their own
// procedure the first four.
func TestAdjustPublished(t *testing.T) {
	p := []float64{.0001, .0004, .0019, .0095, .0201, .0278, .0298, .0344, .0459, .3240, .4262, .5719, .6528, .7590, 1}
	for name, c := range map[string]struct {
		adjust func([]float64) ([]float64, error)
		found  int
	}{"Holm": {stats.Holm, 3}} {
		found := 0
		for _, v := range must(c.adjust(p))(t) {
			if v <= 0.05 {
				found++
			}
		}
		if found != c.found {
			t.Errorf("%s: got %d findings, want %d", name, found, c.found)
		}
	}
}

// TestAdjustByHand has each kind of step: kept, lifted to the one before, lowered to the
// one after, cut at 1.
func TestAdjustByHand(t *testing.T) {
	p := []float64{0.04, 0.01, 0.9, 0.03}
	for name, c := range map[string]struct {
		adjust func([]float64) ([]float64, error)
		want   []float64
	}{
		"Holm": {stats.Holm, []float64{0.09, 0.04, 0.9, 0.09}},
	} {
		near(t, name, must(c.adjust(p))(t), c.want, 1e-15)
		if none, err := c.adjust(nil); len(none) > 0 || err != nil {
			t.Errorf("%s of none: got %v, %v", name, none, err)
		}
		for _, wrong := range []float64{-0.1, 1.1, math.NaN()} {
			_, err := c.adjust([]float64{0.5, wrong})
			fails(t, name, err, "p-value 2 of 2", "between 0 and 1")
		}
	}
	if diff := cmp.Diff([]float64{0.04, 0.01, 0.9, 0.03}, p); diff != "" {
		t.Errorf("the p-values were changed:\n%s", diff)
	}
	near(t, "Holm beyond 1", must(stats.Holm([]float64{0.6, 0.7}))(t), []float64{1.0, 1.0}, 0)
}

// TestAdjustIsTheProcedure checks that the adjusted values at or below a level are those that
// the published step-wise procedures reject at that level.
func TestAdjustIsTheProcedure(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SliceOfN(rapid.OneOf(rapid.Float64Range(0, 1), rapid.SampledFrom([]float64{0, 0.01, 0.02, 1})), 1, 9).Draw(t, "p")
		level := rapid.Float64Range(0.0001, 0.9999).Draw(t, "level")
		sorted := slices.Sorted(slices.Values(p))
		m := float64(len(p))
		holm := 0 // number of rejections
		for holm < len(p) && sorted[holm] <= level/(m-float64(holm)) {
			holm++
		}
		for name, c := range map[string]struct {
			adjust   func([]float64) ([]float64, error)
			rejected int
		}{"Holm": {stats.Holm, holm}} {
			adjusted := must(c.adjust(p))(t)
			for i, v := range p {
				rejected := c.rejected > 0 && v <= sorted[c.rejected-1]
				if math.Abs(adjusted[i]-level) > 1e-12 && rejected != (adjusted[i] <= level) {
					t.Errorf("%s at level %v: %v became %v, rejected: %v", name, level, v, adjusted[i], rejected)
				}
			}
		}
	})
}
