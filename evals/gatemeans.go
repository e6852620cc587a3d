package evals

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/looptape/looptape/evals/stats"
	"github.com/looptape/looptape/internal/tabular"
)

// means tests the means of the checked metrics.
func (j *evaluation) means(names []string) error {
	names = slices.DeleteFunc(names, func(name string) bool { return !j.includes(name) })
	var tested []string
	var p []float64
	for _, name := range names {
		m, err := j.measure(name, len(names))
		if err != nil {
			return fmt.Errorf("metric %q: %w", name, err)
		}
		j.v.Metrics[name] = m
		if m.P != nil {
			tested, p = append(tested, name), append(p, *m.P)
		}
	}
	holm, err := stats.Holm(p)
	for i, name := range tested {
		m := j.v.Metrics[name]
		m.Holm = &holm[i]
		j.v.Metrics[name] = m
	}
	for _, name := range names {
		m := j.v.Metrics[name]
		if err = cmp.Or(err, j.report(name, &m)); err != nil {
			return fmt.Errorf("metric %q: %w", name, err)
		}
	}
	return err
}

// measure computes the change of a metric, one of several.
func (j *evaluation) measure(metric string, metrics int) (metricResult, error) {
	c := j.change.Metrics[metric]
	m := metricResult{Pairs: c.Pairs, Base: c.Base, New: c.New, Difference: c.Difference, CI95: c.CI95.Best(), Missing: c.Missing.New}
	base, now, difference, err := pair(j.base, j.now, scoreOf(metric))
	if difference == nil {
		return m, err
	}
	if err := j.test(&m, metric, base, now); err != nil {
		return m, err
	}
	m.Worse = j.worse(metric, base, now)
	return m, j.power(&m, metric, metrics, base, now)
}

// test computes the probability of a decline.
func (j *evaluation) test(m *metricResult, metric string, base, now *stats.Sample) error {
	w, err := stats.Within(base, now, stats.Resampling{Seed: j.Seed})
	if err != nil {
		return err
	}
	m.Test = w.Method
	switch {
	case j.decline(metric, *m.Difference) <= m.slack():
		m.P = new(1.0)
	case j.lower(metric):
		m.P = &w.Higher
	default:
		m.P = &w.Lower
	}
	return nil
}

// slack is the rounding loss of the difference.
func (m *metricResult) slack() float64 { return rounding * max(math.Abs(*m.Base), math.Abs(*m.New)) }

// usualPower is the probability of finding [metricResult.SmallestDrop].
const usualPower = 0.8

// power computes what the gate finds, from how the runs of each case vary in both sets.
func (j *evaluation) power(m *metricResult, metric string, metrics int, base, now *stats.Sample) error {
	runs := [2]map[string]int{base.Epochs(), now.Epochs()}
	s, err := stats.NewSimulator(base, now, func(name string) (int, int) { return runs[0][name], runs[1][name] })
	if errors.Is(err, stats.ErrTooFew) {
		return nil // it stays unknown
	}
	if err != nil {
		return err
	}
	t := j.dropTest(metric, metrics)
	t.Worst = nil // that a mean is below min is no drop
	r := stats.Resampling{Resamples: powerSimulations, Seed: j.Seed}
	drop, ok, err := s.Smallest(t, usualPower, r)
	if ok {
		m.SmallestDrop = &drop
	}
	if err != nil || j.Detect == 0 {
		return err
	}
	r.Resamples = detectSimulations
	power, err := s.Power(t, j.Detect, r)
	if m.Impossible = errors.Is(err, stats.ErrImpossible); m.Impossible {
		return nil
	}
	m.Power = &power
	return err
}

// dropTest returns the test of a metric, one of several. The level is that of the smallest of their
// probabilities.
func (g *Gate) dropTest(metric string, metrics int) stats.DropTest {
	t := stats.DropTest{Alpha: g.alpha() / float64(metrics), Least: g.Drop, Rise: g.lower(metric)}
	if most, ok := setting(g.MaxDrop, metric); ok {
		t.Most = &most
	}
	if worst, ok := g.floor(metric); ok {
		t.Worst = &worst
	}
	return t
}

// Numbers of simulations: of each drop in the search of the smallest that is found, and of [Gate.Detect]. The
// standard errors of a power of 0.8 are 0.025 and 0.008.
const (
	powerSimulations  = 250
	detectSimulations = 2500
)

