package report

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/looptape/looptape/evals"
)

// Words returns the outcome as words.
func (o Outcome) Words() string { return strings.ReplaceAll(string(o), "_", " ") }

// Counts returns the number of cases by outcome, such as "1 failed, 2 passed".
func (r *Report) Counts() string {
	var words []string
	for _, o := range Outcomes() {
		if n := len(r.Of(o)); n > 0 {
			words = append(words, fmt.Sprint(n, " ", o.Words()))
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
	const most = 160 // characters
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
				return Short(text, most)
			}
		}
	}
	return ""
}

// Short shortens text to most characters.
func Short(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

// FormatValue formats a number with four decimals, or six digits if it is large; nil is "-".
func FormatValue(x *float64) string {
	const large = 100
	switch {
	case x == nil:
		return "-"
	case math.Abs(*x) < large:
		return fmt.Sprintf("%.4f", *x)
	}
	return fmt.Sprintf("%.6g", *x)
}

// Bounds formats an interval.
func Bounds(in *evals.Interval) string {
	if in == nil {
		return "-"
	}
	return FormatValue(&in[0]) + " to " + FormatValue(&in[1])
}

// Signed formats a difference.
func Signed(x *float64) string {
	if x != nil && *x > 0 {
		return "+" + FormatValue(x)
	}
	return FormatValue(x)
}

// Probability formats a p-value.
func Probability(p *float64) string {
	const least = 0.0001
	if p != nil && *p < least {
		return "<" + fmt.Sprint(least)
	}
	return FormatValue(p)
}
