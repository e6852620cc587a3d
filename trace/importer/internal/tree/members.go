package tree

import (
	"bytes"
	"encoding/json"
	"iter"
	"strings"
	"sync"

	"github.com/looptape/looptape/internal/jsonio"
)

// Readers look up several members of an object, one after another, and its strings may be long. So the
// places of the members of the last objects are kept, with copies of the objects: to compare an object
// with a copy takes much less time than to parse it.
type recent struct {
	objects [8]object
	next    int // to be replaced
}

type object struct {
	text    []byte
	members []place // nil if there are too many; never changed
}

// place is where a member is in its object.
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
	maxMembers = 100
)

// placesOf returns the places of the members of an object; nil if they are not kept.
func placesOf(raw json.RawMessage) []place {
	if len(raw) < minObject || len(raw) > maxObject || raw[0] != '{' {
		return nil
	}
	r := recents.Get().(*recent)
	defer recents.Put(r)
	for i := range r.objects {
		if o := &r.objects[i]; bytes.Equal(o.text, raw) {
			return o.members
		}
	}
	o := &r.objects[r.next]
	r.next = (r.next + 1) % len(r.objects)
	o.text, o.members = append(o.text[:0], raw...), parsePlaces(raw)
	return o.members
}

func parsePlaces(raw json.RawMessage) []place {
	d := jsonio.NewValidDec(jsonio.View(raw))
	places := make([]place, 0, 8)
	for name := range d.Members() {
		if len(places) == maxMembers {
			return nil
		}
		p := place{keyEnd: bytes.LastIndexByte(raw[:d.Offset()], '"')}
		if p.key = p.keyEnd - len(name); p.key < 0 || string(raw[p.key:p.keyEnd]) != name {
			p.name = strings.Clone(name) // it has escapes
		}
		value := Next(raw, &d)
		p.end = d.Offset()
		p.value = p.end - len(value)
		places = append(places, p)
	}
	return places
}

// members yields the members of an object at these places.
func members(raw json.RawMessage, places []place) iter.Seq2[string, json.RawMessage] {
	return func(yield func(string, json.RawMessage) bool) {
		for i := range places {
			p := &places[i]
			name := p.name
			if name == "" {
				name = jsonio.View(raw[p.key:p.keyEnd])
			}
			if !yield(name, raw[p.value:p.end:p.end]) {
				return
			}
		}
	}
}
