package middleware

import (
	"cmp"
	"context"
	"fmt"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/trace"
)

// ReasonGuardrail is the stop reason of a run that a guardrail ended. Its Note is the
// guardrail's reason.
const ReasonGuardrail trace.Reason = "guardrail"

// EventGuardrail is the name of the event of a failed check. Its data is a [GuardrailTrigger].
const EventGuardrail = "guardrail"

// GuardrailKind is the position of a guardrail.
type GuardrailKind string

// Kinds of guardrails.
const (
	GuardInput  GuardrailKind = "input"  // checks the request before each model call
	GuardOutput GuardrailKind = "output" // checks each response before its calls are run
)

// Severity is the severity of a failed check.
type Severity string

// Severities.
const (
	SeverityLow      Severity = "low"
	SeverityMedium   Severity = "medium"
	SeverityHigh     Severity = "high"
	SeverityCritical Severity = "critical"
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
		return fmt.Errorf("middleware: the guardrail %q has the Kind %q; it is GuardInput or GuardOutput", g.Name, g.Kind)
	case g.Check == nil:
		return fmt.Errorf("middleware: the Check of the guardrail %q is nil", g.Name)
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
	Severity Severity
}

// GuardrailTrigger reports a failed check.
type GuardrailTrigger struct {
	Guardrail string        `json:"guardrail"`
	Kind      GuardrailKind `json:"kind"`
	Step      int           `json:"step"`
	Tripwire  bool          `json:"tripwire"`
	Reason    string        `json:"reason,omitempty"`
	Severity  Severity      `json:"severity,omitempty"`
}

// Guardrails runs the guardrails of a kind in their order. A failed check is an event, and
// triggered, which may be nil, is called with it. The first failed check with a tripwire ends
// the run, and later guardrails are skipped. After a failed output check, the response stays
// in the history with its calls pending. Deltas of it were already delivered. If a guardrail
// is not [Guardrail.Valid], the run fails before its first step.
func Guardrails(list []Guardrail, triggered func(context.Context, GuardrailTrigger) error) loop.Middleware {
	g := guardrails{list, triggered}
	var odd error
	for _, rail := range list {
		odd = cmp.Or(odd, rail.Valid())
	}
	return loop.Middleware{Name: "guardrails", New: func(loop.RunInfo) loop.Hooks {
		if odd != nil {
			return loop.Hooks{Start: func(ctx context.Context) (context.Context, error) { return ctx, odd }}
		}
		return loop.Hooks{
			BeforeStep: func(ctx context.Context, s *loop.StepInfo) (loop.StepChange, error) {
				d, err := g.ask(ctx, s, GuardInput, GuardrailCheck{s.Step, s.Request.System, s.History(), nil})
				return loop.StepChange{Decision: d}, err
			},
			AfterModel: func(ctx context.Context, s *loop.StepInfo, turn *llm.Response) (loop.Decision, error) {
				return g.ask(ctx, s, GuardOutput, GuardrailCheck{s.Step, s.Request.System, s.Request.Messages, turn})
			},
		}
	}}
}

type guardrails struct {
	list      []Guardrail
	triggered func(context.Context, GuardrailTrigger) error
}

func (g guardrails) ask(ctx context.Context, s *loop.StepInfo, kind GuardrailKind, check GuardrailCheck) (loop.Decision, error) {
	for _, rail := range g.list {
		if rail.Kind != kind {
			continue
		}
		v, err := rail.Check(ctx, check)
		if err != nil {
			return loop.Decision{}, err
		}
		if v.Pass {
			continue
		}
		if err := g.tell(ctx, s, GuardrailTrigger{rail.Name, kind, s.Step, v.Tripwire, v.Reason, v.Severity}); err != nil {
			return loop.Decision{}, err
		}
		if v.Tripwire {
			return loop.Decision{Action: trace.Stop, Reason: ReasonGuardrail, Note: v.Reason}, nil
		}
	}
	return loop.Decision{}, nil
}

func (g guardrails) tell(ctx context.Context, s *loop.StepInfo, t GuardrailTrigger) error {
	err := emitJSON(s, EventGuardrail, t)
	if err == nil && g.triggered != nil {
		err = g.triggered(ctx, t)
	}
	return err
}
