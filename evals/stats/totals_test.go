package stats_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/looptape/looptape/evals/stats"
)

// anyValue draws numbers of very different sizes, and rates.
func anyValue() *rapid.Generator[float64] {
	return rapid.OneOf(rapid.SampledFrom([]float64{0, 1, 0.1, 1e16, -1e16, 1e-20, 3}), rapid.Float64Range(-1e30, 1e30), rapid.Float64Range(0, 1))
}

// TestSumExact compares a mean with that of exact numbers. The last digit may differ, since it is rounded twice.
func TestSumExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var sum big.Float
		sum.SetPrec(3000)
		var values []float64
		for n := range rapid.SampledFrom([]int{1, 2, 4, 8, 16}).Draw(t, "values") { // a division by them is exact
			x := anyValue().Draw(t, fmt.Sprint(n))
			values = append(values, x)
			sum.Add(&sum, big.NewFloat(x))
		}
		want, _ := sum.Quo(&sum, big.NewFloat(float64(len(values)))).Float64()
		got := singles(t, values...).Mean()
		if got < math.Nextafter(want, math.Inf(-1)) || got > math.Nextafter(want, math.Inf(1)) {
			t.Errorf("got %v, want %v for %v", got, want, values)
		}
	})
}

// textsOf returns the statistics of totals, as texts that show each digit.
func textsOf(t *stats.Totals) (list []string) {
	add := func(values ...any) { list = append(list, fmt.Sprint(values...)) }
	estimates := func(m *stats.Moments) {
		naive, _ := m.Naive()
		cluster, _ := m.Cluster()
		add(m.Mean(), naive, cluster)
	}
	estimates(&t.Runs)
	add(t.Wilson(0.95))
	for i := range append([]stats.Moments{t.Cases}, t.PassHatK...) {
		m := &t.Cases
		if i > 0 {
			m = &t.PassHatK[i-1]
			estimates(&t.PassAtK[i-1])
		}
		estimates(m)
		add(t.ClusterWilson(m, 0.95))
	}
	return list
}

// TestTotals adds scores in any order, in parts of cases and of clusters and through JSON, and compares with those
// of the sample.
func TestTotals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.SampledFrom([]*rapid.Generator[float64]{rapid.SampledFrom([]float64{0, 1}), rapid.Float64Range(0, 1), anyValue()}).Draw(t, "kind")
		var rows []stats.Row
		for c := range rapid.IntRange(1, 8).Draw(t, "cases") {
			cluster := rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "cluster")
			for epoch := range rapid.IntRange(1, 5).Draw(t, "runs") {
				rows = append(rows, stats.Row{Case: fmt.Sprint(c), Epoch: epoch, Cluster: cluster, Value: value.Draw(t, "value")})
			}
		}
		sample := must(stats.New(rows))(t)
		cases, clusterOf := map[string]*stats.CaseTotals{}, map[string]string{}
		for _, r := range rapid.Permutation(sample.Rows()).Draw(t, "order") {
			one := &stats.CaseTotals{}
			one.Add(r.Value)
			if cases[r.Case] == nil {
				cases[r.Case] = &stats.CaseTotals{}
			}
			cases[r.Case].Merge(one)
			clusterOf[r.Case] = r.Cluster
		}
		clusters := map[string]*stats.Totals{}
		for name, c := range cases { // in any order
			one := &stats.Totals{}
			one.AddCase(through(t, c))
			if clusters[clusterOf[name]] == nil {
				clusters[clusterOf[name]] = &stats.Totals{}
			}
			clusters[clusterOf[name]].Merge(through(t, one))
		}
		parts := [2]stats.Totals{}
		for name, c := range clusters {
			parts[len(name)%2].AddCluster(c)
		}
		parts[0].Merge(through(t, &parts[1]))
		if diff := cmp.Diff(textsOf(sample.Totals()), textsOf(&parts[0])); diff != "" {
			t.Errorf("statistics (-sample +totals):\n%s", diff)
		}
	})
}

// through returns a value that was JSON.
func through[T any](t tb, value *T) *T {
	text, err := json.Marshal(value)
	got := new(T)
	if err == nil {
		err = json.Unmarshal(text, got)
	}
	if err != nil {
		t.Fatal(err)
	}
	return got
}
