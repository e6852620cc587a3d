package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
)

// ask makes the step's model call.
func (r *run) ask(s *StepInfo) (turn *llm.Turn, err error) {
	r.turn = nil
	s.call = ModelCall{Request: s.Request, Step: s.Step, run: r}
	turn, err = r.wrapped(&s.call)
	switch {
	case err != nil:
		r.res.Partial = turn
		if r.ctx.Err() == nil {
			err = fmt.Errorf("loop: step %d: %w", s.Step, err)
		}
		return nil, err
	case turn == nil:
		return nil, &PolicyError{"(model wrap)", errors.New("returned neither a turn nor an error")}
	case turn != r.turn: // a policy's own, or one it changed
		turn = r.ids.adopt(turn)
		r.emit(s.Step, turnEvent(turn, llm.Usage{}))
	}
	return turn, nil
}

// copyFor is a turn for a policy, which may do with it as it likes.
func (r *run) copyFor(turn *llm.Turn, own bool) *llm.Turn {
	if own {
		return turn
	}
	out := *turn
	out.Parts = slices.Clone(turn.Parts)
	return &out
}

func (r *run) wrapped(call *ModelCall) (turn *llm.Turn, err error) {
	var caught error
	func() {
		defer contain("a policy around the model call", "", &caught)
		turn, err = r.call(r.ctx, call)
	}()
	if caught != nil {
		return nil, &PolicyError{"(model wrap)", caught}
	}
	return turn, err
}

// callModel is the model call itself, within all wraps: one attempt.
func (r *run) callModel(ctx context.Context, call *ModelCall) (*llm.Turn, error) {
	if r.ended(call.Step) {
		return nil, context.Cause(r.ctx)
	}
	if r.spent() { // a policy calls again, or for a purpose of its own
		return nil, ErrBudget
	}
	call.Attempt++
	call.Partial = false
	r.res.ModelCalls++
	r.ids.begin()
	r.acc.Reset()
	r.noteRequest(call)
	err := r.read(ctx, call)
	turn := r.acc.Turn()
	r.spend(call.Purpose, turn.Usage)
	if err == nil && turn.Finish == llm.FinishMalformedCall {
		err = &malformedError{turn.FinishMessage}
	}
	if err != nil {
		r.ended(call.Step)
		facts := describe(err)
		facts.Retryable = r.cfg.Retry.may(err)
		r.note(call, trace.ModelError{Error: facts, Partial: call.Partial, Received: turn.Parts, Usage: turn.Usage})
		return turn, err
	}
	r.ids.accept()
	nameCalls(turn)
	if call.Purpose == trace.PurposeAnswer {
		r.turn = turn
	}
	if r.rec.on() {
		r.note(call, turnEvent(turn, turn.Usage))
	}
	for _, w := range turn.Warnings {
		r.emit(call.Step, trace.Warning{Code: w.Code, Message: w.Message})
	}
	return turn, nil
}

// UnnamedTool stands for the name of a call that came without one: no provider
// takes a call back whose name is empty (quirk QO-30). WarnNoName is the code of
// the warning.
const (
	UnnamedTool = "unnamed_tool"
	WarnNoName  = "missing_name"
)

// nameCalls gives calls without a name the placeholder. The turn was not handed
// out yet.
func nameCalls(turn *llm.Turn) {
	for i, p := range turn.Parts {
		if c, ok := p.(llm.ToolCall); ok && c.Name == "" {
			c.Name = UnnamedTool
			turn.Parts[i] = c
			turn.Warnings = append(turn.Warnings, llm.Warning{Code: WarnNoName, Message: "the call " + c.ID + " names no tool"})
		}
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

// read takes an answer's events as they come.
func (r *run) read(ctx context.Context, call *ModelCall) (err error) {
	defer contain("the model", "", &err)
	if r.take == nil {
		r.take = r.takeEvent // one for all answers
	}
	r.answer = answer{ctx: ctx, call: call, live: r.rec.live()}
	r.agent.model.Stream(ctx, call.Request)(r.take)
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

func turnEvent(t *llm.Turn, usage llm.Usage) trace.Body {
	return trace.ModelTurn{
		Message: t.Message(), Finish: t.Finish, RawFinish: t.RawFinish, FinishMessage: t.FinishMessage,
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
			Input: before.Input - u.Input, Output: before.Output - u.Output, Cached: before.Cached - u.Cached,
			CacheWrite: before.CacheWrite - u.CacheWrite, Reasoning: before.Reasoning - u.Reasoning,
		}
		r.res.UsageBy = map[trace.Purpose]llm.Usage{trace.PurposeAnswer: before}
	}
	r.res.UsageBy[p] = r.res.UsageBy[p].Add(u)
}
