package importer_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/trace/importer"
)

// span is one of OTLP with attributes that are texts.
func span(trace string, start int, attributes ...string) string {
	return fmt.Sprintf(`{"traceId":%q,"startTimeUnixNano":"%d","attributes":%s}`, trace, start, attributeList(attributes))
}

func attributeList(attributes []string) string {
	var list []string
	for i := 0; i < len(attributes); i += 2 {
		list = append(list, fmt.Sprintf(`{"key":%q,"value":{"stringValue":%q}}`, attributes[i], attributes[i+1]))
	}
	return "[" + strings.Join(list, ",") + "]"
}

func otlp(spans ...string) string {
	return `{"resourceSpans":[{"resource":{},"scopeSpans":[{"scope":{},"spans":[` + strings.Join(spans, ",\n") + `]}]}]}`
}

const (
	asksHi  = `[{"role":"user","parts":[{"type":"text","content":"hi"}]}]`
	calls   = `[{"role":"assistant","parts":[{"type":"tool_call","id":"c1","name":"f","arguments":{"x":1}}],"finish_reason":"tool_call"}]`
	asksOn  = `[{"role":"user","parts":[{"type":"text","content":"hi"}]},{"role":"assistant","parts":[{"type":"tool_call","id":"c1","name":"f","arguments":{"x": 1}}]},{"role":"tool","parts":[{"type":"tool_call_response","id":"c1","response":"fine"}]}]`
	answers = `[{"role":"assistant","parts":[{"type":"text","content":"yo"}]}]`
)

