package evals

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/looptape/looptape/evals/stats"
	"github.com/looptape/looptape/trace/importer"
)

// Result contains the rows of a set of runs. All statistics are computed from it.
type Result struct {
	// Scorers are the names of the scorers.
	Scorers []string
	// Rows has one row per run, sorted by case, epoch and, without an epoch, content.
	Rows []Row
	// Unreadable are the unreadable records, by file and line.
	Unreadable []Unreadable
}

// Unreadable is a part of a recording that could not be read or was not understood.
type Unreadable struct {
	File  string `json:"file"`
	Line  int    `json:"line"` // 0 if unknown
	Error string `json:"error"`
	// Place is the run and the message of a part that was not understood. Several such parts with
	// the same error are one Unreadable, with the place of the first and their number as Times.
	Place string `json:"place,omitempty"`
	Times int    `json:"times,omitempty"`
}

// String returns it on one line.
func (u Unreadable) String() string {
	text := (&importer.Error{File: u.File, Line: u.Line, Place: u.Place, Err: errors.New(u.Error)}).Error()
	if u.Times > 1 {
		text += fmt.Sprintf(", and %d more in this file", u.Times-1)
	}
	return text
}

func (u Unreadable) compare(o Unreadable) int {
	return cmp.Or(cmp.Compare(u.File, o.File), cmp.Compare(u.Line, o.Line), cmp.Compare(u.Error, o.Error))
}

// AddUnread adds an error of a recording to a list. It keeps the line and the path of an
// [*importer.Error]; an empty file means its file. It counts the parts of a file that were not
// understood for the same reason, and keeps the place of the first one.
func AddUnread(list []Unreadable, file string, err error) []Unreadable {
	u := Unreadable{File: file, Error: err.Error()}
	if e, ok := errors.AsType[*importer.Error](err); ok {
		u.File, u.Line, u.Error, u.Place = cmp.Or(file, e.File), e.Line, e.Err.Error(), e.Place
		if e.Path != "" {
			u.Error = e.Path + ": " + u.Error
		}
	}
	if u.Place != "" {
		for i, v := range list {
			if v.Place != "" && v.File == u.File && v.Error == u.Error {
				list[i].Times++
				return list
			}
		}
		u.Place, u.Times = cloneText(u.Place), 1
	}
	u.File, u.Error = cloneText(u.File), cloneText(u.Error)
	return append(list, u)
}

// Merge combines results without changing them. It returns an error if results overlap (the same
// case and epoch, the same position, or files with the same runs without epochs) or have
// different scorers.
func Merge(parts ...*Result) (*Result, error) {
	if len(parts) == 1 {
		parts = []*Result{{parts[0].Scorers, slices.Clone(parts[0].Rows), slices.Clone(parts[0].Unreadable)}}
	}
	return merge(parts)
}

// merge is Merge; it changes and uses the rows of a single result.
func merge(parts []*Result) (*Result, error) {
	whole := &Result{}
	n := 0
	for _, p := range parts {
		n += len(p.Rows)
	}
	if len(parts) == 1 {
		whole.Rows, parts[0].Rows = parts[0].Rows, nil
	} else {
		whole.Rows = make([]Row, 0, n)
	}
	for _, p := range parts {
		if whole.Scorers = parts[0].Scorers; !slices.Equal(whole.Scorers, p.Scorers) {
			return nil, fmt.Errorf("results with the scorers %q and %q: use the same scorers for all", whole.Scorers, p.Scorers)
		}
		whole.Rows = append(whole.Rows, p.Rows...)
		whole.Unreadable = append(whole.Unreadable, p.Unreadable...)
	}
	sortRows(whole.Rows)
	whole.Rows = withoutSuperfluous(whole.Rows)
	slices.SortFunc(whole.Unreadable, Unreadable.compare)
	whole.Unreadable = slices.Compact(whole.Unreadable)
	if err := cmp.Or(findDuplicate(whole.Rows), findCopies(whole.Rows)); err != nil {
		return nil, err
	}
	if slices.Contains(whole.Scorers, missingAsZero) {
		whole.fill()
	}
	return whole, nil
}

