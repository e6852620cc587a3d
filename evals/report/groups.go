package report

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strconv"

	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/internal/tabular"
)

// FailureTables groups the runs that failed, or that have a failed score, by cause, by tool and by tag.
// A group of causes has runs with the same explanation, except for quoted text, JSON and numbers. The tables
// are empty if nothing is shared.
func (r *Report) FailureTables(l Lists) []Table {
	causes, tools, tags := groups{}, map[string]*toolUse{}, map[string]*tagged{}
	for run := range r.newRuns() {
		failed := run.Outcome == Failed || len(run.Errors) > 0
		for name, c := range run.Calls.All() {
			if tools[name] == nil {
				tools[name] = &toolUse{}
			}
			tools[name].add(c, failed)
		}
		for _, tag := range run.Tags {
			if tags[tag] == nil {
				tags[tag] = &tagged{cases: map[string]bool{}}
			}
			tags[tag].runs++
			if failed {
				tags[tag].failed++
				tags[tag].cases[run.Case] = true
			}
		}
		if failed {
			for _, cause := range r.success.causes(run.Row) {
				causes.add(cause, run.Case)
			}
		}
	}
	return []Table{causes.table(l), toolTable(tools, l), tagTable(tags, l)}
}

// tagged counts the runs of the cases with a tag, those that failed, and their cases.
type tagged struct {
	runs, failed int
	cases        map[string]bool
}

// tagTable returns the tags with failed runs, the largest share first.
func tagTable(tags map[string]*tagged, l Lists) Table {
	names := slices.DeleteFunc(slices.Collect(maps.Keys(tags)), func(name string) bool { return tags[name].failed == 0 })
	slices.SortFunc(names, func(a, b string) int {
		x, y := tags[a], tags[b]
		return cmp.Or(cmp.Compare(y.failed*x.runs, x.failed*y.runs), tabular.Natural(a, b))
	})
	t := Table{Header: []string{"tag with failures", "failed runs", "failed cases"}}
	for _, name := range names {
		of := tags[name]
		t.Rows = append(t.Rows, []string{name, fmt.Sprintf("%d of %d", of.failed, of.runs), strconv.Itoa(len(of.cases))})
	}
	return l.limit(t)
}

// newRuns yields the runs of the result without those of the base.
func (r *Report) newRuns() iter.Seq[Run] {
	return func(yield func(Run) bool) {
		for row := range r.Result.Rows.All() {
			if !yield(Run{"", r.success.of(&row), &row}) {
				return
			}
		}
	}
}

// causes returns the causes of a failed run: violated rules, errors, and the explanations of
// scores of 0, each once.
func (s success) causes(r *evals.Row) (list []string) {
	for metric, text := range r.Errors.All() {
		list = append(list, metric+": "+shape(text))
	}
	for metric, value := range r.Scores.All() {
		if !s[metric] || value != 0 {
			continue
		}
		rules := r.Findings.Of(metric)
		for _, rule := range rules {
			list = append(list, metric+": "+rule)
		}
		if len(rules) == 0 {
			list = append(list, metric+": "+cmp.Or(shape(r.Explanations.Of(metric)), "no explanation"))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// variable matches what differs between explanations of the same cause: quoted text, JSON and numbers.
var variable = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|\{.*\}|\[.*\]|[-+]?\b\d[\d.]*\b`)

// shape returns an explanation without the values in it.
func shape(text string) string {
	const maxLength = 120
	return tabular.Short(variable.ReplaceAllStringFunc(text, func(value string) string {
		switch value[0] {
		case '"':
			return `"…"`
		case '{':
			return "{…}"
		case '[':
			return "[…]"
		}
		return "#"
	}), maxLength)
}

// groups counts runs by cause.
type groups map[string]*group

type group struct {
	name  string
	runs  int
	cases map[string]bool
	first string // case
}

func (g groups) add(cause, name string) {
	if g[cause] == nil {
		g[cause] = &group{name: cause, cases: map[string]bool{}, first: name}
	}
	one := g[cause]
	one.runs++
	one.cases[name] = true
	if tabular.Natural(name, one.first) < 0 {
		one.first = name
	}
}

// table returns the causes, the most frequent first. It is empty if each cause has one run.
func (g groups) table(l Lists) Table {
	list := make([]*group, 0, len(g))
	shared := false
	for _, one := range g {
		list = append(list, one)
		shared = shared || one.runs > 1
	}
	if !shared {
		return Table{}
	}
	slices.SortFunc(list, func(a, b *group) int { return cmp.Or(cmp.Compare(b.runs, a.runs), cmp.Compare(a.name, b.name)) })
	t := Table{Header: []string{"cause of failure", "runs", "cases", "such as"}}
	for _, one := range list {
		t.Rows = append(t.Rows, []string{one.name, strconv.Itoa(one.runs), strconv.Itoa(len(one.cases)), tabular.Short(one.first, caseWidth)})
	}
	return l.limit(t)
}

// toolUse counts the runs with a failed call of a tool, among failed runs and others, and the calls in
// failed runs.
type toolUse struct{ runs, others, calls, wrong int }

func (u *toolUse) add(c evals.Calls, failed bool) {
	if failed {
		u.calls += c.N
		u.wrong += c.Failed
	}
	switch {
	case c.Failed == 0:
	case failed:
		u.runs++
	default:
		u.others++
	}
}

// toolTable returns the tools with failed calls in failed runs, the most runs first.
func toolTable(tools map[string]*toolUse, l Lists) Table {
	var names []string
	for name, u := range tools {
		if u.runs > 0 {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(tools[b].runs, tools[a].runs), cmp.Compare(a, b))
	})
	t := Table{Header: []string{"tool with failed calls", "failed runs", "other runs", "failed calls in failed runs"}}
	for _, name := range names {
		u := tools[name]
		t.Rows = append(t.Rows, []string{name, strconv.Itoa(u.runs), strconv.Itoa(u.others), fmt.Sprintf("%d of %d", u.wrong, u.calls)})
	}
	return l.limit(t)
}
