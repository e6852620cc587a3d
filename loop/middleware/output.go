package middleware

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/trace"
)

// ReasonOutput is the reason of a decision of the middleware of [Output]: the answer does not
// match, so the loop requests it again or stops.
const ReasonOutput trace.Reason = "output"

// Output is the required shape of the answer of a run. It is safe for use by many goroutines.
type Output struct {
	schema   json.RawMessage
	resolved *jsonschema.Resolved
	fits     func(json.RawMessage) error // checks against the Go type; nil without one
}

// NewOutput returns an Output for a JSON Schema (2020-12 or draft 7), an object.
func NewOutput(schema json.RawMessage) (*Output, error) {
	var s jsonschema.Schema
	if !jsonio.IsObject(string(schema)) {
		return nil, errors.New("middleware: the schema of the output is not a JSON object")
	}
	if err := json.Unmarshal(schema, &s); err != nil {
		return nil, fmt.Errorf("middleware: the schema of the output: %w", err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("middleware: the schema of the output: %w", err)
	}
	return &Output{schema: schema, resolved: resolved}, nil
}

// OutputOf returns an Output for a Go type. It derives the schema as [loop.NewTool] does for
// arguments.
func OutputOf[T any]() (*Output, error) {
	schema, err := jsonschema.For[T](nil)
	if err != nil {
		return nil, fmt.Errorf("middleware: no schema for the output: %w", err)
	}
	raw, err := json.Marshal(schema)
	if err != nil {
		return nil, fmt.Errorf("middleware: the schema of the output: %w", err)
	}
	o, err := NewOutput(raw)
	if err != nil {
		return nil, err
	}
	o.fits = func(raw json.RawMessage) error { return json.Unmarshal(raw, new(T)) }
	return o, nil
}

// OutputError reports that an answer does not match the schema or the Go type.
type OutputError struct {
	Text string // the text of the response
	Err  error
}

func (e *OutputError) Error() string {
	return "the answer has not the form that was asked for: " + e.Err.Error()
}

// Unwrap returns the reason of the mismatch.
func (e *OutputError) Unwrap() error { return e.Err }

// Read parses an answer: JSON alone, or JSON in a Markdown code fence with any surrounding
// text. It returns an [*OutputError] if the text is not JSON or does not match the schema or the Go type.
func (o *Output) Read(text string) (json.RawMessage, error) {
	raw := unfenced(text)
	var v any
	if err := json.Unmarshal([]byte(raw), &v); err != nil {
		return nil, &OutputError{text, err}
	}
	if err := o.resolved.Validate(v); err != nil {
		return nil, &OutputError{text, err}
	}
	if o.fits != nil {
		if err := o.fits(json.RawMessage(raw)); err != nil {
			return nil, &OutputError{text, err}
		}
	}
	return json.RawMessage(raw), nil
}

// ReadOutput parses an answer into a value. It returns the errors of [Output.Read].
func ReadOutput[T any](o *Output, text string) (value T, err error) {
	raw, err := o.Read(text)
	if err != nil {
		return value, err
	}
	if err := json.Unmarshal(raw, &value); err != nil {
		return value, &OutputError{text, err}
	}
	return value, nil
}

// unfenced returns the trimmed text between the first and the last code fence, or the whole
// trimmed text without fences.
func unfenced(text string) string {
	text = strings.TrimSpace(text)
	open, end := strings.Index(text, fence), strings.LastIndex(text, fence)
	if open == end || jsonio.ValidText(text) {
		return text
	}
	_, inner, _ := strings.Cut(text[open:end], "\n")
	return strings.TrimSpace(inner)
}

const fence = "```"

// Middleware sends the schema to the provider and checks the first response without calls. If
// the answer does not match, the loop requests it again with the error and the schema. The
// parameter limits these retries per run; then the run fails with an [*OutputError]. A run
// that reaches a limit earlier returns its result, but a forced final response must match too.
func (o *Output) Middleware(reAsks int) loop.Middleware {
	return loop.Middleware{Name: "output", New: func(loop.RunInfo) loop.Hooks {
		left := reAsks
		return loop.Hooks{
			BeforeStep: func(_ context.Context, s *loop.StepInfo) (loop.StepChange, error) {
				s.Request.Settings.OutputSchema = o.schema
				return loop.StepChange{Request: s.Request}, nil
			},
			AfterModel: func(_ context.Context, _ *loop.StepInfo, turn *llm.Response) (loop.Decision, error) {
				if len(turn.Calls()) > 0 || turn.FinishReason == llm.FinishPause {
					return loop.Decision{}, nil
				}
				d := o.judge(turn.Text(), left)
				left--
				return d, nil
			},
			End: func(_ context.Context, res *loop.Result) error {
				if res.StopReason != trace.ReasonForced {
					return nil
				}
				_, err := o.Read(res.Text)
				return err
			},
		}
	}}
}

// The result is the decision about an answer.
func (o *Output) judge(text string, left int) loop.Decision {
	_, err := o.Read(text)
	switch {
	case err == nil:
		return loop.Decision{}
	case left > 0:
		return loop.Decision{Action: trace.Continue, Reason: ReasonOutput, Messages: []llm.Message{llm.User(fmt.Sprintf(
			"Your last answer cannot be taken: %v. Answer again, with JSON alone that follows this schema: %s", errors.Unwrap(err), o.schema))}}
	}
	return loop.Decision{Action: trace.Stop, Reason: ReasonOutput, Err: err}
}
