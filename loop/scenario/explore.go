package scenario

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/explore"
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/check"
)

// Program returns a function that makes programs for package explore. A program runs the script with the choices of
// [fake.World]; after each event the run may be canceled, or its consumer may stop. adjust, if not nil, changes the
// configuration of each program. Each invariant that a trace shows is checked, INV-16, INV-26, which tools were
// entered with which arguments, and whether their results are what they returned.
func Program(s *fake.Script, adjust func(*loop.Config)) (func() explore.Program, error) {
	if _, err := validate(s, fake.Pos{}); err != nil {
		return nil, err
	}
	return func() explore.Program {
		x := &exploration{script: s, adjust: adjust, world: fake.NewWorld(s)}
		x.configure()
		return x
	}, nil
}

// Reduce makes the script of a failure smaller. See [explore.Reduce].
func Reduce(s *fake.Script, adjust func(*loop.Config), f *explore.Failure) (*fake.Script, *explore.Failure) {
	return explore.Reduce(f, s, (*fake.Script).Smaller, func(s *fake.Script) (explore.Program, error) {
		start, err := Program(s, adjust)
		if err != nil {
			return nil, err
		}
		return start(), nil
	})
}

// exploration is the runs of one program, one after another.
type exploration struct {
	script  *fake.Script
	adjust  func(*loop.Config)
	cfg     loop.Config
	world   *fake.World
	agent   *loop.Agent // without middleware, with this clock
	clock   *fake.Clock
	checker *check.Checker // of one run after another

	second    bool          // it makes runs that another exploration compares with its own
	sent      []sentRequest // of the last run
	sentBytes []byte

	events    []trace.Event   // of the last run, and of the run that continued it
	continued bool            // the run has ended with pending calls, and another one continues it
	ctx       context.Context // of the run
	late      bool            // the model was called after its end
	entered   []entry         // tools that were entered, in order
	results   []returned      // of the tools that returned
	around    bool            // the results are those of the middleware around the tools
	maxCalls  int             // more calls of models and tools than a run needs that ends
	processes []int           // the indexes of the first events of further processes
	keeper    *keeper         // nil without a store

	conversation []llm.Message // of the last run with a store
	plain        []llm.Message // the conversation of a run without a fault, once a run needs it
	buf          []byte
}

// configure makes the configuration of the next runs.
func (x *exploration) configure() {
	r, _ := readOptions(x.script, x) // without an error, as Program has checked
	x.cfg = r.cfg
	if len(x.cfg.Tools)+len(x.cfg.Middleware) > 0 {
		wrap := loop.Middleware{Name: "answers", New: func(loop.RunInfo) loop.Hooks { return loop.Hooks{WrapTool: x.awaitOther} }}
		x.cfg.Middleware = slices.Insert(x.cfg.Middleware, 0, wrap)
	}
	for _, t := range x.script.Tools {
		lt := loop.Tool{Name: t.Name, Description: t.Description, Parameters: t.Parameters}
		if !t.Client {
			lt.Run = x.runTool
		}
		x.cfg.Tools = append(x.cfg.Tools, lt)
	}
	x.cfg.Deltas = true
	x.maxCalls = maxCallsOf(x.script)
	if x.adjust != nil {
		x.adjust(&x.cfg)
	}
	x.keepResults()
}

func (x *exploration) runTool(ctx context.Context, c loop.Call) (loop.Output, error) {
	x.entered = append(x.entered, entry{process: len(x.processes), call: c.ID, arguments: c.Arguments, late: x.ctx.Err() != nil})
	x.limit()
	parts, err := x.world.Run(ctx, c.ID, c.Name, c.Arguments)
	return loop.Output{Content: parts}, err
}

// entry is a tool that was entered.
type entry struct {
	process         int
	call, arguments string
	late            bool   // the context of the run had ended
	started         bool   // the trace has its tool.start
	recorded        string // the arguments in the trace
}

// record records the tool.start of a call, or with edited the arguments that replace those of its last one. Calls may have one id.
func (x *exploration) record(process int, call, arguments string, edited bool) {
	var last *entry
	for i := range x.entered {
		e := &x.entered[i]
		if e.call != call || e.process != process {
			continue
		}
		if !edited && !e.started {
			e.started, e.recorded = true, arguments
			return
		}
		if e.started {
			last = e
		}
	}
	if edited && last != nil {
		last.recorded = arguments
	}
}

