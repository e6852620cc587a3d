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

// Spent tells what the runs took. Where that is steps alone, nothing is told: answers that
// are not known to have cost anything are nothing to know.
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
	return Filled([]string{"spent", "runs", "sum", "mean"}, rows)
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

// amount is a figure of a measure for people: five digits, or all before the point.
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

// ChangedResources tells what changed of what runs took, a run on average, unless that is steps
// alone.
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
	return Filled([]string{"spent", "pairs", "base", "new", "difference", "95 %"}, rows)
}

// ChangedTools tells what changed in the calls of tools, a run on average.
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
