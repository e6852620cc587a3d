package react

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/middleware"
)

// Config is what createAgent takes. Its zero value is an agent without tools, memory
// and log, of DefaultMaxIterations rounds.
type Config struct {
	// Config has, by names of the loop, what the document calls tools, systemPrompt
	// (System), middleware (Policies) and maxIterations (MaxSteps; a negative number is
	// a forced answer at once), and the loop's other options.
	loop.Config
	// Memory keeps threads; nil keeps none.
	Memory Memory
	// DisabledTools are the names of tools that are not offered, whoever brings them.
	DisabledTools []string
	// Log is told each message that the agent adds, those that it was given first; nil
	// is none.
	Log middleware.MessageLog
	// ContextWindow is how many tokens the model takes; 0 is what its method
	// ContextWindow() int says, if it has one.
	ContextWindow int
}

// Agent is an agent of the document. It never changes, and may be used by many
// goroutines at once; runs share nothing but the threads.
type Agent struct {
	agent      *loop.Agent
	stack      []string
	memory     Memory
	log        middleware.MessageLog
	window     int
	summarizer *middleware.Summarizer // nil if there is none
	writer     llm.Model              // of summaries; nil is the agent's own
}

// New makes an agent as createAgent does. The tools are those of cfg, then those that
// its policies bring, in order, less DisabledTools; two of one name are an error, here
// or, where a policy brings one, of each run. cfg may be nil.
func New(model llm.Model, cfg *Config) (*Agent, error) {
	if cfg == nil {
		cfg = &Config{}
	}
	c := Fill(cfg.Config)
	disabled := func(name string) bool { return slices.Contains(cfg.DisabledTools, name) }
	c.Tools = slices.DeleteFunc(slices.Clone(c.Tools), func(t loop.Tool) bool { return disabled(t.Name) })
	c.Middleware = slices.Clone(c.Middleware)
	a := &Agent{memory: cfg.Memory, log: cfg.Log, window: window(model, cfg.ContextWindow)}
	for i, p := range c.Middleware {
		a.stack = append(a.stack, p.Name)
		c.Middleware[i] = without(p, disabled)
	}
	if cfg.Log != nil {
		a.stack = append(a.stack, logName)
	}
	agent, err := loop.New(model, &c)
	if err != nil {
		return nil, fmt.Errorf("react: %w", err)
	}
	a.agent = agent
	return a, nil
}

// without is a policy that brings no tool that is disabled.
func without(p loop.Middleware, disabled func(name string) bool) loop.Middleware {
	made := p.New
	if made == nil {
		return p // which loop.New refuses
	}
	p.New = func(info loop.RunInfo) loop.Hooks {
		h := made(info)
		h.Tools = slices.DeleteFunc(slices.Clone(h.Tools), func(t loop.Tool) bool { return disabled(t.Name) })
		return h
	}
	return p
}

func window(model llm.Model, own int) int {
	if m, ok := model.(interface{ ContextWindow() int }); ok && own == 0 {
		return m.ContextWindow()
	}
	return own
}

// ContextWindow is how many tokens the model takes, if that is known.
func (a *Agent) ContextWindow() (tokens int, ok bool) { return a.window, a.window > 0 }

// Stack lists the names of the agent's policies, the outermost first.
func (a *Agent) Stack() []string { return slices.Clone(a.stack) }

// Run answers the input and reports whether that succeeded; it returns no error, which
// is the Err of the last event. onEvent is called with one event after another, on the
// goroutine of the caller; with nil, events are not even made.
//
// thread names a conversation that the agent remembers: the input goes behind what
// was said in it, and what comes of a run that succeeds is kept. Empty, or without a
// Memory, it is none. Of runs that go on in one thread at the same time, the one that
// ends last is kept.
func (a *Agent) Run(ctx context.Context, input []llm.Message, thread string, onEvent func(Event)) bool {
	if onEvent == nil {
		r, err := a.begin(ctx, input, thread)
		if err == nil {
			_, err = r.agent.Run(ctx, r.in)
		}
		return err == nil && r.save(ctx) == nil
	}
	last := Event{}
	for last = range a.Events(ctx, input, thread) {
		onEvent(last)
	}
	return last.Type == "completed"
}

// errNothing says that a run has nothing to answer.
var errNothing = errors.New("react: the input has no messages; give at least one")

// Events is Run as a sequence. Leaving it early cancels the run, and nothing is kept.
func (a *Agent) Events(ctx context.Context, input []llm.Message, thread string) iter.Seq[Event] {
	return func(yield func(Event) bool) {
		r, err := a.begin(ctx, input, thread)
		if err != nil {
			yield(Event{Type: "failed", Err: err})
			return
		}
		for e := range Parts(r.agent.Start(ctx, r.in).Events()) {
			if e.Type == "completed" {
				if err := r.save(ctx); err != nil {
					e = Event{Type: "failed", Err: err}
				}
			}
			if !yield(e) {
				return
			}
		}
	}
}

