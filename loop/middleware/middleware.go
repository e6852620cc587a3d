// Package middleware provides optional middleware for loops. Each is a [loop.Middleware] and
// uses only the hooks of the loop.
package middleware

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/looptape/looptape/internal/jsonval"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/trace"
)

// KeepLast drops all messages but the first user message and the newest keep messages if the
// history has more than limit. It keeps more if a call and its results would be separated.
// Each change is a rewrite with the reason "compaction". A limit of at most keep means keep+1.
func KeepLast(keep, limit int) loop.Middleware {
	limit = max(limit, keep+1)
	return loop.Middleware{Name: "keep_last", New: func(loop.RunInfo) loop.Hooks {
		return loop.Hooks{BeforeStep: func(_ context.Context, s *loop.StepInfo) (c loop.StepChange, err error) {
			if history := s.History(); len(history) > limit {
				c = compacted(shorten(history, keep))
			}
			return c, nil
		}}
	}}
}

func compacted(messages []llm.Message) loop.StepChange {
	return loop.StepChange{Decision: loop.Decision{Messages: messages, Note: "compaction"}}
}

func shorten(history []llm.Message, keep int) []llm.Message {
	from := len(history) - keep
	for from > 0 && history[from].Role == llm.RoleTool {
		from--
	}
	var out []llm.Message
	if i := slices.IndexFunc(history[:from], isUser); i >= 0 {
		out = append(out, history[i])
	}
	return append(out, history[from:]...)
}

func isUser(m llm.Message) bool { return m.Role == llm.RoleUser }

// LeakedCalls warns if a response without calls contains a call in its text, as
// <tool_call>…</tool_call> or as a JSON object with a tool's name (quirk QO-23). The text does
// not change, and no tool is run.
func LeakedCalls() loop.Middleware {
	return loop.Middleware{Name: "leaked_calls", New: func(loop.RunInfo) loop.Hooks {
		return loop.Hooks{AfterModel: func(_ context.Context, s *loop.StepInfo, response *llm.Response) (d loop.Decision, err error) {
			if len(response.Calls()) == 0 && leaked(response.Text(), s.Request.Tools) {
				err = s.Warn(WarnLeakedCall, "the text looks like a tool call that the server did not parse; it was not run")
			}
			return d, err
		}}
	}}
}

func leaked(text string, tools []llm.Tool) bool {
	if strings.Contains(text, "<tool_call>") {
		return true
	}
	var call struct{ Name string }
	return json.Unmarshal([]byte(text), &call) == nil && slices.ContainsFunc(tools, func(t llm.Tool) bool { return t.Name == call.Name })
}

// AnswerTool adds a tool by which the model gives its answer. The run ends after the first
// step with a call whose arguments match the schema. They are the answer: use the last call of
// that name in res.Steps[…].Calls.
func AnswerTool(name, description string, schema json.RawMessage) (m loop.Middleware, err error) {
	tool, err := loop.RawTool(name, description, schema, func(context.Context, loop.Call) (loop.Output, error) {
		return loop.TextOutput("the answer was taken"), nil
	})
	if err != nil {
		return m, fmt.Errorf("middleware: AnswerTool: %w", err)
	}
	return loop.Middleware{Name: "answer_tool", New: func(loop.RunInfo) loop.Hooks {
		return loop.Hooks{
			Tools: []loop.Tool{tool},
			AfterStep: func(_ context.Context, _ *loop.StepInfo, step *loop.Step) (d loop.Decision, err error) {
				for i, c := range step.Calls {
					if c.Name == name && !step.Results[i].IsError {
						d = loop.Decision{Action: trace.Stop, Reason: trace.ReasonMiddleware, Note: "the answer was given"}
					}
				}
				return d, nil
			},
		}
	}}, nil
}

// TruncateResults truncates each text that a tool returns to its first limit characters and
// appends a note. It does not truncate the substitute output of middleware.
func TruncateResults(limit int) loop.Middleware {
	return loop.Middleware{Name: "cut_results", New: func(loop.RunInfo) loop.Hooks {
		return loop.Hooks{WrapTool: func(next loop.ToolFunc) loop.ToolFunc {
			return func(ctx context.Context, call loop.Call) (loop.Output, error) {
				out, err := next(ctx, call)
				out.Content = slices.Clone(out.Content)
				for i, p := range out.Content {
					if t, ok := p.(llm.Text); ok {
						t.Text = truncate(t.Text, limit)
						out.Content[i] = t
					}
				}
				return out, err
			}
		}}
	}}
}

// truncate returns the first n characters of text, with a note if there are more.
func truncate(text string, n int) string {
	chars := 0
	for i := range text {
		if chars == n {
			return fmt.Sprintf("%s\n(cut: the first %d characters of a longer text)", text[:i], n)
		}
		chars++
	}
	return text
}

// prepared returns a tool with a constant schema, prepared once for all runs.
func prepared(name, description, schema string) loop.Tool {
	t, err := loop.RawTool(name, description, json.RawMessage(schema), nil)
	if err != nil {
		panic(err)
	}
	return t
}

// withTools returns hooks that add the tools. They call run with their decoded arguments.
func withTools[In any](run func(ctx context.Context, call loop.Call, in In) (string, error), tools ...loop.Tool) loop.Hooks {
	tools = slices.Clone(tools)
	for i := range tools {
		tools[i].Run = func(ctx context.Context, call loop.Call) (out loop.Output, err error) {
			var in In
			if err := json.Unmarshal([]byte(call.Arguments), &in); err != nil {
				return out, err
			}
			text, err := run(ctx, call, in)
			return loop.TextOutput(text), err
		}
	}
	return loop.Hooks{Tools: tools}
}

// emitJSON adds an event with the JSON of v to the trace.
func emitJSON(s *loop.StepInfo, name string, v any) error {
	line, err := jsonval.Line(v)
	if err != nil {
		return err
	}
	return s.Emit(name, bytes.TrimSuffix(line, []byte("\n")))
}

// substitute sets the result of a call that is not run: an error for a denied call.
func substitute(p loop.PlannedCall, reason, text string) []loop.CallDecision {
	out := loop.TextOutput(text)
	out.IsError = reason == ReasonDenied
	return []loop.CallDecision{{Index: p.Index, Output: &out, Reason: reason}}
}

// decideEach returns a BeforeTools hook that calls decide for each call in order.
func decideEach(decide func(context.Context, *loop.StepInfo, loop.PlannedCall) ([]loop.CallDecision, error)) func(context.Context, *loop.StepInfo, []loop.PlannedCall) ([]loop.CallDecision, loop.Decision, error) {
	return func(ctx context.Context, s *loop.StepInfo, calls []loop.PlannedCall) (all []loop.CallDecision, d loop.Decision, err error) {
		for _, p := range calls {
			decisions, err := decide(ctx, s, p)
			if err != nil {
				return nil, d, err
			}
			all = append(all, decisions...)
		}
		return all, d, nil
	}
}
