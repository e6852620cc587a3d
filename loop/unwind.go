package loop

import (
	"errors"

	"github.com/looptape/looptape/trace"
)

// errUnwound is the error of a run whose goroutine does not come back.
var errUnwound = errors.New("loop: the goroutine of the run was ended from within: " +
	"a tool, a policy, the model, OnStep or the consumer of the events called runtime.Goexit (as FailNow and Fatal of a test do) or panicked")

// unwind completes the trace of a run whose goroutine is being ended from within,
// wherever that happened. It is deferred, and does nothing if the run has ended.
func (r *run) unwind() {
	if r.finished {
		return
	}
	r.err = errUnwound
	if r.rec.seq == 0 {
		r.begin(r.agent.info)
	}
	if r.asked != nil {
		r.callFailed(r.asked, r.acc.Response(), describe(errUnwound))
	}
	if r.turn != nil {
		r.appendTurn(r.turn)
	}
	step := trace.NoStep
	if r.inStep {
		step = r.step
		r.endCalls()
	}
	r.end(r.fail(step, errUnwound))
}

// endCalls gives each call of the step its result that has none.
func (r *run) endCalls() {
	if r.open == nil {
		return
	}
	for _, p := range r.open {
		switch {
		case p.told, p.held:
		case p.Output != nil:
			r.skip(p)
		case !p.ran:
			r.skipCancelled(p)
		default:
			p.unwound()
			r.emitEnd(p)
		}
	}
	r.appendResults(r.at, r.open)
}

// unwound gives a call that was begun and did not come back its result.
func (p *planned) unwound() {
	switch {
	case p.outcome != "":
	case p.entered.Swap(true):
		p.outcome, *p.result = p.exited()
	default:
		p.outcome, *p.result = trace.OutcomeCanceled, p.resultOf(failed("not run: the run was ended"))
	}
}
