package evals

// Types of fields that tests compare.
type (
	Amount       = amount
	MetricResult = metricResult
	Sizes        = sizes
)

// Recorded is the scorer of recorded scores.
var Recorded = recorded

// NewByName returns the values of a map.
func NewByName[T any](of map[string]T) ByName[T] { return newByName(of) }

// Compare compares two results.
func Compare(base, other *Result, seed uint64) (*Comparison, error) {
	all, err := base.Compare([]*Result{other}, seed)
	if err != nil {
		return nil, err
	}
	return all[0], nil
}
