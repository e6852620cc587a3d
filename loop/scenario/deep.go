package scenario

import (
	"context"
	"errors"
	"fmt"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/files"
	"github.com/looptape/looptape/loop/middleware"
)

// deepKinds are the policies of deep agents, with people that follow a script.
func deepKinds() []policyKind {
	return []policyKind{
		{"todos", "", func(*reader, fake.Value) (loop.Middleware, error) { return middleware.Todos() }},
		{"files", "", func(*reader, fake.Value) (loop.Middleware, error) {
			return middleware.Files(func(loop.RunInfo) files.Backend { return &files.Memory{} })
		}},
		{"ask_user", "the answer to each question", func(_ *reader, arg fake.Value) (loop.Middleware, error) { return askUser(arg) }},
		{"human_in_the_loop", "a list of approve, edit: ARGS, reject: REASON, respond: TEXT", human},
		{"summarize", "{window, keep}", func(_ *reader, arg fake.Value) (loop.Middleware, error) { return summarize(arg) }},
		{"cut_results", "a number of characters", func(_ *reader, arg fake.Value) (loop.Middleware, error) {
			n, err := integer(arg, 1)
			return middleware.TruncateResults(n), at(arg.Pos, err)
		}},
	}
}

func askUser(arg fake.Value) (loop.Middleware, error) {
	if err := kind(arg, fake.Text); err != nil {
		return loop.Middleware{}, at(arg.Pos, err)
	}
	return middleware.AskUser(func(_ context.Context, questions []middleware.Question) ([]string, error) {
		answers := make([]string, len(questions))
		for i := range answers {
			answers[i] = arg.Text
		}
		return answers, nil
	})
}

// human decides about calls of the script's tools by a list, one decision a call.
func human(r *reader, arg fake.Value) (loop.Middleware, error) {
	if err := kind(arg, fake.List); err != nil {
		return loop.Middleware{}, at(arg.Pos, err)
	}
	var verdicts []middleware.HumanResult
	for i, item := range arg.Items {
		name, text, err := single(item)
		v := middleware.HumanResult{Decision: middleware.HumanDecision(name), Message: text.Text}
		switch v.Decision {
		case middleware.HumanApprove, middleware.HumanReject, middleware.HumanRespond:
		case middleware.HumanEdit:
			v.Arguments = text.Text
		default:
			if err == nil {
				err = fmt.Errorf("there is no decision %q; there are approve, edit, reject, respond", name)
			}
		}
		if err != nil {
			return loop.Middleware{}, at(item.Pos, fmt.Errorf("decision %d: %w", i+1, err))
		}
		verdicts = append(verdicts, v)
	}
	on := map[string]middleware.HumanRule{}
	for _, name := range r.tools {
		on[name] = middleware.HumanRule{Allowed: []middleware.HumanDecision{
			middleware.HumanApprove, middleware.HumanEdit, middleware.HumanReject, middleware.HumanRespond,
		}}
	}
	return middleware.HumanInTheLoop(func(context.Context, middleware.HumanReview) (v middleware.HumanResult, err error) {
		if len(verdicts) == 0 {
			return v, errors.New("the script has no decision left")
		}
		v, verdicts = verdicts[0], verdicts[1:]
		return v, nil
	}, on)
}

func summarize(arg fake.Value) (loop.Middleware, error) {
	var cfg middleware.SummaryConfig
	err := fields(arg, map[string]func(fake.Value) error{
		"window": func(v fake.Value) (err error) { cfg.Window, err = integer(v, 8); return err },
		"keep":   func(v fake.Value) (err error) { cfg.KeepMessages, err = integer(v, 1); return err },
	})
	if err != nil {
		return loop.Middleware{}, at(arg.Pos, err)
	}
	z, err := middleware.NewSummarizer(&cfg)
	if err != nil {
		return loop.Middleware{}, at(arg.Pos, err)
	}
	return z.Middleware(), nil
}
