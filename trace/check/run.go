package check

import (
	"cmp"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
)

// run is what is known of a run that has not ended. Its handlers are in the
// files that are named after their subject: exchange (model calls), batch
// (tools), decide (what comes next), end.
type run struct {
	sink
	checker *Checker
	trust   trust
	gap     int  // the place of the lost event, if trust is doubtful
	top     int  // the highest number of its events
	hole    int  // the number of an event before which pieces of an answer, or more, are missing; 0 if none
	begun   bool // anything has come
	over    bool // the run.end has come
	gone    bool // the checker is done with it
	virtual bool // the run keeps virtual times
	promise promise
	tools   tools

	answer   exchange
	others   map[trace.Purpose]*exchange
	purposes []trace.Purpose // of others, in the order in which they came
	awaited  awaited
	used     llm.Usage // of all model calls
	asked    int       // model calls, retries included

	step   step
	batch  batch
	finish llm.FinishReason // of the last turn

	cancelled bool
	busy      time.Duration // when the last model call or tool ended
	resumed   bool
	suspended []string
	control   control
	streaks   streaks
	tripped   bool // the guard's count was reached in the last step
}

// step is the current step, or the last one.
type step struct {
	open    bool
	n       int // the Step of its events
	begun   int // how many have begun
	decided bool
	stops   int   // stop conditions that have held in this step
	ran     bool  // its calls were to be run
	spent   int64 // tokens, when that was decided
}

// promise is what a run declares of itself. What it does not declare has the
// value that is never broken.
type promise struct {
	any         bool // the run declares something
	steps       int
	concurrency int // 0 if it is not declared
	guard       int
	absence     bool // a step without the tool ends the guard's count
	rounds      bool // a guard against repeated rounds may stop the run too
	stops       stops
	budget      int64
	retries     int
	unflagged   bool // failures are told by their text alone
	approval    bool // somebody is asked before a tool runs
}

func newPromise(o trace.Options) promise {
	p := promise{
		any:       len(o) > 0,
		steps:     math.MaxInt,
		guard:     number(o, "same_tool_error_stop", 0),
		absence:   cmp.Or(word(o, "same_tool_error_reset"), word(o, "reset")) == "absence",
		rounds:    !off(word(o, "duplicate_round")) && word(o, "duplicate_round") != "skip",
		stops:     newStops(o),
		budget:    math.MaxInt64,
		retries:   number(o, "retry_max", math.MaxInt),
		unflagged: word(o, "error_flag") != "" && off(word(o, "error_flag")),
		approval:  !off(word(o, "approval")),
	}
	if _, ok := o.Lookup("max_steps"); ok {
		p.steps = max(1, number(o, "max_steps", math.MaxInt))
	}
	if word(o, "concurrency") == "unbounded" {
		p.concurrency = math.MaxInt
	} else {
		p.concurrency = max(0, number(o, "concurrency", 0))
	}
	if n := number(o, "token_budget", 0); n > 0 {
		p.budget = int64(n)
	}
	return p
}

// number returns an option's value, or other where it is absent or a word.
func number(o trace.Options, name string, other int) int {
	if n, err := strconv.Atoi(word(o, name)); err == nil {
		return n
	}
	return other
}

func word(o trace.Options, name string) string {
	v, _ := o.Lookup(name)
	return v
}

func off(v string) bool {
	switch v {
	case "", "off", "none", "no", "false", "0":
		return true
	}
	return false
}

// tools are the names of the tools that a run may execute.
type tools struct {
	client map[string]bool // true for those that the caller runs
	told   bool            // the run tells what becomes of its calls
}

func (t *tools) offer(name string) {
	if _, ok := t.client[name]; !ok {
		t.declare(trace.ToolInfo{Name: name})
	}
}

func (t *tools) declare(i trace.ToolInfo) {
	if t.client == nil {
		t.client = map[string]bool{}
	}
	t.client[strings.Clone(i.Name)] = i.Client
}

// refuse says why a tool must not be run, or nothing.
func (t *tools) refuse(name string) string {
	client, ok := t.client[name]
	switch {
	case client:
		return "is for the caller to run"
	case !ok && t.client != nil:
		return "is not among the tools of the run"
	}
	return ""
}

func newRun(c *Checker, name string) *run {
	r := &run{sink: sink{run: name, event: NoEvent, sound: true, found: &c.found}, checker: c, top: -1}
	r.promise = newPromise(nil)
	r.answer.list = newList()
	r.answer.list.recent = &r.batch
	r.step.n = trace.NoStep
	return r
}

// numbered takes the number of the next event. A run whose events have the number
// 0 all is not numbered.
func (r *run) numbered(seq int) {
	last := r.event
	r.event, r.top = seq, max(r.top, seq)
	if seq <= last && (seq != 0 || last != 0) {
		// INV-14 is about the order of events; what else is out of order is
		// reported as what it is.
		r.hold(invFraming, "the event with the number %d comes after the one with the number %d", seq, last)
	}
}

