package check

import (
	"reflect"
	"slices"
	"strings"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/check/internal/idtable"
)

// batch is the calls of the run's last response.
type batch struct {
	number int32 // of the response in the run, from 1; 0 before the first
	calls  []call
	hint   int  // index at which find begins
	own    bool // the response is of this run, and not of a run that it resumes
	dups   bool // two of the calls have the same id
	// queues are the first `queued` calls by id, if two of the calls have the same id.
	queues map[string]*queue
	queued int
	// rewritten is true if a request with rewritten messages followed. It need not have the
	// calls.
	rewritten bool
	// reused is true if the id of a call is empty or was used before.
	reused   bool
	running  int  // calls between tool.start and tool.end
	answered bool // a call has a result
	failures int  // results that are failures
	// spare is true if a tool ended while fewer than the limit were running, so that no call
	// should have been waiting. A call that was is reported once.
	spare, reported bool
	misplaced       bool // a tool ended that was not running, so that running may be wrong
}

// call is a call of a response, or one that an earlier run left pending.
type call struct {
	id, name, args string
	resolved       string // the reason of the last tool.arguments
	place          int32  // of the id in the list of the run's own messages
	state          callState
	abandoned      bool
	blamed         bool // a violation about its end was reported
	hasResult      bool
	failed         bool // the result is a failure
	content        []llm.Part
}

type callState byte

const (
	callPlanned callState = iota
	callRunning
	callDone
	callSkipped
)

func (r *run) begin(parts []llm.Part) {
	b := &r.batch
	*b = batch{number: b.number + 1, calls: slices.Grow(b.calls[:0], len(parts)), own: true}
	for _, p := range parts {
		if c, ok := p.(llm.ToolCall); ok && !c.ProviderExecuted {
			r.register(c.ID, c.Name, c.Arguments)
		}
	}
}

// find returns the index of the call with an id if it is the next call or the first. Most
// events come in the order of their calls.
func (b *batch) find(id string) (i int, ok bool) {
	for _, i := range [...]int{b.hint, 0} {
		if i < len(b.calls) && b.calls[i].id == id {
			b.hint = i + 1
			return i, true
		}
	}
	return 0, false
}

// register adds a call to the batch and checks its id (INV-04). The pointer is valid until the
// next call is added.
func (r *run) register(id, name, args string) *call {
	b, l := &r.batch, &r.answer.list
	i, used := l.learn(id)
	p := &l.Places[i]
	if used || id == "" {
		b.reused = true
		reportDuplicate(&r.sink, p, id, false)
	}
	b.dups = b.dups || used && p.Response == b.number
	p.Response, p.Index = b.number, int32(len(b.calls))
	b.calls = append(b.calls, call{id: id, name: name, args: args, place: i})
	return &b.calls[p.Index]
}

// call returns the call with an id, or nil. Of calls with the same id it returns the first in
// a state.
func (r *run) call(id string, state callState) *call {
	if r.batch.dups {
		if c := r.batch.first(id, state); c != nil {
			return c
		}
	}
	return r.known(id)
}

func (r *run) known(id string) *call {
	b, l := &r.batch, &r.answer.list
	if i, ok := b.find(id); ok {
		return &b.calls[i]
	}
	i, known := l.Lookup(idtable.Hash(id))
	if !known || l.Places[i].Response != b.number || int(l.Places[i].Index) >= len(b.calls) {
		return nil
	}
	if c := &b.calls[l.Places[i].Index]; c.id == id {
		return c
	}
	return nil
}

// queue is the calls with the same id, in order. They start in order.
type queue struct {
	calls            []int32
	planned, running int // index of the first call that may be in the state
}

func (q *queue) first(all []call, state callState) *call {
	at, end := &q.running, callDone
	if state == callPlanned {
		at, end = &q.planned, callRunning
	}
	for ; *at < len(q.calls); *at++ {
		if c := &all[q.calls[*at]]; c.state < end {
			if c.state == state {
				return c
			}
			return nil
		}
	}
	return nil
}

func (b *batch) first(id string, state callState) *call {
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
	if q := b.queues[id]; q != nil {
		return q.first(b.calls, state)
	}
	return nil
}

// adopt returns the planned call of a tool event. A call that no response of a resumed run has
// is one that the earlier run left.
func (r *run) adopt(id, name, args string) *call {
	c := r.call(id, callPlanned)
	if c == nil && r.resumed && r.batch.number == 0 {
		c = r.register(id, name, args)
	}
	return c
}

func (r *run) resume(b trace.Resumed) {
	r.resumed = true
	left, ok := r.checker.suspended[b.Of]
	if !ok {
		return
	}
	delete(r.checker.suspended, b.Of)
	r.batch.number++
	for _, c := range left {
		r.register(c.id, c.name, c.args).resolved = c.resolved
	}
}

