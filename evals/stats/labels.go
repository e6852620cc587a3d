package stats

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Kappa returns Cohen's kappa of two raters and its interval. counts[i][j] is the number of items that
// the first rater puts in category i and the second in category j (Cohen, "A coefficient of agreement for
// nominal scales", Educational and Psychological Measurement 20, 1960). The interval is κ ± z·SE, at
// most 1, with the standard error for large samples of Fleiss, Cohen & Everitt ("Large sample standard errors of
// kappa and weighted kappa", Psychological Bulletin 72, 1969). It needs independent items, and is too
// narrow for few of them or for nearly equal raters. Kappa returns an error if both raters use one and
// the same category only.
func Kappa(counts [][]int, level float64) (kappa float64, ci Interval, err error) {
	tail, err := tailOf(level)
	if err != nil {
		return 0, Interval{}, err
	}
	n, rows, columns := 0.0, make([]float64, len(counts)), make([]float64, len(counts))
	for i, row := range counts {
		if len(row) != len(counts) {
			return 0, Interval{}, fmt.Errorf("kappa: row %d has %d categories, want %d", i, len(row), len(counts))
		}
		for j, c := range row {
			if c < 0 {
				return 0, Interval{}, fmt.Errorf("kappa: the count %d of row %d is negative", c, i)
			}
			n, rows[i], columns[j] = n+float64(c), rows[i]+float64(c), columns[j]+float64(c)
		}
	}
	observed, chance := 0.0, 0.0
	for i := range counts {
		observed += float64(counts[i][i]) / n
		chance += rows[i] / n * (columns[i] / n)
	}
	if !(chance < 1) {
		return 0, Interval{}, errors.New("kappa: undefined without two categories: label more items")
	}
	kappa = (observed - chance) / (1 - chance)
	diagonal, rest := 0.0, 0.0
	for i := range counts {
		for j := range counts {
			p := float64(counts[i][j]) / n
			if i == j {
				d := 1 - (rows[i]+columns[i])/n*(1-kappa)
				diagonal += p * d * d
			} else {
				d := (columns[i] + rows[j]) / n
				rest += p * d * d
			}
		}
	}
	c := kappa - chance*(1-kappa)
	squares := diagonal + (1-kappa)*(1-kappa)*rest
	const rounding = 1e-14 // part of the squares that a difference of 0 can have
	variance := squares - c*c
	if variance < rounding*squares {
		variance = 0
	}
	se := math.Sqrt(variance/n) / (1 - chance)
	z := -distuv.UnitNormal.Quantile(tail)
	return kappa, Interval{max(-1, kappa-z*se), min(1, kappa+z*se)}, nil
}

// GradedItem is an item that a binary grader graded, with the label of a person if it has one.
type GradedItem struct {
	Weight   float64 // in the rate, above 0
	Cluster  string  // what items share; empty if each item is independent
	Positive bool    // by the grader
	Labeled  bool
	Label    bool // positive by the person
}

// CorrectedRate returns the rate of items that people would find positive, by the grades of all items and
// the labels of some of them, and its interval. With π the share of items that the grader finds positive,
// a the share of positive labels among the labeled ones of them, and b that among the labeled ones of the
// others, the rate is π·a + (1−π)·b (Tenenbein, "A double sampling scheme for estimating from binomial data
// with misclassifications", Journal of the American Statistical Association 65, 1970). It holds for labels
// of items drawn at random, and also if the share of labeled items differs between the two grades.
//
// The interval combines Wilson's intervals of π, a and b by the method of variance estimates recovery (Zou,
// Huang & Zhang, "A note on confidence interval estimation for a linear function of binomial
// proportions", Computational Statistics & Data Analysis 53, 2009). The number of items with the weights w
// is (Σw)²/Σw², divided by the ratio of the variance of the rate with clusters to that with independent
// items, where it is above 1.
//
// CorrectedRate returns an error for a grade of which no item has a label.
func CorrectedRate(items []GradedItem, level float64) (rate float64, ci Interval, err error) {
	tail, err := tailOf(level)
	if err != nil {
		return 0, Interval{}, err
	}
	var whole shareOf      // of positive grades
	var labeled [2]shareOf // of positive labels, by grade: negative, positive
	for _, it := range items {
		whole.add(it.Weight, it.Positive)
		if it.Labeled {
			labeled[number(it.Positive)].add(it.Weight, it.Label)
		}
	}
	pi := whole.value()
	weight := [2]float64{1 - pi, pi}
	for g, name := range []string{"negative", "positive"} {
		if labeled[g].sum == 0 && (weight[g] > 0 || whole.sum == 0) {
			return 0, Interval{}, fmt.Errorf("no label of an item with a %s grade: label some of them", name)
		}
	}
	a, b := labeled[1].value(), labeled[0].value()
	rate = pi*a + (1-pi)*b
	ratio := clusterRatio(items, func(it GradedItem) float64 {
		u := (a - b) * whole.deviation(it.Weight, it.Positive)
		if g := number(it.Positive); it.Labeled {
			u += weight[g] * labeled[g].deviation(it.Weight, it.Label)
		}
		return u
	})
	low, high := 0.0, 0.0 // squares of the distances of the ends
	for _, part := range []struct {
		factor float64
		of     shareOf
	}{{a - b, whole}, {pi, labeled[1]}, {1 - pi, labeled[0]}} {
		if part.of.sum == 0 {
			continue
		}
		in := wilson(part.of.value(), part.of.sum*part.of.sum/part.of.squares/ratio, tail)
		down, up := part.factor*(in.Low-part.of.value()), part.factor*(in.High-part.of.value())
		if part.factor < 0 {
			down, up = up, down
		}
		low, high = low+down*down, high+up*up
	}
	return rate, Interval{max(0, rate-math.Sqrt(low)), min(1, rate+math.Sqrt(high))}, nil
}

// shareOf is a weighted share of positive items.
type shareOf struct{ sum, squares, positive float64 }

func (s *shareOf) add(weight float64, positive bool) {
	s.sum += weight
	s.squares += weight * weight
	s.positive += weight * float64(number(positive))
}

// value is 0 without an item.
func (s *shareOf) value() float64 { return s.positive / max(s.sum, math.SmallestNonzeroFloat64) }

// deviation is the part of an item in the error of the share.
func (s *shareOf) deviation(weight float64, positive bool) float64 {
	return weight * (float64(number(positive)) - s.value()) / s.sum
}

func number(is bool) int {
	if is {
		return 1
	}
	return 0
}

// clusterRatio returns the variance of the sum of parts, which have the mean 0, with clusters, divided by
// that of independent parts, or 1 if that is more. Without variance it is the mean size of a cluster.
func clusterRatio(items []GradedItem, part func(GradedItem) float64) float64 {
	sums := map[string]float64{}
	independent, clusters, squares := 0.0, 0.0, 0.0
	for _, it := range items {
		u := part(it)
		independent += u * u
		if it.Cluster == "" {
			clusters++
			squares += u * u
		} else {
			sums[it.Cluster] += u
		}
	}
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		squares += sums[name] * sums[name]
	}
	clusters += float64(len(sums))
	switch {
	case clusters == float64(len(items)):
		return 1
	case independent == 0:
		return float64(len(items)) / clusters
	case clusters == 1:
		return float64(len(items))
	}
	return max(1, clusters/(clusters-1)*squares/independent)
}
