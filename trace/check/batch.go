package check

import (
	"reflect"
	"slices"
	"strings"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
)

// batch is the calls of the run's last turn.
type batch struct {
	turn  int32 // counts the run's turns from 1; 0 before the first
	calls []call
	hint  int  // where find looks first
	own   bool // the turn is the run's, and not that of one which it resumes
	dups  bool // two of the calls have one id
	// queues are the first `queued` calls by their ids, when they are many and
	// two have one.
	queues map[string]*queue
	queued int
	// gone says that a request has followed whose messages were rewritten: the calls
	// need not be there.
	gone bool
	// reused says that the id of a call is empty or was used before.
	reused bool
	// running counts the calls between tool.start and tool.end.
	running  int
	answered bool // a call has a result
	failures int  // those of them that failed
	// spare says that a tool ended while fewer than the cap were running: no
	// call may have been waiting for a slot then. That one was is said once.
	spare, said bool
}

// call is one call of a turn, or one that a run before this one left pending.
type call struct {
	id, name, args string
	resolved       string // the cause of the last tool.arguments
	place          int32  // of the id in the list of answers
	state          callState
	abandoned      bool
	blamed         bool // that its end is missing, or out of place, was reported
	known          bool // the result is: what it is and whether it is a failure
	failed         bool
	content        []llm.Part
}

type callState byte

const (
	callAsked callState = iota
	callRunning
	callEnded
	callSkipped
)

// begin takes the calls of a new turn.
func (r *run) begin(parts []llm.Part) {
	b := &r.batch
	*b = batch{turn: b.turn + 1, calls: b.calls[:0], own: true}
	for _, p := range parts {
		if c, ok := p.(llm.ToolCall); ok && !c.ProviderExecuted {
			r.register(c.ID, c.Name, c.Arguments)
		}
	}
}

// find returns where the call of an id is, if it is quickly found. Most events
// come in the order of their calls, so it looks at the next call first and at no
// more than two.
func (b *batch) find(id string) (i int, ok bool) {
	for _, i := range [...]int{b.hint, 0} {
		if i < len(b.calls) && b.calls[i].id == id {
			b.hint = i + 1
			return i, true
		}
	}
	return 0, false
}

// void forgets the calls of a turn that a policy puts another in the place of.
func (r *run) void() {
	for _, c := range r.batch.calls {
		r.answer.list.forget(hash(c.id))
	}
	r.batch.calls = r.batch.calls[:0]
}

// register adds a call to the batch and holds its id against INV-04. The call is
// good until the next one is added.
func (r *run) register(id, name, args string) *call {
	b, l := &r.batch, &r.answer.list
	i, used := l.learn(id)
	p := &l.places[i]
	if used || id == "" {
		b.reused = true
		if !p.dup {
			reportDuplicate(&r.sink, id)
			p.dup = true
		}
	}
	b.dups = b.dups || used && p.turn == b.turn
	p.turn, p.index = b.turn, int32(len(b.calls))
	b.calls = append(b.calls, call{id: id, name: name, args: args, place: i})
	return &b.calls[p.index]
}

// call returns the call of an id, or nil. Of calls that share an id it is the
// first in the state that is asked for.
func (r *run) call(id string, want callState) *call {
	b := &r.batch
	if b.dups {
		if c := b.first(id, want); c != nil {
			return c
		}
	}
	return r.known(id)
}

// known returns a call of an id, or nil.
func (r *run) known(id string) *call {
	b, l := &r.batch, &r.answer.list
	if i, ok := b.find(id); ok {
		return &b.calls[i]
	}
	i, known := l.lookup(hash(id))
	if !known || l.places[i].turn != b.turn || int(l.places[i].index) >= len(b.calls) {
		return nil
	}
	c := &b.calls[l.places[i].index]
	if c.id != id {
		return nil
	}
	return c
}

// queue is the calls of one id, in their order. They start in it, so that behind
// one that waits none has.
type queue struct {
	calls          []int32
	asked, running int // before these, none is in that state
}

