package scenario

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/internal/jsonval"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/preset"
	"github.com/looptape/looptape/trace"
)

// Result is the result of a scenario.
type Result struct {
	// Events are the events of the run with deltas, in order.
	Events []trace.Event
	Run    *loop.Result
	// Err is the error of the run, which a scenario may expect.
	Err error
	// Unused lists the responses that no request selected. See [fake.Model.Unused].
	Unused []string
	// Live is the number of tasks that had not ended when the run returned. It includes
	// abandoned tools.
	Live     int
	Requests []fake.Recorded
	Tools    []fake.ToolEvent
	// MutatedRequests describes requests that the loop changed after it sent them.
	MutatedRequests []string
}

// Trace returns the canonical trace in the text form.
func (o *Result) Trace() string { return trace.FormatText(trace.Canonical(o.Events)) }

// Parts returns the stream of the run's preset, one JSON value per line. It is empty for a
// run without a preset.
func (o *Result) Parts() string {
	if len(o.Events) == 0 {
		return ""
	}
	start, _ := o.Events[0].Body.(trace.RunStart)
	name, _ := start.Options.Lookup("preset")
	p, err := preset.Lookup(name)
	if err != nil {
		return ""
	}
	var b strings.Builder
	all := func(yield func(trace.Event, error) bool) {
		for _, ev := range o.Events {
			if !yield(ev, nil) {
				return
			}
		}
	}
	for part := range p.Parts(all) {
		line, err := jsonval.Line(part)
		if err != nil {
			line = []byte(err.Error() + "\n")
		}
		b.Write(line)
	}
	return b.String()
}

// Options change how a scenario runs. They must not change its result.
type Options struct {
	// Adjust changes the configuration of the loop before the run.
	Adjust func(*loop.Config)
	// Seed, if not 0, is [fake.Clock.Seed].
	Seed uint64
	// Chunk, if not 0, is the [fake.Response.ChunkSize] of all responses.
	Chunk int
	// Model, if not nil, returns the model that the loop calls in place of the scripted
	// one, such as a client of a server that plays the script.
	Model func(script *fake.Model) llm.Model
}

// Run runs a script; opts may be nil. It returns an error if the script is invalid, if it
// does not expect a request or a call, or if the run has a deadlock. An error of the run is
// in [Result.Err].
func Run(ctx context.Context, s *fake.Script, opts *Options) (*Result, error) {
	opts = cmp.Or(opts, &Options{})
	cfg, err := validate(s, fake.Pos{})
	if err != nil {
		return nil, err
	}
	clock := fake.NewClock()
	clock.Seed = opts.Seed
	clock.OpenInOrder(s.Gates...)
	x := &execution{script: s, clock: clock, model: s.NewModel(clock), tools: &fake.Tools{Clock: clock, List: s.Tools}}
	if opts.Chunk != 0 {
		chunked := *s
		chunked.Models = slices.Clone(s.Models)
		for i, m := range s.Models {
			chunked.Models[i].Responses = inChunks(m.Responses, opts.Chunk)
		}
		x.model = chunked.NewModel(clock)
	}
	cfg.Clock, cfg.Deltas = clock, true
	cfg.Tools = x.loopTools()
	if opts.Adjust != nil {
		opts.Adjust(&cfg)
	}
	var model llm.Model = x.model
	if opts.Model != nil {
		model = opts.Model(x.model)
	}
	agent, err := loop.New(model, &cfg)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.File, err)
	}
	return x.run(ctx, agent)
}

// inChunks returns the responses with another chunk size.
func inChunks(list []fake.Response, size int) []fake.Response {
	list = slices.Clone(list)
	for i := range list {
		r := &list[i]
		if len(r.Events) == 0 {
			r.ChunkSize = size
		}
		r.Attempts = inChunks(r.Attempts, size)
	}
	return list
}

