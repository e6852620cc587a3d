package evals_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/evals"
)

// compared compares runs, which may not fail, and returns the change of the score, without the lists
// of TestCompareLists.
func compared(t *testing.T, base, now string) object {
	t.Helper()
	c, err := evals.Compare(score(t, file("base", runs(base))), score(t, file("new", runs(now))), 0)
	all := shape(t, c, err)
	for _, m := range all["metrics"].(object) {
		delete(m.(object), "worse")
		delete(m.(object), "better")
	}
	return all
}

// TestCompareLists checks that each case whose rate changed is listed, the largest change first, also
// if it fails in both sets.
func TestCompareLists(t *testing.T) {
	c, err := evals.Compare(
		score(t, file("base", runs("c10/0=1 c10/1=0 c9/0=1 c9/1=0 half/0=1 half/1=1 half/2=0 half/3=0 same/0=1 same/1=0 up/0=0 lost/0=1"))),
		score(t, file("new", runs("c10/0=0 c10/1=0 c9/0=0 c9/1=0 half/0=0 half/1=1 half/2=0 half/3=0 same/0=0 same/1=1 up/0=1 lost/0=0"))), 0)
	if err != nil {
		t.Fatal(err)
	}
	m := c.Metrics["score"]
	var got []string
	for _, list := range [][]evals.CaseChange{m.Worse, m.Better} {
		for _, c := range list {
			got = append(got, fmt.Sprintf("%s %v to %v of %d and %d", c.Case, c.Base, c.New, c.BaseRuns, c.NewRuns))
		}
	}
	if diff := cmp.Diff([]string{
		"lost 1 to 0 of 1 and 1", "c9 0.5 to 0 of 2 and 2", "c10 0.5 to 0 of 2 and 2", "half 0.5 to 0.25 of 4 and 4", "up 0 to 1 of 1 and 1",
	}, got); diff != "" {
		t.Errorf("worse and better (-want +got):\n%s", diff)
	}
	c, err = evals.Compare(score(t, file("base", runs("a/0=3 b/0=1"))), score(t, file("new", runs("a/0=2 b/0=1"))), 0)
	if m := c.Metrics["score"]; err != nil || len(m.Worse)+len(m.Better) > 0 {
		t.Errorf("numbers of unknown direction: got %v and %v, %v", m.Worse, m.Better, err)
	}
}

// Four cases in single runs: a broke, b and c got fixed, d stayed. The differences −1, 1,
// 1, 0 have the mean ¼ and the variance 2.75/3: the paired error is √(2.75/12). Rates of
// ½ and ¾ have the variances ⅓ and ¼, which makes √(7/48) for others cases. t with three
// degrees of freedom is 3.18245. Of three that changed, one or fewer one way has the
// probability (1+3)/8, twice that is 1; mid-p counts the 3 of one by half, twice (1+3/2)/8. All eight
// signs give sums of 1 or 3. Tango's interval is that of TestTangoInverts.
func TestCompareByHand(t *testing.T) {
	got := compared(t, "a/0=1 b/0=0 c/0=0 d/0=1 gone/0=1 was/0=0", "d/0=1 c/0=1 b/0=1 a/0=0 came/0=1")
	near(t, object{
		"only_base": list{"gone", "was"}, "only_new": list{"came"}, "unreadable": list{},
		"metrics": object{"score": object{
			"pairs": 4., "base": 0.5, "new": 0.75, "difference": 0.25,
			"se":         object{"paired": 0.478714, "unpaired": 0.381881},
			"ci95":       object{"t": list{-1.273482, 1.773482}, "tango": list{-0.504687, 0.778338}, "unsuited_for_rates": list{"t"}},
			"p":          object{"mcnemar_exact": 1., "mcnemar_mid_p": 0.625, "permutation": 1., "holm": 0.625},
			"discordant": object{"only_base": 1., "only_new": 2.},
			"regressed":  list{"a"}, "fixed": list{"b", "c"},
			"missing": object{"base": 0., "new": 0.}, "errors": object{"base": 0., "new": 0.},
		}},
	}, got)
}

// With the sets exchanged every value has the opposite sign.
func TestCompareSwapped(t *testing.T) {
	got := compared(t, "d/0=1 c/0=1 b/0=1 a/0=0 came/0=1", "a/0=1 b/0=0 c/0=0 d/0=1")["metrics"].(object)["score"].(object)
	near(t, object{"difference": -0.25, "ci95": object{"t": list{-1.773482, 1.273482}, "tango": list{-0.778338, 0.504687}, "unsuited_for_rates": list{"t"}}, "regressed": list{"b", "c"}, "fixed": list{"a"}},
		object{"difference": got["difference"], "ci95": got["ci95"], "regressed": got["regressed"], "fixed": got["fixed"]})
}

