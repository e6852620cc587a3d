package loop

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
)

// Resume says what a run goes on with whose Input.Messages end with calls that have no
// results: the calls are checked, shown to the policies and run as those of a turn
// are, before the first step. Call.Step and StepInfo.Step are -1 meanwhile, and no cap
// counts them.
type Resume struct {
	Of string // the name of the run that was suspended
	// Then are messages that come behind the results. They are among Result.Messages.
	Then []llm.Message
}

// resume runs the calls that a resumed run was left with.
func (r *run) resume() (stop bool, err error) {
	in := r.in.Resume
	if in == nil {
		return false, nil
	}
	r.emit(trace.NoStep, trace.Resumed{Of: in.Of})
	if r.ended(trace.NoStep) {
		return true, r.decideEnd(trace.NoStep)
	}
	r.step = trace.NoStep
	s := r.frame()
	s.Step, s.Request, s.run = trace.NoStep, &r.request, r
	next, plans, err := r.launch(s, &llm.Response{}, pendingOf(r.history))
	if err != nil {
		return true, r.fail(trace.NoStep, err)
	}
	if plans == nil {
		return true, next.Err
	}
	r.runCalls(s, plans)
	r.appendResults(s, plans)
	if slices.ContainsFunc(plans, func(p *planned) bool { return p.held }) {
		r.decide(trace.NoStep, Decision{Action: trace.Stop, Reason: trace.ReasonClientTools}, "", true)
		return true, nil
	}
	return false, r.goOnWith(in.Then)
}

// goOnWith puts what follows behind the results of a resumed run, which are put in the
// order of their calls.
func (r *run) goOnWith(then []llm.Message) error {
	for _, m := range then {
		r.append(m)
	}
	odd, err := checkHistory(r.history, false)
	if err != nil {
		return r.fail(trace.NoStep, err)
	}
	if odd != nil {
		mended, warnings := mendHistory(r.history, &r.ids)
		r.rewrite(mended)
		r.warn(trace.NoStep, warnings)
	}
	return nil
}

// runCalls runs the calls of a step.
func (r *run) runCalls(s *StepInfo, plans []*planned) {
	r.at, r.open = s, plans
	r.shut.Store(true)
	r.dispatch(plans)
	r.shut.Store(r.lost)
}

// suspend records that the run waits for somebody outside.
func (r *run) suspend(step int) {
	if !r.rec.on() {
		return
	}
	sum := sha256.New()
	for i := range r.history {
		sum.Write(r.history[i].AppendJSON(nil))
	}
	waits := trace.Suspended{Digest: hex.EncodeToString(sum.Sum(nil))}
	for _, c := range pendingOf(r.history) {
		waits.Pending = append(waits.Pending, c.ID)
	}
	r.emit(step, waits)
}

// pendingOf are the calls of the last turn that have no results.
func pendingOf(history []llm.Message) []llm.ToolCall {
	n := len(history) - 1
	for n >= 0 && history[n].Role == llm.RoleTool {
		n--
	}
	if n < 0 || history[n].Role != llm.RoleAssistant {
		return nil
	}
	calls := history[n].Calls()
	var open waiting
	for _, c := range calls {
		open.call(c.ID)
	}
	for _, m := range history[n+1:] {
		for _, p := range m.Parts {
			if res, ok := p.(llm.ToolResult); ok {
				open.result(res.ID)
			}
		}
	}
	var left []llm.ToolCall
	for k, c := range calls {
		if !open.has[k] {
			left = append(left, c)
		}
	}
	return left
}