func (g *Gate) alpha() float64 {
	const usual = 0.05
	return cmp.Or(g.Alpha, usual)
}

// lower reports whether less is better.
func (g *Gate) lower(metric string) bool { return slices.Contains(g.Lower, metric) }

// decline returns by how much a metric got worse.
func (j *evaluation) decline(metric string, difference float64) float64 {
	if j.lower(metric) {
		return difference
	}
	return -difference
}

// worse returns the cases whose mean declined, the largest decline first.
func (j *evaluation) worse(metric string, base, now *stats.Sample) []CaseChange {
	list := slices.DeleteFunc(caseChanges(base, now), func(c CaseChange) bool { return j.decline(metric, c.Difference) <= 0 })
	j.locate(metric, list)
	return list
}

// locate sets the positions of the worst new runs of cases.
func (j *evaluation) locate(metric string, list []CaseChange) {
	at := map[string]*CaseChange{}
	for i := range list {
		at[list[i].Case] = &list[i]
	}
	worst := map[string]float64{}
	for r := range j.now.Rows.scan() {
		value, scored := r.Scores.Get(metric)
		c := at[r.Case]
		if c == nil || !scored {
			continue
		}
		if before, ok := worst[r.Case]; !ok || j.decline(metric, value-before) > 0 {
			worst[r.Case], c.File, c.Line = value, r.File, r.Line
		}
	}
}

// report records the findings about the mean of a metric.
func (j *evaluation) report(metric string, m *metricResult) error {
	found := func(kind, format string, args ...any) { j.found(&Row{}, kind, metric, format, args...) }
	if m.Difference != nil {
		fall, slack := j.decline(metric, *m.Difference), m.slack()
		if fall >= j.Drop-slack && *m.Holm < j.alpha()*(1-rounding) { // Holm is 1 without a decline
			found(KindDrop, "the mean of %d cases went from %.4f to %.4f, p %s", m.Pairs, *m.Base, *m.New, probability(*m.Holm))
		}
		if most, ok := setting(j.MaxDrop, metric); ok && fall > most+slack {
			found(KindMaxDrop, "the mean of %d cases went from %.4f to %.4f, by more than max_drop %v", m.Pairs, *m.Base, *m.New, most)
		}
		switch {
		case j.RequirePower == 0 || m.Impossible:
		case m.Power == nil:
			found(KindPower, "nothing shows how runs of a case vary, so that the power is unknown, require_power is %v: score each case several times", j.RequirePower)
		case *m.Power < j.RequirePower:
			found(KindPower, "the gate finds a drop of %v with a probability of %.2f, less than require_power %v: use more runs or cases", j.Detect, *m.Power, j.RequirePower)
		}
	}
	if m.Difference == nil && j.RequirePower > 0 {
		found(KindPower, "no case has a score in the baseline and in the runs, so that no drop is found, require_power is %v: write the baseline again with --update", j.RequirePower)
	}
	return j.worst(metric, found)
}

// probability formats a p-value after "p".
func probability(p float64) string {
	text := tabular.Probability(&p)
	if strings.HasPrefix(text, "<") {
		return "< " + text[1:]
	}
	return "= " + text
}

// setting returns the setting of a metric, or else of all.
func setting(by map[string]float64, metric string) (float64, bool) {
	if x, ok := by[metric]; ok {
		return x, true
	}
	x, ok := by[""]
	return x, ok
}

// floor returns the worst mean of a metric that passes.
func (g *Gate) floor(metric string) (float64, bool) {
	if x, ok := g.Min[metric]; ok {
		return x, true
	}
	x, ok := g.Min[""]
	return x, ok && !g.lower(metric)
}

// worst compares the mean of all new cases with the worst that passes.
func (j *evaluation) worst(metric string, found func(kind, format string, args ...any)) error {
	least, ok := j.floor(metric)
	if !ok {
		return nil
	}
	s, err := j.now.sample(metric)
	if s == nil {
		found(KindMin, "no run has a score, min is %v", least)
		return err
	}
	mean := s.CaseMeans().Mean()
	if j.decline(metric, mean-least) > rounding*max(math.Abs(mean), math.Abs(least)) {
		found(KindMin, "the mean of %d cases is %.4f, min is %v", s.Cases(), mean, least)
	}
	return nil
}
