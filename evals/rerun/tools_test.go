package rerun_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sebdah/goldie/v2"
	"go.uber.org/goleak"

	"github.com/looptape/looptape/evals/rerun"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/check"
	"github.com/looptape/looptape/trace/importer"
)

// No goroutine outlives the tests.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// runs reads recordings.
func runs(t *testing.T, text string) (list []importer.Run) {
	t.Helper()
	src, err := importer.Open("runs.jsonl", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for run, err := range src.Runs() {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, run)
	}
	return list
}

// A conversation with two user messages, a repeated id, two parallel calls, and a last call without
// a result.
const chat = `{"case":"shop","epoch":2,"messages":[
{"role":"system","content":"Be kind."},
{"role":"user","content":"Where is order 7?"},
{"role":"assistant","content":"Let me see.","tool_calls":[{"id":"a","type":"function","function":{"name":"find","arguments":"{\"id\": 7}"}},{"id":"b","type":"function","function":{"name":"now","arguments":"{}"}}]},
{"role":"tool","tool_call_id":"a","content":"{\"state\":\"sent\",\"at\":1}"},
{"role":"tool","tool_call_id":"b","content":"noon"},
{"role":"assistant","content":"It was sent."},
{"role":"user","content":"And 8?"},
{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"find","arguments":"{\"id\": 8}"}}]},
{"role":"tool","tool_call_id":"a","content":"Error: no order"},
{"role":"assistant","content":"There is none.","tool_calls":[{"id":"c","type":"function","function":{"name":"bye","arguments":""}}]}
]}`

func oneLine(text string) string { return strings.ReplaceAll(text, "\n", "") }

// tool is a tool whose result depends on its arguments.
func tool(name string, answer func(args string) (loop.Output, error)) loop.Tool {
	return loop.Tool{Name: name, Run: func(_ context.Context, c loop.Call) (loop.Output, error) { return answer(c.Arguments) }}
}

// describe returns the calls of a rerun, one per line.
func describe(calls []rerun.Call) (lines []string) {
	for _, c := range calls {
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%d.%d %s %s %s %s", c.Step, c.Index, c.ID, c.Tool, c.Status, strings.Join(c.Describe(), "; "))))
	}
	return lines
}

