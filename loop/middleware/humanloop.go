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

// HumanDecision is the decision of a person about a call.
type HumanDecision string

// Decisions of a person.
const (
	HumanApprove HumanDecision = "approve" // run it
	HumanEdit    HumanDecision = "edit"    // run it with other arguments
	HumanReject  HumanDecision = "reject"  // do not run it; the model gets an error
	HumanRespond HumanDecision = "respond" // do not run it; the result is the person's text
)

// HumanReview is a call that needs the decision of a person.
type HumanReview struct {
	Run       string // the name of the run or of the run of a sub-agent
	ID, Name  string // of the call and its tool
	Arguments string // a JSON object that the schema allows
	// Description is that of the rule.
	Description string
	// Allowed lists the allowed decisions.
	Allowed []HumanDecision
}

// HumanResult is the decision of a person with its details.
type HumanResult struct {
	Decision  HumanDecision
	Arguments string // for HumanEdit: the complete arguments, a JSON object
	Message   string // for HumanReject the reason, may be empty; for HumanRespond the result
}

// HumanFunc asks a person about a call and waits. If it returns an error, the call is not run.
// It must honor its context.
type HumanFunc func(ctx context.Context, call HumanReview) (HumanResult, error)

// HumanRule configures the reviews of the calls of a tool.
type HumanRule struct {
	// Allowed lists the allowed decisions; nil means approve and reject.
	Allowed     []HumanDecision
	Description string // text for the person
}

// HumanEvent is the name of the event of a decision. Its data has the id and the name of the
// call, and the decision.
const HumanEvent = "human_decision"

// HumanInTheLoop asks a person about calls before any call of their step is run, one after
// another in the order of the calls. It applies only to the tools in on, with their rules;
// empty means all tools. An error of ask, and a decision that the rule does not allow, become
// an error result for the model.
//
// It skips calls that already have a result: invalid calls, duplicates of the step before, and
// calls with a substitute output from earlier middleware. Edited arguments must match the
// tool's schema. Middleware that changes calls, such as [Repair], must come before
// HumanInTheLoop: a call that becomes valid after the review is not run.
func HumanInTheLoop(ask HumanFunc, on map[string]HumanRule) (loop.Middleware, error) {
	if ask == nil {
		return loop.Middleware{}, errors.New("middleware: HumanInTheLoop needs a function that asks, got nil")
	}
	return loop.Middleware{Name: "human_in_the_loop", New: func(info loop.RunInfo) loop.Hooks {
		var passed passes
		return loop.Hooks{WrapTool: passed.wrap, BeforeTools: func(ctx context.Context, s *loop.StepInfo, calls []loop.PlannedCall) (decisions []loop.CallDecision, d loop.Decision, err error) {
			passed.begin()
			for _, p := range calls {
				rule, listed := on[p.Call.Name]
				if len(on) > 0 && !listed {
					continue
				}
				if p.Output != nil {
					passed.stop(p)
					continue
				}
				decision, effect := ask.decide(ctx, info.ID, p, rule)
				decisions = append(decisions, effect...)
				if over(ctx) { // the run has ended, so nothing is run
					return decisions, d, nil
				}
				if err := emitJSON(s, HumanEvent, humanTold{p.Call.ID, p.Call.Name, decision}); err != nil {
					return nil, d, err
				}
			}
			return decisions, d, nil
		}}
	}}, nil
}

// humanTold is the data of a HumanEvent.
type humanTold struct {
	Call     string        `json:"call"`
	Tool     string        `json:"tool"`
	Decision HumanDecision `json:"decision"`
}

// causeResponded is the reason of a call that a person answered. A rejected call has
// [ReasonDenied], which the runaway guard does not count as a failure of the tool.
const causeResponded = "respond"

// decide asks about a call and applies the decision. The returned decision is empty if it is
// missing or invalid.
func (ask HumanFunc) decide(ctx context.Context, run string, p loop.PlannedCall, rule HumanRule) (HumanDecision, []loop.CallDecision) {
	allowed := rule.Allowed
	if allowed == nil {
		allowed = []HumanDecision{HumanApprove, HumanReject}
	}
	v, err := ask(ctx, HumanReview{Run: run, ID: p.Call.ID, Name: p.Call.Name, Arguments: p.Arguments, Description: rule.Description, Allowed: slices.Clone(allowed)})
	deny := func(text string) []loop.CallDecision {
		return []loop.CallDecision{answer(p, ReasonDenied, true, text)}
	}
	switch {
	case err != nil:
		return "", deny("not run: no decision could be had: " + err.Error())
	case !slices.Contains(allowed, v.Decision):
		return "", deny(fmt.Sprintf("not run: the decision was %q, and for this tool there are %s", v.Decision, joined(allowed)))
	}
	switch v.Decision {
	case HumanApprove:
	case HumanEdit:
		return v.Decision, []loop.CallDecision{{Index: p.Index, Arguments: cmp.Or(v.Arguments, "{}")}}
	case HumanReject:
		text := "not run: the user rejected the call"
		if v.Message != "" {
			text += ": " + v.Message
		}
		return v.Decision, deny(text)
	case HumanRespond:
		return v.Decision, []loop.CallDecision{answer(p, causeResponded, false, v.Message)}
	}
	return v.Decision, nil
}

func joined(list []HumanDecision) string {
	words := make([]string, len(list))
	for i, d := range list {
		words[i] = string(d)
	}
	return strings.Join(words, ", ")
}