type execution struct {
	script *fake.Script
	clock  *fake.Clock
	model  *fake.Model
	tools  *fake.Tools
	cancel context.CancelFunc

	mu       sync.Mutex // tools that a canceled run left may end at the same time
	errs     []error    // script errors of tools
	deadlock *fake.DeadlockError
	waiting  []string // the calls that the deadlock ended
}

func (x *execution) loopTools() []loop.Tool {
	var list []loop.Tool
	for _, t := range x.script.Tools {
		lt := loop.Tool{Name: t.Name, Description: t.Description, Parameters: t.Parameters}
		if !t.Client {
			lt.Run = x.runTool
		}
		list = append(list, lt)
	}
	return list
}

func (x *execution) runTool(ctx context.Context, c loop.Call) (loop.Output, error) {
	if k := x.script.Cancel; k != nil && k.InTool == c.Name {
		x.cancel()
	}
	parts, err := x.tools.Run(ctx, c.ID, c.Name, c.Arguments)
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.report(err) {
		x.waiting = append(x.waiting, fmt.Sprintf("%s of the tool %s", c.ID, c.Name))
	}
	return loop.Output{Content: parts}, err
}

func (x *execution) run(ctx context.Context, agent *loop.Agent) (*Result, error) {
	ctx, x.cancel = context.WithCancel(ctx)
	defer x.cancel()
	cancelAfter := 0 // events
	switch k := x.script.Cancel; {
	case k == nil:
	case k.Before:
		x.cancel()
	case k.At > 0:
		x.clock.AfterFunc(k.At, x.cancel)
	default:
		cancelAfter = k.AfterEvents
	}
	o := &Result{}
	in := loop.Continue(x.script.History, x.script.Input...)
	in.Sink = trace.SinkFunc(func(ev trace.Event) error { // gets events also after the consumer has stopped
		o.Events = append(o.Events, ev)
		return nil
	})
	run := agent.Start(ctx, in)
	if v := onGoroutine(func() { x.consume(run, cancelAfter) }); v != nil {
		deadlock, ok := v.(*fake.DeadlockError)
		if !ok {
			panic(v)
		}
		return nil, fmt.Errorf("%s: %w", x.script.File, deadlock)
	}
	o.Run, o.Err = run.Wait()
	o.Live = x.clock.Live()
	o.Requests, o.Tools, o.MutatedRequests = x.model.RecordedRequests(), x.tools.Log(), x.model.MutatedRequests()
	o.Unused = x.model.Unused()
	_ = x.clock.Drain() // abandoned tools end here; a deadlock ends them with an error
	return o, x.scriptError(o)
}

// onGoroutine calls f on another goroutine, which a tool may end, and returns its panic.
func onGoroutine(f func()) (panicked any) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { panicked = recover() }()
		f()
	}()
	<-done
	return panicked
}

func (x *execution) consume(run *loop.Run, cancelAfter int) {
	n := 0
	for _, err := range run.Events() {
		if err != nil {
			break // the last item; Wait returns it as well
		}
		n++
		if n == cancelAfter {
			x.cancel()
		}
		if n == x.script.StopAfter {
			break
		}
	}
}

// report keeps the script error in err, and reports whether it is a deadlock.
func (x *execution) report(err error) (isDeadlock bool) {
	if e, ok := errors.AsType[*fake.ScriptError](err); ok {
		x.errs = append(x.errs, e)
		return false
	}
	e, isDeadlock := errors.AsType[*fake.DeadlockError](err)
	x.deadlock = cmp.Or(e, x.deadlock)
	return isDeadlock
}

func (x *execution) scriptError(o *Result) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.report(o.Err)
	errs := x.errs
	switch {
	case x.waiting != nil:
		errs = append(errs, fmt.Errorf("%w (calls that wait: %s)", x.deadlock, strings.Join(x.waiting, ", ")))
	case x.deadlock != nil:
		errs = append(errs, x.deadlock)
	}
	if len(errs) == 0 {
		return nil
	}
	return fmt.Errorf("%s: %w", x.script.File, errors.Join(errs...))
}
