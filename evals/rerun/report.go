package rerun

import (
	"errors"

	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/trace/importer"
)

// Where identifies the run of a report line.
type Where struct {
	Run   string `json:"run"`
	Case  string `json:"case"`  // as the row of the run has it
	Epoch int    `json:"epoch"` // -1 if unknown
	File  string `json:"file"`
	Line  int    `json:"line"`
}

func whereOf(r *Recorded) Where {
	return Where{r.Name, evals.CaseOf(&r.Run), r.Epoch, r.File, r.Line}
}

func unread(err error) evals.Unreadable {
	file := ""
	if e, ok := errors.AsType[*importer.Error](err); ok {
		file = e.File
	}
	return evals.Unread(file, err)
}

// ModelLine is the report line of a rerun with a model.
type ModelLine struct {
	Where
	Path       Path        `json:"path"`
	Steps      int         `json:"steps"`    // model responses
	Reworded   int         `json:"reworded"` // responses with another text
	Divergence *Divergence `json:"divergence,omitempty"`
	// Error is the error of the model or of the rerun.
	Error string `json:"error,omitempty"`
}

// Path is the result of the comparison with the recording.
type Path string

// Results of a rerun with a model.
const (
	PathSame     Path = "same"     // the run follows the recording to its end
	PathDiverged Path = "diverged" // the run diverges
	PathFailed   Path = "failed"   // the model or the rerun failed
)

// ModelReport contains the results of reruns with a model.
type ModelReport struct {
	Runs       []ModelLine        `json:"runs"`
	Paths      map[Path]int       `json:"paths"` // number of runs
	Unreadable []evals.Unreadable `json:"unreadable"`
}

// NewModelReport returns an empty report.
func NewModelReport() *ModelReport {
	return &ModelReport{Runs: []ModelLine{}, Paths: map[Path]int{PathSame: 0, PathDiverged: 0, PathFailed: 0}, Unreadable: []evals.Unreadable{}}
}

// Add adds the result of a run and returns its line. out is nil if the rerun failed; err is the
// reason.
func (r *ModelReport) Add(run *Recorded, out *ModelRerun, err error) *ModelLine {
	l := ModelLine{Where: whereOf(run), Path: PathSame}
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
