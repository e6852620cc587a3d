package check

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
)

// run is what is known about a run that has not ended. Its methods are in files by subject:
// exchange (model calls), batch (tools), decide (decisions), end.
type run struct {
	sink
	checker  *Checker
	trust    trust
	gap      int  // the place of the missing event, if trust is doubtful
	top      int  // the highest number of its events
	hole     int  // number of an event before which deltas or other events are missing; 0 if none
	begun    bool // an event has come
	over     bool // run.end has come
	released bool // the checker has no more events for it
	virtual  bool // its times are virtual
	declared declared
	tools    tools

	answer   exchange
	others   map[trace.Purpose]*exchange
	purposes []trace.Purpose // of others, in the order of their first events
	awaited  awaited
	used     llm.Usage // of all model calls
	requests int       // including retries

	step   step
	batch  batch
	finish llm.FinishReason // of the last response

	canceled  bool
	busy      time.Duration // end of the last model call or tool
	resumed   bool
	suspended []string
	control   control
	streaks   streaks
	tripped   bool // the last step reached the count of the runaway guard
}

// reset makes an empty run of one that has ended. It keeps memory.
func (r *run) reset() {
	x, b, s := &r.answer, &r.batch, &r.streaks
	x.deltas.reset()
	x.list.Table.Clear()
	clear(s.tools)
	*r = run{
		answer:  exchange{deltas: x.deltas, list: list{Table: x.list.Table, placed: x.list.placed[:0], open: x.list.open[:0], late: x.list.late[:0]}},
		batch:   batch{calls: b.calls[:0]},
		streaks: streaks{tools: s.tools, touched: s.touched[:0]},
	}
}

type step struct {
	open    bool
	n       int // the Step of its events
	begun   int // steps so far
	decided bool
	stops   int   // stop conditions that have held in this step
	ran     bool  // the loop decided to run its calls
	tokens  int64 // used up to that decision
}

// declared is what a run declares. An undeclared limit has a value that no run exceeds.
type declared struct {
	any         bool // the run declares something
	steps       int
	concurrency int // 0 if it is not declared
	guard       int
	absence     bool // a step without the tool resets the count of the guard
	duplicates  bool // a guard against duplicate steps may stop the run too
	stops       stops
	budget      int64
	retries     int
	unflagged   bool // failures have no error flag
	approval    bool // a tool may wait for an approval
}

func newDeclared(o trace.Options) declared {
	word := func(name string) string {
		v, _ := o.Lookup(name)
		return v
	}
	number := func(name string, otherwise int) int { // if the option is absent or a word
		if v := word(name); v != "" {
			if n, err := strconv.Atoi(v); err == nil {
				return n
			}
		}
		return otherwise
	}
	d := declared{
		any:         len(o) > 0,
		steps:       math.MaxInt,
		concurrency: max(0, number("concurrency", 0)),
		guard:       number("same_tool_error_stop", 0),
		absence:     cmp.Or(word("same_tool_error_reset"), word("reset")) == "absence",
		duplicates:  !off(word("duplicate_round")) && word("duplicate_round") != "skip",
		stops:       newStops(o),
		budget:      math.MaxInt64,
		retries:     number("retry_max", math.MaxInt),
		unflagged:   word("error_flag") != "" && off(word("error_flag")),
		approval:    !off(word("approval")),
	}
	if _, ok := o.Lookup("max_steps"); ok {
		d.steps = max(1, number("max_steps", math.MaxInt))
	}
	if word("concurrency") == "unbounded" {
		d.concurrency = math.MaxInt
	}
	if n := number("token_budget", 0); n > 0 {
		d.budget = int64(n)
	}
	return d
}

func off(v string) bool {
	return slices.Contains([]string{"", "off", "none", "no", "false", "0"}, v)
}

type tools struct {
	client   map[string]bool // by name; true for client-side tools
	recorded bool            // the run records what becomes of its calls
}

func (t *tools) declare(i trace.ToolInfo) {
	if t.client == nil {
		t.client = map[string]bool{}
	}
	t.client[strings.Clone(i.Name)] = i.Client
}

// numbered checks the number of the next event. A run whose events all have the number 0 is
// not numbered.
func (r *run) numbered(seq int) {
	last := r.event
	r.event, r.top = seq, max(r.top, seq)
	if seq <= last && (seq != 0 || last != 0) {
		// Another violation is more specific than the order of events (INV-14).
		r.reportLater(invFraming, outOfOrder, seq, last)
	}
}

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
		r.respond(ev, &b)
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
		r.config(ev, b)
	case trace.ModelError:
		r.fail(ev, &b)
	case trace.ModelRetry:
		r.retry(ev, b)
	case trace.HistoryRewrite:
		r.exchange(ev.Purpose).rewritten = true
	case trace.Canceled:
		r.canceled, r.busy = true, ev.At
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
	r.declared = newDeclared(b.Options)
	if r.checker.opts.Canonical {
		r.declared.concurrency = 0
	}
	for _, t := range b.Tools {
		r.tools.declare(t)
	}
	r.tools.recorded = len(b.Tools) > 0
}

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

func (r *run) stepStart(ev *trace.Event) {
	r.mustHaveDecided()
	c, condition := &r.control, ""
	if r.step.ran && !r.resumed && c.stop == "" && c.forced == forceNone {
		// Tokens count up to the response of the step: other model calls may follow the evaluation.
		// The conditions of a resumed run are unknown.
		condition = r.holds(r.step.tokens)
	}
	switch {
	case r.canceled:
		r.report(invCancellation, "step %d begins after the run was canceled", ev.Step)
	case r.step.begun >= r.declared.steps && c.forced != forceDecided:
		r.report(invStopConditions, "step %d begins although max_steps is %d", ev.Step, r.declared.steps)
	case r.guardStops():
		r.report(invRunaway, "step %d begins although a tool has failed in %d consecutive steps", ev.Step, r.declared.guard)
	case c.stop != "":
		r.report(invContinuation, "step %d begins after the run decided to stop (%s)", ev.Step, c.stop)
	case condition != "":
		r.report(invStopConditions, "step %d begins although the stop condition %s holds", ev.Step, condition)
	}
	switch {
	case r.step.open:
		r.report(invFraming, "step %d begins before step %d has ended", ev.Step, r.step.n)
	case ev.Step <= r.step.n:
		r.report(invFraming, "step %d begins after step %d", ev.Step, r.step.n)
	}
	r.control.stop, r.tripped, r.answer.responded = "", false, false
	r.step = step{open: true, n: ev.Step, begun: r.step.begun + 1}
}

func (r *run) stepEnd(ev *trace.Event) {
	r.mustHaveDecided()
	running := r.firstRunning()
	switch {
	case !r.step.open:
		r.report(invFraming, "step %d ends but has not begun", ev.Step)
		return
	case ev.Step != r.step.n:
		r.report(invFraming, "step %d ends during step %d", ev.Step, r.step.n)
	case r.answer.requested:
		r.report(invFraming, "step %d ends before its model call", ev.Step)
		r.answer.requested = false // reported once
	case running != nil:
		r.report(invFraming, "step %d ends before the call %q", r.step.n, running.id)
	}
	r.closeStep()
}

// within reports an event of a step that is outside of its step.
func (r *run) within(ev *trace.Event) {
	switch {
	case !r.step.open:
		r.report(invFraming, "a %s is outside of a step", ev.Body.Kind())
		r.step.open, r.step.n = true, ev.Step // reported once
	case ev.Step != r.step.n:
		r.report(invFraming, "a %s of step %d is in step %d", ev.Body.Kind(), ev.Step, r.step.n)
		r.step.n = ev.Step
	}
}
