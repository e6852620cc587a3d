package match

import (
	"encoding/binary"
	"slices"
	"strconv"
	"strings"

	"github.com/looptape/looptape/cassettes/internal/tape"
	"github.com/looptape/looptape/internal/jsonio"
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

// tree parses a body. It returns nil if the body is not JSON.
func (m Matcher) tree(body []byte) *tree {
	d := jsonio.NewDec(jsonio.View(body))
	v := m.value(&d, nil)
	if d.End() != nil || !jsonio.ValidUTF8(body) {
		return nil
	}
	return &v
}

func (m Matcher) value(d *jsonio.Dec, path []string) (v tree) {
	from := d.Offset()
	switch c := d.Peek(); c {
	case '{':
		v.kind, v.members = c, m.object(d, path)
	case '[':
		v.kind, v.members = c, m.array(d, path)
	case '"':
		text := d.String()
		v.text = string(appendCanonicalString(nil, text, d.Since(from)))
	default:
		d.Skip()
	}
	if v.text == "" {
		v.text = d.Since(from)
	}
	v.sum = v.checksum()
	return v
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

func (m Matcher) object(d *jsonio.Dec, path []string) (members []tree) {
	d.Object()
	for first := true; ; {
		from := d.Offset()
		name, ok := d.Key(&first)
		if !ok {
			break
		}
		at, counts := m.below(path, name)
		if !counts {
			d.Skip()
			continue
		}
		written := d.Since(from)
		v := m.value(d, at)
		v.name = memberName(name, written)
		members = append(members, v)
	}
	slices.SortStableFunc(members, func(a, b tree) int { return strings.Compare(a.name, b.name) })
	return members
}

func (m Matcher) array(d *jsonio.Dec, path []string) (elements []tree) {
	d.Array()
	for first := true; d.More(&first); {
		var v tree
		if at, counts := m.below(path, strconv.Itoa(len(elements))); counts {
			v = m.value(d, at)
		} else {
			d.Skip()
		}
		elements = append(elements, v)
	}
	return elements
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
