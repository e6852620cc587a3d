package evals

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/looptape/looptape/evals/stats"
	"github.com/looptape/looptape/llm"
)

// counts are the counts of a tally.
type counts struct {
	Rows, Runs int // rows, and those of them that are runs
	// Resources are those of the runs, by measure; nil if they have none.
	Resources []resourceSum `json:",omitempty"`
	Graders   llm.Usage     `json:",omitzero"`
	// Wrong is the reason why the runs cannot be in one result; empty if they can.
	Wrong string `json:",omitzero"`
}

// resourceSum is the usage of a resource by the runs that report it.
type resourceSum struct {
	N   int       `json:",omitzero"`
	Sum stats.Sum `json:",omitempty"`
}

func (c *counts) merge(o *counts) {
	c.Rows += o.Rows
	c.Runs += o.Runs
	c.Graders = c.Graders.Add(o.Graders)
	c.isWrong(o.Wrong)
	if c.Resources == nil && o.Resources != nil {
		c.Resources = make([]resourceSum, len(measures))
	}
	for i, r := range o.Resources {
		c.Resources[i].N += r.N
		c.Resources[i].Sum.AddAll(r.Sum)
	}
}

// isWrong keeps the first reason in alphabetical order, so that the order of the runs does not matter.
func (c *counts) isWrong(reason string) {
	if c.Wrong == "" || reason != "" && reason < c.Wrong {
		c.Wrong = reason
	}
}

// CaseTally is what a [Summary] needs of the runs of a case, in any order and in any parts. Its JSON is exact.
type CaseTally struct {
	counts

	Case, Cluster string
	Metrics       map[string]*caseMetric
	Epochs        []uint64 `json:",omitempty"` // a bit for each recorded epoch, 64 in each number
}

type caseMetric struct {
	failures
	stats.CaseTotals
}

// failures are the failed scores of a metric, as in [Metric].
type failures struct {
	Errors, Zeros int `json:",omitzero"`
}

func (f *failures) add(o failures) {
	f.Errors += o.Errors
	f.Zeros += o.Zeros
}

// metricOf returns the metric with this name, which it adds if it is missing.
func metricOf[T any](all *map[string]*T, name string) *T {
	if *all == nil {
		*all = map[string]*T{}
	}
	m := (*all)[name]
	if m == nil {
		m = new(T)
		(*all)[name] = m
	}
	return m
}

// maxEpochs limits the memory of a CaseTally.
const maxEpochs = 1 << 16

// Add adds a row. All rows have the same case.
func (c *CaseTally) Add(row *Row) {
	cluster := cmp.Or(row.Cluster, row.Case)
	if c.Rows == 0 {
		c.Case, c.Cluster = row.Case, cluster
	}
	c.join(cluster)
	c.Rows++
	if !row.NoRun {
		c.Runs++
	}
	for name := range row.Errors.All() {
		if row.Scores.Has(name) {
			metricOf(&c.Metrics, name).Zeros++
		} else {
			metricOf(&c.Metrics, name).Errors++
		}
	}
	for name, value := range row.Scores.All() {
		metricOf(&c.Metrics, name).Add(value)
	}
	for i, m := range measures {
		if v, ok := m.of(row); ok {
			if c.Resources == nil {
				c.Resources = make([]resourceSum, len(measures))
			}
			c.Resources[i].N++
			c.Resources[i].Sum.Add(v)
		}
	}
	for _, g := range row.Gradings.All() {
		c.Graders = c.Graders.Add(g.Usage)
	}
}

func (c *CaseTally) join(cluster string) {
	if cluster != c.Cluster {
		c.isWrong(fmt.Sprintf("case %q is in the clusters %q and %q: give it one", c.Case, min(c.Cluster, cluster), max(c.Cluster, cluster)))
	}
}

// AddEpoch records the epoch of a run, so that a tally has no two runs of an epoch. Runs without an epoch have none.
func (c *CaseTally) AddEpoch(epoch int) {
	switch {
	case epoch < 0:
		return
	case epoch >= maxEpochs:
		c.isWrong(fmt.Sprintf("case %q has the epoch %d: the largest one is %d", c.Case, epoch, maxEpochs-1))
		return
	}
	bits := make([]uint64, epoch/64+1)
	bits[epoch/64] = 1 << (epoch % 64)
	c.addEpochs(bits)
}

func (c *CaseTally) addEpochs(bits []uint64) {
	c.Epochs = append(c.Epochs, make([]uint64, max(0, len(bits)-len(c.Epochs)))...)
	for i, b := range bits {
		if c.Epochs[i]&b != 0 {
			c.isWrong(fmt.Sprintf("two runs of case %q have the same epoch: pass each run once, number the runs of a case, and score different benchmarks separately", c.Case))
		}
		c.Epochs[i] |= b
	}
}

