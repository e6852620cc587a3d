package plot

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/looptape/looptape/internal/tabular"
)

// axis maps values to coordinates. Its ends are multiples of the step between its ticks.
type axis struct {
	low, high float64 // values
	step      float64
	from, to  float64 // coordinates of low and high
}

// newAxis returns an axis that contains the values, with at most about n ticks.
func newAxis(values []float64, n int, from, to float64) axis {
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		low, high = min(low, v), max(high, v)
	}
	if low == high {
		const half = 0.5
		low, high = low-half*max(1, math.Abs(low)), high+half*max(1, math.Abs(high))
	}
	a := axis{step: niceStep((high - low) / float64(n)), from: from, to: to}
	a.low, a.high = math.Floor(low/a.step+rounding)*a.step, math.Ceil(high/a.step-rounding)*a.step
	return a
}

// newCounted returns an axis of whole numbers, such as the number of runs, without space at its ends.
func newCounted(values []float64, n int, from, to float64) axis {
	a := newAxis(values, n, from, to)
	a.low, a.high, a.step = slices.Min(values), slices.Max(values), max(1, a.step)
	return a
}

// rounding keeps a value that is a tick up to rounding from adding another tick.
const rounding = 1e-9

// niceStep returns the smallest 1, 2 or 5 times a power of ten that is not less than x.
func niceStep(x float64) float64 {
	const ten = 10
	power := math.Pow(ten, math.Floor(math.Log10(x)))
	for _, factor := range []float64{1, 2, 5} {
		if x <= factor*power*(1+rounding) {
			return factor * power
		}
	}
	return ten * power
}

// at returns the coordinate of a value.
func (a axis) at(v float64) float64 {
	return a.from + (v-a.low)/(a.high-a.low)*(a.to-a.from)
}

// ticks returns the values with a label.
func (a axis) ticks() (list []float64) {
	for i := range int((a.high-a.low)/a.step+rounding) + 1 {
		list = append(list, a.low+float64(i)*a.step)
	}
	return list
}

// label formats a tick with the digits that the step needs.
func (a axis) label(v float64) string {
	const small, large, digits = 1e-4, 1e5, 3
	if math.Abs(v) < a.step*rounding {
		return "0"
	}
	if a.step < small || max(math.Abs(a.low), math.Abs(a.high)) >= large {
		return strconv.FormatFloat(v, 'g', digits, 64)
	}
	return strconv.FormatFloat(v, 'f', max(0, int(-math.Floor(math.Log10(a.step)+rounding))), 64)
}

// number formats a coordinate with one decimal, without a decimal that is 0.
func number(x float64) string {
	const tenth = 10
	return strconv.FormatFloat(math.Round(x*tenth)/tenth, 'f', -1, 64)
}

// describe formats a value with its interval, if it has one.
func describe(value float64, in *[2]float64) string {
	if in == nil {
		return tabular.Brief(value)
	}
	return fmt.Sprintf("%s (%s to %s)", tabular.Brief(value), tabular.Brief(in[0]), tabular.Brief(in[1]))
}

// finite reports whether all values are numbers.
func finite(values ...float64) bool {
	for _, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}
