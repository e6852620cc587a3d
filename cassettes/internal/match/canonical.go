package match

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/looptape/looptape/internal/jsonio"
)

// speller writes JSON in the one spelling of what it means: members in the order of
// their names, the white space left out, and what does not count, too.
type speller struct {
	m       Matcher
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
		from := s.d.Offset()
		s.dst = appendSpelling(s.dst, s.d.String(), s.d.Since(from))
	default:
		s.dst = append(s.dst, s.d.Raw()...)
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
		begin := s.d.Offset()
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
		written := s.d.Since(begin)
		s.dst = append(appendSpelling(s.dst, name, written), ':')
		s.value(at)
		s.dst = append(s.dst, ',')
		s.members = append(s.members, spelled{distinct(name, written), from, len(s.dst)})
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

// half is an escape that is half of a character without the other half, if it has the
// length of one escape; others are matched for it not to begin within them.
var half = regexp.MustCompile(`\\\\|\\u[dD][89aAbB]..\\u[dD][c-fC-F]..|\\u[dD][89a-fA-F]..`)

// appendSpelling writes a string in its one spelling: without escapes that it does not
// need. The text from before it to behind it tells apart the halves of characters, all of
// which are read as the same character.
func appendSpelling(dst []byte, text, written string) []byte {
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
	for _, m := range half.FindAllStringIndex(written, -1) {
		if m[1]-m[0] == len(`\ud800`) {
			plain(m[0])
			dst = append(dst, strings.ToLower(written[m[0]:m[1]])...)
			at = m[1]
		}
	}
	plain(len(written))
	return append(dst, '"')
}

// distinct is the name of a member, or its spelling if others might be read as the same.
func distinct(name, written string) string {
	if strings.ContainsRune(name, utf8.RuneError) {
		return string(appendSpelling(nil, name, written))
	}
	return name
}

// below is the path to a member or an element of what a path leads to, which may be
// left out if nothing is volatile, and whether it counts.
func (m Matcher) below(path []string, name string) (at []string, counts bool) {
	if m.Ignore == nil {
		return nil, true
	}
	at = append(path, name)
	return at, !m.isVolatile(at)
}
