package stats_test

import (
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/looptape/looptape/evals/stats"
)

// TestPair is worked out on paper: the means of a are 1/2 and 1, those of b 1 and 0,
// those of c 0 and 1/4. The differences 1/2, −1 and 1/4 have the mean −1/12; their
// squared distances are 49/144, 121/144 and 16/144, together 186/144, so that the
// variance is 93/144 and the error √(31/144).
func TestPair(t *testing.T) {
	base := must(stats.New([]stats.Row{
		{Case: "c", Cluster: "k", Value: 0}, {Case: "b", Value: 1}, {Case: "a", Value: 1}, {Case: "a", Epoch: 1, Value: 0},
		{Case: "y"}, {Case: "x"},
	}))(t)
	other := must(stats.New([]stats.Row{
		{Case: "a", Epoch: 9, Value: 1}, {Case: "b", Value: 0}, {Case: "w", Value: 1}, {Case: "c", Cluster: "k", Value: 0.5},
		{Case: "c", Epoch: 1, Cluster: "k", Value: 0},
	}))(t)
	p := must(stats.Pair(base, other))(t)
	want := []stats.Row{
		{Case: "a", Cluster: "a", Value: 0.5}, {Case: "b", Cluster: "b", Value: -1}, {Case: "c", Cluster: "k", Value: 0.25},
	}
	if diff := cmp.Diff(want, p.Difference.Rows()); diff != "" {
		t.Errorf("differences (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([][]string{{"x", "y"}, {"w"}}, [][]string{p.OnlyBase, p.OnlyOther}); diff != "" {
		t.Errorf("cases without a pair (-want +got):\n%s", diff)
	}
	near(t, "difference", must(p.Difference.Naive())(t), stats.Estimate{Value: -1.0 / 12, SE: math.Sqrt(31.0 / 144), DF: 2}, 1e-14)
}

func TestPairRefuses(t *testing.T) {
	a := must(stats.New([]stats.Row{{Case: "a"}}))(t)
	_, err := stats.Pair(a, singles(t, 1, 2))
	fails(t, "nothing in common", err, "pairs of 1 and 2 cases", "use the same names")
	if !errors.Is(err, stats.ErrTooFew) {
		t.Errorf("got %v, want ErrTooFew", err)
	}
	_, err = stats.Pair(a, must(stats.New([]stats.Row{{Case: "a", Cluster: "x"}}))(t))
	fails(t, "clusters", err, `case "a" is in the cluster "a" of the base and in "x" of the other sample`)
}

// TestPairSwapped checks that an exchanged pair is the same with the opposite sign,
// and that a sample paired with itself has no difference.
func TestPairSwapped(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		one := must(stats.New(rows(t, value())))(t)
		moved := one.Rows()
		for i := range moved {
			moved[i].Value = value().Draw(t, "value")
		}
		other := must(stats.New(moved))(t)
		there, back := must(stats.Pair(one, other))(t).Difference, must(stats.Pair(other, one))(t).Difference
		for i, r := range there.Rows() {
			if r.Value != -back.Rows()[i].Value {
				t.Errorf("case %s: %v there, %v back", r.Case, r.Value, back.Rows()[i].Value)
			}
		}
		if e := must(must(stats.Pair(one, one))(t).Difference.Cluster())(t); e.Value != 0 || e.SE != 0 {
			t.Errorf("a sample differs from itself by %v", e)
		}
	})
}

// TestUnpaired compares with a textbook's two samples (Welch's test as R documents it,
// t.test(extra ~ group, data = sleep): t = −1.8608, df = 17.776).
func TestUnpaired(t *testing.T) {
	one := must(singles(t, 0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0, 2).Naive())(t)
	two := must(singles(t, 1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4).Naive())(t)
	e := must(stats.Unpaired(two, one))(t)
	near(t, "t, df, difference", []float64{e.Value / e.SE, e.DF, e.Value}, []float64{-1.8608, 17.776, -1.58}, 3e-5)
	near(t, "the other way round", must(stats.Unpaired(one, two))(t), stats.Estimate{Value: -e.Value, SE: e.SE, DF: e.DF}, 1e-15)

	// Where only one has an error, its degrees of freedom are left.
	sure := stats.Estimate{Value: 1, DF: 3}
	near(t, "one is sure", must(stats.Unpaired(sure, one))(t), stats.Estimate{Value: one.Value - 1, SE: one.SE, DF: 9}, 1e-15)
	near(t, "the other is sure", must(stats.Unpaired(one, sure))(t), stats.Estimate{Value: 1 - one.Value, SE: one.SE, DF: 9}, 1e-15)

	_, err := stats.Unpaired(sure, sure)
	fails(t, "both are sure", err, "without error")
	if !errors.Is(err, stats.ErrTooFew) {
		t.Errorf("got %v, want ErrTooFew", err)
	}
	for _, pair := range [][2]stats.Estimate{{{}, one}, {one, {}}} {
		_, err := stats.Unpaired(pair[0], pair[1])
		fails(t, "no estimate", err, "degrees of freedom")
	}
}
