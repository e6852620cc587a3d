package evals

import (
	"fmt"

	"github.com/looptape/looptape/evals/stats"
	"github.com/looptape/looptape/llm"
)

// level is that of all intervals.
const level = 0.95

// Figures are what a result comes to. Its JSON is what `looptape eval score --format
// json` prints. A figure that the rows do not have, such as the error of a mean of one
// run, is nil, which is null.
type Summary struct {
	Runs   int `json:"runs"`
	Cases  int `json:"cases"`
	Epochs int `json:"epochs"` // the most runs that a case has
	// Metrics are those that a run has a score or an error of.
	Metrics    map[string]Metric `json:"metrics"`
	Unreadable []Unreadable      `json:"unreadable"`
	// Spent is what the runs took, by the name of the measure; those of which they took
	// nothing are left out.
	Resources map[string]amount `json:"resources,omitempty"`
	// Graders is what the models took that graded the runs.
	Graders llm.Usage `json:"graders,omitzero"`
}

// Metric is what the runs come to by one metric.
type Metric struct {
	N    int            `json:"n"` // runs that have a score
	Mean *float64       `json:"mean"`
	SE   standardErrors `json:"se"`
	CI95 bounds         `json:"ci95"`
	// PassHatK and PassAtK are pass^k and pass@k for k from 1 up to the fewest runs that
	// any case has, of a metric whose scores are all 0 or 1; else nil.
	PassHatK []float64 `json:"pass_hat_k"`
	PassAtK  []float64 `json:"pass_at_k"`
	Missing  int       `json:"missing"` // runs without a score
	Errors   int       `json:"errors"`  // runs whose score could not be made
}

// Errors are the standard errors of a mean; see package stats.
type standardErrors struct {
	Naive      *float64 `json:"naive"`
	ClusterCR0 *float64 `json:"cluster_cr0"`
	Cluster    *float64 `json:"cluster"` // ClusterCR0 times √(C/(C−1))
}

// Bounds are intervals of a mean that hold it in 95 of 100 samples; see package stats.
// Those named after Wilson are there where all scores are 0 or 1.
type bounds struct {
	T             *Interval `json:"t"` // of the clustered error
	Wilson        *Interval `json:"wilson,omitempty"`
	ClusterWilson *Interval `json:"cluster_wilson,omitempty"`
	Bootstrap     *Interval `json:"bootstrap"` // of clusters
	// PassHatK and PassAtK are those of t for the figures of these names, k by k; null
	// where there is but one cluster.
	PassHatK []*Interval `json:"pass_hat_k,omitempty"`
	PassAtK  []*Interval `json:"pass_at_k,omitempty"`
}

// Interval is what a figure lies between.
type Interval [2]float64

// Figures computes the figures of a result. What is random starts from the seed; the
// same result and seed give the same figures. The error is for a case that stands in
// two clusters.
func (r *Result) Summary(seed uint64) (*Summary, error) {
	f := &Summary{Runs: len(r.Rows), Metrics: map[string]Metric{}, Unreadable: append([]Unreadable{}, r.Unreadable...), Resources: r.resources()}
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

// sample is the scores of a metric, nil if there are none, and how many runs have one.
func (r *Result) sample(metric string) (s *stats.Sample, m Metric, err error) {
	rows, missing, failed := r.scores(metric)
	m = Metric{N: len(rows), Missing: missing, Errors: failed}
	if len(rows) > 0 {
		if s, err = stats.New(rows); err != nil {
			err = fmt.Errorf("metric %q: %w", metric, err)
		}
	}
	return s, m, err
}

// compute computes the figures of a sample.
func (m *Metric) compute(s *stats.Sample, seed uint64) {
	m.Mean = known(s.Mean(), nil)
	m.SE = standardErrors{known(se(s.Naive())), known(se(s.ClusterCR0())), known(se(s.Cluster()))}
	m.CI95 = bounds{
		T:             known(ends(t(s.Cluster()))),
		Wilson:        known(ends(s.Wilson(level))),
		ClusterWilson: known(ends(s.ClusterWilson(level))),
		Bootstrap:     known(ends(s.Bootstrap(level, stats.Resampling{Seed: seed}))),
	}
	m.PassHatK, _ = s.PassHat() // none if the scores are no successes
	m.PassAtK, _ = s.PassAt()
	m.CI95.PassHatK = passIntervals(m.PassHatK, s.PassHatK)
	m.CI95.PassAtK = passIntervals(m.PassAtK, s.PassAtK)
}

// around are the intervals of pass figures, each of which is the mean of a sample.
func passIntervals(figures []float64, sample func(k int) (*stats.Sample, error)) []*Interval {
	var list []*Interval
	for i := range figures {
		var in *Interval
		if s, err := sample(i + 1); err == nil {
			in = known(ends(t(s.Cluster())))
		}
		list = append(list, in)
	}
	return list
}

// known is a figure, or nil if the rows do not have it. Nothing else can be wrong with a
// sample, so err is stats.ErrTooFew or stats.ErrNotBinary.
func known[T any](figure T, err error) *T {
	if err != nil {
		return nil
	}
	return &figure
}

func se(e stats.Estimate, err error) (float64, error) { return e.SE, err }

func ends(in stats.Interval, err error) (Interval, error) { return Interval{in.Low, in.High}, err }

// t is the interval around an estimate.
func t(e stats.Estimate, err error) (stats.Interval, error) {
	if err != nil {
		return stats.Interval{}, err
	}
	return e.T(level)
}
