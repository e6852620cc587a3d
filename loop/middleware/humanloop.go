package middleware

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
)

// HumanInTheLoop asks a person about each call when the call comes to its place around the
// tool: earlier middleware gets the call before the person and its result after it, and may
// answer the call itself. It asks one question at a time, in the order of the calls.
// It applies only to the tools in rules; empty means all tools. An error of approve, and a
// decision that the rule does not allow, become an error result for the model. approve must
// honor its context.
//
// Calls that the loop does not run need no decision, such as invalid calls and duplicates of the
// step before. Edited arguments must match the tool's schema. The decisions of a step are events
// after its results.
//
// HumanInTheLoop returns an error if approve is nil or a rule allows an unknown decision.
func HumanInTheLoop(approve func(ctx context.Context, req ApprovalRequest) (Approval, error), rules map[string]ApprovalRule) (m loop.Middleware, err error) {
	if approve == nil {
		return m, errors.New("middleware: HumanInTheLoop: missing function: set approve")
	}
	for name, rule := range rules {
		for _, d := range rule.Allowed {
			if !slices.Contains([]ApprovalDecision{Approve, Edit, Reject, Respond}, d) {
				return m, fmt.Errorf("middleware: HumanInTheLoop: the rule of %q allows %q: want approve, edit, reject or respond", name, d)
			}
		}
	}
	return loop.Middleware{Name: "human_in_the_loop", New: func(info loop.RunInfo) loop.Hooks {
		r := &review{run: info.ID, approve: approve, rules: rules}
		return loop.Hooks{BeforeTools: r.keep, WrapTool: r.wrap, AfterStep: r.emit}
	}}, nil
}

// review asks a person about the calls of a run.
type review struct {
	run     string
	approve func(ctx context.Context, req ApprovalRequest) (Approval, error)
	rules   map[string]ApprovalRule

	mu      sync.Mutex
	calls   map[string]llm.ToolCall // of the step, by id
	decided []humanEvent
}

func (r *review) keep(_ context.Context, _ *loop.StepInfo, calls []loop.PlannedCall) (all []loop.CallDecision, d loop.Decision, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = map[string]llm.ToolCall{}
	for _, p := range calls {
		r.calls[p.Call.ID] = p.Call
	}
	return nil, d, nil
}

func (r *review) wrap(next loop.ToolFunc) loop.ToolFunc {
	return func(ctx context.Context, call loop.Call) (loop.Output, error) {
		rule, ok := r.rules[call.Name]
		if len(r.rules) > 0 && !ok {
			call.InOrder(nil)
			return next(ctx, call)
		}
		if rule.Allowed = slices.Clone(rule.Allowed); rule.Allowed == nil {
			rule.Allowed = []ApprovalDecision{Approve, Reject}
		}
		var a Approval
		var err error
		call.InOrder(func() { a, err = r.ask(ctx, call, rule) })
		if ctx.Err() != nil {
			return loop.Output{}, context.Cause(ctx)
		}
		answer, decision := outcomeOf(&call, rule.Allowed, a, err)
		r.note(humanEvent{call.ID, call.Name, decision, call.Index})
		if answer != nil {
			return *answer, nil
		}
		return next(ctx, call)
	}
}

// ask asks about a call, unless the run has ended.
func (r *review) ask(ctx context.Context, call loop.Call, rule ApprovalRule) (Approval, error) {
	if ctx.Err() != nil {
		return Approval{}, context.Cause(ctx)
	}
	r.mu.Lock()
	sent := r.calls[call.ID]
	r.mu.Unlock()
	return r.approve(ctx, ApprovalRequest{Run: r.run, Step: call.Step, Call: sent, Arguments: call.Arguments, ApprovalRule: rule})
}

func (r *review) note(e humanEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.decided = append(r.decided, e)
}

// emit adds the decisions of a step to the trace, in the order of the calls.
func (r *review) emit(_ context.Context, s *loop.StepInfo, _ *loop.Step) (d loop.Decision, err error) {
	r.mu.Lock()
	decided := r.decided
	r.decided = nil
	r.mu.Unlock()
	sort.SliceStable(decided, func(i, j int) bool { return decided[i].index < decided[j].index })
	for _, e := range decided {
		if err := emitJSON(s, EventHumanDecision, e); err != nil {
			return d, err
		}
	}
	return d, nil
}

type humanEvent struct {
	Call     string           `json:"call"`
	Tool     string           `json:"tool"`
	Decision ApprovalDecision `json:"decision"`
	index    int
}

// outcomeOf returns the decision, empty if missing or invalid. It edits the call, or returns the
// answer of a call that is not run.
func outcomeOf(call *loop.Call, allowed []ApprovalDecision, a Approval, err error) (*loop.Output, ApprovalDecision) {
	answer := func(text string, isError bool) *loop.Output {
		out := loop.TextOutput(text)
		out.IsError = isError
		return &out
	}
	switch {
	case err != nil:
		return answer("not run: no decision could be had: "+err.Error(), true), ""
	case !slices.Contains(allowed, a.Decision):
		list := strings.ReplaceAll(strings.Trim(fmt.Sprint(allowed), "[]"), " ", ", ")
		return answer(fmt.Sprintf("not run: the decision was %q, and for this tool there are %s", a.Decision, list), true), ""
	case a.Decision == Edit:
		call.Arguments = cmp.Or(a.Arguments, "{}")
	case a.Decision == Reject:
		text := "not run: the user rejected the call"
		if a.Reason != "" {
			text += ": " + a.Reason
		}
		return answer(text, true), a.Decision
	case a.Decision == Respond:
		return answer(a.Reason, false), a.Decision
	}
	return nil, a.Decision
}
