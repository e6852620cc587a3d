package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop/internal/conversation"
	"github.com/looptape/looptape/loop/internal/stall"
	"github.com/looptape/looptape/trace"
)

// caller makes the model calls of a run, one at a time.
type caller struct {
	run      *run
	wrapped  ModelFunc // the model call within the WrapModel hooks
	current  modelCall // the last call, under way if active
	active   bool
	acc      llm.Accumulator
	stream   stream
	take     func(llm.Event, error) bool // takeEvent, made once
	attempts []attempts                  // of the step
	usage    llm.Usage

	response llm.Response  // memory of the last response, unless a hook may keep it
	accepted *llm.Response // the response of the step, until the history has it
	returned *llm.Response // the copy of it that WrapModel hooks got
}

// modelCall is one attempt of a model call.
type modelCall struct {
	ModelCall
	attempt   int
	partial   bool // it delivered a part of a response
	retryable bool // it failed, and may be retried
}

// call makes the model call of a step within the WrapModel hooks, and returns the
// response of the step.
func (c *caller) call(s *StepInfo) (*llm.Response, error) {
	r := c.run
	c.accepted, c.returned, c.attempts = nil, nil, c.attempts[:0]
	response, err := c.callWrapped(ModelCall{Request: s.Request, Model: s.Model, Step: r.step})
	switch {
	case err != nil:
		r.res.Partial = response
		if c.accepted != nil { // the error of a hook: the trace has the response
			r.appendResponse(c.accepted)
		}
		if r.life.ctx.Err() == nil {
			err = fmt.Errorf("loop: step %d: %w", r.step, err)
		}
		return nil, err
	case response == nil:
		return nil, &MiddlewareError{r.hooks.wrapper, errors.New("returned neither a response nor an error")}
	case response != c.returned: // the response of a hook
		c.accepted = r.transcript.ids.Adopt(response, c.accepted)
		conversation.RepairResponse(c.accepted)
		r.emit(r.step, responseEvent(c.accepted, llm.Usage{}))
		r.warn(r.step, c.accepted.Warnings[len(response.Warnings):])
	}
	return c.accepted, nil
}

func (c *caller) callWrapped(call ModelCall) (response *llm.Response, err error) {
	life := &c.run.life
	life.enter(phaseCalling)
	defer life.enter(phaseDeciding)
	var caught error
	life.callOut(func() {
		defer contain("the middleware around the model call", "", &caught)
		response, err = c.wrapped(life.ctx, call)
	})
	if caught != nil {
		return nil, &MiddlewareError{c.run.hooks.wrapper, caught}
	}
	return response, err
}

// next is the inner function of the WrapModel hooks. Hooks may keep it and call it
// anywhere.
func (c *caller) next(ctx context.Context, call ModelCall) (*llm.Response, error) {
	response, err := c.callWithRetries(ctx, opNext, call)
	if err == ErrModelCallNotAllowed { //nolint:errorlint // the error of callWithRetries itself
		err = &MiddlewareError{c.run.hooks.wrapper, err}
	}
	return response, err
}

// callWithRetries makes a model call with the retries of Config.Retry, unless the phase of the run
// does not allow it or another call is under way.
func (c *caller) callWithRetries(ctx context.Context, op operation, call ModelCall) (*llm.Response, error) {
	if !c.run.life.begin(op) {
		return nil, ErrModelCallNotAllowed
	}
	defer c.run.life.recording.end()
	c.run.beginStep()
	retry, wait := &c.run.cfg.Retry, call.Wait
	for n := 1; ; n++ {
		response, err := c.callModel(ctx, call, wait)
		if err == nil || retry.Max == 0 || !c.current.retryable || ctx.Err() != nil || c.budgetUsed() {
			return response, err
		}
		wait = retry.Delay(n, c.run.cfg.Rand)
	}
}

