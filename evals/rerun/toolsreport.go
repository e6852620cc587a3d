package rerun

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/looptape/looptape/evals"
)

// Counts are how many calls had which verdict.
type Counts struct {
	Same       int `json:"same"`
	Differs    int `json:"differs"`
	Unrecorded int `json:"unrecorded"`
	Failed     int `json:"failed"`
	Recorded   int `json:"recorded"`
}

// Run is the number of calls whose tools were run, or should have been.
func (c Counts) Run() int { return c.Same + c.Differs + c.Unrecorded + c.Failed }

// Plus is the sum of two counts.
func (c Counts) Plus(o Counts) Counts {
	return Counts{c.Same + o.Same, c.Differs + o.Differs, c.Unrecorded + o.Unrecorded, c.Failed + o.Failed, c.Recorded + o.Recorded}
}

// add counts a call.
func (c *Counts) add(v CallStatus) {
	switch v {
	case Same:
		c.Same++
	case Differs:
		c.Differs++
	case Unrecorded:
		c.Unrecorded++
	case Failed:
		c.Failed++
	case AsRecorded:
		c.Recorded++
	}
}

// ToolsLine is what a report says of a run whose tools were run again.
type ToolsLine struct {
	Where
	Counts Counts `json:"counts"`
	// Calls are those whose verdict is neither Same nor AsRecorded.
	Calls []Call `json:"calls,omitempty"`
	// Error says why the run could not be rerun, or what its program did wrong behind the
	// last call.
	Error string `json:"error,omitempty"`
}

// Parts reports whether the run parts from the record, or could not be rerun.
func (l *ToolsLine) Differs() bool { return l.Error != "" || l.Counts.Differs+l.Counts.Failed > 0 }

// Says tells people what the verdict on a call is about, in a line a place.
func (c *Call) Describe() (lines []string) {
	for _, d := range c.Differences {
		lines = append(lines, fmt.Sprintf("%s: was %s, is %s", cmp.Or(d.At, "all"), d.Want, d.Got))
	}
	switch {
	case c.Status == Unrecorded:
		lines = append(lines, "now: "+window(c.Now, 0))
	case c.Status != Differs || len(lines) > 0 || c.Now == c.Recorded:
	case squeezed(c.Now) == squeezed(c.Recorded):
		lines = append(lines, "other white space")
	default:
		at := commonPrefix(c.Recorded, c.Now)
		lines = append(lines, fmt.Sprintf("was %s, is %s", window(c.Recorded, at), window(c.Now, at)))
	}
	if c.Note != "" {
		lines = append(lines, c.Note)
	}
	return lines
}

// commonPrefix is how many bytes two texts have in common at their beginnings, up to a
// whole character.
func commonPrefix(a, b string) int {
	for i, r := range a {
		if !strings.HasPrefix(b[i:], string(r)) {
			return i
		}
	}
	return len(a)
}

// window is what stands at a place of a text, and a little before it.
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

// ToolsReport says of many runs what came of running their tools again.
type ToolsReport struct {
	Runs       []ToolsLine        `json:"runs"`
	Tools      map[string]Counts  `json:"tools"` // by name
	Unreadable []evals.Unreadable `json:"unreadable"`
}

// NewToolsReport returns a report of no runs.
func NewToolsReport() *ToolsReport {
	return &ToolsReport{Runs: []ToolsLine{}, Tools: map[string]Counts{}, Unreadable: []evals.Unreadable{}}
}

// Add adds what came of a run, and returns its line. Out is nil if the run could not be
// rerun; err says why, or what else went wrong.
func (r *ToolsReport) Add(run *Recorded, out *ToolsRerun, err error) *ToolsLine {
	l := ToolsLine{Where: whereOf(run)}
	if out != nil {
		for _, c := range out.Calls {
			l.Counts.add(c.Status)
			r.count(c.Tool, c.Status)
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

func (r *ToolsReport) count(tool string, v CallStatus) {
	counts := r.Tools[tool]
	counts.add(v)
	r.Tools[tool] = counts
}

// Parts reports whether a run parts from the record, or could not be rerun.
func (r *ToolsReport) Differs() bool {
	return slices.ContainsFunc(r.Runs, func(l ToolsLine) bool { return l.Differs() })
}

// Unread adds what could not be read, an error of [Runs].
func (r *ToolsReport) Unread(err error) { r.Unreadable = append(r.Unreadable, unread(err)) }