func TestTools(t *testing.T) {
	run := runs(t, oneLine(chat))[0]
	find := func(seven, eight string) loop.Tool {
		return tool("find", func(args string) (loop.Output, error) {
			if strings.Contains(args, "7") {
				return loop.TextOutput(seven), nil
			}
			return loop.Output{}, errors.New(eight)
		})
	}
	for name, c := range map[string]struct {
		tools   []loop.Tool
		options *rerun.Options
		want    []string
	}{
		"no tools": {want: []string{"0.0 a find recorded", "0.1 b now recorded", "2.0 a find recorded", "3.0 c bye recorded"}},
		"the same": {
			tools: []loop.Tool{find(`{"at":1.0, "state":"sent"}`, "Error: no order"), tool("bye", func(string) (loop.Output, error) { return loop.TextOutput("see you"), nil })},
			want:  []string{"0.0 a find same", "0.1 b now recorded", "2.0 a find same", `3.0 c bye unrecorded now: "see you"`},
		},
		"others": {
			tools: []loop.Tool{find(`{"state":"lost","at":2,"by":[1]}`, "Error: no such order"), tool("now", func(string) (loop.Output, error) { return loop.Output{}, rerun.ErrAsRecorded })},
			want: []string{
				`0.0 a find differs /at: was 1, is 2; /by: was nothing, is [1]; /state: was "sent", is "lost"`, "0.1 b now recorded",
				`2.0 a find differs was "Error: no order", is "Error: no such order"`, "3.0 c bye recorded",
			},
		},
		"ignored": {
			tools:   []loop.Tool{find(`{"state":" sent","at":2}`, "Error:  no order\n"), tool("now", func(string) (loop.Output, error) { return loop.TextOutput("later"), nil })},
			options: &rerun.Options{Ignore: map[string][]string{"*": {"/at"}, "now": {""}}, IgnoreSpace: true},
			want:    []string{"0.0 a find same", "0.1 b now same", "2.0 a find same", "3.0 c bye recorded"},
		},
		"ignored of all tools and of one": {
			tools:   []loop.Tool{find(`{"state":"lost","at":2}`, "Error: no order")},
			options: &rerun.Options{Ignore: map[string][]string{"*": {"/at"}, "find": {"/state"}}},
			want:    []string{"0.0 a find same", "0.1 b now recorded", "2.0 a find same", "3.0 c bye recorded"},
		},
		"all ignored": {
			tools:   []loop.Tool{find("lost", "other")},
			options: &rerun.Options{Ignore: map[string][]string{"*": {""}}},
			want:    []string{"0.0 a find same", "0.1 b now recorded", "2.0 a find same", "3.0 c bye recorded"},
		},
		"ignored of another tool": {
			tools:   []loop.Tool{find(`{"state":"sent","at":2}`, "Error:  no order")},
			options: &rerun.Options{Ignore: map[string][]string{"now": {"/at"}}},
			want:    []string{"0.0 a find differs /at: was 1, is 2", "0.1 b now recorded", "2.0 a find differs only white space differs", "3.0 c bye recorded"},
		},
		"text in place of JSON": {
			tools: []loop.Tool{find(strings.Repeat("x", 70), "Error: no order")},
			want: []string{
				`0.0 a find differs was "{"state":"sent","at":1}", is "` + strings.Repeat("x", 60) + `"…`,
				"0.1 b now recorded", "2.0 a find same", "3.0 c bye recorded",
			},
		},
		"a panic": {
			tools: []loop.Tool{tool("now", func(string) (loop.Output, error) { panic("oh") })},
			want:  []string{"0.0 a find recorded", `0.1 b now differs was "noon", is "the tool now panicked: oh"`, "2.0 a find recorded", "3.0 c bye recorded"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := rerun.Tools(t.Context(), &run, c.options, c.tools...)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, describe(out.Calls)); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
}

// The trace of a rerun has the conversation that was recorded, is written with what the
// run is about, and comes to the same when it is rerun itself.
func TestToolsTrace(t *testing.T) {
	run := runs(t, oneLine(chat))[0]
	out, err := rerun.Tools(t.Context(), &run, nil, tool("now", func(string) (loop.Output, error) { return loop.TextOutput("night"), nil }))
	if err != nil {
		t.Fatal(err)
	}
	goldie.New(t).Assert(t, "chat", []byte(trace.FormatText(out.Events)))

	var file bytes.Buffer
	sink := trace.NewWriter(&file, trace.Header{})
	if err := errors.Join((&rerun.Recorded{File: "runs.jsonl", Run: run}).Write(sink, 3, out.Events), sink.Close()); err != nil {
		t.Fatal(err)
	}
	back := runs(t, file.String())[0]
	if back.Name != "r3" || back.Case != "shop" || back.Epoch != 2 {
		t.Errorf("read back: name %q, case %q, epoch %d", back.Name, back.Case, back.Epoch)
	}
	c := check.New(nil)
	for _, ev := range back.Events {
		c.Add(ev)
	}
	for _, v := range c.Done() {
		t.Error(v)
	}
	again, err := rerun.Tools(t.Context(), &back, nil, tool("now", func(string) (loop.Output, error) { return loop.TextOutput("night"), nil }))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(trace.FormatText(out.Events), trace.FormatText(again.Events)); diff != "" {
		t.Errorf("the second rerun (-first +second):\n%s", diff)
	}
	for _, c := range again.Calls {
		if c.Differs() {
			t.Errorf("differs from its source: %+v", c)
		}
	}
}

// Recordings contain forms that a current loop does not write.
func TestToolsUnusualRecordings(t *testing.T) {
	now := tool("now", func(args string) (loop.Output, error) { return loop.TextOutput("noon" + args), nil })
	const call = `{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"now","arguments":"{}"}}]}`
	for name, c := range map[string]struct {
		messages string
		want     []string
	}{
		"a user message after a result": {
			`{"role":"user","content":"a"},` + call + `,{"role":"tool","tool_call_id":"a","content":"noon{}"},{"role":"user","content":"b"},` + call + `,{"role":"tool","tool_call_id":"a","content":"x"}`,
			[]string{"0.0 a now same", `1.0 a now differs was "x", is "noon{}"`},
		},
		"two consecutive responses": {
			`{"role":"user","content":"a"},{"role":"assistant","content":"well"},` + call + `,{"role":"tool","tool_call_id":"a","content":"noon{}"},{"role":"user","content":"bye"}`,
			[]string{"1.0 a now same"},
		},
		"a message of the assistant first": {
			`{"role":"developer","content":"s"},{"role":"assistant","content":"Hi!"},{"role":"user","content":"a"},` + call + `,{"role":"tool","tool_call_id":"a","content":"noon{}"},{"role":"assistant","content":""}`,
			[]string{"0.0 a now same"},
		},
		"a call before any user": {
			call + `,{"role":"tool","tool_call_id":"a","content":"noon{}"},{"role":"assistant","content":"done"}`,
			[]string{"0.0 a now same"},
		},
		"a call before the user": {
			call + `,{"role":"tool","tool_call_id":"a","content":"noon{}"},{"role":"user","content":"a"},{"role":"assistant","content":"done"}`,
			[]string{"0.0 a now same"},
		},
		"an id twice in a response": {
			`{"role":"user","content":"a"},` + strings.Replace(call, `}]}`, `},{"id":"a","type":"function","function":{"name":"now","arguments":"{}"}}]}`, 1) +
				`,{"role":"tool","tool_call_id":"a","content":"noon{}"},{"role":"tool","tool_call_id":"a","content":"x"}`,
			[]string{"0.0 a now same", `0.1 a now differs was "x", is "noon{}"`},
		},
		"a result of an unknown id": {
			`{"role":"tool","content":"lost"},{"role":"user","content":"a"},` + call + `,{"role":"tool","tool_call_id":"z","content":"noon{}"},{"role":"tool","tool_call_id":"y","content":"more"}`,
			[]string{"0.0 a now same"},
		},
		"invalid arguments": {
			`{"role":"user","content":"a"},` + strings.Replace(call, `"{}"`, `"{"`, 1) + `,{"role":"tool","tool_call_id":"a","content":"bad"}`,
			[]string{`0.0 a now differs was "bad", is "the call was cut off before its arguments were complete`},
		},
		"a name that no loop takes": {
			`{"role":"user","content":"a"},` + strings.Replace(call, `"now"`, `"my.now"`, 1) + `,{"role":"tool","tool_call_id":"a","content":"x"},{"role":"assistant","content":"done"}`,
			[]string{`0.0 a my.now recorded`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			run := runs(t, `{"messages":[`+c.messages+`]}`)[0]
			out, err := rerun.Tools(t.Context(), &run, nil, now)
			if err != nil {
				t.Fatal(err)
			}
			got := describe(out.Calls)
			for i := range min(len(got), len(c.want)) {
				got[i] = got[i][:min(len(got[i]), len(c.want[i]))]
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
}

func TestToolsErrors(t *testing.T) {
	silent := runs(t, `{"messages":[{"role":"user","content":"a"}]}`)[0]
	if _, err := rerun.Tools(t.Context(), &silent, nil); err == nil || err.Error() != `rerun: the run "run-1": the recording has no model response` {
		t.Errorf("a run without a response: got the error %v", err)
	}
	run := runs(t, oneLine(chat))[0]
	if _, err := rerun.Tools(t.Context(), &run, &rerun.Options{Ignore: map[string][]string{"now": {"x"}}}); err == nil || !strings.Contains(err.Error(), `the tool "now": the JSON pointer "x": missing / at the beginning`) {
		t.Errorf("an invalid pointer: got the error %v", err)
	}
	if err := (&rerun.Options{Ignore: map[string][]string{"*": {"x"}}}).Check(); err == nil {
		t.Error("an invalid pointer is accepted")
	}
	if _, err := rerun.Tools(t.Context(), &run, nil, loop.Tool{Name: "no such name"}); err == nil || !strings.Contains(err.Error(), `the tool name "no such name" is not one`) {
		t.Errorf("of a name that no loop takes: got the error %v", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	_, err := rerun.Tools(ctx, &run, nil, tool("find", func(string) (loop.Output, error) { stop(); return loop.Output{}, nil }))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("of a context that has ended: got the error %v", err)
	}
}

// TestToolsOfTrace covers traces with options, failures and rewrites. Errors are distinguished from
// results.
func TestToolsOfTrace(t *testing.T) {
	ask := func(step, kept int, messages ...llm.Message) trace.Event {
		return trace.Event{Step: step, Attempt: 1, Body: trace.ModelRequest{PrefixMessages: kept, NewMessages: messages}}
	}
	replies := func(step int, finish llm.FinishReason, parts ...llm.Part) trace.Event {
		return trace.Event{Step: step, Attempt: 1, Body: trace.ModelResponse{Message: llm.Assistant(parts...), FinishReason: finish}}
	}
	ended := func(step int, id, text string, failed bool) trace.Event {
		return trace.Event{Step: step, Body: trace.ToolEnd{ToolCallID: id, Result: llm.ToolResult{ID: id, Name: "now", Content: []llm.Part{llm.Text{Text: text}}, IsError: failed}}}
	}
	grade := replies(0, llm.FinishStop, llm.Text{Text: "no turn of the run"})
	grade.Purpose = trace.PurposeGrade
	events := []trace.Event{
		{Step: trace.NoStep, Body: trace.RunStart{Options: trace.Options{{Name: "max_steps", Value: "2"}}}},
		{Body: trace.ModelConfig{Model: "m", System: llm.SystemText("s"), Tools: []llm.Tool{{Name: "now", Parameters: []byte(`{"type":"array"}`)}, {Name: "now"}}}},
		ask(0, 0, llm.User("old"), llm.Assistant(llm.Text{Text: "history"}), llm.User("go")), grade,
		{Attempt: 1, Body: trace.ModelError{}}, ask(0, 3),
		replies(0, llm.FinishMalformedCall, llm.ToolCall{ID: "a", Name: "now", Arguments: "{}"}),
		ended(0, "a", "noon", true),
		ask(1, 1, llm.User("a summary of all")), // of a history that was rewritten
		replies(1, llm.FinishStop, llm.Text{Text: "so it is"}),
		ask(2, 2, llm.Assistant(llm.Text{Text: "so it is"}), llm.User("again")),
		replies(2, llm.FinishToolCalls, llm.ToolCall{ID: "b", Name: "now", Arguments: "{}"}),
		{Step: 2, Body: trace.ToolSkip{ToolCallID: "b", Result: llm.ToolResult{ID: "b", Content: []llm.Part{llm.Media{URL: "x"}}}}},
		{Step: trace.NoStep, Body: trace.RunEnd{}},
	}
	out, err := rerun.Tools(t.Context(), &importer.Run{Name: "r", Events: events}, nil, tool("now", func(string) (loop.Output, error) { return loop.TextOutput("noon"), nil }))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"0.0 a now differs the result is now no error",
		`2.0 b now differs was "[{"type":"media","media_type":"","url":"x"}]", is "noon"`,
	}
	if diff := cmp.Diff(want, describe(out.Calls)); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	goldie.New(t).Assert(t, "trace", []byte(trace.FormatText(out.Events)))
	out, err = rerun.Tools(t.Context(), &importer.Run{Name: "r", Events: events}, nil, tool("now", func(string) (loop.Output, error) { return loop.Output{}, errors.New("noon") }))
	if err != nil || out.Calls[0].Status != rerun.Same || out.Calls[1].Note != "the result is now an error" {
		t.Errorf("of errors: got %v, %+v", err, out)
	}
}