// callModel makes one attempt of a model call. A retry waits before.
func (c *caller) callModel(ctx context.Context, of ModelCall, wait time.Duration) (*llm.Response, error) {
	r, call := c.run, &c.current
	*call = modelCall{ModelCall: of}
	call.Step = r.step
	if err := c.check(call.Step); err != nil {
		return nil, err
	}
	a, err := c.begin(ctx, call, wait)
	if err != nil {
		return nil, err
	}
	if err := c.prepare(call); err != nil {
		return nil, err
	}
	r.res.ModelCalls++
	c.active = true
	r.emitRequest(call)
	err = c.read(ctx, call)
	own := r.hooks.wrapper == "" && call.Purpose == trace.PurposeAnswer
	response := &c.response
	if !own { // a hook may keep it
		response = new(llm.Response)
	}
	c.acc.ResponseInto(response)
	if err == nil && response.FinishReason == llm.FinishMalformedCall {
		err = malformedCall(response.FinishMessage)
	}
	if err != nil {
		r.ended(call.Step)
		facts := describe(err)
		facts.Retryable = r.cfg.Retry.allows(err)
		a.fail(call, err, facts, r.cfg)
		c.fail(response, facts)
		if !own {
			response = copyOf(response)
		}
		return response, err
	}
	return c.accept(call, response, own), nil
}

// check reports why no model call may begin.
func (c *caller) check(step int) error {
	r := c.run
	if r.ended(step) {
		return context.Cause(r.life.ctx)
	}
	if c.budgetUsed() { // middleware calls again, or for a purpose of its own
		return ErrBudget
	}
	return nil
}

// budgetUsed reports whether the run has used its token budget.
func (c *caller) budgetUsed() bool {
	budget := c.run.cfg.TokenBudget
	return budget > 0 && c.usage.Total() >= budget
}

// attempts are the model calls of a step for one purpose.
type attempts struct {
	purpose trace.Purpose
	n       int // attempts of the call under way
	retries int
	err     error // of the last attempt, if it may be retried
	reason  string
	after   time.Duration // the wait that the provider asks for
	at      time.Time
}

// fail records a failed attempt. The call may be retried if the error is retryable, no
// part of the response came, and Retry.Max, if set, is not reached.
func (a *attempts) fail(call *modelCall, err error, facts trace.Error, cfg *Config) {
	call.retryable = facts.Retryable && !call.partial && (cfg.Retry.Max == 0 || a.retries < cfg.Retry.Max)
	if call.retryable {
		a.err, a.reason, a.after, a.at = err, facts.Message, facts.RetryAfter, cfg.Clock.Now()
	}
}

// begin counts an attempt: the first of a call, or the retry of a failed one, requested by the
// options or by middleware. It is the only place that records retries and waits for them.
// Another call for the answer, after a response or a final failure, is recorded as a repair.
func (c *caller) begin(ctx context.Context, call *modelCall, wait time.Duration) (*attempts, error) {
	a := c.attemptsFor(call.Purpose)
	if a.n > 0 && a.err == nil && call.Purpose == trace.PurposeAnswer {
		call.Purpose = trace.PurposeRepair
		a = c.attemptsFor(call.Purpose)
	}
	if a.err == nil {
		*a = attempts{purpose: a.purpose}
	} else if err := c.retry(ctx, call, a, wait); err != nil {
		return nil, err
	}
	a.n++
	call.attempt = a.n
	return a, nil
}

// retry waits as long as the options and the provider ask for, counted from the failure.
func (c *caller) retry(ctx context.Context, call *modelCall, a *attempts, wait time.Duration) error {
	r := c.run
	left := max(wait, a.after-since(r.cfg.Clock, a.at))
	if limit := r.cfg.Retry.MaxWait; left > limit {
		return fmt.Errorf("not retried, since the provider asks to wait %v, longer than Retry.MaxWait (%v): %w", a.after, limit, a.err)
	}
	call.attempt = a.n
	r.emitCall(call, trace.ModelRetry{Wait: max(wait, a.after), Reason: a.reason})
	a.retries++
	a.err = nil
	slept := r.cfg.Clock.Sleep(ctx, left)
	return cmp.Or(slept, c.check(call.Step)) // a hook may have passed another context
}

// attemptsFor returns the model calls of the step for a purpose.
func (c *caller) attemptsFor(p trace.Purpose) *attempts {
	for i := range c.attempts {
		if a := &c.attempts[i]; a.purpose == p {
			return a
		}
	}
	c.attempts = append(c.attempts, attempts{purpose: p})
	return &c.attempts[len(c.attempts)-1]
}

