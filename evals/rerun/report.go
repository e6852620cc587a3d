package rerun

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/trace"
)

type where struct {
	Run   string `json:"run"`
	Case  string `json:"case"`  // as the row of the run has it
	Epoch int    `json:"epoch"` // -1 if unknown
	File  string `json:"file"`
	Line  int    `json:"line"`
}

func whereOf(r *Recorded) where {
	return where{r.Name, r.Run.CaseName(), r.Epoch, r.File, r.Line}
}

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
func (r *ModelReport) Unread(err error) { r.Unreadable = evals.AddUnread(r.Unreadable, "", err) }

type counts struct {
	Same       int `json:"same"`
	Differs    int `json:"differs"`
	Unrecorded int `json:"unrecorded"`
	Failed     int `json:"failed"`
	Recorded   int `json:"recorded"`
}

// Summary returns the counts of all calls whose tools ran or failed to run, in words.
func (r *ToolsReport) Summary() string {
	var all counts
	for _, c := range r.Tools {
		all = counts{Same: c.Same + all.Same, Differs: c.Differs + all.Differs, Unrecorded: c.Unrecorded + all.Unrecorded, Failed: c.Failed + all.Failed}
	}
	n := all.Same + all.Differs + all.Unrecorded + all.Failed
	plural := "s"
	if n == 1 {
		plural = ""
	}
	return fmt.Sprintf("%d call%s run: %d differ, %d failed, %d unrecorded", n, plural, all.Differs, all.Failed, all.Unrecorded)
}

func (c *counts) add(status string) {
	*map[string]*int{
		Same: &c.Same, Differs: &c.Differs, Unrecorded: &c.Unrecorded, Failed: &c.Failed, AsRecorded: &c.Recorded,
	}[status]++
}

type toolsLine struct {
	where
	Counts counts `json:"counts"`
	// Calls are those with a status other than Same and AsRecorded.
	Calls []Call `json:"calls,omitempty"`
	// Error is the error of the rerun, or of a program after the last call.
	Error string `json:"error,omitempty"`
}

// Differs reports whether a result differs or the rerun failed.
func (l *toolsLine) Differs() bool { return l.Error != "" || l.Counts.Differs+l.Counts.Failed > 0 }

// Describe describes the differences of a call, one per line.
func (c *Call) Describe() (lines []string) {
	for _, d := range c.Differences {
		lines = append(lines, fmt.Sprintf("%s: was %s, is %s", cmp.Or(d.At, "all"), d.Want, d.Got))
	}
	switch {
	case c.Status == Unrecorded:
		lines = append(lines, "now: "+window(c.Now, 0))
	case c.Status != Differs || len(lines) > 0 || c.Now == c.Recorded:
	case squeezed(c.Now) == squeezed(c.Recorded):
		lines = append(lines, "only white space differs")
	default:
		at := commonPrefix(c.Recorded, c.Now)
		lines = append(lines, fmt.Sprintf("was %s, is %s", window(c.Recorded, at), window(c.Now, at)))
	}
	if c.Note != "" {
		lines = append(lines, c.Note)
	}
	return lines
}

// commonPrefix returns the length of the common prefix in bytes, up to a whole character.
func commonPrefix(a, b string) int {
	for i, r := range a {
		if !strings.HasPrefix(b[i:], string(r)) {
			return i
		}
	}
	return len(a)
}

// window returns the text around a position.
func window(text string, at int) string {
	const before, width = 20, 60
	runes := []rune(text)
	from := max(0, utf8.RuneCountInString(text[:at])-before)
	part := runes[from:min(len(runes), from+width)]
	out := `"` + string(part) + `"`
	if from > 0 {
		out = "…" + out
	}
	if from+len(part) < len(runes) {
		out += "…"
	}
	return out
}

// ToolsReport contains the results of reruns with tools.
type ToolsReport struct {
	Runs       []toolsLine        `json:"runs"`
	Tools      map[string]counts  `json:"tools"` // by name
	Unreadable []evals.Unreadable `json:"unreadable"`
}

// NewToolsReport returns an empty report.
func NewToolsReport() *ToolsReport {
	return &ToolsReport{Runs: []toolsLine{}, Tools: map[string]counts{}, Unreadable: []evals.Unreadable{}}
}

// Add adds the result of a run and returns its line. out is nil if the rerun failed; err is the
// reason.
func (r *ToolsReport) Add(run *Recorded, out *ToolsRerun, err error) any {
	l := toolsLine{where: whereOf(run)}
	if out != nil {
		for _, c := range out.Calls {
			l.Counts.add(c.Status)
			tool := r.Tools[c.Tool]
			tool.add(c.Status)
			r.Tools[c.Tool] = tool
			if c.Status != Same && c.Status != AsRecorded {
				l.Calls = append(l.Calls, c)
			}
		}
	}
	if err != nil {
		l.Error = err.Error()
	}
	r.Runs = append(r.Runs, l)
	return &r.Runs[len(r.Runs)-1]
}

// Differs reports whether a result differs or a rerun failed.
func (r *ToolsReport) Differs() bool {
	return slices.ContainsFunc(r.Runs, func(l toolsLine) bool { return l.Differs() })
}

// Unread adds an error of [Runs].
func (r *ToolsReport) Unread(err error) { r.Unreadable = evals.AddUnread(r.Unreadable, "", err) }

// Write writes the events of a rerun of run to a trace, with the case, the epoch, the cluster and the
// expectations of run (see importer.CaseEvent), but without its scores. A sink takes the reruns of one
// report; number distinguishes them.
func (run *Recorded) Write(sink trace.Sink, number int, events []trace.Event) error {
	name := fmt.Sprintf("r%d", number)
	about := run.Run
	about.Case = run.Run.CaseName()
	seq := 0
	put := func(ev trace.Event) error {
		ev.Run, ev.Seq = name, seq
		seq++
		return sink.Write(ev)
	}
	for _, ev := range events {
		if err := put(ev); err != nil {
			return err
		}
		if _, ok := ev.Body.(trace.RunStart); ok {
			if err := put(trace.Event{Step: trace.NoStep, Body: about.About()}); err != nil {
				return err
			}
		}
	}
	return nil
}
