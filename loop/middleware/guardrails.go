package middleware

import (
	"cmp"
	"context"
	"fmt"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/trace"
)

// GuardrailKind is the position of a guardrail.
type GuardrailKind string

// Kinds of guardrails.
const (
	GuardInput  GuardrailKind = "input"  // checks the request before each model call
	GuardOutput GuardrailKind = "output" // checks each response before its calls are run
)

// Guardrail checks the requests for a model or its responses.
type Guardrail struct {
	Name string
	Kind GuardrailKind
	// Check must not change its argument. An error ends the run.
	Check func(ctx context.Context, c GuardrailCheck) (GuardrailResult, error)
}

// Valid returns an error if the guardrail has no Check or an unknown kind, because it would
// never run.
func (g Guardrail) Valid() error {
	switch {
	case g.Kind != GuardInput && g.Kind != GuardOutput:
		return fmt.Errorf("middleware: the guardrail %q has the Kind %q: want GuardInput or GuardOutput", g.Name, g.Kind)
	case g.Check == nil:
		return fmt.Errorf("middleware: the guardrail %q has no Check: set it", g.Name)
	}
	return nil
}

// GuardrailCheck is the input of a guardrail.
type GuardrailCheck struct {
	Step     int // counted from 0
	System   string
	Messages []llm.Message // of the request
	Response *llm.Response // nil for GuardInput
}

// GuardrailResult is the result of a guardrail.
type GuardrailResult struct {
	Pass bool
	// Tripwire ends the run if the check failed. It has no effect otherwise.
	Tripwire bool
	Reason   string
	Severity string // low, medium, high or critical
}

// GuardrailTrigger reports a failed check.
type GuardrailTrigger struct {
	Guardrail string        `json:"guardrail"`
	Kind      GuardrailKind `json:"kind"`
	Step      int           `json:"step"`
	Tripwire  bool          `json:"tripwire"`
	Reason    string        `json:"reason,omitempty"`
	Severity  string        `json:"severity,omitempty"`
}

// Guardrails runs the guardrails of a kind in order. A failed check is an event, and
// triggered, which may be nil, is called with it. The first failed check with a tripwire ends
// the run. After a failed output check, the response stays in the history with its calls
// pending; its deltas were already delivered. If a guardrail is not [Guardrail.Valid], the run
// fails before its first step.
func Guardrails(list []Guardrail, triggered func(context.Context, GuardrailTrigger) error) loop.Middleware {
	var invalid error
	for _, g := range list {
		invalid = cmp.Or(invalid, g.Valid())
	}
	check := func(ctx context.Context, s *loop.StepInfo, kind GuardrailKind, c GuardrailCheck) (loop.Decision, error) {
		for _, g := range list {
			if g.Kind != kind {
				continue
			}
			res, err := g.Check(ctx, c)
			if err == nil && !res.Pass {
				t := GuardrailTrigger{g.Name, kind, s.Step, res.Tripwire, res.Reason, res.Severity}
				if err = emitJSON(s, EventGuardrail, t); err == nil && triggered != nil {
					err = triggered(ctx, t)
				}
			}
			if err != nil || !res.Pass && res.Tripwire {
				return loop.Decision{Action: trace.Stop, Reason: ReasonGuardrail, Note: res.Reason}, err
			}
		}
		return loop.Decision{}, nil
	}
	return loop.Middleware{Name: "guardrails", New: func(loop.RunInfo) loop.Hooks {
		return loop.Hooks{
			Start: func(ctx context.Context) (context.Context, error) { return ctx, invalid },
			BeforeStep: func(ctx context.Context, s *loop.StepInfo) (loop.StepChange, error) {
				d, err := check(ctx, s, GuardInput, GuardrailCheck{s.Step, s.Request.System.Text(), s.History(), nil})
				return loop.StepChange{Decision: d}, err
			},
			AfterModel: func(ctx context.Context, s *loop.StepInfo, response *llm.Response) (loop.Decision, error) {
				return check(ctx, s, GuardOutput, GuardrailCheck{s.Step, s.Request.System.Text(), s.Request.Messages, response})
			},
		}
	}}
}
