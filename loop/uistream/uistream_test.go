package uistream_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop/uistream"
	"github.com/looptape/looptape/trace"
)

// run returns the events of a run; an empty ends means a truncated run.
func run(ends trace.RunEnd, err error, bodies ...trace.Body) iter.Seq2[trace.Event, error] {
	return func(yield func(trace.Event, error) bool) {
		for _, b := range slices.Concat([]trace.Body{trace.RunStart{}}, bodies) {
			if !yield(trace.Event{Run: "r1", Body: b}, nil) {
				return
			}
		}
		if ends.StopReason != "" {
			yield(trace.Event{Run: "r1", Body: ends}, err)
		}
	}
}

func lines(t *testing.T, parts iter.Seq[uistream.Part]) []string {
	t.Helper()
	var out []string
	for p := range parts {
		b, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(b))
	}
	return out
}

func call(id, args string) llm.ToolCall { return llm.ToolCall{ID: id, Name: "a", Arguments: args} }

func result(id, text string, failed bool) llm.ToolResult {
	return llm.ToolResult{ID: id, Name: "a", Content: []llm.Part{llm.Text{Text: text}}, IsError: failed}
}

func delta(what string, text string) trace.Body {
	return trace.ModelDelta{Type: what, Text: text}
}

func answer(parts ...llm.Part) trace.Body {
	return trace.ModelResponse{Message: llm.Assistant(parts...)}
}

var (
	natural = trace.RunEnd{StopReason: trace.ReasonEndTurn, FinishReason: llm.FinishStop}
	goOn    = trace.Decision{Action: trace.Continue, Reason: trace.ReasonToolCalls}
)

const (
	start      = `{"type":"start"}`
	startStep  = `{"type":"start-step"}`
	finishStep = `{"type":"finish-step"}`
	finish     = `{"type":"finish"}`
)