func TestTelemetryRuns(t *testing.T) {
	chat := func(trace string, start int, asked, output string) string {
		return span(trace, start, "gen_ai.input.messages", asked, "gen_ai.output.messages", output, "gen_ai.request.model", "m")
	}
	one := []string{`t1 case="" epoch=-1 answer="yo"`}
	for name, c := range map[string]struct {
		in   string
		want []string
	}{
		"a conversation":   {otlp(chat("t1", 2, asksOn, answers), chat("t1", 1, asksHi, calls)), one},
		"a retry":          {otlp(chat("t1", 1, asksHi, `[]`), chat("t1", 2, asksHi, answers)), one},
		"two traces":       {otlp(chat("t1", 2, asksHi, answers), chat("t2", 1, asksHi, answers)), []string{`t1 case="" epoch=-1 answer="yo"`, `t2 case="" epoch=-1 answer="yo"`}},
		"two agents":       {otlp(chat("t1", 1, asksHi, calls), chat("t1", 2, `[{"role":"user","content":"sub"}]`, calls), chat("t1", 3, asksOn, answers)), []string{`t1 case="" epoch=-1 answer="yo"`, `t1/conversation-2 case="" epoch=-1`}},
		"a history is cut": {otlp(chat("t1", 1, asksOn, answers), chat("t1", 2, asksHi, answers)), []string{`t1 case="" epoch=-1 answer="yo"`, `t1/conversation-2 case="" epoch=-1 answer="yo"`}},
		"no questions":     {otlp(chat("t1", 1, "[]", answers), chat("t1", 2, "[]", answers)), []string{`t1 case="" epoch=-1 answer="yo"`, `t1/conversation-2 case="" epoch=-1 answer="yo"`}},
		"an agent above":   {otlp(span("t1", 1, "gen_ai.operation.name", "invoke_agent", "gen_ai.input.messages", asksHi, "gen_ai.output.messages", answers), chat("t1", 2, asksHi, answers)), one},
		"an agent alone":   {otlp(span("t1", 1, "gen_ai.operation.name", "invoke_agent", "gen_ai.input.messages", asksHi, "gen_ai.output.messages", answers)), one},
		"several layers":   {otlp(inTree("a", "", span("t1", 1, "gen_ai.prompt.0.role", "user", "gen_ai.prompt.0.content", "other")), inTree("b", "a", chat("t1", 2, asksHi, answers))), one},
		"in lines":         {otlp(chat("t1", 1, asksHi, calls)) + "\n{]\n" + otlp(chat("t1", 2, asksOn, answers)) + "\n", []string{"! file:2: expected a member's name in double quotes", `t1 case="" epoch=-1 answer="yo"`}},
		"Tempo":            {`{"batches":[{"instrumentationLibrarySpans":[{"spans":[` + chat("t1", 1, asksHi, answers) + `]}]}]}`, one},
		"Tempo, version 2": {`{"trace":{"resourceSpans":[{"scopeSpans":[{"spans":[` + chat("t1", 1, asksHi, answers) + `]}]}]}}`, one},
		"Jaeger":           {`{"data":[{"traceID":"t1","spans":[{"traceID":"t1","startTime":1,"tags":[{"key":"gen_ai.output.messages","type":"string","value":` + fmt.Sprintf("%q", answers) + `},{"key":"x"}],"logs":[{"fields":[{"key":"event","value":"gen_ai.evaluation.result"},{"key":"gen_ai.evaluation.name","value":"m"},{"key":"gen_ai.evaluation.score.value","value":0.5}]}]}]}]}`, []string{`t1 case="" epoch=-1 answer="yo" m=0.5`}},
		"scores":           {otlp(strings.Replace(chat("t1", 1, asksHi, calls), `{`, `{"events":[{"name":"gen_ai.evaluation.result","attributes":[{"key":"gen_ai.evaluation.name","value":{"stringValue":"a"}},{"key":"gen_ai.evaluation.score.value","value":{"doubleValue":0.25}}]},{"name":"other"}],`, 1), strings.Replace(chat("t1", 2, asksOn, answers), `{`, `{"events":[{"name":"gen_ai.evaluation.result","attributes":[{"key":"gen_ai.evaluation.score.value","value":{"intValue":"1"}}]}],`, 1)), []string{`t1 case="" epoch=-1 answer="yo" a=0.25 =1`}},
		"no messages":      {otlp(span("t1", 1, "gen_ai.request.model", "m"), span("t1", 1, "gen_ai.input.messages", "no JSON")), []string{"! file:1: span \"\": the attribute gen_ai.input.messages is not JSON", "! file:1: span \"\": the model call has no messages, as gen_ai.input.messages: let the recorder capture message content"}},
		"a silent layer":   {otlp(strings.Replace(span("t1", 1, "gen_ai.operation.name", "chat"), "{", `{"spanId":"a",`, 1), strings.Replace(chat("t1", 2, asksHi, answers), "{", `{"spanId":"b","parentSpanId":"a",`, 1), strings.Replace(span("t1", 3, "gen_ai.operation.name", "chat"), "{", `{"spanId":"c","parentSpanId":"b",`, 1)), one},
		"no model call":    {otlp(span("t1", 1, "http.method", "GET")), []string{"! file: no span has the messages of a model call, as gen_ai.input.messages: let the recorder capture message content"}},
		"broken":           {`{"resourceSpans":[` + "\n7,{\"scopeSpans\":}]}", []string{"! file:2: resourceSpans[1].scopeSpans: expected a value"}},
	} {
		t.Run(name, func(t *testing.T) {
			src, err := importer.Open("file", strings.NewReader(c.in))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, describeRuns(src, nil)); diff != "" || src.Format.Name != "otel" {
				t.Errorf("format %s, runs (-want +got):\n%s", src.Format.Name, diff)
			}
		})
	}
}