// prepare checks the request of a call, which a hook may have replaced, and records its
// parts outside the messages.
func (c *caller) prepare(call *modelCall) error {
	r := c.run
	rewritten, err := r.transcript.track(call, r.hooks.wrapper)
	if err != nil {
		return err
	}
	if rewritten {
		r.emit(call.Step, trace.HistoryRewrite{Reason: "middleware", By: r.hooks.wrapper})
	}
	if err := r.checkTools(call.Request); err != nil {
		return err
	}
	if id := modelID(call.Model); id != "" && (call.Request.Model == "" || call.Request.Model == r.cfg.Model) {
		req := *call.Request
		req.Model = id
		call.Request = &req
	}
	if r.final() && len(call.Request.Tools) > 0 {
		req := *call.Request
		req.Tools, req.ToolChoice = nil, llm.ToolChoice{}
		call.Request = &req
	}
	if err := r.checkToolChoice(call.Request); err != nil {
		return err
	}
	r.emitConfig(call)
	if err := c.check(call.Step); err != nil { // the consumer of the events may end the run at any event
		return err
	}
	c.acc.Reset()
	if call.Purpose == trace.PurposeAnswer {
		r.transcript.shown, r.transcript.unsent = r.transcript.sent, nil
	}
	return nil
}

// checkTools checks the tools of a request, unless they are those of the run.
func (r *run) checkTools(req *llm.Request) error {
	own := r.tools.defs
	if len(req.Tools) == 0 || len(req.Tools) == len(own) && &req.Tools[0] == &own[0] {
		return nil
	}
	for i, t := range req.Tools {
		duplicate := slices.ContainsFunc(req.Tools[:i], func(o llm.Tool) bool { return o.Name == t.Name })
		problem := ""
		switch {
		case t.Name == "":
			problem = "has no name"
		case duplicate:
			problem = fmt.Sprintf("has the name %q, as one before it; take one of them out", t.Name)
		case t.Parameters != nil && !jsonio.IsObject(jsonio.View(t.Parameters)):
			problem = fmt.Sprintf("(%q) has Parameters that are not a JSON object", t.Name)
		case t.Builtin != nil && !jsonio.IsObject(jsonio.View(t.Builtin)):
			problem = fmt.Sprintf("(%q) has a Builtin that is not a JSON object", t.Name)
		default:
			continue
		}
		name := cmp.Or(r.hooks.wrapper, "(before the step)") // without a wrap, only there
		return &MiddlewareError{name, fmt.Errorf("its request cannot be sent: Tools[%d] %s", i, problem)}
	}
	return nil
}

// checkToolChoice checks that the tools of a request, which may have changed, permit its tool choice.
func (r *run) checkToolChoice(req *llm.Request) error {
	problem := ""
	switch c := req.ToolChoice; {
	case c.Mode == llm.ChooseTool && !slices.ContainsFunc(req.Tools, func(t llm.Tool) bool { return t.Name == c.Name }):
		problem = fmt.Sprintf("ToolChoice is the tool %q, which is not one of its Tools; change ToolChoice, too", c.Name)
	case c.Mode == llm.ChooseRequired && len(req.Tools) == 0:
		problem = "ToolChoice requires a call, and it has no Tools; change ToolChoice, too"
	default:
		return nil
	}
	err := errors.New("its request cannot be sent: " + problem)
	if len(r.cfg.Middleware) == 0 {
		return fmt.Errorf("the run: %w", err)
	}
	return &MiddlewareError{cmp.Or(r.hooks.wrapper, "(before the step)"), err}
}

// stream is the state of the response that is being read.
type stream struct {
	ctx  context.Context
	live bool
	done bool
	err  error
}

// read reads the events of a response.
func (c *caller) read(ctx context.Context, call *modelCall) (err error) {
	r := c.run
	if err := c.check(call.Step); err != nil {
		return err
	}
	defer contain("the model", "", &err)
	if c.take == nil {
		c.take = c.takeEvent
	}
	c.stream = stream{ctx: ctx, live: r.rec.live()}
	model := r.agent.model
	if call.Model != nil {
		model = r.cfg.withStallTimeout(call.Model)
	}
	model.Stream(ctx, call.Request)(c.take)
	c.stream.done = true
	return c.stream.err
}

