package report

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/looptape/looptape/evals"
)

// resources returns the table of the resource usage. It is empty if only steps are known.
func resources(f *evals.Summary) Table {
	var rows [][]string
	if stepsAlone(f.Resources) {
		return Table{}
	}
	for name := range new(evals.Row).Resources() {
		if a, ok := f.Resources[name]; ok {
			rows = append(rows, []string{resourceWords(name), strconv.Itoa(a.N), amount(name, a.Sum), amount(name, a.Mean)})
		}
	}
	return filled([]string{"resource", "runs", "sum", "mean"}, rows)
}

func stepsAlone[T any](by map[string]T) bool {
	_, steps := by["steps"]
	return steps && len(by) == 1
}

// resourceWords returns the name of a resource for people.
func resourceWords(name string) string {
	if name == latency {
		return "latency (s)"
	}
	return strings.ReplaceAll(name, "_", " ")
}

// latency is the resource that tables show in seconds.
const latency = "latency_ns"

// amount formats the amount of a resource with five digits, or as an integer if it is large.
func amount(name string, x float64) string {
	const large, digits = 1e4, 5
	if name == latency {
		x /= float64(time.Second)
	}
	if math.Abs(x) >= large {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return strconv.FormatFloat(x, 'g', digits, 64)
}

// changedResources returns the table of changed resources, per run. It is empty if only steps are
// known.
func changedResources(c *evals.Comparison) Table {
	var rows [][]string
	if stepsAlone(c.Resources) {
		return Table{}
	}
	for name := range new(evals.Row).Resources() {
		if s, ok := c.Resources[name]; ok {
			rows = append(rows, append([]string{resourceWords(name), strconv.Itoa(s.Pairs)}, change(name, s.Base, s.New, s.Difference, s.CI95)...))
		}
	}
	return filled([]string{"resource", "pairs", "base", "new", "difference", "95 %"}, rows)
}

// changedTools returns the table of changed tool calls, per run.
func changedTools(c *evals.Comparison) Table {
	var rows [][]string
	for _, name := range slices.Sorted(maps.Keys(c.Tools)) {
		use := c.Tools[name]
		rows = append(rows, append(append([]string{name}, change("", use.Base, use.New, use.Difference, use.CI95)...), perSet(use.Failed.Base, use.Failed.New)))
	}
	return filled([]string{"calls of", "base", "new", "difference", "95 %", "failed"}, rows)
}

// change formats the means of a resource, their difference and its interval.
func change(name string, base, now, difference float64, ci *[2]float64) []string {
	sign, in := "", "-"
	if difference > 0 {
		sign = "+"
	}
	if ci != nil {
		in = amount(name, ci[0]) + " to " + amount(name, ci[1])
	}
	return []string{amount(name, base), amount(name, now), sign + amount(name, difference), in}
}
