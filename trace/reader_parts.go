package trace

import "strconv"

// parts distinguishes the runs of traces that were concatenated in one file. Each part begins
// with a header. Its runs are different from the runs of earlier parts, also if the names are
// equal.
type parts struct {
	n     int               // headers so far
	names map[string]string // of this part's runs in the file: what they are called
	taken map[string]bool   // what runs of the parts before are called
	// last is the name in the file that was asked for last, and called what it
	// is called.
	last, called string
	// known says that the part has a run, and first that no part is before it.
	known, first bool
}

// begin begins the next part.
func (p *parts) begin() {
	if p.taken == nil {
		p.taken = map[string]bool{}
	}
	for _, called := range p.names {
		p.taken[called] = true
	}
	p.n++
	p.names = map[string]string{}
	p.known, p.first = false, p.n == 1
}

// call returns what a run of this part is called: its own name or, if that is
// taken, a name made of it and the part's number.
func (p *parts) call(run string) string {
	if run == p.last && p.known {
		return p.called
	}
	called, ok := p.names[run]
	if !ok {
		called = run
		for n := p.n; p.taken[called]; n++ {
			called = run + "#" + strconv.Itoa(n)
		}
		p.names[run] = called
		p.taken[called] = p.taken[called] || called != run // also for this part's runs
	}
	p.last, p.called, p.known = run, called, true
	return called
}

// refer returns what a run is called that another run names: one of this part
// if there is one, else one of a part before.
func (p *parts) refer(run string) string {
	if called, ok := p.names[run]; ok {
		return called
	}
	return run
}

// rename gives an event's run, and the runs that it names, what they are called.
func (p *parts) rename(ev *Event) {
	if p.first && p.known && ev.Run == p.last {
		return // as most are
	}
	ev.Run = p.call(ev.Run)
	switch b := ev.Body.(type) {
	case RunStart:
		if b.Parent != nil {
			b.Parent = &Parent{Run: p.refer(b.Parent.Run), ToolCallID: b.Parent.ToolCallID}
			ev.Body = b
		}
	case Resumed:
		ev.Body = Resumed{Of: p.refer(b.Of)}
	default:
	}
}
