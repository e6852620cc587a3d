package scenario

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/middleware"
)

// permissions denies some tools, makes scripted decisions about others, and allows the rest.
func permissions(r *reader, arg fake.Value) (m loop.Middleware, err error) {
	rules, decisions := map[string]middleware.Permission{}, map[string]middleware.ApprovalDecision{}
	for _, f := range arg.Fields {
		if rules[f.Name], decisions[f.Name], err = permission(f.Value); err != nil {
			return m, at(f.Value.Pos, fmt.Errorf("%s: %w", f.Name, err))
		}
	}
	policy := middleware.PermissionPolicy(func(_ context.Context, req middleware.PermissionRequest) (middleware.Permission, error) {
		rule, named := rules[req.Tool]
		rule.Allow = !named
		return rule, nil
	})
	approve := func(_ context.Context, req middleware.ApprovalRequest) (middleware.Approval, error) {
		return middleware.Approval{Decision: decisions[req.Call.Name]}, nil
	}
	approvals := &middleware.Approvals{Approve: r.explore.approver(approve, permissionAnswers)}
	r.explore.keepApprovals(approvals)
	return middleware.Permissions(policy, approvals), nil
}

func permission(v fake.Value) (rule middleware.Permission, decision middleware.ApprovalDecision, err error) {
	name, arg, err := single(v)
	switch {
	case err != nil:
		return rule, "", err
	case name == "deny" && arg.Kind == fake.Null:
		return rule, "", nil
	case name != "ask":
		return rule, "", fmt.Errorf("expected deny, or ask: with a decision")
	}
	words := []string{string(middleware.Approve), string(middleware.Skip), string(middleware.Deny), string(middleware.Suspend)}
	return middleware.Permission{Ask: true}, middleware.ApprovalDecision(arg.Text), oneOf(arg, words...)
}

// guardrail searches the last message of the request, or the response, for a string.
func guardrail(r *reader, arg fake.Value) (loop.Middleware, error) {
	rail := middleware.Guardrail{Name: "guardrail", Kind: middleware.GuardInput}
	result, match := middleware.GuardrailResult{Tripwire: true}, ""
	err := r.fields(arg, map[string]func(fake.Value) error{
		"kind": func(v fake.Value) error {
			rail.Kind = middleware.GuardrailKind(v.Text)
			return oneOf(v, string(middleware.GuardInput), string(middleware.GuardOutput))
		},
		"match":  setText(&match),
		"reason": setText(&result.Reason),
		"tripwire": func(v fake.Value) error {
			result.Tripwire = v.Text == "true"
			return kind(v, fake.Bool)
		},
	})
	if err == nil && match == "" {
		err = errors.New("missing key match: set the string that the guardrail searches for")
	}
	rail.Check = func(_ context.Context, c middleware.GuardrailCheck) (middleware.GuardrailResult, error) {
		m := c.Messages[len(c.Messages)-1]
		if c.Response != nil {
			m = c.Response.Message()
		}
		checked := result
		checked.Pass = !strings.Contains(m.Text(), match)
		return checked, nil
	}
	return middleware.Guardrails([]middleware.Guardrail{rail}, nil), err
}
