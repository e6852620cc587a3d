package stats

import (
	"cmp"
	"math"
)

// CaseTotals are what the statistics need of the scores of a case, in any order and in any parts.
type CaseTotals struct {
	Values    Moments
	Successes int  `json:",omitzero"` // values of 1
	NotBinary bool `json:",omitzero"` // a value is not 0 or 1
	NotRate   bool `json:",omitzero"` // a value is not from 0 to 1
}

// Add adds the score of a run.
func (c *CaseTotals) Add(x float64) {
	c.Values.add(x)
	if x == 1 {
		c.Successes++
	}
	c.NotBinary = c.NotBinary || x != 0 && x != 1
	c.NotRate = c.NotRate || !(x >= 0 && x <= 1)
}

// Reset removes all runs, and keeps the memory.
func (c *CaseTotals) Reset() {
	c.Values.reset()
	*c = CaseTotals{Values: c.Values}
}

// Merge adds other runs of the case.
func (c *CaseTotals) Merge(o *CaseTotals) {
	c.Values.merge(&o.Values)
	c.Successes += o.Successes
	c.NotBinary, c.NotRate = c.NotBinary || o.NotBinary, c.NotRate || o.NotRate
}

// Totals are what means, standard errors and score intervals need of the scores of many cases. Their size depends
// only on the fewest runs of a case. The zero value has no cases.
type Totals struct {
	Runs  Moments // of the scores
	Cases Moments // of the means of the cases
	// PassHatK and PassAtK are those of [Sample.PassHatK] and [Sample.PassAtK] for each k from 1; empty if a score is
	// not 0 or 1.
	PassHatK, PassAtK  []Moments
	NotBinary, NotRate bool
}

// AddCase adds a case to the totals of its cluster.
func (t *Totals) AddCase(c *CaseTotals) {
	runs := c.Values.N
	t.limit(runs, c.NotBinary)
	t.NotRate = t.NotRate || c.NotRate
	t.Runs.merge(&c.Values)
	t.Cases.add(c.Values.Mean())
	succeed, fail := 1.0, 1.0 // probability that all of k drawn runs do
	for i := range t.PassHatK {
		left := float64(runs - i)
		succeed *= float64(max(0, c.Successes-i)) / left
		fail *= float64(max(0, runs-c.Successes-i)) / left
		t.PassHatK[i].add(succeed)
		t.PassAtK[i].add(1 - fail)
	}
}

// limit shortens the lists to the fewest runs of a case.
func (t *Totals) limit(runs int, notBinary bool) {
	if t.Cases.N == 0 {
		t.PassHatK, t.PassAtK = withLength(t.PassHatK, runs), withLength(t.PassAtK, runs)
	}
	if t.NotBinary = t.NotBinary || notBinary; t.NotBinary {
		runs = 0
	}
	n := min(runs, len(t.PassHatK))
	t.PassHatK, t.PassAtK = t.PassHatK[:n], t.PassAtK[:n]
}

func withLength(list []Moments, n int) []Moments {
	if n > cap(list) {
		return make([]Moments, n)
	}
	return list[:n]
}

// AddCluster adds the totals of a cluster, whose cases are not in t.
func (t *Totals) AddCluster(o *Totals) { t.addTotals(o, (*Moments).addCluster) }

// Merge adds other cases of the same cluster, or other clusters.
func (t *Totals) Merge(o *Totals) { t.addTotals(o, (*Moments).merge) }

func (t *Totals) addTotals(o *Totals, add func(t, o *Moments)) {
	if o.Cases.N == 0 {
		return
	}
	runs := len(o.PassHatK)
	t.limit(runs, o.NotBinary)
	t.NotRate = t.NotRate || o.NotRate
	add(&t.Runs, &o.Runs)
	add(&t.Cases, &o.Cases)
	for i := range t.PassHatK {
		add(&t.PassHatK[i], &o.PassHatK[i])
		add(&t.PassAtK[i], &o.PassAtK[i])
	}
}

// reset removes all values, and keeps the memory.
func (m *Moments) reset() { *m = Moments{Sum: m.Sum[:0], Abs: m.Abs[:0], Squares: m.Squares[:0]} }

// Reset removes all cases, and keeps the memory.
func (t *Totals) Reset() {
	hat, at := t.PassHatK[:cap(t.PassHatK)], t.PassAtK[:cap(t.PassAtK)]
	for i := range hat {
		hat[i].reset()
		at[i].reset()
	}
	t.Runs.reset()
	t.Cases.reset()
	*t = Totals{Runs: t.Runs, Cases: t.Cases, PassHatK: hat[:0], PassAtK: at[:0]}
}

// Totals returns the totals of the sample.
func (s *Sample) Totals() *Totals {
	var all, cluster Totals
	var c CaseTotals
	for _, rows := range s.clusters {
		cluster.Reset()
		for i, r := range rows {
			c.Add(r.Value)
			if i+1 == len(rows) || rows[i+1].Case != r.Case {
				cluster.AddCase(&c)
				c.Reset()
			}
		}
		all.AddCluster(&cluster)
	}
	return &all
}

// Wilson returns [Sample.Wilson] of the runs.
func (t *Totals) Wilson(level float64) (Interval, error) {
	tail, err := tailOf(level)
	if t.NotBinary {
		err = cmp.Or(err, ErrNotBinary)
	}
	n := float64(t.Runs.N)
	return wilson(t.Runs.Sum.Value()/n, n, tail), err
}

// ClusterWilson returns [Sample.ClusterWilson] for Cases, or for one of PassHatK and PassAtK.
func (t *Totals) ClusterWilson(of *Moments, level float64) (Interval, error) {
	tail, err := tailOf(level)
	if t.NotRate {
		err = cmp.Or(err, ErrNotRate)
	}
	if err != nil {
		return Interval{}, err
	}
	trials := float64(t.Runs.N)
	if t.NotBinary {
		trials = math.Inf(1)
	}
	return of.wilson(trials, tail)
}

// wilson returns Wilson's interval of the mean, with the effective number of trials, at most the given one.
func (m *Moments) wilson(trials, tail float64) (Interval, error) {
	e, err := m.Cluster()
	if err != nil {
		return Interval{}, err
	}
	return wilson(e.Value, e.trials(e.Value*(1-e.Value), trials, tail), tail), nil
}
