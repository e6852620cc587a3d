package evals

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/looptape/looptape/evals/stats"
)

// Comparison contains the changes from a base to a new set of runs. Its JSON is the output of
// `looptape eval compare --format json`; nil values are null.
type Comparison struct {
	// Metrics are the metrics with a score or an error in either set.
	Metrics map[string]Change `json:"metrics"`
	// Tags are the changes of the cases with each tag. Their corrected probabilities are those of all
	// metrics, tags and sets together.
	Tags map[string]map[string]Change `json:"tags,omitempty"`
	// OnlyBase and OnlyNew are the cases of one set only. They do not count.
	OnlyBase   []string     `json:"only_base"`
	OnlyNew    []string     `json:"only_new"`
	Unreadable []Unreadable `json:"unreadable"` // of both sets
	// Resources are the changes by measure, and Tools by tool (the 200 with most calls). Measures
	// without data are omitted.
	Resources map[string]resourceChange `json:"resources,omitempty"`
	Tools     map[string]toolChange     `json:"tools,omitempty"`

	// Together is the number of sets that were compared with the base; see [Result.Compare].
	Together int `json:"-"`
}

// Change is the change of one metric. Its values are those of the cases with a score in both
// sets; a case with several runs counts by their mean.
type Change struct {
	Pairs      int        `json:"pairs"`
	Base       *float64   `json:"base"` // mean
	New        *float64   `json:"new"`
	Difference *float64   `json:"difference"` // New − Base
	SE         pairErrors `json:"se"`
	CI95       pairBounds `json:"ci95"`
	P          pValues    `json:"p"`
	// Discordant counts Regressed and Fixed. It is nil if a score is neither 0 nor 1.
	Discordant *discordant `json:"discordant"`
	// Regressed are the cases that passed in the base and fail in the new set; Fixed are the
	// opposite. A case with several runs passes if more than half of them pass, and fails if
	// fewer do. A run passes with the score 1, or with 0 if less is better.
	Regressed []string `json:"regressed"`
	Fixed     []string `json:"fixed"`
	// Worse and Better are the cases with a lower and a higher rate, or the opposite if less is better, the
	// largest change first, if all scores are 0 or 1.
	Worse  []CaseChange `json:"worse"`
	Better []CaseChange `json:"better"`
	// Missing and Errors count runs as in Metric, in each set.
	Missing perSet `json:"missing"`
	Errors  perSet `json:"errors"`
}

// pairErrors are the standard errors of a difference; see package stats.
type pairErrors struct {
	Paired   *float64 `json:"paired"`
	Unpaired *float64 `json:"unpaired"` // for sets of different cases
}

// pairBounds are 95 % intervals of the difference; see package stats.
type pairBounds struct {
	// Tango is the score interval, for scores from 0 to 1. The tables show it, or else T.
	Tango *[2]float64 `json:"tango"`
	T     *[2]float64 `json:"t"` // with the paired error
	// Unsuited are the intervals that do not keep their level for rates. It is empty unless all scores are
	// from 0 to 1.
	Unsuited []string `json:"unsuited_for_rates,omitempty"`
}

// Best returns Tango, or else T.
func (b *pairBounds) Best() *[2]float64 { return cmp.Or(b.Tango, b.T) }

// pValues are the two-sided probabilities of a difference at least as large without a real
// change; see package stats.
type pValues struct {
	// McNemarMidP and McNemarExact are nil if a case has several runs, cases share a cluster, or a
	// score is neither 0 nor 1.
	McNemarMidP  *float64 `json:"mcnemar_mid_p"`
	McNemarExact *float64 `json:"mcnemar_exact"`
	Permutation  *float64 `json:"permutation"` // signs flipped by cluster
	// Holm is the value of Best, corrected for the number of metrics and of compared sets.
	Holm *float64 `json:"holm"`
}

// Best returns McNemarMidP, or else Permutation.
func (p *pValues) Best() *float64 { return cmp.Or(p.McNemarMidP, p.Permutation) }

// discordant counts the cases that fail in one set and pass in the other.
type discordant struct {
	OnlyBase int `json:"only_base"`
	OnlyNew  int `json:"only_new"`
}

type perSet struct {
	Base int `json:"base"`
	New  int `json:"new"`
}

