package stats_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/looptape/looptape/evals/stats"
)

// TestDarwin is Fisher's own example: Darwin's 15 pairs of maize plants, in eighths of
// an inch. Of 2^15 sums 863 are at least as large as the one seen ("The design of
// experiments", section 21), and the same number as small.
func TestDarwin(t *testing.T) {
	s := singles(t, 49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48)
	want := stats.Permutation{P: 2 * 863.0 / 32768, Exact: true}
	for _, r := range []stats.Resampling{{Resamples: 32768}, {Resamples: 40_000, Seed: 9}} {
		if diff := cmp.Diff(want, must(s.SignFlip(r))(t)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", r, diff)
		}
	}
	got := must(s.SignFlip(stats.Resampling{Resamples: 32767, Seed: 9}))(t)
	if got.Exact {
		t.Error("more ways than resamples, and all were tried")
	}
	near(t, "drawn", got.P, want.P, 0.004) // three of its standard errors
}

// TestSignFlipEnumerated compares with signs tried one by one, the sum of a case each.
func TestSignFlipEnumerated(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cases := rapid.SliceOfN(rapid.SliceOfN(rapid.IntRange(-4, 4), 1, 3), 1, 8).Draw(t, "cases")
		values := make([][]float64, len(cases))
		sums := make([]int, len(cases))
		seen := 0
		for i, list := range cases {
			for _, v := range list {
				values[i] = append(values[i], float64(v)/3) // thirds are not exact
				sums[i] += v
				seen += v
			}
		}
		far := 0
		for ways := range 1 << len(sums) {
			sum := 0
			for i, v := range sums {
				sum += v * (1 - 2*(ways>>i&1))
			}
			if max(sum, -sum) >= max(seen, -seen) {
				far++
			}
		}
		want := stats.Permutation{P: math.Ldexp(float64(far), -len(sums)), Exact: true}
		got := must(sample(t, values...).SignFlip(stats.Resampling{Resamples: 256}))(t)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestSignFlipDrawn has many equal differences that none of the sums drawn is as
// far from 0: then P is 1 in m+1. Half of the signs turned around give every P.
func TestSignFlipDrawn(t *testing.T) {
	values := make([]float64, 130)
	for i := range values {
		values[i] = 0.1
	}
	got := must(singles(t, values...).SignFlip(stats.Resampling{Resamples: 99}))(t)
	if diff := cmp.Diff(stats.Permutation{P: 0.01}, got); diff != "" {
		t.Errorf("equal differences (-want +got):\n%s", diff)
	}
	for i := range 65 {
		values[i] = -0.1
	}
	got = must(singles(t, values...).SignFlip(stats.Resampling{Resamples: 99}))(t)
	if diff := cmp.Diff(stats.Permutation{P: 1}, got); diff != "" {
		t.Errorf("the same number of both signs (-want +got):\n%s", diff)
	}
}

// TestSignFlipNormal compares P of many differences with the normal distribution, which
// it comes close to: 200 of which 115 have one sign, (115−85−1)/√200 = 2.0506 with the
// correction for continuity, P = .0403.
func TestSignFlipNormal(t *testing.T) {
	values := make([]float64, 200)
	for i := range values {
		values[i] = 1
		if i < 85 {
			values[i] = -1
		}
	}
	got := must(singles(t, values...).SignFlip(stats.Resampling{Resamples: 50_000, Seed: 2}))(t)
	near(t, "P", got.P, 0.0403, 0.003)
}

func TestSignFlipOfZeros(t *testing.T) {
	s := sample(t, []float64{0.1, -0.1}, []float64{0}, []float64{3, -3})
	if diff := cmp.Diff(stats.Permutation{P: 1, Exact: true}, must(s.SignFlip(stats.Resampling{}))(t)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// A cluster without a sum leaves the two ways of one that has one.
	s = sample(t, []float64{0.1, -0.1}, []float64{2})
	if diff := cmp.Diff(stats.Permutation{P: 1, Exact: true}, must(s.SignFlip(stats.Resampling{Resamples: 2}))(t)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
