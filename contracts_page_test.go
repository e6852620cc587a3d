package looptape_test

import (
	"strconv"
	"strings"
	"testing"
)

// contractRows returns the table of one contract for docs/contracts.md, or with an empty
// id the sums of all contracts.
func contractRows(t *testing.T, id string) string {
	t.Helper()
	var rows [][]string
	var sums [4]int // rows, shown, partial, open
	for _, c := range contracts(t) {
		cells := []string{c.id, "`" + c.name + "`", strconv.Itoa(len(c.rows))}
		sums[0] += len(c.rows)
		for i, status := range []string{"shown", "partial", "open"} {
			n := c.count(func(r requirement) bool { return r.status() == status })
			cells = append(cells, strconv.Itoa(n))
			sums[i+1] += n
		}
		if id == "" {
			rows = append(rows, cells)
		}
		if c.id != id {
			continue
		}
		for _, r := range c.rows {
			rows = append(rows, []string{r.id, r.text, r.mark, evidenceLinks(r.evidence()), r.status(), "`" + strings.Join(r.packages, "`, `") + "`"})
			if len(r.packages) == 0 {
				rows[len(rows)-1][5] = ""
			}
		}
	}
	if id != "" {
		return markdown([]string{"id", "requirement", "mark", "shown by", "status", "package"}, rows)
	}
	cells := []string{"all", ""}
	for _, n := range sums {
		cells = append(cells, strconv.Itoa(n))
	}
	return markdown([]string{"contract", "preset", "rows", "shown", "partial", "open"}, append(rows, cells))
}

// evidenceLinks returns the scenarios as links and the tests as code.
func evidenceLinks(names []string) string {
	var out []string
	for _, s := range names {
		if name, ok := strings.CutSuffix(s, ".txtar"); ok {
			out = append(out, "["+name+"](../"+contractsDir+"/"+s+")")
		} else {
			out = append(out, "`"+s+"`")
		}
	}
	return strings.Join(out, ", ")
}
