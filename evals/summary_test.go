package evals_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/evals/stats"
)

// shape returns the JSON of statistics, decoded without types.
func shape(t *testing.T, v any, err error) map[string]any {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

type (
	object = map[string]any
	list   = []any
)

// near compares values to the number of their known digits.
func near(t *testing.T, want, got object) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 5e-5)); diff != "" {
		t.Errorf("statistics (-want +got):\n%s", diff)
	}
}

// Two cases ran twice; a succeeded twice and b once, so the mean is 3/4, over runs and over cases. Over
// runs, the squares of the distances from it are 3/16 + 9/16 in all: the variance is a quarter, and so
// the naive error ½/√4. The distances of a case add up to ½ and −½: CR0 is √½/4, and the clustered
// error √2 times that; so is the error of the case means 1 and ½. Half of what t with one degree of
// freedom exceeds is 12.7062. Resamples of the two cases have the means ½, ¾ and 1. Wilson's interval
// of 3 in 4 is a textbook's. By the error ¼, 1 + (3/16)/(1/16) = 4 runs are independent; with t of
// 3 degrees of freedom for 1, 1 + 3·(3.1824/12.7062)² are. Of two runs of a case both succeed in one
// case and not in the other, so pass^2 has the error ½, which is that of 2 runs. At least one succeeds
// in both, so each case is a run.
func TestSummaryByHand(t *testing.T) {
	f, err := score(t, file("f", runs("a/0=1 a/1=1 b/0=1 b/1=0"))).Summary(&stats.Resampling{})
	near(t, object{
		"runs": 4., "cases": 2., "epochs": 2., "unreadable": list{},
		"metrics": object{"score": object{
			"n": 4., "mean": 0.75, "missing": 0., "errors": 0., "se": 0.25,
			"ci95": object{
				"t": list{-2.42655, 3.92655}, "bootstrap": list{0.5, 1.}, "wilson": list{0.135192, 0.982927}, "unsuited_for_rates": list{"t", "bootstrap"},
				"pass_hat_k": list{list{0.135192, 0.982927}, list{0.094531, 0.905469}}, "pass_at_k": list{list{0.135192, 0.982927}, list{0.342380, 1.}},
			},
			"mean_of_runs": object{"value": 0.75, "se_naive": 0.25, "se_cluster_cr0": 0.176777, "se_cluster": 0.25, "wilson": list{0.300642, 0.954413}},
			"pass_hat_k":   list{0.75, 0.5}, "pass_at_k": list{0.75, 1.},
		}},
	}, shape(t, f, err))
}

// Each case has the same weight in the mean, whatever the number of its runs.
func TestSummaryOfUnequalRuns(t *testing.T) {
	f, err := score(t, file("f", runs("a/0=1 b/0=0 b/1=0 b/2=1 b/3=0"))).Summary(nil)
	if err != nil {
		t.Fatal(err)
	}
	m := f.Metrics["score"]
	near(t, object{"mean": 0.625, "of runs": 0.4, "se": 0.375}, object{"mean": *m.Mean, "of runs": *m.MeanOfRuns.Value, "se": *m.SE})
}