// Of cases with several runs, the mean counts, and more than half of the runs decide
// whether they succeed.
func TestCompareEpochs(t *testing.T) {
	got := compared(t,
		"a/0=1 a/1=1 a/2=0 b/0=0 b/1=1 c/0=0 c/1=0 d/0=1",
		"a/0=0 a/1=0 a/2=1 b/0=1 b/1=1 c/0=1 c/1=1 c/2=0 c/3=1 d/0=1")
	near(t, object{
		"pairs": 4., "base": (2./3 + 0.5 + 0 + 1) / 4, "new": (1./3 + 1 + 0.75 + 1) / 4, "difference": (-1./3 + 0.5 + 0.75 + 0) / 4,
		"se": object{"paired": 0.243848, "unpaired": 0.261041}, "ci95": object{"t": list{-0.546866, 1.005200}, "tango": list{-0.393597, 0.694382}, "unsuited_for_rates": list{"t"}},
		"p":          object{"mcnemar_exact": nil, "mcnemar_mid_p": nil, "permutation": 0.5, "holm": 0.5},
		"discordant": object{"only_base": 1., "only_new": 1.},
		"regressed":  list{"a"}, "fixed": list{"c"},
		"missing": object{"base": 0., "new": 0.}, "errors": object{"base": 0., "new": 0.},
	}, got["metrics"].(object)["score"].(object))
}

// TestCompareUndefinedValues checks that unknown values are null and that omitted cases are counted.
func TestCompareUndefinedValues(t *testing.T) {
	none := object{"base": 0., "new": 0.}
	for name, c := range map[string]struct {
		base, now string
		want      object
	}{
		"one pair": {"a/0=1 b/0", `a/0=1 b/0=1 c/0="high"`, object{
			"pairs": 1., "base": 1., "new": 1., "difference": 0.,
			"se": object{"paired": nil, "unpaired": nil}, "ci95": object{"t": nil, "tango": nil},
			"p":          object{"mcnemar_exact": 1., "mcnemar_mid_p": 1., "permutation": 1., "holm": 1.},
			"discordant": object{"only_base": 0., "only_new": 0.}, "regressed": list{}, "fixed": list{},
			"missing": object{"base": 1., "new": 0.}, "errors": object{"base": 0., "new": 1.},
		}},
		"no pair": {"a/0=1 b/0", "a/0 b/0=1", object{
			"pairs": 0., "base": nil, "new": nil, "difference": nil,
			"se": object{"paired": nil, "unpaired": nil}, "ci95": object{"t": nil, "tango": nil},
			"p":          object{"mcnemar_exact": nil, "mcnemar_mid_p": nil, "permutation": nil, "holm": nil},
			"discordant": nil, "regressed": list{}, "fixed": list{},
			"missing": object{"base": 1., "new": 1.}, "errors": none,
		}},
		"no successes": {"a/0=0.5 b/0=1", "a/0=1 b/0=1", object{
			"pairs": 2., "base": 0.75, "new": 1., "difference": 0.25,
			"se": object{"paired": 0.25, "unpaired": 0.25}, "ci95": object{"t": list{-2.926551, 3.426551}, "tango": list{-0.572025, 0.802133}, "unsuited_for_rates": list{"t"}},
			"p":          object{"mcnemar_exact": nil, "mcnemar_mid_p": nil, "permutation": 1., "holm": 1.},
			"discordant": nil, "regressed": list{}, "fixed": list{},
			"missing": none, "errors": none,
		}},
		"all equal": {"a/0=1 b/0=1", "a/0=1 b/0=1", object{
			"pairs": 2., "base": 1., "new": 1., "difference": 0.,
			"se": object{"paired": 0., "unpaired": nil}, "ci95": object{"t": list{0., 0.}, "tango": list{-0.657620, 0.657620}, "unsuited_for_rates": list{"t"}},
			"p":          object{"mcnemar_exact": 1., "mcnemar_mid_p": 1., "permutation": 1., "holm": 1.},
			"discordant": object{"only_base": 0., "only_new": 0.}, "regressed": list{}, "fixed": list{},
			"missing": none, "errors": none,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			near(t, c.want, compared(t, c.base, c.now)["metrics"].(object)["score"].(object))
		})
	}
}

// set is a result of single runs, the scores of each case by metric.
func set(t *testing.T, name string, scores map[string]map[string]float64) *evals.Result {
	t.Helper()
	r := &evals.Result{}
	for c, by := range scores {
		r.Rows.Add(&evals.Row{Case: c, File: name, Run: c, Scores: evals.NewByName(by)})
	}
	whole, err := evals.Merge(r)
	if err != nil {
		t.Fatal(err)
	}
	return whole
}

