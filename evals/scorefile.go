package evals

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"

	"github.com/looptape/looptape/evals/stats"
	"github.com/looptape/looptape/internal/decompress"
	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/internal/visible"
	"github.com/looptape/looptape/trace/importer"
)

// Formats and defaults. A score file is JSON Lines: a header, then one line per run, then one line
// per unreadable record. A baseline is a JSON object with one case per line, for review as a diff.
const (
	Format          = "looptape-eval"
	Version         = 2
	BaselineFormat  = "looptape-baseline"
	BaselineVersion = 1
	SuiteVersion    = 2
	DefaultDrop     = 0.02         // smallest drop that counts for a suite without gate.drop
	InvariantMetric = "invariants" // metric that is 1 for a run without violations

	// Kinds of the findings of a gate, in their order.
	KindDrop      = "drop"         // the mean is significantly worse
	KindMaxDrop   = "max_drop"     // the mean is worse by more than allowed
	KindMin       = "min"          // the mean is worse than allowed
	KindPower     = "power"        // the gate cannot find a drop that it must find
	KindWorse     = "worse"        // the mean of a case declined; only in JUnit and annotations, next to one of the above
	KindMustPass  = "must_pass"    // a must-pass case fails
	KindMissing   = "missing"      // the new runs have no run of a case, or fewer scores
	KindInvariant = "invariant"    // a run breaks a rule that no run of the case breaks in the baseline
	KindError     = "scorer_error" // a score failed
)

// header is the first line of a score file.
type header struct {
	Format     string   `json:"format"`
	Version    int      `json:"version"`
	Scorers    []string `json:"scorers"`
	Runs       int      `json:"runs"`       // number of run lines
	Unreadable int      `json:"unreadable"` // number of lines after them
}

// line is a line after the header. One member is set.
type line struct {
	Run        *Row        `json:"run,omitempty"`
	Unreadable *Unreadable `json:"unreadable,omitempty"`
}

// Write writes a score file. Equal results are equal bytes.
func (r *Result) Write(w io.Writer) error {
	buf := bufio.NewWriter(w)
	enc := json.NewEncoder(visible.JSONWriter(buf))
	enc.SetEscapeHTML(false)
	err := enc.Encode(header{Format, Version, r.Scorers, r.Rows.Len(), len(r.Unreadable)})
	for row := range r.Rows.All() {
		err = cmp.Or(err, enc.Encode(line{Run: &row}))
	}
	for i := range r.Unreadable {
		err = cmp.Or(err, enc.Encode(line{Unreadable: &r.Unreadable[i]}))
	}
	return cmp.Or(err, buf.Flush())
}

var isResult = regexp.MustCompile(`^\s*\{\s*"format"\s*:\s*"` + Format + `"`)

// isScoreFile reports whether a file, which may be compressed, begins as a score file does.
func isScoreFile(head []byte) bool {
	plain, _, err := decompress.NewReader(bytes.NewReader(head))
	if err != nil {
		return false
	}
	const enough = 256 // for the format with extra space
	text, _ := io.ReadAll(io.LimitReader(plain, enough))
	return isResult.Match(text)
}

// maxLine is the maximum length of a line in bytes.
const maxLine = 64 << 20

// ReadResult reads a score file, which may be compressed. It returns an [*importer.Error] with
// the name for any invalid or missing line, since statistics of an incomplete file would be
// wrong.
func ReadResult(name string, r io.Reader) (*Result, error) {
	fail := func(line int, err error) (*Result, error) {
		return nil, &importer.Error{File: name, Line: line, Err: err}
	}
	plain, _, err := decompress.NewReader(r)
	if err != nil {
		return fail(0, err)
	}
	lines := bufio.NewScanner(plain)
	lines.Buffer(nil, maxLine)
	var head header
	res := &Result{}
	n := 0
	for lines.Scan() {
		n++
		if err := res.read(name, lines.Bytes(), n, &head); err != nil {
			return fail(n, err)
		}
	}
	switch err := lines.Err(); {
	case err != nil:
		return fail(n+1, err)
	case n == 0:
		return fail(0, importer.ErrEmpty)
	case res.Rows.Len() != head.Runs || len(res.Unreadable) != head.Unreadable:
		return fail(0, fmt.Errorf("got %d of %d runs and %d of %d unreadable records: score the recordings again",
			res.Rows.Len(), head.Runs, len(res.Unreadable), head.Unreadable))
	}
	return res, nil
}

func (r *Result) read(name string, text []byte, n int, head *header) error {
	if n == 1 {
		err := head.read(text)
		r.Scorers = scorerNames(head.Scorers)
		return err
	}
	var l line
	if err := json.Unmarshal(text, &l); err != nil {
		return jsonio.Words(err)
	}
	switch {
	case l.Run != nil:
		if head.Version == 1 && l.Run.Digest != "" {
			l.Run.DigestVersion = 1
		}
		l.Run.part = name
		r.Rows.Add(l.Run)
		return l.Run.check()
	case l.Unreadable != nil:
		r.Unreadable = append(r.Unreadable, *l.Unreadable)
		return nil
	}
	return errors.New("neither a run nor an unreadable record")
}

// read reads the header.
func (h *header) read(text []byte) error {
	if err := json.Unmarshal(text, h); err != nil || h.Format != Format {
		return errors.New("not a score file of looptape eval score -o: want the format " + Format)
	}
	if h.Version < 1 || h.Version > Version {
		return fmt.Errorf("version %d: this version of looptape reads 1 to %d: score the recordings again", h.Version, Version)
	}
	return nil
}

// check rejects rows that Write does not write.
func (r *Row) check() error {
	if r.Epoch < 0 && r.Digest == "" {
		return errors.New("the run has neither an epoch nor a digest")
	}
	for metric, v := range r.Scores.All() {
		if !(math.Abs(v) <= stats.MaxValue) {
			return fmt.Errorf("the score %v of %q: want a number within ±%v", v, metric, stats.MaxValue)
		}
	}
	return nil
}
