package stats_test

import (
	"fmt"
	"math"
	"strings"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/looptape/looptape/evals/stats"
)

// tb is what *testing.T and *rapid.T have in common.
type tb interface {
	Helper()
	Errorf(format string, args ...any)
	Fatal(args ...any)
}

// sample makes a sample with a case for each list of values, named 000 and so on.
func sample(t tb, cases ...[]float64) *stats.Sample {
	t.Helper()
	var rows []stats.Row
	for i, values := range cases {
		for epoch, v := range values {
			rows = append(rows, stats.Row{Case: fmt.Sprintf("%03d", i), Epoch: epoch, Value: v})
		}
	}
	return must(stats.New(rows))(t)
}

// singles makes a sample with a case for each value.
func singles(t tb, values ...float64) *stats.Sample {
	t.Helper()
	cases := make([][]float64, len(values))
	for i, v := range values {
		cases[i] = []float64{v}
	}
	return sample(t, cases...)
}

// must returns the value of a call that may not fail.
func must[T any](v T, err error) func(tb) T {
	return func(t tb) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// near compares numbers, and structs and lists of them, to this tolerance.
func near(t tb, what string, got, want any, tolerance float64) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(tolerance, tolerance)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// fails checks that an error contains all of these parts.
func fails(t tb, what string, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("%s: no error, want one with %q", what, parts)
		return
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%s: got error %q, want %q in it", what, err, part)
		}
	}
}

// value draws a score, often one that occurs twice.
func value() *rapid.Generator[float64] {
	return rapid.OneOf(rapid.SampledFrom([]float64{0, 1, 0.1, -2.5}), rapid.Float64Range(-1e3, 1e3))
}

// rows draws the rows of 2 cases or more, some of them in clusters, in two clusters at
// least.
func rows(t *rapid.T, value *rapid.Generator[float64]) (list []stats.Row) {
	for c, epochs := range rapid.SliceOfN(rapid.IntRange(1, 4), 2, 8).Draw(t, "epochs") {
		name, cluster := fmt.Sprint("case ", c), ""
		if c > 1 && rapid.Bool().Draw(t, "in a cluster") {
			cluster = fmt.Sprint("cluster ", c%2)
		}
		for e := range epochs {
			list = append(list, stats.Row{Case: name, Epoch: e, Cluster: cluster, Value: value.Draw(t, "value")})
		}
	}
	return list
}

// bits are the bits of numbers, which are compared where no digit may differ.
func bits(numbers ...float64) (list []uint64) {
	for _, x := range numbers {
		list = append(list, math.Float64bits(x))
	}
	return list
}
