package looptest

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop/explore"
	"github.com/looptape/looptape/trace/check"
)

// exploredRun is one run.
type exploredRun struct {
	*exploration
	world  *fake.World
	wire   *wire.World // nil for a loop that calls an llm.Model
	http   *exploredServer
	c      *explore.Choices
	memory *memory
	ctx    context.Context
	cancel func()

	passDeadline func()

	endless atomic.Bool // it made too many calls, and is canceled
	checked atomic.Bool
	free    context.Context // ends when the run has been checked
	extra   atomic.Int64    // calls of models and tools after that

	mu          sync.Mutex
	found       []check.Violation
	at          []int    // the length of text when each was found
	text        []string // what happened, in order
	requests    []sent
	responses   []*llm.Response // of the requests; nil if one failed
	discarded   []int           // the requests that the loop canceled, by their index
	entered     []*toolRun
	inFlight    int
	decisions   int                 // calls of Input.Approve and Input.Choose
	approvals   map[entry]approvals // of equal calls, by [keyOf]
	chosen      bool                // an approval failed, or an option that is not the first was chosen
	modelFault  string              // of a model call
	modelFaults int                 // how many
	toolFault   bool
	faulty      map[string]bool // the tool calls with a fault, by their names
	hangs       bool            // a tool call hangs: other calls may time out with it
	mayTimeOut  bool            // an hour has passed
	canceled    bool
	unused      bool // the loop did not call the model, without a cause
	usage       llm.Usage
	result      *Result
	err         error
	done        bool
	steps       []sent // messages that the loop exposed
}

// toolRun is a run of a tool.
type toolRun struct {
	entry
	text     string // of its result
	returned bool
	failed   bool // it failed or panicked, and its context had not ended
}

// memory is used by one run after another, when it has ended.
type memory struct{ digested []byte }

// sent is a request and its JSON at that time.
type sent struct {
	messages []llm.Message
	json     []byte
	settings []byte // the JSON of the rest of the request
}

// report reports a violation, unless the run has been checked.
func (r *exploredRun) report(id, format string, args ...any) {
	if !r.checked.Load() {
		r.add(id, format, args...)
	}
}

func (r *exploredRun) add(id, format string, args ...any) {
	r.addViolation(check.Violation{Invariant: id, Event: check.NoEvent, Message: fmt.Sprintf(format, args...)}.WithHint())
}

func (r *exploredRun) addViolation(v check.Violation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.ContainsFunc(r.found, func(w check.Violation) bool { return w.Invariant == v.Invariant }) {
		v.Run = "explored"
		r.found, r.at = append(r.found, v), append(r.at, len(r.text))
	}
}

// checkRun checks an ended run against what the world did.
func (r *exploredRun) checkRun() {
	requests := len(r.requests)
	if r.http != nil {
		r.http.check()
		requests = r.http.server.Report().Requests
	} else {
		r.check()
	}
	r.unused = requests == 0 && !r.mayStop()
}

// mayStop reports whether a loop may end before it calls the model.
func (r *exploredRun) mayStop() bool { return r.canceled || r.chosen || r.modelFault != "" }

func (r *exploredRun) log(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.checked.Load() {
		r.text = append(r.text, fmt.Sprintf(format, args...))
	}
}

