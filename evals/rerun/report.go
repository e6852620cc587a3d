package rerun

import (
	"errors"

	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/trace/importer"
)

// Where says which run a line of a report is about.
type Where struct {
	Run   string `json:"run"`
	Case  string `json:"case"`  // as the row of the run has it
	Epoch int    `json:"epoch"` // -1 if the recording does not say it
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

// ModelLine is what a report says of a run that a model has gone again.
type ModelLine struct {
	Where
	Path       Path        `json:"path"`
	Steps      int         `json:"steps"`    // turns of the model
	Reworded   int         `json:"reworded"` // answers on the path with another text
	Divergence *Divergence `json:"divergence,omitempty"`
	// Error says why the model failed, or why the run could not be rerun.
	Error string `json:"error,omitempty"`
}

// Path is how a run went, held against the record.
type Path string

// The paths.
const (
	PathSame     Path = "same"     // the recorded one to its end
	PathDiverged Path = "diverged" // it left that
	PathFailed   Path = "failed"   // the model failed on it, or the run could not be rerun
)

// ModelReport says of many runs what came of having a model go them again.
type ModelReport struct {
	Runs       []ModelLine        `json:"runs"`
	Paths      map[Path]int       `json:"paths"` // how many runs went which
	Unreadable []evals.Unreadable `json:"unreadable"`
}

// NewModelReport returns a report of no runs.
func NewModelReport() *ModelReport {
	return &ModelReport{Runs: []ModelLine{}, Paths: map[Path]int{PathSame: 0, PathDiverged: 0, PathFailed: 0}, Unreadable: []evals.Unreadable{}}
}

// Add adds what came of a run, and returns its line. Out is nil if the run could not be
// rerun; err says why.
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

// Parts reports whether a run left the recorded path, or failed.
func (r *ModelReport) Diverged() bool { return r.Paths[PathSame] < len(r.Runs) }

// Unread adds what could not be read, an error of [Runs].
func (r *ModelReport) Unread(err error) { r.Unreadable = append(r.Unreadable, unread(err)) }
