// Package middleware provides optional middleware for loops. Each is a [loop.Middleware] and
// uses only the hooks of the loop.
package middleware

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/trace"
)

// KeepLast shortens a history: if it has more than limit messages, KeepLast drops all but the
// first user message and the newest keep messages. It keeps more messages if necessary to keep
// a call and its results together. Each change is a rewrite with the reason "compaction".
//
// It counts messages and does not summarize. A limit of at most keep means keep+1.
func KeepLast(keep, limit int) loop.Middleware {
	limit = max(limit, keep+1)
	return loop.Middleware{Name: "keep_last", New: func(loop.RunInfo) loop.Hooks {
		return loop.Hooks{BeforeStep: func(_ context.Context, s *loop.StepInfo) (loop.StepChange, error) {
			history := s.History()
			if len(history) <= limit {
				return loop.StepChange{}, nil
			}
			return loop.StepChange{Decision: loop.Decision{Messages: shorten(history, keep), Note: "compaction"}}, nil
		}}
	}}
}

func shorten(history []llm.Message, keep int) []llm.Message {
	from := len(history) - keep
	for from > 0 && history[from].Role == llm.RoleTool {
		from--
	}
	var out []llm.Message
	for _, m := range history[:from] {
		if m.Role == llm.RoleUser {
			out = append(out, m)
			break
		}
	}
	return append(out, history[from:]...)
}

// WarnLeakedCall is the code of the warning of [LeakedCalls].
const WarnLeakedCall = "leaked_call"

// LeakedCalls warns if a response without calls contains a call in its text, as
// <tool_call>…</tool_call> or as a JSON object with a tool's name (quirk QO-23). The text does
// not change, and no tool is run.
func LeakedCalls() loop.Middleware {
	return loop.Middleware{Name: "leaked_calls", New: func(loop.RunInfo) loop.Hooks {
		return loop.Hooks{AfterModel: func(_ context.Context, s *loop.StepInfo, turn *llm.Response) (loop.Decision, error) {
			if len(turn.Calls()) == 0 && leaked(turn.Text(), s.Request.Tools) {
				return loop.Decision{}, s.Warn(WarnLeakedCall, "the text looks like a tool call that the server did not parse; it was not run")
			}
			return loop.Decision{}, nil
		}}
	}}
}

func leaked(text string, tools []llm.Tool) bool {
	text = strings.TrimSpace(text)
	if open := strings.Index(text, "<tool_call>"); open >= 0 {
		return true
	}
	if !strings.HasPrefix(text, "{") {
		return false
	}
	var call struct {
		Name string `json:"name"`
	}
	if json.Unmarshal([]byte(text), &call) != nil {
		return false
	}
	for _, t := range tools {
		if t.Name == call.Name {
			return true
		}
	}
	return false
}

// AnswerTool adds a tool with the given schema that the model calls to give its answer. The
// run ends after the first step with a call whose arguments match the schema. The arguments
// are the answer: use the last call of that name in res.Steps[…].Calls.
func AnswerTool(name, description string, schema json.RawMessage) (loop.Middleware, error) {
	tool, err := loop.RawTool(name, description, schema, func(context.Context, loop.Call) (loop.Output, error) {
		return loop.TextOutput("the answer was taken"), nil
	})
	if err != nil {
		return loop.Middleware{}, fmt.Errorf("middleware: AnswerTool: %w", err)
	}
	return loop.Middleware{Name: "answer_tool", New: func(loop.RunInfo) loop.Hooks {
		return loop.Hooks{
			Tools: []loop.Tool{tool},
			AfterStep: func(_ context.Context, _ *loop.StepInfo, step *loop.Step) (loop.Decision, error) {
				for i, c := range step.Calls {
					if c.Name == name && !step.Results[i].IsError {
						return loop.Decision{Action: trace.Stop, Reason: trace.ReasonMiddleware, Note: "the answer was given"}, nil
					}
				}
				return loop.Decision{}, nil
			},
		}
	}}, nil
}
