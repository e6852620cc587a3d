package cassettes

import (
	"slices"
	"strings"
)

// redaction is what is secret in an interaction.
type redaction struct {
	leaves []leaf
	spans  [][]span // of each of them
	found  secrets
}

// redact takes the secrets out of an interaction, whose bodies are not encoded; with
// known, also what has the form of a known key.
func (o *Options) redact(x *Interaction, known bool) *redaction {
	r := &redaction{leaves: o.leaves(x)}
	r.find(o, known)
	w := &walker{whole: o.isSecret}
	w.visit = func(l leaf) string { return replaced(l.text, r.spans[w.seen-1]) }
	w.skip = func() int { return unchanged(w.part, r.leaves[w.seen:], r.spans[w.seen:]) }
	w.request(&x.Request)
	w.response(&x.Response)
	return r
}

// find looks for the secrets, and then for the places where they are again.
func (r *redaction) find(o *Options, known bool) {
	groups := groupsOf(r.leaves)
	r.spans = make([][]span, len(r.leaves))
	for i := range r.leaves {
		l := &r.leaves[i]
		r.spans[i] = r.found.named(o, l)
		if known {
			r.spans[i] = append(r.spans[i], r.found.hits(l.text, o.hitsIn(l))...)
		}
	}
	for _, g := range groups {
		g.spread(r.spans, r.found.named(o, &leaf{place{kind: kindBody}, g.text}))
		if known {
			g.spread(r.spans, r.found.hits(g.text, o.hitsAcross(r.leaves, g)))
		}
	}
	for i := range r.leaves {
		r.spans[i] = append(r.spans[i], r.found.echoes(r.leaves[i].text)...)
	}
	for _, g := range groups {
		g.spread(r.spans, r.found.echoes(g.text))
	}
}

// unchanged is how many texts the body of a part has, which come next, if none of them
// changes.
func unchanged(part string, leaves []leaf, spans [][]span) (n int) {
	for n < len(leaves) && leaves[n].inBody && leaves[n].part == part {
		if spans[n] != nil {
			return 0
		}
		n++
	}
	return n
}

// leaves are the texts of an interaction.
func (o *Options) leaves(x *Interaction) []leaf {
	list := make([]leaf, 0, 64)
	w := &walker{whole: o.isSecret, visit: func(l leaf) string {
		list = append(list, l)
		return l.text
	}}
	w.request(&x.Request)
	w.response(&x.Response)
	return list
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
	for _, g := range groups {
		var text strings.Builder
		for _, i := range g.leaves {
			text.WriteString(leaves[i].text)
			g.ends = append(g.ends, text.Len())
		}
		g.text = text.String()
	}
	return slices.DeleteFunc(groups, func(g *group) bool { return len(g.leaves) == 1 })
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
	return p.part + path + " " + index, true
}

// isElement reports whether an object or array is an element of the array that is all
// of the JSON.
func (n *node) isElement() bool {
	return n.up != nil && n.up.kind == '[' && n.up.up.kind == 0 && n.up.up.up == nil
}

// spread gives each text its share of the parts of the whole.
func (g *group) spread(spans [][]span, of []span) {
	for _, s := range of {
		from := 0
		for n, i := range g.leaves {
			to := g.ends[n]
			if s.from < to && from < s.to {
				spans[i] = append(spans[i], span{max(s.from, from) - from, min(s.to, to) - from, s.with})
				s.with = ""
			}
			from = to
		}
	}
}
