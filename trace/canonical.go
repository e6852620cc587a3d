package trace

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/looptape/looptape/llm"
)

// Canonical returns the canonical form of the runs in events. Goldens contain this form. Two runs
// with the same inputs have the same canonical form, whatever the order in which parallel tools
// finish.
//
//   - Deltas are omitted.
//   - Times are omitted, except the times of a run on a virtual clock.
//   - Runs follow one another and are named r1, r2 …. Runs without a parent are sorted by first
//     appearance. A run with a parent follows it; siblings are sorted by the position of the call
//     that started them. A run that events refer to but do not contain keeps its name with the
//     prefix "?".
//   - Within a batch the events are sorted by the index of their call in the last response of the
//     step. The events of one call keep their order. A batch is a maximal sequence of a step's
//     events about calls: tool.arguments, tool.start, tool.end, tool.skip, abandoned, and warnings
//     that name a call. The calls of a resumed run, which come before its first response, have the
//     order that they have in its messages.
//   - Seq restarts.
//
// Canonical does not change its input. The canonical form of a canonical form is itself.
func Canonical(events []Event) []Event {
	runs, byName := groups(events)
	order := ordered(runs, byName)
	names := make(map[string]string, len(order))
	for i, r := range order {
		names[r.name] = "r" + strconv.Itoa(i+1)
	}
	rename := func(run string) string {
		if name, ok := names[run]; ok {
			return name
		}
		return "?" + strings.TrimPrefix(run, "?")
	}
	out := make([]Event, 0, len(events))
	for _, r := range order {
		from := len(out)
		for _, ev := range r.events {
			ev.Run = names[r.name]
			if !r.virtual {
				ev.At = 0
			}
			ev.Body = mapRuns(ev.Body, rename)
			out = append(out, ev)
		}
		sortBatches(out[from:], r.pending)
		for i := range out[from:] {
			out[from+i].Seq = i
		}
	}
	return out
}

// group is the events of one run, without deltas.
type group struct {
	name    string
	events  []Event
	parent  *Parent
	virtual bool
	started bool
	calls   map[string]int // the position of each call
	pending map[string]int // of a resumed run: the position of each call before its first response
	waiting bool           // for that response
	done    bool
}

// groups sorts events by run, in order of first appearance.
func groups(events []Event) (runs []*group, byName map[string]*group) {
	byName = map[string]*group{}
	for _, ev := range events {
		g := byName[ev.Run]
		if g == nil {
			g = &group{name: ev.Run, calls: map[string]int{}}
			byName[ev.Run] = g
			runs = append(runs, g)
		}
		if _, ok := ev.Body.(ModelDelta); ok {
			continue
		}
		if b, ok := ev.Body.(RunStart); ok && !g.started {
			g.parent, g.virtual, g.started = b.Parent, b.Clock == ClockVirtual, true
		}
		switch b := ev.Body.(type) {
		case Resumed:
			g.pending, g.waiting = map[string]int{}, true
		case ModelRequest:
			g.numberResumed(b.NewMessages)
		case RunEnd:
			g.numberResumed(b.AppendedMessages)
		case ModelResponse:
			g.waiting = false
			number(g.calls, b.Message)
		default:
		}
		g.events = append(g.events, ev)
	}
	// A run that has only deltas is omitted.
	runs = slices.DeleteFunc(runs, func(g *group) bool {
		if len(g.events) == 0 {
			delete(byName, g.name)
		}
		return len(g.events) == 0
	})
	return runs, byName
}

// number assigns the next position to each call of the message that has none.
func number(calls map[string]int, m llm.Message) {
	for _, c := range m.Calls() {
		if _, ok := calls[c.ID]; !ok {
			calls[c.ID] = len(calls)
		}
	}
}

// numberResumed numbers the calls of a resumed run, which are in the messages before its first
// response.
func (g *group) numberResumed(messages []llm.Message) {
	if !g.waiting {
		return
	}
	for _, m := range messages {
		number(g.pending, m)
		number(g.calls, m)
	}
}

// ordered returns the runs in canonical order: each after its parent.
func ordered(runs []*group, byName map[string]*group) []*group {
	children := map[*group][]*group{}
	var roots []*group
	for _, g := range runs {
		if g.parent == nil || byName[g.parent.Run] == nil {
			roots = append(roots, g)
			continue
		}
		parent := byName[g.parent.Run]
		children[parent] = append(children[parent], g)
	}
	var out []*group
	var visit func(g *group)
	visit = func(g *group) {
		if g.done {
			return
		}
		g.done = true
		out = append(out, g)
		slices.SortStableFunc(children[g], func(a, b *group) int {
			return cmp.Compare(position(g.calls, a.parent.ToolCallID), position(g.calls, b.parent.ToolCallID))
		})
		for _, child := range children[g] {
			visit(child)
		}
	}
	// The remaining runs are parents of each other.
	for _, g := range append(roots, runs...) {
		visit(g)
	}
	return out
}

// position returns the position of a call; an unknown call is last.
func position(calls map[string]int, id string) int {
	if i, ok := calls[id]; ok {
		return i
	}
	return math.MaxInt
}

// mapRuns returns the body with the names of the runs that it refers to replaced.
func mapRuns(body Body, rename func(run string) string) Body {
	switch b := body.(type) {
	case RunStart:
		if b.Parent != nil {
			b.Parent = &Parent{Run: rename(b.Parent.Run), ToolCallID: b.Parent.ToolCallID}
			return b
		}
	case Resumed:
		return Resumed{Of: rename(b.Of)}
	default:
	}
	return body
}

// sortBatches sorts the batches of one run. calls has the positions of calls before its first
// response.
func sortBatches(events []Event, calls map[string]int) {
	for i := 0; i < len(events); {
		if response, ok := events[i].Body.(ModelResponse); ok && events[i].Purpose == PurposeAnswer {
			calls = map[string]int{}
			number(calls, response.Message)
		}
		end := i
		for ; end < len(events) && events[end].Step == events[i].Step; end++ {
			if _, ok := callID(events[end].Body); !ok {
				break
			}
		}
		slices.SortStableFunc(events[i:end], func(a, b Event) int {
			x, _ := callID(a.Body)
			y, _ := callID(b.Body)
			return cmp.Compare(position(calls, x), position(calls, y))
		})
		i = max(end, i+1)
	}
}

// callID returns the ID of the call that an event of a batch refers to.
func callID(body Body) (id string, ok bool) {
	switch b := body.(type) {
	case ToolArguments:
		return b.ToolCallID, true
	case ToolStart:
		return b.ToolCallID, true
	case ToolEnd:
		return b.ToolCallID, true
	case ToolSkip:
		return b.ToolCallID, true
	case Abandoned:
		return b.ToolCallID, true
	case Warning:
		return b.ToolCallID, b.ToolCallID != ""
	default:
		return "", false
	}
}
