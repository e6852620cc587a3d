package stats

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
)

// Permutation is the result of [Sample.SignFlip].
type Permutation struct {
	// P is the probability of a mean at least as far from 0 if the sign of each cluster is
	// random.
	P float64

	// Exact is true if all signs were tried, not a random selection.
	Exact bool
}

// SignFlip tests whether the values, differences of pairs, are centered at 0, in both directions.
// It flips the signs of whole clusters and compares the sums (Fisher, "The design of
// experiments", 1935, section 21). It tries all 2^C ways if they are no more than the resamples.
// Otherwise it draws signs, and P is (b+1)/(m+1) if b of m sums are at least as far from 0, so
// that P is never 0 (Phipson & Smyth, "Permutation p-values should never be zero", Statistical
// Applications in Genetics and Molecular Biology 9, 2010).
//
// Sums that differ by rounding count as equal. Clusters with the sum 0 have no effect; if all
// have it, P is 1.
func (s *Sample) SignFlip(r Resampling) (Permutation, error) {
	m, rng, err := r.start()
	if err != nil {
		return Permutation{}, err
	}
	var sums []float64
	for _, rows := range s.clusters {
		if sum := sumOf(rows); sum != 0 {
			sums = append(sums, sum)
		}
	}
	const rounding = 1e-12 // of the sum of all distances
	bound := math.Abs(total(sums, func(x float64) float64 { return x })) - rounding*total(sums, math.Abs)
	if len(sums) < bits.Len(uint(m)) {
		return Permutation{P: math.Ldexp(float64(countFar(sums, 0, bound)), -len(sums)), Exact: true}, nil
	}
	far := 1
	for range m {
		if math.Abs(flipped(sums, rng)) >= bound {
			far++
		}
	}
	return Permutation{P: float64(far) / float64(m+1)}, nil
}

// countFar returns the number of ways to add or subtract the numbers that end at least bound away
// from 0.
func countFar(numbers []float64, sum, bound float64) int {
	if len(numbers) > 0 {
		return countFar(numbers[1:], sum+numbers[0], bound) + countFar(numbers[1:], sum-numbers[0], bound)
	}
	if math.Abs(sum) >= bound {
		return 1
	}
	return 0
}

// flipped returns the sum of the numbers with random signs, 64 drawn together.
func flipped(numbers []float64, rng *rand.Rand) (sum float64) {
	for chunk := range slices.Chunk(numbers, 64) {
		signs := rng.Uint64()
		for i, x := range chunk {
			sum += math.Float64frombits(math.Float64bits(x) ^ signs<<i&(1<<63))
		}
	}
	return sum
}
