// Package testreport writes the results of checks for CI systems: as JUnit XML, as annotations of GitHub
// Actions, and as Markdown. It escapes all text.
package testreport

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/looptape/looptape/internal/markdown"
	"github.com/looptape/looptape/internal/visible"
)

// Report is the result of a command.
type Report struct {
	Name    string // such as looptape check
	Summary string // one line
	Tests   []Test
}

// Test is a check with its findings. It failed if a finding is not a note, and was skipped if there was nothing to check.
type Test struct {
	Class, Name string
	Findings    []Finding
	Output      string
	Skipped     bool
}

// Finding is what a check found.
type Finding struct {
	Type    string // such as INV-04
	Message string // one line
	Text    string // what is shown alone, one or more lines; empty means Message
	File    string // empty if there is none
	Line    int    // 0 if unknown
	Level   Level
}

// Level is how bad a finding is.
type Level int

// The levels. With Error, the check could not be made.
const (
	Failure Level = iota
	Error
	Warning
	Notice
)

func (f *Finding) text() string { return cmp.Or(f.Text, f.Message) }

// maxShown is the number of findings in annotations and in Markdown. GitHub shows fewer annotations.
const maxShown = 100

// GitHub writes an annotation for each finding: the commands error, warning and notice of the documentation page
// "Workflow commands".
func (r *Report) GitHub(w io.Writer) error {
	var text strings.Builder
	escapes := []string{"%", "%25", "\r", "%0D", "\n", "%0A"}
	message := strings.NewReplacer(escapes...)
	property := strings.NewReplacer(append(escapes, ":", "%3A", ",", "%2C")...)
	plain := func(escape *strings.Replacer, text string) string {
		return string(visible.Text([]byte(escape.Replace(text))))
	}
	list, omitted := r.findings(maxShown)
	for _, f := range list {
		text.WriteString("::" + f.Level.command() + " ")
		if f.File != "" {
			fmt.Fprintf(&text, "file=%s,line=%d,", plain(property, f.File), max(f.Line, 1))
		}
		fmt.Fprintf(&text, "title=%s::%s\n", plain(property, r.Name), plain(message, f.text()))
	}
	if omitted > 0 {
		fmt.Fprintf(&text, "::warning title=%s::%d more findings are not shown\n", plain(property, r.Name), omitted)
	}
	_, err := io.WriteString(w, text.String())
	return err
}

func (l Level) command() string {
	switch l {
	case Warning:
		return "warning"
	case Notice:
		return "notice"
	case Failure, Error:
	}
	return "error"
}

// findings returns up to limit findings, and the number of the others. Failures come first.
func (r *Report) findings(limit int) (list []*Finding, omitted int) {
	for _, notes := range []bool{false, true} {
		for i := range r.Tests {
			for j := range r.Tests[i].Findings {
				if f := &r.Tests[i].Findings[j]; f.isNote() == notes {
					list = append(list, f)
				}
			}
		}
	}
	shown := min(limit, len(list))
	return list[:shown], len(list) - shown
}

func (f *Finding) isNote() bool { return f.Level == Warning || f.Level == Notice }

// Markdown writes the result as GitHub-flavored Markdown.
func (r *Report) Markdown(w io.Writer) error {
	var text strings.Builder
	list, omitted := r.findings(maxShown)
	failed, status := 0, "nothing was checked"
	for i := range r.Tests {
		if !r.Tests[i].Skipped {
			status = "passed"
		}
		for j := range r.Tests[i].Findings {
			if !r.Tests[i].Findings[j].isNote() {
				failed++
			}
		}
	}
	if failed > 0 {
		status = fmt.Sprintf("failed (%d)", failed)
	}
	fmt.Fprintf(&text, "### %s: %s\n\n%s\n", markdown.Plain(r.Name), status, markdown.Plain(r.Summary))
	var rows [][]string
	for _, f := range list {
		place := f.File
		if f.Line > 0 {
			place += fmt.Sprintf(":%d", f.Line)
		}
		rows = append(rows, []string{f.Type, place, f.Message})
	}
	if len(rows) > 0 {
		text.WriteString("\n")
		Table(&text, []string{"finding", "place", "message"}, rows)
	}
	if omitted > 0 {
		fmt.Fprintf(&text, "\n%d more findings are not shown.\n", omitted)
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// Table writes a table of Markdown whose cells are untrusted text.
func Table(text *strings.Builder, header []string, rows [][]string) {
	fmt.Fprintf(text, "| %s |\n|%s\n", strings.Join(header, " | "), strings.Repeat(" --- |", len(header)))
	for _, row := range rows {
		for _, cell := range row {
			fmt.Fprintf(text, "| %s ", markdown.Plain(cell))
		}
		text.WriteString("|\n")
	}
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
		Skipped *struct{}     `xml:"skipped"`
		Output  string        `xml:"system-out,omitempty"`
	}
	junitFailure struct {
		Type    string `xml:"type,attr"`
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// JUnit writes the result as JUnit XML: one test per [Test]. A failed test has one failure, or one error if its
// first finding is an error; it lists all findings. Notes are in the output of the test.
func (r *Report) JUnit(w io.Writer) error {
	s := junitSuite{Name: plain(r.Name), Tests: len(r.Tests)}
	for i := range r.Tests {
		t := &r.Tests[i]
		c := junitCase{Class: t.Class, Name: plain(visible.Escaped(t.Name)), Output: plain(t.Output)}
		var found []*Finding
		var text string
		for j := range t.Findings {
			if f := &t.Findings[j]; f.isNote() {
				c.Output += plain(f.text()) + "\n"
			} else {
				found = append(found, f)
				text += plain(f.text()) + "\n"
			}
		}
		if len(found) > 0 {
			failure := &junitFailure{found[0].Type, plain(found[0].Message), text}
			if found[0].Level == Error {
				c.Error = failure
				s.Errors++
			} else {
				c.Failure = failure
				s.Failures++
			}
		}
		if t.Skipped {
			c.Skipped = &struct{}{}
			s.Skipped++
		}
		s.Cases = append(s.Cases, c)
	}
	text, err := xml.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, text)
	return err
}

func plain(text string) string { return string(visible.Text([]byte(text))) }
