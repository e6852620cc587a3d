package evals

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"

	"github.com/looptape/looptape/evals/stats"
	"github.com/looptape/looptape/internal/jsonio"
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
	InvariantMetric = "invariants" // metric that is 1 for a run without violations; less fails any gate
)

// Header is the first line of a result's file.
type header struct {
	Format     string   `json:"format"`
	Version    int      `json:"version"`
	Scorers    []string `json:"scorers"`
	Runs       int      `json:"runs"`       // lines that follow, of rows
	Unreadable int      `json:"unreadable"` // and behind them
}

// line is a line behind the header; it has one of the members.
type line struct {
	Run        *Row        `json:"run,omitempty"`
	Unreadable *Unreadable `json:"unreadable,omitempty"`
}

// Write writes the file of a result. The same result is the same bytes.
func (r *Result) Write(w io.Writer) error {
	buf := bufio.NewWriter(w)
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(header{Format, Version, r.Scorers, len(r.Rows), len(r.Unreadable)}); err != nil {
		return err
	}
	for i := range r.Rows {
		if err := enc.Encode(line{Run: &r.Rows[i]}); err != nil {
			return err
		}
	}
	for i := range r.Unreadable {
		if err := enc.Encode(line{Unreadable: &r.Unreadable[i]}); err != nil {
			return err
		}
	}
	return buf.Flush()
}

// isResult tells the file of a result by its beginning.
var isResult = regexp.MustCompile(`^\s*\{\s*"format"\s*:\s*"` + Format + `"`)

// begins reports whether a file, which may be compressed, is that of a result, by its
// first bytes. What is wrong with another one its reader tells.
func isScoreFile(head []byte) bool {
	plain, err := importer.Decompress(bytes.NewReader(head))
	if err != nil {
		return false
	}
	const enough = 256 // for the format, also where somebody has spaced it
	text, _ := io.ReadAll(io.LimitReader(plain, enough))
	return isResult.Match(text)
}

// maxLine is how long a line of a file may be.
const maxLine = 64 << 20

// ReadResult reads the file of a result, which may be compressed. A file that is broken
// anywhere, or not there to its end, is an *importer.Error with its name: of a part that
// is not whole no figure would be right.
func ReadResult(name string, r io.Reader) (*Result, error) {
	plain, err := importer.Decompress(r)
	if err != nil {
		return nil, &importer.Error{File: name, Err: err}
	}
	lines := bufio.NewScanner(plain)
	lines.Buffer(nil, maxLine)
	var head header
	res, shared := &Result{}, interner{}
	n := 0
	for lines.Scan() {
		n++
		if err := res.read(lines.Bytes(), n, &head, shared); err != nil {
			return nil, &importer.Error{File: name, Line: n, Err: err}
		}
	}
	switch err := lines.Err(); {
	case err != nil:
		return nil, &importer.Error{File: name, Line: n + 1, Err: err}
	case n == 0:
		return nil, &importer.Error{File: name, Err: importer.ErrEmpty}
	case len(res.Rows) != head.Runs || len(res.Unreadable) != head.Unreadable:
		return nil, &importer.Error{File: name, Err: fmt.Errorf("it has %d of %d runs and %d of %d unreadable parts: something was lost or added; score the recordings again", len(res.Rows), head.Runs, len(res.Unreadable), head.Unreadable)}
	}
	for i := range res.Rows {
		res.Rows[i].part = name
	}
	return res, nil
}

// read takes the n-th line, which shares texts with others.
func (r *Result) read(text []byte, n int, head *header, shared interner) error {
	if n == 1 {
		err := head.read(text)
		r.Scorers = head.Scorers
		return err
	}
	var l line
	if err := json.Unmarshal(text, &l); err != nil {
		return jsonio.Words(err)
	}
	switch {
	case l.Run != nil:
		shared.share(l.Run)
		r.Rows = append(r.Rows, *l.Run)
		return l.Run.check()
	case l.Unreadable != nil:
		r.Unreadable = append(r.Unreadable, *l.Unreadable)
		return nil
	}
	return errors.New("it is neither a run nor an unreadable part")
}

// read takes the first line.
func (h *header) read(text []byte) error {
	if err := json.Unmarshal(text, h); err != nil || h.Format != Format {
		return errors.New("it is no result of looptape eval score -o, which begins with the format " + Format)
	}
	if h.Version < 1 || h.Version > Version {
		return fmt.Errorf("version %d: this version of looptape reads 1 to %d: score the recordings again", h.Version, Version)
	}
	return nil
}

// check refuses a row that Write does not write.
func (r *Row) check() error {
	if r.Epoch < 0 && r.Digest == "" {
		return errors.New("the run has neither an epoch nor a digest")
	}
	for metric, v := range r.Scores.All() {
		if !(math.Abs(v) <= stats.MaxValue) {
			return fmt.Errorf("the score %v of %q is no number within ±%v", v, metric, stats.MaxValue)
		}
	}
	return nil
}
