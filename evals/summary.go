package evals

import (
	"fmt"

	"github.com/looptape/looptape/evals/stats"
	"github.com/looptape/looptape/llm"
)

// level is the confidence level of all intervals.
const level = 0.95

// Summary contains the statistics of a result. Its JSON is the output of `looptape eval score
// --format json`. Undefined values, such as the standard error of a single run, are nil (null).
type Summary struct {
	Runs   int `json:"runs"`
	Cases  int `json:"cases"`
	Epochs int `json:"epochs"` // largest number of runs of a case
	// Metrics are the metrics with a score or an error.
	Metrics    map[string]Metric `json:"metrics"`
	Unreadable []Unreadable      `json:"unreadable"`
	// Resources is the resource usage of the runs by measure. Measures without usage are omitted.
	Resources map[string]amount `json:"resources,omitempty"`
	// Graders is the usage of the models that graded the runs.
	Graders llm.Usage `json:"graders,omitzero"`
}

// Metric contains the statistics of one metric.
type Metric struct {
	N    int            `json:"n"` // runs with a score
	Mean *float64       `json:"mean"`
	SE   standardErrors `json:"se"`
	CI95 bounds         `json:"ci95"`
	// PassHatK and PassAtK are pass^k and pass@k for k from 1 to the smallest number of runs of a
	// case, if all scores are 0 or 1; else nil.
	PassHatK []float64 `json:"pass_hat_k"`
	PassAtK  []float64 `json:"pass_at_k"`
	Missing  int       `json:"missing"` // runs without a score
	Errors   int       `json:"errors"`  // runs with a failed score
}

type standardErrors struct {
	Naive      *float64 `json:"naive"`
	ClusterCR0 *float64 `json:"cluster_cr0"`
	Cluster    *float64 `json:"cluster"` // ClusterCR0 times √(C/(C−1))
}

// bounds are 95 % intervals of a mean; see package stats. The Wilson intervals need scores of 0
// and 1.
type bounds struct {
	T             *[2]float64 `json:"t"` // with the clustered error
	Wilson        *[2]float64 `json:"wilson,omitempty"`
	ClusterWilson *[2]float64 `json:"cluster_wilson,omitempty"`
	Bootstrap     *[2]float64 `json:"bootstrap"` // of clusters
	// PassHatK and PassAtK are the intervals of these statistics for each k; null with a single
	// cluster.
	PassHatK []*[2]float64 `json:"pass_hat_k,omitempty"`
	PassAtK  []*[2]float64 `json:"pass_at_k,omitempty"`
}

// Summary computes the statistics of a result. Randomness starts from the seed: equal results and
// seeds give equal statistics. Summary returns an error for a case in two clusters.
func (r *Result) Summary(seed uint64) (*Summary, error) {
	f := &Summary{
		Runs: len(r.Rows), Metrics: map[string]Metric{},
		Unreadable: append([]Unreadable{}, r.Unreadable...), Resources: r.resources(),
	}
	for _, runs := range r.Cases() {
		f.Cases++
		f.Epochs = max(f.Epochs, len(runs))
	}
	for _, row := range r.Rows {
		for _, g := range row.Gradings.All() {
			f.Graders = f.Graders.Add(g.Usage)
		}
	}
	for _, metric := range r.metrics() {
		s, m, err := r.sample(metric)
		if err != nil {
			return nil, err
		}
		if s != nil {
			m.compute(s, seed)
		}
		f.Metrics[metric] = m
	}
	return f, nil
}

func (r *Result) sample(metric string) (s *stats.Sample, m Metric, err error) {
	rows := r.values(scoreOf(metric))
	m.N = len(rows)
	m.Missing, m.Errors = r.unscored(metric)
	if len(rows) > 0 {
		if s, err = stats.New(rows); err != nil {
			err = fmt.Errorf("metric %q: %w", metric, err)
		}
	}
	return s, m, err
}

func (m *Metric) compute(s *stats.Sample, seed uint64) {
	m.Mean = new(s.Mean())
	m.SE = standardErrors{known(se(s.Naive())), known(se(s.ClusterCR0())), known(se(s.Cluster()))}
	m.CI95 = bounds{
		T:             known(ends(t(s.Cluster()))),
		Wilson:        known(ends(s.Wilson(level))),
		ClusterWilson: known(ends(s.ClusterWilson(level))),
		Bootstrap:     known(ends(s.Bootstrap(level, stats.Resampling{Seed: seed}))),
	}
	m.PassHatK, _ = s.PassHat() // nil unless all scores are 0 or 1
	m.PassAtK, _ = s.PassAt()
	m.CI95.PassHatK = passIntervals(m.PassHatK, s.PassHatK)
	m.CI95.PassAtK = passIntervals(m.PassAtK, s.PassAtK)
}

// passIntervals returns the interval of the mean of sample(k) for each k.
func passIntervals(means []float64, sample func(k int) (*stats.Sample, error)) []*[2]float64 {
	var list []*[2]float64
	for i := range means {
		s, _ := sample(i + 1) // which has a mean
		list = append(list, known(ends(t(s.Cluster()))))
	}
	return list
}

// known returns a statistic, or nil if the rows do not have it. The error can only be
// stats.ErrTooFew or stats.ErrNotBinary.
func known[T any](value T, err error) *T {
	if err != nil {
		return nil
	}
	return &value
}

func se(e stats.Estimate, err error) (float64, error) { return e.SE, err }

func ends(in stats.Interval, err error) ([2]float64, error) { return [2]float64{in.Low, in.High}, err }

// t returns the interval of an estimate. The zero estimate, which comes with an error, has none.
func t(e stats.Estimate, _ error) (stats.Interval, error) { return e.T(level) }
