package fake

import (
	"context"
	"errors"
	"iter"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/looptape/looptape/llm"
)

// Chooser makes the choices of a run that is explored. Each method returns an index of options. Option 0 is
// what the script says: the order of the script, and no fault. at and name describe the point of the run.
// Package explore implements it.
type Chooser interface {
	// Order chooses which of the answers that the loop waits for comes next.
	Order(at, name string, options []string) int
	// Switch chooses which goroutine runs, or which answer comes before the loop waits for it.
	Switch(at, name string, options []string) int
	// Fault chooses a fault, a cancel, a deadline or the passing of time.
	Fault(at, name string, options []string) int
}

// World is a script that is run again and again, each time with the choices of a [Chooser]. The
// models and tools behave as the script says, apart from the choices:
//
//   - A delay, a gate and an interval between events take no time. Each call of a model or a tool has one answer,
//     which the loop waits for. The order in which answers come is a choice; the first option is the call that
//     began first.
//   - A response can have each fault of a list that is made for it: errors of each class before and after each event,
//     and the quirks of providers. A tool can fail, panic, end its goroutine, or hang.
//   - While all goroutines wait, the run may be canceled, its deadline may pass, and time may pass up to the next timer, also
//     if they wait only for time.
//   - Expectations of the script are not checked. A request beyond the script gets a text.
//
// A World has one run at a time.
type World struct {
	script *Script
	faults map[variantsKey]*variants
	model  *Model
	tools  *Tools
	beyond Response
	pool   *pool

	ctx      *runContext // of the run
	answers  *answers    // in place of a clock
	harmless int         // 2 if tools neither panic nor end their goroutine
}

// NewWorld returns the world of a script. The script must not change while it is used.
func NewWorld(s *Script) *World {
	w := &World{script: s, faults: map[variantsKey]*variants{}, beyond: Response{Text: "(the script has no response left)"}, pool: &pool{}}
	w.model = s.NewModel(nil)
	for name, list := range w.model.Sessions {
		list = slices.Clone(expand(list))
		for i := range list {
			list[i].Repeat = 0
		}
		w.model.Sessions[name] = list
	}
	return w
}

// Begin begins a run with a new context and a clock at its start. The context ends if the chooser chooses that, or by
// End. The clock is that of the run before if nothing of that run is left.
func (w *World) Begin(c Chooser) (context.Context, *Clock) {
	w.ctx = newRunContext()
	clock := w.model.Clock
	if clock == nil || !clock.restart() {
		clock = &Clock{}
	}
	clock.chooser, clock.end, clock.pool = c, w.ctx.end, w.pool
	w.answers, w.harmless = nil, 0
	w.model = &Model{Sessions: w.model.Sessions, Default: w.model.Default, Clock: clock}
	w.tools = &Tools{Clock: clock, List: w.script.Tools}
	return w.ctx, clock
}

// restart sets a clock back to its start, apart from its memory, and reports whether it could: no task is left.
func (c *Clock) restart() bool {
	c.mu.Lock() // the last task may not have released it
	defer c.mu.Unlock()
	if c.live > 0 || c.deadlock != nil || c.main == nil {
		return false
	}
	*c.main = task{wake: c.main.wake, name: c.main.name}
	c.clockState = clockState{
		main: c.main, current: c.main, ready: c.ready[:0], waiting: c.waiting[:0], timers: c.timers[:0], pending: c.pending, names: c.names,
	}
	return true
}

// End ends the context of the run with context.Canceled or context.DeadlineExceeded. No choice ends it again.
func (w *World) End(err error) {
	w.ctx.end(err)
	w.Stopped()
}

// Renew returns a new context for the run, in place of one that has ended.
func (w *World) Renew() context.Context {
	w.ctx = newRunContext()
	c := w.model.Clock
	c.mu.Lock()
	defer c.mu.Unlock()
	c.end = w.ctx.end
	return w.ctx
}

// Unused returns the responses that no request of the run has selected.
func (w *World) Unused() []Recorded { return w.model.UnusedResponses() }