// run runs the loop in this bubble, and lets its answers come.
func (r *exploredRun) run(t *testing.T) {
	var end func(error)
	r.ctx, end = fake.NewContext()
	r.cancel = func() { end(context.Canceled) }
	r.passDeadline = func() { end(context.DeadlineExceeded) }
	defer r.cancel()
	var release func()
	r.free, release = context.WithCancel(t.Context())
	defer release()
	changed := r.world.BeginAnswers(r.panics)
	r.faulty, r.hangs = map[string]bool{}, r.stalls
	r.approvals = map[entry]approvals{}
	var model llm.Model = llm.ModelFunc(r.stream)
	if r.wire != nil {
		r.http = newExploredServer(r)
		model = r.http
	}
	input := clone(slices.Concat(r.script.History, r.script.Input))
	input = append(make([]llm.Message, 0, len(input)+8), input...)
	before := jsonOf(input)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer func() {
			if v := recover(); v != nil {
				r.report("INV-23", "the loop panicked: %v", v)
			}
		}()
		out, err := r.loop.Run(r.ctx, &Input{Model: model, Tools: r.tools(), Messages: input, Step: r.step, Approve: r.approve, Choose: r.choose})
		if !r.checked.Load() {
			r.result, r.err, r.done = out, err, true
		}
	}()
	r.drive(ended, changed)
	if !r.done && r.accepted.all(r.found) {
		r.report("INV-23", "the loop ended its goroutine without returning")
	}
	r.log("the run ends")
	if n := r.running(); n > 0 {
		r.report("INV-16", "the run returned while %d of its tools were running", n)
	}
	r.cancel()
	r.deliverAll(changed)
	if is := jsonOf(input); string(is) != string(before) {
		r.report("INV-06", "the input messages were changed")
	}
	if slices.ContainsFunc(input[len(input):cap(input)], func(m llm.Message) bool { return m.Role != "" || m.Parts != nil }) {
		r.report("INV-06", "the loop appended to the array of the caller")
	}
	if r.done {
		r.checkRun()
	} else {
		r.checkUnchanged()
	}
	r.checked.Store(true)
	release()
	r.http.release()
	r.deliverAll(changed)
	if r.running() > 0 {
		time.Sleep(2 * time.Hour) //nolint:forbidigo // virtual: it is a bubble's
		r.deliverAll(changed)
	}
}

// running returns the number of tools that are running.
func (r *exploredRun) running() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.inFlight
}

// over reports whether the run has been checked, so that goroutines that still run must end. It ends a goroutine
// that calls models or tools repeatedly.
func (r *exploredRun) over() bool {
	if !r.checked.Load() {
		return false
	}
	if r.extra.Add(1) > maxModelCalls {
		runtime.Goexit()
	}
	return true
}

