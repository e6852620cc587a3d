package loop

import (
	"context"
	"fmt"
	"slices"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
)

// Ask makes a model call of a policy's own, such as a summary of the history or the
// repair of arguments: it is recorded under call.Purpose, which must not be that of
// the answer, its usage counts, and it is tried again as Config.Retry says. What it
// says goes to the policy alone. The request's messages need not be the history's.
//
// It is for BeforeStep, whose step then begins with it, AfterModel, Batch and
// AfterStep, on their own goroutine. Anywhere else it fails with ErrModelCallNotAllowed; a wrap
// around the model call has next for that.
func (s *StepInfo) CallModel(ctx context.Context, call ModelCall) (*llm.Response, error) {
	r := s.run
	switch {
	case call.Purpose == trace.PurposeAnswer:
		return nil, fmt.Errorf("loop: StepInfo.Ask needs a Purpose, such as trace.PurposeSummary; the answer itself is asked for by the loop")
	case call.Request == nil:
		return nil, fmt.Errorf("loop: StepInfo.Ask needs a Request")
	case r.shut.Load() || !r.inStep && !r.preparing || !r.gate.open():
		return nil, ErrModelCallNotAllowed
	}
	defer r.gate.set(false)
	r.beginStep(r.step)
	side := call // what a wrap of retries keeps in it is this call's
	if r.cfg.Retry.Max > 0 {
		return r.cfg.Retry.around(r.callModel, r.cfg.Rand)(ctx, &side)
	}
	return r.callModel(ctx, &side)
}

// Tools are the tools that this step offers and that its calls are looked up in.
func (s *StepInfo) Tools() []Tool { return slices.Clone(s.run.tools.list) }

// Offer makes others the tools of the run, from this step on: calls of those that
// were there before are calls of no tool then. It is for BeforeStep; the errors are
// those of New, and ErrToolsFixed anywhere else.
func (s *StepInfo) SetTools(tools []Tool) error {
	r := s.run
	if !r.preparing {
		return ErrToolsFixed
	}
	set, err := newToolSet(tools)
	if err != nil {
		return fmt.Errorf("loop: StepInfo.Offer: %w", err)
	}
	r.tools, r.defs = &set, set.definitions()
	r.request.Tools, s.Request.Tools = r.defs, r.defs
	return nil
}
