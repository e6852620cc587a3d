// Package middleware holds policies for loops that not everybody wants. Each is
// a loop.Middleware and sees the loop only through its hooks.
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

// KeepLast keeps a history short: once it has more than limit messages, all but
// the first user message and the newest ones are dropped, keep of them, and as
// many more as it takes not to part a call from its results. Each time is a
// rewrite with the cause "compaction".
//
// It counts messages and summarises nothing. A limit that is not above keep is
// taken as keep+1.
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

// WarnLeakedCall is the code of LeakedCalls' warning.
const WarnLeakedCall = "leaked_call"

// LeakedCalls warns when a turn without calls has the text of one in it, as
// <tool_call>…</tool_call> or as a bare object with a tool's name (quirk QO-23).
// The text stays text; nothing is run.
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

// AnswerTool offers a tool that the model calls to give its answer, with the
// given schema, and ends the run after the step in which it was called with
// arguments that the schema allows. The arguments are the answer: the last of
// res.Steps[…].Calls of that name.
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
