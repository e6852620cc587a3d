package middleware

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/looptape/looptape/loop"
)

// HumanInTheLoop asks a person about calls before any call of their step is run, in the order
// of the calls. It applies only to the tools in rules; empty means all tools. An error of
// approve, and a decision that the rule does not allow, become an error result for the model.
// approve must honor its context.
//
// It skips calls that already have a result, such as invalid calls and duplicates of the step
// before. Edited arguments must match the tool's schema. Middleware that changes calls, such
// as [Repair], must come first: a call that becomes valid after the review is not run.
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
		var g callGate
		ended := false // nothing more is run
		decide := decideEach(func(ctx context.Context, s *loop.StepInfo, p loop.PlannedCall) ([]loop.CallDecision, error) {
			if ended {
				return nil, nil
			}
			rule := rules[p.Call.Name]
			rule.Allowed = slices.Clone(rule.Allowed)
			if rule.Allowed == nil {
				rule.Allowed = []ApprovalDecision{Approve, Reject}
			}
			a, err := approve(ctx, ApprovalRequest{Run: info.ID, Step: s.Step, Call: p.Call, Arguments: p.Arguments, ApprovalRule: rule})
			decision, effect := review(p, rule.Allowed, a, err)
			if ended = ctx.Err() != nil; ended {
				return effect, nil
			}
			return effect, emitJSON(s, EventHumanDecision, humanEvent{p.Call.ID, p.Call.Name, decision})
		})
		return loop.Hooks{WrapTool: g.wrap, BeforeTools: func(ctx context.Context, s *loop.StepInfo, calls []loop.PlannedCall) ([]loop.CallDecision, loop.Decision, error) {
			if len(rules) > 0 {
				calls = slices.DeleteFunc(slices.Clone(calls), func(p loop.PlannedCall) bool { _, ok := rules[p.Call.Name]; return !ok })
			}
			return decide(ctx, s, g.begin(calls))
		}}
	}}, nil
}

type humanEvent struct {
	Call     string           `json:"call"`
	Tool     string           `json:"tool"`
	Decision ApprovalDecision `json:"decision"`
}

// review returns the decision, empty if missing or invalid, and its effect. The runaway guard
// does not count a denied call.
func review(p loop.PlannedCall, allowed []ApprovalDecision, a Approval, err error) (ApprovalDecision, []loop.CallDecision) {
	switch {
	case err != nil:
		return "", substitute(p, ReasonDenied, "not run: no decision could be had: "+err.Error())
	case !slices.Contains(allowed, a.Decision):
		list := strings.ReplaceAll(strings.Trim(fmt.Sprint(allowed), "[]"), " ", ", ")
		return "", substitute(p, ReasonDenied, fmt.Sprintf("not run: the decision was %q, and for this tool there are %s", a.Decision, list))
	case a.Decision == Edit:
		return a.Decision, []loop.CallDecision{{Index: p.Index, Arguments: cmp.Or(a.Arguments, "{}")}}
	case a.Decision == Reject:
		text := "not run: the user rejected the call"
		if a.Reason != "" {
			text += ": " + a.Reason
		}
		return a.Decision, substitute(p, ReasonDenied, text)
	case a.Decision == Respond:
		return a.Decision, substitute(p, reasonResponded, a.Reason)
	}
	return a.Decision, nil
}
