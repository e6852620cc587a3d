package check

import (
	"maps"
	"slices"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
)

// end takes the run's last event.
func (r *run) end(ev *trace.Event, b *trace.RunEnd) {
	r.over = true
	r.mustHaveDecided()
	if late := ev.At - r.busy; late > 0 && r.cancelled && r.virtual {
		r.report(invCancellation, "the run ends %s after the cancel and the last that was running", late)
	}
	r.closed()
	r.stopped(b)
	r.complete(b)
	r.sums(b)
	r.counts(b)
	r.release()
}

// closed reports what is still open.
func (r *run) closed() {
	if r.answer.asked {
		r.report(invFraming, "the run ends before its model call has")
	}
	for _, p := range r.purposes {
		if r.others[p].asked {
			r.report(invFraming, "the run ends before its model call for %s has", p)
		}
	}
	if r.step.open {
		r.report(invFraming, "the run ends within step %d", r.step.n)
		r.closeStep()
	}
}

// stopped holds the end against the decisions that led to it.
func (r *run) stopped(b *trace.RunEnd) {
	c := &r.control
	switch {
	case c.stop == trace.ReasonRunawayGuard && !r.tripped && r.promise.guard > 0 && !r.promise.rounds:
		r.report(invRunaway, "the guard stops the run, but no tool has failed in %d steps on end", r.promise.guard)
	case c.stop == "" && r.promise.any:
		r.report(invContinuation, "the run ends (%s) without a decision to stop", b.StopReason)
	case c.stop != "" && c.stop != b.StopReason:
		r.report(invContinuation, "the run ends with %s, but had decided to stop because of %s", b.StopReason, c.stop)
	case r.escaped(b):
		r.report(invContainedTools, "the run fails because a tool did: %s", b.Error.Message)
	}
}

// escaped reports whether a run's error is a tool's, or one of its last tools'.
func (r *run) escaped(b *trace.RunEnd) bool {
	e := b.Error
	return e != nil && (e.Type == "tool" || e.Type == "panic" && b.StopReason == trace.ReasonError && r.batch.failures > 0)
}

// complete holds the messages after the last request against the calls.
func (r *run) complete(b *trace.RunEnd) {
	x, same := &r.answer, true
	pending := names{list: b.Pending}
	if len(pending.list) == 0 {
		pending.list = r.suspended
	}
	if !x.rewritten {
		same = r.echo(b.AppendedMessages)
		r.told(b.AppendedMessages, &pending)
	}
	r.append(&x.list, b.AppendedMessages)
	if same {
		r.unanswered(&pending)
	}
	if left := r.left(pending.list); left != nil {
		r.checker.suspended[r.run] = left
	}
}

// unanswered reports the calls that the run leaves behind.
func (r *run) unanswered(pending *names) {
	r.answer.list.ended(&r.sink, pending.list)
	if r.control.forced == forceAsked {
		return // its calls are dropped
	}
	if id, found := r.lost(pending); found {
		r.report(invCompleteness, "the run ends without the call %q of its last turn, and does not report it pending", id)
	}
}

// lost returns the first call of the last turn that no message has and that is
// not pending. One whose id is no good may have another there, and those that a
// rewrite has taken away are not missed.
func (r *run) lost(pending *names) (id string, found bool) {
	if r.batch.turn == 0 || r.batch.gone {
		return "", false
	}
	for i := range r.batch.calls {
		c := &r.batch.calls[i]
		if p := &r.answer.list.places[c.place]; p.msg < 0 && !p.dup && !pending.has(c.id) {
			return c.id, true
		}
	}
	return "", false
}

// mustBeSent reports a turn with calls that the next request does not have.
func (r *run) mustBeSent() {
	if id, found := r.lost(&names{}); found {
		r.report(invPairing, "the run goes on without the call %q of its last turn", id)
	}
}

// sums holds the run's usage against that of its model calls.
func (r *run) sums(b *trace.RunEnd) {
	if b.Usage != r.used {
		r.report(invUsage, "the run says %s, but its model calls add up to %s", usage(b.Usage), usage(r.used))
		return
	}
	purposes := append(slices.Sorted(maps.Keys(b.UsageBy)), r.purposes...)
	for _, p := range purposes {
		if said, used := b.UsageBy[p], r.exchange(p).used; said != used {
			r.report(invUsage, "the run says %s %s, but its model calls add up to %s", usage(said), purpose(p), usage(used))
			return
		}
	}
}

// counts holds the run's own counts against what was seen, as far as it says
// any: they are what the run used, like its tokens. One that was interrupted may
// have counted what it did not come to record.
func (r *run) counts(b *trace.RunEnd) {
	if r.cancelled || b.Error != nil {
		return
	}
	if b.FinishReason != "" && r.finish != "" && b.FinishReason != r.finish {
		r.hold(invContinuation, "the run says that its last turn finished with %s, but it did with %s", b.FinishReason, r.finish)
	}
	if b.Steps != 0 && b.Steps != r.step.begun {
		r.hold(invUsage, "the run says that it has begun %d steps, but %d are there", b.Steps, r.step.begun)
	}
	if b.ModelCalls != 0 && b.ModelCalls != r.asked {
		r.hold(invUsage, "the run says that it has made %d model calls, but %d are there", b.ModelCalls, r.asked)
	}
}

func purpose(p trace.Purpose) string {
	if p == trace.PurposeAnswer {
		return "for the answer"
	}
	return "for " + string(p)
}

func usage(u llm.Usage) string { return string(u.AppendJSON(nil)) }