func (r *run) resolve(ev *trace.Event, b trace.ToolArguments) {
	c := r.adopt(b.ToolCallID, "", b.Arguments)
	if c == nil { // middleware around the tool may edit the arguments
		c = r.call(b.ToolCallID, callRunning)
	}
	if c == nil || c.state != callPlanned && (c.state != callRunning || b.Reason != "edit") {
		r.report(invFraming, "the arguments of the call %q change when the call is not waiting to run", b.ToolCallID)
		return
	}
	r.mustHaveDecided()
	if b.Reason == "" {
		r.report(invExactArguments, "the call %q gets other arguments without a reason", b.ToolCallID)
	}
	c.args, c.resolved = b.Arguments, b.Reason
	r.inStep(ev)
}

// inStep is within for the events of tools. The calls of a resumed run may run before its
// first step.
func (r *run) inStep(ev *trace.Event) {
	if !r.resumed || r.step.begun > 0 {
		r.within(ev)
	}
}

func (r *run) toolStart(ev *trace.Event, b *trace.ToolStart) {
	r.mustHaveDecided()
	r.tools.recorded = true
	c := r.adopt(b.ToolCallID, b.Name, b.Arguments)
	r.mayStart(c, b)
	r.inStep(ev)
	if c == nil || c.state == callRunning {
		return
	}
	if c.name, c.state = b.Name, callRunning; c.blamed {
		c.state = callDone // it ended before
		return
	}
	r.batch.running++
}

// mayStart reports the first reason why a tool must not start.
func (r *run) mayStart(c *call, b *trace.ToolStart) {
	client, known := r.tools.client[b.Name]
	switch {
	case r.canceled:
		r.report(invCancellation, "the call %q starts after the run was canceled", b.ToolCallID)
	case c == nil:
		r.report(invFraming, "the call %q starts, but the last response does not have it", b.ToolCallID)
	case c.state == callSkipped:
		r.report(invAtMostOnce, "the call %q starts after it was skipped", b.ToolCallID)
	case c.state != callPlanned:
		r.report(invAtMostOnce, "the call %q starts a second time", b.ToolCallID)
	case client:
		r.report(invAtMostOnce, "the call %q is executed, but the tool %q is a client-side tool", b.ToolCallID, b.Name)
	case !known && r.tools.client != nil:
		r.report(invAtMostOnce, "the call %q is executed, but the tool %q is not a tool of the run", b.ToolCallID, b.Name)
	case r.control.forced == forceRequested:
		r.report(invContinuation, "the call %q starts after the forced final response", b.ToolCallID)
	case c.name != "" && c.name != b.Name:
		r.report(invExactArguments, "the call %q is for the tool %q, but the tool %q ran", b.ToolCallID, c.name, b.Name)
	case c.args != b.Arguments:
		r.report(invExactArguments, "the call %q ran with %s, but its arguments are %s", b.ToolCallID, clip(b.Arguments), clip(c.args))
	default:
		r.mayJoin(c)
	}
}

// mayJoin checks the number of running tools (INV-15).
func (r *run) mayJoin(c *call) {
	limit := r.declared.concurrency
	switch {
	case limit == 0 || r.batch.misplaced:
	case r.batch.running >= limit:
		r.report(invConcurrency, "the call %q starts while %d others run, but the limit is %d", c.id, r.batch.running, limit)
	case r.batch.spare && !r.batch.reported && !r.declared.approval && c.resolved != "repair" && c.resolved != "edit":
		r.report(invConcurrency, "the call %q starts only after another has ended, although fewer calls than the limit were running", c.id)
		r.batch.reported = true
	}
}

func (r *run) toolEnd(ev *trace.Event, b *trace.ToolEnd) {
	r.busy = ev.At
	c := r.call(b.ToolCallID, callRunning)
	if c == nil || c.state != callRunning {
		r.report(invFraming, "the call %q ends, but it is not running", b.ToolCallID)
		r.batch.misplaced = true
		if c != nil {
			c.blamed = true
		}
		return
	}
	r.inStep(ev)
	r.batch.spare = r.batch.spare || r.batch.running < r.declared.concurrency
	r.batch.running--
	c.state = callDone
	failed, notRun := b.Outcome != trace.OutcomeOK && b.Outcome != trace.OutcomeNotRun, b.Outcome == trace.OutcomeNotRun
	r.result(c, b.Result, failed)
	if !notRun || b.Result.IsError {
		r.countResult(c.name, failed || b.Result.IsError, notRun || b.Outcome == trace.OutcomeCanceled)
	}
}

