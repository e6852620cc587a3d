package redact

import (
	"bytes"
	"slices"
	"strings"

	"github.com/looptape/looptape/cassettes/recording"
)

// redaction is what is secret in an interaction.
type redaction struct {
	leaves []leaf
	bodies []int          // how many of them stand in the bodies
	end    int            // how many there are up to the end of the answer, if that is the end of one
	spans  map[int][]span // of a leaf, by its index
	found  secrets
	before *secrets // of other interactions
}

// redact takes the secrets out of an interaction, whose bodies are not encoded; with
// known, also what has the form of a known key.
func (o *Rules) redact(x *recording.Interaction, known bool, before *secrets) *redaction {
	r := &redaction{spans: map[int][]span{}, before: before}
	r.leaves, r.bodies = o.leaves(x)
	r.end = endOf(r.leaves, x.Response.Body)
	r.find(o, known)
	if len(r.spans) > 0 {
		r.replace(o, x)
	}
	return r
}

// endOf is how many leaves there are up to the end of the body of a response, if it ends with
// a text and not within JSON that is whole: it may have been cut within a secret. A
// request is not looked at: of another secret, a replay would find other beginnings.
func endOf(leaves []leaf, body []byte) int {
	for i := len(leaves); i > 0 && leaves[i-1].part == sideResponse; i-- {
		if l := &leaves[i-1]; l.kind == kindBody && bytes.HasSuffix(body, []byte(l.text)) {
			return i
		}
	}
	return 0
}

// find looks for the secrets, and then for the places where they are again.
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
			r.add(i, s.echoes(r.leaves[i].text, i+1 == r.end)...)
		}
		for _, g := range groups {
			r.spread(g, s.echoes(g.text, r.leaves[g.leaves[0]].part == sideResponse))
		}
	}
}

// add adds parts of a leaf.
func (r *redaction) add(i int, spans ...span) {
	if spans != nil {
		r.spans[i] = append(r.spans[i], spans...)
	}
}

// replace puts what should stand there in the place of the secrets. Bodies without any
// are left alone.
func (r *redaction) replace(o *Rules, x *recording.Interaction) {
	w := &walker{o: o}
	w.visit = func(l leaf) string {
		if spans := r.spans[w.seen-1]; spans != nil {
			return replaced(l.text, spans)
		}
		return l.text
	}
	bodies := r.bodies
	w.skip = func() int {
		n := bodies[0]
		bodies = bodies[1:]
		for i := range n {
			if r.spans[w.seen+i] != nil {
				return 0
			}
		}
		return n
	}
	w.request(&x.Request)
	w.response(&x.Response)
}

// leaves are the texts of an interaction, and how many of them stand in its bodies.
func (o *Rules) leaves(x *recording.Interaction) (list []leaf, bodies []int) {
	list = make([]leaf, 0, 64)
	w := &walker{o: o, visit: func(l leaf) string {
		list = append(list, l)
		return l.text
	}}
	w.request(&x.Request)
	w.response(&x.Response)
	return list, w.bodies
}

// replaced is a text with others in the place of some parts. Where parts overlap, what
// comes in the place of the first one stands for all.
func replaced(text string, spans []span) string {
	slices.SortStableFunc(spans, func(a, b span) int {
		if a.from != b.from {
			return a.from - b.from
		}
		return b.to - a.to
	})
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

// group is what successive events, or elements, say at the same place: the parts of
// one text, it may be.
type group struct {
	text   string
	leaves []int
	ends   []int // where they end in the text
}

// groupsOf joins the texts at the same places of the events of a stream.
func groupsOf(leaves []leaf) (groups []*group) {
	by := map[string]*group{}
	for i := range leaves {
		key, ok := leaves[i].stream()
		if !ok {
			continue
		}
		g := by[key]
		if g == nil {
			g = &group{}
			by[key] = g
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

// join makes the text of a group.
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

// stream tells texts of events, or of the elements of an array, that are parts of one
// text: by their places in the event, and the indexes that it names.
func (p *place) stream() (key string, ok bool) {
	if p.kind != kindBody {
		return "", false
	}
	ok = p.event > 0
	for n := p.at; n != nil && !ok; n = n.up {
		ok = n.isElement()
	}
	if !ok {
		return "", false
	}
	path, index := p.name, ""
	for n := p.at; n != nil; n = n.up {
		name := n.name
		if p.event == 0 && n.isElement() {
			name = ""
		}
		path, index = name+"/"+path, n.index+"/"+index
	}
	return p.part.String() + path + " " + index, true
}

// isElement reports whether an object or array is an element of the array that is all
// of the JSON.
func (n *node) isElement() bool {
	return n.up != nil && n.up.kind == '[' && n.up.up.kind == 0 && n.up.up.up == nil
}

// spread gives each text of a group its share of the parts of the whole.
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
