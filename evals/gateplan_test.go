package evals_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/looptape/looptape/evals"
)

// TestGatePlan compares the planned false alarms and power with those of gates of drawn runs, whose
// cases have the rates .5 and .9.
func TestGatePlan(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	draw := func(share float64) *evals.Result {
		var lines []string
		for i := range 12 {
			rate := []float64{0.5, 0.9}[i%2] * share
			for range 6 {
				lines = append(lines, fmt.Sprintf("c%d m=%d", i, map[bool]int{true: 1}[rng.Float64() < rate]))
			}
		}
		return rowsOf(t, lines...)
	}
	most := 0.15
	for name, g := range map[string]*evals.Gate{
		"drop":     {Drop: 0.02, Detect: 0.14},
		"max drop": {Drop: 1, MaxDrop: map[string]float64{"": most}, Detect: 0.14},
	} {
		t.Run(name, func(t *testing.T) {
			var alarms, power, found, failed float64
			const gates, plans = 20, 2
			for i := range gates {
				base := baseline(t, draw(1))
				if i < plans {
					p, err := g.Plan(base, 200)
					if err != nil {
						t.Fatal(err)
					}
					m := p.Metrics["m"]
					if m.Cases != 12 || m.Runs != 6 {
						t.Fatalf("got %d cases and %d runs", m.Cases, m.Runs)
					}
					alarms += *m.FalseAlarms / plans
					for _, d := range m.Power {
						if d.Drop == 0.14 {
							power += d.Power / plans
						}
					}
				}
				if !evaluate(t, g, base, draw(1)).Passed {
					failed++
				}
				if !evaluate(t, g, base, draw(0.8)).Passed {
					found++
				}
			}
			if alarms > failed/gates+0.15 || alarms < failed/gates-0.15 {
				t.Errorf("planned %.3f false alarms, got %.3f", alarms, failed/gates)
			}
			if power > found/gates+0.25 || power < found/gates-0.25 {
				t.Errorf("planned the power %.3f, got %.3f", power, found/gates)
			}
		})
	}
}

// TestGatePlanMin: the gate always fails if the mean is far below the worst that passes, and never for that
// reason if it is far above.
func TestGatePlanMin(t *testing.T) {
	base := baseline(t, rowsOf(t, append(times(8, "a m=1", "b m=1"), times(8, "a m=0", "b m=0")...)...))
	for least, want := range map[float64]float64{0.01: 0, 0.99: 1} {
		p, err := (&evals.Gate{Drop: 1, Min: map[string]float64{"": least}}).Plan(base, 100)
		if err != nil {
			t.Fatal(err)
		}
		if got := *p.Metrics["m"].FalseAlarms; got != want {
			t.Errorf("min %v: got %v false alarms, want %v", least, got, want)
		}
	}
}

// TestGatePlanOfFewRuns checks that more runs find smaller drops, and what few runs cannot find.
func TestGatePlanOfFewRuns(t *testing.T) {
	p, err := (&evals.Gate{}).Plan(baseline(t, rowsOf(t, "a m=1 n=1", "b m=1 n=7", "c m=1 n=9")), 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := p.Metrics["n"]; ok {
		t.Error("single runs of numbers do not show how they vary: got a plan")
	}
	m := p.Metrics["m"]
	if m.FalseAlarms != nil || m.Power != nil {
		t.Error("got values of simulations")
	}
	last := 2.0
	for i, d := range m.Smallest {
		switch {
		case i == 0 && (d.Runs != 0 || d.Drop != nil):
			t.Errorf("three cases with one run: got %+v", d)
		case i > 0 && d.Drop == nil && d.Runs > 2:
			t.Errorf("%d runs: got none", d.Runs)
		case d.Drop != nil && *d.Drop >= last:
			t.Errorf("%d runs find %v, no less than %v", d.Runs, *d.Drop, last)
		case d.Drop != nil:
			last = *d.Drop
		}
	}
	if _, err := (&evals.Gate{Alpha: -1}).Plan(&evals.Baseline{}, 0); err == nil {
		t.Error("a wrong level: no error")
	}
}
