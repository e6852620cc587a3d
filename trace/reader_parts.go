package trace

import "strconv"

// parts distinguishes the runs of traces that were concatenated in one file. Each part begins
// with a header. Its runs are different from the runs of earlier parts, also if the names are
// equal.
type parts struct {
	n     int               // headers so far
	names map[string]string // new names of the runs of this part, by the names in the file
	taken map[string]bool   // new names of the runs of earlier parts
	last  string            // the last requested name in the file
	// known is true if the part has a run, and first if the part is the first.
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

// call returns the new name of a run of this part: the original name or, if an earlier part used it,
// a name with the number of the part.
func (p *parts) call(run string) string {
	called, ok := p.names[run]
	if !ok {
		called = run
		for n := p.n; p.taken[called]; n++ {
			called = run + "#" + strconv.Itoa(n)
		}
		p.names[run] = called
		p.taken[called] = p.taken[called] || called != run // also for this part's runs
	}
	p.last, p.known = run, true
	return called
}

// refer returns the new name of a run that another run refers to: a run of this part if there is one,
// else of an earlier part.
func (p *parts) refer(run string) string {
	if called, ok := p.names[run]; ok {
		return called
	}
	return run
}

// rename sets the new names of an event's run and of the runs that the event refers to.
func (p *parts) rename(ev *Event) {
	if p.first && p.known && ev.Run == p.last {
		return // as most are
	}
	ev.Run = p.call(ev.Run)
	ev.Body = mapRuns(ev.Body, p.refer)
}
