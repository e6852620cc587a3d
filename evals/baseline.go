package evals

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sort"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/internal/jsonval"
	"github.com/looptape/looptape/internal/visible"
	"github.com/looptape/looptape/trace/importer"
)

// Baseline contains the scores of a set of runs. A [Gate] compares later runs with it.
type Baseline struct {
	// Scorers are the names of the scorers.
	Scorers []string `json:"scorers"`
	// Means are the means over cases by metric. They are for readers of the file; a gate computes
	// with the cases.
	Means map[string]float64 `json:"metrics"`
	// Cases are sorted by name.
	Cases []baselineCase `json:"cases"`
}

// baselineCase contains the scores of the runs of a case.
type baselineCase struct {
	Case    string `json:"case"`
	Cluster string `json:"cluster,omitempty"`
	// MustPass marks a case that fails the gate if it fails.
	MustPass bool `json:"must_pass,omitempty"`
	// Scores are the scores of the runs that have one, by metric, in the order of [Result.Rows].
	Scores baselineScores `json:"scores"`
	// Runs is the number of runs if it is more than that of the scores of any metric.
	Runs int `json:"runs,omitempty"`
	// Findings are the rules that runs of the case break, by metric.
	Findings map[string][]string `json:"findings,omitempty"`
}

type baselineScores map[string][]float64

// UnmarshalJSON reads an object of lists of numbers. It returns an error for null, which is no score of 0.
func (s *baselineScores) UnmarshalJSON(text []byte) error {
	var all map[string][]*float64
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	*s = baselineScores{}
	for metric, values := range all {
		list := make([]float64, len(values))
		for i, v := range values {
			if v == nil {
				return fmt.Errorf("score %d of %q is null: want a number", i+1, metric)
			}
			list[i] = *v
		}
		(*s)[metric] = list
	}
	return nil
}

// Baseline returns the baseline of a result. It marks the cases that old marks or that mustPass
// names; old may be nil. It returns an error if mustPass names an unknown case.
func (r *Result) Baseline(old *Baseline, mustPass []string) (*Baseline, error) {
	if old != nil {
		others := r.others()
		if i := slices.IndexFunc(old.Cases, func(c baselineCase) bool { return others[c.Case] }); i >= 0 {
			return nil, fmt.Errorf("the baseline has cases without the tag, such as %q: write it without --tag, or to another file", old.Cases[i].Case)
		}
	}
	b := &Baseline{Scorers: r.Scorers, Means: map[string]float64{}}
	marked := old.marked(mustPass)
	for runs := range r.Cases() {
		c := baselineCase{Case: runs[0].Case, Cluster: runs[0].Cluster, MustPass: marked[runs[0].Case], Scores: map[string][]float64{}}
		for _, run := range runs {
			for metric, value := range run.Scores.All() {
				c.Scores[metric] = append(c.Scores[metric], value)
			}
			for metric, rules := range run.Findings.All() {
				c.add(metric, rules)
			}
		}
		if n := c.runs(); n > 0 && len(runs) > n {
			c.Runs = len(runs)
		}
		b.Cases = append(b.Cases, c)
	}
	known := r.caseNames()
	if i := slices.IndexFunc(mustPass, func(name string) bool { return !known[name] }); i >= 0 {
		return nil, fmt.Errorf("the must-pass case %q is unknown: use the name in the recordings", mustPass[i])
	}
	for _, metric := range r.metrics() {
		s, err := r.sample(metric)
		if err != nil {
			return nil, err
		}
		if s != nil {
			b.Means[metric] = s.CaseMeans().Mean()
		}
	}
	return b, nil
}

// without returns the baseline without cases.
func (b *Baseline) without(cases map[string]bool) *Baseline {
	kept := *b
	kept.Cases = slices.DeleteFunc(slices.Clone(b.Cases), func(c baselineCase) bool { return cases[c.Case] })
	return &kept
}

// runs returns the number of runs.
func (c *baselineCase) runs() int {
	n := c.Runs
	for _, scores := range c.Scores {
		n = max(n, len(scores))
	}
	return n
}

// add adds the rules that a run breaks.
func (c *baselineCase) add(metric string, rules []string) {
	if c.Findings == nil {
		c.Findings = map[string][]string{}
	}
	all := append(c.Findings[metric], rules...)
	slices.Sort(all)
	c.Findings[metric] = slices.Compact(all)
}

// marked returns the must-pass cases of a baseline, which may be nil, and more.
func (b *Baseline) marked(more []string) map[string]bool {
	marked := map[string]bool{}
	for _, name := range more {
		marked[name] = true
	}
	if b == nil {
		return marked
	}
	for _, c := range b.Cases {
		if c.MustPass {
			marked[c.Case] = true
		}
	}
	return marked
}

