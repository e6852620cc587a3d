// Package uistream_test reads the UI message streams of package uistream with the AI SDK from npm.
package uistream_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/conformance/node"
	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/uistream"
	"github.com/looptape/looptape/trace"
)

// message is a stream as the SDK reads it.
type message struct {
	Types   []string
	Message struct {
		ID       string
		Role     string
		Metadata any
		Parts    []map[string]any
	}
	Errors []string
}

// read reads the runs of an agent with the SDK.
func read(t *testing.T, h http.HandlerFunc, args ...string) (m message) {
	t.Helper()
	dir, err := node.Dir()
	switch {
	case err == nil:
	case os.Getenv("LOOPTAPE_NPM") != "":
		t.Fatal(err)
	default:
		t.Skip(err)
	}
	s := httptest.NewServer(h)
	defer s.Close()
	cmd := exec.CommandContext(t.Context(), "node", append([]string{filepath.Join(dir, "uistream.mjs"), s.URL}, args...)...)
	var words bytes.Buffer
	cmd.Stderr = &words
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, &words)
	}
	if err := json.Unmarshal(out, &m); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return m
}

// serve runs an agent for each request.
func serve(t *testing.T, opts uistream.Options, cfg loop.Config, turns ...fake.Response) http.HandlerFunc {
	t.Helper()
	return func(w http.ResponseWriter, r *http.Request) {
		agent, err := loop.New(fake.NewModel(turns...), &cfg)
		if err != nil {
			t.Error(err)
			return
		}
		if err := uistream.Write(w, uistream.Parts(agent.Start(r.Context(), loop.Prompt("go")).Events(), opts)); err != nil && r.Context().Err() == nil {
			t.Error(err)
		}
	}
}

