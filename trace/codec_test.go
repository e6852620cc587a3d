package trace_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
)

func TestEventLine(t *testing.T) {
	for _, c := range []struct {
		name string
		ev   trace.Event
		want string
	}{
		{"a plain event", trace.Event{Seq: 3, Run: "r1", Step: 0, Attempt: 1, Purpose: "summary", At: 1500000, Body: trace.ToolStart{ToolCallID: "c1", Name: "weather", Arguments: `{"a":1}`}},
			`{"seq":3,"run":"r1","step":0,"attempt":1,"purpose":"summary","at":1500000,"kind":"tool.start","tool_call_id":"c1","name":"weather","arguments":"{\"a\":1}"}`},
		{"no step", trace.Event{Step: trace.NoStep, Body: trace.StepEnd{}}, `{"seq":0,"run":"","kind":"step.end"}`},
		{"options", trace.Event{Step: trace.NoStep, Run: "a", Body: trace.RunStart{Options: trace.Options{
			{"n", "5"}, {"neg", "-7"}, {"zero", "0"}, {"lead", "01"}, {"long", "123456789012345678"}, {"longer", "1234567890123456789"}, {"word", "x"}, {"yes", "true"}, {"no", "false"}, {"minus", "-"}, {"empty", ""}, {"dot", "1.5"}, {"x_b64", "1"}, {"colon", "1:"}, {"slash", "1/"},
		}}}, `{"seq":0,"run":"a","kind":"run.start","options":{"n":5,"neg":-7,"zero":0,"lead":"01","long":123456789012345678,"longer":"1234567890123456789","word":"x","yes":true,"no":false,"minus":"-","empty":"","dot":"1.5","x_b64_b64":"MQ==","colon":"1:","slash":"1/"}}`},
		{"text that is not UTF-8", trace.Event{Step: 1, Run: "\xff", Body: trace.Suspended{Pending: []string{"a", "\xff"}}},
			`{"seq":0,"run_b64":"/w==","step":1,"kind":"suspended","pending":["a",{"_b64":"/w=="}]}`},
		{"no body", trace.Event{Step: 1, Run: "r"}, `{"seq":0,"run":"r","step":1,"kind":""}`},
		{"nothing to set", trace.Event{Step: 1, Run: "r", Body: trace.ModelConfig{}}, `{"seq":0,"run":"r","step":1,"kind":"model.config"}`},
		{"a setting", trace.Event{Step: 1, Run: "r", Body: trace.ModelConfig{Settings: llm.Settings{MaxTokens: 5}}}, `{"seq":0,"run":"r","step":1,"kind":"model.config","settings":{"max_tokens":5}}`},
		{"nothing received", trace.Event{Step: 1, Run: "r", Body: trace.ModelError{}}, `{"seq":0,"run":"r","step":1,"kind":"model.error","error":{"type":"","message":""}}`},
		{"maps are sorted", trace.Event{Step: 1, Run: "r", Body: trace.RunEnd{UsageBy: map[trace.Purpose]llm.Usage{"b": {InputTokens: 1}, "a": {OutputTokens: 2, ReasoningOutputTokens: 1}}}},
			`{"seq":0,"run":"r","step":1,"kind":"run.end","usage_by":{"a":{"input_tokens":0,"output_tokens":2,"reasoning_output_tokens":1},"b":{"input_tokens":1,"output_tokens":0}}}`},
		{"a newer kind, its envelope aside", trace.Event{Step: 2, Run: "r", Body: trace.Unknown{Name: "tool.progress", Raw: json.RawMessage(`{"seq":9, "done" : 0.50, "kind":"x","s":"\u0041"}`)}},
			`{"seq":0,"run":"r","step":2,"kind":"tool.progress","done":0.50,"s":"\u0041"}`},
		{"a newer kind that is not an object", trace.Event{Step: 2, Run: "r", Body: trace.Unknown{Name: "x", Raw: json.RawMessage(`[1]`)}},
			`{"seq":0,"run":"r","step":2,"kind":"x","raw":[1]}`},
		{"a newer kind that is not JSON", trace.Event{Step: 2, Run: "r", Body: trace.Unknown{Name: "x", Raw: json.RawMessage(`{`)}},
			`{"seq":0,"run":"r","step":2,"kind":"x","raw":{"$not_json_b64":"ew=="}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := string(c.ev.AppendJSON(nil))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("AppendJSON (-want +got):\n%s", diff)
			}
		})
	}
}

// Every event is read back as it was, and written again as the same bytes.
func TestEventBothWays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ev := event().Draw(t, "event")
		line := ev.AppendJSON(nil)
		if !json.Valid(line) {
			t.Fatalf("not JSON: %s", line)
		}
		if bytes.ContainsAny(line, "\n\r") {
			t.Fatalf("more than a line: %s", line)
		}
		got, err := unmarshal(line)
		if err != nil {
			t.Fatalf("reading %s: %v", line, err)
		}
		if diff := cmp.Diff(ev, got, equal); diff != "" {
			t.Fatalf("read back (-want +got):\n%s\nline: %s", diff, line)
		}
		if again := got.AppendJSON(nil); !bytes.Equal(line, again) {
			t.Fatalf("written again:\n%s\nfirst:\n%s", again, line)
		}
	})
}

func TestEventUnmarshalJSON(t *testing.T) {
	for _, c := range []struct {
		name, line string
		want       trace.Event
		err        string
	}{
		{"kind last", `{"tool_call_id":"c1","step":1,"name":"n","run":"r","seq":2,"kind":"tool.start"}`,
			trace.Event{Seq: 2, Run: "r", Step: 1, Body: trace.ToolStart{ToolCallID: "c1", Name: "n"}}, ""},
		{"unknown members", ` { "kind" : "step.end" , "run":"r", "new" : [ {"a":null} ] , "x":1 } `, trace.Event{Run: "r", Step: trace.NoStep, Body: trace.StepEnd{}}, ""},
		{"unknown members of parts of it", `{"kind":"run.start","parent":{"x":1,"run":"p","tool_call_id":"c"},"tools":[{"x":[],"name":"t"}],"options":{"a":1.50,"b":null,"c":false,"d":"s"}}`,
			trace.Event{Step: trace.NoStep, Body: trace.RunStart{
				Parent: &trace.Parent{Run: "p", ToolCallID: "c"}, Tools: []trace.ToolInfo{{Name: "t"}},
				Options: trace.Options{{"a", "1.50"}, {"b", "null"}, {"c", "false"}, {"d", "s"}},
			}}, ""},
		{"unknown members of an error", `{"kind":"model.error","error":{"type":"api","x":{},"status":500}}`, trace.Event{Step: trace.NoStep, Body: trace.ModelError{Error: trace.Error{Type: "api", Status: 500}}}, ""},
		{"a kind that is not known", `{"a": 1,"kind":"future","b": [ 2 ],"seq":4}`, trace.Event{Seq: 4, Step: trace.NoStep, Body: trace.Unknown{Name: "future", Raw: json.RawMessage(`{"a":1,"b":[2]}`)}}, ""},
		{"a second kind is passed over", `{"kind":"step.end","kind":"step.start"}`, trace.Event{Step: trace.NoStep, Body: trace.StepEnd{}}, ""},
		{"no kind", `{"seq":1}`, trace.Event{}, `trace: the event has no "kind" (byte 10)`},
		{"no kind but members", `{"a":1,"seq":1}`, trace.Event{}, `trace: the event has no "kind" at a (byte 6)`},
		{"no object", `[]`, trace.Event{}, `trace: expected an object (byte 1)`},
		{"two values", `{"kind":"step.end"} 1`, trace.Event{}, `trace: something follows the JSON value (byte 21)`},
		{"not UTF-8", "{\"kind\":\"\u00e9\xff\"}", trace.Event{}, `trace: the line is not UTF-8 (byte 12)`},
		{"a wrong type", `{"kind":"tool.start","tool_call_id":5}`, trace.Event{}, `trace: expected a string at tool_call_id (byte 37)`},
		{"an option that is a list", `{"kind":"run.start","options":{"a":[1]}}`, trace.Event{}, `trace: an option is a word, a number, true, false or null at options.a (byte 36)`},
		{"a result that is text", `{"kind":"tool.end","result":{"type":"text","text":"x"}}`, trace.Event{}, `trace: expected a part of type "tool_result" at result (byte 55)`},
		{"an invalid choice", `{"kind":"model.config","tool_choice":"x"}`, trace.Event{}, `trace: tool_choice is none of auto, required, none and tool:NAME at tool_choice (byte 41)`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := unmarshal([]byte(c.line))
			message := ""
			if err != nil {
				message = err.Error()
			}
			if diff := cmp.Diff(c.err, message); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("event (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEventAppendJSONDoesNotAllocate(t *testing.T) {
	evs := append(sample(4), trace.Event{Run: "r", Body: trace.RunStart{Suppress: map[string]string{"INV-04": "known", "INV-01": "known"}}})
	buf := make([]byte, 0, 1<<20)
	for _, ev := range evs {
		n := testing.AllocsPerRun(20, func() { buf = ev.AppendJSON(buf[:0]) })
		if n != 0 {
			t.Errorf("%s: %v allocations", ev.Body.Kind(), n)
		}
	}
}