// Stream implements [llm.Model] for the run.
func (w *World) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		if err := w.play(ctx, req, yield); err != nil && !errors.Is(err, errStopped) {
			yield(nil, err)
		}
	}
}

func (w *World) play(ctx context.Context, req *llm.Request, yield func(llm.Event, error) bool) error {
	v, place := w.respond(ctx, req)
	i, late, err := w.Await(ctx, "model call", place, v.names)
	if err != nil {
		return err
	}
	for n, ev := range v.events(i) {
		if n > 0 && !late && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if !yield(ev, nil) {
			return errStopped
		}
	}
	if v.list[i].Stall {
		return w.Hang(ctx)
	}
	return v.list[i].err()
}

// Await waits for an answer, and returns the fault that it has. The answer may be one that the world does not make, such
// as that of a server in place of [World.Stream]. The order in which answers come is a choice. late is true if the answer
// comes although ctx has ended; err is the cause of ctx if it does not.
func (w *World) Await(ctx context.Context, at, name string, faults []string) (fault int, late bool, err error) {
	if w.answers != nil {
		return w.answers.await(ctx, at, name, faults)
	}
	clock := w.model.Clock
	fault = clock.chooser.Fault(at, name, faults)
	late, err = clock.answer(ctx, name, at == "tool call")
	return fault, late, err
}

// Hang waits until ctx ends, and returns its cause.
func (w *World) Hang(ctx context.Context) error {
	if w.answers != nil {
		w.answers.hanging.Add(1)
		defer w.answers.hanging.Add(-1)
		<-ctx.Done()
		return context.Cause(ctx)
	}
	return w.model.Clock.Until(ctx)
}

type variantsKey struct {
	response *Response
	mode     llm.ResponseMode
}

// respond returns the variants of the response to a request, and the name of the request.
func (w *World) respond(ctx context.Context, req *llm.Request) (v *variants, place string) {
	m := w.model
	m.mu.Lock()
	defer m.mu.Unlock()
	name, ok := ctx.Value(sessionKey{}).(string)
	if !ok && req.Model != "" {
		name = req.Model
	}
	if _, known := m.Sessions[name]; !known {
		name = m.Default
	}
	l := m.session(name)
	at := l.find(req.Messages, m.IsolateConversations)
	r := &w.beyond
	if at.index < len(l.responses) {
		r = &l.responses[at.index]
		if n := len(r.Attempts); n > 0 {
			r = &r.Attempts[min(at.attempts, n)-1]
		}
	}
	key := variantsKey{r, req.ResponseMode}
	v = w.faults[key]
	if v == nil {
		v = newVariants(r, req.ResponseMode, earlierID(l.responses[:min(at.index, len(l.responses))]))
		w.faults[key] = v
	}
	return v, v.place(name, at.index+1, at.attempts)
}

// earlierID returns the id of the first call of responses, or "".
func earlierID(list []Response) string {
	for i := range list {
		for _, c := range list[i].Calls {
			if c.ID != "" {
				return c.ID
			}
		}
	}
	return ""
}

// Run is the function of each scripted tool: see [Tools.Run].
func (w *World) Run(ctx context.Context, callID, name, args string) (content []llm.Part, err error) {
	i, late, err := w.Await(ctx, "tool call", callID, toolFaults[:len(toolFaults)-w.harmless])
	ts := w.tools
	ts.mu.Lock()
	b, failure := ts.nextBehavior(name, args) // of the answer that comes next, since the order in which calls start is not a choice
	ts.mu.Unlock()
	if failure != nil { // the script has no call left
		b = Behavior{Text: "(the script has no call left)"}
	}
	if err != nil && !late && !b.IgnoresCancel {
		return nil, err
	}
	switch toolFaults[i] {
	case "fails":
		b = Behavior{Error: "the tool failed"}
	case "hangs until its context ends":
		b = Behavior{Stall: true}
	case "returns after an hour, whatever its context does":
		if err := w.sleep(time.Hour); err != nil {
			return nil, err
		}
	case "panics":
		b = Behavior{Panic: "the tool panicked"}
	case "ends its goroutine":
		b = Behavior{Exit: true}
	}
	if b.Stall {
		return nil, w.Hang(ctx)
	}
	return b.end()
}

