package importer

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
)

// table is CSV as RFC 4180 has it, with a line of names at its top.
type table struct {
	*csv.Reader
	columns []string
	in      *pieces
}

// pieces reads so much, and then no more.
type pieces struct {
	io.Reader
	most, left int
}

// renew lets so much be read anew.
func (p *pieces) renew(most int) { p.most, p.left = most, most }

// Read implements io.Reader.
func (p *pieces) Read(b []byte) (int, error) {
	if p.left <= 0 {
		return 0, heldError(p.most)
	}
	n, err := p.Reader.Read(b)
	p.left -= n
	return n, err
}

// openCSV reads the names of the columns.
func (s *Source) openCSV() error {
	t := &table{in: &pieces{Reader: s.in}}
	t.in.renew(s.in.limit())
	t.Reader = csv.NewReader(t.in)
	s.csv = t
	var err error
	if t.columns, err = t.Read(); err != nil {
		return s.unreadable(nil, err)
	}
	for _, p := range s.rows.mapped {
		if len(p.names) > 1 || !slices.Contains(t.columns, p.names[0]) {
			return &Error{File: s.name, Line: 1, Err: fmt.Errorf("there is no column %s, the %s; there are /%s", p.text, p.what, strings.Join(t.columns, ", /"))}
		}
		p.found = true
	}
	return nil
}

// columnsOf returns the names at the top of CSV, if it is any.
func columnsOf(head []byte) []string {
	names, err := csv.NewReader(bytes.NewReader(head)).Read()
	if err != nil {
		return nil
	}
	return names
}

// records gives the rows below the names. Those that are broken cost no more than
// themselves, where their ends can be told.
func (w *walker) records() {
	for !w.stopped {
		w.csv.in.renew(w.in.limit())
		record, err := w.csv.Read()
		_, broken := errors.AsType[*csv.ParseError](err)
		switch {
		case errors.Is(err, io.EOF):
			return
		case err != nil:
			w.give(Run{}, w.unreadable(record, err))
			if !broken {
				return
			}
		default:
			w.record(record)
		}
	}
}

// record gives a row as a run. An empty field is a value that is missing.
func (w *walker) record(record []string) {
	line, _ := w.csv.FieldPos(0)
	row := make(map[string]json.RawMessage, len(record))
	for i, text := range record {
		if _, ok := row[w.csv.columns[i]]; !ok && text != "" {
			row[w.csv.columns[i]] = jsonio.AppendString(nil, text)
		}
	}
	run := w.begin(line)
	if err := w.fill(&run, row); err != nil {
		w.give(Run{}, &Error{File: w.name, Line: line, Err: err})
		return
	}
	w.give(run, nil)
}

// unreadable says what is wrong with a record.
func (s *Source) unreadable(record []string, err error) *Error {
	broken, ok := errors.AsType[*csv.ParseError](err)
	switch {
	case !ok:
		return &Error{File: s.name, Err: fmt.Errorf("reading stopped: %w", err)}
	case errors.Is(broken, csv.ErrFieldCount):
		err = fmt.Errorf("the row has %d fields, and there are %d columns", len(record), len(s.csv.columns))
	default:
		err = broken.Err
	}
	return &Error{File: s.name, Line: broken.StartLine, Err: err}
}