// untilOver returns a context that also ends when the run has been checked.
func (r *exploredRun) untilOver(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(r.free, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

// drive lets answers come in a chosen order until the loop has ended.
func (r *exploredRun) drive(ended, changed <-chan struct{}) {
	gaveUp := false
	for {
		synctest.Wait()
		select {
		case <-ended:
			return
		default:
		}
		pending := r.http.pending(r.world)
		if len(pending) > 0 {
			r.next(pending)
			drain(changed)
			continue
		}
		if !gaveUp && r.interrupt("while the loop waits", "", ends) {
			continue
		}
		select {
		case <-ended:
			return
		case <-changed:
		case <-time.After(runTimeout): //nolint:forbidigo // virtual: it is a bubble's
			if gaveUp || r.ctx.Err() != nil {
				r.report("INV-26", "the run does not end; nothing is left to wait for")
				return
			}
			gaveUp = true
			if r.world.Hanging() == 0 {
				r.report("INV-26", "the run does not end, and no model or tool hangs; it is canceled")
			}
			r.log("the run is canceled, since it does not end")
			r.canceled = true
			r.cancel()
		}
	}
}

func drain(ch <-chan struct{}) {
	select {
	case <-ch:
	default:
	}
}

// interrupt cancels the run, ends its context as a deadline does, or lets an hour pass, if that is chosen.
func (r *exploredRun) interrupt(at, name string, options []string) bool {
	if r.ctx.Err() != nil {
		return false
	}
	chosen := r.c.Fault(at, name, options)
	switch options[chosen] {
	case "":
		return false
	case "the run is canceled":
		r.canceled = true
		r.cancel()
	case "an hour passes":
		r.modelFault, r.mayTimeOut = options[chosen], true // a model call may have a timeout
		time.Sleep(time.Hour)                              //nolint:forbidigo // virtual: it is a bubble's
	case "the deadline of the run passes":
		r.canceled = true
		r.passDeadline()
	}
	r.log("%s", options[chosen])
	return true
}

var (
	interruptions = []string{"", "the run is canceled", "an hour passes", "the deadline of the run passes"}
	ends          = []string{"", "the run is canceled", "the deadline of the run passes"}
)

// next lets an answer come, or cancels the run.
func (r *exploredRun) next(pending []*fake.Pending) {
	r.http.arrived()
	if r.interrupt("before the answer", pending[0].Name, interruptions) {
		return
	}
	i := 0
	if len(pending) > 1 {
		i = r.c.Order("next answer", strconv.Itoa(len(pending)), names(pending))
	}
	p := pending[i]
	if r.ctx.Err() != nil && !p.Ended && (p.At == "tool call" || p.At == "model call") {
		r.report("INV-17", "the %s %s does not end with the run: its context has not ended", p.At, p.Name)
	}
	late := p.Ended && r.c.Order("after the cancel, the answer", p.Name, []string{"", "comes all the same"}) == 1
	fault := 0
	if !p.Ended || late {
		fault = r.c.Fault(p.At, p.Name, p.Faults)
	}
	switch {
	case fault == 0 || p.At == "approval" || p.At == "choice":
	case p.At == "tool call":
		r.toolFault, r.faulty[p.Name] = true, true
		r.hangs = r.hangs || strings.Contains(p.Faults[fault], "hang") || strings.Contains(p.Faults[fault], "hour")
	default:
		r.modelFault = p.Faults[fault]
		r.modelFaults++
	}
	r.log("%s", strings.TrimSuffix(p.At+" "+p.Name+": "+p.Faults[fault], ": "))
	r.world.Deliver(p, fault, late)
}

func names(pending []*fake.Pending) []string {
	list := make([]string, 0, len(pending))
	for _, p := range pending {
		list = append(list, p.Name)
	}
	return list
}

// deliverAll ends what still waits when the run has ended.
func (r *exploredRun) deliverAll(changed <-chan struct{}) {
	for synctest.Wait(); len(r.world.Pending()) > 0; synctest.Wait() {
		r.world.Deliver(r.world.Pending()[0], 0, false)
	}
	drain(changed)
}

func (r *exploredRun) stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		n := r.begin(req)
		if r.over() {
			yield(nil, errReleased)
			return
		}
		ctx, stop := r.untilOver(ctx)
		defer stop()
		var acc llm.Accumulator
		events := 0
		for ev, err := range r.world.Stream(ctx, req) {
			if err != nil {
				r.mu.Lock()
				r.usage = r.usage.Add(acc.Response().Usage)
				if ctx.Err() != nil && r.ctx.Err() == nil && !r.mayTimeOut && !r.stalls {
					r.discarded = append(r.discarded, n)
				}
				if r.modelFault == "" && (ctx.Err() == nil || r.stalls && r.ctx.Err() == nil) {
					r.modelFault = "has an error in the script" // or never answers there
				}
				r.mu.Unlock()
				yield(nil, err)
				return
			}
			acc.Add(ev)
			_, isEnd := ev.(llm.Finish)
			if !yield(ev, nil) {
				if isEnd {
					break
				}
				return
			}
			if events++; !isEnd && r.c.MayFault() {
				r.interrupt("after event", fmt.Sprintf("%d of request %d", events, n+1), ends)
			}
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.responses[n] = acc.Response()
		r.usage = r.usage.Add(acc.Response().Usage)
	}
}

// begin records a request and returns its number. It returns only after the run if there are too many.
func (r *exploredRun) begin(req *llm.Request) int {
	if r.checked.Load() {
		return 0
	}
	if r.wasCanceled() {
		r.report("INV-17", "the loop calls the model after the run was canceled")
	}
	settings := *req
	settings.Messages = nil
	r.mu.Lock()
	n := len(r.requests)
	r.requests = append(r.requests, sent{req.Messages, jsonOf(req.Messages), settings.AppendJSON(nil)})
	r.responses = append(r.responses, nil)
	r.text = append(r.text, fmt.Sprintf("request %d: %d messages", n+1, len(req.Messages)))
	r.mu.Unlock()
	r.limit(n, maxModelCalls, "model calls")
	return n
}

// wasCanceled reports whether the loop must start nothing any more.
func (r *exploredRun) wasCanceled() bool { return r.ctx.Err() != nil && !r.endless.Load() }

// limit returns only after the run if it has made too many calls before this one.
func (r *exploredRun) limit(n, highest int, what string) {
	if n >= highest {
		r.report("INV-26", "the run does not end; it made %d %s", highest, what)
		r.endless.Store(true)
		r.cancel()
		<-r.free.Done()
	}
}

func (r *exploredRun) tools() (list []Tool) {
	for _, st := range r.script.Tools {
		parameters := st.Parameters
		if parameters == nil {
			parameters = object
		}
		list = append(list, Tool{Name: st.Name, Description: st.Description, Parameters: parameters, Run: func(ctx context.Context, args string) (string, error) {
			return r.runTool(ctx, st.Name, args)
		}})
	}
	return list
}

func (r *exploredRun) runTool(ctx context.Context, name, args string) (string, error) {
	if r.over() {
		return "", errReleased
	}
	ctx, stop := r.untilOver(ctx)
	defer stop()
	e := &toolRun{entry: entry{name, args}}
	if r.wasCanceled() {
		r.report("INV-17", "the tool %s starts after the run was canceled", name)
	}
	r.mu.Lock()
	n := len(r.entered)
	r.entered = append(r.entered, e)
	r.mu.Unlock()
	r.limit(n, r.maxToolCalls, "tool calls")
	r.mu.Lock()
	r.inFlight++
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		r.inFlight--
		e.failed = !e.returned && ctx.Err() == nil
		r.mu.Unlock()
	}()
	parts, err := r.world.Run(ctx, e.label(), name, args)
	if err != nil {
		return "", err
	}
	text := llm.Assistant(parts...).Text()
	if text == "" {
		text = name + " got " + args
	}
	r.mu.Lock()
	e.text, e.returned = text, true
	r.mu.Unlock()
	return text, nil
}

