package scorers

import (
	"fmt"
	"slices"
	"strings"

	"github.com/looptape/looptape/trace/importer"
)

// trajectorySettings scores 1 if the calls of a run are the expected ones, in the required order.
type trajectorySettings struct {
	expectedCalls
	Order callOrder `json:"order,omitempty"`
}

// callOrder is the required order of calls. A call matches one expected call at most.
type callOrder string

// The orders. ADK's EXACT, IN_ORDER and ANY_ORDER (TrajectoryEvaluator of google/adk-python)
// are exact, in_order and any_order. Of the modes of trajectory matching in LangChain's
// agentevals strict is exact, except that it also compares texts; unordered, superset and subset are those here.
const (
	orderExact     callOrder = ""          // the same calls in the same order
	orderInOrder   callOrder = "in_order"  // the expected calls in order, with others between
	orderAnyOrder  callOrder = "any_order" // the expected calls and possibly others
	orderSuperset  callOrder = "superset"  // the same as any_order
	orderSubset    callOrder = "subset"    // only expected calls, possibly not all
	orderUnordered callOrder = "unordered" // the expected calls and no others
)

func (s trajectorySettings) scorer() (scoreFunc, error) {
	orders := []callOrder{"exact", orderExact, orderInOrder, orderAnyOrder, orderSuperset, orderSubset, orderUnordered}
	if !slices.Contains(orders, s.Order) {
		return nil, fmt.Errorf("order %q: want exact, in_order, any_order, superset, subset or unordered", s.Order)
	}
	m, err := s.matcher()
	if err != nil {
		return nil, err
	}
	return single(func(run *importer.Run) (float64, string, error) {
		want, got, err := m.read(run)
		if err != nil {
			return 0, "", err
		}
		ok, err := s.Order.holds(m.weights(want, got, false), len(got))
		if err != nil {
			return 0, "", err
		}
		if !ok {
			return 0, fmt.Sprintf("want %s; got %s", describeCalls(want), describeCalls(got)), nil
		}
		return 1, describeCalls(got), nil
	}), nil
}

// holds reports whether the calls (columns) are the expected ones (rows).
func (o callOrder) holds(weights [][]float64, got int) (bool, error) {
	want := len(weights)
	switch o {
	case orderInOrder:
		return common(weights, got) == float64(want), nil
	case orderAnyOrder, orderSuperset, orderSubset, orderUnordered:
		pairs, err := assign(weights)
		all := pairs == float64(want)
		none := pairs == float64(got)
		return (all || o == orderSubset) && (none || o == orderAnyOrder || o == orderSuperset), err
	default:
		return want == got && common(weights, got) == float64(want), nil
	}
}

// callMatchSettings scores the share of expected calls.
type callMatchSettings struct {
	expectedCalls
	Measure measure `json:"measure,omitempty"`
	// Ordered uses the longest common subsequence; else the best assignment in any order.
	Ordered bool `json:"ordered,omitempty"`
	// Partial counts a call of the right tool by the share of matching arguments.
	Partial bool `json:"partial,omitempty"`
}

// measure is F1, precision or recall. Each is 1 without expected and actual calls, and otherwise 0
// if its divisor is 0.
type measure string

// The measures.
const (
	measureF1        measure = ""          // the harmonic mean of the others
	measurePrecision measure = "precision" // the expected share of the calls
	measureRecall    measure = "recall"    // the share of the expected calls that was made
)

func (s callMatchSettings) scorer() (scoreFunc, error) {
	if !slices.Contains([]measure{"f1", measureF1, measurePrecision, measureRecall}, s.Measure) {
		return nil, fmt.Errorf("measure %q: want f1, precision or recall", s.Measure)
	}
	m, err := s.matcher()
	if err != nil {
		return nil, err
	}
	return single(func(run *importer.Run) (float64, string, error) {
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

func (s callMatchSettings) right(weights [][]float64, got int) (float64, error) {
	if s.Ordered {
		return common(weights, got), nil
	}
	return assign(weights)
}

func (m measure) of(right float64, got, want int) float64 {
	over := float64(got+want) / 2
	switch m {
	case measurePrecision:
		over = float64(got)
	case measureRecall:
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

// trim formats a number with at most two decimals.
func trim(v float64) string {
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.2f", v), "0"), ".")
}
