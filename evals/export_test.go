package evals

// Types of fields that tests compare.
type (
	Amount       = amount
	MetricResult = metricResult
)

// Compare compares two results.
func Compare(base, other *Result, seed uint64) (*Comparison, error) {
	all, err := CompareAll(base, []*Result{other}, seed)
	if err != nil {
		return nil, err
	}
	return all[0], nil
}
