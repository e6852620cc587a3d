// Package parquet writes flat tables as Apache Parquet files: nullable columns of strings,
// integers and floating-point numbers, plain and uncompressed, which all readers support. Equal
// tables are equal bytes. The package does not read files.
//
// It does not use a library because the libraries add 15 MB or more to the command, which may
// have 30 MB.
//
// The format is that of parquet.thrift in https://github.com/apache/parquet-format, version
// 2.10.0; names refer to it.
package parquet

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// Kind is the type of a column.
type Kind int

// The kinds of columns.
const (
	Text  Kind = iota // string; it should be UTF-8
	Whole             // int64
	Real              // float64
)

// Column is a column of a table. Names are unique.
type Column struct {
	Name string
	Kind Kind
}

// Writer writes a table. It is for one goroutine.
type Writer struct {
	out     io.Writer
	err     error // the first of out
	at      int64 // bytes written
	columns []chunk
	rows    int // of the current group
	all     int64
	groups  []group
}

// chunk is a column of the current group of rows.
type chunk struct {
	Column

	values []byte // PLAIN
	levels []byte // definition levels, RLE, without the current run
	level  byte   // of that run: 1 for values, 0 for null
	run    uint64 // its length
}

// group is a written RowGroup.
type group struct {
	rows   int
	from   int64
	chunks []span
}

// span is the position of a column of a group.
type span struct{ from, size int64 }

const magic = "PAR1"

// Limits of a group, for memory and for sizes of type i32; a single row may exceed them.
const (
	groupRows  = 1 << 16
	groupBytes = 16 << 20
)

// NewWriter begins a table.
func NewWriter(w io.Writer, columns []Column) *Writer {
	t := &Writer{out: w}
	for _, c := range columns {
		t.columns = append(t.columns, chunk{Column: c})
	}
	t.write([]byte(magic))
	return t
}

// Write adds a row: for each column a value of the type of its [Kind], or nil. It returns an
// error for other values; Close returns write errors.
func (w *Writer) Write(row []any) error {
	if len(row) != len(w.columns) {
		return fmt.Errorf("a row of %d values in a table of %d columns", len(row), len(w.columns))
	}
	size := 0
	for i, v := range row {
		if err := w.columns[i].add(v); err != nil {
			return err
		}
		size += len(w.columns[i].values)
	}
	w.rows++
	if w.rows == groupRows || size >= groupBytes {
		w.flush()
	}
	return nil
}

// add adds a value.
func (c *chunk) add(v any) error {
	level := byte(1)
	kind := c.Kind
	switch v := v.(type) {
	case nil:
		level = 0
	case string:
		kind = Text
		c.values = binary.LittleEndian.AppendUint32(c.values, uint32(len(v))) //nolint:gosec // no text is longer than 4 GB
		c.values = append(c.values, v...)
	case int64:
		kind = Whole
		c.values = binary.LittleEndian.AppendUint64(c.values, uint64(v)) //nolint:gosec // the bits are meant
	case float64:
		kind = Real
		c.values = binary.LittleEndian.AppendUint64(c.values, math.Float64bits(v))
	default:
		kind = -1
	}
	if kind != c.Kind {
		return fmt.Errorf("the column %q: unexpected type %T", c.Name, v)
	}
	if level != c.level {
		c.endRun()
		c.level = level
	}
	c.run++
	return nil
}

// endRun ends the current run of equal levels (RLE/bit-packing hybrid, rle-run).
func (c *chunk) endRun() {
	if c.run > 0 {
		c.levels = append(binary.AppendUvarint(c.levels, c.run<<1), c.level)
	}
	c.run = 0
}

// flush writes the current group.
func (w *Writer) flush() {
	g := group{rows: w.rows, from: w.at}
	for i := range w.columns {
		c := &w.columns[i]
		c.endRun()
		page := binary.LittleEndian.AppendUint32(nil, uint32(len(c.levels))) //nolint:gosec // some bytes a row
		page = append(append(page, c.levels...), c.values...)
		from := w.at
		w.write(pageHeader(w.rows, len(page)))
		w.write(page)
		g.chunks = append(g.chunks, span{from, w.at - from})
		c.values, c.levels = c.values[:0], c.levels[:0]
	}
	w.groups = append(w.groups, g)
	w.all += int64(w.rows)
	w.rows = 0
}

// Close ends the table and returns the first write error. It does not close the underlying
// writer.
func (w *Writer) Close() error {
	if w.rows > 0 {
		w.flush()
	}
	meta := w.meta()
	w.write(meta)
	w.write(binary.LittleEndian.AppendUint32(nil, uint32(len(meta)))) //nolint:gosec // some bytes a column and group
	w.write([]byte(magic))
	return w.err
}

func (w *Writer) write(p []byte) {
	if w.err == nil {
		_, w.err = w.out.Write(p)
	}
	w.at += int64(len(p))
}
