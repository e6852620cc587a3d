package tree

import (
	"encoding/json"

	"github.com/looptape/looptape/internal/jsonio"
)

// cursor reads the members of an object or the elements of an array, from their places if these are known. It
// permits loops with one call of yield: the compiler copies the body of a caller's loop to each such call.
type cursor struct {
	raw    json.RawMessage
	places []place    // not yet read; nil if d reads raw
	d      jsonio.Dec // without places
	first  bool       // d has read nothing
	name   string     // of the member
	value  json.RawMessage
}

// open starts to read raw if its first byte is bracket; another value has no members and elements.
func (c *cursor) open(raw json.RawMessage, bracket byte) {
	c.raw, c.places, c.first = raw, placesOf(raw), true
	if c.places == nil {
		c.d = jsonio.NewValidDec(jsonio.View(raw))
	}
	switch {
	case c.places != nil && raw[0] != bracket || c.places == nil && c.d.Peek() != bracket:
		c.places = []place{}
	case c.places == nil && bracket == '{':
		c.d.Object()
	case c.places == nil:
		c.d.Array()
	}
}

// member reads the next member of an object. It returns false at the end.
func (c *cursor) member() (ok bool) {
	if c.places != nil {
		return c.place()
	}
	if c.name, ok = c.d.Key(&c.first); ok {
		c.value = Next(c.raw, &c.d)
	}
	return ok
}

// element reads the next element of an array. It returns false at the end.
func (c *cursor) element() bool {
	if c.places != nil {
		return c.place()
	}
	if !c.d.More(&c.first) {
		return false
	}
	c.value = Next(c.raw, &c.d)
	return true
}

func (c *cursor) place() bool {
	if len(c.places) == 0 {
		return false
	}
	p := &c.places[0]
	c.name, c.value = p.nameIn(c.raw), c.raw[p.value:p.end:p.end]
	c.places = c.places[1:]
	return true
}
