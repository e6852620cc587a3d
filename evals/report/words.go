package report

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/internal/tabular"
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
	names := slices.Collect(maps.Keys(c.Scores))
	for metric := range c.Errors {
		if _, ok := c.Scores[metric]; !ok {
			names = append(names, metric)
		}
	}
	slices.Sort(names)
	if len(names) == 0 {
		return "no score"
	}
	for i, metric := range names {
		names[i] = c.metric(metric)
	}
	return strings.Join(names, "; ")
}

// metric describes the scores of a metric.
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
	const maxLength = 160 // characters
	for _, of := range []func(*evals.Row) string{
		func(r *evals.Row) string { return r.Errors.Of(metric) },
		func(r *evals.Row) string {
			if r.Scores.Of(metric) < 1 {
				return r.Explanations.Of(metric)
			}
			return ""
		},
	} {
		for i := range c.rows {
			if text := of(&c.rows[i]); text != "" {
				return tabular.Short(text, maxLength)
			}
		}
	}
	return ""
}
