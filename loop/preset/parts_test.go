package preset_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/preset"
	"github.com/looptape/looptape/loop/preset/deuz"
	"github.com/looptape/looptape/trace"
)

// waits suspends a run with all calls of a step.
var waits = loop.Middleware{Name: "waits", New: func(loop.RunInfo) loop.Hooks {
	return loop.Hooks{BeforeTools: func(context.Context, *loop.StepInfo, []loop.PlannedCall) ([]loop.CallDecision, loop.Decision, error) {
		return nil, loop.Decision{Action: trace.Suspend}, nil
	}}
}}

// asks is middleware that makes a model call of its own before the first step.
var asks = loop.Middleware{Name: "asks", New: func(loop.RunInfo) loop.Hooks {
	return loop.Hooks{BeforeStep: func(ctx context.Context, s *loop.StepInfo) (loop.StepChange, error) {
		side := fake.NewModel(fake.Response{Text: "aside", Reasoning: "hm", Usage: llm.Usage{InputTokens: 100}})
		_, err := s.CallModel(ctx, loop.ModelCall{Model: side, Purpose: trace.PurposeSummary, Request: &llm.Request{Messages: []llm.Message{llm.User("?")}}})
		return loop.StepChange{}, err
	}}
}}

// words is middleware that replaces the text of the response.
var words = loop.Middleware{Name: "words", New: func(loop.RunInfo) loop.Hooks {
	return loop.Hooks{WrapModel: func(next loop.ModelFunc) loop.ModelFunc {
		return func(ctx context.Context, call loop.ModelCall) (*llm.Response, error) {
			turn, err := next(ctx, call)
			if err != nil {
				return turn, err
			}
			changed := *turn
			changed.Parts = []llm.Part{llm.Text{Text: "other words"}}
			return &changed, nil
		}
	}}
}}