func TestTelemetryMessages(t *testing.T) {
	const system, user = `{"role":"system","parts":[{"type":"text","text":"be brief"}]}`, `{"role":"user","parts":[{"type":"text","text":"hi"}]}`
	for name, c := range map[string]struct {
		in   string
		want []string
	}{
		"the conventions": {
			otlp(span("t", 1, "gen_ai.system_instructions", `[{"type":"text","content":"be brief"}]`,
				"gen_ai.input.messages", `[{"role":"user","name":"n","parts":[{"type":"text","content":"hi","x":1},{"type":"tool_call_response","id":"c0","result":{"r":1}},{"type":"blob","mime_type":"image/png","content":"AA=="},{"type":"blob","content":"?"},{"type":"uri","mime_type":"a/b","uri":"u"},{"type":"file","file_id":"f"}]}]`,
				"gen_ai.output.messages", `[{"role":"assistant","parts":[{"type":"reasoning","content":"hm"},{"type":"tool_call","id":"c1","name":"f","arguments":"{}"}],"finish_reason":"tool_call"}]`)),
			[]string{
				system,
				`{"role":"tool","parts":[{"type":"tool_result","tool_call_id":"c0","content":[{"type":"text","text":"{\"r\":1}"}]}]}`,
				`{"role":"user","parts":[{"type":"text","text":"hi","opaque":{"x":1}},{"type":"media","media_type":"image/png","data":"AA=="},{"type":"otel.blob","value":{"type":"blob","content":"?"}},{"type":"media","media_type":"a/b","url":"u"},{"type":"otel.file","value":{"type":"file","file_id":"f"}}],"opaque":{"name":"n"}}`,
				`{"role":"assistant","parts":[{"type":"reasoning","text":"hm"},{"type":"tool_call","id":"c1","name":"f","arguments":"{}"}],"opaque":{"finish_reason":"tool_call"}}`,
			},
		},
		"structured values": {
			otlp(`{"traceId":"t","attributes":[{"key":"gen_ai.input.messages","value":{"arrayValue":{"values":[{"kvlistValue":{"values":[{"key":"role","value":{"stringValue":"user"}},{"key":"parts","value":{"arrayValue":{"values":[{"kvlistValue":{"values":[{"key":"type","value":{"stringValue":"text"}},{"key":"content","value":{"stringValue":"hi"}},{"key":"n","value":{}},{"key":"e","value":{"kvlistValue":{}}},{"key":"a","value":{"arrayValue":{}}},{"key":"z"}]}}]}}}]}},{"stringValue":"x"}]}}}]}`),
			[]string{`{"role":"user","parts":[{"type":"text","text":"hi","opaque":{"n":{},"e":{},"a":[],"z":null}}]}`},
		},
		"structured numbers": {
			otlp(`{"traceId":"t","attributes":[{"key":"gen_ai.output.messages","value":{"arrayValue":{"values":[{"kvlistValue":{"values":[{"key":"role","value":{"stringValue":"assistant"}},{"key":"parts","value":{"arrayValue":{"values":[{"kvlistValue":{"values":[{"key":"type","value":{"stringValue":"tool_call"}},{"key":"name","value":{"stringValue":"f"}},{"key":"arguments","value":{"kvlistValue":{"values":[{"key":"x","value":{"intValue":"7"}},{"key":"y","value":{"intValue":-8}},{"key":"z","value":{"doubleValue":0.5}},{"key":"s","value":{"stringValue":"9"}},{"key":"?","value":{"intValue":"ten"}}]}}}]}}]}}}]}}]}}}]}`),
			[]string{`{"role":"assistant","parts":[{"type":"tool_call","id":"","name":"f","arguments":"{\"x\":7,\"y\":-8,\"z\":0.5,\"s\":\"9\",\"?\":\"ten\"}"}]}`},
		},
		"details in an event": {
			otlp(`{"traceId":"t","attributes":[],"events":[{"name":"gen_ai.client.inference.operation.details","attributes":` + attributeList([]string{"gen_ai.input.messages", asksHi}) + `}]}`),
			[]string{user},
		},
		"events": {
			otlp(`{"traceId":"t","attributes":[],"events":[
{"name":"gen_ai.system.message","attributes":` + attributeList([]string{"content", "be brief"}) + `},
{"name":"gen_ai.user.message","attributes":` + attributeList([]string{"content", "hi"}) + `},
{"name":"gen_ai.assistant.message","attributes":` + attributeList([]string{"tool_calls", `[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]`}) + `},
{"name":"gen_ai.tool.message","attributes":` + attributeList([]string{"id", "c1", "content", "fine"}) + `},
{"name":"gen_ai.choice","attributes":` + attributeList([]string{"message", `{"role":"assistant","content":"yo"}`}) + `},
{"name":"gen_ai.choice","attributes":` + attributeList([]string{"message", `yo`, "index", "0"}) + `},
{"name":"exception","attributes":[]}]}`),
			[]string{
				system, user,
				`{"role":"assistant","parts":[{"type":"tool_call","id":"c1","name":"f","arguments":"{}"}]}`,
				`{"role":"tool","parts":[{"type":"tool_result","tool_call_id":"c1","content":[{"type":"text","text":"fine"}]}]}`,
				`{"role":"assistant","parts":[{"type":"text","text":"yo"}]}`,
				`{"role":"assistant","parts":[{"type":"text","text":"yo"}]}`,
			},
		},
		"OpenLLMetry": {
			otlp(span("t", 1, "gen_ai.prompt.0.role", "system", "gen_ai.prompt.0.content", "be brief", "gen_ai.prompt.1.role", "user", "gen_ai.prompt.1.content", "hi",
				"gen_ai.prompt.2.role", "assistant", "gen_ai.prompt.2.tool_calls.0.id", "c1", "gen_ai.prompt.2.tool_calls.0.name", "f", "gen_ai.prompt.2.tool_calls.0.arguments", "{}", "gen_ai.prompt.2.tool_calls.1.name", "g",
				"gen_ai.prompt.3.role", "tool", "gen_ai.prompt.3.tool_call_id", "c1", "gen_ai.prompt.3.content", "[1]", "gen_ai.prompt.5.role", "user", "gen_ai.completion.0.role", "assistant", "gen_ai.completion.0.content", "yo")),
			[]string{
				system, user,
				`{"role":"assistant","parts":[{"type":"tool_call","id":"c1","name":"f","arguments":"{}"},{"type":"tool_call","id":"","name":"g","arguments":""}]}`,
				`{"role":"tool","parts":[{"type":"tool_result","tool_call_id":"c1","content":[{"type":"text","text":"[1]"}]}]}`,
				`{"role":"user","parts":[]}`,
				`{"role":"assistant","parts":[{"type":"text","text":"yo"}]}`,
			},
		},
		"ADK": {
			otlp(span("t", 1, "gcp.vertex.agent.llm_request", `{"config":{"system_instruction":"be brief"},"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`, "gcp.vertex.agent.llm_response", `{"content":{"role":"model","parts":[{"text":"yo"}]}}`)),
			[]string{system, user, `{"role":"assistant","parts":[{"type":"text","text":"yo"}]}`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, ownJSON(t, strings.NewReader(c.in))); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTelemetryMeta(t *testing.T) {
	in := otlp(span("t", 1, "gen_ai.prompt.0.role", "user", "gen_ai.completion.0.role", "assistant", "gen_ai.completion.0.finish_reason", "stop", "gen_ai.request.model", "m", "gen_ai.system_instructions", "[]"))
	src, err := importer.Open("file", strings.NewReader(in))
	if err != nil {
		t.Fatal(err)
	}
	for run, err := range src.Runs() {
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for key, value := range run.Meta {
			got[key] = string(value)
		}
		want := map[string]string{
			"gen_ai.completion.0.finish_reason": `"stop"`, "gen_ai.request.model": `"m"`, "gen_ai.system_instructions": `"[]"`,
			"spans": `[{"traceId":"t","startTimeUnixNano":"1","attributes":{"gen_ai.completion.0.finish_reason":"stop","gen_ai.request.model":"m","gen_ai.system_instructions":"[]"}}]`,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("meta (-want +got):\n%s", diff)
		}
	}
}

// Values that are nested deeper than anything sensible stay as they are.
func TestTelemetryDepth(t *testing.T) {
	for name, c := range map[string]struct{ open, closing, wantOpen, wantClosing string }{
		"lists":   {`{"arrayValue":{"values":[`, `]}}`, "[", "]"},
		"objects": {`{"kvlistValue":{"values":[{"key":"k","value":`, `}]}}`, `{"k":`, "}"},
	} {
		nest := func(n int) string {
			return strings.Repeat(c.open, n) + `{"stringValue":"a"}` + strings.Repeat(c.closing, n)
		}
		for n, want := range map[int]string{
			32: strings.Repeat(c.wantOpen, 32) + `"a"` + strings.Repeat(c.wantClosing, 32),
			40: strings.Repeat(c.wantOpen, 33) + nest(7) + strings.Repeat(c.wantClosing, 33),
		} {
			in := otlp(`{"traceId":"t","attributes":[{"key":"gen_ai.input.messages","value":{"stringValue":` + fmt.Sprintf("%q", asksHi) + `}},{"key":"x","value":` + nest(n) + `}]}`)
			src, err := importer.Open("file", strings.NewReader(in))
			if err != nil {
				t.Fatal(err)
			}
			for run, err := range src.Runs() {
				if diff := cmp.Diff(want, string(run.Meta["x"])); diff != "" || err != nil {
					t.Errorf("%s, %d deep (-want +got), error %v:\n%s", name, n, err, diff)
				}
			}
		}
	}
}

// A consumer that has seen enough is not called again.
func TestTelemetryLeave(t *testing.T) {
	two := otlp(span("t1", 1, "gen_ai.input.messages", asksHi), span("t2", 1, "gen_ai.input.messages", asksHi))
	for _, in := range []string{two, "{\"resourceSpans\":[]}\n{\n{\n" + two + "\n"} {
		src, err := importer.Open("file", strings.NewReader(in))
		if err != nil {
			t.Fatal(err)
		}
		for run, err := range src.Runs() {
			t.Log(describeRun(run, err))
			break
		}
	}
}

// inTree returns a span with its id and that of its parent.
func inTree(id, parent, span string) string {
	return strings.Replace(span, "{", fmt.Sprintf(`{"spanId":%q,"parentSpanId":%q,`, id, parent), 1)
}

// Calls in several conventions are other calls, unless one is above the other or both have the same content.
func TestTelemetrySeveralConventions(t *testing.T) {
	standard := func(start int, input, output string) string {
		return span("t", start, "gen_ai.input.messages", input, "gen_ai.output.messages", output, "gen_ai.usage.input_tokens", "5")
	}
	indexed := func(start int, asked, output string) string {
		return span("t", start, "gen_ai.prompt.0.role", "user", "gen_ai.prompt.0.content", asked, "gen_ai.completion.0.role", "assistant", "gen_ai.completion.0.content", output, "gen_ai.usage.input_tokens", "7")
	}
	for name, c := range map[string]struct {
		in   string
		want []string
	}{
		"siblings":           {otlp(inTree("r", "", span("t", 1)), inTree("a", "r", standard(2, asksHi, answers)), inTree("b", "r", indexed(3, "go", "gone"))), []string{`t user:(hi) assistant:(yo) {"input_tokens":5,"output_tokens":0}`, `t/conversation-2 user:(go) assistant:(gone) {"input_tokens":7,"output_tokens":0}`}},
		"without ids":        {otlp(indexed(1, "go", "gone"), standard(2, asksHi, answers)), []string{`t user:(go) assistant:(gone) {"input_tokens":7,"output_tokens":0}`, `t/conversation-2 user:(hi) assistant:(yo) {"input_tokens":5,"output_tokens":0}`}},
		"the worse above":    {otlp(inTree("a", "", indexed(1, "hi", "yo")), inTree("b", "a", span("t", 2)), inTree("c", "b", standard(3, asksHi, answers))), []string{`t user:(hi) assistant:(yo) {"input_tokens":5,"output_tokens":0}`}},
		"the better above":   {otlp(inTree("a", "", standard(1, asksHi, answers)), inTree("b", "a", indexed(2, "hi?", "yo"))), []string{`t user:(hi) assistant:(yo) {"input_tokens":5,"output_tokens":0}`}},
		"one above, one not": {otlp(inTree("a", "", indexed(1, "hi", "yo")), inTree("b", "a", standard(2, asksHi, answers)), inTree("c", "", indexed(3, "go", "gone"))), []string{`t user:(hi) assistant:(yo) {"input_tokens":5,"output_tokens":0}`, `t/conversation-2 user:(go) assistant:(gone) {"input_tokens":7,"output_tokens":0}`}},
		"the same content":   {otlp(inTree("a", "", standard(1, asksHi, answers)), inTree("b", "", indexed(1, "hi", "yo"))), []string{`t user:(hi) assistant:(yo) {"input_tokens":5,"output_tokens":0}`}},
		"a retry in each":    {otlp(standard(1, asksHi, answers), standard(2, asksHi, answers), indexed(3, "go", "gone"), indexed(4, "go", "gone")), []string{`t user:(hi) assistant:(yo) {"input_tokens":10,"output_tokens":0}`, `t/conversation-2 user:(go) assistant:(gone) {"input_tokens":14,"output_tokens":0}`}},
		"one conversation": {otlp(standard(1, asksHi, calls), span("t", 2, "gen_ai.prompt.0.role", "user", "gen_ai.prompt.0.content", "hi", "gen_ai.prompt.1.role", "assistant", "gen_ai.prompt.1.tool_calls.0.id", "c1", "gen_ai.prompt.1.tool_calls.0.name", "f", "gen_ai.prompt.1.tool_calls.0.arguments", `{"x":1}`,
			"gen_ai.prompt.2.role", "tool", "gen_ai.prompt.2.tool_call_id", "c1", "gen_ai.prompt.2.content", "fine", "gen_ai.completion.0.role", "assistant", "gen_ai.completion.0.content", "yo")), []string{`t user:(hi) assistant:[c1 f{"x":1}] tool:[c1 =fine] assistant:(yo) {"input_tokens":5,"output_tokens":0}`}},
	} {
		_, runs, failed, unknown := readAll(t, "file", []byte(c.in))
		if diff := cmp.Diff(c.want, outline(runs)); diff != "" || failed != nil || unknown != nil {
			t.Errorf("%s: errors %v %v, runs (-want +got):\n%s", name, failed, unknown, diff)
		}
	}
}

// An agent repeats the messages of its model calls. Other content is read, or reported if model calls are
// below the agent.
func TestTelemetryAgents(t *testing.T) {
	agent := func(input, output string) string {
		return span("t", 1, "gen_ai.operation.name", "invoke_agent", "gen_ai.input.messages", input, "gen_ai.output.messages", output)
	}
	chat := func(id, parent string) string {
		return inTree(id, parent, span("t", 2, "gen_ai.input.messages", asksHi, "gen_ai.output.messages", answers))
	}
	text := func(role, text string) string {
		return fmt.Sprintf(`[{"role":%q,"parts":[{"type":"text","content":%q}]}]`, role, text)
	}
	const whole = "t user:(hi) assistant:(yo)"
	openInference := `{"context":{"trace_id":"t","span_id":"b"},"attributes":{"openinference.span.kind":"AGENT","llm.input_messages.0.message.role":"user","llm.input_messages.0.message.content":"hi","llm.output_messages.0.message.role":"assistant","llm.output_messages.0.message.content":"so"}}
{"context":{"trace_id":"t","span_id":"c"},"attributes":{"openinference.span.kind":"LLM","llm.input_messages.0.message.role":"user","llm.input_messages.0.message.content":"hi","llm.output_messages.0.message.role":"assistant","llm.output_messages.0.message.content":"yo"}}`
	for name, c := range map[string]struct {
		in      string
		want    []string
		unknown []string
	}{
		"a call of its own": {otlp(inTree("a", "", agent(asksHi, calls)), chat("b", "")), []string{`t user:(hi) assistant:[c1 f{"x":1}]`, "t/conversation-2 user:(hi) assistant:(yo)"}, nil},
		"a text of its own": {otlp(agent(text("user", "go"), text("assistant", "gone")), chat("b", "r"), inTree("r", "", span("t", 1))), []string{"t user:(go) assistant:(gone)", "t/conversation-2 user:(hi) assistant:(yo)"}, nil},
		"OpenInference":     {openInference, []string{"t user:(hi) assistant:(so)", "t/conversation-2 user:(hi) assistant:(yo)"}, nil},
		"the same content":  {otlp(agent(asksHi, answers), chat("b", "")), []string{whole}, nil},
		"in a longer text":  {otlp(agent(text("user", "h"), answers), chat("b", "")), []string{whole}, nil},
		"below another agent": {
			otlp(inTree("r", "", agent(text("user", "go"), answers)), inTree("a", "r", agent(text("user", "go"), text("assistant", "gone"))), chat("b", "r")),
			[]string{"t user:(go) assistant:(gone)", "t/conversation-2 user:(hi) assistant:(yo)"}, nil,
		},
		"above, the same content": {otlp(inTree("a", "", agent(asksHi, answers)), chat("b", "a")), []string{whole}, nil},
		"above, with a text":      {otlp(inTree("a", "", agent(asksHi, text("assistant", "done"))), chat("b", "a")), []string{whole}, []string{`file:1: span "a": the agent has the text "done", which no model call has (in t)`}},
		"above, with a call":      {otlp(inTree("a", "", agent(asksHi, calls)), chat("b", "a")), []string{whole}, []string{`file:1: span "a": the agent has the call "f {\"x\":1}", which no model call has (in t)`}},
		"above, with a result":    {otlp(inTree("a", "", agent(`[{"role":"user","parts":[{"type":"tool_call_response","id":"c1","response":"fine"}]}]`, answers)), chat("b", "a")), []string{whole}, []string{`file:1: span "a": the agent has the result "fine", which no model call has (in t)`}},
	} {
		_, runs, failed, unknown := readAll(t, "file", []byte(c.in))
		if diff := cmp.Diff(c.want, outline(runs)); diff != "" || failed != nil {
			t.Errorf("%s: errors %v, runs (-want +got):\n%s", name, failed, diff)
		}
		if diff := cmp.Diff(c.unknown, texts(unknown)); diff != "" {
			t.Errorf("%s: unknown (-want +got):\n%s", name, diff)
		}
	}
}

// telemetrySeeds are seeds of FuzzFormats.
var telemetrySeeds = []string{
	otlp(span("t1", 1, "gen_ai.input.messages", asksOn, "gen_ai.output.messages", answers)),
	otlp(span("t1", 1, "gen_ai.prompt.0.role", "user", "gen_ai.prompt.0.tool_calls.0.name", "f", "gen_ai.completion.0.role", "a")),
	otlp(span("t1", 1, "gcp.vertex.agent.llm_request", `{"contents":[{"parts":[{"text":"hi"}]}]}`)),
	`{"data":[{"spans":[{"traceID":"t","tags":[{"key":"gen_ai.output.messages","value":"[]"}],"logs":[{"fields":[{"key":"event","value":"gen_ai.choice"},{"key":"message","value":"x"}]}]}]}]}`,
	`{"batches":[{"instrumentationLibrarySpans":[{"spans":[{"attributes":[{"key":"gen_ai.input.messages","value":{"arrayValue":{"values":[{"kvlistValue":{}}]}}}]}]}]}]}`,
}

// A model call without messages below an agent with messages is no layer of the agent.
func TestTelemetrySilentCall(t *testing.T) {
	agent := strings.Replace(span("t1", 1, "gen_ai.operation.name", "invoke_agent", "gen_ai.output.messages", answers), "{", `{"spanId":"a",`, 1)
	call := strings.Replace(span("t1", 2, "gen_ai.operation.name", "chat"), "{", `{"spanId":"b","parentSpanId":"a",`, 1)
	_, runs, failed, unknown := readAll(t, "file", []byte(otlp(agent, call)))
	if len(runs) != 1 || failed != nil || len(unknown) != 1 || !strings.Contains(unknown[0].Error(), `span "b": the model call has no messages`) {
		t.Errorf("%d runs, errors %v, unknown %v", len(runs), failed, unknown)
	}
}

// Messages in a convention that is not read are reported, unless another span of the call has them.
func TestTelemetryOtherConventions(t *testing.T) {
	const reported = "the messages of the model call are in a convention that looptape does not read, with the attribute "
	withID := func(id, parent, span string) string {
		return strings.Replace(span, "{", `{"spanId":"`+id+`","parentSpanId":"`+parent+`",`, 1)
	}
	read := span("t1", 2, "gen_ai.operation.name", "chat", "gen_ai.input.messages", asksHi, "gen_ai.output.messages", answers)
	for attribute, want := range map[string]string{
		"ai.prompt.messages=[]":                `"ai.prompt.messages"`,
		"all_messages_events=[]":               `"all_messages_events"`,
		"pydantic_ai.all_messages=[]":          `"pydantic_ai.all_messages"`,
		"langfuse.observation.type=generation": `"langfuse.observation.type"`,
		"langfuse.observation.type=tool":       "",
		`mlflow.spanType="CHAT_MODEL"`:         `"mlflow.spanType"`,
		`mlflow.spanType="TOOL"`:               "",
		"traceloop.entity.input={}":            "",
	} {
		name, value, _ := strings.Cut(attribute, "=")
		other := span("t1", 1, name, value)
		for form, c := range map[string]struct{ file, want string }{
			"beside": {otlp(withID("a", "", other), withID("b", "", read)), want},
			"above":  {otlp(withID("a", "", other), withID("b", "a", read)), ""},
			"below":  {otlp(withID("b", "", read), withID("a", "b", other)), ""},
		} {
			_, runs, failed, unknown := readAll(t, "file", []byte(c.file))
			isReported := len(unknown) == 1 && strings.Contains(unknown[0].Error(), reported+c.want)
			if len(runs) != 1 || failed != nil || (c.want == "" && unknown != nil) || c.want != "" && !isReported {
				t.Errorf("%s, %s: %d runs, errors %v, unknown %v", attribute, form, len(runs), failed, unknown)
			}
		}
	}
}

// Of the alternative responses of a call, the first is read. The blocks of a response of Anthropic are not alternatives.
func TestTelemetryAlternatives(t *testing.T) {
	event := func(index int, text string) string {
		return fmt.Sprintf(`{"name":"gen_ai.choice","attributes":[{"key":"index","value":{"intValue":"%d"}},{"key":"message","value":{"stringValue":%q}}]}`, index, text)
	}
	indexed := func(more ...string) string {
		return otlp(span("t", 1, append(more, "gen_ai.prompt.0.role", "user", "gen_ai.prompt.0.content", "hi",
			"gen_ai.completion.0.role", "assistant", "gen_ai.completion.0.content", "one", "gen_ai.completion.1.role", "assistant", "gen_ai.completion.1.content", "two")...))
	}
	one := []string{"t user:(hi) assistant:(one)"}
	for name, c := range map[string]struct {
		in    string
		want  []string
		count string
	}{
		"events": {
			otlp(`{"traceId":"t","attributes":[],"events":[{"name":"gen_ai.user.message","attributes":` + attributeList([]string{"content", "hi"}) + `},` + event(1, "two") + "," + event(0, "one") + `]}`),
			one, "the gen_ai.choice of the model call: the response has 2 alternatives",
		},
		"OpenLLMetry":                {indexed("gen_ai.system", "openai"), one, "the gen_ai.completion of the model call: the response has 2 alternatives"},
		"OpenLLMetry with Anthropic": {indexed("gen_ai.system", "Anthropic"), []string{"t user:(hi) assistant:(one) assistant:(two)"}, ""},
	} {
		_, runs, failed, unknown := readAll(t, "file", []byte(c.in))
		if diff := cmp.Diff(c.want, outline(runs)); diff != "" || failed != nil || (len(unknown) > 0) != (c.count != "") || len(unknown) > 0 && !strings.Contains(unknown[0].Error(), c.count) {
			t.Errorf("%s: errors %v %v, runs (-want +got):\n%s", name, failed, unknown, diff)
		}
	}
}
