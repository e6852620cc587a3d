package stats

import "math"

// Sum is the exact sum of numbers, in parts that do not overlap, the smallest first (Shewchuk, "Adaptive
// precision floating-point arithmetic and fast robust geometric predicates", Discrete & Computational Geometry
// 18, 1997). So it does not depend on the order of the numbers. Products below about 1e-290 are rounded.
type Sum []float64

// Add adds a number.
func (s *Sum) Add(x float64) {
	parts := (*s)[:0]
	for _, y := range *s {
		high := x + y
		back := high - x
		if low := (x - (high - back)) + (y - back); low != 0 {
			parts = append(parts, low)
		}
		x = high
	}
	if x != 0 {
		parts = append(parts, x)
	}
	*s = parts
}

func (s *Sum) addProduct(x, y float64) {
	p := x * y
	s.Add(p)
	if rest := math.FMA(x, y, -p); rest != 0 {
		s.Add(rest)
	}
}

// AddAll adds another sum.
func (s *Sum) AddAll(o Sum) {
	for _, x := range o {
		s.Add(x)
	}
}

// addProducts adds the product of two sums and a number.
func (s *Sum) addProducts(a, b Sum, factor float64) {
	if len(a) == 1 && len(b) == 1 && factor == 1 {
		s.addProduct(a[0], b[0])
		return
	}
	for _, x := range a {
		var row Sum
		for _, y := range b {
			row.addProduct(x, y)
		}
		for _, z := range row {
			s.addProduct(z, factor)
		}
	}
}

// Value returns the number nearest to the sum.
func (s Sum) Value() float64 {
	n := len(s)
	if n == 0 {
		return 0
	}
	high, low := s[n-1], 0.0
	for n--; n > 0 && low == 0; n-- {
		x := high
		high = x + s[n-1]
		low = s[n-1] - (high - x)
	}
	// If low is half of the last digit of high, the sign of the next part decides.
	if n > 0 && (low < 0) == (s[n-1] < 0) {
		if twice := 2 * low; high+twice-high == twice {
			high += twice
		}
	}
	return high
}

// mean also divides the remainder of the first division, so that the mean of n equal numbers is that number.
func (s Sum) mean(n float64) float64 {
	high := s.Value()
	rest := append(Sum(nil), s...)
	rest.Add(-high)
	m := high / n
	return m + (math.FMA(-m, n, high)+rest.Value())/n
}
