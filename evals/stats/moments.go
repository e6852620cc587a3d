package stats

import (
	"fmt"
	"math"
)

// Moments are what the mean of values and its standard errors need. They take the same memory for any number of
// values, do not depend on their order, and are exact. The zero value is that of no values.
type Moments struct {
	N                 int
	Sum, Abs, Squares Sum `json:",omitempty"` // of the values, their absolute values and their squares

	// Of clusters with n values of the sum S: their number, and the sums of S², nS and n².
	Clusters                          int `json:",omitzero"`
	ClusterSquares, ClusterSums, Size Sum `json:",omitempty"`
}

// add adds a value.
func (m *Moments) add(x float64) {
	m.N++
	m.Sum.Add(x)
	m.Abs.Add(math.Abs(x))
	m.Squares.addProduct(x, x)
}

// addCluster adds the values of a cluster, which is not in m.
func (m *Moments) addCluster(values *Moments) {
	n := float64(values.N)
	m.N += values.N
	m.Sum.AddAll(values.Sum)
	m.Abs.AddAll(values.Abs)
	m.Squares.AddAll(values.Squares)
	m.Clusters++
	m.ClusterSquares.addProducts(values.Sum, values.Sum, 1)
	m.ClusterSums.addProducts(values.Sum, Sum{n}, 1)
	m.Size.addProduct(n, n)
}

// merge adds the values of o: other clusters, or other values of a cluster.
func (m *Moments) merge(o *Moments) {
	m.N += o.N
	m.Clusters += o.Clusters
	for _, add := range []struct {
		to   *Sum
		more Sum
	}{
		{&m.Sum, o.Sum}, {&m.Abs, o.Abs}, {&m.Squares, o.Squares},
		{&m.ClusterSquares, o.ClusterSquares}, {&m.ClusterSums, o.ClusterSums}, {&m.Size, o.Size},
	} {
		add.to.AddAll(add.more)
	}
}

// momentsOf returns the moments of clusters.
func momentsOf(clusters [][]Row) *Moments {
	m := &Moments{}
	for _, rows := range clusters {
		var values Moments
		for _, r := range rows {
			values.add(r.Value)
		}
		m.addCluster(&values)
	}
	return m
}

// Mean returns the mean of all values, of which there must be one.
func (m *Moments) Mean() float64 { return m.Sum.mean(float64(m.N)) }

// Naive returns the mean with the standard error of independent values, √(Σ(x−x̄)²/(N−1)/N), and
// N−1 degrees of freedom. Some tools divide by N instead of N−1, which makes the error smaller by
// √((N−1)/N). Naive needs two values.
func (m *Moments) Naive() (Estimate, error) {
	n := float64(m.N)
	if n < 2 {
		return Estimate{}, fmt.Errorf("standard error of one row: %w: score at least two runs", ErrTooFew)
	}
	return Estimate{Value: m.Mean(), SE: math.Sqrt(m.scatter() / (n - 1) / n), DF: n - 1}, nil
}

// scatter returns Σ(x−x̄)² = (NΣx² − (Σx)²)/N.
func (m *Moments) scatter() float64 {
	n := float64(m.N)
	var times Sum
	times.addProducts(m.Squares, Sum{n}, 1)
	times.addProducts(m.Sum, m.Sum, -1)
	return times.Value() / n
}

// ClusterCR0 returns the mean with the cluster-robust standard error √(Σ_c(Σ_i(x_ci−x̄))²)/N,
// without a correction for few clusters, and C−1 degrees of freedom for C clusters (Liang &
// Zeger, "Longitudinal data analysis using generalized linear models", Biometrika 73, 1986; for
// evals: Miller, "Adding error bars to evals", 2024). It needs two clusters.
func (m *Moments) ClusterCR0() (Estimate, error) {
	if m.Clusters < 2 {
		return Estimate{}, fmt.Errorf("clustered standard error of one cluster: %w: score at least two", ErrTooFew)
	}
	// N²Σ_c(S−nx̄)² = N²ΣS² − 2N(Σx)ΣnS + (Σx)²Σn².
	n := float64(m.N)
	var squares, square, mixed Sum
	square.addProducts(m.Sum, m.Sum, 1)
	mixed.addProducts(m.Sum, m.ClusterSums, -2)
	mixed.addProducts(m.ClusterSquares, Sum{n}, 1)
	squares.addProducts(mixed, Sum{n}, 1)
	squares.addProducts(square, m.Size, 1)
	se := math.Sqrt(max(0, squares.Value())) / n / n
	const lost = 1e-15 // part of the values that rounding loses
	if se <= lost*m.Abs.Value()/n {
		se = 0
	}
	return Estimate{Value: m.Mean(), SE: se, DF: float64(m.Clusters - 1)}, nil
}

// Cluster returns [Moments.ClusterCR0] with the standard error times √(C/(C−1)), which corrects
// for few clusters. It equals [Moments.Naive] if each value is a cluster.
func (m *Moments) Cluster() (Estimate, error) {
	e, err := m.ClusterCR0()
	if err == nil {
		e.SE *= math.Sqrt((e.DF + 1) / e.DF)
	}
	return e, err
}
