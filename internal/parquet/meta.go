package parquet

import "encoding/binary"

// Numbers of parquet.thrift.
const (
	typeInt64, typeDouble, typeByteArray = 2, 5, 6
	optional                             = 1
	convertedUTF8                        = 0
	encodingPlain, encodingRLE           = 0, 3
	uncompressed                         = 0
	dataPage                             = 0
	formatVersion                        = 1
)

// physical is the Type of a kind.
func (k Kind) physical() int64 {
	return [...]int64{Text: typeByteArray, Whole: typeInt64, Real: typeDouble}[k]
}

// pageHeader returns the PageHeader of a page with the values of this many rows.
func pageHeader(rows, size int) []byte {
	var s structure
	s.i32(1, dataPage)
	s.i32(2, int64(size))
	s.i32(3, int64(size))
	s.sub(5, func(s *structure) { // DataPageHeader
		s.i32(1, int64(rows))
		s.i32(2, encodingPlain)
		s.i32(3, encodingRLE)
		s.i32(4, encodingRLE)
	})
	return s.end()
}

// meta is the FileMetaData.
func (w *Writer) meta() []byte {
	var s structure
	s.i32(1, formatVersion)
	s.list(2, len(w.columns)+1, func(s *structure, i int) {
		if i == 0 {
			root(s, len(w.columns))
			return
		}
		w.columns[i-1].element(s)
	})
	s.i64(3, w.all)
	s.list(4, len(w.groups), func(s *structure, i int) { w.rowGroup(s, &w.groups[i]) })
	s.text(6, "looptape")
	return s.end()
}

// root is the SchemaElement of the table.
func root(s *structure, columns int) {
	s.text(4, "runs")
	s.i32(5, int64(columns))
}

// element is the SchemaElement of a column.
func (c *Column) element(s *structure) {
	s.i32(1, c.Kind.physical())
	s.i32(3, optional)
	s.text(4, c.Name)
	if c.Kind == Text {
		s.i32(6, convertedUTF8)
		s.sub(10, func(s *structure) { s.sub(1, func(*structure) {}) }) // LogicalType: StringType
	}
}

// rowGroup is the RowGroup of a group.
func (w *Writer) rowGroup(s *structure, g *group) {
	size := int64(0)
	s.list(1, len(g.chunks), func(s *structure, i int) {
		size += g.chunks[i].size
		s.i64(2, g.chunks[i].from)
		s.sub(3, func(s *structure) { w.columns[i].meta(s, g.rows, g.chunks[i]) })
	})
	s.i64(2, size)
	s.i64(3, int64(g.rows))
	s.i64(5, g.from)
	s.i64(6, size)
}

// meta is the ColumnMetaData of a column in a group.
func (c *Column) meta(s *structure, rows int, at span) {
	s.i32(1, c.Kind.physical())
	s.head(2, thriftList)
	s.buf = append(s.buf, 2<<4|thriftI32)
	s.buf = binary.AppendVarint(s.buf, encodingPlain)
	s.buf = binary.AppendVarint(s.buf, encodingRLE)
	s.head(3, thriftList)
	s.buf = append(s.buf, 1<<4|thriftBinary)
	s.bytes(c.Name)
	s.i32(4, uncompressed)
	s.i64(5, int64(rows))
	s.i64(6, at.size)
	s.i64(7, at.size)
	s.i64(9, at.from)
}
