package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
)

// namedHooks are the hooks of a middleware. Built-in middleware is that of the Config's
// options.
type namedHooks struct {
	Hooks
	middleware string
	builtin    bool
}

// chain is the hooks of a run, those of the Config's options first.
type chain struct {
	hooks []*namedHooks
	// wrapper names the middleware with WrapModel. Which one of several did something is unknown.
	wrapper string
	tools   []Tool
	sinks   []trace.Sink
}

// hooks makes the hooks of a run. With an error, the chain has the sinks of the hooks that were made.
func (c *Config) hooks(info RunInfo) (ch chain, err error) {
	own := c.options()
	ch.hooks = make([]*namedHooks, 0, len(own)+len(c.Middleware))
	var wrappers []string
	for _, m := range own {
		ch.hooks = append(ch.hooks, &namedHooks{m.New(info), m.Name, true})
	}
	for _, m := range c.Middleware {
		h, err := callHook(m.Name, func() (Hooks, error) { return m.New(info), nil })
		if err != nil {
			return chain{sinks: ch.sinks}, err
		}
		ch.hooks = append(ch.hooks, &namedHooks{h, m.Name, false})
		ch.tools = append(ch.tools, h.Tools...)
		if h.Sink != nil {
			ch.sinks = append(ch.sinks, h.Sink)
		}
		if h.WrapModel != nil {
			wrappers = append(wrappers, m.Name)
		}
	}
	ch.wrapper = strings.Join(wrappers, ", ")
	return ch, nil
}

// wrap puts the wraps around the model call and the tool: those of the options are
// innermost, and the first middleware of the caller is outermost.
func (c *chain) wrap(model ModelFunc, tool ToolFunc) (ModelFunc, ToolFunc, error) {
	for _, builtin := range []bool{true, false} {
		for _, h := range slices.Backward(c.hooks) {
			if h.builtin != builtin {
				continue
			}
			_, err := callHook(h.middleware, func() (struct{}, error) {
				if h.WrapModel != nil {
					model = h.WrapModel(model)
				}
				if h.WrapTool != nil {
					tool = h.WrapTool(tool)
				}
				return struct{}{}, nil
			})
			if err != nil {
				return nil, nil, err
			}
		}
	}
	return model, tool, nil
}

// callInRun calls a hook of a run, as callHook does.
func callInRun[T any](r *run, middleware string, f func() (T, error)) (result T, err error) {
	r.life.callOut(func() { result, err = callHook(middleware, f) })
	return result, err
}

// callHook calls a hook. Its error, or its panic, is the error of the middleware.
func callHook[T any](middleware string, f func() (T, error)) (result T, err error) {
	func() {
		defer contain("the middleware ", middleware, &err)
		result, err = f()
	}()
	if err != nil {
		return *new(T), &MiddlewareError{middleware, err}
	}
	return result, nil
}

// view returns the StepInfo for a hook: a copy, which the hook may keep and change.
func (s *StepInfo) view(builtin bool) *StepInfo {
	if builtin {
		return s
	}
	v, req := *s, *s.Request
	v.Request = &req
	return &v
}

// startHooks calls the Start hooks, which may replace the context of the run.
func (r *run) startHooks() error {
	for _, h := range r.hooks.hooks {
		if h.Start == nil {
			continue
		}
		ctx, err := callInRun(r, h.middleware, func() (context.Context, error) { return h.Start(r.life.ctx) })
		switch {
		case err != nil:
			return r.fail(trace.NoStep, err)
		case ctx == nil:
		case h.builtin:
			r.life.ctx = ctx
		default:
			r.life.link(ctx)
		}
	}
	return nil
}

// beforeStep calls the BeforeStep hooks, until one ends the run. It returns the rewrites
// of the history.
func (r *run) beforeStep(s *StepInfo) (rewrites []trace.HistoryRewrite, stop bool, err error) {
	for _, h := range r.hooks.hooks {
		if h.BeforeStep == nil {
			continue
		}
		c, err := callInRun(r, h.middleware, func() (StepChange, error) { return h.BeforeStep(r.life.ctx, s.view(h.builtin)) })
		if err == nil {
			err = r.change(s, h.middleware, c)
		}
		if err != nil {
			return nil, true, r.fail(r.openStep, err)
		}
		if c.Messages != nil {
			rewrites = append(rewrites, trace.HistoryRewrite{Reason: cmp.Or(c.Note, "middleware"), By: h.middleware})
		}
		if c.Action == trace.Stop || c.Action == trace.ForceFinal && !r.final() {
			r.decide(r.openStep, c.Decision, h.middleware, h.builtin)
		}
		switch c.Action {
		case trace.Stop:
			r.closeStep()
			return nil, true, c.Err
		case trace.ForceFinal:
			r.finalStep = r.step
		case trace.Continue, trace.End, trace.Suspend:
		}
	}
	if r.ended(r.openStep) { // a hook may have waited
		err := r.decideEnd(r.openStep)
		r.closeStep()
		return nil, true, err
	}
	return rewrites, false, nil
}

