package match

import (
	"encoding/binary"

	"github.com/looptape/looptape/cassettes/internal/tape"
)

// tree is a JSON value without ignored members.
type tree struct {
	name    string // of an object member
	kind    byte   // { or [, or 0 for a leaf
	text    string // as written; canonical for a leaf
	members []tree // sorted by name; ignored elements are empty
	// sum is a checksum that ignores differences between placeholders.
	sum uint32
}

// add returns a new member, or nil if v is nil.
func (v *tree) add(name string) *tree {
	if v == nil {
		return nil
	}
	v.members = append(v.members, tree{name: name})
	return &v.members[len(v.members)-1]
}

func (v *tree) checksum() uint32 {
	if v.kind == 0 {
		return tape.Checksum(withoutPlaceholders([]byte(v.text)))
	}
	text := []byte{v.kind}
	for i := range v.members {
		text = binary.BigEndian.AppendUint32(append(text, v.members[i].name...), v.members[i].sum)
	}
	return tape.Checksum(text)
}

func (v *tree) member(name string) *tree {
	for i := range v.members {
		if v.members[i].name == name {
			return &v.members[i]
		}
	}
	return nil
}

func (v *tree) element(i int) *tree {
	if i < 0 {
		return nil
	}
	return &v.members[i]
}

func (v *tree) leaves() (n int) {
	if v == nil {
		return 0
	}
	for i := range v.members {
		n += v.members[i].leaves()
	}
	return max(n, 1)
}

func (v *tree) spaced() string {
	switch {
	case v == nil:
		return ""
	case v.text == "": // an ignored element
		return "…"
	}
	return string(tape.AppendSpaced(nil, v.text, true))
}
