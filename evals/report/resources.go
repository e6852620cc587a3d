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

// Resources returns the table of the resource usage. It is empty if only steps are known.
func Resources(f *evals.Summary) Table {
	var rows [][]string
	if stepsAlone(f.Resources) {
		return Table{}
	}
	for _, m := range evals.Measures() {
		if a, ok := f.Resources[m.Name]; ok {
			rows = append(rows, []string{measureWords(m.Name), strconv.Itoa(a.N), amount(m.Name, a.Sum), amount(m.Name, a.Mean)})
		}
	}
	return Filled([]string{"resource", "runs", "sum", "mean"}, rows)
}

func stepsAlone[T any](by map[string]T) bool {
	_, steps := by["steps"]
	return steps && len(by) == 1
}

// measureWords is the name of a measure for people.
func measureWords(name string) string {
	if name == latency {
		return "latency (s)"
	}
	return strings.ReplaceAll(name, "_", " ")
}

// latency is the measure that people read in seconds.
const latency = "latency_ns"

// amount formats the value of a measure with five digits, or as an integer if it is large.
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

// ChangedResources returns the table of changed resources, per run. It is empty if only steps are
// known.
func ChangedResources(c *evals.Comparison) Table {
	var rows [][]string
	if stepsAlone(c.Resources) {
		return Table{}
	}
	for _, m := range evals.Measures() {
		if s, ok := c.Resources[m.Name]; ok {
			rows = append(rows, append([]string{measureWords(m.Name), strconv.Itoa(s.Pairs)}, shifted(m.Name, s)...))
		}
	}
	return Filled([]string{"resource", "pairs", "base", "new", "difference", "95 %"}, rows)
}

// ChangedTools returns the table of changed tool calls, per run.
func ChangedTools(c *evals.Comparison) Table {
	var rows [][]string
	for _, name := range slices.Sorted(maps.Keys(c.Tools)) {
		use := c.Tools[name]
		rows = append(rows, append(append([]string{name}, shifted("", use.ResourceChange)...), perSet(use.Failed.Base, use.Failed.New)))
	}
	return Filled([]string{"calls of", "base", "new", "difference", "95 %", "failed"}, rows)
}

// shifted are the means of a measure, their difference and its interval.
func shifted(name string, s evals.ResourceChange) []string {
	sign, in := "", "-"
	if s.Difference > 0 {
		sign = "+"
	}
	if s.CI95 != nil {
		in = amount(name, s.CI95[0]) + " to " + amount(name, s.CI95[1])
	}
	return []string{amount(name, s.Base), amount(name, s.New), sign + amount(name, s.Difference), in}
}
