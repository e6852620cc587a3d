package reactagent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync/atomic"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/middleware"
)

// Config is the argument of createAgent. The zero value configures an agent without
// tools, memory and log, with at most 24 steps.
type Config struct {
	// Config contains the options of the loop under their own names. The reference loop
	// calls them tools, systemPrompt (System), middleware (Middleware) and maxIterations
	// (MaxSteps). A negative MaxSteps requests the final answer immediately.
	loop.Config
	// Memory stores threads; nil stores none.
	Memory *Memory
	// DisabledTools are the names of tools that are never sent, whichever middleware adds
	// them.
	DisabledTools []string
	// Log records each message that the agent adds, after the messages of its input; nil
	// records nothing.
	Log func(llm.Message) error
	// ContextWindow is the number of tokens that the model accepts. 0 means the result of
	// the model's method ContextWindow() int, if it has one.
	ContextWindow int
}

// Agent is an agent of the reference loop. It is immutable except for its context window, and
// safe for use by many goroutines. Its runs share only the threads.
type Agent struct {
	agent      *loop.Agent
	stack      []string
	memory     *Memory
	log        func(llm.Message) error
	window     *contextWindow
	summarizer func() middleware.Summarizer // nil without summaries
	writer     llm.Model                    // model that writes summaries; nil means the agent's model
}

// contextWindow is the context window of an agent, which its summaries use.
type contextWindow struct {
	known int          // that of the configuration or the model; 0 means unknown
	set   atomic.Int64 // that of SetContextWindow; 0 means none
}

// New returns an agent as createAgent does. Its tools are those of cfg, then those of its
// middleware in order, without DisabledTools. Two tools with one name are an error. New
// returns it, or each run fails with it if middleware adds the tool. cfg may be nil.
//
// If the model has a method NewSession(context.Context) ([llm.Model], error), each run, also that
// of a sub-agent, begins with a session of its own, which makes the model calls of its steps.
// Summaries use the model itself.
func New(model llm.Model, cfg *Config) (*Agent, error) {
	cfg = cmp.Or(cfg, &Config{})
	c := Fill(cfg.Config)
	disabled := func(name string) bool { return slices.Contains(cfg.DisabledTools, name) }
	c.Tools = slices.DeleteFunc(slices.Clone(c.Tools), func(t loop.Tool) bool { return disabled(t.Name) })
	c.Middleware = slices.Clone(c.Middleware)
	a := &Agent{memory: cfg.Memory, log: cfg.Log, window: &contextWindow{known: window(model, cfg.ContextWindow)}}
	for i, p := range c.Middleware {
		a.stack = append(a.stack, p.Name)
		c.Middleware[i] = without(p, disabled)
	}
	if cfg.Log != nil {
		a.stack = append(a.stack, logName)
	}
	if m, ok := model.(sessionModel); ok {
		c.Middleware = slices.Insert(c.Middleware, 0, sessions(m)) // first, so that others may choose another model
	}
	agent, err := loop.New(model, &c)
	if err != nil {
		return nil, fmt.Errorf("reactagent: %w", err)
	}
	a.agent = agent
	return a, nil
}

