package stats_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/looptape/looptape/evals/stats"
)

// TestBootstrapDraws compares with all 27 resamples of three clusters, each as likely
// as the others. Of the resamples that were drawn, which are many, the quantiles are
// the same, as long as they do not lie where one value ends and the next begins.
func TestBootstrapDraws(t *testing.T) {
	clusters := [][]float64{{0, 3}, {5}, {1, 1, 8}}
	var all []float64
	for i := range 27 {
		sum, n := 0.0, 0.0
		for _, c := range []int{i % 3, i / 3 % 3, i / 9} {
			for _, v := range clusters[c] {
				sum += v
				n++
			}
		}
		all = append(all, sum/n)
	}
	slices.Sort(all)
	for k := range 13 {
		// The middle of the k-th of 27 parts.
		level := 1 - 2*(float64(k)+0.5)/27
		got := must(sample(t, clusters...).Bootstrap(level, stats.Resampling{Resamples: 20_000, Seed: 5}))(t)
		near(t, "interval", got, stats.Interval{Low: all[k], High: all[26-k]}, 1e-12)
	}
}

// TestBootstrapOfMany compares the rate of many cases with the binomial distribution, of
// which the number of successes in a resample is: of 600 in 2,000 the quantiles are 560
// and 640. Where the cases are not quite equal, they are drawn one by one, which comes to
// the same.
func TestBootstrapOfMany(t *testing.T) {
	alike, apart := make([]float64, 2000), make([]float64, 2000)
	for i := range alike {
		if i%10 < 3 {
			alike[i] = 1
		}
		apart[i] = alike[i] + float64(i)*1e-12
	}
	for _, values := range [][]float64{alike, apart} {
		got := must(singles(t, values...).Bootstrap(0.95, stats.Resampling{Resamples: 3999, Seed: 3}))(t)
		near(t, "interval", got, stats.Interval{Low: 0.28, High: 0.32}, 0.0018) // four of its standard errors
	}
}

// TestBootstrapOfManyClusters has clusters of one and of three rows, so that a resample
// has more rows or fewer.
func TestBootstrapOfManyClusters(t *testing.T) {
	alike, apart := make([][]float64, 800), make([][]float64, 800)
	for i := range alike {
		alike[i] = [][]float64{{1}, {0, 0, 0}, {1, 0, 1}, {0}}[i%4]
		for _, v := range alike[i] {
			apart[i] = append(apart[i], v+float64(i)*1e-12)
		}
	}
	r := stats.Resampling{Resamples: 3999, Seed: 3}
	want := must(sample(t, apart...).Bootstrap(0.95, r))(t)
	near(t, "interval", must(sample(t, alike...).Bootstrap(0.95, r))(t), want, 0.003)
}

// TestBootstrapResamples checks the minimum number of resamples: one beyond each end.
// One less is an error.
func TestBootstrapResamples(t *testing.T) {
	s := singles(t, 0, 1)
	for level, least := range map[float64]int{0.95: 39, 0.9: 19, 0.99: 199, 0.98: 99, 0.5: 3, 0.7: 6} {
		if _, err := s.Bootstrap(level, stats.Resampling{Resamples: least}); err != nil {
			t.Error(err)
		}
		_, err := s.Bootstrap(level, stats.Resampling{Resamples: least - 1})
		fails(t, "one resample less", err, fmt.Sprintf("bootstrap interval of level %v with %d resamples: it needs %d at least", level, least-1, least))
	}
}

// TestSeed checks that a seed gives the same bits at any time and on any machine, and
// that another gives others. The numbers were not computed independently: they show that no
// version of Go or of this package draws differently.
func TestSeed(t *testing.T) {
	values := make([]float64, 40)
	for i := range values {
		values[i] = float64(i*i%17) / 16
	}
	s := singles(t, values...)
	r := stats.Resampling{Resamples: 999, Seed: 42}
	got := must(s.Bootstrap(0.95, r))(t)
	if diff := cmp.Diff(got, must(s.Bootstrap(0.95, r))(t)); diff != "" {
		t.Errorf("the same seed twice:\n%s", diff)
	}
	want := stats.Interval{Low: 0.3734375, High: 0.596875}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("seed 42 (-want +got):\n%s", diff)
	}
	r.Seed++
	if other := must(s.Bootstrap(0.95, r))(t); other == got {
		t.Errorf("two seeds give the same interval %v", got)
	}
	if byDefault, named := must(s.Bootstrap(0.95, stats.Resampling{}))(t), must(s.Bootstrap(0.95, stats.Resampling{Resamples: 9_999}))(t); byDefault != named {
		t.Errorf("by default %v, with %d resamples %v", byDefault, 9_999, named)
	}
}

func TestResamplingRefuses(t *testing.T) {
	s := singles(t, 0, 1)
	_, err := s.Bootstrap(0.95, stats.Resampling{Resamples: -1})
	fails(t, "bootstrap", err, "-1 resamples", "9999")
	_, err = s.SignFlip(stats.Resampling{Resamples: -1})
	fails(t, "permutation", err, "-1 resamples", "9999")
	_, err = s.Bootstrap(1.5, stats.Resampling{})
	fails(t, "level", err, "interval of level 1.5")
}

// TestBootstrapHolds draws samples: the interval lies within the cases' means, a wider
// level gives no narrower one, and equal values give that value.
func TestBootstrapHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := must(stats.New(rows(t, rapid.Float64Range(0, 1))))(t)
		r := stats.Resampling{Resamples: 99, Seed: rapid.Uint64().Draw(t, "seed")}
		wide, narrow := must(s.Bootstrap(0.95, r))(t), must(s.Bootstrap(0.5, r))(t)
		if wide.Low > narrow.Low || narrow.Low > narrow.High || narrow.High > wide.High || wide.Low < 0 || wide.High > 1 {
			t.Errorf("95 in 100: %v, 50 in 100: %v", wide, narrow)
		}
	})
}
