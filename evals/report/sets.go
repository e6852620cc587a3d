package report

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/internal/tabular"
)

// SetTable returns the means of each set as a column: those of the base, and those of each other set with
// the difference from the base, its 95 % interval and its corrected probability. It is empty without
// other sets.
func (r *Report) SetTable() Table {
	if len(r.compared) < 2 {
		return Table{}
	}
	t := Table{Header: append([]string{"", "BASE"}, r.setNames...)}
	names := map[string]bool{}
	for _, c := range r.compared {
		for name := range c.Metrics {
			names[name] = true
		}
	}
	add := func(what, base string, cell func(c *evals.Comparison) string) {
		row := []string{what, base}
		for _, c := range r.compared {
			row = append(row, cell(c))
		}
		t.Rows = append(t.Rows, row)
	}
	add("cases in both", "", func(c *evals.Comparison) string { return strconv.Itoa(pairsOf(c)) })
	f, err := r.Base.Summary(nil)
	if err != nil {
		return Table{} // not possible after a comparison
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		base := ""
		if m, ok := f.Metrics[name]; ok {
			base = tabular.Value(m.Mean)
		}
		add(name, base, func(c *evals.Comparison) string { return setCell(c.Metrics[name]) })
		add(name+": worse, better", "", func(c *evals.Comparison) string {
			m := c.Metrics[name]
			if m.Discordant == nil {
				return ""
			}
			return fmt.Sprintf("%d, %d", len(m.Worse), len(m.Better))
		})
	}
	for name := range new(evals.Row).Resources() {
		add(resourceWords(name)+" per run", "", func(c *evals.Comparison) string {
			s, ok := c.Resources[name]
			if !ok {
				return ""
			}
			return fmt.Sprintf("%s to %s", amount(name, s.Base), amount(name, s.New))
		})
	}
	t.Rows = slices.DeleteFunc(t.Rows, func(row []string) bool {
		return !slices.ContainsFunc(row[1:], func(cell string) bool { return cell != "" })
	})
	return t
}

func pairsOf(c *evals.Comparison) (most int) {
	for _, m := range c.Metrics {
		most = max(most, m.Pairs)
	}
	return most
}

// setCell formats a mean and its change.
func setCell(m evals.Change) string {
	if m.Pairs == 0 {
		return ""
	}
	return fmt.Sprintf("%s: %s (%s), p %s", tabular.Value(m.New), tabular.Signed(m.Difference), tabular.Interval(m.CI95.Best()), tabular.Probability(m.P.Holm))
}