// add takes the run's next event.
func (r *run) add(ev *trace.Event) {
	first := !r.begun
	r.begun = true
	switch b := ev.Body.(type) {
	case trace.RunStart:
		r.start(b, first)
		return
	case trace.ModelDelta:
		r.delta(ev, &b)
	case trace.ModelResponse:
		r.turn(ev, &b)
	case trace.ModelRequest:
		r.request(ev, b)
	case trace.ToolStart:
		r.toolStart(ev, &b)
	case trace.ToolEnd:
		r.toolEnd(ev, &b)
	case trace.ToolSkip:
		r.toolSkip(ev, &b)
	case trace.ToolArguments:
		r.resolve(ev, b)
	case trace.Abandoned:
		r.abandon(b)
		r.busy = ev.At
	case trace.StepStart:
		r.stepStart(ev)
	case trace.StepEnd:
		r.stepEnd(ev)
	case trace.Decision:
		r.decide(ev, &b)
	case trace.ModelConfig:
		r.setup(ev, b)
	case trace.ModelError:
		r.failure(ev, &b)
	case trace.ModelRetry:
		r.retry(ev, b)
	case trace.HistoryRewrite:
		r.exchange(ev.Purpose).rewritten = true
	case trace.Canceled:
		r.cancelled, r.busy = true, ev.At
	case trace.Suspended:
		r.suspended = b.Pending
	case trace.Resumed:
		r.resume(b)
	case trace.RunEnd:
		r.end(ev, &b)
	case trace.Warning, trace.Custom, trace.Unknown:
	}
	if first {
		r.report(invFraming, "the run begins with %s and not with run.start", kindName(ev.Body))
	}
}

func kindName(b trace.Body) trace.Kind {
	if b == nil {
		return "nothing"
	}
	return b.Kind()
}

func (r *run) start(b trace.RunStart, first bool) {
	if !first {
		r.report(invFraming, "the run starts a second time")
		return
	}
	r.suppress = b.Suppress
	r.virtual = b.Clock == trace.ClockVirtual
	r.promise = newPromise(b.Options)
	if r.checker.opts.Canonical {
		r.promise.concurrency = 0
	}
	for _, t := range b.Tools {
		r.tools.declare(t)
	}
	r.tools.told = len(b.Tools) > 0
}

// exchange returns the model calls of a purpose.
func (r *run) exchange(p trace.Purpose) *exchange {
	if p == trace.PurposeAnswer {
		return &r.answer
	}
	if x, ok := r.others[p]; ok {
		return x
	}
	if r.others == nil {
		r.others = map[trace.Purpose]*exchange{}
	}
	p = trace.Purpose(strings.Clone(string(p)))
	x := &exchange{list: newList()}
	r.others[p] = x
	r.purposes = append(r.purposes, p)
	return x
}

// stepStart begins a step.
func (r *run) stepStart(ev *trace.Event) {
	r.mustHaveDecided()
	held := r.mustStop()
	switch c := &r.control; {
	case r.cancelled:
		r.report(invCancellation, "step %d begins although the run was cancelled", ev.Step)
	case r.step.begun >= r.promise.steps && c.forced != forceOrdered:
		r.report(invStopConditions, "step %d begins although max_steps is %d", ev.Step, r.promise.steps)
	case r.guardBroken():
		r.report(invRunaway, "step %d begins although a tool has failed in %d steps on end", ev.Step, r.promise.guard)
	case c.stop != "":
		r.report(invContinuation, "step %d begins although the run had decided to stop (%s)", ev.Step, c.stop)
	case held != "":
		r.report(invStopConditions, "step %d begins although the stop condition %s holds", ev.Step, held)
	}
	switch {
	case r.step.open:
		r.report(invFraming, "step %d begins before step %d has ended", ev.Step, r.step.n)
	case ev.Step <= r.step.n:
		r.report(invFraming, "step %d begins after step %d", ev.Step, r.step.n)
	}
	r.control.stop, r.tripped, r.answer.told = "", false, false
	r.step = step{open: true, n: ev.Step, begun: r.step.begun + 1}
}

// stepEnd ends a step.
func (r *run) stepEnd(ev *trace.Event) {
	r.mustHaveDecided()
	switch {
	case !r.step.open:
		r.report(invFraming, "step %d ends but has not begun", ev.Step)
		return
	case ev.Step != r.step.n:
		r.report(invFraming, "step %d ends while step %d is under way", ev.Step, r.step.n)
	case r.answer.asked:
		r.report(invFraming, "step %d ends before its model call has", ev.Step)
		r.answer.asked = false // said once
	default:
		r.noneRuns()
	}
	r.closeStep()
}

func (r *run) closeStep() {
	r.step.open = false
	r.count()
}

// within reports what belongs to a step and stands outside of it.
func (r *run) within(ev *trace.Event) {
	switch {
	case !r.step.open:
		r.report(invFraming, "a %s stands outside of a step", ev.Body.Kind())
		r.step.open, r.step.n = true, ev.Step // said once
	case ev.Step != r.step.n:
		r.report(invFraming, "a %s of step %d stands in step %d", ev.Body.Kind(), ev.Step, r.step.n)
		r.step.n = ev.Step
	}
}