// change applies the change of a BeforeStep hook.
func (r *run) change(s *StepInfo, middleware string, c StepChange) error {
	if c.Tools != nil {
		set, err := newToolSet(c.Tools)
		if err != nil {
			return &MiddlewareError{middleware, fmt.Errorf("its tools cannot be used: %w", err)}
		}
		r.tools = set
		r.transcript.base.Tools, s.Request.Tools = set.defs, set.defs
	}
	if c.Request != nil {
		tools := s.Request.Tools
		*s.Request = *c.Request
		if c.Tools != nil && c.Request.Tools == nil {
			s.Request.Tools = tools
		}
	}
	if c.Model != nil {
		s.Model = c.Model
	}
	if c.Messages != nil && c.Action != trace.Stop {
		if err := checkReplacement(middleware, c.Messages); err != nil {
			return err
		}
		r.transcript.rewrite(c.Messages)
	}
	return nil
}

// afterModel calls the AfterModel hooks. The decision is a stop, or the first one that
// continues, which applies after a response without calls.
func (r *run) afterModel(s *StepInfo, response *llm.Response) (next Decision, by string, err error) {
	for _, h := range r.hooks.hooks {
		if h.AfterModel == nil {
			continue
		}
		d, err := callInRun(r, h.middleware, func() (Decision, error) {
			return h.AfterModel(r.life.ctx, s.view(h.builtin), copyOf(response))
		})
		switch {
		case err != nil:
			return d, "", err
		case d.Action == trace.Stop:
			r.decide(r.step, d, h.middleware, h.builtin)
			return d, "", nil
		case d.Action == trace.Continue && next.Action == "":
			next, by = d, h.middleware
		}
	}
	return next, by, nil
}

// beforeTools calls the BeforeTools hooks, those of the Config's options or all others, until
// one ends the run, and applies what each decided about the calls. by is the hook that ends the
// run.
func (r *run) beforeTools(s *StepInfo, plans []*plannedCall, builtin bool) (d Decision, by *namedHooks, err error) {
	from := plans[0].Index
	for _, h := range r.hooks.hooks {
		if h.BeforeTools == nil || h.builtin != builtin {
			continue
		}
		var calls []CallDecision
		d, err := callInRun(r, h.middleware, func() (d Decision, err error) {
			calls, d, err = h.BeforeTools(r.life.ctx, s.view(h.builtin), copyCalls(plans))
			return d, err
		})
		for _, c := range calls {
			i := c.Index - from
			if i < 0 || i >= len(plans) {
				err = cmp.Or(err, error(&MiddlewareError{h.middleware, fmt.Errorf("CallDecision.Index %d: want the Index of one of %d calls", c.Index, len(plans))}))
			} else if err == nil {
				r.exec.apply(plans[i], c)
			}
		}
		if err != nil {
			return Decision{}, nil, err
		}
		if d.Action == trace.Suspend {
			d.Reason = cmp.Or(d.Reason, trace.ReasonApproval)
		}
		if d.Action == trace.Stop || d.Action == trace.Suspend {
			return d, h, nil
		}
	}
	return Decision{}, nil, nil
}

// copyCalls returns copies of the calls for a hook.
func copyCalls(plans []*plannedCall) []PlannedCall {
	calls := make([]PlannedCall, len(plans))
	for i, p := range plans {
		calls[i] = p.PlannedCall
		if out := p.Output; out != nil {
			calls[i].Output = &Output{slices.Clone(out.Content), out.IsError, out.Value}
		}
	}
	return calls
}

// afterStep calls the AfterStep hooks, until one ends the run or forces the final answer.
func (r *run) afterStep(s *StepInfo) (stop bool, err error) {
	s.Usage, s.Steps = r.caller.usage, r.log.view()
	for _, h := range r.hooks.hooks {
		if h.AfterStep == nil {
			continue
		}
		d, err := callInRun(r, h.middleware, func() (Decision, error) { return h.AfterStep(r.life.ctx, s.view(h.builtin), s.Steps[len(s.Steps)-1]) })
		if err != nil {
			return true, err
		}
		if d.Action == trace.Stop || d.Action == trace.ForceFinal {
			r.decide(r.step, d, h.middleware, h.builtin)
			return r.apply(d), nil
		}
	}
	return false, nil
}

// endHooks calls each End hook once, and adds their errors to err.
func (r *run) endHooks(res *Result, err error) error {
	hooks := r.hooks.hooks
	r.hooks.hooks = nil
	for _, h := range hooks {
		if h.End == nil {
			continue
		}
		changed, herr := callInRun(r, h.middleware, func() (Result, error) { return h.End(r.life.ctx, *res) })
		if err = errors.Join(err, herr); herr == nil {
			*res = changed
		}
	}
	return err
}

// onStep calls Config.OnStep.
func (r *run) onStep(step *Step) error {
	if r.cfg.OnStep == nil {
		return nil
	}
	var err error
	r.life.callOut(func() {
		defer contain("OnStep", "", &err)
		r.cfg.OnStep(*step)
	})
	if err != nil {
		return &MiddlewareError{"OnStep", err}
	}
	return nil
}
