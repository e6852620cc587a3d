package importer_test

import (
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/trace/importer"
)

const (
	flatSpan = `{"openinference.span.kind":"LLM","llm.model_name":"m","llm.input_messages.0.message.role":"user","llm.input_messages.0.message.content":"hi",` +
		`"llm.output_messages.0.message.role":"assistant","llm.output_messages.0.message.tool_calls.0.tool_call.id":"c1","llm.output_messages.0.message.tool_calls.0.tool_call.function.name":"f","llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments":"{\"x\":1}","llm.token_count.prompt":7,"llm.token_count.completion":2}`
	phoenixSpan = `{"name":"llm","context":{"trace_id":"t","span_id":"s2"},"parent_id":"s0","start_time":"2026-01-01T00:00:02Z","attributes":{"openinference.span.kind":"LLM","llm.input_messages":[` +
		`{"message.role":"user","message.content":"hi"},{"message.role":"assistant","message.content":null,"message.tool_calls":[{"tool_call.id":"c1","tool_call.function.name":"f","tool_call.function.arguments":"{\"x\":1}"}]},{"message.role":"tool","message.content":"fine","message.tool_call_id":"c1"}],` +
		`"llm.output_messages":[{"message.role":"model","message.contents":[{"message_content.type":"reasoning","message_content.text":"hm","message_content.signature":"s"},{"message_content.type":"text","message_content.text":"yo"}]}],"llm.token_count.prompt":9,"llm.token_count.completion":3,"llm.token_count.completion_details.reasoning":1},"events":[]}`
	nestedSpan = `{"name":"llm","context":{"trace_id":"t","span_id":"s1"},"parent_id":"s0","start_time":"2026-01-01T00:00:01Z","attributes":{"openinference":{"span":{"kind":"LLM"}},"llm":{"input_messages":[{"message":{"role":"user","content":"hi"}}],` +
		`"output_messages":[{"message":{"role":"assistant","tool_calls":[{"tool_call":{"id":"c1","function":{"name":"f","arguments":"{\"x\":1}"}}}]}}],"token_count":{"prompt":7,"completion":2}}}}`
	columnSpan = `{"name":"llm","context.trace_id":"t","context.span_id":"s1","start_time":"2026-01-01T00:00:01Z","attributes.openinference.span.kind":"LLM","attributes.llm.input_messages":[{"message.role":"user","message.content":"hi"}],"attributes.output.value":"yo"}`
	chainSpan  = `{"name":"chain","context":{"trace_id":"t","span_id":"s0"},"attributes":{"openinference.span.kind":"CHAIN","input.value":"hi","output.value":"yo"}}`
)

