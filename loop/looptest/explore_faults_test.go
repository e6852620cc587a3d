package looptest_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop/explore"
	"github.com/looptape/looptape/loop/looptest"
)

// changed is a small loop whose result is changed.
type changed struct {
	small
	change func(in *looptest.Input, r *looptest.Result)
}

func (c changed) Run(ctx context.Context, in *looptest.Input) (*looptest.Result, error) {
	r, err := c.small.Run(ctx, in)
	if r != nil {
		c.change(in, r)
	}
	return r, err
}

// edited returns a small loop that edits each part of the responses in its history.
func edited(edit func(p llm.Part) llm.Part) looptest.Loop {
	s := newSmall()
	s.accept = func(c *smallRun, resp *llm.Response) []llm.ToolCall {
		calls := accept(c, resp)
		if len(calls) > 0 {
			m := &c.history[len(c.history)-1]
			m.Parts = slices.Clone(m.Parts)
			for i, p := range m.Parts {
				m.Parts[i] = edit(p)
			}
			m.Parts = slices.DeleteFunc(m.Parts, func(p llm.Part) bool { return p == nil })
		}
		return calls
	}
	return s
}

// TestExploreResultsOfOthers: each loop is wrong in what it makes of calls, of responses, or of its result.
func TestExploreResultsOfOthers(t *testing.T) {
	withBatch := func(change func(results []llm.ToolResult)) looptest.Loop {
		s := newSmall()
		s.batch = func(c *smallRun, calls []llm.ToolCall) ([]llm.ToolResult, error) {
			results, err := batch(c, calls)
			if slices.ContainsFunc(results, func(r llm.ToolResult) bool { return r.IsError }) {
				change(results)
			}
			return results, err
		}
		return s
	}
	withResult := func(change func(in *looptest.Input, r *looptest.Result)) looptest.Loop {
		return changed{*newSmall(), change}
	}
	canceling := newSmall()
	canceling.batch = func(c *smallRun, calls []llm.ToolCall) ([]llm.ToolResult, error) {
		ctx, cancel := context.WithCancel(c.ctx)
		defer cancel()
		inner := *c
		inner.small = &small{tool: func(_ context.Context, c *smallRun, call llm.ToolCall) llm.ToolResult {
			r := tool(ctx, c, call)
			if r.IsError {
				cancel()
			}
			return r
		}}
		return batch(&inner, calls)
	}
	for name, tt := range map[string]struct {
		loop       looptest.Loop
		invariant  string
		message    string
		noticeable bool // without a fault
	}{
		"no tool runs": {withTool(func(_ context.Context, _ *smallRun, call llm.ToolCall) llm.ToolResult { return result(call, "ok") }),
			"INV-01", `the result of the call "c1" of a with {"n":1} is "ok"; the tool did not run`, true},
		"one tool does not run": {withTool(func(ctx context.Context, c *smallRun, call llm.ToolCall) llm.ToolResult {
			if call.Name == "b" {
				return failed(call, "not allowed")
			}
			return tool(ctx, c, call)
		}), "INV-23", `the result of the call "c2" of b with {"n":2} is the error "not allowed"; the tool did not run`, true},
		"a failed tool fails the others":       {withBatch(func(list []llm.ToolResult) { list[0].IsError, list[1].IsError = true, true }), "INV-23", "is the error", false},
		"a failed tool replaces all results":   {withBatch(func(list []llm.ToolResult) { list[0].Content, list[1].Content = nil, nil }), "INV-01", "; the tool returned ", false},
		"a failed tool cancels the others":     {canceling, "INV-23", "; nothing but the loop ended its tool", false},
		"the calls have another name":          {edited(func(p llm.Part) llm.Part { return renamed(p, "a") }), "INV-05", `it has the call {"n":2} of b`, true},
		"the calls have other arguments":       {edited(func(p llm.Part) llm.Part { return emptied(p) }), "INV-05", `with the call {} of a; it has the call {"n":1} of a`, true},
		"the text is lost":                     {edited(withoutText), "INV-05", `sent back with the text ""; it has "I call a and b."`, true},
		"the result has other texts":           {withResult(otherTexts), "INV-01", `is "lost"; the tool returned `, true},
		"the result lacks a message":           {withResult(func(_ *looptest.Input, r *looptest.Result) { r.Messages = r.Messages[2:] }), "INV-05", "the run's messages do not begin with those of its last request", true},
		"each call is pending":                 {withResult(func(_ *looptest.Input, r *looptest.Result) { r.Pending = []string{"c1"} }), "INV-07", `the call "c1" is reported as pending, and its tool returned`, true},
		"the usage of a result without others": {withResult(doubled), "INV-18", "usage ", true},
	} {
		r := looptest.Explored(t, tt.loop, nil)
		if !slices.ContainsFunc(r.Failures, func(f *explore.Failure) bool {
			return f.Invariant == tt.invariant && strings.Contains(f.Message, tt.message) && (len(f.Choices) == 0) == tt.noticeable
		}) {
			t.Errorf("%s: got %v, want %s: %s", name, r.Failures, tt.invariant, tt.message)
		}
	}
}

func renamed(p llm.Part, name string) llm.Part {
	if c, is := p.(llm.ToolCall); is {
		c.Name = name
		return c
	}
	return p
}

func emptied(p llm.Part) llm.Part {
	if c, is := p.(llm.ToolCall); is {
		c.Arguments = "{}"
		return c
	}
	return p
}

func withoutText(p llm.Part) llm.Part {
	if _, is := p.(llm.Text); is {
		return nil
	}
	return p
}

func otherTexts(_ *looptest.Input, r *looptest.Result) {
	for i, m := range r.Messages {
		m.Parts = slices.Clone(m.Parts)
		for j, p := range m.Parts {
			if res, is := p.(llm.ToolResult); is && !res.IsError {
				res.Content = []llm.Part{llm.Text{Text: "lost"}}
				m.Parts[j] = res
			}
		}
		r.Messages[i] = m
	}
}

func doubled(_ *looptest.Input, r *looptest.Result) {
	twice := r.Usage.Add(*r.Usage)
	r.Messages, r.Usage = nil, &twice
}
