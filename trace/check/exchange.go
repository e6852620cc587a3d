package check

import (
	"time"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
)

// exchange is what is known of the model calls of one purpose.
type exchange struct {
	list      list
	rewritten bool // a rewrite has come since the last request
	offers    bool // requests offer tools that may be called
	asked     bool // a request is waiting for its answer; see await and arrived
	fresh     bool // see awaited
	began     bool // a piece of that answer has come
	told      bool // the answer has come, for the run's own calls in this step
	attempt   int  // of the last request
	hole      int  // the number of an event before which pieces of that answer may be missing; 0 if none
	deltas    deltas
	fault     fault
	retries   int // of the model call under way
	used      llm.Usage
	said      said // of the answer alone: what the next request must echo
}

// fault is the last attempt, if it failed.
type fault struct {
	failed  bool
	retried bool // a model.retry has followed
	after   time.Duration
	at      time.Duration
	why     string // why it must not be retried; empty if it may
}

// request takes a request: whether it may be made, and what is in it.
func (r *run) request(ev *trace.Event, b trace.ModelRequest) {
	x := r.exchange(ev.Purpose)
	answer := x == &r.answer
	if answer {
		r.mustHaveDecided()
	}
	r.mayAsk(ev, x)
	if answer {
		r.within(ev)
	}
	if x.asked {
		r.report(invFraming, "a model.request comes before the one before it was answered")
	}
	if ev.Attempt <= 1 && !x.fault.retried {
		x.retries = 0
	}
	r.asked++
	r.await(x)
	x.began, x.fault, x.attempt = false, fault{}, ev.Attempt
	x.deltas.reset()
	if answer {
		r.force(x)
	}
	found, rewritten := len(*r.found), x.rewritten
	r.messages(x, b)
	if answer && !rewritten && found == len(*r.found) {
		r.mustBeSent()
	}
}

// mayAsk reports the first reason why a model call must not be made.
func (r *run) mayAsk(ev *trace.Event, x *exchange) {
	f, c := &x.fault, &r.control
	answer := x == &r.answer
	goesOn := answer && !f.retried
	switch {
	case r.cancelled:
		r.report(invCancellation, "the model is asked although the run was cancelled")
	case r.used.Total() >= r.promise.budget:
		r.report(invBudget, "the model is asked although %d tokens of %d are spent", r.used.Total(), r.promise.budget)
	case (f.failed && answer || ev.Attempt > 1) && !f.retried:
		r.report(invRetries, "the model is asked again (attempt %d) without a model.retry", ev.Attempt)
	case f.retried && r.virtual && ev.At-f.at < f.after:
		r.report(invRetries, "the model is asked again %s after the failure, but the provider asked for %s", ev.At-f.at, f.after)
	case goesOn && c.forced == forceAsked:
		r.report(invContinuation, "the model is asked again after the forced last answer")
	case goesOn && c.stop == trace.ReasonRunawayGuard && r.promise.guard > 0:
		r.report(invRunaway, "the model is asked although the guard had stopped the run")
	case goesOn && c.stop != "":
		r.report(invContinuation, "the model is asked although the run had decided to stop (%s)", c.stop)
	default:
		return
	}
	c.stop = "" // said once
}

// messages takes what a request says: INV-05, INV-22, and through the list the
// rest of what messages show. Only the answer's requests make one history: a
// judge or a repair begins anew each time.
func (r *run) messages(x *exchange, b trace.ModelRequest) {
	l := &x.list
	switch {
	case b.PrefixMessages > l.n || b.PrefixMessages < l.n && x == &r.answer && !x.rewritten:
		r.report(invAppendOnly, "the request keeps %d messages of the %d of the request before it, without a rewrite event", b.PrefixMessages, l.n)
	case x == &r.answer && !x.rewritten:
		r.echo(b.NewMessages)
		r.told(b.NewMessages, &names{list: r.suspended})
	}
	if kept := max(0, b.PrefixMessages); kept < l.n {
		l.cut(kept)
	}
	r.batch.gone = r.batch.gone || x == &r.answer && x.rewritten
	x.said.there, x.rewritten = false, false
	r.append(l, b.NewMessages)
	l.sent(&r.sink, false)
}

// append adds messages to a list.
func (r *run) append(l *list, messages []llm.Message) {
	for _, m := range messages {
		l.add(&r.sink, m)
	}
}

