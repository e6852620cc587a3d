package cassettes

import (
	"slices"
	"strconv"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
)

// speller writes JSON in the one spelling of what it means: members in the order of
// their names, the white space left out, and what does not count, too.
type speller struct {
	m       matching
	d       jsonio.Dec
	dst     []byte
	members []spelled // those so far of the objects that have begun
	was     []byte    // members before they were put in order
}

// spelled is where a member was written.
type spelled struct {
	name     string
	from, to int
}

// value writes the next value, to which a path leads.
func (s *speller) value(path []string) {
	switch s.d.Peek() {
	case '{':
		s.object(path)
	case '[':
		s.array(path)
	case '"':
		s.string()
	default:
		s.dst = append(s.dst, s.d.Raw()...)
	}
}

// string writes a string as it stands, if it has no escapes.
func (s *speller) string() {
	from := s.d.Offset()
	text := s.d.String()
	if written := s.d.Since(from); len(written) == len(text)+len(`""`) {
		s.dst = append(s.dst, written...)
	} else {
		s.dst = jsonio.AppendString(s.dst, text)
	}
}

func (s *speller) array(path []string) {
	s.d.Array()
	s.dst = append(s.dst, '[')
	for first, n := true, 0; s.d.More(&first); n++ {
		if at, counts := s.m.below(path, strconv.Itoa(n)); counts {
			s.value(at)
		} else {
			s.d.Skip()
		}
		s.dst = append(s.dst, ',')
	}
	s.dst = append(s.dst, ']')
}

func (s *speller) object(path []string) {
	s.d.Object()
	s.dst = append(s.dst, '{')
	above := len(s.members)
	for first := true; ; {
		name, ok := s.d.Key(&first)
		if !ok {
			break
		}
		at, counts := s.m.below(path, name)
		if !counts {
			s.d.Skip()
			continue
		}
		from := len(s.dst)
		s.dst = append(jsonio.AppendString(s.dst, name), ':')
		s.value(at)
		s.dst = append(s.dst, ',')
		s.members = append(s.members, spelled{name, from, len(s.dst)})
	}
	s.order(s.members[above:])
	s.members = s.members[:above]
	s.dst = append(s.dst, '}')
}

// order puts the members at the end of what is written in order.
func (s *speller) order(list []spelled) {
	byName := func(a, b spelled) int { return strings.Compare(a.name, b.name) }
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

// below is the path to a member or an element of what a path leads to, which may be
// left out if nothing is volatile, and whether it counts.
func (m matching) below(path []string, name string) (at []string, counts bool) {
	if m.volatile == nil {
		return nil, true
	}
	at = append(path, name)
	return at, !m.isVolatile(at)
}