func (w *World) sleep(d time.Duration) error {
	if w.answers != nil {
		time.Sleep(d) //nolint:forbidigo // virtual: it is a bubble's
		return nil
	}
	return w.model.Clock.Sleep(context.Background(), d)
}

var toolFaults = []string{"", "fails", "hangs until its context ends", "returns after an hour, whatever its context does", "panics", "ends its goroutine"}

// end ends a call in the way of the behavior.
func (b *Behavior) end() ([]llm.Part, error) {
	switch {
	case b.Panic != "":
		panic(b.Panic)
	case b.Exit:
		runtime.Goexit()
	case b.Error != "":
		return nil, errors.New(b.Error)
	}
	text := b.Text
	if b.Returns != nil {
		text = string(b.Returns)
	}
	return []llm.Part{llm.Text{Text: text}}, nil
}

// answer waits until an answer with this name comes. late is true if its context has ended and it comes
// all the same. isTool is true for that of a tool, which may take time to end with its context.
func (c *Clock) answer(ctx context.Context, name string, isTool bool) (late bool, err error) {
	c.mu.Lock()
	t := c.currentTask()
	err = c.wait(waitState{ctx: ctx, on: waitsForAnswer, answer: name, isTool: isTool})
	return t.late, err
}

// waitsForAnswer is what tasks wait on that wait for an answer.
var waitsForAnswer = &drainer{1}

// nextAnswer lets an answer come or a timer fire that is due, unless the chooser cancels the run or lets time pass
// before. It reports whether anything happened.
func (c *Clock) nextAnswer() bool {
	c.pending, c.names = c.pending[:0], c.names[:0]
	due := 0
	for due < len(c.timers) && c.timers[due].at <= c.elapsed {
		due++
		c.names = append(c.names, "timer "+strconv.Itoa(due))
	}
	c.addAnswers()
	n := len(c.pending)
	switch {
	case n+due == 0:
		return c.passTime()
	case n > 0 && c.interrupt(due > 0):
		return true
	}
	i := 0
	if n+due > 1 {
		i = c.chooser.Order("next answer", strconv.Itoa(n+due), c.names)
	}
	if i < due {
		c.fire(c.timers[i])
	} else {
		c.deliver(c.pending[i-due])
	}
	return true
}

// addAnswers adds the answers that tasks wait for to the options of a choice.
func (c *Clock) addAnswers() {
	for _, t := range c.waiting {
		if t.waiting.on == waitsForAnswer {
			c.pending, c.names = append(c.pending, t), append(c.names, t.waiting.answer)
		}
	}
}

// passTime lets time pass while no answer can come, unless the chooser ends the context of the run before. A run in which a
// model or a tool hangs is canceled if nothing else can end it.
func (c *Clock) passTime() bool {
	passes := len(c.timers) > 0 && c.timers[0].at < forever
	switch {
	case c.end != nil && (c.held != nil || !passes && c.hangs()):
		c.endRun(context.Canceled)
	case passes && c.passed < maxPassed:
		if c.end != nil && c.choose(c.chooser.Fault("before time passes", "", ends), ends) {
			return true
		}
		c.passed++
		c.elapsed = c.timers[0].at
	case passes: // timers without an end, such as those of a goroutine that polls
		c.failDeadlock()
	default:
		return false
	}
	return true
}

// maxPassed is more often than time passes in a run that ends.
const maxPassed = 10_000

// hangs reports whether a task waits until its context ends.
func (c *Clock) hangs() bool {
	return slices.ContainsFunc(c.waiting, func(t *task) bool { return t.waiting.on == contextEnds })
}

// contextEnds is what tasks wait on that wait until their context ends.
var contextEnds = &drainer{2}

