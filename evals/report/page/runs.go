package page

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/internal/visible"
	"github.com/looptape/looptape/trace/importer"
)

// Runs stores transcripts up to a size limit: failed runs first, then the others, each in the
// order of rows. The order of Add calls does not matter. It is safe for use by many goroutines.
type Runs struct {
	limit int

	mu   sync.Mutex
	runs []*said
	size int
	// shared are the long texts that many runs begin with, by digest, one of each.
	shared map[string]string
	// full is the first run that did not fit, or nil.
	full *said
	// started are the runs that calls started, by the run of the call, which comes later.
	started map[place][]startedRun
}

// place is the name of a run, which is its own in its file.
type place struct{ file, run string }

type startedRun struct {
	call string
	*reading
}

type said struct {
	ident

	good   bool              // it succeeded
	asked  string            // the beginning of it
	json   []byte            // of its transcript
	shared map[string]string // the long texts in it, by digest
	cut    bool              // it is shortened
}

// ident identifies a row in its result.
type ident struct {
	name  string // of the case
	epoch int
	file  string
	line  int
	run   string
}

func identOf(row *evals.Row) ident { return ident{row.Case, row.Epoch, row.File, row.Line, row.Run} }

func (i *ident) compare(o *ident) int {
	return cmp.Or(cmp.Compare(i.name, o.name), cmp.Compare(i.epoch, o.epoch),
		cmp.Compare(i.file, o.file), cmp.Compare(i.line, o.line), cmp.Compare(i.run, o.run))
}

// NewRuns returns a Runs with a limit in bytes.
func NewRuns(limit int) *Runs {
	return &Runs{limit: limit, shared: map[string]string{}, started: map[place][]startedRun{}}
}

// Add adds a run; see Seen of [evals.Options].
func (r *Runs) Add(row *evals.Row, run *importer.Run) {
	t := read(run)
	at := place{row.File, row.Run}
	r.mu.Lock()
	started := r.started[at]
	delete(r.started, at)
	r.mu.Unlock()
	for _, s := range started {
		t.attach(s)
	}
	if parent := run.Parent(); parent != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		at.run = parent.Run
		r.started[at] = append(r.started[at], startedRun{parent.ToolCallID, t})
		return
	}
	s := &said{
		ident: identOf(row), good: succeeded(row), asked: beginning(t.Entries),
		shared: map[string]string{}, cut: t.cut || t.Left > 0,
	}
	s.share(t.Entries)
	s.json = encode(t.transcript)
	r.keep(s)
}

// encode returns JSON that is safe in an HTML script element and in a log.
func encode(v any) []byte {
	text, _ := json.Marshal(v)
	return visible.JSON(text)
}

// succeeded reports whether a run has scores, none of them less than 1 and none of them
// that could not be made.
func succeeded(row *evals.Row) bool {
	for _, v := range row.Scores.All() {
		if v < 1 {
			return false
		}
	}
	return len(row.Scores) > 0 && len(row.Errors) == 0
}

// beginning is the first line of what the user says first, or the beginning of a long one.
func beginning(entries []entry) string {
	const most = 160
	for _, e := range entries {
		if e.Kind == kindUser {
			line, _, _ := strings.Cut(strings.TrimSpace(e.Text), "\n")
			text := []rune(line)
			return string(text[:min(most, len(text))])
		}
	}
	return ""
}

// share replaces long system prompts by digests.
func (s *said) share(entries []entry) {
	const least = 200 // bytes
	for i := range entries {
		e := &entries[i]
		if e.Kind != kindSystem || len(e.Text) < least {
			continue
		}
		sum := sha256.Sum256([]byte(e.Text))
		e.Shared = hex.EncodeToString(sum[:16])
		s.shared[e.Shared] = e.Text
		e.Text = ""
	}
}

func (r *Runs) keep(s *said) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.full != nil && r.full.compare(s) < 0 {
		return
	}
	r.runs = append(r.runs, s)
	if r.take(s); r.size > 2*r.limit {
		r.trim()
	}
}

func (r *Runs) take(s *said) {
	r.size += len(s.json)
	for digest, text := range s.shared {
		if one, ok := r.shared[digest]; ok {
			s.shared[digest] = one // so that the other can go
			continue
		}
		r.shared[digest] = text
		r.size += len(text)
	}
}

// compare is the order of preference.
func (s *said) compare(o *said) int {
	switch {
	case s.good == o.good:
		return s.ident.compare(&o.ident)
	case s.good:
		return 1
	}
	return -1
}

// kept returns the runs that fit.
func (r *Runs) kept() map[ident]*said {
	kept := map[ident]*said{}
	if r == nil {
		return kept
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trim()
	for _, s := range r.runs {
		kept[s.ident] = s
	}
	return kept
}

func (r *Runs) isFull() bool { return r != nil && r.full != nil }

// trim removes the runs after the first that does not fit.
func (r *Runs) trim() {
	slices.SortFunc(r.runs, (*said).compare)
	r.shared, r.size = map[string]string{}, 0
	for i, s := range r.runs {
		if r.take(s); r.size > r.limit {
			r.full = s
			r.runs = slices.Delete(r.runs, i, len(r.runs))
			return
		}
	}
}
