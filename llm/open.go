package llm

// fewCalls is the maximum number of calls that are searched linearly. Larger responses use tables,
// so that the cost per call is constant.
const fewCalls = 16

// manyCalls finds the open calls of a response with more than fewCalls calls. It stores their
// positions in order and removes ended calls when it finds them. The zero value is empty.
type manyCalls struct {
	open     []int // all that were opened
	byIndex  map[int][]int
	byID     map[string][]int
	nameless map[int][]int // by index, except index 0
}

// note takes the last of the calls, and all that came before if it is the first of many.
func (m *manyCalls) note(calls []OpenCall) {
	from := len(calls) - 1
	switch {
	case from < fewCalls:
		return
	case from == fewCalls:
		from = 0
		m.byIndex, m.byID, m.nameless = map[int][]int{}, map[string][]int{}, map[int][]int{}
	}
	for at := from; at < len(calls); at++ {
		c := &calls[at]
		if c.Closed {
			continue
		}
		m.open = append(m.open, at)
		if c.Index != 0 {
			m.byIndex[c.Index] = append(m.byIndex[c.Index], at)
			if c.Name == "" {
				m.nameless[c.Index] = append(m.nameless[c.Index], at)
			}
		}
		if c.ProviderID != "" {
			m.byID[c.ProviderID] = append(m.byID[c.ProviderID], at)
		}
	}
}

// nameless returns the first open call of an index, which is not 0, that has no name.
func (a *Accumulator) nameless(index int) *OpenCall {
	if len(a.calls) <= fewCalls {
		return a.scanNameless(index)
	}
	places := a.many.nameless[index]
	for len(places) > 0 && (a.calls[places[0]].Closed || a.calls[places[0]].Name != "") {
		places = places[1:]
	}
	a.many.nameless[index] = places
	if len(places) == 0 {
		return nil
	}
	return &a.calls[places[0]]
}

func (a *Accumulator) scanNameless(index int) *OpenCall {
	for i := range a.calls {
		if c := &a.calls[i]; c.Index == index && !c.Closed && c.Name == "" {
			return c
		}
	}
	return nil
}

// find returns the open call that an event names: by index, else by ID, else
// the last one opened or the first unfinished one.
func (a *Accumulator) find(index int, id string, last bool) *OpenCall {
	if len(a.calls) <= fewCalls {
		return a.scan(index, id, last)
	}
	m := &a.many
	if c := lastOpen(a.calls, m.byIndex, index); c != nil {
		return c
	}
	if c := lastOpen(a.calls, m.byID, id); c != nil {
		return c
	}
	m.open = endsOpen(a.calls, m.open)
	switch n := len(m.open); {
	case n == 0:
		return nil
	case last:
		return &a.calls[m.open[n-1]]
	}
	for a.calls[m.open[0]].Closed {
		m.open = m.open[1:]
	}
	return &a.calls[m.open[0]]
}

// lastOpen returns the last open call of a key.
func lastOpen[K comparable](calls []OpenCall, by map[K][]int, key K) *OpenCall {
	places, known := by[key]
	if !known {
		return nil
	}
	places = endsOpen(calls, places)
	by[key] = places
	if len(places) == 0 {
		return nil
	}
	return &calls[places[len(places)-1]]
}

// endsOpen returns places without the ended calls after the last open call.
func endsOpen(calls []OpenCall, places []int) []int {
	for len(places) > 0 && calls[places[len(places)-1]].Closed {
		places = places[:len(places)-1]
	}
	return places
}

func (a *Accumulator) scan(index int, id string, last bool) *OpenCall {
	var byID, fallback *OpenCall
	for i := len(a.calls) - 1; i >= 0; i-- {
		c := &a.calls[i]
		if c.Closed {
			continue
		}
		if index != 0 && c.Index == index {
			return c
		}
		if byID == nil && id != "" && c.ProviderID == id {
			byID = c
		}
		if !last || fallback == nil {
			fallback = c
		}
	}
	if byID != nil {
		return byID
	}
	return fallback
}