func (q *queue) first(all []call, want callState) *call {
	at, pass := &q.running, callEnded
	if want == callAsked {
		at, pass = &q.asked, callRunning
	}
	for ; *at < len(q.calls); *at++ {
		if c := &all[q.calls[*at]]; c.state < pass {
			if c.state == want {
				return c
			}
			return nil
		}
	}
	return nil
}

// first returns the first call of an id in this state, or nil.
func (b *batch) first(id string, want callState) *call {
	if len(b.calls) <= few {
		for i := range b.calls {
			if c := &b.calls[i]; c.id == id && c.state == want {
				return c
			}
		}
		return nil
	}
	if b.queues == nil {
		b.queues = map[string]*queue{}
	}
	for ; b.queued < len(b.calls); b.queued++ {
		id := b.calls[b.queued].id
		if b.queues[id] == nil {
			b.queues[id] = &queue{}
		}
		b.queues[id].calls = append(b.queues[id].calls, int32(b.queued))
	}
	q := b.queues[id]
	if q == nil {
		return nil
	}
	return q.first(b.calls, want)
}

// adopt returns a call that a tool event names; one that this run's turns do
// not have is taken as left over by the run that this one resumes.
func (r *run) adopt(id, name, args string, want callState) *call {
	c := r.call(id, want)
	if b := &r.batch; c == nil && r.resumed && b.turn == 0 {
		c = r.register(id, name, args)
	}
	return c
}

// resume joins this run to the one that it continues.
func (r *run) resume(b trace.Resumed) {
	r.resumed = true
	left, ok := r.checker.suspended[b.Of]
	if !ok {
		return
	}
	delete(r.checker.suspended, b.Of)
	r.batch.turn++
	for _, c := range left {
		r.register(c.id, c.name, c.args).resolved = c.resolved
	}
}

// resolve takes the word that a call runs with other arguments.
func (r *run) resolve(ev *trace.Event, b trace.ToolArguments) {
	c := r.adopt(b.ToolCallID, "", b.Arguments, callAsked)
	if c == nil || c.state != callAsked {
		r.report(invFraming, "the arguments of the call %q are resolved when it is not waiting to run", b.ToolCallID)
		return
	}
	r.mustHaveDecided()
	if b.Reason == "" {
		r.report(invExactArgs, "the call %q runs with other arguments for no cause", b.ToolCallID)
	}
	c.args, c.resolved = b.Arguments, b.Reason
	r.inStep(ev)
}

// inStep is within for the events of tools. What a resumed run was left with
// may run before the first step.
func (r *run) inStep(ev *trace.Event) {
	if !r.resumed || r.step.begun > 0 {
		r.within(ev)
	}
}

// toolStart takes the start of a tool.
func (r *run) toolStart(ev *trace.Event, b *trace.ToolStart) {
	r.mustHaveDecided()
	r.tools.told = true
	c := r.adopt(b.ToolCallID, b.Name, b.Arguments, callAsked)
	r.mayStart(c, b)
	r.inStep(ev)
	if c == nil || c.state == callRunning {
		return
	}
	c.name, c.state = b.Name, callRunning
	r.batch.running++
}

// mayStart reports the first reason why a tool must not start.
func (r *run) mayStart(c *call, b *trace.ToolStart) {
	reason := r.tools.refuse(b.Name)
	switch {
	case r.cancelled:
		r.report(invCancellation, "the call %q starts although the run was cancelled", b.ToolCallID)
	case c == nil:
		r.report(invFraming, "the call %q starts, but the last turn did not ask for it", b.ToolCallID)
	case c.state == callSkipped:
		r.report(invAtMostOnce, "the call %q starts although it was skipped", b.ToolCallID)
	case c.state != callAsked:
		r.report(invAtMostOnce, "the call %q starts a second time", b.ToolCallID)
	case reason != "":
		r.report(invAtMostOnce, "the call %q is executed, but the tool %q %s", b.ToolCallID, b.Name, reason)
	case r.control.forced == forceAsked:
		r.report(invContinuation, "the call %q starts after the forced last answer", b.ToolCallID)
	case c.name != "" && c.name != b.Name:
		r.report(invExactArgs, "the call %q is of %q, but %q was run", b.ToolCallID, c.name, b.Name)
	case c.args != b.Arguments:
		r.report(invExactArgs, "the call %q was run with %s, but its arguments are %s", b.ToolCallID, clip(b.Arguments), clip(c.args))
	default:
		r.mayJoin(c)
	}
}

