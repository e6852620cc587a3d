package evals

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"iter"
	"maps"
	"slices"
	"sort"

	"github.com/looptape/looptape/evals/stats"
	"github.com/looptape/looptape/trace/importer"
)

// Result contains the rows of a set of runs. All statistics are computed from it.
type Result struct {
	// Scorers are the names of the scorers.
	Scorers []string
	// Rows has one row per run, sorted by case, epoch and, without an epoch, content.
	Rows Rows
	// Unreadable are the unreadable records, by file and line.
	Unreadable []Unreadable
	// whole is the result of which [Result.Tagged] selected cases, or nil.
	whole *Result
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

// Compare orders records by file and line.
func (u Unreadable) Compare(o Unreadable) int {
	return cmp.Or(cmp.Compare(u.File, o.File), cmp.Compare(u.Line, o.Line), cmp.Compare(u.Error, o.Error))
}

func sortUnreadable(list []Unreadable) {
	sort.SliceStable(list, func(i, j int) bool { return list[i].Compare(list[j]) < 0 })
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
	whole := &Result{}
	for _, p := range parts {
		if whole.Scorers = parts[0].Scorers; !slices.Equal(whole.Scorers, p.Scorers) {
			return nil, fmt.Errorf("results with the scorers %q and %q: use the same scorers for all", whole.Scorers, p.Scorers)
		}
		whole.Rows.addAll(p.Rows)
		whole.Unreadable = append(whole.Unreadable, p.Unreadable...)
	}
	whole.Rows.sort()
	whole.Rows = whole.Rows.withoutSuperfluous()
	sortUnreadable(whole.Unreadable)
	whole.Unreadable = slices.Compact(whole.Unreadable)
	if err := whole.Rows.checkCopies(); err != nil {
		return nil, err
	}
	if slices.Contains(whole.Scorers, missingAsZero) {
		whole.fill()
	}
	return whole, nil
}

// withoutSuperfluous returns the rows without those with NoRun of cases that have another row. The rows are sorted.
func (r Rows) withoutSuperfluous() Rows {
	kept := map[string]bool{} // of the cases that have a row with NoRun
	for row := range r.scanFor(withoutRun) {
		kept[row.Case] = false
	}
	if len(kept) == 0 {
		return r
	}
	for row := range r.scan() {
		if _, without := kept[row.Case]; without {
			kept[row.Case] = kept[row.Case] || !row.NoRun
		}
	}
	return r.where(func(row *Row) bool {
		superfluous := row.NoRun && kept[row.Case]
		if row.NoRun {
			kept[row.Case] = true
		}
		return !superfluous
	})
}

// checkCopies returns an error for a run that is there twice, for two files with the same runs without epochs, and
// for runs of a case whose digests have different forms, so that copies cannot be found. The rows are sorted.
func (r Rows) checkCopies() error {
	digests := map[string]hash.Hash{}
	last := Row{Epoch: importer.NoEpoch} // which no row equals
	for row := range r.scan() {
		switch {
		case row.Digest != "" && last.Digest != "" && row.Case == last.Case && row.DigestVersion != last.DigestVersion:
			return fmt.Errorf("case %q has runs without epochs in a score file of version 1 and elsewhere, which may be the same: %s and %s: score the recordings of version 1 again, or number the runs of a case",
				row.Case, last.place(), row.place())
		case !row.same(&last):
		case row.Epoch >= 0:
			return fmt.Errorf("two runs of case %q, epoch %d: %s and %s: pass each run once, number the runs of a case, and score different benchmarks separately", row.Case, row.Epoch, last.place(), row.place())
		default:
			return fmt.Errorf("the same run twice: %s and %s: pass each run once", last.place(), row.place())
		}
		if last = *row; row.Digest == "" {
			continue
		}
		if digests[row.File] == nil {
			digests[row.File] = sha256.New()
		}
		digests[row.File].Write([]byte(row.Digest + "\n"))
	}
	seen := map[string]string{}
	for _, file := range slices.Sorted(maps.Keys(digests)) {
		all := string(digests[file].Sum(nil))
		if other, ok := seen[all]; ok {
			return fmt.Errorf("%s has the same runs as %s, without epochs: pass each file once, or number the runs of a case", file, other)
		}
		seen[all] = file
	}
	return nil
}

// Cases yields the rows of each case, by name.
func (r *Result) Cases() iter.Seq[[]Row] {
	return func(yield func([]Row) bool) {
		var runs []Row
		for row := range r.Rows.All() {
			if len(runs) > 0 && runs[0].Case != row.Case {
				if !yield(runs) {
					return
				}
				runs = nil
			}
			runs = append(runs, row)
		}
		if len(runs) > 0 {
			yield(runs)
		}
	}
}

func (r *Result) caseNames() map[string]bool {
	have := map[string]bool{}
	for row := range r.Rows.scan() {
		have[row.Case] = true
	}
	return have
}

// metrics returns the names of all metrics, sorted.
func (r *Result) metrics() []string {
	names := map[string]bool{}
	for row := range r.Rows.scan() {
		for name := range row.Scores.All() {
			names[name] = true
		}
		for name := range row.Errors.All() {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// unscored counts the runs without a score of a metric and those with a failed one.
func (r *Result) unscored(metric string) (missing, failed int) {
	for row := range r.Rows.scan() {
		switch {
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

// numCases returns the number of cases.
func (r *Result) numCases() int { return len(r.caseNames()) }

// values returns the known values of runs for package stats, with epochs numbered by order.
func (r *Result) values(of valueOf) (rows []stats.Row) {
	epoch, last := 0, ""
	for row := range r.Rows.scan() {
		if epoch++; row.Case != last {
			epoch, last = 0, row.Case
		}
		if v, ok := of(row); ok {
			if rows == nil {
				rows = make([]stats.Row, 0, r.Rows.Len())
			}
			rows = append(rows, stats.Row{Case: row.Case, Epoch: epoch, Cluster: row.Cluster, Value: v})
		}
	}
	return rows
}