// Each preset supports the options of all other presets. Its parts neither lose nor
// repeat a call or a result, and omit the responses to middleware.
func TestPartsOtherOptions(t *testing.T) {
	client := loop.Tool{Name: "client"}
	server := loop.Tool{Name: "server", Run: func(_ context.Context, c loop.Call) (loop.Output, error) {
		return loop.TextOutput(c.Arguments), nil
	}}
	left := llm.Assistant(llm.ToolCall{ID: "c1", Name: "server", Arguments: "[1]"}, llm.ToolCall{ID: "c2", Name: "server", Arguments: `{"n":2}`})
	for _, c := range []struct {
		name  string
		cfg   loop.Config
		in    loop.Input
		turns []fake.Response
		want  map[string][]string
	}{
		{
			name: "calls that an earlier run has left", in: loop.Input{Messages: []llm.Message{llm.User("go"), left}, Resume: &loop.Resume{Of: "r0"}},
			turns: []fake.Response{{Text: "x"}, {Text: "x"}}, // the deep agent first asks for other arguments of c1
			want: map[string][]string{
				"deuz":       {"step-start", "tool-result c1!", "tool-result c2", "text-delta", "step-finish", "finish"},
				"agentier":   {"onToolCall", "onToolResult", "onComplete"},
				"deepagents": {"tool-call c1", "tool-result c1!", "tool-call c2", "tool-result c2", "text-delta"},
				"agentloop":  {"tool_call_start c1", "tool_call_end c1", "tool_call_start c2", "tool_call_end c2", "step_start", "text", "step_end", "done"},
				"reactagent": {"toolStarted c1", "toolCompleted c1!", "toolStarted c2", "toolCompleted c2", "token", "modelCompleted", "completed"},
			},
		},
		{
			name: "the rest of a client tool's step", cfg: loop.Config{ClientCalls: loop.ClientRest}, turns: []fake.Response{call("client{1}", "server{2}", "ghost{3}")},
			want: map[string][]string{
				"deuz": {
					"step-start", "tool-call-delta client1_0", "tool-call-delta server2_1", "tool-call-delta ghost3_2", "step-finish",
					"tool-call client1_0", "tool-call server2_1", "tool-call ghost3_2", "tool-result server2_1", "tool-result ghost3_2!", "finish",
				},
				"agentier":   {"onToolCall", "onToolCall", "onToolCall", "onToolResult", "onComplete"},
				"deepagents": {"tool-call ghost3_2", "tool-result ghost3_2!", "tool-call server2_1", "tool-result server2_1", "tool-call client1_0"},
				"agentloop": {
					"step_start", "tool_call_start client1_0", "tool_call_start server2_1", "tool_call_start ghost3_2",
					"tool_call_end server2_1", "tool_call_end ghost3_2", "step_end", "done",
				},
				"reactagent": {"modelCompleted", "toolStarted server2_1", "toolCompleted server2_1", "toolStarted ghost3_2", "toolCompleted ghost3_2!", "completed"},
			},
		},
		{
			name: "calls that wait", cfg: loop.Config{Middleware: []loop.Middleware{waits}}, turns: []fake.Response{call("server{1}")},
			want: map[string][]string{
				"deuz":       {"step-start", "tool-call-delta server1_0", "step-finish", "tool-call server1_0", "finish"},
				"agentier":   {"onComplete"},
				"deepagents": {"tool-call server1_0"},
				"agentloop":  {"step_start", "step_end", "done"},
				"reactagent": {"modelCompleted", "completed"},
			},
		},
		{
			name: "a model call of middleware", cfg: loop.Config{Middleware: []loop.Middleware{asks}}, turns: []fake.Response{{Text: "x"}},
			want: map[string][]string{
				"deuz":       {"step-start", "text-delta", "step-finish", "finish"},
				"agentier":   {"onComplete"},
				"deepagents": {"text-delta"},
				"agentloop":  {"step_start", "text", "step_end", "done"},
				"reactagent": {"token", "modelCompleted", "completed"},
			},
		},
		{
			name: "other words", cfg: loop.Config{Middleware: []loop.Middleware{words}}, turns: []fake.Response{{Text: "x"}},
			want: map[string][]string{
				"deuz":       {"step-start", "text-delta", "step-finish", "finish"},
				"agentier":   {"onComplete"},
				"deepagents": {"text-delta"},
				"agentloop":  {"step_start", "text", "step_end", "done"},
				"reactagent": {"token", "modelCompleted", "completed"},
			},
		},
	} {
		for _, name := range preset.Names() {
			cfg, err := preset.Apply(name, c.cfg)
			if err != nil {
				t.Fatal(err)
			}
			cfg.Clock, cfg.Concurrency, cfg.Tools = fake.NewClock(), 1, []loop.Tool{client, server}
			a, err := loop.New(fake.NewModel(c.turns...), &cfg)
			if err != nil {
				t.Fatal(err)
			}
			in := c.in
			if in.Messages == nil {
				in = loop.Prompt("go")
			}
			p, err := preset.Lookup(name)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for part := range p.Parts(a.Start(t.Context(), in).Events()) {
				got = append(got, brief(t, part))
			}
			if diff := cmp.Diff(c.want[name], got); diff != "" {
				t.Errorf("%s, %s: parts (-want +got):\n%s", c.name, name, diff)
			}
		}
	}
}

// brief returns the type of a part and its call, with a mark if the call failed.
func brief(t *testing.T, part any) string {
	t.Helper()
	line, err := json.Marshal(part)
	var p struct {
		Type, Callback, ToolCallID, CallID, ID string
		IsError                                bool
	}
	if err == nil {
		err = json.Unmarshal(line, &p)
	}
	if err != nil {
		t.Fatal(err)
	}
	out := p.Type + p.Callback
	if id := p.ToolCallID + p.CallID + p.ID; id != "" {
		out += " " + id
	}
	if p.IsError {
		out += "!"
	}
	return out
}

// The usage of a step is that of its response, even if middleware replaces the text.
func TestUsageOfReplacedText(t *testing.T) {
	cfg := deuz.Fill(loop.Config{Middleware: []loop.Middleware{words}})
	a, err := loop.New(fake.NewModel(fake.Response{Text: "x", Usage: llm.Usage{InputTokens: 10, OutputTokens: 5}}), &cfg)
	if err != nil {
		t.Fatal(err)
	}
	for part := range deuz.Parts(a.Start(t.Context(), loop.Prompt("go")).Events()) {
		if part.Type == "step-finish" && fmt.Sprint(part.Usage.InputTokens, part.Usage.OutputTokens) != "10 5" {
			t.Errorf("got %+v", part.Usage)
		}
	}
}
