package evals

import (
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"slices"
)

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
		s.add("case", name, v.Of(name))
	}
	text, err := xml.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, text)
	return err
}

// Of returns the findings about a case.
func (v *GateResult) Of(name string) (found []finding) {
	for _, f := range v.Findings {
		if f.Case == name && f.Kind != KindDrop {
			found = append(found, f)
		}
	}
	return found
}

// drops returns the drops of a metric.
func (v *GateResult) drops(metric string) (found []finding) {
	for _, f := range v.Findings {
		if f.Metric == metric && f.Kind == KindDrop {
			found = append(found, f)
		}
	}
	return found
}

// add adds a test with its findings.
func (s *junitSuite) add(class, name string, found []finding) {
	c := junitCase{Class: class, Name: name}
	if len(found) > 0 {
		f := &junitFailure{Type: found[0].Kind, Message: found[0].Message}
		for i := range found {
			f.Text += found[i].line() + "\n"
		}
		if found[0].Kind == KindError {
			c.Error = f
			s.Errors++
		} else {
			c.Failure = f
			s.Failures++
		}
	}
	s.Tests++
	s.Cases = append(s.Cases, c)
}
