package loop

import "context"

// bond ties a context that a policy gave to the one that it got: a run ends with
// its own context, also where the policy's is no child of it.
type bond struct {
	to     context.Context
	cancel context.CancelCauseFunc
	stop   func() bool // false if the context had ended
	done   chan struct{}
}

// bind makes ctx the run's context.
func (r *run) bind(ctx context.Context) {
	b := bond{to: r.ctx, done: make(chan struct{})}
	r.ctx, b.cancel = context.WithCancelCause(ctx)
	b.stop = context.AfterFunc(b.to, func() {
		defer close(b.done)
		b.pull()
	})
	r.bonds = append(r.bonds, b)
}

func (b *bond) pull() { b.cancel(context.Cause(b.to)) }

// pull ends the run's context if one has ended that it is bound to. Of a context
// that is a child of the one it is bound to, that is long done.
func (r *run) pull() {
	for i := range r.bonds {
		if b := &r.bonds[i]; b.to.Err() != nil {
			b.pull()
		}
	}
}

// release unties the contexts, so that nothing is left of them when the run ends.
func (r *run) release() {
	for _, b := range r.bonds {
		if !b.stop() {
			<-b.done
		}
		b.cancel(nil)
	}
}
