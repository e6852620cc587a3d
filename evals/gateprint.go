package evals

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/looptape/looptape/internal/markdown"
)

// line is the finding on one line for people: what, by which metric, of which case.
func (f *Finding) line() string {
	words := []string{f.Kind.String()}
	for _, word := range []string{f.Metric, f.Case} {
		if word != "" {
			words = append(words, word)
		}
	}
	return strings.Join(words, ": ") + ": " + f.Message
}

// GitHub writes the findings as annotations of GitHub Actions, one line each (the command
// "error" of its "Workflow commands").
func (v *GateResult) GitHub(w io.Writer) error {
	var text strings.Builder
	message := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
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

// Markdown writes the verdict as GitHub-flavoured Markdown.
func (v *GateResult) Markdown(w io.Writer) error {
	var text strings.Builder
	verdict := "passed"
	if !v.Passed {
		verdict = fmt.Sprintf("failed (%d)", len(v.Findings))
	}
	fmt.Fprintf(&text, "### looptape eval gate: %s\n\n", verdict)
	text.WriteString("| metric | cases | baseline | now | difference | p |\n| --- | ---: | ---: | ---: | ---: | ---: |\n")
	for _, name := range slices.Sorted(maps.Keys(v.Metrics)) {
		m := v.Metrics[name]
		fmt.Fprintf(&text, "| %s | %d | %s | %s | %s | %s |\n", markdown.Plain(name), m.Pairs, formatValue("%.4f", m.Base), formatValue("%.4f", m.New), formatValue("%+.4f", m.Difference), formatValue("%.4f", m.Holm))
	}
	if !v.Passed {
		text.WriteString("\n| what | metric | case | why |\n| --- | --- | --- | --- |\n")
	}
	for _, f := range v.Findings {
		fmt.Fprintf(&text, "| %s | %s | %s | %s |\n", f.Kind, markdown.Plain(f.Metric), markdown.Plain(f.Case), markdown.Plain(f.Message))
	}
	for _, u := range v.Unreadable {
		fmt.Fprintf(&text, "\nUnreadable: %s\n", markdown.Plain(u.String()))
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// digits is a figure for people, if there is one.
func formatValue(format string, x *float64) string {
	if x == nil {
		return "-"
	}
	return fmt.Sprintf(format, *x)
}
