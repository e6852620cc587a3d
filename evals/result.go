package evals

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/looptape/looptape/trace/importer"
)

// Result is what a set of runs scored: all that figures are computed of.
type Result struct {
	// Scorers are the names of the scorers.
	Scorers []string
	// Rows has a row a run, sorted by case, epoch and, where there is none, content.
	Rows []Row
	// Unreadable are the parts of recordings that could not be read, by file and line.
	Unreadable []Unreadable
}

// Unreadable is a part of a recording that could not be read.
type Unreadable struct {
	File  string `json:"file"`
	Line  int    `json:"line"` // 0 where no line is to blame
	Error string `json:"error"`
}

// String tells all of it on a line.
func (u Unreadable) String() string {
	return (&importer.Error{File: u.File, Line: u.Line, Err: errors.New(u.Error)}).Error()
}

func (u Unreadable) compare(o Unreadable) int {
	return cmp.Or(cmp.Compare(u.File, o.File), cmp.Compare(u.Line, o.Line), cmp.Compare(u.Error, o.Error))
}

// Unread is the error of a recording as a part that could not be read. That of an importer
// tells the line and the place apart.
func Unread(file string, err error) Unreadable {
	u := Unreadable{File: cloneText(file), Error: err.Error()}
	if e, ok := errors.AsType[*importer.Error](err); ok {
		u.Line, u.Error = e.Line, e.Err.Error()
		if e.Path != "" {
			u.Error = e.Path + ": " + u.Error
		}
	}
	u.Error = cloneText(u.Error)
	return u
}

// Merge puts results of parts together, which stay as they are. Those of one scoring
// must not overlap: two rows of the same case and epoch, or of the same place, and
// files with the same runs that have no epoch, are an error that names both. So are
// results of different scorers.
func Merge(parts ...*Result) (*Result, error) {
	whole := &Result{}
	n := 0
	for _, p := range parts {
		n += len(p.Rows)
	}
	whole.Rows = make([]Row, 0, n)
	for i, p := range parts {
		if i == 0 {
			whole.Scorers = p.Scorers
		}
		if !slices.Equal(whole.Scorers, p.Scorers) {
			return nil, fmt.Errorf("results of the scorers %q and of %q: score all parts by the same", whole.Scorers, p.Scorers)
		}
		whole.Rows = append(whole.Rows, p.Rows...)
		whole.Unreadable = append(whole.Unreadable, p.Unreadable...)
	}
	slices.SortFunc(whole.Rows, func(a, b Row) int { return a.compare(&b) })
	slices.SortFunc(whole.Unreadable, Unreadable.compare)
	whole.Unreadable = slices.Compact(whole.Unreadable)
	if err := cmp.Or(findDuplicate(whole.Rows), findCopies(whole.Rows)); err != nil {
		return nil, err
	}
	return whole, nil
}

// twice is the error for a run that is there twice.
func findDuplicate(rows []Row) error {
	for i := 1; i < len(rows); i++ {
		a, b := &rows[i-1], &rows[i]
		switch {
		case !a.same(b):
		case a.Epoch >= 0:
			return fmt.Errorf("two runs of case %q, epoch %d: %s and %s; give each run once, number those of a case, and score different benchmarks one by one", a.Case, a.Epoch, a.place(), b.place())
		default:
			return fmt.Errorf("the same run twice: %s and %s; give each run once", a.place(), b.place())
		}
	}
	return nil
}

// copied is the error for two files with the same runs, none of which tells its epoch.
func findCopies(rows []Row) error {
	digests := map[string][]string{}
	for _, r := range rows {
		if r.Digest != "" {
			digests[r.File] = append(digests[r.File], r.Digest)
		}
	}
	seen := map[string]string{}
	for _, file := range slices.Sorted(maps.Keys(digests)) {
		all := strings.Join(digests[file], " ")
		if other, ok := seen[all]; ok {
			return fmt.Errorf("%s has the same runs as %s, and they tell no epoch; give each file once, or, if its runs were run twice, number those of a case", file, other)
		}
		seen[all] = file
	}
	return nil
}