// Compare compares each of the other results with r, the base, by their cases, and corrects all
// probabilities together. Randomness starts from the seed. Less is better for the metrics in lower. Compare
// returns an error for sets without a common case, and for a case in two clusters.
func (r *Result) Compare(others []*Result, seed uint64, lower ...string) ([]*Comparison, error) {
	all := make([]*Comparison, len(others))
	for i, other := range others {
		c, err := compare(r, other, seed)
		if err == nil {
			c.Unreadable = append(r.Unread(), other.Unread()...)
			sortUnreadable(c.Unreadable)
			c.Resources, err = resourceChanges(r, other, measures)
		}
		if err == nil {
			c.Tools, err = toolChanges(r, other)
		}
		if err == nil {
			err = c.byTag(r, other, seed)
		}
		if err != nil {
			return nil, err
		}
		c.Together = len(others)
		c.turn(lower)
		all[i] = c
	}
	var sets, tags []map[string]Change
	for _, c := range all {
		sets = append(sets, c.Metrics)
		for _, tag := range slices.Sorted(maps.Keys(c.Tags)) {
			tags = append(tags, c.Tags[tag])
		}
	}
	return all, cmp.Or(correct(sets), correct(tags))
}

// turn exchanges what got worse and what got better by the metrics for which less is better.
func (c *Comparison) turn(lower []string) {
	for _, changes := range slices.Concat([]map[string]Change{c.Metrics}, slices.Collect(maps.Values(c.Tags))) {
		for _, metric := range lower {
			if m, ok := changes[metric]; ok {
				m.Worse, m.Better, m.Regressed, m.Fixed = m.Better, m.Worse, m.Fixed, m.Regressed
				changes[metric] = m
			}
		}
	}
}

// byTag compares the cases with each tag in either set.
func (c *Comparison) byTag(base, other *Result, seed uint64) error {
	tags := append(base.Tags(), other.Tags()...)
	slices.Sort(tags)
	for _, tag := range slices.Compact(tags) {
		cases := map[string]bool{}
		maps.Copy(cases, base.Tagged(tag).caseNames())
		maps.Copy(cases, other.Tagged(tag).caseNames())
		has := func(r *Row) bool { return cases[r.Case] }
		b, o := base.where(has), other.where(has)
		if len(missingCases(o, b)) == b.numCases() {
			continue // the lists of cases in one set only name them
		}
		part, err := compare(b, o, seed)
		if err != nil {
			return err
		}
		if c.Tags == nil {
			c.Tags = map[string]map[string]Change{}
		}
		c.Tags[tag] = part.Metrics
	}
	return nil
}

// compare compares the metrics of two results without the correction.
func compare(base, other *Result, seed uint64) (*Comparison, error) {
	c := &Comparison{Metrics: map[string]Change{}}
	c.OnlyBase, c.OnlyNew = missingCases(other, base), missingCases(base, other)
	if len(c.OnlyBase) == base.numCases() {
		return nil, noCommonCase(base, other)
	}
	var err error
	names := slices.Concat(base.metrics(), other.metrics())
	slices.Sort(names)
	for _, metric := range slices.Compact(names) {
		if c.Metrics[metric], err = changeOf(base, other, metric, seed); err != nil {
			return nil, fmt.Errorf("metric %q: %w", metric, err)
		}
	}
	return c, nil
}

func noCommonCase(base, other *Result) error {
	return fmt.Errorf("none of %d and %d cases is in both sets: use the same names", base.numCases(), other.numCases())
}

// missingCases returns the cases of a result that r does not have.
func missingCases(r, of *Result) []string {
	have := r.caseNames()
	lacking := []string{}
	for runs := range of.Cases() {
		if !have[runs[0].Case] {
			lacking = append(lacking, runs[0].Case)
		}
	}
	return lacking
}

// correct sets the p-values that are corrected for the number of tests.
func correct(all []map[string]Change) error {
	type test struct {
		in   map[string]Change
		name string
	}
	var tests []test
	var p []float64
	for _, c := range all {
		for _, name := range slices.Sorted(maps.Keys(c)) {
			change := c[name]
			if best := change.P.Best(); best != nil {
				tests = append(tests, test{c, name})
				p = append(p, *best)
			}
		}
	}
	holm, err := stats.Holm(p)
	for i, t := range tests {
		change := t.in[t.name]
		change.P.Holm = &holm[i]
		t.in[t.name] = change
	}
	return err
}

