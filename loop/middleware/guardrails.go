package middleware

import (
	"cmp"
	"context"
	"fmt"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/trace"
)

// ReasonGuardrail is why a run ends whose guardrail has tripped; its Note is the
// guardrail's reason.
const ReasonGuardrail trace.Reason = "guardrail"

// EventGuardrail is the name of the event of a check that did not pass. Its data
// is a GuardrailTrigger.
const EventGuardrail = "guardrail"

// GuardrailKind is where a guardrail looks.
type GuardrailKind string

// The kinds of guardrails.
const (
	GuardInput  GuardrailKind = "input"  // at what will be sent, before each model call
	GuardOutput GuardrailKind = "output" // at each answer, before its calls are run
)

// Severity is how bad it is that a check did not pass.
type Severity string

// The severities.
const (
	SeverityLow      Severity = "low"
	SeverityMedium   Severity = "medium"
	SeverityHigh     Severity = "high"
	SeverityCritical Severity = "critical"
)

// Guardrail looks at what goes to a model or comes from it.
type Guardrail struct {
	Name string
	Kind GuardrailKind
	// Check must not change what it is shown. An error of it ends the run.
	Check func(ctx context.Context, c GuardrailCheck) (GuardrailResult, error)
}

// Valid returns what is wrong with a guardrail: one of another kind than those two would
// never be asked.
func (g Guardrail) Valid() error {
	switch {
	case g.Kind != GuardInput && g.Kind != GuardOutput:
		return fmt.Errorf("middleware: the guardrail %q has the Kind %q; it is GuardInput or GuardOutput", g.Name, g.Kind)
	case g.Check == nil:
		return fmt.Errorf("middleware: the Check of the guardrail %q is nil", g.Name)
	}
	return nil
}

// GuardrailCheck is what a guardrail looks at.
type GuardrailCheck struct {
	Step     int // counted from 0
	System   string
	Messages []llm.Message // as they will be sent, or were
	Response *llm.Response // the answer; nil for GuardInput
}

// GuardrailResult is what a guardrail says.
type GuardrailResult struct {
	Pass bool
	// Tripwire ends the run if the check did not pass. It means nothing if it did.
	Tripwire bool
	Reason   string
	Severity Severity
}

// GuardrailTrigger tells of a check that did not pass.
type GuardrailTrigger struct {
	Guardrail string        `json:"guardrail"`
	Kind      GuardrailKind `json:"kind"`
	Step      int           `json:"step"`
	Tripwire  bool          `json:"tripwire"`
	Reason    string        `json:"reason,omitempty"`
	Severity  Severity      `json:"severity,omitempty"`
}

// Guardrails asks the guardrails of a kind in their order. A check that does not
// pass is an event and is told to triggered, which may be nil; the first of them
// with a tripwire ends the run, and those behind it are not asked. The answer that
// tripped an output guardrail stays in the history with its calls pending, and what of it
// was streamed had been passed on before. With a guardrail that is not Valid a run fails
// before its first step.
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
