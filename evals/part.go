package evals

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"

	"github.com/looptape/looptape/evals/stats"
	"github.com/looptape/looptape/trace/importer"
)

// The file of a result: JSON Lines, first a [Header], then a line a row, then a line for
// each part that could not be read.
const (
	Format  = "looptape-eval"
	Version = 1
)

// Header is the first line of a result's file.
type Header struct {
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
	if err := enc.Encode(Header{Format, Version, r.Scorers, len(r.Rows), len(r.Unreadable)}); err != nil {
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

// headSize is how much of a file is looked at to tell what it is.
const headSize = 256

// ReadResult reads the file of a result. A file that is broken anywhere, or not there to
// its end, is an *importer.Error with its name: of a part that is not whole no figure
// would be right.
func ReadResult(name string, r io.Reader) (*Result, error) {
	in := bufio.NewReader(r)
	var head Header
	res := &Result{}
	for n := 1; ; n++ {
		text, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) && len(text) == 0 && n > 1 {
			break
		}
		if err == nil || errors.Is(err, io.EOF) {
			err = res.read(text, n, &head)
		}
		if err != nil {
			return nil, &importer.Error{File: name, Line: n, Err: err}
		}
	}
	if len(res.Rows) != head.Runs || len(res.Unreadable) != head.Unreadable {
		return nil, &importer.Error{File: name, Err: fmt.Errorf("it has %d of %d runs and %d of %d unreadable parts: something was lost or added; score the recordings again", len(res.Rows), head.Runs, len(res.Unreadable), head.Unreadable)}
	}
	for i := range res.Rows {
		res.Rows[i].part = name
	}
	return res, nil
}

// read takes the n-th line.
func (r *Result) read(text []byte, n int, head *Header) error {
	if n == 1 {
		err := head.read(text)
		r.Scorers = head.Scorers
		return err
	}
	var l line
	if err := json.Unmarshal(text, &l); err != nil {
		return err
	}
	switch {
	case l.Run != nil:
		r.Rows = append(r.Rows, *l.Run)
		return l.Run.check()
	case l.Unreadable != nil:
		r.Unreadable = append(r.Unreadable, *l.Unreadable)
		return nil
	}
	return errors.New("it is neither a run nor an unreadable part")
}

// read takes the first line.
func (h *Header) read(text []byte) error {
	if err := json.Unmarshal(text, h); err != nil || h.Format != Format {
		return errors.New("it is no result of looptape eval score -o, which begins with the format " + Format)
	}
	if h.Version != Version {
		return fmt.Errorf("version %d: this version of looptape reads %d; score the recordings again", h.Version, Version)
	}
	return nil
}

// check refuses a row that Write does not write.
func (r *Row) check() error {
	if r.Epoch < 0 && r.Digest == "" {
		return errors.New("the run has neither an epoch nor a digest")
	}
	for metric, v := range r.Scores {
		if !(math.Abs(v) <= stats.MaxValue) {
			return fmt.Errorf("the score %v of %q is no number within ±%v", v, metric, stats.MaxValue)
		}
	}
	return nil
}
