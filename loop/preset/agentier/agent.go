package agentier

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/middleware"
)

// Agent is a model with a configuration. It is safe for use by many goroutines. Its runs
// share no state.
type Agent struct{ loop *loop.Agent }

// New returns an agent of a provider. cfg.Model is the name of the model. [Fill] sets the zero
// fields of cfg. The middleware of the reference loop is the loop's list of middleware, the
// first outermost. New returns an error if the provider or the name of the model is missing,
// and the errors of [loop.New].
func New(provider llm.Model, cfg *loop.Config) (*Agent, error) {
	filled := Fill(*cmp.Or(cfg, &loop.Config{}))
	switch {
	case provider == nil:
		return nil, errors.New("agentier: missing provider: pass a client, such as openai.NewChat(key)")
	case filled.Model == "":
		return nil, errors.New("agentier: missing model: set Config.Model to its name")
	}
	a, err := loop.New(provider, &filled)
	if err != nil {
		return nil, err
	}
	return &Agent{a}, nil
}

// RunOptions are the options of one run. Each callback may be nil. The run calls them one
// at a time on its own goroutine.
type RunOptions struct {
	MaxIterations int           // 0 means the agent's limit; a negative number allows no iteration
	MaxTokens     int64         // 0 means the agent's limit; a negative number means no limit
	Timeout       time.Duration // 0 means the agent's limit; a negative value means no limit

	// OnToken receives the text deltas of each response. If it is set, the run requests
	// streaming responses.
	OnToken func(token string)
	// OnToolCall is called before each call is run. Arguments that are not JSON are
	// passed as a JSON string.
	OnToolCall func(name string, args json.RawMessage)
	// OnToolResult is called with the result of each tool that did not fail: the Go value
	// that the tool returned ([loop.Output] Value), or the text of its result.
	OnToolResult func(name string, result any)
	OnComplete   func(*Result)
	OnError      func(error)
}

// Run runs the agent on a prompt ([loop.Prompt]) or a conversation ([loop.Continue])
// until the run ends; opts may be nil. A run that reaches a limit, except the time limit,
// returns its partial result. A run that fails has no result and returns an error; see
// [Error].
func (a *Agent) Run(ctx context.Context, in loop.Input, opts *RunOptions) (*Result, error) {
	return a.run(ctx, in, opts, nil)
}

// RunFor runs the agent as [Agent.Run] does and decodes the final answer as a T. If the
// answer is not a T, it requests a new response, at most maxRetries times. Then the
// run fails with the code OUTPUT_PARSE_ERROR. The value is nil if the run fails or reaches a
// limit before it has a value. T replaces the schema of the agent's own [middleware.Output].
func RunFor[T any](ctx context.Context, a *Agent, in loop.Input, maxRetries int, opts *RunOptions) (*T, *Result, error) {
	output, err := middleware.OutputOf[T]()
	if err != nil {
		return nil, nil, err
	}
	res, err := a.run(ctx, in, opts, func(c *loop.Config) {
		own := output.Middleware(maxRetries)
		c.Middleware = slices.DeleteFunc(slices.Clone(c.Middleware), func(m loop.Middleware) bool { return m.Name == own.Name })
		c.Middleware = append(c.Middleware, own)
	})
	if err != nil {
		return nil, nil, err
	}
	if res.Value == nil { // the run reached a limit first
		return nil, res, nil
	}
	value := new(T)
	_, err = output.Read(res.Output, value)
	return value, res, err
}

// Parts runs the agent as [Agent.Run] does and yields a part for each callback, including
// tokens. It does not call the callbacks of opts. The run is canceled if the caller stops
// the iteration.
func (a *Agent) Parts(ctx context.Context, in loop.Input, opts *RunOptions) iter.Seq[Part] {
	return a.parts(ctx, in, opts, func(c *loop.Config) { c.ResponseMode = llm.Streaming })
}

func (a *Agent) run(ctx context.Context, in loop.Input, opts *RunOptions, more func(*loop.Config)) (*Result, error) {
	opts = cmp.Or(opts, &RunOptions{})
	var last Part
	for last = range a.parts(ctx, in, opts, more) {
		opts.call(last)
	}
	return last.Complete, last.Err
}

// parts yields the parts of a run with its own options. more may be nil.
func (a *Agent) parts(ctx context.Context, in loop.Input, opts *RunOptions, more func(*loop.Config)) iter.Seq[Part] {
	agent, err := a.loop.With(func(c *loop.Config) {
		cmp.Or(opts, &RunOptions{}).set(c)
		if more != nil {
			more(c)
		}
	})
	if err != nil {
		return func(yield func(Part) bool) { yield(Part{Type: "onError", Err: err}) }
	}
	run := agent.Start(ctx, in)
	return parts(run.Events(), run.Value)
}

func (o *RunOptions) set(c *loop.Config) {
	c.MaxSteps = cmp.Or(o.MaxIterations, c.MaxSteps)
	c.TokenBudget = max(cmp.Or(o.MaxTokens, c.TokenBudget), 0)
	c.Deadline = max(cmp.Or(o.Timeout, c.Deadline), 0)
	if o.OnToken != nil {
		c.ResponseMode = llm.Streaming
	}
}

func (o *RunOptions) call(p Part) {
	switch {
	case p.Type == "onToken" && o.OnToken != nil:
		o.OnToken(p.Token)
	case p.Type == "onToolCall" && o.OnToolCall != nil:
		o.OnToolCall(p.Name, p.Args)
	case p.Type == "onToolResult" && o.OnToolResult != nil:
		o.OnToolResult(p.Name, p.Value)
	case p.Type == "onComplete" && o.OnComplete != nil:
		o.OnComplete(p.Complete)
	case p.Type == "onError" && o.OnError != nil:
		o.OnError(p.Err)
	}
}
