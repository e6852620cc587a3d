package stats_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/stat/combin"
	"pgregory.net/rapid"

	"github.com/looptape/looptape/evals/stats"
)

// runs returns the values of n runs. The last c succeed.
func runs(n, c int) []float64 {
	list := make([]float64, n)
	for i := range c {
		list[n-1-i] = 1
	}
	return list
}

// TestPassEnumerated compares with all subsets of k of up to 7 runs.
func TestPassEnumerated(t *testing.T) {
	for n := 1; n <= 7; n++ {
		for c := range n + 1 {
			for k := 1; k <= n; k++ {
				some, all, ways := 0.0, 0.0, 0.0
				for _, subset := range combin.Combinations(n, k) {
					successes := 0.0
					for _, i := range subset {
						successes += runs(n, c)[i]
					}
					ways++
					if successes > 0 {
						some++
					}
					if successes == float64(k) {
						all++
					}
				}
				s := sample(t, runs(n, c))
				near(t, "pass@k", must(s.PassAtK(k))(t).Mean(), some/ways, 1e-14)
				near(t, "pass^k", must(s.PassHatK(k))(t).Mean(), all/ways, 1e-14)
			}
		}
	}
}

// TestPassOfAll compares with each k by itself, to the last bit.
func TestPassOfAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := must(stats.New(rows(t, rapid.SampledFrom([]float64{0, 1}))))(t)
		var at, hat []float64
		for k := 1; k <= s.FewestEpochs(); k++ {
			at = append(at, must(s.PassAtK(k))(t).Mean())
			hat = append(hat, must(s.PassHatK(k))(t).Mean())
		}
		if diff := cmp.Diff(bits(at...), bits(must(s.PassAt())(t)...)); diff != "" {
			t.Errorf("pass@k (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(bits(hat...), bits(must(s.PassHat())(t)...)); diff != "" {
			t.Errorf("pass^k (-want +got):\n%s", diff)
		}
	})
	s := sample(t, []float64{0, 0.5})
	if _, err := s.PassAt(); !errors.Is(err, stats.ErrNotBinary) {
		t.Errorf("pass@k of a half: %v", err)
	}
	if _, err := s.PassHat(); !errors.Is(err, stats.ErrNotBinary) {
		t.Errorf("pass^k of a half: %v", err)
	}
}

// TestPassLarge compares with the stable form that Chen et al. print,
// 1 − Π(1 − k/i) for i from n−c+1 to n, where C(n,k) is too large for any number.
func TestPassLarge(t *testing.T) {
	for _, c := range []struct{ n, c, k int }{{10_000, 3, 5_000}, {10_000, 9_000, 100}, {200, 1, 100}, {2_000, 7, 1}, {5_000, 4_999, 1}} {
		missed := 1.0
		for i := c.n - c.c + 1; i <= c.n; i++ {
			missed *= 1 - float64(c.k)/float64(i)
		}
		near(t, "pass@k", must(sample(t, runs(c.n, c.c)).PassAtK(c.k))(t).Mean(), 1-missed, 1e-11)
		// All of k succeed where none of k fails.
		near(t, "pass^k", must(sample(t, runs(c.n, c.n-c.c)).PassHatK(c.k))(t).Mean(), missed, 1e-11)
	}
}

// TestPassOfCases was computed by hand: of 2 of 3, 1 of 2 and 0 of 2 runs, pass^2 is
// 1/3, 0 and 0, on average 1/9; pass@2 is 1, 1 and 0, on average 2/3 with the error
// √(1/3/3) = 1/3. The cases keep their clusters.
func TestPassOfCases(t *testing.T) {
	s := sample(t, runs(3, 2), runs(2, 1), runs(2, 0))
	near(t, "pass^2", must(s.PassHatK(2))(t).Mean(), 1.0/9, 1e-15)
	near(t, "pass@2", must(must(s.PassAtK(2))(t).Naive())(t), stats.Estimate{Value: 2.0 / 3, SE: 1.0 / 3, DF: 2}, 1e-15)

	s = must(stats.New([]stats.Row{{Case: "b", Cluster: "x", Value: 1}, {Case: "a", Epoch: 4, Cluster: "x"}}))(t)
	want := []stats.Row{{Case: "a", Cluster: "x"}, {Case: "b", Cluster: "x", Value: 1}}
	if diff := cmp.Diff(want, must(s.PassAtK(1))(t).Rows()); diff != "" {
		t.Errorf("pass@1 (-want +got):\n%s", diff)
	}
}

func TestPassRefuses(t *testing.T) {
	s := sample(t, runs(3, 2), runs(2, 1))
	half := sample(t, []float64{0.5, 1})
	for _, pass := range []func(*stats.Sample, int) (*stats.Sample, error){(*stats.Sample).PassAtK, (*stats.Sample).PassHatK} {
		for _, k := range []int{0, -1} {
			_, err := pass(s, k)
			fails(t, "k", err, "want 1 or more")
		}
		_, err := pass(s, 3)
		fails(t, "k", err, `pass@k and pass^k of k = 3: case "001" has 2 runs`, "run it more often")
		if !errors.Is(err, stats.ErrTooFew) {
			t.Errorf("got %v, want ErrTooFew", err)
		}
		if _, err := pass(half, 1); !errors.Is(err, stats.ErrNotBinary) {
			t.Errorf("got %v, want ErrNotBinary", err)
		}
	}
}

// TestPassHolds draws samples: pass^k ≤ pass@k, both are the mean where k is 1 and all
// cases ran as often, the first falls with k and the second rises.
func TestPassHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 40).Draw(t, "n")
		var cases [][]float64
		for _, c := range rapid.SliceOfN(rapid.IntRange(0, n), 1, 6).Draw(t, "successes") {
			cases = append(cases, runs(n, c))
		}
		s := sample(t, cases...)
		const rounding = 1e-12
		at, hat := 0.0, 1.0
		for k := 1; k <= s.FewestEpochs(); k++ {
			nextAt, nextHat := must(s.PassAtK(k))(t).Mean(), must(s.PassHatK(k))(t).Mean()
			if nextAt < at-rounding || nextHat > hat+rounding || nextHat > nextAt+rounding {
				t.Errorf("k = %d: pass@k %v after %v, pass^k %v after %v", k, nextAt, at, nextHat, hat)
			}
			if at, hat = nextAt, nextHat; k == 1 {
				near(t, "k = 1", []float64{at, hat}, []float64{s.Mean(), s.Mean()}, rounding)
			}
		}
	})
}