// mayJoin holds the number of running tools against INV-15.
func (r *run) mayJoin(c *call) {
	limit := r.promise.concurrency
	switch {
	case limit == 0:
	case r.batch.running >= limit:
		r.report(invConcurrency, "the call %q starts while %d others run, but the cap is %d", c.id, r.batch.running, limit)
	case r.batch.spare && !r.batch.said && !r.promise.approval && c.resolved != "repair" && c.resolved != "edit":
		r.report(invConcurrency, "the call %q starts only after another has ended, although not all the slots were in use", c.id)
		r.batch.said = true
	}
}

// toolEnd takes the return of a tool.
func (r *run) toolEnd(ev *trace.Event, b *trace.ToolEnd) {
	r.busy = ev.At
	c := r.call(b.ToolCallID, callRunning)
	if c == nil || c.state != callRunning {
		r.report(invFraming, "the call %q ends, but it is not running", b.ToolCallID)
		if c != nil {
			c.blamed = true
		}
		return
	}
	r.inStep(ev)
	r.batch.spare = r.batch.spare || r.batch.running < r.promise.concurrency
	r.batch.running--
	c.state = callEnded
	r.result(c, b.Result, b.Outcome != trace.OutcomeOK)
	r.tally(c.name, b.Outcome != trace.OutcomeOK || b.Result.IsError, b.Outcome == trace.OutcomeCanceled)
}

// toolSkip takes the word that a call gets a result without being run.
func (r *run) toolSkip(ev *trace.Event, b *trace.ToolSkip) {
	r.mustHaveDecided()
	r.tools.told = true
	c := r.adopt(b.ToolCallID, b.Name, "", callAsked)
	switch {
	case c == nil:
		r.report(invFraming, "the call %q is skipped, but the last turn did not ask for it", b.ToolCallID)
		return
	case c.state == callSkipped:
		r.report(invFraming, "the call %q is skipped twice", b.ToolCallID)
		return
	case c.state != callAsked:
		r.report(invAtMostOnce, "the call %q is skipped although it has started", b.ToolCallID)
		return
	}
	r.inStep(ev)
	if c.name != "" && b.Name != "" && c.name != b.Name {
		r.report(invExactArgs, "the call %q is of %q, but one of %q was skipped", b.ToolCallID, c.name, b.Name)
	}
	c.state = callSkipped
	r.result(c, b.Result, b.Result.IsError || mustFail(b.Reason))
	if b.Result.IsError {
		r.tally(b.Name, true, b.Reason == trace.SkipDenied || b.Reason == trace.SkipCanceled || b.Reason == trace.SkipDuplicate)
	}
}

// mustFail reports whether what is skipped for this cause has an error result;
// what a policy chose to answer need not.
func mustFail(cause string) bool {
	switch cause {
	case trace.SkipUnknownTool, trace.SkipMalformedArguments, trace.SkipInvalidArguments, trace.SkipTruncated:
		return true
	}
	return false
}

// result holds the result of a call against INV-23, and keeps it.
func (r *run) result(c *call, res llm.ToolResult, failed bool) {
	r.batch.answered = true
	switch {
	case res.ID != c.id:
		r.report(invContainedTools, "the call %q got a result for %q", c.id, res.ID)
		return
	case c.name != "" && res.Name != "" && res.Name != c.name:
		r.report(invContainedTools, "the call %q of %q got a result of %q", c.id, c.name, res.Name)
	case failed && !res.IsError && !r.promise.unflagged:
		r.report(invContainedTools, "the call %q failed, but its result is not marked as an error", c.id)
		return
	case failed:
		r.batch.failures++
	}
	c.known, c.failed, c.content = true, failed || res.IsError, res.Content
}

