package loop

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
)

// ask makes the step's model call.
func (r *run) ask(s *StepInfo) (turn *llm.Response, err error) {
	r.turn, r.given = nil, nil
	s.call = ModelCall{Request: s.Request, Model: s.Model, Step: r.step, run: r}
	turn, err = r.wrapped(&s.call)
	switch {
	case err != nil:
		r.res.Partial = turn
		if r.turn != nil { // a policy's own failure: the answer is in the trace
			r.appendTurn(r.turn)
		}
		if r.ctx.Err() == nil {
			err = fmt.Errorf("loop: step %d: %w", r.step, err)
		}
		return nil, err
	case turn == nil:
		return nil, &MiddlewareError{r.hooks.wrapper(), errors.New("returned neither a turn nor an error")}
	case turn != r.given || !sameTurn(turn, r.turn): // a policy's own, or one it changed
		r.turn = r.ids.adopt(turn, r.turn)
		mend(r.turn)
		r.emit(r.step, turnEvent(r.turn, llm.Usage{}))
		r.warn(r.step, r.turn.Warnings[len(turn.Warnings):])
	}
	return r.turn, nil
}

// sameTurn reports whether a turn that policies had in hand is as it was.
func sameTurn(a, b *llm.Response) bool {
	return a == b || a.FinishReason == b.FinishReason && a.RawFinishReason == b.RawFinishReason && a.FinishMessage == b.FinishMessage &&
		a.ResponseID == b.ResponseID && a.Model == b.Model && bytes.Equal(a.Opaque, b.Opaque) && reflect.DeepEqual(a.Parts, b.Parts)
}

// copyFor is a turn for a policy, which may do with it as it likes.
func (r *run) copyFor(turn *llm.Response, own bool) *llm.Response {
	if own {
		return turn
	}
	out := *turn
	out.Parts = slices.Clone(turn.Parts)
	return &out
}

func (r *run) wrapped(call *ModelCall) (turn *llm.Response, err error) {
	r.gate.set(true)
	defer r.gate.set(false)
	var caught error
	func() {
		defer contain("a policy around the model call", "", &caught)
		turn, err = r.call(r.ctx, call)
	}()
	if caught != nil {
		return nil, &MiddlewareError{r.hooks.wrapper(), caught}
	}
	return turn, err
}

// callModel is the model call itself, within all wraps: one attempt. A policy may
// have kept it, and call it anywhere.
func (r *run) callModel(ctx context.Context, call *ModelCall) (*llm.Response, error) {
	if !r.gate.enter() {
		return nil, &MiddlewareError{r.hooks.wrapper(), ErrModelCallNotAllowed}
	}
	defer r.gate.leave()
	call.run, call.Step, call.Partial, call.again = r, r.step, false, false
	if err := r.mayCall(call); err != nil {
		return nil, err
	}
	t, err := r.attempt(ctx, call)
	if err == nil {
		err = r.follow(call)
	}
	if err == nil {
		err = r.offers(call.Request)
	}
	if err != nil {
		return nil, err
	}
	if r.forced {
		call.Request = withoutTools(call.Request)
	}
	if err := r.noteSetup(call); err != nil {
		return nil, err
	}
	r.res.ModelCalls++
	r.ids.begin()
	r.acc.Reset()
	if call.Purpose == trace.PurposeAnswer {
		r.shown, r.unsent = r.sent, nil
	}
	r.noteRequest(call)
	err = r.read(ctx, call)
	own := len(r.hooks.wrappers) == 0 && call.Purpose == trace.PurposeAnswer
	turn := &r.place
	if !own { // it may still be in use when a policy calls again
		turn = new(llm.Response)
	}
	r.acc.ResponseInto(turn)
	if err == nil && turn.FinishReason == llm.FinishMalformedCall {
		err = &malformedError{turn.FinishMessage}
	}
	if err != nil {
		r.ended(call.Step)
		facts := describe(err)
		facts.Retryable = r.cfg.Retry.may(err)
		t.failed(call, err, facts, r.cfg)
		r.callFailed(call, turn, facts)
		return r.copyFor(turn, own), err
	}
	r.asked = nil
	r.spend(call.Purpose, turn.Usage)
	mend(turn)
	given := r.copyFor(turn, own)
	if call.Purpose == trace.PurposeAnswer { // another's ids are of no run
		r.ids.accept()
		r.turn, r.given = turn, given
	}
	if r.rec.on() {
		r.note(call, turnEvent(turn, turn.Usage))
	}
	r.warn(call.Step, turn.Warnings)
	return given, nil
}

// callFailed records that a model call has failed, and what had come of it.
func (r *run) callFailed(call *ModelCall, turn *llm.Response, facts trace.Error) {
	r.asked = nil
	r.spend(call.Purpose, turn.Usage)
	r.note(call, trace.ModelError{Error: facts, Partial: call.Partial, PartialContent: turn.Parts, Usage: turn.Usage})
}