// sortRows sorts rows, which are large, by their numbers.
func sortRows(rows []Row) {
	order := make([]int, len(rows))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return rows[a].compare(&rows[b]) })
	for i := range order {
		first, to := rows[i], i // the cycle of places that begins here
		for order[to] != to {
			from := order[to]
			order[to] = to
			if from == i {
				rows[to] = first
				break
			}
			rows[to], to = rows[from], from
		}
	}
}

// withoutSuperfluous removes the rows with NoRun of cases that have another row. The rows are sorted.
func withoutSuperfluous(rows []Row) []Row {
	if !slices.ContainsFunc(rows, func(r Row) bool { return r.NoRun }) {
		return rows
	}
	kept := map[string]bool{}
	for i := range rows {
		kept[rows[i].Case] = kept[rows[i].Case] || !rows[i].NoRun
	}
	return slices.DeleteFunc(rows, func(r Row) bool {
		superfluous := r.NoRun && kept[r.Case]
		kept[r.Case] = true
		return superfluous
	})
}

func findDuplicate(rows []Row) error {
	for i := 1; i < len(rows); i++ {
		a, b := &rows[i-1], &rows[i]
		switch {
		case !a.same(b):
		case a.Epoch >= 0:
			return fmt.Errorf("two runs of case %q, epoch %d: %s and %s: pass each run once, number the runs of a case, and score different benchmarks separately", a.Case, a.Epoch, a.place(), b.place())
		default:
			return fmt.Errorf("the same run twice: %s and %s: pass each run once", a.place(), b.place())
		}
	}
	return nil
}

// findCopies returns an error for two files with the same runs without epochs, or with runs of a
// case whose digests have different forms, so that copies cannot be found.
func findCopies(rows []Row) error {
	digests := map[string][]string{}
	for i, r := range rows {
		if i > 0 && r.Digest != "" && rows[i-1].Digest != "" && r.Case == rows[i-1].Case && r.DigestVersion != rows[i-1].DigestVersion {
			return fmt.Errorf("case %q has runs without epochs in a score file of version 1 and elsewhere, which may be the same: %s and %s: score the recordings of version 1 again, or number the runs of a case",
				r.Case, rows[i-1].place(), r.place())
		}
		if r.Digest != "" {
			digests[r.File] = append(digests[r.File], r.Digest)
		}
	}
	seen := map[string]string{}
	for _, file := range slices.Sorted(maps.Keys(digests)) {
		all := strings.Join(digests[file], " ")
		if other, ok := seen[all]; ok {
			return fmt.Errorf("%s has the same runs as %s, without epochs: pass each file once, or number the runs of a case", file, other)
		}
		seen[all] = file
	}
	return nil
}

// Cases returns the rows of each case, by name. The caller must not change them.
func (r *Result) Cases() (cases [][]Row) {
	from := 0
	for i := range r.Rows {
		if i+1 == len(r.Rows) || r.Rows[i].Case != r.Rows[i+1].Case {
			cases = append(cases, r.Rows[from:i+1])
			from = i + 1
		}
	}
	return cases
}

func (r *Result) caseNames() map[string]bool {
	have := map[string]bool{}
	for i := range r.Rows {
		have[r.Rows[i].Case] = true
	}
	return have
}

// metrics returns the names of all metrics, sorted.
func (r *Result) metrics() []string {
	names := map[string]bool{}
	for i := range r.Rows {
		for name := range r.Rows[i].Scores.All() {
			names[name] = true
		}
		for name := range r.Rows[i].Errors.All() {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// unscored counts the runs without a score of a metric and those with a failed one.
func (r *Result) unscored(metric string) (missing, failed int) {
	for i := range r.Rows {
		switch row := &r.Rows[i]; {
		case row.Scores.Has(metric):
		case row.Errors.Has(metric):
			failed++
		default:
			missing++
		}
	}
	return missing, failed
}

// valueOf returns a value of a run, if it is known.
type valueOf func(r *Row) (float64, bool)

func scoreOf(metric string) valueOf {
	return func(r *Row) (float64, bool) { return r.Scores.Get(metric) }
}

// values returns the known values of runs for package stats, with epochs numbered by order.
func (r *Result) values(of valueOf) (rows []stats.Row) {
	for _, runs := range r.Cases() {
		for i := range runs {
			if v, ok := of(&runs[i]); ok {
				rows = append(rows, stats.Row{Case: runs[i].Case, Epoch: i, Cluster: runs[i].Cluster, Value: v})
			}
		}
	}
	return rows
}