// step records messages that the loop exposes.
func (r *exploredRun) step(messages []llm.Message) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.steps = append(r.steps, sent{messages: messages, json: jsonOf(messages)})
}

// describe returns what happened, with each violation after what showed it.
func (r *exploredRun) describe() string {
	var b strings.Builder
	for i := range len(r.text) + 1 {
		for j, at := range r.at {
			if at == i {
				b.WriteString("^ " + r.found[j].Invariant + ": " + r.found[j].Message + "\n")
			}
		}
		if i < len(r.text) {
			b.WriteString(r.text[i] + "\n")
		}
	}
	return b.String()
}

// abandon fails the test for a run that is over the limit of real time, and ends the exploration. The run continues.
func (r *exploredRun) abandon(why, stacks string) {
	r.hung.Store(true)
	r.mu.Lock()
	text := strings.Join(r.text, "\n")
	r.mu.Unlock()
	r.t.Fatalf("INV-26: %s:\n%s\n\nthe run up to this:\n%s", why, stacks, text)
}

// digest is a hash of what the run sent and returned, and of what its checks use.
func (r *exploredRun) digest() uint64 {
	b := r.memory.digested[:0]
	for _, s := range r.text {
		b = append(append(b, s...), '\n')
	}
	for _, list := range [][]sent{r.requests, r.steps} {
		for _, s := range list {
			b = append(append(append(b, s.json...), s.settings...), "--\n"...)
		}
	}
	if r.http != nil {
		for _, body := range r.http.server.Bodies() {
			b = append(append(b, body...), "--\n"...)
		}
	}
	if r.result != nil {
		b = appendJSON(b, r.result.Messages)
		b = fmt.Appendln(b, r.result.Usage, slices.Sorted(slices.Values(r.result.Pending)))
	}
	var ids []string
	for _, v := range r.found {
		ids = append(ids, v.Invariant)
	}
	slices.Sort(ids) // goroutines report concurrently
	b = fmt.Appendln(b, r.err, ids)
	r.memory.digested = b
	sum := sha256.Sum256(b)
	return binary.BigEndian.Uint64(sum[:])
}
