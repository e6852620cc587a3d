package fake

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
)

// answers are the answers that goroutines wait for, without a clock.
type answers struct {
	mu      sync.Mutex
	list    []*Pending
	changed chan struct{} // has a value after a goroutine has begun to wait
	hanging atomic.Int64
}

// Pending is an answer that a goroutine of the loop waits for: the response of a model, or the result of a tool.
type Pending struct {
	At, Name string
	// Faults are the faults that the answer can have; the first one is none.
	Faults []string
	// Ended reports whether the context of the call has ended.
	Ended bool

	ctx  context.Context
	come chan delivery
}

type delivery struct {
	fault int
	late  bool
}

func (a *answers) await(ctx context.Context, at, name string, faults []string) (chosen int, late bool, err error) {
	p := &Pending{At: at, Name: name, Faults: faults, ctx: ctx, come: make(chan delivery, 1)}
	a.mu.Lock()
	a.list = append(a.list, p)
	a.mu.Unlock()
	select {
	case a.changed <- struct{}{}:
	default:
	}
	d := <-p.come
	if !d.late {
		err = context.Cause(ctx)
	}
	return d.fault, d.late, err
}

// BeginAnswers begins a run without a clock, for a loop that has its own goroutines. Each call of a model or a tool
// waits until [World.Deliver] is called for it. changed has a value after a call has begun to wait. Panics of tools
// and the end of their goroutines are among the faults only if harmful is true.
func (w *World) BeginAnswers(harmful bool) (changed <-chan struct{}) {
	w.answers = &answers{changed: make(chan struct{}, 1)}
	w.model = &Model{Sessions: w.model.Sessions, Default: w.model.Default}
	w.tools = &Tools{List: w.script.Tools}
	w.harmless = 2
	if harmful {
		w.harmless = 0
	}
	return w.answers.changed
}

// Pending returns the answers that goroutines wait for, by name.
func (w *World) Pending() []*Pending {
	a := w.answers
	a.mu.Lock()
	defer a.mu.Unlock()
	slices.SortStableFunc(a.list, func(p, q *Pending) int { return cmp.Or(cmp.Compare(p.At, q.At), cmp.Compare(p.Name, q.Name)) })
	for _, p := range a.list {
		p.Ended = p.ctx.Err() != nil
	}
	return slices.Clone(a.list)
}

// Hanging returns the number of calls of models and tools that wait until their context ends.
func (w *World) Hanging() int { return int(w.answers.hanging.Load()) }

// Deliver lets an answer come, with one of its faults. If its context has ended, it comes all the same with late,
// and otherwise fails with the cause.
func (w *World) Deliver(p *Pending, fault int, late bool) {
	a := w.answers
	a.mu.Lock()
	a.list = slices.DeleteFunc(a.list, func(q *Pending) bool { return q == p })
	a.mu.Unlock()
	p.come <- delivery{fault, late}
}