// checkEntered reports tools that were entered twice, with other arguments than the trace has, or after the end of the
// run's context, as no model call may begin then.
func (x *exploration) checkEntered(report reporter) {
	if x.late {
		report("INV-17", "the model was called after the context of the run had ended")
	}
	for i, e := range x.entered {
		again := slices.ContainsFunc(x.entered[:i], func(o entry) bool { return o.call == e.call && o.process == e.process })
		if again && !e.started {
			report("INV-08", "the tool of the call %q was entered twice", e.call)
		}
		if e.late {
			report("INV-17", "the tool of the call %q was entered after the context of the run had ended", e.call)
		}
		if e.arguments != e.recorded && (e.started || !again) {
			report("INV-09", "the tool of the call %q got the arguments %q, and the trace has %q", e.call, e.arguments, e.recorded)
		}
	}
}

// awaitOther lets tools that the script does not have end when an answer comes, as those of the script do: their order
// is a choice, too.
func (x *exploration) awaitOther(next loop.ToolFunc) loop.ToolFunc {
	return func(ctx context.Context, c loop.Call) (loop.Output, error) {
		out, err := next(ctx, c)
		if !slices.ContainsFunc(x.script.Tools, func(t fake.Tool) bool { return t.Name == c.Name }) {
			_, _, _ = x.world.Await(context.Background(), "tool call", c.ID, []string{""})
		}
		return out, err
	}
}

// maxCallsOf returns more calls of models and tools than a run of a script needs that ends.
func maxCallsOf(s *fake.Script) int {
	const least, each = 200, 10
	n := 0
	for _, m := range s.Models {
		for _, r := range m.Responses {
			n += max(r.Repeat, 1) * (1 + len(r.Calls))
		}
	}
	return least + each*n
}

// endless reports whether the run has made too many calls.
func (x *exploration) endless() bool { return len(x.sent)+len(x.entered) > x.maxCalls }

// limit ends a run that makes too many calls: its context, and then its goroutines.
func (x *exploration) limit() {
	if !x.endless() {
		return
	}
	if len(x.sent)+len(x.entered) > 2*x.maxCalls {
		runtime.Goexit()
	}
	x.world.End(context.Canceled)
}

// Close implements [explore.Program].
func (x *exploration) Close() { x.world.Close() }

// Run implements [explore.Program].
func (x *exploration) Run(c *explore.Choices) explore.Outcome {
	ctx, clock := x.world.Begin(c)
	x.ctx, x.late = ctx, false
	x.keeper, x.continued = x.newKeeper(c), false
	if len(x.cfg.Middleware) > 0 { // middleware may have a state that runs share, such as the variables of agents
		x.configure()
	}
	cfg := x.cfg
	cfg.Clock = clock
	x.addMiddleware(&cfg, c)
	x.keepResultsAround(&cfg)
	x.events, x.processes, x.entered, x.results = x.events[:0], x.processes[:0], x.entered[:0], x.results[:0]
	x.sent, x.sentBytes = x.sent[:0], x.sentBytes[:0]
	var found []check.Violation
	report := func(invariant, format string, args ...any) {
		found = append(found, check.Violation{Invariant: invariant, Run: "explored", Event: check.NoEvent, Message: fmt.Sprintf(format, args...)}.WithHint())
	}
	agent, plain := x.agent, len(cfg.Middleware) == 0
	if agent == nil || x.clock != clock || !plain {
		var err error
		if agent, err = loop.New(x, &cfg); err != nil {
			panic(err) // the configuration is valid
		}
		if plain {
			x.agent, x.clock = agent, clock
		}
	}
	start, ended := clock.Now(), time.Duration(-1) // when the context of the run ended, since its start
	if e, is := ctx.(interface{ AfterFunc(f func()) func() bool }); is && c.MayFault() {
		e.AfterFunc(func() { ended = clock.Now().Sub(start) })
	}
	live := 0
	if v := x.world.Go(func() {
		x.runProcesses(ctx, agent, c, report)
		live = clock.Live()
		if err := clock.Drain(); err != nil {
			report("INV-16", "goroutines do not end: %v", err)
		}
	}); v != nil {
		report("INV-26", "the run does not end: %v", v)
	}
	abandoned, last, process := 0, "", 0
	if x.checker == nil {
		x.checker = check.New(nil)
	}
	x.checker.Reset()
	for i, ev := range x.events {
		if process < len(x.processes) && x.processes[process] == i {
			process++
			found = append(found, x.checker.Done()...)
			x.checker.Reset()
		}
		switch b := ev.Body.(type) {
		case trace.Abandoned:
			abandoned++
			last = b.ToolCallID
		case trace.ToolStart:
			x.record(process, b.ToolCallID, b.Arguments, false)
		case trace.ToolArguments:
			x.record(process, b.ToolCallID, b.Arguments, true)
		case trace.ToolEnd:
			if b.ToolCallID != last { // the result of an abandoned call comes before its tool returns
				x.checkResult(process, &b, report)
			}
		}
		x.checker.Add(ev)
	}
	if live > abandoned {
		report("INV-16", "%d goroutines were running when the run had ended, and %d calls were abandoned", live, abandoned)
	}
	found = append(found, x.checker.Done()...)
	if wait := x.waited(ended); ended >= 0 && wait > 0 {
		report("INV-26", "the run ended %v after its context had ended, although no tool ran until then", wait)
	}
	x.checkEntered(report)
	if x.endless() {
		report("INV-26", "the run does not end; it made %d model calls and %d tool calls", len(x.sent), len(x.entered))
	}
	x.checkSent(report)
	if !x.second && c.Few(1) {
		x.checkPairs(c.Taken(), report)
	}
	return explore.Outcome{Digest: x.digest(), Violations: found, Text: func() string { return x.text(found) }}
}

