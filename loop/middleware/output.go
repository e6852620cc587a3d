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

// Output is the required shape of the answer of a run. It is safe for use by many goroutines.
type Output struct {
	schema   json.RawMessage
	resolved *jsonschema.Resolved
	decode   func(json.RawMessage) error // decodes as the Go type; nil without one
}

// NewOutput returns an Output for a JSON Schema (2020-12 or draft 7), an object.
func NewOutput(schema json.RawMessage) (*Output, error) {
	var s jsonschema.Schema
	if !jsonio.IsObject(string(schema)) {
		return nil, errors.New("middleware: the output schema is not a JSON object")
	}
	var resolved *jsonschema.Resolved
	err := json.Unmarshal(schema, &s)
	if err == nil {
		resolved, err = s.Resolve(nil)
	}
	if err != nil {
		return nil, fmt.Errorf("middleware: the output schema: %w", err)
	}
	return &Output{schema: schema, resolved: resolved}, nil
}

// OutputOf returns an Output for a Go type. It derives the schema as [loop.NewTool] does for
// arguments.
func OutputOf[T any]() (*Output, error) {
	var raw []byte
	schema, err := jsonschema.For[T](nil)
	if err == nil {
		raw, err = json.Marshal(schema)
	}
	if err != nil {
		return nil, fmt.Errorf("middleware: the output schema: %w", err)
	}
	o, err := NewOutput(raw)
	if err != nil {
		return nil, err
	}
	o.decode = func(raw json.RawMessage) error { return json.Unmarshal(raw, new(T)) }
	return o, nil
}

// OutputError reports that an answer does not match the schema or the Go type.
type OutputError struct {
	Text string // the text of the response
	Err  error
}

func (e *OutputError) Error() string {
	return "the answer does not match the required output: " + e.Err.Error()
}

// Unwrap returns the reason of the mismatch.
func (e *OutputError) Unwrap() error { return e.Err }

// Read parses an answer: JSON alone, or JSON in a Markdown code fence with any surrounding
// text. It decodes the JSON into the value that to points to, unless to is nil. It returns an
// [*OutputError] if the text is not JSON or does not match the schema or the Go type.
func (o *Output) Read(text string, to any) (json.RawMessage, error) {
	raw := json.RawMessage(unfenced(text))
	var v any
	err := json.Unmarshal(raw, &v)
	if err == nil {
		err = o.resolved.Validate(v)
	}
	if err == nil && o.decode != nil {
		err = o.decode(raw)
	}
	if err == nil && to != nil {
		err = json.Unmarshal(raw, to)
	}
	if err != nil {
		return nil, &OutputError{text, err}
	}
	return raw, nil
}

// unfenced returns the trimmed text between the first and the last code fence, if any.
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
// the answer does not match, the loop requests it again with the error and the schema, at most
// maxRetries times per run; then the run fails with an [*OutputError]. A run that reaches a
// limit earlier returns its result, but a forced final response must match too.
func (o *Output) Middleware(maxRetries int) loop.Middleware {
	return loop.Middleware{Name: "output", New: func(loop.RunInfo) loop.Hooks {
		retries := 0
		return loop.Hooks{
			BeforeStep: func(_ context.Context, s *loop.StepInfo) (loop.StepChange, error) {
				s.Request.Settings.OutputSchema = o.schema
				return loop.StepChange{Request: s.Request}, nil
			},
			AfterModel: func(_ context.Context, _ *loop.StepInfo, response *llm.Response) (d loop.Decision, err error) {
				if len(response.Calls()) > 0 || response.FinishReason == llm.FinishPause {
					return d, nil
				}
				if _, err := o.Read(response.Text(), nil); err != nil {
					d = loop.Decision{Action: trace.Stop, Reason: ReasonOutput, Err: err}
					if retries < maxRetries {
						d = loop.Decision{Action: trace.Continue, Reason: ReasonOutput, Messages: []llm.Message{llm.User(fmt.Sprintf(
							"Your last answer cannot be taken: %v. Answer again, with JSON alone that follows this schema: %s", errors.Unwrap(err), o.schema))}}
					}
				}
				retries++
				return d, nil
			},
			End: func(_ context.Context, res loop.Result) (loop.Result, error) {
				if res.StopReason != trace.ReasonForced {
					return res, nil
				}
				_, err := o.Read(res.Text, nil)
				return res, err
			},
		}
	}}
}
