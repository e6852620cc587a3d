package scenario

import (
	"context"
	"fmt"
	"strings"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/middleware"
)

// gateKinds are the policies that keep things from a model, and from being run.
func gateKinds() []policyKind {
	return []policyKind{
		{"permissions", "{TOOL: deny, or ask: with approve, skip, deny or suspend}", func(_ *reader, arg fake.Value) (loop.Middleware, error) { return permissions(arg) }},
		{"guardrail", "{kind, match, reason, tripwire}", func(_ *reader, arg fake.Value) (loop.Middleware, error) { return guardrail(arg) }},
	}
}

// permissions refuses the calls of some tools, and asks about those of others, of
// which it is known what will be decided. All others are allowed.
func permissions(arg fake.Value) (loop.Middleware, error) {
	rules, verdicts := map[string]middleware.Permission{}, map[string]middleware.ApprovalDecision{}
	if err := kind(arg, fake.Map); err != nil {
		return loop.Middleware{}, at(arg.Pos, err)
	}
	for _, f := range arg.Fields {
		rule, verdict, err := permission(f.Value)
		if err != nil {
			return loop.Middleware{}, at(f.Value.Pos, fmt.Errorf("%s: %w", f.Name, err))
		}
		rules[f.Name], verdicts[f.Name] = rule, verdict
	}
	policy := middleware.PermissionFunc(func(_ context.Context, req middleware.PermissionRequest) (middleware.Permission, error) {
		rule, named := rules[req.Tool]
		rule.Allow = !named
		return rule, nil
	})
	approve := func(_ context.Context, req middleware.ApprovalRequest) (middleware.Approval, error) {
		return middleware.Approval{Decision: verdicts[req.Call.Name]}, nil
	}
	return middleware.Permissions(policy, &middleware.Approvals{Approve: approve}), nil
}

func permission(v fake.Value) (rule middleware.Permission, verdict middleware.ApprovalDecision, err error) {
	name, arg, err := single(v)
	switch {
	case err != nil:
		return rule, "", err
	case name == "deny" && arg.Kind == fake.Null:
		return rule, "", nil
	case name != "ask":
		return rule, "", fmt.Errorf("expected deny, or ask: with a verdict")
	}
	words := []string{string(middleware.Approve), string(middleware.Skip), string(middleware.Deny), string(middleware.Suspend)}
	return middleware.Permission{Ask: true}, middleware.ApprovalDecision(arg.Text), oneOf(arg, words...)
}

// guardrail looks for a text in the last message that will be sent, or in the answer.
func guardrail(arg fake.Value) (loop.Middleware, error) {
	rail := middleware.Guardrail{Name: "guardrail", Kind: middleware.GuardInput}
	verdict, match := middleware.GuardrailResult{Tripwire: true}, ""
	text := func(to *string) func(fake.Value) error {
		return func(v fake.Value) error {
			*to = v.Text
			return kind(v, fake.Text)
		}
	}
	err := fields(arg, map[string]func(fake.Value) error{
		"kind": func(v fake.Value) error {
			rail.Kind = middleware.GuardrailKind(v.Text)
			return oneOf(v, string(middleware.GuardInput), string(middleware.GuardOutput))
		},
		"match":  text(&match),
		"reason": text(&verdict.Reason),
		"tripwire": func(v fake.Value) error {
			verdict.Tripwire = v.Text == "true"
			return kind(v, fake.Bool)
		},
	})
	if err == nil && match == "" {
		err = fmt.Errorf("match is missing: the text that the guardrail looks for")
	}
	if err != nil {
		return loop.Middleware{}, at(arg.Pos, err)
	}
	rail.Check = func(_ context.Context, c middleware.GuardrailCheck) (v middleware.GuardrailResult, err error) {
		said := c.Messages[len(c.Messages)-1]
		if c.Response != nil {
			said = c.Response.Message()
		}
		v = verdict
		v.Pass = !strings.Contains(said.Text(), match)
		return v, nil
	}
	return middleware.Guardrails([]middleware.Guardrail{rail}, nil), nil
}