func TestOpenInferenceRuns(t *testing.T) {
	const one = `t case="" epoch=-1 answer="yo"`
	for name, c := range map[string]struct {
		in   string
		want []string
	}{
		"attributes":        {flatSpan, []string{`span-1 case="" epoch=-1`}},
		"attributes a line": {flatSpan + "\n{\n" + flatSpan + "\n", []string{"! file:2: the line ends within a value", `span-1 case="" epoch=-1`, `span-2 case="" epoch=-1`}},
		"spans":             {"[" + phoenixSpan + ",\n" + nestedSpan + "," + chainSpan + "]", []string{one}},
		"columns":           {columnSpan, []string{one}},
		"in OTLP":           {otlp(span("t", 1, "openinference.span.kind", "LLM", "llm.input_messages.0.message.role", "user", "llm.input_messages.0.message.content", "hi", "output.value", "yo")), []string{one}},
		"values":            {`{"openinference.span.kind":"LLM","input.value":"{\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}","output.value":"yo"}`, []string{`span-1 case="" epoch=-1 answer="yo"`}},
		"completions":       {`{"openinference.span.kind":"LLM","llm.prompts.0.prompt.text":"hi","llm.choices.0.completion.text":"yo"}`, []string{`span-1 case="" epoch=-1 answer="yo"`}},
		"of OpenTelemetry":  {`{"gen_ai.operation.name":"chat","gen_ai.input.messages":` + asksHi + `,"gen_ai.output.messages":` + answers + `}`, []string{`span-1 case="" epoch=-1 answer="yo"`}},
		"an agent above":    {strings.Replace(chainSpan, `"CHAIN"`, `"AGENT","llm.input_messages.0.message.role":"user","llm.output_messages.0.message.content":"so"`, 1) + "\n" + nestedSpan + "\n", []string{`t case="" epoch=-1`}},
		"scores":            {strings.Replace(nestedSpan, `"attributes":{`, `"events":[{"name":"gen_ai.evaluation.result","attributes":{"gen_ai.evaluation.name":"e","gen_ai.evaluation.score.value":1}}],"attributes":{"annotations.1.annotation.name":"b","annotations.1.annotation.score":0.5,"annotations.0.annotation.name":"a","annotations.0.annotation.score":1,"annotations.2.annotation.name":"c","annotations.2.annotation.label":"x",`, 1) + "\n" + strings.Replace(chainSpan, `"CHAIN"`, `"EVALUATOR","trace.annotations.0.annotation.name":"t","trace.annotations.0.annotation.score":2,"evaluations.0.evaluation.name":"v","evaluations.0.evaluation.score":3`, 1) + "\n", []string{`t case="" epoch=-1 e=1 a=1 b=0.5 t=2 v=3`}},
		"no messages":       {`{"openinference.span.kind":"LLM","name":"x"}`, []string{`! file:1: span "x": the model call has no messages, as gen_ai.input.messages: let the recorder capture message content`}},
		"an unknown kind":   {`{"openinference.span.kind":"LLAMA","name":"x"}` + "\n" + flatSpan + "\n", []string{`! file:1: span "x": unknown openinference.span.kind "LLAMA"`, `span-2 case="" epoch=-1`}},
		"an unknown form":   {`{"openinference.span.kind":"LLM","name":"x","input.value":"{\"a\":1}","output.value":"yo"}`, []string{`span-1 case="" epoch=-1 answer="yo"`}},
		"no model call":     {chainSpan, []string{"! file: no span has the messages of a model call, as gen_ai.input.messages: let the recorder capture message content"}},
		"broken":            {"[" + chainSpan + ",\n{\"attributes\":}]", []string{"! file:2: [1].attributes: expected a value", "! file: no span has the messages of a model call, as gen_ai.input.messages: let the recorder capture message content"}},
	} {
		t.Run(name, func(t *testing.T) {
			for way, in := range map[string]io.Reader{"plain": strings.NewReader(c.in), "gzip": zipped(t, c.in)} {
				src, err := importer.Open("file", in)
				if err != nil {
					t.Fatal(err)
				}
				want := "openinference"
				if strings.HasPrefix(c.in, `{"resourceSpans"`) {
					want = "otel"
				}
				if diff := cmp.Diff(c.want, describeRuns(src, nil)); diff != "" || src.Format.Name != want {
					t.Errorf("%s: format %s, runs (-want +got):\n%s", way, src.Format.Name, diff)
				}
			}
		})
	}
}

