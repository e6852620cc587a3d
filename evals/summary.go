package evals

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

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
	// WithoutRun are the cases of the dataset of which there is no run. Cases counts them.
	WithoutRun []string `json:"cases_without_run,omitempty"`
	// MissingAsZero is true if missing and failed scores count as 0.
	MissingAsZero bool `json:"missing_as_zero,omitempty"`
	// Metrics are the metrics with a score or an error.
	Metrics    map[string]Metric `json:"metrics"`
	Unreadable []Unreadable      `json:"unreadable"`
	// Tags are the metrics of the cases with each tag.
	Tags map[string]map[string]Metric `json:"tags,omitempty"`
	// Labels compare scores with the labels of people, by metric.
	Labels map[string]*Agreement `json:"labels,omitempty"`
	// Resources is the resource usage of the runs by measure. Measures without usage are omitted.
	Resources map[string]amount `json:"resources,omitempty"`
	// Graders is the usage of the models that graded the runs.
	Graders llm.Usage `json:"graders,omitzero"`
}

// Metric contains the statistics of one metric.
type Metric struct {
	N    int      `json:"n"`    // runs with a score
	Mean *float64 `json:"mean"` // over cases: the mean of the means of the runs of each case
	SE   *float64 `json:"se"`   // of Mean, with the errors of clusters
	CI95 bounds   `json:"ci95"`
	// MeanOfRuns is the mean over runs, in which a case with more runs has more weight.
	MeanOfRuns meanOfRuns `json:"mean_of_runs"`
	// PassHatK and PassAtK are pass^k and pass@k for k from 1 to the smallest number of runs of a
	// case, if all scores are 0 or 1; else nil.
	PassHatK []float64 `json:"pass_hat_k"`
	PassAtK  []float64 `json:"pass_at_k"`
	// Pairwise are the results of a pairwise scorer by case; else nil.
	Pairwise *pairwise `json:"pairwise,omitempty"`
	Missing  int       `json:"missing"` // runs without a score
	Errors   int       `json:"errors"`  // runs with a failed score
	// Zeros are the runs of N whose score was missing or failed and counts as 0.
	Zeros int `json:"zeros,omitempty"`
}

// pairwise counts cases by the mean of their runs, in which a win is 1 and a tie one half.
type pairwise struct {
	Wins   int `json:"wins"`   // above one half
	Ties   int `json:"ties"`   // one half
	Losses int `json:"losses"` // below one half
	// P is the two-sided probability of a mean at least that far from one half if none is better: the mid-p value
	// of the sign test without ties ([stats.McNemar]), or the permutation of signs by cluster if a case has several
	// runs or cases share a cluster.
	P float64 `json:"p_half"`
}

// isPairwise reports whether a pairwise scorer gave a metric: it also gives the two that measure the effect of the
// order.
func isPairwise(metric string, metrics []string) bool {
	return slices.Contains(metrics, metric+".first") && slices.Contains(metrics, metric+".split")
}

// comparePairs computes the statistics of a pairwise scorer.
func (m *Metric) comparePairs(s *stats.Sample) error {
	from := s.CaseMeans().Rows()
	lost, won := slices.Clone(from), slices.Clone(from)
	m.Pairwise = &pairwise{}
	for i := range from {
		v := from[i].Value - 0.5
		lost[i].Value, won[i].Value = max(0, -2*v), max(0, 2*v)
		switch {
		case v > 0:
			m.Pairwise.Wins++
		case v < 0:
			m.Pairwise.Losses++
		default:
			m.Pairwise.Ties++
		}
	}
	losses, err := stats.New(lost)
	if err != nil {
		return err
	}
	wins, err := stats.New(won)
	if err != nil {
		return err
	}
	if ci, err := stats.Tango(losses, wins, level); err == nil {
		m.CI95.Pairs = &[2]float64{(1 + ci.Low) / 2, (1 + ci.High) / 2}
	}
	if s.Clusters() == s.Len() {
		_, m.Pairwise.P, err = stats.McNemar(m.Pairwise.Losses, m.Pairwise.Wins)
		return err
	}
	pairs, err := stats.Pair(losses, wins)
	if err != nil {
		return err
	}
	p, err := pairs.Difference.SignFlip(stats.Resampling{})
	m.Pairwise.P = p.P
	return err
}

// bounds are 95 % intervals of the mean over cases; see package stats.
type bounds struct {
	// Pairs is, for a pairwise scorer, (1+d)/2 for the ends d of Tango's interval of the share of wins less that of
	// losses, as [stats.Tango]; a tie is a pair that counts for neither.
	Pairs *[2]float64 `json:"pairs,omitempty"`
	// Wilson is the score interval with the effective number of trials, for scores from 0 to 1. The
	// tables show Pairs, or else Wilson, or else T.
	Wilson    *[2]float64 `json:"wilson"`
	T         *[2]float64 `json:"t"`
	Bootstrap *[2]float64 `json:"bootstrap,omitempty"` // of clusters, if it was requested
	// Unsuited are the intervals that do not keep their level for rates near 0 and 1. It is empty unless
	// all scores are from 0 to 1.
	Unsuited []string `json:"unsuited_for_rates,omitempty"`
	// PassHatK and PassAtK are the score intervals of these statistics for each k; null with a
	// single cluster.
	PassHatK []*[2]float64 `json:"pass_hat_k,omitempty"`
	PassAtK  []*[2]float64 `json:"pass_at_k,omitempty"`
}

