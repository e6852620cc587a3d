package otelloop_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	otelloop "github.com/looptape/looptape/contrib/otel"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
)

// marker is in each text of a marked trace.
const marker = "MARKED text"

// structural are the members of events without content.
var structural = map[string]bool{
	"kind": true, "run": true, "type": true, "role": true, "name": true, "tool_call_id": true, "id": true, "provider_id": true, "model": true,
	"response_id": true, "clock": true, "tool_choice": true, "media_type": true, "of": true, "options": true, "stop_sequences": true,
	"reasoning_effort": true, "digest": true, "pending": true, "data": true,
}

// mark adds the marker to each text of an event that is not structural. It includes the reasons and codes that
// programs and providers choose.
func mark(t *testing.T, ev trace.Event) trace.Event {
	t.Helper()
	var v any
	d := json.NewDecoder(bytes.NewReader(ev.AppendJSON(nil)))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	line, err := json.Marshal(marked(v, ""))
	if err != nil {
		t.Fatal(err)
	}
	var changed trace.Event
	if err := json.Unmarshal(line, &changed); err != nil {
		t.Fatalf("%v: %s", err, line)
	}
	return changed
}

func marked(v any, key string) any {
	switch v := v.(type) {
	case map[string]any:
		delete(v, "hash")
		for k, member := range v {
			if !structural[k] && !strings.HasSuffix(k, "_b64") {
				v[k] = marked(member, k)
			}
		}
	case []any:
		for i := range v {
			v[i] = marked(v[i], key)
		}
	case string:
		if key == "arguments" && strings.HasPrefix(v, `{"`) {
			return `{"marker":"` + marker + `",` + v[1:]
		}
		return v + " " + marker
	}
	return v
}

// TestContentOnRequest exports all scenarios with a marker in each text. Without content, no span and no metric
// has it. With content, each span of a model call has it.
func TestContentOnRequest(t *testing.T) {
	for _, path := range scenarioFiles(t) {
		t.Run(name(path), func(t *testing.T) {
			o := newBackend(otelloop.ContentOff).play(t.Context(), t, parse(t, path))
			events := make([]trace.Event, len(o.Events))
			for i, ev := range o.Events {
				events[i] = mark(t, ev)
			}
			for _, content := range []otelloop.Content{otelloop.ContentOff, "off", "Structured", otelloop.ContentStructured, otelloop.ContentJSON} {
				isOff := content != otelloop.ContentStructured && content != otelloop.ContentJSON
				b := newBackend(content)
				b.export(t.Context(), t, events)
				texts := append(describe(b.spans(), true), describeMetrics(b.metrics(t))...)
				for _, line := range texts {
					has := strings.Contains(line, "MARKED")
					if isOff && has || !isOff && strings.HasPrefix(line, "chat") && !has {
						t.Errorf("content %q, marked %t: %s", content, has, line)
					}
				}
				for _, s := range b.spans() {
					if len(s.Events) > 0 || len(s.Links) > 0 {
						t.Errorf("%s has events or links", s.Name)
					}
				}
			}
		})
	}
}

// sharedDir returns the folder of reference data, or skips the test.
func sharedDir(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("LOOPTAPE_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared")
	}
	dir = filepath.Join(dir, "data", "otel-genai")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("the schemas of the conventions are not there; set LOOPTAPE_SHARED: ", err)
	}
	return dir
}

