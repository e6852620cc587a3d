package scenario

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/preset"
	"github.com/looptape/looptape/trace"
)

// Outcome is what came of a scenario.
type Result struct {
	// Events are the run's events in the order in which they happened, deltas
	// included.
	Events []trace.Event
	Run    *loop.Result
	// Err is the run's own error, which a scenario may well expect.
	Err error
	// Unused names the turns that no request asked for.
	Unused []string
	// Live is how many of the run's tasks had not ended when it returned. Those
	// that it abandoned are among them.
	Live int
	// Requests are what the model got, and Tools the entries into the tools and
	// the exits from them.
	Requests []fake.Recorded
	Tools    []fake.ToolEvent
	// Changed tells which requests were changed after they were handed out.
	Changed []string
}

// Trace is the canonical trace in its text form.
func (o *Result) Trace() string { return trace.FormatText(trace.Canonical(o.Events)) }

// Parts are the parts of the run's preset, one JSON a line; of a run without a
// preset there are none.
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
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for part := range p.Parts(o.all()) {
		if err := enc.Encode(part); err != nil {
			b.WriteString(err.Error() + "\n")
		}
	}
	return b.String()
}

func (o *Result) all() func(yield func(trace.Event, error) bool) {
	return func(yield func(trace.Event, error) bool) {
		for _, ev := range o.Events {
			if !yield(ev, nil) {
				return
			}
		}
	}
}

// Options change how a scenario is run, but not what must come out.
type Options struct {
	// Adjust changes the loop's configuration before the run.
	Adjust func(*loop.Config)
	// Seed, if not 0, makes the scheduler choose among the tasks that are ready.
	Seed uint64
	// Chunk, if not 0, cuts the model's texts and arguments into so many bytes.
	Chunk int
	// Model, if not nil, returns the model that the loop asks in place of the
	// script's, which it gets: a client of a server that plays it, for one.
	Model func(script *fake.Model) llm.Model
}

// Run runs a script; opts may be nil. The error says that the scenario itself
// does not hold: an option that does not exist, a request or a call that the
// script does not expect, a run that can never end.
func Run(ctx context.Context, s *fake.Script, opts *Options) (*Result, error) {
	if opts == nil {
		opts = &Options{}
	}
	if err := valid(s, fake.Pos{}); err != nil {
		return nil, err
	}
	cfg, err := Config(s)
	if err != nil {
		return nil, err
	}
	clock := fake.NewClock()
	clock.Seed = opts.Seed
	clock.OpenInOrder(s.Gates...)
	x := &execution{script: s, clock: clock, model: s.NewModel(clock), tools: fake.NewTools(clock, s.Tools...)}
	if opts.Chunk != 0 {
		x.model = rechunked(s, opts.Chunk).NewModel(clock)
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

// rechunked returns the script with other chunks.
func rechunked(s *fake.Script, n int) *fake.Script {
	out := *s
	out.Models = nil
	var cut func(t fake.Response) fake.Response
	cut = func(t fake.Response) fake.Response {
		if len(t.Events) == 0 {
			t.ChunkSize = n
		}
		t.Attempts = slices.Clone(t.Attempts)
		for i, a := range t.Attempts {
			t.Attempts[i] = cut(a)
		}
		return t
	}
	for _, l := range s.Models {
		l.Responses = slices.Clone(l.Responses)
		for i, t := range l.Responses {
			l.Responses[i] = cut(t)
		}
		out.Models = append(out.Models, l)
	}
	return &out
}

// execution is a scenario while it runs.
type execution struct {
	script *fake.Script
	clock  *fake.Clock
	model  *fake.Model
	tools  *fake.Tools
	cancel context.CancelFunc
	errs   []error // what the tools' scripts did not foresee
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
	if e := unforeseen(err); e != nil {
		x.errs = append(x.errs, e) // tools run one at a time on a virtual clock
	}
	return loop.Output{Content: parts}, err
}

func (x *execution) run(ctx context.Context, agent *loop.Agent) (o *Result, err error) {
	defer func() {
		if v := recover(); v != nil {
			stuck, ok := v.(*fake.DeadlockError)
			if !ok {
				panic(v)
			}
			o, err = nil, fmt.Errorf("%s: %w", x.script.File, stuck)
		}
	}()
	ctx, x.cancel = context.WithCancel(ctx)
	defer x.cancel()
	cancelAfter := x.armCancel()
	o = &Result{}
	in := loop.Continue(x.script.History, x.script.Input...)
	in.Sink = trace.SinkFunc(func(ev trace.Event) error { // sees what comes after the consumer has left
		o.Events = append(o.Events, ev)
		return nil
	})
	run := agent.Start(ctx, in)
	n := 0
	for _, err := range run.Events() {
		if err != nil {
			break // the last item; Wait returns it as well
		}
		n++
		if n == cancelAfter {
			x.cancel()
		}
		if c := x.script.Consumer; c != nil && n == c.StopAfter {
			break
		}
	}
	o.Run, o.Err = run.Wait()
	o.Live = x.clock.Live()
	o.Requests, o.Tools, o.Changed = x.model.RecordedRequests(), x.tools.Log(), x.model.MutatedRequests()
	o.Unused = x.model.Unused()
	_ = x.clock.Drain() // tools that were abandoned end here, or are stuck and end with that error
	return o, x.scriptError(o)
}

func (x *execution) armCancel() (afterEvents int) {
	switch k := x.script.Cancel; {
	case k == nil:
	case k.Before:
		x.cancel()
	case k.At > 0:
		x.clock.AfterFunc(k.At, x.cancel)
	default:
		return k.AfterEvents
	}
	return 0
}

// unforeseen returns what an error says of the script, if that does not fit.
func unforeseen(err error) error {
	if e, ok := errors.AsType[*fake.ScriptError](err); ok {
		return e
	}
	if e, ok := errors.AsType[*fake.DeadlockError](err); ok {
		return e
	}
	return nil
}

// scriptError returns what the script did not expect, if anything.
func (x *execution) scriptError(o *Result) error {
	errs := x.errs
	if e := unforeseen(o.Err); e != nil {
		errs = append(errs, e)
	}
	if len(errs) == 0 {
		return nil
	}
	return fmt.Errorf("%s: %w", x.script.File, errors.Join(errs...))
}
