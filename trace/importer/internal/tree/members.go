package tree

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"

	"github.com/looptape/looptape/internal/jsonio"
)

// Readers look up several members of an object, one after another, and then members of these, and
// strings may be long. So the places of the members in the last values are kept, with copies of the
// values: to compare a value with a copy takes much less time than to parse it.
type recent struct {
	values [4]value
	next   int // to be replaced
	stack  []place
}

type value struct {
	text    []byte
	objects []object
}

// object is an object or an array within a value.
type object struct {
	start, end int
	members    []place // never changed
}

// place is where a member or an element is in its object.
type place struct {
	name       string // empty if it is at key
	key        int
	keyEnd     int
	value, end int
}

var recents = sync.Pool{New: func() any { return new(recent) }}

// Limits of what is kept.
const (
	minObject  = 1 << 10
	maxObject  = 1 << 20
	maxMembers = 1000
	maxDepth   = 32
)

// placesOf returns the places of the members of a long object, or of the elements of an array; nil if
// they are not kept.
func placesOf(raw json.RawMessage) []place {
	if len(raw) < minObject || len(raw) > maxObject || raw[0] != '{' && raw[0] != '[' {
		return nil
	}
	r := recents.Get().(*recent)
	defer recents.Put(r)
	for i := range r.values {
		v := &r.values[i]
		for n := len(v.objects) - 1; n >= 0; n-- { // the whole value is the last one
			if o := &v.objects[n]; o.end-o.start == len(raw) && bytes.Equal(v.text[o.start:o.end], raw) {
				return o.members
			}
		}
	}
	v := &r.values[r.next]
	r.next = (r.next + 1) % len(r.values)
	v.text, v.objects = append(v.text[:0], raw...), v.objects[:0]
	p := parser{recent: r, value: v, d: jsonio.NewValidDec(jsonio.View(v.text))}
	p.parse(0)
	r.stack = r.stack[:0]
	if n := len(v.objects); p.d.End() == nil && n > 0 && v.objects[n-1].end == len(raw) {
		return v.objects[n-1].members
	}
	v.objects = v.objects[:0]
	return nil
}

type parser struct {
	*recent
	*value

	d jsonio.Dec
}

// parse parses the next value, and keeps the long objects and arrays in it. The places in them are
// relative to their own beginning.
func (p *parser) parse(depth int) {
	c := p.d.Peek()
	if c != '{' && c != '[' || depth == maxDepth {
		p.d.Skip()
		return
	}
	start, from := p.d.Offset(), len(p.stack)
	if c == '{' {
		for name := range p.d.Members() {
			m := place{keyEnd: bytes.LastIndexByte(p.text[:p.d.Offset()], '"') - start}
			if m.key = m.keyEnd - len(name); m.key < 0 || string(p.text[start+m.key:start+m.keyEnd]) != name {
				m.name = strings.Clone(name) // it has escapes
			}
			p.member(m, start, depth)
		}
	} else {
		for range p.d.Elements() {
			p.member(place{}, start, depth)
		}
	}
	if end := p.d.Offset(); end-start >= minObject && len(p.stack)-from <= maxMembers {
		members := append(make([]place, 0, len(p.stack)-from), p.stack[from:]...)
		p.objects = append(p.objects, object{start, end, members})
	}
	p.stack = p.stack[:from]
}

func (p *parser) member(m place, start, depth int) {
	p.d.Peek() // skips white space
	m.value = p.d.Offset() - start
	p.parse(depth + 1)
	m.end = p.d.Offset() - start
	p.stack = append(p.stack, m)
}

// nameIn returns the name of a member of an object.
func (p *place) nameIn(object json.RawMessage) string {
	if p.name != "" {
		return p.name
	}
	return jsonio.View(object[p.key:p.keyEnd])
}
