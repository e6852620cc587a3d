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

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/trace/importer"
)

// Baseline is what a set of runs scored, kept for a [Gate] to hold later runs against.
type Baseline struct {
	// Scorers are the names of the scorers.
	Scorers []string
	// Means are those of all runs, by metric. They are for those who read the file: a gate
	// computes with the cases.
	Means map[string]float64
	// Cases are sorted by name.
	Cases []baselineCase
}

// BaselineCase is what the runs of a case scored.
type baselineCase struct {
	Case    string `json:"case"`
	Cluster string `json:"cluster,omitempty"`
	// MustPass marks the case as one that a gate does not let fail.
	MustPass bool `json:"must_pass,omitempty"`
	// Scores are those of each run that has one, by metric, in the order of [Result.Rows].
	Scores map[string][]float64 `json:"scores"`
}

// NewBaseline returns the baseline of a result. Cases that old marks as must-pass, or that
// are in mustPass, are marked; old may be nil. The error is for a name in mustPass that is
// no case.
func NewBaseline(r *Result, old *Baseline, mustPass []string) (*Baseline, error) {
	b := &Baseline{Scorers: r.Scorers, Means: map[string]float64{}}
	marked := old.marked(mustPass)
	for _, runs := range r.Cases() {
		c := baselineCase{Case: runs[0].Case, Cluster: runs[0].Cluster, MustPass: marked[runs[0].Case], Scores: map[string][]float64{}}
		for _, run := range runs {
			for metric, value := range run.Scores.All() {
				c.Scores[metric] = append(c.Scores[metric], value)
			}
		}
		b.Cases = append(b.Cases, c)
	}
	if err := b.has(mustPass); err != nil {
		return nil, err
	}
	for _, metric := range r.metrics() {
		s, _, err := r.sample(metric)
		if err != nil {
			return nil, err
		}
		if s != nil {
			b.Means[metric] = s.Mean()
		}
	}
	return b, nil
}

// marked are the must-pass cases of a baseline, which may be nil, and more.
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

// has is the error for the first name that is no case of the baseline.
func (b *Baseline) has(names []string) error {
	for _, name := range names {
		if !slices.ContainsFunc(b.Cases, func(c baselineCase) bool { return c.Case == name }) {
			return fmt.Errorf("the must-pass case %q is no case of the runs: name it as the recordings do", name)
		}
	}
	return nil
}

// Write writes the file of a baseline. The same baseline is the same bytes.
func (b *Baseline) Write(w io.Writer) error {
	var text bytes.Buffer
	fmt.Fprintf(&text, "{\n\"format\": %s,\n\"version\": %d,\n\"scorers\": %s,\n\"metrics\": {", oneLine(BaselineFormat), BaselineVersion, oneLine(b.Scorers))
	for i, metric := range slices.Sorted(maps.Keys(b.Means)) {
		fmt.Fprintf(&text, "%s\n  %s: %s", comma(i), oneLine(metric), oneLine(b.Means[metric]))
	}
	text.WriteString("\n},\n\"cases\": [")
	for i, c := range b.Cases {
		fmt.Fprintf(&text, "%s\n  %s", comma(i), oneLine(c))
	}
	text.WriteString("\n]\n}\n")
	_, err := w.Write(text.Bytes())
	return err
}

// comma stands before an item of a list but the first.
func comma(i int) string {
	if i == 0 {
		return ""
	}
	return ","
}

// oneLine is JSON without HTML escaping of what always has one.
func oneLine(v any) []byte {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v)
	return bytes.TrimSuffix(text.Bytes(), []byte("\n"))
}

// ReadBaseline reads the file of a baseline. What is wrong with it is an *importer.Error
// with its name and, where one is to blame, its line. Members that it does not know are
// errors, since a mark that is spelt wrong would mark nothing.
func ReadBaseline(name string, r io.Reader) (*Baseline, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxBaseline+1))
	switch {
	case err != nil:
		return nil, &importer.Error{File: name, Err: err}
	case len(text) > maxBaseline:
		return nil, &importer.Error{File: name, Err: fmt.Errorf("it is larger than %d bytes, which no baseline is", maxBaseline)}
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
		return nil, &importer.Error{File: name, Line: errorLine(text, err), Err: fmt.Errorf("it is no baseline of looptape eval gate --update: %w", jsonio.Words(err))}
	}
	switch {
	case file.Format != BaselineFormat:
		err = fmt.Errorf("its format is %q, not %s: write it with looptape eval gate --update", file.Format, BaselineFormat)
	case file.Version != BaselineVersion:
		err = fmt.Errorf("version %d: this version of looptape reads %d; write it anew with looptape eval gate --update", file.Version, BaselineVersion)
	case !atEnd(dec):
		err = errors.New("something follows the baseline; write it anew with looptape eval gate --update")
	}
	b := &Baseline{file.Scorers, file.Metrics, file.Cases}
	if err = cmp.Or(err, b.check()); err != nil {
		return nil, &importer.Error{File: name, Err: err}
	}
	return b, nil
}

// maxBaseline is how large a baseline may be; a case takes some 100 bytes.
const maxBaseline = 1 << 30

// ended reports whether nothing follows what was decoded.
func atEnd(dec *json.Decoder) bool {
	_, err := dec.Token()
	return errors.Is(err, io.EOF)
}

// lineOf is the line of an error of decoding, or 0 if it does not tell the place.
func errorLine(text []byte, err error) int {
	var runFinding int64
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		runFinding = e.Offset
	} else if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		runFinding = e.Offset
	} else {
		return 0
	}
	return 1 + bytes.Count(text[:runFinding], []byte("\n"))
}

// check sorts the cases, and refuses what Write does not write.
func (b *Baseline) check() error {
	slices.SortFunc(b.Cases, func(x, y baselineCase) int { return cmp.Compare(x.Case, y.Case) })
	for i, c := range b.Cases {
		if i > 0 && b.Cases[i-1].Case == c.Case {
			return fmt.Errorf("the case %q is there twice", c.Case)
		}
	}
	for _, row := range b.result().Rows {
		if err := row.check(); err != nil {
			return fmt.Errorf("case %q: %w", row.Case, err)
		}
	}
	return nil
}

// result is the baseline as a result: the runs of each case, and one of a case that none
// has a score of.
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
			r.Rows = append(r.Rows, Row{Case: c.Case, Cluster: c.Cluster, Epoch: epoch, Scores: NewByName(scores)})
		}
	}
	return r
}
