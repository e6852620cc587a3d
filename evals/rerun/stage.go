package rerun

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/trace"
)

// stage is the recording between two user messages.
type stage struct {
	last  int // turn, of the path
	calls []madeCall
	// early counts the responses without calls before the last response.
	early int
	next  []llm.Message // what users said then
}

// open returns the first call that the rerun has not made, or nil.
func (s *stage) open() *madeCall {
	for i := range s.calls {
		if !s.calls[i].made {
			return &s.calls[i]
		}
	}
	return nil
}

// madeCall is a recorded call.
type madeCall struct {
	llm.ToolCall

	turn   int
	result *llm.ToolResult
	made   bool // by the rerun, too
}

// stages divides the recording at user messages.
func (p *path) stages() (list []*stage) {
	s := &stage{}
	for i, t := range p.turns {
		s.last = i
		for j, c := range t.calls {
			s.calls = append(s.calls, madeCall{ToolCall: c, turn: i, result: t.results[j]})
		}
		last := i == len(p.turns)-1
		if len(t.calls) == 0 && len(t.next) == 0 && !last {
			s.early++
		}
		if len(t.next) > 0 || last {
			s.next = t.next
			list = append(list, s)
			s = &stage{}
		}
	}
	return list
}

// modelRerun is the state of a rerun with a model.
type modelRerun struct {
	path              *path
	stages            []*stage // those that are not over, the first of them under way
	compare           *comparison
	continueOnUnknown bool
	early             int           // answers in this stage
	taken             []*madeCall   // for the calls of this step; nil for those not recorded
	heard             []llm.Message // user messages after results
	out               ModelRerun
}

func (x *modelRerun) hooks() loop.Hooks {
	return loop.Hooks{BeforeStep: x.before, AfterModel: x.response, BeforeTools: x.batch, AfterStep: x.after}
}

// before adds the user messages that came during tool calls to the history.
func (x *modelRerun) before(_ context.Context, s *loop.StepInfo) (c loop.StepChange, _ error) {
	if x.heard != nil {
		c.Messages, c.Note = slices.Concat(s.History(), x.heard), reasonRecorded
		x.heard = nil
	}
	return c, nil
}

// response compares a response with the recording.
func (x *modelRerun) response(_ context.Context, s *loop.StepInfo, t *llm.Response) (loop.Decision, error) {
	x.out.Steps++
	calls := t.Calls()
	if len(calls) == 0 {
		return x.answered(s, t), nil
	}
	x.taken = x.taken[:0]
	for _, c := range calls {
		x.taken = append(x.taken, x.take(c))
	}
	if i := slices.Index(x.taken, nil); x.out.Divergence == nil && i >= 0 {
		x.diverge(s, t, fmt.Sprintf("the call of %s is not recorded here, or not that often", newCall(calls[i])))
		if !x.continueOnUnknown {
			return loop.Decision{Action: trace.Stop, Reason: "left_record", Note: x.out.Divergence.Why}, nil
		}
	}
	return loop.Decision{}, nil
}

// take marks the first open recorded call that is equal; nil if there is none.
func (x *modelRerun) take(c llm.ToolCall) *madeCall {
	const none = "{}"
	calls := x.stages[0].calls
	for i := range calls {
		was := &calls[i]
		if was.made || was.Name != c.Name {
			continue
		}
		if same, _ := x.compare.same(c.Name, cmp.Or(was.Arguments, none), cmp.Or(c.Arguments, none)); same {
			was.made = true
			return was
		}
	}
	return nil
}

// answered returns the decision after a response without calls.
func (x *modelRerun) answered(s *loop.StepInfo, t *llm.Response) loop.Decision {
	st := x.stages[0]
	switch open := st.open(); {
	case x.out.Divergence != nil:
	case open == nil:
		if was := x.path.turns[st.last]; len(was.calls) == 0 && strings.TrimSpace(was.said.Message.Text()) != strings.TrimSpace(t.Text()) {
			x.out.Reworded++
		}
		if x.advance() {
			return loop.Decision{Action: trace.Continue, Reason: trace.ReasonContinuedResponse, Messages: st.next}
		}
	case x.early < st.early: // as recorded
		x.early++
		return loop.Decision{Action: trace.Continue, Reason: trace.ReasonContinuedResponse}
	default:
		x.diverge(s, t, fmt.Sprintf("the response has no calls; the recorded run called %s before", newCall(open.ToolCall)))
	}
	return loop.Decision{}
}

// advance begins the next stage, if there is one.
func (x *modelRerun) advance() bool {
	if len(x.stages) == 1 {
		return false
	}
	x.stages, x.early = x.stages[1:], 0
	return true
}

// diverge records the divergence.
func (x *modelRerun) diverge(s *loop.StepInfo, t *llm.Response, why string) {
	at := x.stages[0].last
	if open := x.stages[0].open(); open != nil {
		at = open.turn
	}
	was := x.path.turns[at]
	x.out.Divergence = &divergence{
		Step: s.Step, RecordedStep: at, Why: why,
		Recorded: newResponse(was.said.Message.Text(), was.calls), Now: newResponse(t.Text(), t.Calls()),
	}
}

// batch answers the calls of a step.
func (x *modelRerun) batch(_ context.Context, _ *loop.StepInfo, calls []loop.PlannedCall) (decisions []loop.CallDecision, d loop.Decision, err error) {
	for i, c := range calls {
		if was := x.taken[i]; was != nil {
			decisions = append(decisions, answer(c, was.result))
			continue
		}
		out := loop.TextOutput(unrecordedText)
		out.IsError = true
		decisions = append(decisions, loop.CallDecision{Index: c.Index, Output: &out, Reason: "unrecorded"})
	}
	return decisions, d, nil
}

// after ends a stage that ends with calls.
func (x *modelRerun) after(context.Context, *loop.StepInfo, *loop.Step) (loop.Decision, error) {
	st := x.stages[0]
	if x.out.Divergence != nil || st.open() != nil || len(x.path.turns[st.last].calls) == 0 {
		return loop.Decision{}, nil
	}
	if !x.advance() {
		return x.path.end(len(x.path.turns) - 1), nil
	}
	x.heard = st.next
	return loop.Decision{}, nil
}
