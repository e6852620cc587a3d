package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/looptape/looptape/internal/markdown"
)

// String returns the outcome as words.
func (o Outcome) String() string { return strings.ReplaceAll(string(o), "_", " ") }

// Counts returns the number of cases by outcome, such as "1 failed, 2 passed".
func (r *Report) Counts() string {
	var words []string
	for _, o := range outcomes() {
		if n := len(r.Of(o)); n > 0 {
			words = append(words, fmt.Sprintf("%d %v", n, o))
		}
	}
	return strings.Join(words, ", ")
}

// Description describes the scores of a case: the mean by metric, the number of runs without a score,
// and the explanation of the first failed run.
func (c *Case) Description() string {
	names := slices.AppendSeq(slices.Collect(maps.Keys(c.Scores)), maps.Keys(c.Errors))
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) == 0 {
		return "no score"
	}
	for i, metric := range names {
		names[i] = c.metric(metric)
	}
	return strings.Join(names, "; ")
}

func (c *Case) metric(metric string) string {
	text := metric
	if mean, ok := c.Scores[metric]; ok {
		const digits = 4
		text += " " + strconv.FormatFloat(mean, 'g', digits, 64)
	}
	scored := 0
	for i := range c.rows {
		if c.rows[i].Scores.Has(metric) {
			scored++
		}
	}
	if n := c.Runs - scored; n > 0 {
		text += fmt.Sprintf(" (%d not scored)", n)
	}
	if why := c.why(metric); why != "" {
		text += ": " + why
	}
	return text
}

// why explains the first failed score, or else the first score below 1.
func (c *Case) why(metric string) string {
	why := ""
	for i := range c.rows {
		r := &c.rows[i]
		if text := r.Errors.Of(metric); text != "" {
			return shortItems(text)
		}
		if r.Scores.Of(metric) < 1 {
			why = cmp.Or(why, r.Explanations.Of(metric))
		}
	}
	return shortItems(why)
}

// Markdown writes GitHub-flavored Markdown for a pull request: the statistics, the changes and
// the cases by outcome. It escapes untrusted text.
func (r *Report) Markdown(w io.Writer, l Lists) error {
	var text strings.Builder
	f := r.Summary
	fmt.Fprintf(&text, "### looptape eval report\n\n**%s**\n\nRuns: %d, of %d cases, up to %d per case. Cases: %s.\n", markdown.Plain(r.Headline()), f.Runs, f.Cases, f.Epochs, r.Counts())
	for _, t := range r.Tables(l) {
		if len(t.Rows) == 0 || !strings.HasPrefix(t.Header[0], string(Passed)+" (") {
			writeTable(&text, t)
			continue
		}
		fmt.Fprintf(&text, "\n<details><summary>%s</summary>\n", t.Header[0])
		writeTable(&text, t)
		text.WriteString("\n</details>\n")
	}
	for _, u := range f.Unreadable {
		fmt.Fprintf(&text, "\nUnreadable: %s\n", markdown.Plain(u.String()))
	}
	_, err := io.WriteString(w, text.String())
	return err
}

func writeTable(text *strings.Builder, t Table) {
	if len(t.Rows) == 0 {
		return
	}
	text.WriteByte('\n')
	writeRow(text, t.Header)
	text.WriteString(strings.Repeat("| --- ", len(t.Header)) + "|\n")
	for _, row := range t.Rows {
		writeRow(text, row)
	}
}

func writeRow(text *strings.Builder, cells []string) {
	for _, cell := range cells {
		text.WriteString("| " + markdown.Plain(cell) + " ")
	}
	text.WriteString("|\n")
}