func TestParts(t *testing.T) {
	for name, c := range map[string]struct {
		events iter.Seq2[trace.Event, error]
		opts   uistream.Options
		want   []string
	}{
		"text and reasoning": {
			run(natural, nil, trace.StepStart{}, delta(trace.DeltaReasoning, "h"), delta(trace.DeltaReasoning, "m"), delta(trace.DeltaText, "a"),
				delta(trace.DeltaText, "<b>"), delta(trace.DeltaReasoning, "x"), answer(llm.Reasoning{Text: "hmx"}, llm.Text{Text: "ab"}), trace.StepEnd{}),
			uistream.Options{FinishReason: true, MessageID: "m1"},
			[]string{
				`{"type":"start","messageId":"m1"}`, startStep,
				`{"type":"reasoning-start","id":"1"}`, `{"type":"reasoning-delta","id":"1","delta":"h"}`, `{"type":"reasoning-delta","id":"1","delta":"m"}`, `{"type":"reasoning-end","id":"1"}`,
				`{"type":"text-start","id":"2"}`, `{"type":"text-delta","id":"2","delta":"a"}`, `{"type":"text-delta","id":"2","delta":"\u003cb\u003e"}`, `{"type":"text-end","id":"2"}`,
				`{"type":"reasoning-start","id":"3"}`, `{"type":"reasoning-delta","id":"3","delta":"x"}`, `{"type":"reasoning-end","id":"3"}`,
				finishStep, `{"type":"finish","finishReason":"stop"}`,
			},
		},
		"a call": {
			run(natural, nil, trace.StepStart{}, delta(trace.DeltaText, "a"), trace.ModelDelta{Type: trace.DeltaCall, ToolCallID: "c1", Name: "a"},
				trace.ModelDelta{Type: trace.DeltaArguments, ToolCallID: "c1", Text: `{"x":`}, trace.ModelDelta{Type: trace.DeltaCallEnd, ToolCallID: "c1"},
				answer(llm.Text{Text: "a"}, call("c1", `{"x":`)), goOn, trace.ToolStart{ToolCallID: "c1", Name: "a", Arguments: `{"x":1}`},
				trace.ToolEnd{ToolCallID: "c1", Result: result("c1", `{"y": 2}`, false)}, trace.StepEnd{}, trace.StepStart{}, trace.StepEnd{}),
			uistream.Options{},
			[]string{
				start, startStep, `{"type":"text-start","id":"1"}`, `{"type":"text-delta","id":"1","delta":"a"}`, `{"type":"text-end","id":"1"}`,
				`{"type":"tool-input-start","toolCallId":"c1","toolName":"a"}`, `{"type":"tool-input-delta","toolCallId":"c1","inputTextDelta":"{\"x\":"}`,
				`{"type":"tool-input-available","toolCallId":"c1","toolName":"a","input":{"x":1}}`, `{"type":"tool-output-available","toolCallId":"c1","output":{"y":2}}`,
				finishStep, startStep, finishStep, finish,
			},
		},
		"whole answers, results of all kinds": {
			run(natural, nil, trace.StepStart{}, answer(llm.Reasoning{Text: "hm"}, llm.Text{}, llm.Text{Text: "a"}, call("c1", ``), call("c2", `x`), call("c3", `{}`), call("c4", `{}`), call("c5", `[`), call("c6", `{"z":1}`)), goOn,
				trace.ToolStart{ToolCallID: "c1", Name: "a"}, trace.ToolEnd{ToolCallID: "c1", Result: result("c1", "", false)},
				trace.ToolSkip{ToolCallID: "c2", Name: "a", Reason: trace.SkipMalformedArguments, Result: result("c2", "not JSON", true)},
				trace.ToolSkip{ToolCallID: "c3", Name: "a", Reason: "denied", Result: result("c3", "no", true)},
				trace.ToolSkip{ToolCallID: "c4", Name: "a", Reason: "cached", Result: result("c4", "plain", false)},
				trace.ToolSkip{ToolCallID: "c5", Name: "a", Reason: trace.SkipTruncated, Result: result("c5", "cut off", true)},
				trace.ToolSkip{ToolCallID: "c6", Name: "a", Reason: "unknown_tool", Result: result("c6", "no tool", true)},
				answer(llm.Text{Text: "a policy's"}), trace.StepEnd{}),
			uistream.Options{},
			[]string{
				start, startStep, `{"type":"reasoning-start","id":"1"}`, `{"type":"reasoning-delta","id":"1","delta":"hm"}`, `{"type":"reasoning-end","id":"1"}`,
				`{"type":"text-start","id":"2"}`, `{"type":"text-delta","id":"2","delta":"a"}`, `{"type":"text-end","id":"2"}`,
				`{"type":"tool-input-available","toolCallId":"c1","toolName":"a","input":{}}`, `{"type":"tool-output-available","toolCallId":"c1","output":""}`,
				`{"type":"tool-input-error","toolCallId":"c2","toolName":"a","input":"x","errorText":"not JSON"}`,
				`{"type":"tool-input-available","toolCallId":"c3","toolName":"a","input":{}}`, `{"type":"tool-output-error","toolCallId":"c3","errorText":"no"}`,
				`{"type":"tool-input-available","toolCallId":"c4","toolName":"a","input":{}}`, `{"type":"tool-output-available","toolCallId":"c4","output":"plain"}`,
				`{"type":"tool-input-error","toolCallId":"c5","toolName":"a","input":"[","errorText":"cut off"}`,
				`{"type":"tool-input-error","toolCallId":"c6","toolName":"a","input":{"z":1},"errorText":"no tool"}`,
				`{"type":"text-start","id":"3"}`, `{"type":"text-delta","id":"3","delta":"a policy's"}`, `{"type":"text-end","id":"3"}`,
				finishStep, finish,
			},
		},
		"responses that middleware changed": {
			run(natural, nil, trace.StepStart{}, delta(trace.DeltaText, "ba"), delta(trace.DeltaText, "d"), answer(llm.Text{Text: "bad"}), answer(llm.Text{Text: "good"}), trace.StepEnd{},
				trace.StepStart{}, delta(trace.DeltaText, "same"), answer(llm.Text{Text: "same"}), answer(llm.Text{Text: "same"}), answer(), trace.StepEnd{}),
			uistream.Options{},
			[]string{
				start, startStep, `{"type":"text-start","id":"1"}`, `{"type":"text-delta","id":"1","delta":"ba"}`, `{"type":"text-delta","id":"1","delta":"d"}`, `{"type":"text-end","id":"1"}`,
				`{"type":"text-start","id":"2"}`, `{"type":"text-delta","id":"2","delta":"good"}`, `{"type":"text-end","id":"2"}`, finishStep,
				startStep, `{"type":"text-start","id":"3"}`, `{"type":"text-delta","id":"3","delta":"same"}`, `{"type":"text-end","id":"3"}`, finishStep, finish,
			},
		},
		"a call that is refused, the first one": {
			run(natural, nil, trace.StepStart{}, answer(call("c1", `{"z":1}`)), goOn,
				trace.ToolSkip{ToolCallID: "c1", Name: "a", Reason: "unknown_tool", Result: result("c1", "no tool", true)}, trace.StepEnd{}),
			uistream.Options{},
			[]string{
				start, startStep, `{"type":"tool-input-error","toolCallId":"c1","toolName":"a","input":{"z":1},"errorText":"no tool"}`, finishStep, finish,
			},
		},
		"what the provider did": {
			run(natural, nil, trace.StepStart{}, delta(trace.DeltaText, "a"), answer(llm.Text{Text: "a"}, llm.ToolCall{ID: "p1", Name: "search", Arguments: `{"q":1}`, ProviderExecuted: true}, result("p1", "found", false),
				llm.Media{MediaType: "image/png", Data: []byte("abc")}, llm.Media{MediaType: "image/png", URL: "http://x"}, llm.Media{MediaType: "image/png", Digest: "sha256:0"}), trace.StepEnd{}),
			uistream.Options{},
			[]string{
				start, startStep, `{"type":"text-start","id":"1"}`, `{"type":"text-delta","id":"1","delta":"a"}`,
				`{"type":"tool-input-available","toolCallId":"p1","toolName":"search","input":{"q":1},"providerExecuted":true}`, `{"type":"tool-output-available","toolCallId":"p1","output":"found","providerExecuted":true}`,
				`{"type":"file","url":"data:image/png;base64,YWJj","mediaType":"image/png"}`, `{"type":"file","url":"http://x","mediaType":"image/png"}`,
				`{"type":"text-end","id":"1"}`, finishStep, finish,
			},
		},
		"calls for the client": {
			run(trace.RunEnd{StopReason: trace.ReasonClientTools, FinishReason: llm.FinishToolCalls}, nil, trace.StepStart{}, answer(call("c1", `{"x":1}`)), trace.Decision{Action: trace.Stop, Reason: trace.ReasonClientTools}, trace.StepEnd{}),
			uistream.Options{FinishReason: true},
			[]string{start, startStep, `{"type":"tool-input-available","toolCallId":"c1","toolName":"a","input":{"x":1}}`, finishStep, `{"type":"finish","finishReason":"tool-calls"}`},
		},
		"calls that wait for a person": {
			run(trace.RunEnd{StopReason: trace.ReasonApproval}, nil, trace.StepStart{}, answer(call("c1", `{}`)), trace.Decision{Action: trace.Stop, Reason: trace.ReasonApproval}, trace.StepEnd{}),
			uistream.Options{FinishReason: true},
			[]string{start, startStep, `{"type":"tool-input-available","toolCallId":"c1","toolName":"a","input":{}}`, finishStep, `{"type":"finish","finishReason":"other"}`},
		},
		"calls without results": {
			run(natural, nil, trace.StepStart{}, answer(call("c1", `{}`)), trace.Decision{Action: trace.End, Reason: trace.ReasonForced}, trace.StepEnd{}, trace.StepStart{}, trace.StepEnd{}),
			uistream.Options{},
			[]string{start, startStep, `{"type":"tool-input-error","toolCallId":"c1","toolName":"a","input":{},"errorText":"the call was not run"}`, finishStep, startStep, finishStep, finish},
		},
		"an error": {
			run(trace.RunEnd{StopReason: trace.ReasonError}, errors.New("secret"), trace.StepStart{}, delta(trace.DeltaText, "a"), trace.StepEnd{}),
			uistream.Options{FinishReason: true},
			[]string{
				start, startStep, `{"type":"text-start","id":"1"}`, `{"type":"text-delta","id":"1","delta":"a"}`, `{"type":"text-end","id":"1"}`, finishStep,
				`{"type":"error","errorText":"An error occurred."}`, `{"type":"finish","finishReason":"error"}`,
			},
		},
		"an error that was read, in words": {
			run(trace.RunEnd{StopReason: trace.ReasonError, Error: &trace.Error{Message: "boom"}}, nil),
			uistream.Options{ErrorText: func(err error) string { return "it says " + err.Error() }},
			[]string{start, `{"type":"error","errorText":"it says boom"}`, finish},
		},
		"cancelled": {
			run(trace.RunEnd{StopReason: trace.ReasonCancel}, context.Canceled, trace.StepStart{}, delta(trace.DeltaText, "a"), trace.ModelDelta{Type: trace.DeltaCall, ToolCallID: "c1", Name: "a"}, trace.StepEnd{}),
			uistream.Options{},
			[]string{
				start, startStep, `{"type":"text-start","id":"1"}`, `{"type":"text-delta","id":"1","delta":"a"}`, `{"type":"text-end","id":"1"}`, `{"type":"tool-input-start","toolCallId":"c1","toolName":"a"}`,
				`{"type":"tool-input-error","toolCallId":"c1","toolName":"a","input":"","errorText":"the call was not run"}`, finishStep, `{"type":"abort"}`,
			},
		},
		"canceled for a reason of its own": {run(trace.RunEnd{StopReason: trace.ReasonError}, errors.New("enough"), trace.Canceled{Reason: "error"}), uistream.Options{}, []string{start, `{"type":"abort"}`}},
		"over its deadline":                {run(trace.RunEnd{StopReason: trace.ReasonDeadline}, errors.New("late"), trace.Canceled{Reason: "deadline"}), uistream.Options{}, []string{start, `{"type":"error","errorText":"An error occurred."}`, finish}},
		"truncated": {
			run(trace.RunEnd{}, nil, trace.StepStart{}, delta(trace.DeltaText, "a")),
			uistream.Options{},
			[]string{start, startStep, `{"type":"text-start","id":"1"}`, `{"type":"text-delta","id":"1","delta":"a"}`, `{"type":"text-end","id":"1"}`, `{"type":"error","errorText":"the run was interrupted"}`},
		},
		"nothing": {func(func(trace.Event, error) bool) {}, uistream.Options{}, nil},
		"metadata": {
			run(natural, nil, trace.StepStart{}, trace.StepEnd{}),
			uistream.Options{Metadata: func(ev trace.Event) json.RawMessage {
				if _, ok := ev.Body.(trace.StepEnd); ok {
					return nil
				}
				return json.RawMessage(fmt.Sprintf("{\n%q: 1}", ev.Body.Kind()))
			}},
			[]string{`{"type":"start","messageMetadata":{"run.start":1}}`, startStep, `{"type":"message-metadata","messageMetadata":{"step.start":1}}`, finishStep, `{"type":"finish","messageMetadata":{"run.end":1}}`},
		},
	} {
		if diff := cmp.Diff(c.want, lines(t, uistream.Parts(c.events, c.opts))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Parts skips other runs and model calls with another purpose.
func TestPartsOfOneRun(t *testing.T) {
	events := func(yield func(trace.Event, error) bool) {
		for _, ev := range []trace.Event{
			{Run: "r0", Body: trace.StepStart{}},
			{Run: "r1", Body: trace.RunStart{Parent: &trace.Parent{Run: "r0", ToolCallID: "c"}}},
			{Run: "r2", Body: trace.RunStart{}},
			{Run: "r2", Body: trace.StepStart{}},
			{Run: "r1", Body: trace.ModelDelta{Type: trace.DeltaText, Text: "repair"}, Purpose: trace.PurposeRepair},
			{Run: "r2", Body: trace.RunEnd{}},
			{Run: "r1", Body: natural},
		} {
			if !yield(ev, nil) {
				return
			}
		}
	}
	if diff := cmp.Diff([]string{start, finish}, lines(t, uistream.Parts(events, uistream.Options{}))); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
}

func TestFinishReasons(t *testing.T) {
	var got []string
	for _, f := range []llm.FinishReason{llm.FinishStop, llm.FinishLength, llm.FinishContentFilter, llm.FinishRefusal, llm.FinishToolCalls, llm.FinishError, llm.FinishMalformedCall, llm.FinishPause, llm.FinishUnknown, ""} {
		for p := range uistream.Parts(run(trace.RunEnd{StopReason: trace.ReasonEndTurn, FinishReason: f}, nil), uistream.Options{FinishReason: true}) {
			got = append(got, p.FinishReason)
		}
	}
	want := " stop  length  content-filter  content-filter  tool-calls  error  error  other  other  other"
	if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
		t.Errorf("reasons (-want +got):\n%s", diff)
	}
}

// Stopping the iteration of the parts stops that of the events.
func TestPartsStoppedEarly(t *testing.T) {
	for n := 1; n <= 8; n++ {
		seen, told := 0, 0
		events := func(yield func(trace.Event, error) bool) {
			for ev, err := range run(trace.RunEnd{}, nil, trace.StepStart{}, delta(trace.DeltaText, "a"), trace.StepEnd{}) {
				seen++
				if !yield(ev, err) {
					return
				}
			}
		}
		for range uistream.Parts(events, uistream.Options{}) {
			if told++; told == n {
				break
			}
		}
		if want := min(n, 7); told != want || n < 3 && seen != n {
			t.Errorf("left after %d: %d parts of %d events", n, told, seen)
		}
	}
}

func TestMetadataInvalidJSON(t *testing.T) {
	if b, err := (uistream.Part{Type: "start", Metadata: json.RawMessage("{")}).MarshalJSON(); err == nil {
		t.Errorf("got %s", b)
	}
}