// threadRun is a run in a thread, or in none.
type threadRun struct {
	agent *loop.Agent
	in    loop.Input
	save  func(ctx context.Context) error // keeps what came of it
}

// logName is the name of the policy that logs, which each run has for itself.
const logName = "message_log"

// begin makes the run that answers the input: behind what was said before, and with what
// comes of it logged and kept.
func (a *Agent) begin(ctx context.Context, input []llm.Message, thread string) (r *threadRun, err error) {
	if len(input) == 0 {
		return nil, errNothing
	}
	r = &threadRun{agent: a.agent, in: loop.Continue(nil, input...), save: func(context.Context) error { return nil }}
	var before []llm.Message
	keep := a.memory != nil && thread != ""
	if keep {
		if before, err = load(ctx, a.memory, thread); err != nil {
			return nil, err
		}
		r.in.Messages = slices.Concat(before, r.in.Messages)
	}
	var own []loop.Middleware
	if a.log != nil {
		own = append(own, middleware.LogMessagesFrom(len(before), a.log))
	}
	if keep {
		var whole []llm.Message
		r.save = func(ctx context.Context) error { return save(ctx, a.memory, thread, whole) }
		own = append(own, keepThread(r.in.Messages, &whole))
	}
	if own != nil {
		r.agent, err = a.agent.With(func(c *loop.Config) { c.Middleware = append(slices.Clip(c.Middleware), own...) })
	}
	return r, err
}

func load(ctx context.Context, memory Memory, thread string) (messages []llm.Message, err error) {
	defer remembering("loading", thread, &err)
	return memory.Load(ctx, thread)
}

func save(ctx context.Context, memory Memory, thread string, messages []llm.Message) (err error) {
	defer remembering("saving", thread, &err)
	return memory.Save(ctx, thread, messages)
}

// remembering is deferred around a Memory: it says what went wrong, a panic as well.
func remembering(doing, thread string, err *error) {
	if v := recover(); v != nil {
		*err = fmt.Errorf("the memory panicked: %v", v)
	}
	if *err != nil {
		*err = fmt.Errorf("react: %s the thread %q: %w", doing, thread, *err)
	}
}

// keepThread puts the conversation of a run, with what its summaries stand in the place
// of left out, where it can be found when the run has ended.
func keepThread(in []llm.Message, whole *[]llm.Message) loop.Middleware {
	return loop.Middleware{Name: "thread", New: func(loop.RunInfo) loop.Hooks {
		var last *loop.StepInfo
		return loop.Hooks{
			BeforeStep: func(_ context.Context, s *loop.StepInfo) (loop.StepChange, error) {
				last = s
				return loop.StepChange{}, nil
			},
			End: func(_ context.Context, res *loop.Result) error {
				*whole = slices.Concat(in, res.Messages)
				if last != nil {
					*whole = last.History()
				}
				return nil
			},
		}
	}}
}

// Compact sums a thread up now, whatever its length, and keeps what comes of it. It
// returns nil where there is nothing to do: no memory, no such thread, an agent without
// summaries, or nothing that could be summed up.
func (a *Agent) Compact(ctx context.Context, thread string) (*middleware.Compaction, error) {
	if a.memory == nil || thread == "" || a.summarizer == nil {
		return nil, nil
	}
	messages, err := load(ctx, a.memory, thread)
	if err != nil {
		return nil, err
	}
	done, err := a.summarizer.Compact(ctx, messages, a.askForSummary)
	if err != nil {
		return nil, fmt.Errorf("react: summing up the thread %q: %w", thread, err)
	}
	if done == nil {
		return nil, nil
	}
	if err := save(ctx, a.memory, thread, done.Messages); err != nil {
		return nil, err
	}
	return done, nil
}

// askForSummary is a run of its own, of one model call.
func (a *Agent) askForSummary(ctx context.Context, req *llm.Request) (*llm.Response, error) {
	writer, err := a.agent.With(func(c *loop.Config) {
		c.System, c.Tools, c.ToolChoice, c.OnStep = req.System, nil, llm.ToolChoice{}, nil
		if req.Model != "" {
			c.Model = req.Model
		}
		c.Middleware = []loop.Middleware{{Name: "summarize", New: func(loop.RunInfo) loop.Hooks {
			return loop.Hooks{BeforeStep: func(_ context.Context, s *loop.StepInfo) (loop.StepChange, error) {
				return loop.StepChange{Model: a.writer}, nil
			}}
		}}}
	})
	if err != nil {
		return nil, err
	}
	res, err := writer.Run(ctx, loop.Input{Messages: req.Messages})
	if err != nil {
		return nil, err
	}
	return &llm.Response{Parts: []llm.Part{llm.Text{Text: res.Text}}}, nil
}