// TestSummaryUndefinedValues checks that undefined values are null.
func TestSummaryUndefinedValues(t *testing.T) {
	for name, c := range map[string]struct {
		runs string
		want object
	}{
		"one run": {"a/0=1", object{
			"n": 1., "mean": 1., "missing": 0., "errors": 0., "se": nil,
			"ci95":         object{"t": nil, "wilson": nil, "pass_hat_k": list{nil}, "pass_at_k": list{nil}},
			"mean_of_runs": object{"value": 1., "se_naive": nil, "se_cluster_cr0": nil, "se_cluster": nil, "wilson": list{0.206549, 1.}},
			"pass_hat_k":   list{1.}, "pass_at_k": list{1.},
		}},
		"one case": {"a/0=1 a/1=0", object{
			"n": 2., "mean": 0.5, "missing": 0., "errors": 0., "se": nil,
			"ci95":         object{"t": nil, "wilson": nil, "pass_hat_k": list{nil, nil}, "pass_at_k": list{nil, nil}},
			"mean_of_runs": object{"value": 0.5, "se_naive": 0.5, "se_cluster_cr0": nil, "se_cluster": nil, "wilson": list{0.094531, 0.905469}},
			"pass_hat_k":   list{0.5, 0.}, "pass_at_k": list{0.5, 1.},
		}},
		"not from 0 to 1": {"a/0=1 b/0=3", object{
			"n": 2., "mean": 2., "missing": 0., "errors": 0., "se": 1.,
			"ci95":         object{"t": list{-10.7062, 14.7062}, "wilson": nil},
			"mean_of_runs": object{"value": 2., "se_naive": 1., "se_cluster_cr0": 0.707107, "se_cluster": 1., "wilson": nil},
			"pass_hat_k":   nil, "pass_at_k": nil,
		}},
		"no value at all": {`a/0="high" b/0`, object{
			"n": 0., "mean": nil, "missing": 1., "errors": 1., "se": nil,
			"ci95":         object{"t": nil, "wilson": nil},
			"mean_of_runs": object{"value": nil, "se_naive": nil, "se_cluster_cr0": nil, "se_cluster": nil, "wilson": nil},
			"pass_hat_k":   nil, "pass_at_k": nil,
		}},
		"some without a value": {`a/0=1 a/1=1 a/2="high" a/3 b/0=1 b/1=0 b/2`, object{
			"n": 4., "mean": 0.75, "missing": 2., "errors": 1., "se": 0.25,
			"ci95": object{
				"t": list{-2.42655, 3.92655}, "wilson": list{0.135192, 0.982927}, "unsuited_for_rates": list{"t", "bootstrap"},
				"pass_hat_k": list{list{0.135192, 0.982927}, list{0.094531, 0.905469}}, "pass_at_k": list{list{0.135192, 0.982927}, list{0.342380, 1.}},
			},
			"mean_of_runs": object{"value": 0.75, "se_naive": 0.25, "se_cluster_cr0": 0.176777, "se_cluster": 0.25, "wilson": list{0.300642, 0.954413}},
			"pass_hat_k":   list{0.75, 0.5}, "pass_at_k": list{0.75, 1.},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := score(t, file("f", runs(c.runs))).Summary(nil)
			near(t, c.want, shape(t, f, err)["metrics"].(object)["score"].(object))
		})
	}
	f, err := score(t).Summary(nil)
	near(t, object{"runs": 0., "cases": 0., "epochs": 0., "metrics": object{}, "unreadable": list{}}, shape(t, f, err))
}

// TestSummaryClusters checks that cases of a cluster are correlated. A case in two clusters is an
// error.
func TestSummaryClusters(t *testing.T) {
	row := func(name, cluster string, epoch int, value float64) evals.Row {
		return evals.Row{Case: name, Cluster: cluster, Epoch: epoch, File: "f", Scores: evals.NewByName(map[string]float64{"m": value})}
	}
	r, err := evals.Merge(&evals.Result{Rows: evals.NewRows(row("a", "x", 0, 1), row("b", "x", 0, 1), row("c", "y", 0, 1), row("d", "y", 0, 0))})
	if err != nil {
		t.Fatal(err)
	}
	f, err := r.Summary(nil)
	if err != nil {
		t.Fatal(err)
	}
	near(t, object{"se": 0.25, "naive": 0.25}, object{"se": *f.Metrics["m"].SE, "naive": *f.Metrics["m"].MeanOfRuns.Naive})

	r, err = evals.Merge(&evals.Result{Rows: evals.NewRows(row("a", "x", 0, 1), row("a", "y", 1, 1))})
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.Summary(nil)
	fails(t, err, `case "a"`, `"x" and "y"`)
}

// Another seed draws others; the same draws the same.
func TestSeed(t *testing.T) {
	r := score(t, file("f", runs("a/0=0.1 b/0=0.75 c/0=0.3 d/0=0.9 e/0=0.45 f/0=0.2 g/0=0.6")))
	drawn := func(seed uint64) [2]float64 {
		f, err := r.Summary(&stats.Resampling{Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		return *f.Metrics["score"].CI95.Bootstrap
	}
	if a, b := drawn(0), drawn(0); a != b {
		t.Errorf("the seed 0 gives %v and %v", a, b)
	}
	if a, b := drawn(0), drawn(1); a == b {
		t.Errorf("the seeds 0 and 1 both give %v", a)
	}
}
