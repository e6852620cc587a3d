package loop_test

import (
	"context"
	"strings"
	"testing"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
)

// TestToolChoiceWithoutTool: no request has a tool choice that its tools do not permit.
func TestToolChoiceWithoutTool(t *testing.T) {
	without := loop.Middleware{Name: "without", New: func(loop.RunInfo) loop.Hooks {
		return loop.Hooks{BeforeStep: func(_ context.Context, s *loop.StepInfo) (c loop.StepChange, err error) {
			if s.Step == 1 {
				c.Tools = []loop.Tool{}
			}
			return c, nil
		}}
	}}
	tool := loop.Tool{Name: "a", Run: func(context.Context, loop.Call) (loop.Output, error) { return loop.TextOutput("fine"), nil }}
	choice := func(mode llm.ToolMode, name string) *llm.ToolChoice { return &llm.ToolChoice{Mode: mode, Name: name} }
	for _, tt := range []struct {
		name       string
		middleware []loop.Middleware
		choice     *llm.ToolChoice
		want       string // the error
		requests   int
	}{
		{"the tool is removed", []loop.Middleware{without}, choice(llm.ChooseTool, "a"), `the middleware (before the step): its request cannot be sent: ToolChoice is the tool "a", which is not one of its Tools`, 1},
		{"all tools are removed", []loop.Middleware{without}, choice(llm.ChooseRequired, ""), "ToolChoice requires a call, and it has no Tools", 1},
		{"an unknown tool", nil, choice(llm.ChooseTool, "b"), `the run: its request cannot be sent: ToolChoice is the tool "b"`, 0},
		{"no choice", []loop.Middleware{without}, nil, "", 2},
		{"a known tool", nil, choice(llm.ChooseTool, "a"), "", 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			model := fake.NewModel(fake.Response{Calls: []fake.Call{{ID: "c1", Name: "a", Arguments: "{}"}}}, fake.Response{Text: "done"})
			agent, err := loop.New(model, &loop.Config{Tools: []loop.Tool{tool}, Middleware: tt.middleware})
			if err != nil {
				t.Fatal(err)
			}
			in := loop.Prompt("go")
			in.ToolChoice = tt.choice
			_, err = agent.Run(t.Context(), in)
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got error %v, want %q", err, tt.want)
			}
			if n := len(model.RecordedRequests()); n != tt.requests {
				t.Errorf("got %d requests, want %d", n, tt.requests)
			}
		})
	}
}
