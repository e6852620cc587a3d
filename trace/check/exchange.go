package check

import (
	"time"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/check/internal/idtable"
)

type exchange struct {
	list      list
	rewritten bool // a rewrite has come since the last request
	offers    bool // requests have tools that may be called
	requested bool // a request is waiting for its response; see await and arrived
	fresh     bool // see awaited
	began     bool // a delta of that response has come
	responded bool // the response to the run's own request in this step has come
	attempt   int  // of the last request
	hole      int  // Seq of an event before which deltas of that response may be missing; 0 if none
	deltas    deltas
	fault     fault
	retries   int // of the current model call
	used      llm.Usage
	response  response // for the purpose answer: the next request must have it
}

// fault is the last attempt, if it failed.
type fault struct {
	failed   bool
	retried  bool // a model.retry has followed
	after    time.Duration
	at       time.Duration
	terminal string // why it must not be retried; empty if it may be
}

func (r *run) request(ev *trace.Event, b trace.ModelRequest) {
	x := r.exchange(ev.Purpose)
	answer := x == &r.answer
	if answer {
		r.mustHaveDecided()
	}
	r.mayRequest(ev, x)
	if answer {
		r.within(ev)
	}
	if x.requested {
		r.report(invFraming, "a model.request comes before the response to the request before it")
	}
	if ev.Attempt <= 1 && !x.fault.retried {
		x.retries = 0
	}
	r.requests++
	r.await(x)
	x.began, x.fault, x.attempt = false, fault{}, ev.Attempt
	x.deltas.reset()
	if answer {
		r.force(x)
	}
	found, rewritten := len(*r.found), x.rewritten
	r.messages(x, b)
	if answer && !rewritten && found == len(*r.found) {
		if id, found := r.lost(nil); found {
			r.report(invPairing, "the run continues without the call %q of its last response", id)
		}
	}
}

// mayRequest reports the first reason why a model call must not be made.
func (r *run) mayRequest(ev *trace.Event, x *exchange) {
	f, c := &x.fault, &r.control
	answer := x == &r.answer
	continues := answer && !f.retried
	switch {
	case r.canceled:
		r.report(invCancellation, "the model is called after the run was canceled")
	case r.used.Total() >= r.declared.budget:
		r.report(invBudget, "the model is called after %d tokens of %d were used", r.used.Total(), r.declared.budget)
	case (f.failed && answer || ev.Attempt > 1) && !f.retried:
		r.report(invRetries, "the model is called again (attempt %d) without a model.retry", ev.Attempt)
	case f.retried && r.virtual && ev.At-f.at < f.after:
		r.report(invRetries, "the model is called again %s after the failure, but the provider asked for %s", ev.At-f.at, f.after)
	case continues && c.forced == forceRequested:
		r.report(invContinuation, "the model is called again after the forced final response")
	case continues && c.stop == trace.ReasonRunawayGuard && r.declared.guard > 0:
		r.report(invRunaway, "the model is called after the guard stopped the run")
	case continues && c.stop != "":
		r.report(invContinuation, "the model is called after the run decided to stop (%s)", c.stop)
	default:
		return
	}
	c.stop = "" // reported once
}

// messages checks the messages of a request: INV-05, INV-22, and with the list all that
// messages show. Only requests for the answer have one history. A grader or a repair begins a
// new one each time.
func (r *run) messages(x *exchange, b trace.ModelRequest) {
	l := &x.list
	switch {
	case b.PrefixMessages > l.n || b.PrefixMessages < l.n && x == &r.answer && !x.rewritten:
		r.report(invAppendOnly, "the request keeps %d of the %d messages of the request before it, without a rewrite event", b.PrefixMessages, l.n)
	case x == &r.answer && !x.rewritten:
		r.echo(b.NewMessages)
		r.results(b.NewMessages, namesOf(r.suspended))
	}
	if kept := max(0, b.PrefixMessages); kept < l.n {
		l.truncate(kept)
	}
	r.batch.rewritten = r.batch.rewritten || x == &r.answer && x.rewritten
	x.response.sent, x.rewritten = false, false
	r.append(l, b.NewMessages)
	l.sent(&r.sink, false)
}

func (r *run) append(l *list, messages []llm.Message) {
	for _, m := range messages {
		l.add(&r.sink, m)
	}
}

