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

// HumanDecision is what a person wants to become of a call.
type HumanDecision string

// The decisions.
const (
	HumanApprove HumanDecision = "approve" // run it
	HumanEdit    HumanDecision = "edit"    // run it with other arguments
	HumanReject  HumanDecision = "reject"  // do not run it; the model gets an error
	HumanRespond HumanDecision = "respond" // do not run it; the model gets the person's words as its result
)

// HumanReview is a call that a person is asked about.
type HumanReview struct {
	Run       string // the name of the run, which may be that of a sub-agent
	ID, Name  string // of the call and its tool
	Arguments string // a JSON object that the tool takes
	// Description is that of the rule.
	Description string
	// Allowed are the decisions that there are.
	Allowed []HumanDecision
}

// HumanResult is a person's decision.
type HumanResult struct {
	Decision  HumanDecision
	Arguments string // of an edit: the whole arguments, a JSON object
	Message   string // of a rejection the reason, which may be empty; of a response the result
}

// HumanFunc asks a person about a call and waits. An error means that the call is not
// run. It has to heed its context.
type HumanFunc func(ctx context.Context, call HumanReview) (HumanResult, error)

// HumanRule says how calls of a tool are asked about.
type HumanRule struct {
	// Allowed are the decisions that a person has; nil means to approve and to reject.
	Allowed     []HumanDecision
	Description string // tells the person what is asked
}

// HumanEvent is the name of the event that tells a decision: the id and the name of
// the call, and the decision.
const HumanEvent = "human_decision"

// HumanInTheLoop asks a person about calls before any of their step is run: one after
// another, in the order of the calls. Only those of the tools in on are asked about,
// by its rules; with none in it, all are. A decision that the rule does not allow, and
// an error of ask, is an error result for the model.
//
// A call that has its answer is not asked about: one that cannot be run, that repeats
// the step before, or that a policy before this one has answered. The arguments of an
// edit are held against the tool's schema like a model's own. Policies that change what
// is run, such as Repair, belong in front: a call that could not be run when it would
// have been asked about, and can be now, is not run.
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
				if over(ctx) { // nothing is run any more
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

// causeResponded is the cause of a call that a person has answered. One that was refused
// is denied, which the loop's guard knows: it is no failure of the tool.
const causeResponded = "respond"

// decide asks about a call and does what is decided; the decision is empty if there
// was none that counts.
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
