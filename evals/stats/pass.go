package stats

import "fmt"

// PassAtK returns the sample with one row per case: the probability that at least one of k runs,
// drawn without replacement, succeeds, 1 − C(n−c,k)/C(n,k) for c successes in n runs. It is an
// unbiased estimate for k new runs (Chen et al., "Evaluating large language models trained on
// code", 2021). The mean of the sample is pass@k; its errors and intervals are over cases.
//
// All values must be 0 or 1. k must be between 1 and [Sample.FewestEpochs].
func (s *Sample) PassAtK(k int) (*Sample, error) {
	return s.pass(k, func(n, c int) float64 { return 1 - allDrawn(n, n-c, k) })
}

// PassHatK is like [Sample.PassAtK] with the probability that all k runs succeed, C(c,k)/C(n,k).
// Its mean is pass^k (Yao et al., "τ-bench: a benchmark for tool-agent-user interaction in
// real-world domains", 2024).
func (s *Sample) PassHatK(k int) (*Sample, error) {
	return s.pass(k, func(n, c int) float64 { return allDrawn(n, c, k) })
}

func (s *Sample) pass(k int, of func(n, c int) float64) (*Sample, error) {
	if k < 1 {
		return nil, fmt.Errorf("pass@k and pass^k of k = %d: want 1 or more", k)
	}
	rows := make([]Row, len(s.cases))
	for i, runs := range s.cases {
		c, err := successes(runs)
		if err != nil {
			return nil, err
		}
		if len(runs) < k {
			return nil, fmt.Errorf("pass@k and pass^k of k = %d: case %q has %d runs: %w: lower k, or run it more often", k, runs[0].Case, len(runs), ErrTooFew)
		}
		rows[i] = asOne(runs, of(len(runs), c))
	}
	return s.computed(rows), nil
}

// PassAt returns the means of [Sample.PassAtK] for all k from 1 to [Sample.FewestEpochs], in
// linear time. All values must be 0 or 1.
func (s *Sample) PassAt() ([]float64, error) {
	return s.passes(func(t *Totals) []Moments { return t.PassAtK })
}

// PassHat is like [Sample.PassAt] with [Sample.PassHatK].
func (s *Sample) PassHat() ([]float64, error) {
	return s.passes(func(t *Totals) []Moments { return t.PassHatK })
}

func (s *Sample) passes(of func(t *Totals) []Moments) (means []float64, err error) {
	if _, err := successes(s.rows); err != nil {
		return nil, err
	}
	for _, m := range of(s.Totals()) {
		means = append(means, m.Mean())
	}
	return means, nil
}

// allDrawn returns C(c,k)/C(n,k), the probability that k drawn of n are all among c of them. A
// product of ratios neither overflows nor cancels.
func allDrawn(n, c, k int) float64 {
	p := 1.0
	for i := range min(k, c+1) {
		p *= float64(c-i) / float64(n-i)
	}
	return p
}
