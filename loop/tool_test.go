package loop_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/trace"
)

type place struct {
	City string `json:"city" jsonschema:"where"`
	Days int    `json:"days,omitempty"`
}

func TestNewTool(t *testing.T) {
	var got []place
	var call loop.Call
	w, err := loop.NewTool("weather", "Tells the weather.", func(ctx context.Context, in place) (map[string]any, error) {
		got = append(got, in)
		call, _ = loop.CallFromContext(ctx)
		return map[string]any{"sky": "<clear> & blue"}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	res, events := mustRun(t, model(calls(`weather{"city":"Rome","days":2}`, `weather{"city":7}`, `weather{"days":1}`), text("done")), loop.Config{Tools: []loop.Tool{w}})
	if diff := cmp.Diff([]place{{"Rome", 2}}, got); diff != "" {
		t.Errorf("arguments of the function (-want +got):\n%s", diff)
	}
	if call.ID != "c1" || call.Name != "weather" || call.Arguments != `{"city":"Rome","days":2}` || call.Step != 0 || call.Index != 0 {
		t.Errorf("CallFromContext: got %+v", call)
	}
	texts := resultTexts(res.Messages)
	if texts[0] != `{"sky":"<clear> & blue"}` || !strings.Contains(texts[1], "invalid arguments") || !strings.Contains(texts[2], "city") {
		t.Errorf("results: got %q", texts)
	}
	setup := of[trace.ModelConfig](events)[0].Tools[0]
	want := llm.Tool{Name: "weather", Description: "Tells the weather.", Parameters: json.RawMessage(
		`{"type":"object","properties":{"city":{"type":"string","description":"where"},"days":{"type":"integer"}},"required":["city"],"additionalProperties":false}`)}
	if diff := cmp.Diff(want, setup); diff != "" {
		t.Errorf("the result for the model (-want +got):\n%s", diff)
	}
}

func TestToolResults(t *testing.T) {
	type none struct{}
	str, _ := loop.NewTool("str", "", func(context.Context, none) (string, error) { return "plain", nil })
	out, _ := loop.NewTool("out", "", func(context.Context, none) (loop.Output, error) {
		return loop.Output{Content: []llm.Part{llm.Media{MediaType: "image/png", URL: "u"}}, IsError: true}, nil
	})
	num, _ := loop.NewTool("num", "", func(context.Context, none) (int, error) { return 7, nil })
	bad, _ := loop.NewTool("bad", "", func(context.Context, none) (float64, error) { return math.Inf(1), nil })
	fail, _ := loop.NewTool("fail", "", func(context.Context, none) (string, error) { return "ignored", errors.New("no luck") })
	empty := loop.Tool{Name: "empty", Run: func(context.Context, loop.Call) (loop.Output, error) { return loop.Output{}, nil }}
	res, events := mustRun(t, model(calls("str", "out", "num", "bad", "fail", "empty"), text("")), loop.Config{
		Tools: []loop.Tool{str, out, num, bad, fail, empty}, Concurrency: 1})
	want := []llm.ToolResult{
		{ID: "c1", Name: "str", Content: []llm.Part{llm.Text{Text: "plain"}}},
		{ID: "c2", Name: "out", Content: []llm.Part{llm.Media{MediaType: "image/png", URL: "u"}}, IsError: true},
		{ID: "c3", Name: "num", Content: []llm.Part{llm.Text{Text: "7"}}},
		{ID: "c4", Name: "bad", Content: []llm.Part{llm.Text{Text: "encoding the tool's result: json: unsupported value: +Inf"}}, IsError: true},
		{ID: "c5", Name: "fail", Content: []llm.Part{llm.Text{Text: "no luck"}}, IsError: true},
		{ID: "c6", Name: "empty", Content: []llm.Part{llm.Text{}}},
	}
	if diff := cmp.Diff(want, res.Steps[0].Results); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	var outcomes []trace.Outcome
	for _, e := range of[trace.ToolEnd](events) {
		outcomes = append(outcomes, e.Outcome)
	}
	if diff := cmp.Diff([]trace.Outcome{"ok", "error", "ok", "error", "error", "ok"}, outcomes); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
}

// A tool that decodes its arguments itself gets an error where its type and its
// schema part.
func TestNewToolDecodeError(t *testing.T) {
	type in struct {
		N int8 `json:"n"`
	}
	tl, err := loop.NewTool("n", "", func(context.Context, in) (string, error) { return "ran", nil })
	if err != nil {
		t.Fatal(err)
	}
	res, _ := mustRun(t, model(calls(`n{"n":1e2}`), text("")), loop.Config{Tools: []loop.Tool{tl}})
	if got := resultTexts(res.Messages)[0]; !strings.Contains(got, "reading the arguments") {
		t.Errorf("got %q", got)
	}
}

func TestToolErrors(t *testing.T) {
	run := func(context.Context, loop.Call) (loop.Output, error) { return loop.Output{}, nil }
	for _, c := range []struct {
		name  string
		tools []loop.Tool
		want  string
	}{
		{"no name", []loop.Tool{{Run: run}}, `the tool name ""`},
		{"bad name", []loop.Tool{{Name: "a b", Run: run}}, `the tool name "a b"`},
		{"long name", []loop.Tool{{Name: strings.Repeat("x", 65), Run: run}}, "64 characters at most"},
		{"builtin", []loop.Tool{{Name: "a", Builtin: []byte("[]")}}, `the tool "a": Builtin is not a JSON object`},
		{"twice", []loop.Tool{echo("a"), echo("b"), echo("a")}, `two tools have the name "a"`},
		{"schema not JSON", []loop.Tool{{Name: "a", Parameters: json.RawMessage(`{`), Run: run}}, "not a JSON Schema"},
		{"schema of a string", []loop.Tool{{Name: "a", Parameters: json.RawMessage(`{"type":"string"}`), Run: run}}, `"type": "object"`},
		{"schema without type", []loop.Tool{{Name: "a", Parameters: json.RawMessage(`{}`), Run: run}}, `"type": "object"`},
		{"dangling reference", []loop.Tool{{Name: "a", Parameters: json.RawMessage(`{"type":"object","$ref":"#/nowhere"}`), Run: run}}, "its parameters"},
		{"bad default", []loop.Tool{{Name: "a", Parameters: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer","default":"x"}}}`), Run: run}}, "its parameters"},
	} {
		_, err := loop.New(model(), &loop.Config{Tools: c.tools})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "loop: ") {
			t.Errorf("%s: got error %v, want one with %q", c.name, err, c.want)
		}
	}
	if _, err := loop.New(model(), &loop.Config{Tools: []loop.Tool{echo(strings.Repeat("x", 64)), echo("0-_Z")}}); err != nil {
		t.Errorf("names that are allowed: %v", err)
	}
	if _, err := loop.NewTool("x", "", func(context.Context, chan int) (string, error) { return "", nil }); err == nil {
		t.Error("a tool of a channel: got no error")
	}
	if _, err := loop.NewTool("x", "", func(context.Context, int) (string, error) { return "", nil }); err == nil {
		t.Error("a tool of a number: got no error")
	}
	if _, err := loop.ClientTool("x", "", json.RawMessage(`[]`)); err == nil {
		t.Error("a client tool with a list as schema: got no error")
	}
	if _, ok := loop.CallFromContext(t.Context()); ok {
		t.Error("CallFromContext outside of a tool: got a call")
	}
}

// The caller's slice may be used again: the agent keeps its own.
func TestToolsAreCopied(t *testing.T) {
	tools := []loop.Tool{echo("a")}
	a := newAgent(t, model(calls("a"), text("")), loop.Config{Tools: tools})
	tools[0] = loop.Tool{Name: "other"}
	res, err := a.Run(t.Context(), loop.Prompt("go"))
	if err != nil || res.Steps[0].Results[0].IsError {
		t.Errorf("got %+v, %v", res.Steps, err)
	}
}

func TestUnknownTool(t *testing.T) {
	res, _ := mustRun(t, model(calls("nope", "a"), text("")), loop.Config{Tools: []loop.Tool{echo("a"), echo("b")}})
	want := `there is no tool "nope"; the tools are a, b`
	if got := res.Steps[0].Results[0]; got.Text() != want || !got.IsError || res.Steps[0].Results[1].IsError {
		t.Errorf("got %+v, want %q for the first alone", res.Steps[0].Results, want)
	}
	res, _ = mustRun(t, model(calls("#c1"), text("")), loop.Config{Tools: []loop.Tool{echo("a")}})
	if got := resultTexts(res.Messages)[0]; got != "the call names no tool; the tools are a" {
		t.Errorf("a call without a name: got %q", got)
	}
}
