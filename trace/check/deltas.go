package check

// deltas are the calls whose pieces have come of one answer.
type deltas struct {
	calls []deltaCall
	index map[string]*deltaID // of the first `indexed` calls, when they are many
	// indexed is how many calls the index has.
	indexed int
	again   bool // a call began with an id with which one had begun
}

type deltaCall struct {
	id    string
	event int  // that began it
	again bool // a call of this id had begun before
	ended bool
}

// deltaID is the calls of one id.
type deltaID struct {
	last int   // the one that began last
	open []int // those that have not ended
}

func (d *deltas) reset() {
	*d = deltas{calls: d.calls[:0]}
}

func (d *deltas) begin(id string, event int) {
	again := d.find(id) >= 0
	d.again = d.again || again
	d.calls = append(d.calls, deltaCall{id: id, event: event, again: again})
}

// end says that a call, which find has found, has ended.
func (d *deltas) end(i int) {
	c := &d.calls[i]
	c.ended = true
	if i < d.indexed {
		x := d.index[c.id]
		x.open = x.open[:len(x.open)-1]
	}
}

// find returns the call of an id that began last, one that has not ended if there
// is one; -1 if there is none.
func (d *deltas) find(id string) int {
	if len(d.calls) > few {
		return d.lookup(id)
	}
	last := -1
	for i := len(d.calls) - 1; i >= 0; i-- {
		if c := &d.calls[i]; c.id == id {
			if !c.ended {
				return i
			}
			last = max(last, i)
		}
	}
	return last
}

func (d *deltas) lookup(id string) int {
	if d.index == nil {
		d.index = map[string]*deltaID{}
	}
	for ; d.indexed < len(d.calls); d.indexed++ {
		c := &d.calls[d.indexed]
		x := d.index[c.id]
		if x == nil {
			x = &deltaID{}
			d.index[c.id] = x
		}
		x.last = d.indexed
		if !c.ended {
			x.open = append(x.open, d.indexed)
		}
	}
	x := d.index[id]
	switch {
	case x == nil:
		return -1
	case len(x.open) > 0:
		return x.open[len(x.open)-1]
	}
	return x.last
}