// delta takes a piece of an answer.
func (r *run) delta(ev *trace.Event, b *trace.ModelDelta) {
	x := r.exchange(ev.Purpose)
	if !x.asked {
		r.report(invFraming, "a model.delta comes when no model call is under way")
		return
	}
	if x == &r.answer {
		r.within(ev)
	}
	x.began = true
	if b.Type == trace.DeltaText || b.Type == trace.DeltaReasoning {
		return
	}
	if b.Type == trace.DeltaCall {
		x.deltas.begin(b.ToolCallID, ev.Seq)
		return
	}
	switch i := x.deltas.find(b.ToolCallID); {
	case i < 0:
		r.report(invFraming, "a piece of the call %q comes before the call begins", b.ToolCallID)
	case x.deltas.calls[i].ended:
		r.report(invFraming, "a piece of the call %q comes after the call has ended", b.ToolCallID)
	case b.Type == trace.DeltaCallEnd:
		x.deltas.end(i)
	}
}

// begins reports the calls that have begun more often than the answer has them.
// Two calls of one id are INV-04's.
func (r *run) begins(x *exchange, parts []llm.Part) {
	if !x.deltas.again {
		return
	}
	left := map[string]int{} // calls of the answer that have not begun, by their ids
	for _, p := range parts {
		if c, ok := p.(llm.ToolCall); ok {
			left[c.ID]++
		}
	}
	now := r.event
	for _, d := range x.deltas.calls {
		if d.again && left[d.id] <= 0 {
			r.event = d.event
			r.report(invFraming, "the call %q begins twice", d.id)
		}
		left[d.id]--
	}
	r.event = now
}

// answered ends the model call under way. Parts are what came of its answer.
func (r *run) answered(ev *trace.Event, x *exchange, parts []llm.Part, u llm.Usage) {
	switch {
	case !x.asked:
		r.report(invFraming, "a %s comes when no model call is under way", ev.Body.Kind())
	case ev.Attempt > 0 && x.attempt > 0 && ev.Attempt != x.attempt:
		r.hold(invFraming, "a %s of attempt %d comes when attempt %d is under way", ev.Body.Kind(), ev.Attempt, x.attempt)
	}
	if x == &r.answer {
		r.within(ev)
	}
	r.begins(x, parts)
	r.arrived(x)
	r.busy = ev.At
	x.used = x.used.Add(u)
	r.used = r.used.Add(u)
}

// turn takes a whole answer. A policy may give its own in place of a model call
// or of the model's answer: such a turn was not asked for, is no attempt, costs
// nothing, and comes before the step's decision. It is also the step's answer
// where an attempt has failed, or where the forced last answer was asked for
// another purpose.
func (r *run) turn(ev *trace.Event, b *trace.ModelResponse) {
	x := r.exchange(ev.Purpose)
	c := &r.control
	instead := !x.asked && r.step.open && !r.step.decided && ev.Attempt == 0 && b.Usage == llm.Usage{}
	switch {
	case instead:
	case !x.asked && x.told:
		r.report(invFraming, "a model.response comes again for a model call that was answered")
		return
	default:
		r.answered(ev, x, b.Message.Parts, b.Usage)
		x.told = true
	}
	if x != &r.answer {
		return
	}
	x.fault, r.finish = fault{}, b.FinishReason
	if c.forced == forceOrdered {
		c.forced = forceAsked
	}
	if instead && c.awaited {
		c.awaited = false
		r.void()
	}
	r.mustHaveDecided()
	r.begin(b.Message.Parts)
	c.awaited = true
	r.say(b.Message)
}

// failure takes a failed attempt.
func (r *run) failure(ev *trace.Event, b *trace.ModelError) {
	x := r.exchange(ev.Purpose)
	began := x.began
	r.answered(ev, x, b.PartialContent, b.Usage)
	x.fault = fault{failed: true, after: b.Error.RetryAfter, at: ev.At}
	switch {
	case !b.Error.Retryable:
		x.fault.why = "the error is not one that may be retried"
	case b.Partial || began:
		x.fault.why = "a part of the answer had been passed on"
	}
}

// retry takes the word that a model call will be tried again.
func (r *run) retry(ev *trace.Event, b trace.ModelRetry) {
	x := r.exchange(ev.Purpose)
	f := &x.fault
	x.retries++
	switch {
	case r.cancelled:
		r.report(invCancellation, "a model call is to be retried although the run was cancelled")
	case !f.failed:
		r.report(invRetries, "a model call is retried that did not fail")
	case f.why != "":
		r.report(invRetries, "a model call is retried although %s", f.why)
	case b.Wait < f.after:
		r.report(invRetries, "the retry waits %s, but the provider asked for %s", b.Wait, f.after)
	case x.retries > r.promise.retries:
		r.report(invRetries, "retry %d of a model call, but retry_max is %d", x.retries, r.promise.retries)
	}
	f.retried = true
}
