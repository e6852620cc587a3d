package deepagents_test

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sebdah/goldie/v2"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/loop/preset/deepagents"
	"github.com/looptape/looptape/loop/uistream"
)

// swarmRun is a run of Swarm with the message that the AI SDK reads from its stream.
type swarmRun struct {
	agent       *deepagents.Agent
	cancelAfter string // the text delta at which the caller cancels the run
	parts       []map[string]any
	errors      []string
}

// DA-55: consumers of createUIMessageStream read the stream of Swarm. Each stream is a golden file.
// The module conformance reads the same files with the AI SDK, whose schemas accept each chunk and
// the message, and records the message in the file next to it.
func TestSwarmStreamsDA55(t *testing.T) {
	say := func(text string, more ...string) fake.Response {
		r := calls(more...)
		r.Text = text
		return r
	}
	weather := func() []loop.Tool { return []loop.Tool{tool("weather", `{"sky":"clear"}`)} }
	step, x := map[string]any{"type": "step-start"}, map[string]any{"type": "text", "text": "x", "state": "done"}
	called := func(name string, output any) map[string]any {
		return map[string]any{"type": "tool-" + name, "toolCallId": "c1", "state": "output-available", "input": map[string]any{}, "output": output}
	}
	text := func(s string) map[string]any { return map[string]any{"type": "text", "text": s, "state": "done"} }
	failure := fake.Response{Text: "half", Error: &fake.Failure{Status: 500, Message: "boom"}}
	slow := say("half of it")
	slow.ChunkSize = 4
	summary := say("summary")
	summary.ChunkSize = 4
	failing := loop.Tool{Name: "weather", Run: func(context.Context, loop.Call) (loop.Output, error) { return loop.Output{}, os.ErrNotExist }}
	for name, run := range map[string]swarmRun{
		"tool": {
			agent: agent("root", fake.NewModel(say("x", "weather"), say("y")), weather()...),
			parts: []map[string]any{step, x, called("weather", map[string]any{"sky": "clear"}), step, text("y")},
		},
		"handoff": {
			agent: team(fake.NewModel(say("x", "transfer_to_b"), say("b done"), summary), func(context.Context, middleware.Ended) ([]llm.Message, error) {
				return []llm.Message{llm.User("Sum up.")}, nil
			}),
			parts: []map[string]any{step, x, called("transfer_to_b", "transferred to b"), step, text("b done"), step, text("summary")},
		},
		"tool_error": {
			agent: agent("root", fake.NewModel(say("x", "weather"), say("y")), failing),
			parts: []map[string]any{step, x, {"type": "tool-weather", "toolCallId": "c1", "state": "output-error", "input": map[string]any{}, "errorText": "file does not exist"}, step, text("y")},
		},
		"error": {
			agent: agent("root", fake.NewModel(say("x", "weather"), failure), weather()...),
			parts: []map[string]any{step, x, called("weather", map[string]any{"sky": "clear"}), step, text("half")}, errors: []string{"An error occurred."},
		},
		"abort": {
			agent: agent("root", fake.NewModel(say("x", "weather"), slow), weather()...), cancelAfter: "half",
			parts: []map[string]any{step, x, called("weather", map[string]any{"sky": "clear"}), step, text("half")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			parts, err := deepagents.Swarm(ctx, run.agent, loop.Prompt("go"), nil, nil, uistream.Options{MessageID: "m1"})
			if err != nil {
				t.Fatal(err)
			}
			w := httptest.NewRecorder()
			if err := uistream.Write(w, func(yield func(uistream.Part) bool) {
				for p := range parts {
					if run.cancelAfter != "" && p.Delta == run.cancelAfter {
						cancel()
					}
					if !yield(p) {
						return
					}
				}
			}); err != nil {
				t.Fatal(err)
			}
			goldie.New(t, goldie.WithFixtureDir("testdata/swarm"), goldie.WithNameSuffix(".sse")).Assert(t, name, w.Body.Bytes())
			recorded, err := os.ReadFile(filepath.Join("testdata", "swarm", name+".json"))
			if err != nil {
				t.Fatalf("record it: in conformance, run go test ./uistream -run TestSwarmDA55 -update: %v", err)
			}
			type read struct {
				Message struct {
					ID, Role string
					Parts    []map[string]any
				}
				Errors []string
			}
			want, got := read{Errors: append([]string{}, run.errors...)}, read{}
			want.Message.ID, want.Message.Role, want.Message.Parts = "m1", "assistant", run.parts
			if err := json.Unmarshal(recorded, &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("what the AI SDK reads (-want +got):\n%s", diff)
			}
		})
	}
}
