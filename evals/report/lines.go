package report

import (
	"encoding/json"
	"io"
	"iter"

	"github.com/looptape/looptape/evals"
)

// The format of [Report.JSON].
const (
	format  = "looptape-report"
	version = 2
)

// Run is a run of a report.
type Run struct {
	// Set is base or new in a comparison; else empty.
	Set     string  `json:"set,omitempty"`
	Outcome Outcome `json:"outcome"` // never Mixed
	*evals.Row
}

// Runs yields the runs: those of the base before those of the result.
func (r *Report) Runs() iter.Seq[Run] {
	return func(yield func(Run) bool) {
		set := ""
		if r.Base != nil {
			set = "new"
			if !runs("base", r.Base, r.baseSuccess, yield) {
				return
			}
		}
		runs(set, r.Result, r.success, yield)
	}
}

// runs yields the runs of a result, and reports whether to continue.
func runs(set string, of *evals.Result, s success, yield func(Run) bool) bool {
	for i := range of.Rows {
		row := &of.Rows[i]
		if !yield(Run{set, s.of(row), row}) {
			return false
		}
	}
	return true
}

// JSON writes the whole report as one line of JSON.
func (r *Report) JSON(w io.Writer) error {
	document := struct {
		Format     string            `json:"format"`
		Version    int               `json:"version"`
		Scorers    []string          `json:"scorers"`
		Summary    *evals.Summary    `json:"summary"`
		Outcomes   map[Outcome]int   `json:"outcomes"`
		Cases      []Case            `json:"cases"`
		Runs       []Run             `json:"runs"`
		Comparison *evals.Comparison `json:"comparison,omitempty"`
	}{format, version, r.Result.Scorers, r.Summary, map[Outcome]int{}, append([]Case{}, r.Cases...), []Run{}, r.Comparison}
	for _, o := range outcomes() {
		document.Outcomes[o] = len(r.Of(o))
	}
	for run := range r.Runs() {
		document.Runs = append(document.Runs, run)
	}
	return lines(w)(document)
}

// Lines writes JSON Lines, one run per line.
func (r *Report) Lines(w io.Writer) error {
	write := lines(w)
	for run := range r.Runs() {
		if err := write(run); err != nil {
			return err
		}
	}
	return nil
}

// lines writes JSON values without HTML escaping, one per line.
func lines(w io.Writer) func(v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode
}
