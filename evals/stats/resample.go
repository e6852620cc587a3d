package stats

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// defaultResamples plus one is a round number, so that 1, 2.5 and 5 % of it are integers.
const defaultResamples = 9_999

// Resampling configures random draws. Equal values give equal results, bit by bit.
type Resampling struct {
	// Resamples is the number of draws; 0 means 9,999.
	Resamples int

	// Seed starts the PCG generator of math/rand/v2.
	Seed uint64
}

func (r Resampling) start() (int, *rand.Rand, error) {
	if r.Resamples < 0 {
		return 0, nil, fmt.Errorf("%d resamples: name a number above 0, or 0 for %d", r.Resamples, defaultResamples)
	}
	return cmp.Or(r.Resamples, defaultResamples), rand.New(rand.NewPCG(r.Seed, 0)), nil
}

// Bootstrap returns the percentile interval of the mean. A resample draws C of the C
// clusters with replacement, each with all its rows (Cameron, Gelbach & Miller,
// "Bootstrap-based improvements for inference with clustered errors", Review of Economics and
// Statistics 90, 2008). The ends are the k-th smallest and the k-th largest of the means of B
// resamples, with k = (B+1)(1−level)/2, rounded down (Davison & Hinkley, "Bootstrap methods and
// their application", 1997, chapter 5). With fewer than about thirty clusters the interval is too
// narrow; prefer [Estimate.T] then.
//
// Bootstrap needs two clusters and enough resamples for k to be 1.
func (s *Sample) Bootstrap(level float64, r Resampling) (Interval, error) {
	tail, wrong := tailOf(level)
	n, rng, err := r.start()
	if err = cmp.Or(wrong, err); err != nil {
		return Interval{}, err
	}
	const slack = 1e-9 // 0.9 is not exact in binary
	k := int(float64(n+1)*tail + slack)
	if k < 1 {
		return Interval{}, fmt.Errorf("bootstrap interval of level %v with %d resamples: it needs %v at least", level, n, math.Ceil(1/tail-slack)-1)
	}
	if len(s.clusters) < 2 {
		return Interval{}, fmt.Errorf("bootstrap of one cluster: %w: score at least two", ErrTooFew)
	}
	means := s.resample(n, rng)
	slices.Sort(means)
	return Interval{means[k-1], means[n-k]}, nil
}

// cluster is the sum and the number of the rows of a cluster.
type cluster struct{ sum, rows float64 }

// group counts equal clusters.
type group struct {
	cluster
	n float64
}

// resample returns the means of n samples of clusters.
func (s *Sample) resample(n int, rng *rand.Rand) []float64 {
	clusters := make([]cluster, len(s.clusters))
	for i, rows := range s.clusters {
		clusters[i] = cluster{sumOf(rows), float64(len(rows))}
	}
	draw := func() cluster { return drawn(clusters, rng) }
	const groupCost = 50 // drawing a group takes as long as drawing this many clusters
	if groups := grouped(clusters); groupCost*len(groups) < len(clusters) {
		draw = func() cluster { return drawnGroups(groups, float64(len(clusters)), rng) }
	}
	means := make([]float64, n)
	for i := range means {
		c := draw()
		means[i] = c.sum / c.rows
	}
	return means
}

// drawn adds a sample of the clusters, drawn with replacement.
func drawn(clusters []cluster, rng *rand.Rand) (all cluster) {
	for range clusters {
		c := clusters[rng.IntN(len(clusters))]
		all.sum += c.sum
		all.rows += c.rows
	}
	return all
}

func grouped(clusters []cluster) (groups []group) {
	clusters = slices.Clone(clusters)
	slices.SortFunc(clusters, func(a, b cluster) int {
		return cmp.Or(cmp.Compare(a.sum, b.sum), cmp.Compare(a.rows, b.rows))
	})
	for i, c := range clusters {
		if i == 0 || c != clusters[i-1] {
			groups = append(groups, group{cluster: c})
		}
		groups[len(groups)-1].n++
	}
	return groups
}

// drawnGroups is like drawn for many equal clusters: the number drawn of a group is binomial in
// the draws and the clusters that remain.
func drawnGroups(groups []group, n float64, rng *rand.Rand) (all cluster) {
	draws, rest := n, n
	for _, g := range groups {
		k := draws // the last group gets the rest
		if g.n < rest {
			k = distuv.Binomial{N: draws, P: g.n / rest, Src: rng}.Rand()
		}
		all.sum += k * g.sum
		all.rows += k * g.rows
		draws -= k
		rest -= g.n
	}
	return all
}

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
	bound := math.Abs(total(sums, itself)) - rounding*total(sums, math.Abs)
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
