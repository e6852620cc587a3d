package evals

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/looptape/looptape/internal/markdown"
	"github.com/looptape/looptape/internal/tabular"
	"github.com/looptape/looptape/internal/testreport"
)

// line returns the finding as one line: kind, metric, case and message.
func (f *finding) line() string {
	words := []string{f.Title(), f.Metric, f.Case}
	words = slices.DeleteFunc(words, func(word string) bool { return word == "" })
	return strings.Join(append(words, f.Message), ": ")
}

// aboutMean reports whether the finding is about the mean of a metric.
func (f *finding) aboutMean() bool {
	return slices.Contains([]string{KindDrop, KindMaxDrop, KindMin, KindPower}, f.Kind)
}

// regressed returns the cases that declined, the worst first, if a drop of the mean is a finding, or a mean
// that dropped below the worst that passes.
func (v *GateResult) regressed(metric string) []CaseChange {
	m := v.Metrics[metric]
	dropped := len(m.Worse) > 0 && *m.Difference*m.Worse[0].Difference > 0
	for _, f := range v.Findings {
		if f.Metric == metric && (f.Kind == KindDrop || f.Kind == KindMaxDrop || f.Kind == KindMin && dropped) {
			return m.Worse
		}
	}
	return nil
}

// finds states the smallest drop that the gate finds, or returns "" without a case in both sets.
func (m *metricResult) finds() string {
	switch {
	case m.Pairs == 0:
		return ""
	case m.SmallestDrop == nil:
		return "this gate finds no drop with a probability of 0.8: use more runs of each case, or more cases"
	}
	return "the smallest drop that this gate finds with a probability of 0.8 is " + tabular.Value(m.SmallestDrop)
}

// WorstCases returns a table of up to limit cases, for each metric whose mean is a finding.
func (v *GateResult) WorstCases(limit int) (header []string, rows [][]string) {
	for _, metric := range slices.Sorted(maps.Keys(v.Metrics)) {
		list := v.regressed(metric)
		for _, c := range list[:min(limit, len(list))] {
			rows = append(rows, []string{
				metric, c.Case, tabular.Value(&c.Base), tabular.Value(&c.New), tabular.Signed(&c.Difference),
				tabular.Interval(c.CI95), fmt.Sprintf("%d, %d", c.BaseRuns, c.NewRuns),
			})
		}
	}
	return []string{"metric", "worse case", "baseline", "new", "difference", "95 %", "runs"}, rows
}

// finding returns the decline of a case as a finding.
func (c *CaseChange) finding(metric string) finding {
	text := fmt.Sprintf("the mean of the case went from %.4f to %.4f (%d and %d runs)", c.Base, c.New, c.BaseRuns, c.NewRuns)
	if c.CI95 != nil {
		text += fmt.Sprintf(", 95 %% of the difference %+.4f to %+.4f", c.CI95[0], c.CI95[1])
	}
	return finding{Kind: KindWorse, Metric: metric, Case: c.Case, File: c.File, Line: c.Line, Message: text}
}

// kindUnreadable is the kind of an unreadable record in JUnit and annotations.
const kindUnreadable = "unreadable"

// maxWorst is the number of worst cases of a metric in annotations and Markdown.
const maxWorst = 10

// GitHub writes one GitHub Actions annotation per finding (the command "error" of the
// documentation page "Workflow commands"), and one for each of the worst cases of a metric whose mean
// is a finding. A notice has the smallest drop that the gate finds, or a warning that there is none.
func (v *GateResult) GitHub(w io.Writer) error {
	var t testreport.Test
	all := slices.Clone(v.Findings)
	for _, metric := range slices.Sorted(maps.Keys(v.Metrics)) {
		list := v.regressed(metric)
		for i := range list[:min(maxWorst, len(list))] {
			all = append(all, list[i].finding(metric))
		}
	}
	for _, u := range v.Unreadable {
		all = append(all, u.finding())
	}
	t.Findings = reported(all)
	for _, metric := range slices.Sorted(maps.Keys(v.Metrics)) {
		m := v.Metrics[metric]
		level := testreport.Notice
		if m.SmallestDrop == nil {
			level = testreport.Warning
		}
		if finds := m.finds(); finds != "" {
			t.Findings = append(t.Findings, testreport.Finding{Message: metric + ": " + finds, Level: level})
		}
	}
	return (&testreport.Report{Name: gateName, Tests: []testreport.Test{t}}).GitHub(w)
}

func (u Unreadable) finding() finding {
	return finding{Kind: kindUnreadable, File: u.File, Line: u.Line, Message: u.Error}
}

