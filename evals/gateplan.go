package evals

import (
	"errors"
	"fmt"
	"slices"

	"github.com/looptape/looptape/evals/stats"
)

// GatePlan describes by metric what a gate finds in runs that vary as those of a baseline do. Its JSON
// is the output of `looptape eval gate --simulate --format json`.
type GatePlan struct {
	Simulations int                   `json:"simulations"`
	Metrics     map[string]metricPlan `json:"metrics"`
}

// metricPlan is the plan of a metric.
type metricPlan struct {
	Cases int `json:"cases"`
	// Runs is the smallest number of runs of a case. With one run of each case, all cases count as
	// equally difficult, since nothing shows how much of the variation is between them.
	Runs int `json:"runs"`
	// FalseAlarms is the probability that the gate fails though nothing has changed; nil without
	// simulations.
	FalseAlarms *float64 `json:"false_alarms,omitempty"`
	// Power is the probability of finding each drop; empty without simulations.
	Power []dropPower `json:"power,omitempty"`
	// Smallest are the smallest drops that the gate finds with a probability of 0.8, with the present
	// numbers of runs first.
	Smallest []dropOfRuns `json:"smallest_drops"`
}

// dropPower is the probability of finding a drop.
type dropPower struct {
	Drop  float64 `json:"drop"`
	Power float64 `json:"power"`
}

// dropOfRuns is the smallest drop that a gate finds with a number of runs of each case; nil means none.
type dropOfRuns struct {
	Runs int      `json:"runs"` // of each case in both sets; 0 means the numbers of the baseline
	Drop *float64 `json:"drop"`
}

// Plan returns what the gate finds, if the baseline and later runs vary as the baseline does. With
// simulations, it computes the false alarms and the power for Detect and other drops. It returns an
// error for invalid settings, and omits metrics whose runs do not show how they vary.
func (g *Gate) Plan(base *Baseline, simulations int) (*GatePlan, error) {
	if err := g.check(); err != nil {
		return nil, err
	}
	r := base.result()
	if err := g.known(r.metrics()); err != nil {
		return nil, err
	}
	names := slices.DeleteFunc(r.metrics(), func(name string) bool { return !g.includes(name) })
	p := &GatePlan{Simulations: simulations, Metrics: map[string]metricPlan{}}
	for _, name := range names {
		s, err := r.sample(name)
		if err != nil {
			return nil, err
		}
		if s == nil {
			continue
		}
		m := metricPlan{Cases: s.Cases(), Runs: s.FewestEpochs()}
		switch err := g.plan(&m, s, g.dropTest(name, len(names)), simulations); {
		case errors.Is(err, stats.ErrTooFew):
		case err != nil:
			return nil, fmt.Errorf("metric %q: %w", name, err)
		default:
			p.Metrics[name] = m
		}
	}
	return p, nil
}

// plan computes the plan of a metric.
func (g *Gate) plan(m *metricPlan, s *stats.Sample, t stats.DropTest, simulations int) error {
	epochs := s.Epochs()
	r := stats.Resampling{Resamples: powerSimulations, Seed: g.Seed}
	for _, runs := range []int{0, 2, 4, 8, 16} {
		if runs > 0 && runs <= m.Runs {
			continue
		}
		sim, err := stats.NewSimulator(s, nil, func(name string) (int, int) {
			if runs == 0 {
				return epochs[name], epochs[name]
			}
			return runs, runs
		})
		if err != nil {
			return err
		}
		only := t
		only.Worst = nil // that a mean is below min is no drop
		drop, ok, err := sim.Smallest(only, usualPower, r)
		if err != nil {
			return err
		}
		one := dropOfRuns{Runs: runs}
		if ok {
			one.Drop = &drop
		}
		m.Smallest = append(m.Smallest, one)
		if runs == 0 && simulations > 0 {
			if err := g.simulate(m, sim, t, stats.Resampling{Resamples: simulations, Seed: g.Seed}); err != nil {
				return err
			}
		}
	}
	return nil
}

// simulate computes the false alarms and the power.
func (g *Gate) simulate(m *metricPlan, sim *stats.Simulator, t stats.DropTest, r stats.Resampling) error {
	p, err := sim.Simulate(t, 0, r)
	if err != nil {
		return err
	}
	m.FalseAlarms = &p
	drops := []float64{0.02, 0.05, 0.1, 0.2}
	if g.Detect > 0 {
		drops = append(drops, g.Detect)
	}
	slices.Sort(drops)
	for _, drop := range slices.Compact(drops) {
		// A drop of more than the mean is impossible.
		if p, err := sim.Simulate(t, drop, r); err == nil {
			m.Power = append(m.Power, dropPower{drop, p})
		}
	}
	return nil
}