func TestOpenInferenceMessages(t *testing.T) {
	const user = `{"role":"user","parts":[{"type":"text","text":"hi"}]}`
	for name, c := range map[string]struct {
		in   string
		want []string
	}{
		"a conversation": {phoenixSpan + "\n" + nestedSpan + "\n", []string{
			user,
			`{"role":"assistant","parts":[{"type":"tool_call","id":"c1","name":"f","arguments":"{\"x\":1}"}]}`,
			`{"role":"tool","parts":[{"type":"tool_result","tool_call_id":"c1","content":[{"type":"text","text":"fine"}]}]}`,
			`{"role":"assistant","parts":[{"type":"reasoning","text":"hm","opaque":{"message_content.signature":"s"}},{"type":"text","text":"yo"}]}`,
		}},
		"calls without ids": {`{"openinference.span.kind":"LLM","llm.input_messages":[{"message.role":"assistant","message.tool_calls":[{"tool_call.function.name":"f","tool_call.function.arguments":"{}"}]},{"message.role":"tool","message.name":"f","message.content":"fine"},{"message.role":"assistant","message.function_call_name":"g","message.function_call_arguments_json":"{}"},{"message.role":"function","message.name":"g","message.content":"so"}]}`, []string{
			`{"role":"assistant","parts":[{"type":"tool_call","id":"function_call_1","name":"f","arguments":"{}","id_generated":true}]}`,
			`{"role":"tool","parts":[{"type":"tool_result","tool_call_id":"function_call_1","name":"f","content":[{"type":"text","text":"fine"}]}]}`,
			`{"role":"assistant","parts":[{"type":"tool_call","id":"function_call_2","name":"g","arguments":"{}","id_generated":true}]}`,
			`{"role":"tool","parts":[{"type":"tool_result","tool_call_id":"function_call_2","name":"g","content":[{"type":"text","text":"so"}]}]}`,
		}},
		"contents": {`{"openinference.span.kind":"LLM","llm.output_messages":[{"message.role":"assistant","message.finish_reason":"x","message.contents":[{"message_content.type":"tool_use","tool_call.id":"c1","tool_call.function.name":"f","tool_call.function.arguments":"{}"},{"message_content.type":"image","message_content.image.image.url":"u"},{"message_content.type":"hologram","message_content.text":"z"},{"message_content.type":"reasoning","message_content.data":"d"}],"message.tool_calls":[{"tool_call.id":"c1","tool_call.function.name":"f"}]}]}`, []string{
			`{"role":"assistant","parts":[{"type":"tool_call","id":"c1","name":"f","arguments":"{}"},{"type":"media","media_type":"","url":"u"},{"type":"openinference.hologram","value":{"message_content.text":"z","message_content.type":"hologram"}},{"type":"reasoning","text":"","opaque":{"message_content.data":"d"}}],"opaque":{"message.finish_reason":"x"}}`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, ownJSON(t, strings.NewReader(c.in))); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOpenInferenceUnknown(t *testing.T) {
	in := `{"openinference.span.kind":"LLM","input.value":"{\"a\":1}","llm.output_messages":[{"message.role":"assistant","message.contents":[{"message_content.type":"hologram"}]}]}`
	_, runs, failed, unknown := readAll(t, "file", []byte(in))
	var got []string
	for _, err := range unknown {
		got = append(got, err.Error())
	}
	want := []string{
		`file:1: the content has a part of the unknown kind "openinference.hologram" (in message 0 of span-1)`,
		`file:1: span "": the input of the model call: the messages are in an unknown form: its members are "a" (in span-1)`,
	}
	if diff := cmp.Diff(want, got); diff != "" || len(runs) != 1 || failed != nil {
		t.Errorf("%d runs, errors %v, unknown (-want +got):\n%s", len(runs), failed, diff)
	}
}

func TestOpenInferenceSpans(t *testing.T) {
	golden := goldenFiles(t, "openinference-spans")
	sharedFiles(t, "openinference-spans", func(name string, b []byte) {
		if strings.HasSuffix(name, ".jsonl") {
			readExamples(t, name, b)
			return
		}
		format, runs, failed, unknown := readAll(t, name, b)
		if format != "openinference" || failed != nil || unknown != nil || len(runs) != 1 || len(runs[0].Messages) != 4 {
			t.Fatalf("%s: format %q, %d runs, errors %v, unknown %v", name, format, len(runs), failed, unknown)
		}
		usage := runs[0].Resources().Usage
		got := map[string]int{"input_tokens": int(usage.InputTokens), "output_tokens": int(usage.OutputTokens)}
		compareValues(t, name, golden[name], got, "input_tokens", "output_tokens")
		if names := lostFrom(format, sourceLeaves(t, b), contentOf(t, runs)); names != nil {
			t.Errorf("%s: lost %s", name, strings.Join(names, "\n"))
		}
	})
}

// readExamples checks that each example of the specification that is an object is read, or refused
// for the reason that it has no model call.
func readExamples(t *testing.T, name string, lines []byte) {
	t.Helper()
	read := 0
	for line := range strings.Lines(string(lines)) {
		var example struct {
			Valid bool
			Text  string
		}
		if err := json.Unmarshal([]byte(line), &example); err != nil {
			t.Fatal(err)
		}
		format, runs, failed, unknown := readAll(t, name, []byte(example.Text))
		if !example.Valid || format != "openinference" || len(runs) == 0 {
			continue
		}
		read++
		if failed != nil || unknown != nil {
			t.Errorf("%s: errors %v, unknown %v", example.Text, failed, unknown)
		}
		if names := lostFrom(format, sourceLeaves(t, []byte(example.Text)), contentOf(t, runs)); names != nil {
			t.Errorf("%s: lost %s", example.Text, strings.Join(names, "\n"))
		}
	}
	if want := 18; read != want {
		t.Errorf("%d examples are read, want %d", read, want)
	}
}

// The examples of the conventions are lists of messages, of parts or of tools.
func TestTelemetryExamples(t *testing.T) {
	sharedFiles(t, "otel-genai", func(name string, b []byte) {
		if name != "examples.jsonl" {
			return
		}
		lists := 0
		for line := range strings.Lines(string(b)) {
			var example struct {
				Valid bool
				Text  string
			}
			if err := json.Unmarshal([]byte(line), &example); err != nil {
				t.Fatal(err)
			}
			if !example.Valid || !strings.Contains(example.Text, `"role"`) {
				continue
			}
			lists++
			in := otlp(span("t", 1, "gen_ai.operation.name", "chat", "gen_ai.output.messages", example.Text))
			format, runs, failed, unknown := readAll(t, name, []byte(in))
			alternatives := strings.Count(example.Text, `"finish_reason"`) // each is a message of its own
			if len(runs) != 1 || len(runs[0].Messages) == 0 || failed != nil || (unknown != nil) != (alternatives > 1) {
				t.Errorf("%s: %d runs, errors %v, unknown %v", example.Text, len(runs), failed, unknown)
			}
			if names := lostFrom(format, sourceLeaves(t, []byte(in)), contentOf(t, runs)); names != nil {
				t.Errorf("%s: lost %s", example.Text, strings.Join(names, "\n"))
			}
		}
		if lists != 16 {
			t.Errorf("%d lists of messages, want 16", lists)
		}
	})
}

// An attribute that messages of OpenInference do not have is reported, flat and nested.
func TestUnknownAttributesOfMessages(t *testing.T) {
	const kind, sent, got = `"openinference.span.kind":"LLM"`, `"llm.input_messages.0.message.role":"user","llm.input_messages.0.message.content":"hi"`, `"llm.output_messages.0.message.role":"assistant","llm.output_messages.0.message.content":"yo"`
	flat := func(attributes string) string {
		return `{"name":"n","context":{"trace_id":"t","span_id":"s"},"attributes":{` + kind + "," + attributes + "}}"
	}
	nested := func(message string) string {
		return flat(`"llm":{"input_messages":[{` + message + `}],"output_messages":[{"message":{"role":"assistant","content":"yo"}}]}`)
	}
	for name, c := range map[string]struct{ file, want string }{
		"known":             {flat(sent + "," + got + `,"llm.output_messages.0.message.finish_reason":"stop"`), ""},
		"flat":              {flat(sent + "," + got + `,"llm.input_messages.0.message.hologram.0.x":"y"`), `"message.hologram.0.x"`},
		"of the response":   {flat(sent + "," + got + `,"llm.output_messages.0.message.hologram":"y"`), `"message.hologram"`},
		"not of a message":  {flat(sent + "," + got + `,"llm.input_messages.0.hologram":"y"`), `"hologram"`},
		"nested":            {nested(`"message":{"role":"user","content":"hi","hologram":[{"x":"y"}]}`), `"message.hologram.0.x"`},
		"of a part":         {nested(`"message":{"role":"user","contents":[{"message_content":{"type":"text","text":"hi","hologram":"y"}}]}`), `"message_content.hologram"`},
		"of a call":         {flat(sent + `,"llm.output_messages.0.message.role":"assistant","llm.output_messages.0.message.tool_calls.0.tool_call.function.name":"f","llm.output_messages.0.message.tool_calls.0.tool_call.hologram":1`), `"tool_call.hologram"`},
		"of a prompt":       {flat(`"llm.prompts.0.prompt.text":"hi","llm.prompts.0.prompt.hologram":"y","llm.choices.0.completion.text":"yo"`), `"prompt.hologram"`},
		"of a completion":   {flat(`"llm.prompts.0.prompt.text":"hi","llm.choices.0.completion.text":"yo","llm.choices.0.completion.hologram":"y"`), `"completion.hologram"`},
		"reason of the end": {flat(`"llm.prompts.0.prompt.text":"hi","llm.choices.0.completion.text":"yo","llm.choices.0.completion.finish_reason":"y"`), ""},
	} {
		_, _, failed, unknown := readAll(t, "x", []byte(c.file))
		got := texts(append(failed, unknown...))
		if c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || !strings.HasSuffix(strings.TrimSuffix(got[0], " (in t)"), "not read: "+c.want)) {
			t.Errorf("%s: reported %q, want %q", name, got, c.want)
		}
	}
}

// So is an attribute that messages of OpenLLMetry do not have.
func TestUnknownAttributesOfOpenLLMetry(t *testing.T) {
	for more, want := range map[string]string{
		"gen_ai.completion.0.finish_reason":          "",
		"gen_ai.prompt.0.hologram":                   `"hologram"`,
		"gen_ai.prompt.0.hologram.0.x":               `"hologram.0.x"`,
		"gen_ai.completion.0.tool_calls.0.hologram":  `"tool_calls.0.hologram"`,
		"gen_ai.completion.0.tool_calls.0.arguments": "",
	} {
		file := otlp(span("t", 1, "gen_ai.prompt.0.role", "user", "gen_ai.prompt.0.content", "hi", "gen_ai.completion.0.role", "assistant", "gen_ai.completion.0.tool_calls.0.name", "f", more, "y"))
		_, _, failed, unknown := readAll(t, "x", []byte(file))
		got := texts(append(failed, unknown...))
		if want == "" && len(got) > 0 || want != "" && (len(got) != 1 || !strings.Contains(got[0], "not read: "+want)) {
			t.Errorf("%s: reported %q, want %q", more, got, want)
		}
	}
}