// without returns middleware that adds no disabled tool.
func without(p loop.Middleware, disabled func(name string) bool) loop.Middleware {
	made := p.New
	if made == nil {
		return p // loop.New rejects it
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

// ContextWindow returns the number of tokens that the model accepts, if it is known.
func (a *Agent) ContextWindow() (tokens int, ok bool) {
	tokens = cmp.Or(int(a.window.set.Load()), a.window.known)
	return tokens, tokens > 0
}

// SetContextWindow sets the number of tokens that the model accepts. Summaries of the next runs
// and of [Agent.Compact] use it, whatever the window of the configuration is; 0 lets them use
// that one again. A run fails if it is not above the Reserve of the configuration.
func (a *Agent) SetContextWindow(tokens int) { a.window.set.Store(int64(max(tokens, 0))) }

// Stack returns the names of the agent's middleware, the outermost first.
func (a *Agent) Stack() []string { return slices.Clone(a.stack) }

// Run answers the input and reports whether it succeeded. It returns no error; the last event
// contains it as Err. Run calls onEvent for each event, one at a time, on the goroutine of the
// caller, where no tool runs; nil creates no events.
//
// thread names a stored conversation. The input follows the messages of the thread, and the
// messages of a successful run are stored. Without a name or a Memory, no thread is used. If
// several runs use one thread concurrently, [Memory] stores the messages of each, or the later ones fail.
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

// Events runs the agent as [Agent.Run] does and returns the events as a sequence. If the
// caller stops the iteration, the run is canceled and nothing is stored.
func (a *Agent) Events(ctx context.Context, input []llm.Message, thread string) iter.Seq[Event] {
	return func(yield func(Event) bool) {
		r, err := a.begin(ctx, input, thread)
		if err != nil {
			yield(Event{Type: "failed", Err: err})
			return
		}
		next, stop := iter.Pull(Parts(r.agent.Start(ctx, r.in).Events())) // runs the tools on another goroutine
		defer stop()
		for e, ok := next(); ok; e, ok = next() {
			if e.Type == "completed" {
				if err := r.save(ctx); err != nil {
					e.Type, e.Err = "failed", err
				}
			}
			if !yield(e) {
				return
			}
		}
	}
}

// threadRun is a run with or without a thread.
type threadRun struct {
	agent *loop.Agent
	in    loop.Input
	save  func(ctx context.Context) error // stores the messages of the run
}

// logName is the name of the logging middleware. Each run has its own.
const logName = "message_log"

// begin creates a run whose input follows the thread. It logs and stores the new messages.
func (a *Agent) begin(ctx context.Context, input []llm.Message, thread string) (r *threadRun, err error) {
	if len(input) == 0 {
		return nil, errors.New("reactagent: the input has no messages: add one")
	}
	r = &threadRun{agent: a.agent, in: loop.Continue(nil, input...), save: func(context.Context) error { return nil }}
	var before []llm.Message
	var save saveFunc
	keep := a.memory != nil && thread != ""
	if keep {
		if before, save, err = a.memory.open(ctx, thread); err != nil {
			return nil, err
		}
		r.in.Messages = slices.Concat(before, r.in.Messages)
	}
	var own []loop.Middleware
	if a.log != nil {
		own = append(own, middleware.LogMessagesFrom(len(before), a.log))
	}
	if keep {
		var k threadKeeper
		r.save = func(ctx context.Context) error {
			return save(ctx, k.conversation, slices.Concat(r.in.Messages[len(before):], k.added))
		}
		own = append(own, k.middleware(r.in.Messages))
	}
	if own != nil {
		r.agent, err = a.agent.With(func(c *loop.Config) { c.Middleware = append(slices.Clip(c.Middleware), own...) })
	}
	return r, err
}

// threadKeeper has the messages at the end of a run.
type threadKeeper struct {
	conversation []llm.Message // the input and the messages of the run, with summaries in place of messages
	added        []llm.Message // those that the run added
}

// middleware returns the middleware that sets the messages.
func (k *threadKeeper) middleware(in []llm.Message) loop.Middleware {
	return loop.Middleware{Name: "thread", New: func(loop.RunInfo) loop.Hooks {
		var last *loop.StepInfo
		return loop.Hooks{
			BeforeStep: func(_ context.Context, s *loop.StepInfo) (c loop.StepChange, err error) {
				last = s
				return c, nil
			},
			End: func(_ context.Context, res loop.Result) (loop.Result, error) {
				k.conversation, k.added = slices.Concat(in, res.Messages), res.Messages
				if last != nil {
					k.conversation = last.History()
				}
				return res, nil
			},
		}
	}}
}

// Compact summarizes a thread now, whatever its length, and stores the result. It returns
// nil if there is no memory, no such thread, no summary configuration or nothing to
// summarize, and if the memory or the summary fails or a run has stored the thread in the
// meantime; Compact then changes nothing. It does not panic. The trace of the summary (Config.Sink) has the error of its model call.
func (a *Agent) Compact(ctx context.Context, thread string) (done *middleware.Compaction) {
	if a.memory == nil || thread == "" || a.summarizer == nil {
		return nil
	}
	defer func() { // an Archive function may panic
		if recover() != nil {
			done = nil
		}
	}()
	messages, save, err := a.memory.open(ctx, thread)
	if err == nil {
		done, err = a.summarizer().Compact(ctx, messages, a.callWriter)
	}
	if err == nil && done != nil {
		err = save(ctx, done.Messages, nil)
	}
	if err != nil {
		return nil
	}
	return done
}

// callWriter makes one model call in a separate run.
func (a *Agent) callWriter(ctx context.Context, req *llm.Request) (*llm.Response, error) {
	writer, err := a.agent.With(func(c *loop.Config) {
		c.System, c.Tools, c.ToolChoice, c.OnStep = req.System.Text(), nil, llm.ToolChoice{}, nil
		c.Model = cmp.Or(req.Model, c.Model)
		c.Middleware = []loop.Middleware{{Name: "summarize", New: func(loop.RunInfo) loop.Hooks {
			return loop.Hooks{BeforeStep: func(context.Context, *loop.StepInfo) (loop.StepChange, error) {
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