func changeOf(base, other *Result, metric string, seed uint64) (Change, error) {
	c := Change{Regressed: []string{}, Fixed: []string{}, Worse: []CaseChange{}, Better: []CaseChange{}}
	c.Missing.Base, c.Errors.Base = base.unscored(metric)
	c.Missing.New, c.Errors.New = other.unscored(metric)
	b, n, difference, err := pair(base, other, scoreOf(metric))
	if difference == nil {
		return c, err
	}
	c.measure(b, n, difference, seed)
	return c, c.classify(b, n)
}

// pair returns the samples of the cases with a value in both sets and their difference, or nil
// without such a case.
func pair(base, other *Result, of valueOf) (b, o, difference *stats.Sample, err error) {
	rows := [2][]stats.Row{base.values(of), other.values(of)}
	for i := range rows {
		have := map[string]bool{}
		for _, r := range rows[1-i] {
			have[r.Case] = true
		}
		rows[i] = slices.DeleteFunc(rows[i], func(r stats.Row) bool { return !have[r.Case] })
	}
	if len(rows[0]) == 0 {
		return nil, nil, nil, nil
	}
	if b, err = stats.New(rows[0]); err != nil {
		return nil, nil, nil, err
	}
	if o, err = stats.New(rows[1]); err != nil {
		return nil, nil, nil, err
	}
	pairs, err := stats.Pair(b, o)
	return b, o, pairs.Difference, err
}

// measure computes the difference and its uncertainty.
func (c *Change) measure(base, other, difference *stats.Sample, seed uint64) {
	c.Pairs = difference.Len()
	b, o := base.CaseMeans(), other.CaseMeans()
	c.Base, c.New, c.Difference = new(b.Mean()), new(o.Mean()), new(difference.Mean())
	c.SE = pairErrors{Paired: known(se(difference.Cluster()))}
	before, _ := b.Cluster() // without clusters, neither is valid
	after, _ := o.Cluster()
	c.SE.Unpaired = known(se(stats.Unpaired(before, after)))
	c.CI95 = pairBounds{Tango: known(ends(stats.Tango(base, other, level))), T: known(ends(t(difference.Cluster())))}
	if c.CI95.Tango != nil {
		c.CI95.Unsuited = []string{"t"}
	}
	if flip, err := difference.SignFlip(stats.Resampling{Seed: seed}); err == nil {
		c.P.Permutation = &flip.P
	}
}

// classify finds the regressed and the fixed cases if all scores are 0 or 1. Both samples have the
// same cases.
func (c *Change) classify(base, other *stats.Sample) error {
	if !binary(base) || !binary(other) {
		return nil
	}
	for _, change := range caseChanges(base, other) {
		if change.Difference < 0 {
			c.Worse = append(c.Worse, change)
		} else {
			c.Better = append(c.Better, change)
		}
	}
	now := other.CaseMeans().Rows()
	for i, was := range base.CaseMeans().Rows() {
		const half = 0.5
		switch {
		case was.Value > half && now[i].Value < half:
			c.Regressed = append(c.Regressed, was.Case)
		case was.Value < half && now[i].Value > half:
			c.Fixed = append(c.Fixed, was.Case)
		}
	}
	slices.Sort(c.Regressed)
	slices.Sort(c.Fixed)
	c.Discordant = &discordant{len(c.Regressed), len(c.Fixed)}
	if !mcnemar(base, other) {
		return nil
	}
	exact, midP, err := stats.McNemar(len(c.Regressed), len(c.Fixed))
	c.P.McNemarExact, c.P.McNemarMidP = &exact, &midP
	return err
}

// mcnemar reports whether McNemar's test is valid: for independent single runs that pass or fail.
func mcnemar(base, other *stats.Sample) bool {
	return binary(base) && binary(other) && base.Clusters() == base.Len() && other.Len() == base.Len()
}

// binary reports whether all values are 0 or 1.
func binary(s *stats.Sample) bool {
	_, err := s.Wilson(level)
	return err == nil
}