// Cases of a cluster are correlated, so that McNemar's test is not valid: here all four cases of
// each of two texts regressed. That is one of four changes of two texts and has the probability ½,
// not 1 in 128.
func TestCompareClusters(t *testing.T) {
	var sets [2]*evals.Result
	for i, value := range []float64{1, 0} {
		r := &evals.Result{}
		for n := range 8 {
			name := fmt.Sprint(n)
			r.Rows.Add(&evals.Row{Case: name, Cluster: []string{"x", "y"}[n/4], Run: name, Scores: evals.NewByName(map[string]float64{"m": value})})
		}
		sets[i] = r
	}
	c, err := evals.Compare(sets[0], sets[1], 0)
	if err != nil {
		t.Fatal(err)
	}
	near(t, object{"mcnemar_exact": nil, "mcnemar_mid_p": nil, "permutation": 0.5, "holm": 0.5}, shape(t, c.Metrics["m"].P, nil))
}

// With several metrics the probabilities are corrected for their number: the smallest,
// half of two of 2⁶ signs, is tripled, and the next, 2·(1+6)/2⁶, is doubled. A metric without
// one does not count.
func TestCompareManyMetrics(t *testing.T) {
	base, now := map[string]map[string]float64{}, map[string]map[string]float64{}
	for i, c := range []string{"a", "b", "c", "d", "e", "f"} {
		base[c] = map[string]float64{"better": 0, "mixed": 0, "same": 1, "old": 1}
		now[c] = map[string]float64{"better": 1, "mixed": 2, "same": 1}
		if i == 0 {
			now[c]["mixed"] = -2
		}
	}
	c, err := evals.Compare(set(t, "base", base), set(t, "new", now), 0)
	if err != nil {
		t.Fatal(err)
	}
	got := object{}
	for name, m := range c.Metrics {
		got[name] = shape(t, m.P, nil)
	}
	near(t, object{
		"better": object{"mcnemar_exact": 2. / 64, "mcnemar_mid_p": 1. / 64, "permutation": 2. / 64, "holm": 3. / 64},
		"mixed":  object{"mcnemar_exact": nil, "mcnemar_mid_p": nil, "permutation": 14. / 64, "holm": 28. / 64},
		"same":   object{"mcnemar_exact": 1., "mcnemar_mid_p": 1., "permutation": 1., "holm": 1.},
		"old":    object{"mcnemar_exact": nil, "mcnemar_mid_p": nil, "permutation": nil, "holm": nil},
	}, got)
}

// Several sets are each compared with the base, and their probabilities corrected together:
// of 1/64 and 4/8 the smaller is doubled.
func TestCompareAll(t *testing.T) {
	one := func(name string, values ...float64) *evals.Result {
		cases := map[string]map[string]float64{}
		for i, v := range values {
			cases[fmt.Sprint(i)] = map[string]float64{"m": v}
		}
		return set(t, name, cases)
	}
	base := one("base", 0, 0, 0, 0, 0, 0)
	all, err := base.Compare([]*evals.Result{one("x", 1, 1, 1, 1, 1, 1), one("y", 0.5, 0.5)}, 0)
	if err != nil {
		t.Fatal(err)
	}
	var got list
	for _, c := range all {
		got = append(got, shape(t, c.Metrics["m"].P, nil), float64(len(c.OnlyBase)), float64(c.Together))
	}
	near(t, object{"all": list{
		object{"mcnemar_exact": 2. / 64, "mcnemar_mid_p": 1. / 64, "permutation": 2. / 64, "holm": 2. / 64}, 0., 2.,
		object{"mcnemar_exact": nil, "mcnemar_mid_p": nil, "permutation": 0.5, "holm": 0.5}, 4., 2.,
	}}, object{"all": got})
	_, err = base.Compare([]*evals.Result{base, set(t, "z", map[string]map[string]float64{"z": nil})}, 0)
	fails(t, err, "none of 6 and 1 cases is in both sets")
}

// TestCompareErrors covers sets that cannot be compared, and unreadable records of both sets.
func TestCompareErrors(t *testing.T) {
	_, err := evals.Compare(score(t, file("f", runs("a/0=1 b/0=1"))), score(t, file("g", runs("c/0=1"))), 0)
	fails(t, err, "none of 2 and 1 cases is in both sets: use the same names")
	_, err = evals.Compare(score(t), score(t), 0)
	fails(t, err, "none of 0 and 0 cases")

	row := func(cluster string) *evals.Result {
		return &evals.Result{Rows: evals.NewRows(evals.Row{Case: "a", Cluster: cluster, Scores: evals.NewByName(map[string]float64{"m": 1})})}
	}
	_, err = evals.Compare(row("x"), row("y"), 0)
	fails(t, err, `metric "m"`, `case "a"`, `"x"`, `"y"`)

	const broken = "{\"messages\":[7]}\n"
	c, err := evals.Compare(score(t, file("g", runs("a/0=1")+broken)), score(t, file("f", runs("a/0=1")+broken)), 0)
	if err != nil {
		t.Fatal(err)
	}
	want := []evals.Unreadable{{File: "f", Line: 2, Error: "messages[0]: expected an object"}, {File: "g", Line: 2, Error: "messages[0]: expected an object"}}
	if diff := cmp.Diff(want, c.Unreadable); diff != "" {
		t.Errorf("unreadable (-want +got):\n%s", diff)
	}
}
