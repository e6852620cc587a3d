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

// stage is the recorded path from one message of users to the next.
type stage struct {
	last  int // turn, of the path
	calls []madeCall
	// early is how often the model answered without a call before its last turn.
	early int
	next  []llm.Message // what users said then
}

// open is the first call that was not made yet; nil if all were.
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

// stages cuts the path where users spoke.
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

// modelRerun is a rerun with a model under way.
type modelRerun struct {
	path    *path
	stages  []*stage // those that are not over, the first of them under way
	compare *comparison
	goOn    bool
	early   int           // answers in this stage
	taken   []*madeCall   // for the calls of this step; nil for those not recorded
	heard   []llm.Message // what users said behind results
	out     ModelRerun
}

func (x *modelRerun) hooks() loop.Hooks {
	return loop.Hooks{BeforeStep: x.before, AfterModel: x.turn, BeforeTools: x.batch, AfterStep: x.after}
}

// before adds to the history what users said while tools had the word.
func (x *modelRerun) before(_ context.Context, s *loop.StepInfo) (c loop.StepChange, _ error) {
	if x.heard != nil {
		c.Messages, c.Note = slices.Concat(s.History(), x.heard), causeRecorded
		x.heard = nil
	}
	return c, nil
}

// turn holds a turn of the model against the record.
func (x *modelRerun) turn(_ context.Context, s *loop.StepInfo, t *llm.Response) (loop.Decision, error) {
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
		x.leave(s, t, fmt.Sprintf("it calls %s, which was not called then, or not so often", turnCall(calls[i])))
		if !x.goOn {
			return loop.Decision{Action: trace.Stop, Reason: "left_record", Note: x.out.Divergence.Why}, nil
		}
	}
	return loop.Decision{}, nil
}

// take takes the first recorded call of the stage that is the same and was not made yet;
// nil if there is none.
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

// answered is what follows a turn without calls.
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
	case x.early < st.early: // as it did then
		x.early++
		return loop.Decision{Action: trace.Continue, Reason: trace.ReasonContinuedResponse}
	default:
		x.leave(s, t, fmt.Sprintf("it answers, and %s was called before that then", turnCall(open.ToolCall)))
	}
	return loop.Decision{}
}

// advance goes to the next stage, if there is one.
func (x *modelRerun) advance() bool {
	if len(x.stages) == 1 {
		return false
	}
	x.stages, x.early = x.stages[1:], 0
	return true
}

// leave notes where the run leaves the recorded path.
func (x *modelRerun) leave(s *loop.StepInfo, t *llm.Response, why string) {
	at := x.stages[0].last
	if open := x.stages[0].open(); open != nil {
		at = open.turn
	}
	was := x.path.turns[at]
	x.out.Divergence = &Divergence{
		Step: s.Step, RecordedStep: at, Why: why,
		Recorded: turnOf(was.said.Message.Text(), was.calls), Now: turnOf(t.Text(), t.Calls()),
	}
}

// batch answers the calls of a step.
func (x *modelRerun) batch(_ context.Context, _ *loop.StepInfo, calls []loop.PlannedCall) (decisions []loop.CallDecision, d loop.Decision, err error) {
	for i, c := range calls {
		if was := x.taken[i]; was != nil {
			decisions = append(decisions, answer(c, was.result))
			continue
		}
		out := loop.TextOutput(UnrecordedText)
		out.IsError = true
		decisions = append(decisions, loop.CallDecision{Index: c.Index, Output: &out, Reason: "unrecorded"})
	}
	return decisions, d, nil
}

// after ends a stage that ended with calls.
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