func (r *run) delta(ev *trace.Event, b *trace.ModelDelta) {
	x := r.exchange(ev.Purpose)
	if !x.requested {
		r.report(invFraming, "a model.delta comes outside a model call")
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
	i, begun := x.deltas.top[b.ToolCallID]
	switch {
	case !begun:
		r.report(invFraming, "a delta of the call %q comes before the call begins", b.ToolCallID)
	case x.deltas.calls[i].ended:
		r.report(invFraming, "a delta of the call %q comes after the call has ended", b.ToolCallID)
	case b.Type == trace.DeltaCallEnd:
		x.deltas.end(&x.deltas.calls[i])
	}
}

// begins reports the calls that begin more often in deltas than the response has them. Two
// calls with the same id in the response are INV-04.
func (r *run) begins(x *exchange, parts []llm.Part) {
	if !x.deltas.again {
		return
	}
	left := map[string]int{} // calls of the response that have not begun, by id
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

// responded ends the current model call. Parts are the received parts of its response.
func (r *run) responded(ev *trace.Event, x *exchange, parts []llm.Part, u llm.Usage) {
	switch {
	case !x.requested:
		r.report(invFraming, "a %s comes outside a model call", ev.Body.Kind())
	case ev.Attempt > 0 && x.attempt > 0 && ev.Attempt != x.attempt:
		r.reportLater(invFraming, "a %s of attempt %d comes during attempt %d", ev.Body.Kind(), ev.Attempt, x.attempt)
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

// respond checks a complete response. Middleware may respond instead of the model, or replace
// the model's response: such a response has no request, no attempt and no usage, and comes
// before the decision of the step. It is also the response of the step after a failed attempt,
// or if the forced final response was requested for another purpose.
func (r *run) respond(ev *trace.Event, b *trace.ModelResponse) {
	x := r.exchange(ev.Purpose)
	c := &r.control
	substitute := !x.requested && r.step.open && !r.step.decided && ev.Attempt == 0 && b.Usage == llm.Usage{}
	switch {
	case substitute:
	case !x.requested && x.responded:
		r.report(invFraming, "a second %s comes for the same model call", ev.Body.Kind())
		return
	default:
		r.responded(ev, x, b.Message.Parts, b.Usage)
		x.responded = true
	}
	if x != &r.answer {
		return
	}
	x.fault, r.finish = fault{}, b.FinishReason
	if c.forced == forceDecided {
		c.forced = forceRequested
	}
	if substitute && c.awaited {
		c.awaited = false
		for _, call := range r.batch.calls {
			r.answer.list.Discard(idtable.Hash(call.id))
		}
		r.batch.calls = r.batch.calls[:0]
	}
	r.mustHaveDecided()
	r.begin(b.Message.Parts)
	c.awaited = true
	r.keep(b.Message)
}

func (r *run) fail(ev *trace.Event, b *trace.ModelError) {
	x := r.exchange(ev.Purpose)
	began := x.began
	r.responded(ev, x, b.PartialContent, b.Usage)
	x.fault = fault{failed: true, after: b.Error.RetryAfter, at: ev.At}
	switch {
	case !b.Error.Retryable:
		x.fault.terminal = "its error is not retryable"
	case b.Partial || began:
		x.fault.terminal = "a part of its response was passed on"
	}
}

func (r *run) retry(ev *trace.Event, b trace.ModelRetry) {
	x := r.exchange(ev.Purpose)
	f := &x.fault
	x.retries++
	switch {
	case r.canceled:
		r.report(invCancellation, "a model call is retried after the run was canceled")
	case !f.failed:
		r.report(invRetries, "a model call is retried that did not fail")
	case f.terminal != "":
		r.report(invRetries, "a model call is retried although %s", f.terminal)
	case b.Wait < f.after:
		r.report(invRetries, "the retry waits %s, but the provider asked for %s", b.Wait, f.after)
	case x.retries > r.declared.retries:
		r.report(invRetries, "retry %d of a model call, but retry_max is %d", x.retries, r.declared.retries)
	}
	f.retried = true
}

// deltas are the calls with deltas in one response.
type deltas struct {
	calls []deltaCall
	// top has, by id, the index of the call that began last and has not ended, or of one that has
	// ended if there is none.
	top   map[string]int
	again bool // a call began with the id of another
}

type deltaCall struct {
	id    string
	event int  // its first
	again bool // a call with this id had begun before
	ended bool
	below int // the top before it, if that had not ended; else -1
}

func (d *deltas) reset() {
	clear(d.top)
	*d = deltas{calls: d.calls[:0], top: d.top}
}

func (d *deltas) begin(id string, event int) {
	if d.top == nil {
		d.top = map[string]int{}
	}
	below, again := d.top[id]
	if !again || d.calls[below].ended {
		below = -1
	}
	d.again = d.again || again
	d.top[id] = len(d.calls)
	d.calls = append(d.calls, deltaCall{id: id, event: event, again: again, below: below})
}

// end ends a call that is on top.
func (d *deltas) end(c *deltaCall) {
	if c.ended = true; c.below >= 0 {
		d.top[c.id] = c.below
	}
}