// Write writes the baseline. Equal baselines are equal bytes.
func (b *Baseline) Write(w io.Writer) error {
	var text bytes.Buffer
	const head = "{\n\"format\": %q,\n\"version\": %d,\n\"scorers\": %s,\n\"metrics\": {"
	fmt.Fprintf(&text, head, BaselineFormat, BaselineVersion, oneLine(b.Scorers))
	for i, metric := range slices.Sorted(maps.Keys(b.Means)) {
		fmt.Fprintf(&text, "%s\n  %s: %s", comma(i), oneLine(metric), oneLine(b.Means[metric]))
	}
	text.WriteString("\n},\n\"cases\": [")
	for i, c := range b.Cases {
		fmt.Fprintf(&text, "%s\n  %s", comma(i), oneLine(c))
	}
	text.WriteString("\n]\n}\n")
	_, err := w.Write(visible.JSON(text.Bytes()))
	return err
}

// comma returns the separator before item i of a list.
func comma(i int) string { return ","[:min(i, 1)] }

// oneLine returns the JSON of a value that can always be encoded, without HTML escaping.
func oneLine(v any) []byte {
	line, _ := jsonval.Line(v)
	return bytes.TrimSuffix(line, []byte("\n"))
}

// ReadBaseline reads a baseline. It returns an [*importer.Error] with the name and, if known, the
// line. Unknown members are errors, since a misspelled mark has no effect.
func ReadBaseline(name string, r io.Reader) (*Baseline, error) {
	text, err := readWhole(name, r, "baseline")
	if err != nil {
		return nil, err
	}
	var file struct {
		Format  string             `json:"format"`
		Version int                `json:"version"`
		Scorers []string           `json:"scorers"`
		Metrics map[string]float64 `json:"metrics"`
		Cases   []baselineCase     `json:"cases"`
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&file); err != nil {
		return nil, &importer.Error{File: name, Line: errorLine(text, err), Err: fmt.Errorf("not a baseline of looptape eval gate --update: %w", jsonio.Words(err))}
	}
	_, end := dec.Token()
	switch {
	case file.Format != BaselineFormat:
		err = fmt.Errorf("unknown format %q: want %s: write it with looptape eval gate --update", file.Format, BaselineFormat)
	case file.Version != BaselineVersion:
		err = fmt.Errorf("version %d: this version of looptape reads %d: write the baseline again with looptape eval gate --update", file.Version, BaselineVersion)
	case !errors.Is(end, io.EOF):
		err = errors.New("unexpected data after the baseline: write it again with looptape eval gate --update")
	}
	b := &Baseline{scorerNames(file.Scorers), file.Metrics, file.Cases}
	if err = cmp.Or(err, b.check()); err != nil {
		return nil, &importer.Error{File: name, Err: err}
	}
	return b, nil
}

// readWhole reads a file of a kind that is held in memory. Its error is an [*importer.Error].
func readWhole(name string, r io.Reader, kind string) ([]byte, error) {
	const most = 1 << 30 // bytes; a case needs about 100
	text, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && len(text) > most {
		err = fmt.Errorf("larger than %d bytes: not a %s", most, kind)
	}
	if err != nil {
		return nil, &importer.Error{File: name, Err: err}
	}
	return text, nil
}

// errorLine returns the line of a decoding error, or 0 if the error has no position.
func errorLine(text []byte, err error) int {
	line := func(at int64) int { return 1 + bytes.Count(text[:at], []byte("\n")) }
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return line(e.Offset)
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return line(e.Offset)
	}
	return 0
}

// check sorts the cases and rejects what Write does not write.
func (b *Baseline) check() error {
	sort.SliceStable(b.Cases, func(i, j int) bool { return b.Cases[i].Case < b.Cases[j].Case })
	for i, c := range b.Cases {
		if i > 0 && b.Cases[i-1].Case == c.Case {
			return fmt.Errorf("duplicate case %q", c.Case)
		}
	}
	for row := range b.result().Rows.All() {
		if err := row.check(); err != nil {
			return fmt.Errorf("case %q: %w", row.Case, err)
		}
	}
	return nil
}

// result converts the baseline to a result. A case without scores has one run.
func (b *Baseline) result() *Result {
	r := &Result{Scorers: b.Scorers}
	for _, c := range b.Cases {
		runs := 1
		for _, values := range c.Scores {
			runs = max(runs, len(values))
		}
		for epoch := range runs {
			scores := map[string]float64{}
			for metric, values := range c.Scores {
				if epoch < len(values) {
					scores[metric] = values[epoch]
				}
			}
			r.Rows.Add(&Row{Case: c.Case, Cluster: c.Cluster, Epoch: epoch, Scores: newByName(scores)})
		}
	}
	return r
}
