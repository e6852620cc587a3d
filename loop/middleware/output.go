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

// ReasonOutput is the cause of the decisions of Output's policy: the answer is not as
// it should be, so it is asked for again, or the run stops.
const ReasonOutput trace.Reason = "output"

// Output is the shape that the answer of a run has to have. It is safe for use by
// many goroutines.
type Output struct {
	schema   json.RawMessage
	resolved *jsonschema.Resolved
	fits     func(json.RawMessage) error // into the Go type; nil if there is none
}

// NewOutput takes the shape from a JSON Schema (2020-12 or draft 7), an object.
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

// OutputOf takes the shape from a Go type, as loop.NewTool does that of arguments.
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

// OutputError says that an answer has not the shape it should have.
type OutputError struct {
	Text string // the answer, as the model gave it
	Err  error
}

func (e *OutputError) Error() string {
	return "the answer has not the form that was asked for: " + e.Err.Error()
}

// Unwrap returns what is wrong with the answer.
func (e *OutputError) Unwrap() error { return e.Err }

// Read reads an answer: JSON alone, or in a fence of Markdown whatever stands
// around that. What the schema does not allow, or the Go type cannot hold, is an
// *OutputError.
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

// ReadOutput reads an answer into a value; the errors are those of Read.
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

// unfenced is the JSON within an answer: what stands between its first fence and its
// last, or all of it, without the spaces around it.
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

// Policy asks the provider to keep to the schema, and looks at the first answer that
// calls no tools. One that is not as it should be is asked for again, reAsks times
// in a run at most, with what is wrong and the schema; then the run fails with an
// *OutputError. A run that ends at a limit before that returns what it has, unless its
// last answer was forced: that has to have the shape, too.
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

// judge decides what becomes of an answer.
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
