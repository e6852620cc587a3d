// Package tables reads the Parquet files of looptape with other libraries.
package tables

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	reader "github.com/parquet-go/parquet-go"
	"pgregory.net/rapid"

	"github.com/looptape/looptape/conformance/node"
	"github.com/looptape/looptape/internal/parquet"
)

// kinds returns the first n columns of a table.
func kinds(n int) (columns []parquet.Column) {
	for i := range n {
		columns = append(columns, parquet.Column{Name: fmt.Sprintf("%d.ü|", i), Kind: parquet.Kind(i % 3)})
	}
	return columns
}

// written returns the file of a table.
func written(t interface{ Fatal(args ...any) }, columns []parquet.Column, rows [][]any) []byte {
	var b bytes.Buffer
	w := parquet.NewWriter(&b, columns)
	for _, row := range rows {
		if err := w.Write(row); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// read returns a table as parquet-go reads it, by row group.
func read(t interface{ Fatal(args ...any) }, file []byte) (columns []parquet.Column, rows [][]any, groups int) {
	f, err := reader.OpenFile(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range f.Schema().Fields() {
		kind := map[reader.Kind]parquet.Kind{reader.ByteArray: parquet.Text, reader.Int64: parquet.Whole, reader.Double: parquet.Real}[field.Type().Kind()]
		if logical := field.Type().LogicalType(); (kind == parquet.Text) != (logical != nil && logical.String() == "STRING") {
			t.Fatal("the column ", field.Name(), " is not declared as a string, or is declared as one")
		}
		columns = append(columns, parquet.Column{Name: field.Name(), Kind: kind})
	}
	for _, g := range f.RowGroups() {
		groups++
		in := g.Rows()
		for {
			buf := make([]reader.Row, 1)
			n, err := in.ReadRows(buf)
			if n > 0 {
				rows = append(rows, values(buf[0]))
			}
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := in.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return columns, rows, groups
}

func values(row reader.Row) (list []any) {
	for _, v := range row {
		switch {
		case v.IsNull():
			list = append(list, nil)
		case v.Kind() == reader.ByteArray:
			list = append(list, string(v.ByteArray()))
		case v.Kind() == reader.Int64:
			list = append(list, v.Int64())
		default:
			list = append(list, v.Double())
		}
	}
	return list
}

// parquet-go reads each table unchanged.
func TestParquetGo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		columns := kinds(rapid.IntRange(1, 20).Draw(t, "columns")) // 15 and more have another encoding of the number
		generators := []*rapid.Generator[any]{rapid.String().AsAny(), rapid.Int64().AsAny(), rapid.Float64().AsAny()}
		var want [][]any
		for range rapid.IntRange(0, 30).Draw(t, "rows") {
			row := make([]any, len(columns))
			for i := range row {
				if rapid.Bool().Draw(t, "there") {
					row[i] = generators[i%3].Draw(t, "value")
				}
			}
			want = append(want, row)
		}
		names, rows, _ := read(t, written(t, columns, want))
		if diff := cmp.Diff(columns, names); diff != "" {
			t.Errorf("columns (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(want, rows, cmpopts.EquateNaNs()); diff != "" {
			t.Errorf("rows (-want +got):\n%s", diff)
		}
	})
}

// A long table, and a table of long texts, have several row groups.
func TestGroups(t *testing.T) {
	long := make([][]any, 1<<16+1)
	for i := range long {
		long[i] = []any{nil, int64(i), nil}
		if i%5 > 1 {
			long[i][0] = fmt.Sprint(i)
		}
	}
	wide := [][]any{{string(bytes.Repeat([]byte("x"), 16<<20)), nil, 0.5}, {"y", int64(1), nil}}
	for name, want := range map[string][][]any{"long": long, "wide": wide} {
		t.Run(name, func(t *testing.T) {
			_, rows, groups := read(t, written(t, kinds(3), want))
			if groups != 2 {
				t.Errorf("%d groups, want 2", groups)
			}
			if diff := cmp.Diff(want, rows); diff != "" {
				t.Errorf("rows (-want +got):\n%.2000s", diff)
			}
		})
	}
}

// hyparquet, in JavaScript, reads a table.
func TestHyparquet(t *testing.T) {
	npm, err := node.Dir()
	switch {
	case err == nil:
	case os.Getenv("LOOPTAPE_NPM") != "":
		t.Fatal(err)
	default:
		t.Skip(err)
	}
	columns := kinds(3)
	rows := [][]any{{"ü\n", int64(-7), 0.5}, {nil, nil, nil}, {"", int64(1 << 40), -1e300}, {"x", nil, nil}, {"x", nil, 1.0}}
	file := filepath.Join(t.TempDir(), "a.parquet")
	if err := os.WriteFile(file, written(t, columns, rows), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", "parquet.mjs", file)
	cmd.Dir = npm
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(bytes.NewReader(out))
	for i, row := range rows {
		got := map[string]any{}
		if err := dec.Decode(&got); err != nil {
			t.Fatal(err)
		}
		want := map[string]any{}
		for j, v := range row {
			if n, ok := v.(int64); ok {
				v = float64(n) // as JSON has it
			}
			want[columns[j].Name] = v
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("row %d (-want +got):\n%s", i, diff)
		}
	}
	if dec.More() {
		t.Error("more rows than were written")
	}
}