func (r *run) toolSkip(ev *trace.Event, b *trace.ToolSkip) {
	r.mustHaveDecided()
	r.tools.recorded = true
	c := r.adopt(b.ToolCallID, b.Name, "")
	switch {
	case c == nil:
		r.report(invFraming, "the call %q is skipped, but the last response does not have it", b.ToolCallID)
		return
	case c.state == callSkipped:
		r.report(invFraming, "the call %q is skipped twice", b.ToolCallID)
		return
	case c.state != callPlanned:
		r.report(invAtMostOnce, "the call %q is skipped after it has started", b.ToolCallID)
		return
	}
	r.inStep(ev)
	if c.name != "" && b.Name != "" && c.name != b.Name {
		r.report(invExactArguments, "the call %q is for the tool %q, but a call of %q was skipped", b.ToolCallID, c.name, b.Name)
	}
	c.state = callSkipped
	mustFail := false // middleware may skip a call with any result
	switch b.Reason {
	case trace.SkipUnknownTool, trace.SkipMalformedArguments, trace.SkipInvalidArguments, trace.SkipTruncated:
		mustFail = true
	}
	r.result(c, b.Result, b.Result.IsError || mustFail)
	if b.Result.IsError {
		r.countResult(b.Name, true, b.Reason == trace.SkipDenied || b.Reason == trace.SkipCanceled || b.Reason == trace.SkipDuplicate)
	}
}

// result checks the result of a call (INV-23) and keeps it.
func (r *run) result(c *call, res llm.ToolResult, failed bool) {
	r.batch.answered = true
	switch {
	case res.ID != c.id:
		r.report(invContainedTools, "the call %q has a result for the call %q", c.id, res.ID)
		return
	case c.name != "" && res.Name != "" && res.Name != c.name:
		r.report(invContainedTools, "the call %q of the tool %q has a result of the tool %q", c.id, c.name, res.Name)
	case failed && !res.IsError && !r.declared.unflagged:
		r.report(invContainedTools, "the call %q failed, but its result is not marked as an error", c.id)
		return
	case failed:
		r.batch.failures++
	}
	c.hasResult, c.failed, c.content = true, failed || res.IsError, res.Content
}

// results compares the results in new messages with the recorded ones. Pending calls are
// client-side. Calls with the same id cannot be distinguished here.
func (r *run) results(messages []llm.Message, pending names) {
	if len(r.batch.calls) == 0 || r.batch.dups {
		return
	}
	for i := range messages {
		for _, p := range messages[i].Parts {
			if res, ok := p.(llm.ToolResult); ok {
				r.sentResult(&res, pending)
			}
		}
	}
}

// sentResult compares a result that the model gets with the recorded one.
func (r *run) sentResult(res *llm.ToolResult, pending names) {
	c := r.known(res.ID)
	switch {
	case c == nil:
	case !c.hasResult:
		r.unrecordedResult(c, res.IsError, pending)
	case res.IsError != c.failed && !r.declared.unflagged:
		if c.failed {
			r.report(invContainedTools, "the call %q failed, but the model gets a result that is not marked as an error", c.id)
			return
		}
		r.report(invContainedTools, "the call %q did not fail, but the model gets an error", c.id)
	case slices.EqualFunc(res.Content, c.content, sameContent):
	case c.failed:
		r.report(invContainedTools, "the call %q failed, but the model gets another result than the recorded one", c.id)
	default:
		// INV-01: a call has its own result, and a result its own call.
		r.report(invPairing, "the model gets another result of the call %q than its tool returned", c.id)
	}
}

// unrecordedResult reports a result of a call that neither ran nor was skipped, if the run
// records its calls and the call is not client-side.
func (r *run) unrecordedResult(c *call, isError bool, pending names) {
	switch {
	case !r.tools.recorded || !r.batch.own || r.tools.client[c.name] || r.control.forced == forceRequested:
	case c.state != callPlanned || c.blamed || pending[c.id]:
	case isError:
		r.report(invFraming, "the call %q has an error result, but no tool.end or tool.skip", c.id)
	default:
		// INV-09: a call that is not run gets an error result.
		r.report(invExactArguments, "the call %q was not run, but the model gets a result that is not an error", c.id)
	}
	c.blamed = true
}

// sameContent compares two parts of results. Most are texts.
func sameContent(a, b llm.Part) bool {
	if x, ok := a.(llm.Text); ok && x.Opaque == nil {
		y, ok := b.(llm.Text)
		return ok && x.Text == y.Text && x.Refusal == y.Refusal && y.Opaque == nil
	}
	return reflect.DeepEqual(a, b)
}

func (r *run) abandon(b trace.Abandoned) {
	c := r.call(b.ToolCallID, callRunning)
	if c == nil {
		r.report(invFraming, "the call %q is abandoned, but the last response does not have it", b.ToolCallID)
		return
	}
	c.abandoned = true
}

// firstRunning returns the first call that runs and is not abandoned, or nil.
func (r *run) firstRunning() *call {
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

// left returns copies of the pending calls that do not keep the events in memory.
func (r *run) left(pending []string) []call {
	var out []call
	for _, id := range pending {
		if c := r.call(id, callPlanned); c != nil && c.state == callPlanned {
			out = append(out, call{id: strings.Clone(id), name: strings.Clone(c.name), args: strings.Clone(c.args), resolved: strings.Clone(c.resolved)})
		}
	}
	return out
}

func clip(s string) string {
	const maxLength = 80
	if len(s) > maxLength {
		return quoted(s[:maxLength]) + " …"
	}
	return quoted(s)
}
