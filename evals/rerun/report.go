package rerun

import (
	"errors"

	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/trace/importer"
)

// where identifies the run of a report line.
type where struct {
	Run   string `json:"run"`
	Case  string `json:"case"`  // as the row of the run has it
	Epoch int    `json:"epoch"` // -1 if unknown
	File  string `json:"file"`
	Line  int    `json:"line"`
}

func whereOf(r *Recorded) where {
	return where{r.Name, evals.CaseOf(&r.Run), r.Epoch, r.File, r.Line}
}

func unread(err error) evals.Unreadable {
	file := ""
	if e, ok := errors.AsType[*importer.Error](err); ok {
		file = e.File
	}
	return evals.Unread(file, err)
}

// modelLine is the report line of a rerun with a model.
type modelLine struct {
	where
	Path       string      `json:"path"`
	Steps      int         `json:"steps"`    // model responses
	Reworded   int         `json:"reworded"` // responses with another text
	Divergence *divergence `json:"divergence,omitempty"`
	// Error is the error of the model or of the rerun.
	Error string `json:"error,omitempty"`
}

// ModelReport contains the results of reruns with a model.
type ModelReport struct {
	Runs       []modelLine        `json:"runs"`
	Paths      map[string]int     `json:"paths"` // number of runs
	Unreadable []evals.Unreadable `json:"unreadable"`
}

// NewModelReport returns an empty report.
func NewModelReport() *ModelReport {
	return &ModelReport{Runs: []modelLine{}, Paths: map[string]int{PathSame: 0, PathDiverged: 0, PathFailed: 0}, Unreadable: []evals.Unreadable{}}
}

// Add adds the result of a run and returns its line. out is nil if the rerun failed; err is the
// reason.
func (r *ModelReport) Add(run *Recorded, out *ModelRerun, err error) any {
	l := modelLine{where: whereOf(run), Path: PathSame}
	if out != nil {
		l.Steps, l.Reworded, l.Divergence = out.Steps, out.Reworded, out.Divergence
		err = errors.Join(err, out.Err)
	}
	switch {
	case l.Divergence != nil:
		l.Path = PathDiverged
	case err != nil:
		l.Path = PathFailed
	}
	if err != nil {
		l.Error = err.Error()
	}
	r.Paths[l.Path]++
	r.Runs = append(r.Runs, l)
	return &r.Runs[len(r.Runs)-1]
}

// Diverged reports whether a run diverged or failed.
func (r *ModelReport) Diverged() bool { return r.Paths[PathSame] < len(r.Runs) }

// Unread adds an error of [Runs].
func (r *ModelReport) Unread(err error) { r.Unreadable = append(r.Unreadable, unread(err)) }