// withStallTimeout returns a model whose calls fail after StallTimeout without events.
func (c *Config) withStallTimeout(m llm.Model) llm.Model {
	if c.StallTimeout == 0 {
		return m
	}
	return &stall.Model{Model: m, Clock: c.Clock, Limit: c.StallTimeout, Err: ErrStalled}
}

// takeEvent adds one event of a response and reports whether the model may send more. It
// ignores events of a model that continues anyway.
func (c *caller) takeEvent(ev llm.Event, err error) bool {
	s := &c.stream
	switch {
	case s.done:
	case err != nil:
		s.err, s.done = err, true
		if cause := context.Cause(s.ctx); cause != nil && c.run.life.ctx.Err() != nil {
			s.err = cause
		}
	default:
		switch ev.(type) {
		case llm.TextDelta, llm.ReasoningDelta, llm.ToolCallStart, llm.ToolCallDelta, llm.ToolCallEnd, llm.PartDone:
			c.current.partial = true
		case llm.Usage, llm.Warning, llm.Finish, llm.Unknown:
		}
		open := c.acc.Add(ev)
		if s.live {
			c.run.emitDelta(&c.current, ev, open)
		}
		if s.ctx.Err() != nil {
			s.err, s.done = context.Cause(s.ctx), true
		}
	}
	return !s.done
}

// fail records a failed model call with its partial response.
func (c *caller) fail(response *llm.Response, facts trace.Error) {
	c.active = false
	call := &c.current
	c.addUsage(call.Purpose, response.Usage)
	c.run.emitCall(call, trace.ModelError{Error: facts, Partial: call.partial, PartialContent: response.Parts, Usage: response.Usage})
}

// accept records a response and returns it for the WrapModel hooks.
func (c *caller) accept(call *modelCall, response *llm.Response, own bool) *llm.Response {
	r := c.run
	c.active = false
	c.addUsage(call.Purpose, response.Usage)
	conversation.RepairResponse(response)
	returned := response
	if !own {
		returned = copyOf(response)
	}
	if call.Purpose == trace.PurposeAnswer { // the run does not have the ids of other responses
		r.transcript.ids.Accept()
		c.accepted, c.returned = response, returned
	}
	if r.rec.on() {
		r.emitCall(call, responseEvent(response, response.Usage))
	}
	r.warn(call.Step, response.Warnings)
	return returned
}

// copyOf returns a copy of a response for a hook.
func copyOf(response *llm.Response) *llm.Response {
	out := *response
	out.Parts = slices.Clone(response.Parts)
	return &out
}

func (c *caller) addUsage(p trace.Purpose, u llm.Usage) {
	before, res := c.usage, &c.run.res
	c.usage = before.Add(u)
	if p == trace.PurposeAnswer && res.UsageBy == nil {
		return
	}
	if res.UsageBy == nil {
		res.UsageBy = map[trace.Purpose]llm.Usage{trace.PurposeAnswer: before}
	}
	res.UsageBy[p] = res.UsageBy[p].Add(u)
}

func responseEvent(t *llm.Response, usage llm.Usage) trace.Body {
	return trace.ModelResponse{
		Message: t.Message(), FinishReason: t.FinishReason, RawFinishReason: t.RawFinishReason, FinishMessage: t.FinishMessage,
		ResponseID: t.ResponseID, Model: t.Model, Usage: usage,
	}
}

// unwind records the model call under way, and appends a response that is not in the history.
func (c *caller) unwind() {
	if c.active {
		c.fail(c.acc.Response(), describe(errUnwound))
	}
	if c.accepted != nil {
		c.run.appendResponse(c.accepted)
	}
}

// malformedCall returns ErrMalformedCall with the provider's message.
func malformedCall(message string) error {
	if message == "" {
		return ErrMalformedCall
	}
	return fmt.Errorf("%w: %s", ErrMalformedCall, message)
}