// Merge adds other runs of the case.
func (c *CaseTally) Merge(o *CaseTally) {
	if o.Rows == 0 {
		return
	}
	if c.Rows == 0 {
		c.Case, c.Cluster = o.Case, o.Cluster
	}
	c.join(o.Cluster)
	c.merge(&o.counts)
	c.addEpochs(o.Epochs)
	for name, more := range o.Metrics {
		m := metricOf(&c.Metrics, name)
		m.add(more.failures)
		m.Merge(&more.CaseTotals)
	}
}

// Tally is what a [Summary] needs of many cases. Its size depends only on the number of metrics and on the fewest
// runs of a case. Its JSON is exact.
type Tally struct {
	counts

	Cases, MostRuns int
	Metrics         map[string]*metricTotals
}

type metricTotals struct {
	failures
	stats.Totals
}

// AddCase adds a case to the tally of its cluster.
func (t *Tally) AddCase(c *CaseTally) {
	t.merge(&c.counts)
	t.Cases++
	t.MostRuns = max(t.MostRuns, c.Rows)
	for name, more := range c.Metrics {
		if more.Values.N+more.Errors == 0 {
			continue // reset kept it
		}
		m := metricOf(&t.Metrics, name)
		m.add(more.failures)
		if more.Values.N > 0 {
			m.AddCase(&more.CaseTotals)
		}
	}
}

// AddCluster adds the tally of a cluster, whose cases are not in t.
func (t *Tally) AddCluster(o *Tally) { t.addTally(o, (*stats.Totals).AddCluster) }

// Merge adds other cases of the same cluster, or other clusters.
func (t *Tally) Merge(o *Tally) { t.addTally(o, (*stats.Totals).Merge) }

func (t *Tally) addTally(o *Tally, add func(t, o *stats.Totals)) {
	t.merge(&o.counts)
	t.Cases += o.Cases
	t.MostRuns = max(t.MostRuns, o.MostRuns)
	for name, more := range o.Metrics {
		if more.Runs.N+more.Errors == 0 {
			continue // reset kept it
		}
		m := metricOf(&t.Metrics, name)
		m.add(more.failures)
		add(&m.Totals, &more.Totals)
	}
}

// Summary returns the statistics: those of [Result.Summary] without a bootstrap interval, tags, labels, unreadable
// records and cases without a run, and without the results of pairs.
func (t *Tally) Summary() (*Summary, error) {
	if t.Wrong != "" {
		return nil, errors.New(t.Wrong)
	}
	f := &Summary{Runs: t.Runs, Cases: t.Cases, Epochs: t.MostRuns, Graders: t.Graders, Metrics: map[string]Metric{}, Unreadable: []Unreadable{}, Resources: map[string]amount{}}
	for name, totals := range t.Metrics {
		m := Metric{N: totals.Runs.N, Missing: t.Rows - totals.Runs.N - totals.Errors, Errors: totals.Errors, Zeros: totals.Zeros}
		if m.N > 0 {
			m.compute(&totals.Totals)
		}
		f.Metrics[name] = m
	}
	for i, r := range t.Resources {
		if sum := r.Sum.Value(); sum > 0 {
			f.Resources[measures[i].name] = amount{r.N, sum, sum / float64(r.N)}
		}
	}
	return f, nil
}

// reset removes all, and keeps the memory of the resources.
func (c *counts) reset() {
	for i := range c.Resources {
		c.Resources[i] = resourceSum{Sum: c.Resources[i].Sum[:0]}
	}
	*c = counts{Resources: c.Resources}
}

// reset removes all rows, and keeps the memory of the metrics.
func (c *CaseTally) reset() {
	c.counts.reset()
	*c = CaseTally{counts: c.counts, Metrics: c.Metrics}
	for _, m := range c.Metrics {
		m.failures = failures{}
		m.Reset()
	}
}

// reset removes all cases, and keeps the memory of the metrics.
func (t *Tally) reset() {
	t.counts.reset()
	*t = Tally{counts: t.counts, Metrics: t.Metrics}
	for _, m := range t.Metrics {
		m.failures = failures{}
		m.Reset()
	}
}

// tally returns the tally of the rows.
func (r *Result) tally() *Tally {
	named := map[string]*Tally{} // clusters whose cases may be anywhere
	for row := range r.Rows.scanFor(withCluster) {
		named[row.Cluster] = cmp.Or(named[row.Cluster], &Tally{})
	}
	var all, one Tally
	var c CaseTally
	end := func() {
		if of := named[c.Cluster]; of != nil {
			of.AddCase(&c)
		} else if c.Rows > 0 {
			one.AddCase(&c)
			all.AddCluster(&one)
			one.reset()
		}
		c.reset()
	}
	for row := range r.Rows.scan() {
		if row.Case != c.Case {
			end()
		}
		c.Add(row)
	}
	end()
	for _, of := range named {
		all.AddCluster(of)
	}
	return &all
}