// told holds the results among new messages against those that the tools gave;
// pending are the calls that somebody else answers. Calls of one id cannot be
// told apart here.
func (r *run) told(messages []llm.Message, pending *names) {
	if len(r.batch.calls) == 0 || r.batch.dups {
		return
	}
	for i := range messages {
		for _, p := range messages[i].Parts {
			if res, ok := p.(llm.ToolResult); ok {
				r.contained(&res, pending)
			}
		}
	}
}

// contained holds a result that the model is told against the call's own.
func (r *run) contained(res *llm.ToolResult, pending *names) {
	c := r.known(res.ID)
	switch {
	case c == nil:
	case !c.known:
		r.madeUp(c, res.IsError, pending)
	case res.IsError != c.failed && !r.promise.unflagged:
		if c.failed {
			r.report(invContainedTools, "the call %q failed, but the model is told a result that is not marked as an error", c.id)
			return
		}
		r.report(invContainedTools, "the call %q did not fail, but the model is told an error", c.id)
	case slices.EqualFunc(res.Content, c.content, sameContent):
	case c.failed:
		r.report(invContainedTools, "the call %q failed, but the model is told another result than the one that was recorded", c.id)
	default:
		// INV-01: a call is answered with its result, and a result has its call.
		r.report(invPairing, "the call %q is answered with another result than the one that its tool gave", c.id)
	}
}

// madeUp reports a result of a call that neither was run nor skipped, where the
// run tells what becomes of its calls, and the call is the loop's to answer.
func (r *run) madeUp(c *call, isError bool, pending *names) {
	switch {
	case !r.tools.told || !r.batch.own || r.tools.client[c.name] || r.control.forced == forceAsked:
	case c.state != callAsked || c.blamed || pending.has(c.id):
	case isError:
		r.report(invFraming, "the call %q has an error result, but neither a tool.end nor a tool.skip has told it", c.id)
	default:
		// INV-09: a call that is not run gets an error result.
		r.report(invExactArgs, "the call %q was not run, but the model is told a result that is no error", c.id)
	}
	c.blamed = true
}

// sameContent compares two parts of results, most of which are texts.
func sameContent(a, b llm.Part) bool {
	if x, ok := a.(llm.Text); ok && x.Opaque == nil {
		y, ok := b.(llm.Text)
		return ok && x.Text == y.Text && x.Refusal == y.Refusal && y.Opaque == nil
	}
	return reflect.DeepEqual(a, b)
}

// abandon takes the word that a running tool is not waited for.
func (r *run) abandon(b trace.Abandoned) {
	c := r.call(b.ToolCallID, callRunning)
	if c == nil {
		r.report(invFraming, "the call %q is abandoned, but the last turn did not ask for it", b.ToolCallID)
		return
	}
	c.abandoned = true
}

// noneRuns reports a call that runs at a step's end.
func (r *run) noneRuns() {
	if c := r.runs(); c != nil {
		r.report(invFraming, "step %d ends before the call %q has", r.step.n, c.id)
	}
}

// runs returns the first call that runs and is waited for, or nil.
func (r *run) runs() *call {
	if r.batch.running == 0 {
		return nil
	}
	for i := range r.batch.calls {
		if c := &r.batch.calls[i]; c.state == callRunning && !c.abandoned {
			return c
		}
	}
	return nil
}

// left returns the calls that are pending, in a form that outlives the events.
func (r *run) left(pending []string) []call {
	var out []call
	for _, id := range pending {
		if c := r.call(id, callAsked); c != nil && c.state == callAsked {
			out = append(out, call{id: strings.Clone(id), name: strings.Clone(c.name), args: strings.Clone(c.args), resolved: strings.Clone(c.resolved)})
		}
	}
	return out
}

// clip shortens a text for a message.
func clip(s string) string {
	const most = 80
	if len(s) > most {
		return quoted(s[:most]) + " …"
	}
	return quoted(s)
}
