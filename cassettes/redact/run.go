package redact

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/looptape/looptape/cassettes/internal/match"
	"github.com/looptape/looptape/cassettes/recording"
)

type redaction struct {
	leaves []leaf
	end    int            // number of leaves up to the end of the response, or 0
	spans  map[int][]span // by the index of a leaf
	found  secrets
	before *secrets // of other interactions
	names  *secrets // in names of JSON members, which stay; nil if they are replaced, too
}

// redact redacts an interaction whose bodies are decoded.
func (o *Rules) redact(x *recording.Interaction, known bool, before, names *secrets) *redaction {
	leaves, unchanged := o.leaves(x)
	r := &redaction{leaves: leaves, spans: map[int][]span{}, before: before, names: names}
	r.end = endOf(r.leaves, x.Response.Body)
	r.find(o, known)
	for i := range r.spans {
		for side, b := range unchanged {
			if b.from <= i && i < b.to {
				unchanged[side].to = 0
			}
		}
	}
	if len(r.spans) > 0 {
		o.walk(x, unchanged, func(i int, l leaf) string {
			if spans := r.spans[i]; spans != nil {
				return replaced(l.text, spans)
			}
			return l.text
		})
	}
	return r
}

// endOf returns the number of leaves up to the end of a response body that ends with text,
// and may be truncated within a secret. It ignores requests: with another secret, a replay
// would find other truncations.
func endOf(leaves []leaf, body []byte) int {
	for i := len(leaves); i > 0 && leaves[i-1].part == sideResponse; i-- {
		if l := &leaves[i-1]; l.kind == kindBody && bytes.HasSuffix(body, []byte(l.text)) {
			return i
		}
	}
	return 0
}

func (r *redaction) find(o *Rules, known bool) {
	groups := groupsOf(r.leaves)
	for i := range r.leaves {
		l := &r.leaves[i]
		r.add(i, r.found.named(o, l)...)
		if known {
			r.add(i, r.found.hits(l.text, o.hitsIn(l))...)
		}
	}
	for _, g := range groups {
		r.spread(g, r.found.named(o, &leaf{place: place{kind: kindBody}, text: g.text}))
		if known {
			r.spread(g, r.found.hits(g.text, o.hitsAcross(r.leaves, g)))
		}
	}
	for _, s := range []*secrets{&r.found, r.before} {
		for i := range r.leaves {
			r.add(i, s.occurrences(r.leaves[i].text, i+1 == r.end)...)
		}
		for _, g := range groups {
			r.spread(g, s.occurrences(g.text, r.leaves[g.leaves[0]].part == sideResponse))
		}
	}
}

func (r *redaction) add(i int, spans ...span) {
	l := &r.leaves[i]
	if l.isFixed() {
		return
	}
	for _, s := range spans {
		text := l.text[s.from:s.to]
		switch {
		case l.at == nil || l.kind != kindName:
		case !isMixed(text) && (len(text) < 2*match.MinSecret || !strings.ContainsAny(text, "0123456789")):
			continue
		case r.names != nil:
			r.names.add(text)
			continue
		}
		r.spans[i] = append(r.spans[i], s)
	}
}

func (o *Rules) leaves(x *recording.Interaction) (list []leaf, in bodies) {
	list = make([]leaf, 0, 64)
	in = o.walk(x, bodies{}, func(_ int, l leaf) string {
		list = append(list, l)
		return l.text
	})
	return list, in
}

// replaced replaces parts of text. The first of overlapping parts determines the
// replacement.
func replaced(text string, spans []span) string {
	slices.SortStableFunc(spans, func(a, b span) int { return cmp.Or(a.from-b.from, b.to-a.to) })
	var out strings.Builder
	at := 0
	for i, s := range spans {
		if i == 0 || s.from >= at {
			out.WriteString(text[at:s.from])
			out.WriteString(s.with)
		}
		at = max(at, s.to)
	}
	out.WriteString(text[at:])
	return out.String()
}

// group is the text at one place of successive events or elements.
type group struct {
	text   string
	leaves []int
	ends   []int // in text
}

func groupsOf(leaves []leaf) (groups []*group) {
	by := map[string]*group{}
	var key []byte
	for i := range leaves {
		var ok bool
		if key, ok = leaves[i].appendStream(key[:0]); !ok {
			continue
		}
		g := by[string(key)]
		if g == nil {
			g = &group{}
			by[string(key)] = g
			groups = append(groups, g)
		}
		g.leaves = append(g.leaves, i)
	}
	groups = slices.DeleteFunc(groups, func(g *group) bool { return len(g.leaves) == 1 })
	for _, g := range groups {
		g.join(leaves)
	}
	return groups
}

func (g *group) join(leaves []leaf) {
	size := 0
	for _, i := range g.leaves {
		size += len(leaves[i].text)
		g.ends = append(g.ends, size)
	}
	var text strings.Builder
	text.Grow(size)
	for _, i := range g.leaves {
		text.WriteString(leaves[i].text)
	}
	g.text = text.String()
}

// appendStream appends a key for the texts of events or elements that can form one text: their
// place and the indexes in the event. It returns false for other texts.
func (p *place) appendStream(key []byte) (out []byte, ok bool) {
	ok = p.event > 0
	key = append(append(key, byte(p.part)), p.name...)
	for n := p.at; n != nil; n = n.up {
		element := n.isElement()
		ok = ok || element
		if key = append(key, '/'); p.event > 0 || !element {
			key = append(key, n.name...)
		}
		key = append(append(key, ' '), n.index...)
	}
	return key, ok && p.kind == kindBody
}

// isElement reports whether n is an element of the outermost array.
func (n *node) isElement() bool {
	return n.up != nil && n.up.kind == '[' && n.up.up.kind == 0 && n.up.up.up == nil
}

// spread distributes the parts of the joined text to its leaves.
func (r *redaction) spread(g *group, of []span) {
	for _, s := range of {
		n, _ := slices.BinarySearch(g.ends, s.from+1)
		for from := s.from; from < s.to; n++ {
			begin, to := g.ends[n]-len(r.leaves[g.leaves[n]].text), min(s.to, g.ends[n])
			r.add(g.leaves[n], span{from - begin, to - begin, s.with})
			s.with, from = "", to
		}
	}
}
