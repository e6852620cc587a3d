package match

import (
	"encoding/binary"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/looptape/looptape/cassettes/internal/tape"
	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/internal/jsonval"
)

// canonical appends a JSON body in canonical form: members sorted by name, without white
// space and without ignored members, and the values of places in one of their forms. It also
// reads the body into v unless v is nil. It returns false if the body is not JSON.
func (m Matcher) canonical(dst, body []byte, places *place, v *tree) (out []byte, ok bool) {
	s := canonicalizer{m: m, d: jsonio.NewDec(jsonio.View(body)), dst: dst}
	if places != nil && places.proto {
		s.m.Ignore = slices.Concat(m.Ignore, camelPointers(m.Ignore))
	}
	s.value(nil, places, v)
	return s.dst, s.d.End() == nil && jsonio.ValidUTF8(body)
}

type canonicalizer struct {
	m       Matcher
	d       jsonio.Dec
	dst     []byte
	members []writtenMember // of the open objects
	was     []byte          // buffer for sorting
}

type writtenMember struct {
	name     string
	from, to int
}

func (s *canonicalizer) value(path []string, p *place, v *tree) {
	c, from, at := s.d.Peek(), s.d.Offset(), len(s.dst)
	switch c {
	case '{':
		s.object(path, p, v)
	case '[':
		s.array(path, p, v)
	case '"':
		s.string(p, from)
	default:
		s.dst = append(s.dst, s.d.Raw()...)
	}
	switch {
	case v == nil:
		return
	case c == '{' || c == '[':
		v.kind, v.text = c, s.d.Since(from)
	default:
		v.text = string(s.dst[at:])
	}
	v.sum = v.checksum()
}

func (s *canonicalizer) string(p *place, from int) {
	text := s.d.String()
	if p != nil && p.bytes {
		if same, ok := jsonval.CanonicalBase64(text); ok {
			s.dst = jsonio.AppendString(s.dst, same)
			return
		}
	}
	s.dst = appendCanonicalString(s.dst, text, s.d.Since(from))
}

func (s *canonicalizer) array(path []string, p *place, v *tree) {
	s.d.Array()
	s.dst = append(s.dst, '[')
	for first, n := true, 0; s.d.More(&first); n++ {
		element := v.add("")
		if at, counts := s.m.below(path, strconv.Itoa(n)); counts {
			s.value(at, p, element)
		} else {
			s.d.Skip()
		}
		s.dst = append(s.dst, ',')
	}
	s.dst = append(s.dst, ']')
}

func (s *canonicalizer) object(path []string, p *place, v *tree) {
	s.d.Object()
	s.dst = append(s.dst, '{')
	above := len(s.members)
	for first := true; ; {
		begin := s.d.Offset()
		name, ok := s.d.Key(&first)
		if !ok {
			break
		}
		written := s.d.Since(begin)
		was := name
		name, member := p.child(name)
		at, counts := s.m.below(path, name)
		if !counts {
			s.d.Skip()
			continue
		}
		from := len(s.dst)
		if name == was {
			s.dst = append(appendCanonicalString(s.dst, name, written), ':')
		} else {
			s.dst = append(jsonio.AppendString(s.dst, name), ':')
		}
		if strings.ContainsRune(name, utf8.RuneError) { // several names decode to the same string
			name = string(appendCanonicalString(nil, name, written))
		}
		s.value(at, member, v.add(name))
		s.dst = append(s.dst, ',')
		s.members = append(s.members, writtenMember{name, from, len(s.dst)})
	}
	s.order(s.members[above:])
	s.members = s.members[:above]
	s.dst = append(s.dst, '}')
	if v != nil {
		sort.SliceStable(v.members, func(i, j int) bool { return v.members[i].name < v.members[j].name })
	}
}

func (s *canonicalizer) order(list []writtenMember) {
	byName := func(a, b writtenMember) int { return strings.Compare(a.name, b.name) }
	if slices.IsSortedFunc(list, byName) {
		return
	}
	begin := list[0].from
	s.was = append(s.was[:0], s.dst[begin:]...)
	s.dst = s.dst[:begin]
	slices.SortStableFunc(list, byName)
	for _, x := range list {
		s.dst = append(s.dst, s.was[x.from-begin:x.to-begin]...)
	}
}

// appendCanonicalString appends the canonical form of a string. The decoder reads all lone
// surrogates as the same character; written, the encoded string, distinguishes them.
func appendCanonicalString(dst []byte, text, written string) []byte {
	switch {
	case len(written) == len(text)+len(`""`):
		return append(dst, written...)
	case !strings.ContainsRune(text, utf8.RuneError):
		return jsonio.AppendString(dst, text)
	}
	written = written[strings.IndexByte(written, '"')+1 : strings.LastIndexByte(written, '"')]
	at := 0
	plain := func(to int) {
		d := jsonio.NewDec(`"` + written[at:to] + `"`)
		part := jsonio.AppendString(nil, d.String())
		dst = append(dst, part[1:len(part)-1]...)
	}
	dst = append(dst, '"')
	for from := range jsonio.LoneSurrogates(written) {
		plain(from)
		at = from + len(`\ud800`)
		dst = append(dst, strings.ToLower(written[from:at])...)
	}
	plain(len(written))
	return append(dst, '"')
}

// below returns the path of a member or element and whether it counts. The path is nil if
// nothing is ignored.
func (m Matcher) below(path []string, name string) (at []string, counts bool) {
	if m.Ignore == nil {
		return nil, true
	}
	at = append(path, name)
	return at, !slices.ContainsFunc(m.Ignore, func(v string) bool { return jsonval.Matches(v, at) })
}

// camelPointers returns pointers whose names are in camel case.
func camelPointers(list []string) (out []string) {
	for _, pointer := range list {
		out = append(out, jsonval.CamelCase(pointer))
	}
	return out
}

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