// Best returns Pairs, or else Wilson, or else T.
func (b *bounds) Best() *[2]float64 { return cmp.Or(b.Pairs, b.Wilson, b.T) }

// meanOfRuns is the mean over runs with its standard errors and, for scores of 0 and 1, Wilson's
// interval of independent runs.
type meanOfRuns struct {
	Value      *float64    `json:"value"`
	Naive      *float64    `json:"se_naive"` // of independent runs
	ClusterCR0 *float64    `json:"se_cluster_cr0"`
	Cluster    *float64    `json:"se_cluster"` // ClusterCR0 times √(C/(C−1))
	Wilson     *[2]float64 `json:"wilson"`
}

// Summary computes the statistics of a result. It draws a bootstrap interval, which takes long for
// many cases, only if bootstrap is not nil. Summary returns an error for a case in two clusters.
func (r *Result) Summary(bootstrap *stats.Resampling) (*Summary, error) {
	f, err := r.summary(bootstrap)
	if err != nil {
		return nil, err
	}
	f.Unreadable, f.MissingAsZero = r.Unread(), slices.Contains(r.Scorers, missingAsZero)
	for row := range r.Rows.scanFor(withoutRun) {
		f.WithoutRun = append(f.WithoutRun, row.Case)
	}
	for _, tag := range r.Tags() {
		if f.Tags == nil {
			f.Tags = map[string]map[string]Metric{}
		}
		part, err := r.Tagged(tag).summary(bootstrap)
		if err != nil {
			return nil, err
		}
		f.Tags[tag] = part.Metrics
	}
	return f, nil
}

// summary returns the statistics of the rows.
func (r *Result) summary(bootstrap *stats.Resampling) (*Summary, error) {
	f, err := r.tally().Summary()
	if err != nil {
		return nil, err
	}
	metrics := slices.Sorted(maps.Keys(f.Metrics))
	for _, metric := range metrics {
		pairs := isPairwise(metric, metrics)
		if !pairs && bootstrap == nil {
			continue
		}
		s, err := r.sample(metric)
		m := f.Metrics[metric]
		if s != nil && bootstrap != nil {
			m.CI95.Bootstrap = known(ends(s.CaseMeans().Bootstrap(level, *bootstrap)))
		}
		if s != nil && pairs {
			err = m.comparePairs(s)
		}
		if err != nil {
			return nil, err
		}
		f.Metrics[metric] = m
	}
	return f, nil
}

// sample returns the scores of a metric; nil if there are none.
func (r *Result) sample(metric string) (*stats.Sample, error) {
	rows := r.values(scoreOf(metric))
	if len(rows) == 0 {
		return nil, nil
	}
	s, err := stats.New(rows)
	if err != nil {
		return nil, fmt.Errorf("metric %q: %w", metric, err)
	}
	return s, nil
}

// compute sets the statistics of totals.
func (m *Metric) compute(s *stats.Totals) {
	m.Mean, m.SE = new(s.Cases.Mean()), known(se(s.Cases.Cluster()))
	m.CI95 = bounds{Wilson: known(ends(s.ClusterWilson(&s.Cases, level))), T: known(ends(t(s.Cases.Cluster())))}
	if m.CI95.Wilson != nil {
		m.CI95.Unsuited = []string{"t", "bootstrap"}
	}
	m.MeanOfRuns = meanOfRuns{
		Value: new(s.Runs.Mean()), Naive: known(se(s.Runs.Naive())), ClusterCR0: known(se(s.Runs.ClusterCR0())),
		Cluster: known(se(s.Runs.Cluster())), Wilson: known(ends(s.Wilson(level))),
	}
	m.PassHatK, m.CI95.PassHatK = passMeans(s, s.PassHatK)
	m.PassAtK, m.CI95.PassAtK = passMeans(s, s.PassAtK)
}

// passMeans returns the means of pass^k or pass@k, and their intervals.
func passMeans(s *stats.Totals, of []stats.Moments) (means []float64, intervals []*[2]float64) {
	for i := range of {
		means = append(means, of[i].Mean())
		intervals = append(intervals, known(ends(s.ClusterWilson(&of[i], level))))
	}
	return means, intervals
}

// known returns a statistic, or nil if the rows do not have it. The error can only be
// stats.ErrTooFew, stats.ErrNotBinary or stats.ErrNotRate.
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
