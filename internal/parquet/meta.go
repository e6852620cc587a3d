package parquet

// Numbers of parquet.thrift.
const (
	optional                   = i32(1)
	convertedUTF8              = i32(0)
	encodingPlain, encodingRLE = i32(0), i32(3)
	uncompressed               = i32(0)
	dataPage                   = i32(0)
	formatVersion              = i32(1)
)

// physical is the Type of a kind: INT64, DOUBLE or BYTE_ARRAY.
func (k Kind) physical() i32 { return [...]i32{Text: 6, Whole: 2, Real: 5}[k] }

// pageHeader returns the PageHeader of a page with the values of this many rows.
func pageHeader(rows, size int) []byte {
	length := i32(size) //nolint:gosec // see groupBytes
	dataPageHeader := record{
		{1, i32(rows)}, //nolint:gosec // see groupRows
		{2, encodingPlain}, {3, encodingRLE}, {4, encodingRLE},
	}
	return record{{1, dataPage}, {2, length}, {3, length}, {5, dataPageHeader}}.append(nil)
}

// meta is the FileMetaData.
func (w *Writer) meta() []byte {
	root := record{{4, text("runs")}, {5, i32(len(w.columns))}} //nolint:gosec // a few columns
	schema, groups := list{root}, list{}
	for i := range w.columns {
		schema = append(schema, w.columns[i].element())
	}
	for i := range w.groups {
		groups = append(groups, w.rowGroup(&w.groups[i]))
	}
	return record{
		{1, formatVersion}, {2, schema}, {3, i64(w.all)}, {4, groups}, {6, text("looptape")},
	}.append(nil)
}

// element is the SchemaElement of a column.
func (c *Column) element() record {
	r := record{{1, c.Kind.physical()}, {3, optional}, {4, text(c.Name)}}
	if c.Kind == Text {
		stringType := record{{1, record{}}} // LogicalType
		r = append(r, field{6, convertedUTF8}, field{10, stringType})
	}
	return r
}

// rowGroup is the RowGroup of a group.
func (w *Writer) rowGroup(g *group) record {
	size := int64(0)
	var chunks list
	for i, c := range g.chunks {
		size += c.size
		chunks = append(chunks, record{{2, i64(c.from)}, {3, w.columns[i].meta(g.rows, c)}})
	}
	return record{{1, chunks}, {2, i64(size)}, {3, i64(g.rows)}, {5, i64(g.from)}, {6, i64(size)}}
}

// meta is the ColumnMetaData of a column in a group.
func (c *Column) meta(rows int, at span) record {
	return record{
		{1, c.Kind.physical()}, {2, list{encodingPlain, encodingRLE}}, {3, list{text(c.Name)}},
		{4, uncompressed}, {5, i64(rows)}, {6, i64(at.size)}, {7, i64(at.size)}, {9, i64(at.from)},
	}
}
