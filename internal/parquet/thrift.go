package parquet

import "encoding/binary"

// value is a value of Thrift's compact protocol
// (https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md).
type value interface {
	kind() byte
	append(dst []byte) []byte
}

type (
	i32    int32
	i64    int64
	text   string
	list   []value // of one kind; an empty list is one of structs
	record []field // a struct; ids increase by less than 16
)

// field is a field of a struct.
type field struct {
	id byte
	value
}

func (i32) kind() byte    { return 5 }
func (i64) kind() byte    { return 6 }
func (text) kind() byte   { return 8 }
func (list) kind() byte   { return 9 }
func (record) kind() byte { return 12 }

// Integers are in zigzag form.
func (n i32) append(dst []byte) []byte { return binary.AppendVarint(dst, int64(n)) }
func (n i64) append(dst []byte) []byte { return binary.AppendVarint(dst, int64(n)) }

func (s text) append(dst []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

func (l list) append(dst []byte) []byte {
	const long = 15 // the size follows
	kind := record{}.kind()
	if len(l) > 0 {
		kind = l[0].kind()
	}
	dst = append(dst, byte(min(len(l), long))<<4|kind)
	if len(l) >= long {
		dst = binary.AppendUvarint(dst, uint64(len(l)))
	}
	for _, v := range l {
		dst = v.append(dst)
	}
	return dst
}

func (r record) append(dst []byte) []byte {
	last := byte(0)
	for _, f := range r {
		dst = f.append(append(dst, (f.id-last)<<4|f.kind()))
		last = f.id
	}
	return append(dst, 0)
}
