package looptest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/looptape/looptape/llm"
)

// approvals counts the questions about equal calls, and the approvals.
type approvals struct{ asked, given int }

const hangs = "hangs until its context ends"

var approvalFaults = []string{"", "is denied", "fails", hangs}

// approve implements Input.Approve.
func (r *exploredRun) approve(ctx context.Context, call llm.ToolCall) (bool, error) {
	count := func(asked, given int) {
		r.mu.Lock()
		defer r.mu.Unlock()
		k := keyOf(call.Name, call.Arguments)
		a := r.approvals[k]
		r.approvals[k] = approvals{a.asked + asked, a.given + given}
	}
	count(1, 0)
	i, err := r.decide(ctx, "approval", entry{call.Name, call.Arguments}.label(), approvalFaults)
	switch {
	case err != nil:
		return false, err
	case i == 0:
		count(0, 1)
	case approvalFaults[i] == "fails":
		r.setChosen()
		return false, errors.New("the approver failed")
	}
	return i == 0, nil
}

// choose implements Input.Choose.
func (r *exploredRun) choose(ctx context.Context, name string, options ...string) (string, error) {
	if err := checkOptions(name, options); err != nil {
		return "", err
	}
	faults := append(append([]string{""}, options[1:]...), hangs)
	i, err := r.decide(ctx, "choice", name, faults)
	if err != nil {
		return "", err
	}
	if i > 0 {
		r.setChosen()
	}
	return options[i], nil
}

// checkOptions returns an error for options that a report could not name.
func checkOptions(name string, options []string) error {
	if len(options) == 0 {
		return fmt.Errorf("looptest: Input.Choose %q has no options", name)
	}
	for i, o := range options {
		if i > 0 && o == "" || slices.Contains(options[:i], o) {
			return fmt.Errorf("looptest: Input.Choose %q: the option %q is empty or repeated", name, o)
		}
	}
	return nil
}

// decide waits for one of the answers of a person or of something else outside the loop. The last one hangs.
func (r *exploredRun) decide(ctx context.Context, at, name string, faults []string) (int, error) {
	if r.over() {
		return 0, errReleased
	}
	ctx, stop := r.untilOver(ctx)
	defer stop()
	r.mu.Lock()
	n := r.decisions
	r.decisions++
	r.mu.Unlock()
	r.limit(n, r.maxToolCalls, "calls of Input.Approve and Input.Choose")
	i, _, err := r.world.Await(ctx, at, name, faults)
	if err == nil && i == len(faults)-1 {
		r.setChosen()
		err = r.world.Hang(ctx)
	}
	return i, err
}

func (r *exploredRun) setChosen() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.chosen = true
}

// denied reports whether an equal call was not approved.
func (r *exploredRun) denied(e entry) bool {
	if len(r.approvals) == 0 {
		return false
	}
	a := r.approvals[keyOf(e.name, e.args)]
	return a.asked > a.given
}

// someDenied reports whether a call was not approved.
func (r *exploredRun) someDenied() bool {
	for _, a := range r.approvals {
		if a.asked > a.given {
			return true
		}
	}
	return false
}

// approve approves each call of a case.
func approve(ctx context.Context, _ llm.ToolCall) (bool, error) {
	return ctx.Err() == nil, context.Cause(ctx)
}

// choose returns the first option in a case.
func choose(ctx context.Context, name string, options ...string) (string, error) {
	if err := checkOptions(name, options); err != nil {
		return "", err
	}
	return options[0], context.Cause(ctx)
}