// UnnamedTool stands for the name of a call that came without one: no provider
// takes a call back whose name is empty (quirk QO-30). WarnNoName is the code of
// the warning, and WarnNoCall that of a result that came for no call.
const (
	UnnamedTool = "unnamed_tool"
	WarnNoName  = "missing_name"
	WarnNoCall  = "result_without_call"
)

// mend gives calls without a name the placeholder, and drops results but those
// of calls that the provider ran itself: a turn has no others, and a history
// that has is one that no provider takes. Parts that are nil it drops without a
// word. The turn was not handed out yet.
func mend(turn *llm.Response) {
	kept, ran := turn.Parts[:0], provided{parts: turn.Parts}
	for _, p := range turn.Parts {
		switch x := p.(type) {
		case llm.ToolCall:
			if x.Name == "" {
				x.Name = UnnamedTool
				p = x
				turn.Warnings = append(turn.Warnings, llm.Warning{Code: WarnNoName, Message: "the call " + x.ID + " names no tool"})
			}
		case llm.ToolResult:
			if !ran.has(x.ID) {
				turn.Warnings = append(turn.Warnings, llm.Warning{Code: WarnNoCall, Message: "a result for " + strconv.Quote(x.ID) + ", which is no call that the provider ran; it was dropped"})
				continue
			}
		case nil: // a policy's
			continue
		case llm.Text, llm.Reasoning, llm.Media, llm.Unknown:
		}
		kept = append(kept, p)
	}
	turn.Parts = kept
}

func (r *run) warn(step int, warnings []llm.Warning) {
	for _, w := range warnings {
		r.emit(step, trace.Warning{Code: w.Code, Message: w.Message})
	}
}

// malformedError is ErrMalformedCall with the provider's words.
type malformedError struct{ message string }

func (e *malformedError) Error() string {
	if e.message == "" {
		return ErrMalformedCall.Error()
	}
	return ErrMalformedCall.Error() + ": " + e.message
}

func (e *malformedError) Unwrap() error { return ErrMalformedCall }

// answer is a model's answer while it is read.
type answer struct {
	ctx  context.Context
	call *ModelCall
	live bool
	over bool
	err  error
}

// read takes an answer's events as they come. Whoever looks on may have ended the
// run at the request: then the model is not asked.
func (r *run) read(ctx context.Context, call *ModelCall) (err error) {
	if r.ended(call.Step) {
		return context.Cause(r.ctx)
	}
	defer contain("the model", "", &err)
	if r.take == nil {
		r.take = r.takeEvent // one for all answers
	}
	r.answer = answer{ctx: ctx, call: call, live: r.rec.live()}
	model := r.agent.model
	if call.Model != nil {
		model = r.cfg.patient(call.Model)
	}
	model.Stream(ctx, call.Request)(r.take)
	r.answer.over = true
	return r.answer.err
}

// takeEvent takes one event of an answer and reports whether there may be more. A
// model that does not heed that is not listened to.
func (r *run) takeEvent(ev llm.Event, err error) bool {
	a := &r.answer
	switch {
	case a.over:
	case err != nil:
		a.err, a.over = err, true
		if cause := context.Cause(a.ctx); cause != nil && r.ctx.Err() != nil {
			a.err = cause
		}
	default:
		r.addEvent(a, ev)
		if a.ctx.Err() != nil {
			a.err, a.over = context.Cause(a.ctx), true
		}
	}
	return !a.over
}

func (r *run) addEvent(a *answer, ev llm.Event) {
	switch ev.(type) {
	case llm.TextDelta, llm.ReasoningDelta, llm.ToolCallStart, llm.ToolCallDelta, llm.ToolCallEnd, llm.PartDone:
		a.call.Partial = true
	case llm.Usage, llm.Warning, llm.Finish, llm.Unknown:
	}
	c := r.acc.Add(ev)
	if a.live {
		r.delta(a.call, ev, c)
	}
}

func turnEvent(t *llm.Response, usage llm.Usage) trace.Body {
	return trace.ModelResponse{
		Message: t.Message(), FinishReason: t.FinishReason, RawFinishReason: t.RawFinishReason, FinishMessage: t.FinishMessage,
		ResponseID: t.ResponseID, Model: t.Model, Usage: usage,
	}
}

func (r *run) spend(p trace.Purpose, u llm.Usage) {
	r.usage = r.usage.Add(u)
	if p == trace.PurposeAnswer && r.res.UsageBy == nil {
		return
	}
	if r.res.UsageBy == nil {
		before := r.usage
		before = llm.Usage{
			InputTokens: before.InputTokens - u.InputTokens, OutputTokens: before.OutputTokens - u.OutputTokens, CacheReadInputTokens: before.CacheReadInputTokens - u.CacheReadInputTokens,
			CacheCreationInputTokens: before.CacheCreationInputTokens - u.CacheCreationInputTokens, ReasoningOutputTokens: before.ReasoningOutputTokens - u.ReasoningOutputTokens,
		}
		r.res.UsageBy = map[trace.Purpose]llm.Usage{trace.PurposeAnswer: before}
	}
	r.res.UsageBy[p] = r.res.UsageBy[p].Add(u)
}
