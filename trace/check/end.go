package check

import (
	"maps"
	"slices"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
)

func (r *run) end(ev *trace.Event, b *trace.RunEnd) {
	r.over = true
	r.mustHaveDecided()
	if late := ev.At - r.busy; late > 0 && r.canceled && r.virtual {
		r.report(invCancellation, "the run ends %s after the cancel and the last model call or tool", late)
	}
	r.closed()
	r.stopped(b)
	r.complete(b)
	r.usage(b)
	r.counts(b)
	if r.sound {
		*r.found = append(*r.found, r.deferred...)
	}
}

func (r *run) closed() {
	if r.answer.requested {
		r.report(invFraming, "the run ends before its model call")
	}
	for _, p := range r.purposes {
		if r.others[p].requested {
			r.report(invFraming, "the run ends before its model call for %s", p)
		}
	}
	if r.step.open {
		r.report(invFraming, "the run ends within step %d", r.step.n)
		r.closeStep()
	}
}

// stopped compares the end with the decisions before it.
func (r *run) stopped(b *trace.RunEnd) {
	c, e := &r.control, b.Error
	switch {
	case c.stop == trace.ReasonRunawayGuard && !r.tripped && r.declared.guard > 0 && !r.declared.duplicates:
		r.report(invRunaway, "the guard stops the run, but no tool has failed in %d consecutive steps", r.declared.guard)
	case c.stop == "" && r.declared.any:
		r.report(invContinuation, "the run ends (%s) without a decision to stop", b.StopReason)
	case c.stop != "" && c.stop != b.StopReason:
		r.report(invContinuation, "the run ends with %s, but the decision to stop has the reason %s", b.StopReason, c.stop)
	case e != nil && (e.Type == "tool" || e.Type == "panic" && b.StopReason == trace.ReasonError && r.batch.failures > 0):
		r.report(invContainedTools, "the run fails because a tool failed: %s", e.Message)
	}
}

// complete compares the messages after the last request with the calls.
func (r *run) complete(b *trace.RunEnd) {
	x, same := &r.answer, true
	list := b.Pending
	if len(list) == 0 {
		list = r.suspended
	}
	pending := namesOf(list)
	if !x.rewritten {
		same = r.echo(b.AppendedMessages)
		r.results(b.AppendedMessages, pending)
	}
	r.append(&x.list, b.AppendedMessages)
	if same {
		x.list.ended(&r.sink, list)
		if id, found := r.lost(pending); found && r.control.forced != forceRequested { // which drops its calls
			r.report(invCompleteness, "the run ends without the call %q of its last response, and does not report it pending", id)
		}
	}
	if left := r.left(list); left != nil {
		r.checker.suspended[r.run] = left
	}
}

// lost returns the first call of the last response that no message has and that is not
// pending. It ignores calls with a reused id and those that a rewrite has removed.
func (r *run) lost(pending names) (id string, found bool) {
	if r.batch.number == 0 || r.batch.rewritten {
		return "", false
	}
	for i := range r.batch.calls {
		c := &r.batch.calls[i]
		if p := &r.answer.list.Places[c.place]; p.Msg < 0 && !p.Dup && !pending[c.id] {
			return c.id, true
		}
	}
	return "", false
}

func (r *run) usage(b *trace.RunEnd) {
	differs := func(reported, used llm.Usage, purpose string) bool {
		if reported != used {
			r.report(invUsage, "the run reports the usage %s%s, but its model calls add up to %s", reported.AppendJSON(nil), purpose, used.AppendJSON(nil))
		}
		return reported != used
	}
	if differs(b.Usage, r.used, "") {
		return
	}
	for _, p := range append(slices.Sorted(maps.Keys(b.UsageBy)), r.purposes...) {
		purpose := " for " + string(p)
		if p == trace.PurposeAnswer {
			purpose = " for the answer"
		}
		if differs(b.UsageBy[p], r.exchange(p).used, purpose) {
			return
		}
	}
}

// counts compares the run's own counts, if it has any, with the events. An interrupted run may
// have counted what it did not record.
func (r *run) counts(b *trace.RunEnd) {
	if r.canceled || b.Error != nil {
		return
	}
	if b.FinishReason != "" && r.finish != "" && b.FinishReason != r.finish {
		r.reportLater(invContinuation, "the run reports the finish reason %s, but its last response has %s", b.FinishReason, r.finish)
	}
	if b.Steps != 0 && b.Steps != r.step.begun {
		r.reportLater(invUsage, "the run reports %d steps, but has %d", b.Steps, r.step.begun)
	}
	if b.ModelCalls != 0 && b.ModelCalls != r.requests {
		r.reportLater(invUsage, "the run reports %d model calls, but has %d", b.ModelCalls, r.requests)
	}
}