// gateName is the name of the gate in a CI system.
const gateName = "looptape eval gate"

// reported returns findings for a CI system.
func reported(found []finding) (list []testreport.Finding) {
	for i := range found {
		f := &found[i]
		level := testreport.Failure
		if f.Kind == KindError || f.Kind == kindUnreadable {
			level = testreport.Error
		}
		list = append(list, testreport.Finding{Type: f.Kind, Message: f.Message, Text: f.line(), File: f.File, Line: f.Line, Level: level})
	}
	return list
}

// Markdown writes the result as GitHub-flavored Markdown.
func (v *GateResult) Markdown(w io.Writer) error {
	var text strings.Builder
	status := "passed"
	switch {
	case len(v.Findings) > 0:
		status = fmt.Sprintf("failed (%d)", len(v.Findings))
	case !v.Passed:
		status = fmt.Sprintf("incomplete (%d unreadable)", len(v.Unreadable))
	}
	fmt.Fprintf(&text, "### looptape eval gate: %s\n\n", status)
	header, means := v.Means()
	testreport.Table(&text, header, means)
	var findings [][]string
	for _, f := range v.Findings {
		findings = append(findings, []string{f.Title(), f.Metric, f.Case, f.Message})
	}
	if len(findings) > 0 {
		text.WriteString("\n")
		testreport.Table(&text, []string{"finding", "metric", "case", "message"}, findings)
	}
	if header, worst := v.WorstCases(maxWorst); len(worst) > 0 {
		text.WriteString("\n")
		testreport.Table(&text, header, worst)
	}
	for _, u := range v.Unreadable {
		fmt.Fprintf(&text, "\nUnreadable: %s\n", markdown.Plain(u.String()))
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// Means returns the table of the means.
func (v *GateResult) Means() (header []string, rows [][]string) {
	for _, name := range slices.Sorted(maps.Keys(v.Metrics)) {
		m := v.Metrics[name]
		holm := ""
		if len(v.Metrics) > 1 {
			holm = tabular.Probability(m.Holm)
		}
		smallest, power := "none", ""
		switch {
		case m.Pairs == 0:
			smallest = ""
		case m.SmallestDrop != nil:
			smallest = tabular.Value(m.SmallestDrop)
		}
		if m.Power != nil {
			power = fmt.Sprintf("%.2f", *m.Power)
		}
		rows = append(rows, []string{
			name, strconv.Itoa(m.Pairs), tabular.Value(m.Base), tabular.Value(m.New), tabular.Signed(m.Difference), tabular.Interval(m.CI95),
			tabular.Probability(m.P), holm, smallest, power, tabular.Count(m.Missing),
		})
	}
	return tabular.Filled([]string{"metric", "cases", "baseline", "new", "difference", "95 %", "p", "p (Holm)", "finds", "power", "missing"}, rows)
}

// JUnit writes the result as JUnit XML: one test per metric with the class "metric", and one per
// case with the class "case". A failed test has one failure, or one error if its first finding is
// a scorer error. The failure lists all findings. If a drop of a mean is a finding, the cases that
// declined fail. The output of a metric's test has the smallest drop that the gate finds. An unreadable record is an error with the class "file".
func (v *GateResult) JUnit(w io.Writer) error {
	r := testreport.Report{Name: gateName}
	means, cases := v.byTest()
	for _, name := range slices.Sorted(maps.Keys(v.Metrics)) {
		m := v.Metrics[name]
		r.Tests = append(r.Tests, testreport.Test{Class: "metric", Name: name, Findings: reported(means[name]), Output: m.finds()})
	}
	for _, name := range v.Cases {
		r.Tests = append(r.Tests, testreport.Test{Class: "case", Name: name, Findings: reported(cases[name])})
	}
	for _, u := range v.Unreadable {
		found := []finding{u.finding()}
		r.Tests = append(r.Tests, testreport.Test{Class: "file", Name: fmt.Sprintf("%s:%d", u.File, u.Line), Findings: reported(found)})
	}
	return r.JUnit(w)
}

// byTest returns the findings about the mean of each metric, and those about each case.
func (v *GateResult) byTest() (means, cases map[string][]finding) {
	means, cases = map[string][]finding{}, map[string][]finding{}
	for _, f := range v.Findings {
		if f.aboutMean() {
			means[f.Metric] = append(means[f.Metric], f)
		} else {
			cases[f.Case] = append(cases[f.Case], f)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v.Metrics)) {
		for _, c := range v.regressed(name) {
			cases[c.Case] = append(cases[c.Case], c.finding(name))
		}
	}
	return means, cases
}
