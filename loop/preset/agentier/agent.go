package agentier

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/middleware"
)

// Agent is a model with a configuration. It is safe for use by many goroutines; its
// runs share nothing.
type Agent struct{ loop *loop.Agent }

// New makes an agent; what cfg (nil is the zero value) leaves at zero is as Fill has
// it. Middleware is cfg.Policies, the first outermost. The errors are those of
// loop.New.
func New(model llm.Model, cfg *loop.Config) (*Agent, error) {
	if cfg == nil {
		cfg = &loop.Config{}
	}
	filled := Fill(*cfg)
	a, err := loop.New(model, &filled)
	if err != nil {
		return nil, err
	}
	return &Agent{a}, nil
}

// RunOptions are options of one run. The callbacks, each of which may be nil, are
// called on the goroutine of the run, one at a time.
type RunOptions struct {
	MaxIterations int           // 0 is the agent's limit; a negative number allows none
	MaxTokens     int64         // 0 is the agent's limit; a negative number is no limit
	Timeout       time.Duration // 0 is the agent's limit; a negative one is no limit

	// OnToken gets the pieces of the text of each answer. If it is set, answers are
	// asked for as streams.
	OnToken func(token string)
	// OnToolCall is told of each call before it is run. Arguments that are not JSON are
	// a JSON string.
	OnToolCall func(name string, args json.RawMessage)
	// OnToolResult is told what a tool has returned, if it did not fail.
	OnToolResult func(name string, result llm.ToolResult)
	OnComplete   func(*Result)
	OnError      func(error)
}

// Run runs the agent on a prompt (loop.Prompt) or a conversation (loop.Continue) to its
// end; opts may be nil. A run that reaches a limit but that of time returns what it
// has. A run that fails has no result; see Error.
func (a *Agent) Run(ctx context.Context, in loop.Input, opts *RunOptions) (*Result, error) {
	return a.run(ctx, in, opts, nil)
}

// RunFor runs the agent as Run does, with an answer that has to be a T: reAsks times
// the model is asked again for one that is not, and then the run fails with
// OutputParseError. The value is nil if the run fails, and if it ended at a limit
// before there was one.
func RunFor[T any](ctx context.Context, a *Agent, in loop.Input, reAsks int, opts *RunOptions) (*T, *Result, error) {
	output, err := middleware.OutputOf[T]()
	if err != nil {
		return nil, nil, err
	}
	res, err := a.run(ctx, in, opts, func(c *loop.Config) {
		c.Middleware = append(c.Middleware[:len(c.Middleware):len(c.Middleware)], output.Middleware(reAsks))
	})
	if err != nil {
		return nil, nil, err
	}
	if value, err := middleware.ReadOutput[T](output, res.Output); err == nil {
		return &value, res, nil
	}
	return nil, res, nil // a limit came first
}

// Parts runs the agent as Run does, and yields what would be told to callbacks, tokens
// among it; those of opts are not called. Leaving early cancels the run.
func (a *Agent) Parts(ctx context.Context, in loop.Input, opts *RunOptions) iter.Seq[Part] {
	return a.parts(ctx, in, opts, func(c *loop.Config) { c.ResponseMode = llm.Streaming })
}

func (a *Agent) run(ctx context.Context, in loop.Input, opts *RunOptions, more func(*loop.Config)) (*Result, error) {
	if opts == nil {
		opts = &RunOptions{}
	}
	var last Part
	for last = range a.parts(ctx, in, opts, more) {
		opts.tell(last)
	}
	return last.Complete, last.Err
}

// parts are those of a run with options of its own, and more, if not nil.
func (a *Agent) parts(ctx context.Context, in loop.Input, opts *RunOptions, more func(*loop.Config)) iter.Seq[Part] {
	agent, err := a.loop.With(func(c *loop.Config) {
		opts.set(c)
		if more != nil {
			more(c)
		}
	})
	if err != nil {
		return func(yield func(Part) bool) { yield(Part{Type: "onError", Err: err}) }
	}
	return Parts(agent.Start(ctx, in).Events())
}

func (o *RunOptions) set(c *loop.Config) {
	if o == nil {
		return
	}
	if o.MaxIterations != 0 {
		c.MaxSteps = o.MaxIterations
	}
	if o.MaxTokens != 0 {
		c.TokenBudget = max(o.MaxTokens, 0)
	}
	if o.Timeout != 0 {
		c.Deadline = max(o.Timeout, 0)
	}
	if o.OnToken != nil {
		c.ResponseMode = llm.Streaming
	}
}

// tell calls the callback of a part.
func (o *RunOptions) tell(p Part) {
	switch {
	case p.Type == "onToken" && o.OnToken != nil:
		o.OnToken(p.Token)
	case p.Type == "onToolCall" && o.OnToolCall != nil:
		o.OnToolCall(p.Name, p.Args)
	case p.Type == "onToolResult" && o.OnToolResult != nil:
		o.OnToolResult(p.Name, p.Result)
	case p.Type == "onComplete" && o.OnComplete != nil:
		o.OnComplete(p.Complete)
	case p.Type == "onError" && o.OnError != nil:
		o.OnError(p.Err)
	}
}
