package scenario

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/middleware"
)

func askUser(r *reader, arg fake.Value) (loop.Middleware, error) {
	return middleware.AskUser(r.explore.user(func(_ context.Context, questions []middleware.Question) ([]string, error) {
		return slices.Repeat([]string{arg.Text}, len(questions)), nil
	}))
}

// humanInTheLoop decides about the calls of the script's tools, one decision per call.
func humanInTheLoop(r *reader, arg fake.Value) (m loop.Middleware, err error) {
	var results []middleware.Approval
	for i, item := range arg.Items {
		name, text, err := single(item)
		v := middleware.Approval{Decision: middleware.ApprovalDecision(name), Reason: text.Text}
		switch v.Decision {
		case middleware.Approve, middleware.Reject, middleware.Respond:
		case middleware.Edit:
			v.Arguments = text.Text
		default:
			if err == nil {
				err = fmt.Errorf("unknown decision %q: want one of approve, edit, reject, respond", name)
			}
		}
		if err != nil {
			return m, at(item.Pos, fmt.Errorf("decision %d: %w", i+1, err))
		}
		results = append(results, v)
	}
	decide := func(context.Context, middleware.ApprovalRequest) (v middleware.Approval, err error) {
		if len(results) == 0 {
			return v, errors.New("no decision left in the script: add one per call")
		}
		v, results = results[0], results[1:]
		return v, nil
	}
	decide = r.explore.approver(decide, reviewAnswers)
	if r.version == 1 {
		return humanInTheLoopV1(r.tools, decide), nil
	}
	on := map[string]middleware.ApprovalRule{}
	for _, name := range r.tools {
		on[name] = middleware.ApprovalRule{Allowed: []middleware.ApprovalDecision{
			middleware.Approve, middleware.Edit, middleware.Reject, middleware.Respond,
		}}
	}
	return middleware.HumanInTheLoop(decide, on)
}

func summarize(r *reader, arg fake.Value) (m loop.Middleware, err error) {
	var z middleware.Summarizer
	err = r.fields(arg, map[string]func(fake.Value) error{
		"window": setInteger(&z.Window, 8), "keep_messages": setInteger(&z.KeepMessages, 1),
	})
	if err != nil {
		return m, err
	}
	return z.Middleware()
}
