package evals

import (
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/looptape/looptape/internal/markdown"
)

// line returns the finding as one line: kind, metric, case and message.
func (f *finding) line() string {
	words := []string{f.Title(), f.Metric, f.Case}
	words = slices.DeleteFunc(words, func(word string) bool { return word == "" })
	return strings.Join(append(words, f.Message), ": ")
}

// GitHub writes one GitHub Actions annotation per finding (the command "error" of the
// documentation page "Workflow commands").
func (v *GateResult) GitHub(w io.Writer) error {
	var text strings.Builder
	escapes := []string{"%", "%25", "\r", "%0D", "\n", "%0A"}
	message := strings.NewReplacer(escapes...)
	property := strings.NewReplacer(append(escapes, ":", "%3A", ",", "%2C")...)
	for i := range v.Findings {
		f := &v.Findings[i]
		text.WriteString("::error ")
		if f.File != "" {
			fmt.Fprintf(&text, "file=%s,line=%d,", property.Replace(f.File), max(f.Line, 1))
		}
		fmt.Fprintf(&text, "title=looptape eval gate::%s\n", message.Replace(f.line()))
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// Markdown writes the result as GitHub-flavored Markdown.
func (v *GateResult) Markdown(w io.Writer) error {
	var text strings.Builder
	status := "passed"
	if !v.Passed {
		status = fmt.Sprintf("failed (%d)", len(v.Findings))
	}
	fmt.Fprintf(&text, "### looptape eval gate: %s\n\n", status)
	text.WriteString("| metric | cases | baseline | new | difference | p |\n| --- | ---: | ---: | ---: | ---: | ---: |\n")
	for _, name := range slices.Sorted(maps.Keys(v.Metrics)) {
		m := v.Metrics[name]
		fmt.Fprintf(&text, "| %s | %d | %s | %s | %s | %s |\n", markdown.Plain(name), m.Pairs,
			formatValue("%.4f", m.Base), formatValue("%.4f", m.New), formatValue("%+.4f", m.Difference), formatValue("%.4f", m.Holm))
	}
	if !v.Passed {
		text.WriteString("\n| finding | metric | case | message |\n| --- | --- | --- | --- |\n")
	}
	for _, f := range v.Findings {
		fmt.Fprintf(&text, "| %s | %s | %s | %s |\n", f.Title(), markdown.Plain(f.Metric), markdown.Plain(f.Case), markdown.Plain(f.Message))
	}
	for _, u := range v.Unreadable {
		fmt.Fprintf(&text, "\nUnreadable: %s\n", markdown.Plain(u.String()))
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// formatValue formats a value, or returns "-" for nil.
func formatValue(format string, x *float64) string {
	if x == nil {
		return "-"
	}
	return fmt.Sprintf(format, *x)
}

// The form of JUnit's results that CI servers read.
type (
	junitSuite struct {
		XMLName  xml.Name    `xml:"testsuite"`
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Time    int           `xml:"time,attr"` // some readers require it
		Failure *junitFailure `xml:"failure"`
		Error   *junitFailure `xml:"error"`
	}
	junitFailure struct {
		Type    string `xml:"type,attr"`
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// JUnit writes the result as JUnit XML: one test per metric with the class "metric", and one per
// case with the class "case". A failed test has one failure, or one error if its first finding is
// a scorer error. The failure lists all findings.
func (v *GateResult) JUnit(w io.Writer) error {
	s := junitSuite{Name: "looptape eval gate"}
	for _, name := range slices.Sorted(maps.Keys(v.Metrics)) {
		s.add("metric", name, v.drops(name))
	}
	for _, name := range v.Cases {
		s.add("case", name, v.about(name))
	}
	text, err := xml.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, text)
	return err
}

func (v *GateResult) about(name string) []finding {
	return slices.DeleteFunc(slices.Clone(v.Findings), func(f finding) bool { return f.Case != name || f.Kind == KindDrop })
}

func (v *GateResult) drops(metric string) []finding {
	return slices.DeleteFunc(slices.Clone(v.Findings), func(f finding) bool { return f.Metric != metric || f.Kind != KindDrop })
}

func (s *junitSuite) add(class, name string, found []finding) {
	c := junitCase{Class: class, Name: name}
	var text string
	for _, f := range found {
		text += f.line() + "\n"
	}
	switch {
	case len(found) == 0:
	case found[0].Kind == KindError:
		c.Error = &junitFailure{found[0].Kind, found[0].Message, text}
		s.Errors++
	default:
		c.Failure = &junitFailure{found[0].Kind, found[0].Message, text}
		s.Failures++
	}
	s.Tests++
	s.Cases = append(s.Cases, c)
}
