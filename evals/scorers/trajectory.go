package scorers

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/looptape/looptape/trace/importer"
)

// Trajectory scores 1 if the calls that a run made are those expected, in the sense of
// its order.
type Trajectory struct {
	Expected
	Order Order `json:"order,omitempty"`
}

// Order is how calls have to stand to those expected. No call is taken for two of those
// expected.
type Order string

// The orders. ADK's EXACT, IN_ORDER and ANY_ORDER (TrajectoryEvaluator of google/adk-python)
// are exact, in_order and any_order. Of the modes of trajectory matching in LangChain's
// agentevals strict is exact, but for the texts beside the calls, which it compares as
// well; unordered, superset and subset are those here.
const (
	OrderExact     Order = ""          // the same calls in the same order
	OrderInOrder   Order = "in_order"  // those expected in their order, others between
	OrderAnyOrder  Order = "any_order" // those expected and maybe others
	OrderSuperset  Order = "superset"  // the same as any_order
	OrderSubset    Order = "subset"    // none but those expected, maybe not all
	OrderUnordered Order = "unordered" // those expected and no others
)

func (s Trajectory) judge() (judge, error) {
	orders := []Order{"exact", OrderExact, OrderInOrder, OrderAnyOrder, OrderSuperset, OrderSubset, OrderUnordered}
	if !slices.Contains(orders, s.Order) {
		return nil, fmt.Errorf("order %q: give one of exact, in_order, any_order, superset, subset and unordered", s.Order)
	}
	m, err := s.matcher()
	if err != nil {
		return nil, err
	}
	return one(func(_ context.Context, run *importer.Run) (float64, string, error) {
		want, got, err := m.read(run)
		if err != nil {
			return 0, "", err
		}
		ok, err := s.Order.holds(m.weights(want, got, false), len(got))
		if err != nil {
			return 0, "", err
		}
		if !ok {
			return 0, fmt.Sprintf("want %s; got %s", told(want), told(got)), nil
		}
		return 1, told(got), nil
	}), nil
}

// holds reports whether the calls made, a column each, are those wanted, a row each.
func (o Order) holds(weights [][]float64, got int) (bool, error) {
	want := len(weights)
	switch o {
	case OrderInOrder:
		return common(weights, got) == float64(want), nil
	case OrderAnyOrder, OrderSuperset, OrderSubset, OrderUnordered:
		pairs, err := assign(weights)
		all := pairs == float64(want)
		none := pairs == float64(got)
		return (all || o == OrderSubset) && (none || o == OrderAnyOrder || o == OrderSuperset), err
	default:
		return want == got && common(weights, got) == float64(want), nil
	}
}

// CallMatch scores how many of the calls are those expected.
type CallMatch struct {
	Expected
	Measure Measure `json:"measure,omitempty"`
	// Ordered takes the longest common subsequence of the calls made and those expected;
	// else order does not matter, and the best assignment counts.
	Ordered bool `json:"ordered,omitempty"`
	// Partial takes a call of the right tool for the part of its arguments, by name, that
	// is as expected; else it counts as a whole or not at all.
	Partial bool `json:"partial,omitempty"`
}

// Measure is a way to count. Where nothing is expected and nothing was called, each is 1;
// else one that would be divided by 0 is 0.
type Measure string

// The measures.
const (
	MeasureF1        Measure = ""          // the harmonic mean of the others
	MeasurePrecision Measure = "precision" // the part of the calls made that is expected
	MeasureRecall    Measure = "recall"    // the part of the calls expected that was made
)

func (s CallMatch) judge() (judge, error) {
	if !slices.Contains([]Measure{"f1", MeasureF1, MeasurePrecision, MeasureRecall}, s.Measure) {
		return nil, fmt.Errorf("measure %q: give one of f1, precision and recall", s.Measure)
	}
	m, err := s.matcher()
	if err != nil {
		return nil, err
	}
	return one(func(_ context.Context, run *importer.Run) (float64, string, error) {
		want, got, err := m.read(run)
		if err != nil {
			return 0, "", err
		}
		right, err := s.right(m.weights(want, got, s.Partial), len(got))
		if err != nil {
			return 0, "", err
		}
		text := fmt.Sprintf("%s right of %d calls, %d expected", trim(right), len(got), len(want))
		return s.Measure.of(right, len(got), len(want)), text, nil
	}), nil
}

func (s CallMatch) right(weights [][]float64, got int) (float64, error) {
	if s.Ordered {
		return common(weights, got), nil
	}
	return assign(weights)
}

func (m Measure) of(right float64, got, want int) float64 {
	over := float64(got+want) / 2
	switch m {
	case MeasurePrecision:
		over = float64(got)
	case MeasureRecall:
		over = float64(want)
	default: // 2PR/(P+R) is right over the mean of both
	}
	switch {
	case got+want == 0:
		return 1
	case over == 0:
		return 0
	}
	return right / over
}

// trim writes a number with two decimals at most.
func trim(v float64) string {
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.2f", v), "0"), ".")
}
