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

// Words is the outcome for people.
func (o Outcome) Words() string { return strings.ReplaceAll(string(o), "_", " ") }

// Counts says how many cases have each outcome, such as "1 failed, 2 passed"; those that
// no case has are left out.
func (r *Report) Counts() string {
	var words []string
	for _, o := range Outcomes() {
		if n := len(r.Of(o)); n > 0 {
			words = append(words, fmt.Sprint(n, " ", o.Words()))
		}
	}
	return strings.Join(words, ", ")
}

// Says is what the case scored, for people: the mean by each metric, how many runs have no
// score, and why the first run that did not succeed scored what it did.
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

// metric is what the case scored by a metric.
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

// why explains the first run that has no score by a metric, or the first whose score is
// less than 1.
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

// Short is a text, or the beginning of one that has more characters.
func Short(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

// Figure is a number for people, with four digits behind the point, or six in all where
// it is large, and - where there is none.
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

// Bounds is an interval for people.
func Bounds(in *evals.Interval) string {
	if in == nil {
		return "-"
	}
	return FormatValue(&in[0]) + " to " + FormatValue(&in[1])
}

// Signed is a difference for people.
func Signed(x *float64) string {
	if x != nil && *x > 0 {
		return "+" + FormatValue(x)
	}
	return FormatValue(x)
}

// Probability is a p-value for people.
func Probability(p *float64) string {
	const least = 0.0001
	if p != nil && *p < least {
		return "<" + fmt.Sprint(least)
	}
	return FormatValue(p)
}
