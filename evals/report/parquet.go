package report

import (
	"bufio"
	"io"

	"github.com/looptape/looptape/internal/parquet"
)

// Parquet writes an Apache Parquet file with one row per run and the columns of CSV: strings
// (STRING), integers (INT64) and floating-point numbers (DOUBLE). Missing values are null.
func (r *Report) Parquet(w io.Writer) error {
	buf := bufio.NewWriter(w)
	columns := r.columns()
	kinds := make([]parquet.Column, len(columns))
	for i, c := range columns {
		kinds[i] = parquet.Column{Name: c.name, Kind: c.kind}
	}
	table := parquet.NewWriter(buf, kinds)
	cells := make([]any, len(columns))
	for run := range r.Runs() {
		for i, c := range columns {
			cells[i] = c.of(&run)
		}
		if err := table.Write(cells); err != nil {
			return err
		}
	}
	if err := table.Close(); err != nil {
		return err
	}
	return buf.Flush()
}