// schemas returns the schemas of the conventions by the names of the attributes.
func schemas(t *testing.T) map[string]*jsonschema.Resolved {
	t.Helper()
	dir := sharedDir(t)
	all := map[string]*jsonschema.Resolved{}
	for attribute, file := range map[string]string{
		"gen_ai.input.messages": "gen-ai-input-messages", "gen_ai.output.messages": "gen-ai-output-messages",
		"gen_ai.system_instructions": "gen-ai-system-instructions", "gen_ai.tool.definitions": "gen-ai-tool-definitions",
	} {
		raw, err := os.ReadFile(filepath.Join(dir, "schema", file+".json"))
		if err != nil {
			t.Fatal(err)
		}
		raw = bytes.ReplaceAll(raw, []byte(`"$ref": "http://json-schema.org/draft-07/schema#"`), []byte(`"type": ["object", "boolean"]`))
		var s jsonschema.Schema
		if err := json.Unmarshal(raw, &s); err != nil {
			t.Fatal(err)
		}
		strict(&s)
		if all[attribute], err = s.Resolve(nil); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// strict removes the generic form of a part, which accepts a part of any type, for the types that the conventions have.
func strict(s *jsonschema.Schema) {
	var known []any
	for _, def := range s.Defs {
		if kind := def.Properties["type"]; kind != nil && kind.Const != nil {
			known = append(known, *kind.Const)
		}
	}
	for name, def := range s.Defs {
		if strings.HasPrefix(name, "Generic") && def.Properties["type"] != nil && name != "GenericServerToolCall" && name != "GenericServerToolCallResponse" {
			def.Properties["type"].Not = &jsonschema.Schema{Enum: known}
		}
	}
}

// plain returns an attribute as a value of JSON.
func plain(t *testing.T, v attribute.Value) (out any) {
	t.Helper()
	raw := []byte(v.AsString())
	if v.Type() != attribute.STRING {
		raw = []byte(jsonOf(v))
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	return out
}

// jsonOf encodes a structured attribute.
func jsonOf(v attribute.Value) string {
	switch v.Type() {
	case attribute.SLICE:
		var list []string
		for _, e := range v.AsSlice() {
			list = append(list, jsonOf(e))
		}
		return "[" + strings.Join(list, ",") + "]"
	case attribute.MAP:
		var list []string
		for _, e := range v.AsMap() {
			list = append(list, jsonOf(attribute.StringValue(string(e.Key)))+":"+jsonOf(e.Value))
		}
		return "{" + strings.Join(list, ",") + "}"
	default:
		raw, err := json.Marshal(v.AsInterface())
		if err != nil {
			return err.Error()
		}
		return string(raw)
	}
}

// TestSchemas validates the attributes with content of all scenarios with the schemas of the conventions.
func TestSchemas(t *testing.T) {
	all := schemas(t)
	validated := map[string]int{}
	for _, path := range scenarioFiles(t) {
		o := newBackend(otelloop.ContentOff).play(t.Context(), t, parse(t, path))
		var values [2]map[string]any
		for i, content := range []otelloop.Content{otelloop.ContentStructured, otelloop.ContentJSON} {
			b := newBackend(content)
			b.export(t.Context(), t, o.Events)
			values[i] = map[string]any{}
			spans := b.spans()
			for n := range spans {
				for _, a := range spans[n].Attributes {
					if s := all[string(a.Key)]; s != nil {
						v := plain(t, a.Value)
						values[i][fmt.Sprint(n, a.Key)] = v
						validated[string(a.Key)]++
						if err := s.Validate(v); err != nil {
							t.Errorf("%s: %s: %s: %v: %s", name(path), spans[n].Name, a.Key, err, a.Value.String())
						}
					}
				}
			}
		}
		if len(values[0]) != len(values[1]) {
			t.Errorf("%s: %d structured attributes, %d with JSON", name(path), len(values[0]), len(values[1]))
		}
	}
	for attribute := range all {
		if validated[attribute] < 10 {
			t.Errorf("%d attributes %s validated", validated[attribute], attribute)
		}
	}
}

// The schemas accept the examples of the conventions, and not every list.
func TestSchemasOfExamples(t *testing.T) {
	all := schemas(t)
	raw, err := os.ReadFile(filepath.Join(sharedDir(t), "examples.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	accepted := 0
	for line := range bytes.Lines(raw) {
		var example struct {
			Valid bool
			Text  string
		}
		if err := json.Unmarshal(line, &example); err != nil {
			t.Fatal(err)
		}
		if !example.Valid {
			continue
		}
		var v any
		if err := json.Unmarshal([]byte(example.Text), &v); err != nil {
			t.Fatal(err)
		}
		var errs []error
		for _, s := range all {
			if err := s.Validate(v); err != nil {
				errs = append(errs, err)
			}
		}
		if len(errs) == len(all) {
			t.Errorf("no schema accepts %s: %v", example.Text, errs)
			continue
		}
		accepted++
	}
	if accepted < 15 {
		t.Errorf("%d examples accepted", accepted)
	}
	if err := all["gen_ai.output.messages"].Validate([]any{map[string]any{"role": "assistant", "parts": []any{map[string]any{"type": "text"}}, "finish_reason": "stop"}}); err == nil {
		t.Error("a text part without content is accepted")
	}
}

// TestParts records each kind of part in both forms.
func TestParts(t *testing.T) {
	all := []llm.Message{
		{Role: llm.RoleSystem, Parts: []llm.Part{llm.Text{Text: "be <brief>"}}},
		{Role: llm.RoleUser, Parts: []llm.Part{
			llm.Text{Text: "hi\xff"},
			llm.Media{MediaType: "image/png", Data: []byte{1, 2}}, llm.Media{MediaType: "audio/wav", URL: "https://example.org/a"},
			llm.Media{MediaType: "application/pdf", Digest: "sha256:00", Size: 7}, llm.Unknown{Kind: "x", Raw: json.RawMessage(`{"type":"x","n":null}`)},
		}},
		llm.Assistant(
			llm.Reasoning{Text: "hm", Opaque: json.RawMessage(`"signature"`)},
			llm.ToolCall{ID: "c1", Name: "f", Arguments: `{"x":1,"y":0.5,"z":[true,"a"],"o":{}}`},
			llm.ToolCall{ID: "c2", Name: "f", Arguments: `{"x":null}`}, llm.ToolCall{ID: "c3", Name: "f", Arguments: `{"x":12345678901234567890}`},
			llm.ToolCall{ID: "c4", Name: "f", Arguments: `{"x":1,"x":2}`}, llm.ToolCall{ID: "c5", Name: "f", Arguments: `{"x":`},
			llm.ToolCall{ID: "c6", Name: "f", Arguments: `{"x":1e-400}`}, llm.ToolCall{ID: "c7", Name: "f", Arguments: `{"x":1e2}`},
			llm.ToolCall{ID: "s1", Name: "search", Arguments: `{"q":"a"}`, ProviderExecuted: true},
			llm.ToolResult{ID: "s1", Name: "search", Content: []llm.Part{llm.Text{Text: "found"}}},
		),
		llm.ToolResults(
			llm.ToolResult{ID: "c1", Content: []llm.Part{llm.Text{Text: `{"a":`}, llm.Text{Text: `1}`}}},
			llm.ToolResult{ID: "c2", Content: []llm.Part{llm.Text{Text: "see"}, llm.Media{MediaType: "image/png", Data: []byte{3}}}},
		),
	}
	events := []trace.Event{{Run: "r", Body: trace.RunStart{}}, {Run: "r", Body: trace.ModelRequest{NewMessages: all}}}
	const head = `[{"parts":[{"content":"be <brief>","type":"text"}],"role":"system"},{"parts":[{"content":"hi�","type":"text"},` +
		`{"content":"AQI=","mime_type":"image/png","modality":"image","type":"blob"},{"mime_type":"audio/wav","modality":"audio","type":"uri","uri":"https://example.org/a"},` +
		`{"digest":"sha256:00","mime_type":"application/pdf","modality":"document","size":7,"type":"looptape.media"},`
	for content, want := range map[otelloop.Content]string{
		otelloop.ContentStructured: head + `{"kind":"x","type":"looptape.unknown","value":"{\"type\":\"x\",\"n\":null}"}],"role":"user"},` +
			`{"parts":[{"content":"hm","type":"reasoning"},{"arguments":{"o":{},"x":1,"y":0.5,"z":[true,"a"]},"id":"c1","name":"f","type":"tool_call"},` +
			`{"arguments":"{\"x\":null}","id":"c2","name":"f","type":"tool_call"},{"arguments":"{\"x\":12345678901234567890}","id":"c3","name":"f","type":"tool_call"},` +
			`{"arguments":"{\"x\":1,\"x\":2}","id":"c4","name":"f","type":"tool_call"},{"arguments":"{\"x\":","id":"c5","name":"f","type":"tool_call"},` +
			`{"arguments":"{\"x\":1e-400}","id":"c6","name":"f","type":"tool_call"},{"arguments":{"x":100},"id":"c7","name":"f","type":"tool_call"},` + tail,
		otelloop.ContentJSON: head + `{"kind":"x","type":"looptape.unknown","value":{"type":"x","n":null}}],"role":"user"},` +
			`{"parts":[{"content":"hm","type":"reasoning"},{"arguments":{"x":1,"y":0.5,"z":[true,"a"],"o":{}},"id":"c1","name":"f","type":"tool_call"},` +
			`{"arguments":{"x":null},"id":"c2","name":"f","type":"tool_call"},{"arguments":{"x":12345678901234567890},"id":"c3","name":"f","type":"tool_call"},` +
			`{"arguments":{"x":1,"x":2},"id":"c4","name":"f","type":"tool_call"},{"arguments":"{\"x\":","id":"c5","name":"f","type":"tool_call"},` +
			`{"arguments":{"x":1e-400},"id":"c6","name":"f","type":"tool_call"},{"arguments":{"x":1e2},"id":"c7","name":"f","type":"tool_call"},` + tail,
	} {
		b := newBackend(content)
		b.export(t.Context(), t, events)
		chat := spanOf(t, b.spans(), "chat")
		v, _ := attributeOf(chat, "gen_ai.input.messages")
		got := v.AsString()
		if content == otelloop.ContentStructured {
			got = strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(jsonOf(v))
		}
		got = strings.ReplaceAll(got, `\ufffd`, "\uFFFD")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("content %s (-want +got):\n%s", content, diff)
		}
	}
}

const tail = `{"id":"s1","name":"search","server_tool_call":{"arguments":{"q":"a"},"type":"search"},"type":"server_tool_call"},` +
	`{"id":"s1","server_tool_call_response":{"content":"found","type":"search"},"type":"server_tool_call_response"}],"role":"assistant"},` +
	`{"parts":[{"id":"c1","response":"{\"a\":1}","type":"tool_call_response"},{"id":"c2","response":[{"content":"see","type":"text"},` +
	`{"content":"Aw==","mime_type":"image/png","modality":"image","type":"blob"}],"type":"tool_call_response"}],"role":"tool"}]`

// spanOf returns the only span of an operation.
func spanOf(t *testing.T, spans tracetest.SpanStubs, operation string) *tracetest.SpanStub {
	t.Helper()
	var found []*tracetest.SpanStub
	for i := range spans {
		if text(&spans[i], "gen_ai.operation.name") == operation || spans[i].Name == operation {
			found = append(found, &spans[i])
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d spans %s, want 1", len(found), operation)
	}
	return found[0]
}
