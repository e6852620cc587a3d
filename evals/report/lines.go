package report

import (
	"encoding/json"
	"io"
	"iter"
	"slices"

	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/internal/visible"
)

// The format of [Report.JSON].
const (
	format  = "looptape-report"
	version = 2

	linesFormat  = "looptape-report-lines"
	linesVersion = 1
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
			for row := range r.Base.Rows.All() {
				if !yield(Run{"base", r.baseSuccess.of(&row), &row}) {
					return
				}
			}
		}
		for row := range r.Result.Rows.All() {
			if !yield(Run{set, r.success.of(&row), &row}) {
				return
			}
		}
	}
}

// Document is the content of [Report.JSON].
type Document struct {
	Format     string            `json:"format"`
	Version    int               `json:"version"`
	Scorers    []string          `json:"scorers"`
	Summary    *evals.Summary    `json:"summary"`
	Outcomes   map[Outcome]int   `json:"outcomes"`
	Cases      []Case            `json:"cases"`
	Runs       []Run             `json:"runs"`
	Comparison *evals.Comparison `json:"comparison,omitempty"`
}

// JSON writes the whole report as one line of JSON.
func (r *Report) JSON(w io.Writer) error {
	count := map[Outcome]int{}
	for _, o := range outcomes() {
		count[o] = len(r.Of(o))
	}
	return lines(w)(Document{
		format, version, r.Result.Scorers, r.Summary, count,
		append([]Case{}, r.Cases...), slices.AppendSeq([]Run{}, r.Runs()), r.Comparison,
	})
}

// Lines writes JSON Lines: the format and its version, and then one run per line.
func (r *Report) Lines(w io.Writer) error {
	write := lines(w)
	if err := write(map[string]any{"format": linesFormat, "version": linesVersion}); err != nil {
		return err
	}
	for run := range r.Runs() {
		if err := write(run); err != nil {
			return err
		}
	}
	return nil
}

// lines writes JSON values without HTML escaping, one per line.
func lines(w io.Writer) func(v any) error {
	enc := json.NewEncoder(visible.JSONWriter(w))
	enc.SetEscapeHTML(false)
	return enc.Encode
}