// interrupt ends the context of the run or lets time pass before an answer comes, if that is chosen.
func (c *Clock) interrupt(due bool) bool {
	choose, options := c.chooser.Fault, pauses
	passes := !due && len(c.timers) > 0 && c.timers[0].at < forever
	switch {
	case c.held != nil: // the run will be canceled
		choose, options = c.chooser.Order, ends
	case c.end != nil && !passes:
		options = ends
	case c.end == nil && passes && slices.ContainsFunc(c.pending, func(t *task) bool { return t.waiting.isTool }):
		options = passings
	case c.end == nil:
		return false
	}
	return c.choose(choose("before the answer", c.pending[0].waiting.answer, options), options)
}

// choose ends the context of the run or lets time pass, if option i does. It reports whether it did.
func (c *Clock) choose(i int, options []string) bool {
	switch options[i] {
	case ends[1]:
		c.endRun(context.Canceled)
	case ends[2]:
		c.endRun(context.DeadlineExceeded)
	case passings[1]:
		c.elapsed = c.timers[0].at
	default:
		return false
	}
	return true
}

// forever is the time of timers that only the end of a context stops.
const forever = 100 * 365 * 24 * time.Hour

var (
	ends     = []string{"", "the run is canceled", "the deadline of the run passes"}
	passings = []string{"", "time passes up to the next timer"}
	pauses   = []string{"", ends[1], ends[2], passings[1]}
)

// deliver gives a task its answer.
func (c *Clock) deliver(t *task) {
	var err error
	t.late = false
	if ctx := t.waiting.ctx; ctx != nil && ctx.Err() != nil {
		t.late = c.chooser.Order("after the cancel, the answer", t.waiting.answer, lates) == 1
		if !t.late {
			err = context.Cause(ctx)
		}
	}
	c.wake(t, err)
}

var lates = []string{"", "comes all the same"}

// endRun ends the context of the run without the lock.
func (c *Clock) endRun(err error) {
	end := c.end
	c.end = nil
	c.mu.Unlock()
	end(err)
	c.mu.Lock()
	c.release()
}

// hold keeps a goroutine that has not run from starting before the run is canceled, if that is chosen. Only a run
// that is canceled can show that a call has not started while another has its answer.
func (c *Clock) hold(t *task) bool {
	if t.begun || t == c.main {
		return false
	}
	choose := c.chooser.Fault
	switch {
	case c.end == nil: // the order of goroutines that start after the cancel is a choice
		t.begun = true
		c.held = append(c.held, t)
		c.release()
		return true
	case c.held != nil:
		choose = c.chooser.Order
	}
	t.begun = true
	if choose(t.name, "", holds) == 0 {
		return false
	}
	c.held = append(c.held, t)
	return true
}

var holds = []string{"", "starts only after the run is canceled"}

// Stopped reports that the consumer of the run has stopped, which cancels it.
func (w *World) Stopped() {
	c := w.model.Clock
	c.mu.Lock()
	defer c.mu.Unlock()
	c.end = nil
	c.release()
}

// release lets the goroutines start that were kept from it, each as an answer comes.
func (c *Clock) release() {
	for _, t := range c.held {
		t.waiting = waitState{description: "its start", on: waitsForAnswer, answer: t.name}
	}
	c.waiting = append(c.waiting, c.held...)
	c.held = nil
}

// WillCancel reports whether an earlier choice implies that the run is canceled, so that a cancel is not a fault
// of its own.
func (w *World) WillCancel() bool { return w.model.Clock.held != nil }

// nextTask returns the index of the ready task that runs next. An answer that comes before the loop waits for
// it makes its task ready.
func (c *Clock) nextTask() int {
	c.pending, c.names = c.pending[:0], c.names[:0]
	for _, t := range c.ready {
		c.names = append(c.names, t.name)
	}
	c.addAnswers()
	if len(c.names) < 2 {
		return 0
	}
	n := len(c.ready)
	i := c.chooser.Switch("next goroutine or answer", strconv.Itoa(len(c.names)), c.names)
	if i < n {
		return i
	}
	c.deliver(c.pending[i-n])
	return n
}