// waited returns how long after the end of its context the run ended, or 0 if a tool did, too.
func (x *exploration) waited(ended time.Duration) (wait time.Duration) {
	for _, ev := range x.events {
		if ev.Run != x.events[0].Run || ev.At <= ended {
			continue
		}
		switch ev.Body.(type) {
		case trace.ToolEnd:
			return 0
		case trace.RunEnd:
			wait = ev.At - ended
		}
	}
	return wait
}

// runProcesses makes a run, the run that continues it if calls are pending, and the run of another process if the
// first one ends.
func (x *exploration) runProcesses(ctx context.Context, agent *loop.Agent, c *explore.Choices, report reporter) {
	in := loop.Continue(x.script.History, x.script.Input...)
	in.ID = "r1"
	in.Sink = trace.SinkFunc(func(ev trace.Event) error {
		x.events = append(x.events, ev)
		return nil
	})
	k := x.keeper
	if k != nil {
		agent = k.begin(agent)
	}
	run := agent.Start(ctx, in)
	stopped := x.consume(ctx, run, c)
	res, err := run.Wait()
	if err == nil && !stopped && (k == nil || !k.ended) && x.next(&in, res, c.Fault) {
		x.continued, in.ID = true, "r2"
		if k != nil {
			agent = k.begin(agent)
		}
		run = agent.Start(ctx, in)
		x.consume(ctx, run, c)
		if k != nil {
			res, _ = run.Wait()
		}
	}
	if k == nil {
		return
	}
	x.conversation = slices.Concat(in.Messages, res.Messages)
	k.check(x.conversation, len(res.Messages), report)
	if k.ended {
		k.nextProcess(agent, in, report)
	}
}

// reporter reports that a run violates an invariant.
type reporter = func(invariant, format string, args ...any)

// text returns the events for people, with each violation after the event that shows it.
func (x *exploration) text(found []check.Violation) string {
	var b strings.Builder
	i := 0
	for line := range strings.Lines(trace.FormatText(x.events)) { // one for each event
		b.WriteString(line)
		for _, v := range found {
			if v.Event == x.events[i].Seq && v.Run == x.events[i].Run {
				fmt.Fprintf(&b, "^ %s: %s\n", v.Invariant, v.Message)
			}
		}
		i++
	}
	return b.String()
}

// consume reads the events. After each one the context of the run may end, or the consumer may stop.
func (x *exploration) consume(ctx context.Context, run *loop.Run, c *explore.Choices) (stopped bool) {
	for ev, err := range run.Events() {
		if err != nil {
			return false
		}
		choose := c.Fault
		switch {
		case x.world.WillCancel():
			choose = c.Order
		case !c.MayFault() || ctx.Err() != nil:
			continue
		}
		switch choose("after "+string(ev.Body.Kind()), subjectOf(ev), consumerFaults) {
		case 1:
			x.world.End(context.Canceled)
		case 2:
			x.world.Stopped()
			return true
		case 3:
			x.world.End(context.DeadlineExceeded)
		}
	}
	return false
}

var consumerFaults = []string{"", "the run is canceled", "the consumer stops", "the deadline of the run passes"}

// subjectOf names what an event is about, for a choice after it.
func subjectOf(ev trace.Event) string {
	switch b := ev.Body.(type) {
	case trace.ToolStart:
		return b.ToolCallID
	case trace.ToolEnd:
		return b.ToolCallID
	case trace.ToolSkip:
		return b.ToolCallID
	}
	if ev.Step == trace.NoStep {
		return ""
	}
	return "of step " + strconv.Itoa(ev.Step+1)
}

// digest is a hash of the events in their order.
func (x *exploration) digest() uint64 {
	x.buf = x.buf[:0]
	for i := range x.events {
		x.buf = x.events[i].AppendJSON(x.buf)
	}
	sum := sha256.Sum256(x.buf)
	return binary.BigEndian.Uint64(sum[:])
}
