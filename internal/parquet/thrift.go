package parquet

import "encoding/binary"

// Types of Thrift's compact protocol
// (https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md).
const (
	thriftI32    = 5
	thriftI64    = 6
	thriftBinary = 8
	thriftList   = 9
	thriftStruct = 12
)

// structure builds a struct of the compact protocol. Field ids must increase by less than 16.
type structure struct {
	buf  []byte
	last int // id of the last field
}

// head begins a field.
func (s *structure) head(id, kind int) {
	s.buf = append(s.buf, byte((id-s.last)<<4|kind))
	s.last = id
}

func (s *structure) i32(id int, v int64) { s.number(id, thriftI32, v) }

func (s *structure) i64(id int, v int64) { s.number(id, thriftI64, v) }

func (s *structure) number(id, kind int, v int64) {
	s.head(id, kind)
	s.buf = binary.AppendVarint(s.buf, v) // zigzag, as Thrift has it
}

func (s *structure) text(id int, text string) {
	s.head(id, thriftBinary)
	s.bytes(text)
}

func (s *structure) bytes(text string) {
	s.buf = append(binary.AppendUvarint(s.buf, uint64(len(text))), text...)
}

// sub is a field that is a struct, which fill fills.
func (s *structure) sub(id int, fill func(*structure)) {
	s.head(id, thriftStruct)
	s.inner(fill)
}

// inner is a struct within this one.
func (s *structure) inner(fill func(*structure)) {
	in := structure{buf: s.buf}
	fill(&in)
	s.buf = in.end()
}

// list appends a field that is a list of n structs, each filled by fill.
func (s *structure) list(id, n int, fill func(s *structure, i int)) {
	const short = 15
	s.head(id, thriftList)
	if n < short {
		s.buf = append(s.buf, byte(n<<4|thriftStruct))
	} else {
		s.buf = binary.AppendUvarint(append(s.buf, short<<4|thriftStruct), uint64(n))
	}
	for i := range n {
		s.inner(func(s *structure) { fill(s, i) })
	}
}

// end ends the struct.
func (s *structure) end() []byte { return append(s.buf, 0) }