func tools(t *testing.T) []loop.Tool {
	t.Helper()
	city, err := loop.RawTool("weather", "", []byte(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`),
		func(_ context.Context, c loop.Call) (loop.Output, error) {
			if c.Index == 1 {
				return loop.Output{}, os.ErrNotExist
			}
			return loop.TextOutput(`{"sky":"☀"}`), nil
		})
	if err != nil {
		t.Fatal(err)
	}
	return []loop.Tool{city}
}

var weather = fake.Response{Reasoning: "hm", Text: "let me see", ChunkSize: 3, Calls: []fake.Call{
	{ID: "c1", Name: "weather", Arguments: `{"city":"Bern"}`}, {ID: "c2", Name: "weather", Arguments: `{"city":"Rome"}`}, {ID: "c3", Name: "weather", Arguments: `{"city":7}`}, {ID: "c4", Name: "ghost", Arguments: `{`},
}}

// A whole loop: reasoning, text, calls that succeed, fail, and cannot run, and the metadata of the
// message.
func TestLoop(t *testing.T) {
	opts := uistream.Options{MessageID: "m1", FinishReason: true, Metadata: func(ev trace.Event) json.RawMessage {
		if turn, ok := ev.Body.(trace.ModelResponse); ok {
			return json.RawMessage(`{"said":` + string(mustJSON(t, turn.Message.Text())) + `}`)
		}
		return nil
	}}
	got := read(t, serve(t, opts, loop.Config{Tools: tools(t)}, weather, fake.Response{Text: "done"}))
	step := map[string]any{"type": "step-start"}
	call := func(id, state string, more map[string]any) map[string]any {
		p := map[string]any{"type": "tool-weather", "toolCallId": id, "state": state}
		for k, v := range more {
			p[k] = v
		}
		return p
	}
	ghost := call("c4", "output-error", map[string]any{"input": "{", "errorText": `there is no tool "ghost"; the tools are weather`})
	ghost["type"] = "tool-ghost"
	want := []map[string]any{
		step,
		{"type": "reasoning", "id": "1", "text": "hm", "state": "done"},
		{"type": "text", "text": "let me see", "state": "done"},
		call("c1", "output-available", map[string]any{"input": map[string]any{"city": "Bern"}, "output": map[string]any{"sky": "☀"}}),
		call("c2", "output-error", map[string]any{"input": map[string]any{"city": "Rome"}, "errorText": "file does not exist"}),
		call("c3", "output-error", map[string]any{"input": map[string]any{"city": 7.0}, "errorText": `invalid arguments: validating root: validating /properties/city: type: 7 has type "integer", want "string"`}),
		ghost,
		step,
		{"type": "text", "text": "done", "state": "done"},
	}
	if diff := cmp.Diff(want, got.Message.Parts); diff != "" {
		t.Errorf("the message's parts (-want +got):\n%s", diff)
	}
	if got.Message.ID != "m1" || got.Message.Role != "assistant" || len(got.Errors) > 0 {
		t.Errorf("got %+v", got)
	}
	if diff := cmp.Diff(map[string]any{"said": "done"}, got.Message.Metadata); diff != "" {
		t.Errorf("the message's metadata (-want +got):\n%s", diff)
	}
	if last := got.Types[len(got.Types)-1]; last != "finish" {
		t.Errorf("the last chunk is %s", last)
	}
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Error(err)
	}
	return b
}

// Failed, canceled and truncated runs report it, and the content before stays readable.
func TestEnds(t *testing.T) {
	fails := func(ctx context.Context) *loop.Run {
		agent, err := loop.New(fake.NewModel(fake.Response{Text: "half an answer", Error: &fake.Failure{Status: 500, Message: "boom"}}), nil)
		if err != nil {
			t.Fatal(err)
		}
		return agent.Start(ctx, loop.Prompt("go"))
	}
	said := func(err error) string { return err.Error() }
	for name, c := range map[string]struct {
		serve  http.HandlerFunc
		types  []string
		errors []string
	}{
		"fails": {func(w http.ResponseWriter, r *http.Request) {
			_ = uistream.Write(w, uistream.Parts(fails(r.Context()).Events(), uistream.Options{ErrorText: said}))
		}, []string{"start", "start-step", "text-start", "text-delta", "text-end", "finish-step", "error", "finish"}, []string{"loop: step 0: fake: status 500: boom"}},
		"fails without a message": {func(w http.ResponseWriter, r *http.Request) {
			_ = uistream.Write(w, uistream.Parts(fails(r.Context()).Events(), uistream.Options{FinishReason: true}))
		}, []string{"start", "start-step", "text-start", "text-delta", "text-end", "finish-step", "error", "finish"}, []string{"An error occurred."}},
		"is canceled": {func(w http.ResponseWriter, r *http.Request) {
			ctx, cancel := context.WithCancel(r.Context())
			defer cancel()
			parts := func(yield func(uistream.Part) bool) {
				for p := range uistream.Parts(fails(ctx).Events(), uistream.Options{}) {
					if p.Type == "text-start" {
						cancel()
					}
					if !yield(p) {
						return
					}
				}
			}
			_ = uistream.Write(w, parts)
		}, []string{"start", "start-step", "text-start", "text-delta", "text-end", "finish-step", "abort"}, []string{}},
		"is truncated": {func(w http.ResponseWriter, r *http.Request) {
			events := func(yield func(trace.Event, error) bool) {
				for ev, err := range fails(r.Context()).Events() {
					if _, over := ev.Body.(trace.ModelError); over || !yield(ev, err) {
						return
					}
				}
			}
			_ = uistream.Write(w, uistream.Parts(events, uistream.Options{}))
		}, []string{"start", "start-step", "text-start", "text-delta", "text-end", "error"}, []string{"the run was interrupted"}},
	} {
		got := read(t, c.serve)
		if diff := cmp.Diff(c.types, got.Types); diff != "" {
			t.Errorf("%s: chunks (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(c.errors, got.Errors); diff != "" {
			t.Errorf("%s: errors (-want +got):\n%s", name, diff)
		}
		text := map[string]any{"type": "text", "text": "half an answer", "state": "done"}
		if diff := cmp.Diff([]map[string]any{{"type": "step-start"}, text}, got.Message.Parts); diff != "" {
			t.Errorf("%s: parts (-want +got):\n%s", name, diff)
		}
	}
}

// A reader that stops reading ends the run.
func TestReaderStops(t *testing.T) {
	ends := make(chan trace.RunEnd, 1)
	cfg := loop.Config{
		Tools: []loop.Tool{{Name: "wait", Run: func(ctx context.Context, _ loop.Call) (loop.Output, error) {
			<-ctx.Done()
			return loop.Output{}, ctx.Err()
		}}},
		Sink: trace.SinkFunc(func(ev trace.Event) error {
			if end, ok := ev.Body.(trace.RunEnd); ok {
				ends <- end
			}
			return nil
		}),
	}
	got := read(t, serve(t, uistream.Options{}, cfg, fake.Response{Calls: []fake.Call{{ID: "c1", Name: "wait", Arguments: "{}"}}}), "5")
	if end := <-ends; end.StopReason != trace.ReasonCancel {
		t.Errorf("the run ended with %q", end.StopReason)
	}
	if diff := cmp.Diff([]string{"start", "start-step", "tool-input-start", "tool-input-delta", "tool-input-available"}, got.Types); diff != "" {
		t.Errorf("chunks (-want +got):\n%s", diff)
	}
}

var update = flag.Bool("update", false, "write the messages that the SDK reads from the streams of Swarm")

// TestSwarmDA55 reads the streams of package deepagents with the SDK and compares the messages with
// the recorded ones, which the tests of that package read. The streams are golden files there.
func TestSwarmDA55(t *testing.T) {
	streams, err := filepath.Glob("../../loop/preset/deepagents/testdata/swarm/*.sse")
	if err != nil || len(streams) == 0 {
		t.Fatalf("no streams: %v", err)
	}
	for _, file := range streams {
		stream, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		m := read(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = w.Write(stream)
		})
		got, err := json.MarshalIndent(m, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, '\n')
		recorded := strings.TrimSuffix(file, ".sse") + ".json"
		if *update {
			if err := os.WriteFile(recorded, got, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(recorded)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s: the SDK reads another message: run go test ./uistream -run TestSwarmDA55 -update and read the difference (-recorded +read):\n%s", filepath.Base(file), diff)
		}
	}
}
