package fake_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/jsonschema-go/jsonschema"
	"github.com/sebdah/goldie/v2"
	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
)

const sample = `version: 2
name: sample
doc: Every key once.
loop:
  preset: deuz
  max_steps: 5
  stop_when: [{has_tool_call: f}, null]
  ratio: 0.5
  strict: true
  word: "5"
tools:
  f: {description: does f, parameters: {type: object}, returns: {b: 1, a: [x, 1.50, null, true]}}
  g:
    calls:
      - {error: oh, delay: 30ms, gate: one}
      - {panic: ah}
      - {text: ok, ignores_cancel: true}
      - {exit: true}
      - {stall: true}
      - {text_b64: //8=}
      - {returns: 2001-01-01}
  k:
    text: else
    by_arguments:
      - {arguments: {a: 1}, text: one}
      - {arguments: "no json", error_b64: //8=}
  h: {client: true}
models:
  main:
    - reasoning: hm
      reasoning_opaque: {sig: x}
      text: hi
      text_opaque: 1
      refusal: true
      calls:
        - {id: c1, name: f, arguments: '{"a": 1}', index: 2, omit_end: true, opaque: [1]}
        - {id: c2, name: f, arguments: {b: 1, a: x}, single_chunk: true}
        - {name: f, chunks: ['{', '}'], omit_index: true}
        - {arguments_b64: //8=, provider_executed: true}
      chunk_size: 3
      usage: {input_tokens: 10, output_tokens: 5, cache_read_input_tokens: 1, cache_creation_input_tokens: 2, reasoning_output_tokens: 3}
      finish_reason: stop
      raw_finish_reason: STOP
      finish_message: done
      response_id: r1
      model: m1
      opaque: null
      warnings: [{code: odd, message: very}]
    - attempts:
        - error: {status: 429, code: slow, message: wait, request_id: q, retry_after: 2s, retryable: false, after: 1}
          delay: 1s
          gate: two
          event_interval: 1ms
        - error: {connection: reset}
          expect: {messages: 2}
        - chunks: [a, b]
    - repeat: 2
      expect:
        messages: 3
        role: tool
        text: [x]
        results: [{id: c1, text: b, is_error: false}]
        system: [be]
        tools: [f, g, h]
        tool_choice: auto
        request: {model: main}
      events:
        - text_delta: "1"
        - reasoning_delta: {text: r, opaque: {}}
        - tool_call_start: {index: 1, id: c9, name: f}
        - tool_call_delta: {index: 1, arguments: "{}"}
        - tool_call_end: {}
        - part: {type: media, url: u}
        - usage: {input_tokens: 1, cache_read_input_tokens: 0}
        - warning: {code: c, message: m}
        - {type: new_thing, x: 1}
        - {type: text_delta, text: t, refusal: true}
        - finish: {reason: stop}
    - {stall: true, text_b64: //8=, reasoning_b64: //8=}
    - {omit_finish: true}
  other: []
gates: [two, one]
system: be brief
history:
  - user: hello
  - system: also
  - {assistant: hm, calls: [{id: c0, name: f, arguments: {}}]}
  - {assistant: ""}
  - {calls: [{id: c00, name: f, arguments_b64: //8=}], opaque: 1}
  - {results: [{id: c0, name: f, text: ok, is_error: true}, {id: c00, text_b64: //8=}]}
  - {role: user, parts: [{type: text, text: x}, {type: media, url: u}]}
input: what now
cancel: {at: 30ms}
consumer: {stop_after: 4}
`

func sampleScript() *fake.Script {
	value := func(s string) fake.Value { return fake.Value{Kind: fake.Text, Text: s} }
	odd := "\xff\xff"
	return &fake.Script{
		File: "s.yaml", Name: "sample", Doc: "Every key once.",
		Loop: []fake.Option{
			{Name: "preset", Value: value("deuz")}, {Name: "max_steps", Value: fake.Value{Kind: fake.Number, Text: "5"}},
			{Name: "stop_when", Value: fake.Value{Kind: fake.List, Items: []fake.Value{
				{Kind: fake.Map, Fields: []fake.Option{{Name: "has_tool_call", Value: value("f")}}}, {Kind: fake.Null},
			}}},
			{Name: "ratio", Value: fake.Value{Kind: fake.Number, Text: "0.5"}}, {Name: "strict", Value: fake.Value{Kind: fake.Bool, Text: "true"}}, {Name: "word", Value: value("5")},
		},
		Tools: []fake.Tool{
			{Name: "f", Description: "does f", Parameters: raw(`{"type":"object"}`), Behavior: fake.Behavior{Returns: raw(`{"b":1,"a":["x",1.50,null,true]}`)}},
			{Name: "g", Calls: []fake.Behavior{
				{Error: "oh", Delay: 30 * time.Millisecond, Gate: "one"}, {Panic: "ah"}, {Text: "ok", IgnoresCancel: true}, {Exit: true}, {Stall: true},
				{Text: odd}, {Returns: raw(`"2001-01-01"`)},
			}},
			{Name: "k", Behavior: fake.Behavior{Text: "else"}, ByArguments: []fake.Behavior{
				{Arguments: `{"a":1}`, Text: "one"}, {Arguments: "no json", Error: odd},
			}},
			{Name: "h", Client: true},
		},
		Models: []fake.ModelScript{
			{Name: "main", Responses: []fake.Response{
				{
					Reasoning: "hm", ReasoningOpaque: raw(`{"sig":"x"}`), Text: "hi", TextOpaque: raw("1"), Refusal: true,
					Calls: []fake.Call{
						{ID: "c1", Name: "f", Arguments: `{"a": 1}`, Index: 2, OmitEnd: true, Opaque: raw("[1]")}, {ID: "c2", Name: "f", Arguments: `{"b":1,"a":"x"}`, SingleChunk: true},
						{Name: "f", Chunks: []string{"{", "}"}, OmitIndex: true}, {Arguments: odd, ProviderExecuted: true},
					},
					ChunkSize: 3, Usage: llm.Usage{InputTokens: 10, OutputTokens: 5, CacheReadInputTokens: 1, CacheCreationInputTokens: 2, ReasoningOutputTokens: 3},
					FinishReason: llm.FinishStop, RawFinishReason: "STOP", FinishMessage: "done", ResponseID: "r1", Model: "m1", Opaque: raw("null"),
					Warnings: []llm.Warning{{Code: "odd", Message: "very"}},
				},
				{Attempts: []fake.Response{
					{
						Error: &fake.Failure{Status: 429, Code: "slow", Message: "wait", RequestID: "q", RetryAfter: 2 * time.Second, Retryable: new(false), After: 1},
						Delay: time.Second, Gate: "two", EventInterval: time.Millisecond,
					},
					{Error: &fake.Failure{Connection: fake.ConnectionReset}, Expect: &fake.Expect{Messages: 2}},
					{Chunks: []string{"a", "b"}},
				}},
				{
					Repeat: 2,
					Expect: &fake.Expect{
						Messages: 3, Role: llm.RoleTool, Text: []string{"x"}, Results: []fake.ExpectResult{{ID: "c1", Text: "b", IsError: new(false)}},
						System: []string{"be"}, Tools: []string{"f", "g", "h"}, ToolChoice: "auto", Request: raw(`{"model":"main"}`),
					},
					Events: []llm.Event{
						llm.TextDelta{Text: "1"}, llm.ReasoningDelta{Text: "r", Opaque: raw("{}")}, llm.ToolCallStart{Index: 1, ID: "c9", Name: "f"},
						llm.ToolCallDelta{Index: 1, Arguments: "{}"}, llm.ToolCallEnd{}, llm.PartDone{Part: llm.Media{URL: "u"}}, llm.Usage{InputTokens: 1},
						llm.Warning{Code: "c", Message: "m"}, llm.Unknown{Kind: "new_thing", Raw: raw(`{"type":"new_thing","x":1}`)},
						llm.TextDelta{Text: "t", Refusal: true}, llm.Finish{Reason: llm.FinishStop},
					},
				},
				{Stall: true, Text: odd, Reasoning: odd},
				{OmitFinish: true},
			}},
			{Name: "other", Responses: []fake.Response{}},
		},
		Gates: []string{"two", "one"}, System: "be brief",
		History: []llm.Message{
			llm.User("hello"), {Role: llm.RoleSystem, Parts: []llm.Part{llm.Text{Text: "also"}}},
			llm.Assistant(llm.Text{Text: "hm"}, llm.ToolCall{ID: "c0", Name: "f", Arguments: "{}"}),
			{Role: llm.RoleAssistant},
			{Role: llm.RoleAssistant, Parts: []llm.Part{llm.ToolCall{ID: "c00", Name: "f", Arguments: odd}}, Opaque: raw("1")},
			llm.ToolResults(llm.ToolResult{ID: "c0", Name: "f", IsError: true, Content: []llm.Part{llm.Text{Text: "ok"}}}, llm.ToolResult{ID: "c00", Content: []llm.Part{llm.Text{Text: odd}}}),
			{Role: llm.RoleUser, Parts: []llm.Part{llm.Text{Text: "x"}, llm.Media{URL: "u"}}},
		},
		Input: []llm.Message{llm.User("what now")}, Cancel: &fake.Cancel{At: 30 * time.Millisecond}, StopAfter: 4,
	}
}

var (
	noPos  = cmpopts.IgnoreTypes(fake.Pos{})
	noFile = cmpopts.IgnoreFields(fake.Script{}, "File", "Version", "Renames")
)

func parse(t *testing.T, src string) *fake.Script {
	t.Helper()
	s, err := fake.ParseScript("s.yaml", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestParseScript(t *testing.T) {
	got := parse(t, sample)
	if diff := cmp.Diff(sampleScript(), got, noPos, noFile); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	check(t, "position of an option", fake.Pos{Line: 6, Col: 3}, got.Loop[1].Pos)
	check(t, "position of its value", fake.Pos{Line: 6, Col: 14}, got.Loop[1].Value.Pos)
	check(t, "position of a tool", fake.Pos{Line: 13, Col: 3}, got.Tools[1].Pos)
	check(t, "position of parameters", fake.Pos{Line: 12, Col: 40}, got.Tools[0].ParametersPos)
	check(t, "position of a model", fake.Pos{Line: 29, Col: 3}, got.Models[0].Pos)
	check(t, "error there", "s.yaml:6:14: no 5", got.Errorf(got.Loop[1].Value.Pos, "no %d", 5).Error())
}

// TestParseScriptVersion1 reads the sample of version 1 as that of version 2, and checks
// that the recorded renames turn one into the other.
func TestParseScriptVersion1(t *testing.T) {
	src, err := os.ReadFile("testdata/sample-v1.yaml")
	if err != nil {
		t.Fatal(err)
	}
	got := parse(t, string(src))
	if diff := cmp.Diff(sampleScript(), got, noPos, noFile); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	lines := strings.SplitAfter(string(src), "\n")
	places := slices.SortedFunc(maps.Keys(got.Renames), func(a, b fake.Pos) int { return b.Col - a.Col })
	for _, at := range places {
		line, was := lines[at.Line-1], got.Renames[at]
		if !strings.HasPrefix(line[at.Col-1:], was[0]) {
			t.Errorf("%v: got %q, want %q", at, line[at.Col-1:], was[0])
			continue
		}
		lines[at.Line-1] = line[:at.Col-1] + was[1] + line[at.Col-1+len(was[0]):]
	}
	if diff := cmp.Diff(sample, strings.Join(lines, "")); diff != "" {
		t.Errorf("renamed (-want +got):\n%s", diff)
	}
}

// golden compares with a golden file. A failure prints the command that repeats the test.
func golden(t *testing.T, name string, got []byte, opts ...goldie.Option) {
	t.Helper()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("to repeat this alone: go test ./fake -count=1 -run '^%s$'", t.Name())
		}
	})
	goldie.New(t, opts...).Assert(t, name, got)
}

func TestYAMLGolden(t *testing.T) {
	out, err := sampleScript().YAML()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "sample", out, goldie.WithNameSuffix(".yaml"))
	if diff := cmp.Diff(sampleScript(), parse(t, string(out)), noPos, noFile); diff != "" {
		t.Errorf("read again (-want +got):\n%s", diff)
	}
}

func TestYAMLRefusesErr(t *testing.T) {
	turn := fake.Response{Err: errCause}
	for _, turn := range []fake.Response{turn, {Attempts: []fake.Response{{}, turn}}} {
		s := &fake.Script{Models: []fake.ModelScript{{Name: "m", Responses: []fake.Response{{}, turn}}}}
		_, err := s.YAML()
		if err == nil || err.Error() != `fake: response 2 of model "m": a file cannot contain Err: set Error` {
			t.Errorf("got %v", err)
		}
	}
}

// Numbers that a float cannot represent are kept.
func TestHugeNumbers(t *testing.T) {
	for _, n := range []string{"1e400", "123456789012345678901234567890", "-0"} {
		s := &fake.Script{Tools: []fake.Tool{{Name: "t", Behavior: fake.Behavior{Returns: raw(n)}}}}
		out, err := s.YAML()
		check(t, "error", nil, err)
		check(t, string(out), n, string(parse(t, string(out)).Tools[0].Returns))
	}
}

// Invalid JSON is written as a string.
func TestNotJSON(t *testing.T) {
	s := &fake.Script{Tools: []fake.Tool{{Name: "t", Behavior: fake.Behavior{Returns: raw("{no")}}}}
	out, err := s.YAML()
	check(t, "error", nil, err)
	check(t, "read again", `"{no"`, string(parse(t, string(out)).Tools[0].Returns))
}

// ParseScript returns the script that YAML wrote.
func TestRoundTrip(t *testing.T) {
	schema := compile(t)
	rapid.Check(t, func(r *rapid.T) {
		s := drawScript(r)
		out, err := s.YAML()
		if err != nil {
			r.Fatal(err)
		}
		got, err := fake.ParseScript("s.yaml", out)
		if err != nil {
			r.Fatalf("%v\n%s", err, out)
		}
		if diff := cmp.Diff(s, got, noPos, noFile); diff != "" {
			r.Fatalf("-want +got:\n%s\n%s", diff, out)
		}
		if err := schema.Validate(asJSON(r, out)); err != nil {
			r.Fatalf("the schema refuses it: %v\n%s", err, out)
		}
	})
}

func asJSON(t interface{ Fatal(...any) }, src []byte) any {
	var v any
	if err := yaml.Unmarshal(src, &v); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func compile(t *testing.T) *jsonschema.Resolved {
	t.Helper()
	published, err := os.ReadFile("schema/scenario-v2.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(published, &s); err != nil {
		t.Fatal(err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The published schema equals the one of the codecs.
func TestSchema(t *testing.T) {
	built, err := fake.BuildSchema()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "scenario-v2", built, goldie.WithFixtureDir("schema"), goldie.WithNameSuffix(".schema.json"))
	schema := compile(t)
	if err := schema.Validate(asJSON(t, []byte(sample))); err != nil {
		t.Errorf("the sample: %v", err)
	}
	// Every map with fixed keys refuses another key, in the schema as in the
	// parser, and every key of the schema is one of the sample's.
	var root map[string]any
	if err := json.Unmarshal(built, &root); err != nil {
		t.Fatal(err)
	}
	for name, def := range root["$defs"].(map[string]any) {
		props, _ := def.(map[string]any)["properties"].(map[string]any)
		for key := range props {
			if !strings.Contains(sample, key+":") && name != "cancel" {
				t.Errorf("the sample lacks %s.%s", name, key)
			}
		}
	}
	for key := range root["properties"].(map[string]any) {
		if !strings.Contains(sample, "\n"+key+":") && key != "version" {
			t.Errorf("the sample lacks %s", key)
		}
	}
	for _, src := range refused {
		if schema.Validate(asJSON(t, []byte(src))) == nil {
			t.Errorf("the schema takes\n%s", src)
		}
		if _, err := fake.ParseScript("s.yaml", []byte(src)); err == nil {
			t.Errorf("the parser takes\n%s", src)
		}
	}
}

var refused = []string{
	"{}", "version: 3", "{version: 2, x: 1}", "{version: 2, tools: {a: {x: 1}}}", "{version: 2, tools: []}", "{version: 2, models: {a: {}}}",
	"{version: 2, models: {a: [{x: 1}]}}", "{version: 2, models: {a: [{calls: [{x: 1}]}]}}", "{version: 2, models: {a: [{usage: {input_tokens: -1}}]}}",
	"{version: 2, models: {a: [{attempts: [{attempts: []}]}]}}", "{version: 2, models: {a: [{error: {connection: x}}]}}", "{version: 2, models: {a: [{delay: 3}]}}",
	"{version: 2, models: {a: [{delay: 3 s}]}}", "{version: 2, models: {a: [{delay: -3s}]}}", "{version: 2, models: {a: [{finish_reason: x}]}}", "{version: 2, gates: x}",
	"{version: 2, models: {a: [{expect: {role: x}}]}}", "{version: 2, models: {a: [{events: [{x: y}]}]}}", "{version: 2, models: {a: [{events: [{usage: x}]}]}}",
	"{version: 2, input: 5}", "{version: 2, input: [{x: y}]}", "{version: 2, loop: []}", "{version: 2, cancel: {x: 1}}", "{version: 2, consumer: {stop_after: x}}",
	"{version: 2, tools: {a: {client: x}}}", "{version: 2, models: {a: [{calls: [{arguments: 5}]}]}}", "{version: 2, name: [x]}",
	"{version: 2, tools: {a: {parameters: [1]}}}",
}

func TestSyntaxErrors(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"", "1:1: empty file: begin with version: 2"},
		{"# only this\n", "1:1: empty file: begin with version: 2"},
		{"{}", "1:1: missing key version: begin with version: 2"},
		{"[]", "1:1: expected the scenario (a map), found a list"},
		{"version: 3", "1:10: unknown version: want 1 or 2, found the number 3"},
		{"version: \"1\"", "1:10: unknown version: want 1 or 2, found \"1\""},
		{"version: 1\n---\nversion: 1", "2:1: a second YAML document: put one document into a file"},
		{"version: 1\nname: \xff", "2:7: the byte 0xff is not UTF-8: use a key that ends in _b64"},
		{"version: 1\nnäme: \x01", "2:7: the control character U+0001 is not allowed: escape it in double quotes"},
		{"version: 1\ndoc: \u0080", "2:6: the control character U+0080 is not allowed: escape it in double quotes"},
		{"version: 1\ndoc: \x7f", "2:6: the control character U+007F is not allowed: escape it in double quotes"},
		{"version: 1\nname: &x a", "2:7: an anchor (&x) is not allowed: repeat the value"},
		{"version: 1\nname: &x a\ndoc: *x", "2:7: an anchor (&x) is not allowed: repeat the value\ns.yaml:3:6: an alias (*x) is not allowed: repeat the value"},
		{"version: 1\nname: !mine a", "2:7: the tag !mine is not allowed: remove it"},
		{"version: 1\nname: !!binary aGk=", "2:7: the tag !!binary is not allowed: remove it"},
		{"version: 1\nname: a\nname: b", "3:1: duplicate key \"name\""},
		{"version: 1\n? [a]\n: b", "2:3: expected a key, found a list"},
		{"version: 1\nname: 5", "2:7: expected a string (quote it if it looks like another type), found the number 5"},
		{"version: 1\nname: true", "2:7: expected a string (quote it if it looks like another type), found the boolean true"},
		{"version: 1\nname:", "2:6: expected a string (quote it if it looks like another type), found null"},
		{"version: 1\nname: {}", "2:7: expected a string (quote it if it looks like another type), found a map"},
		{"version: 1\ngates: x", "2:8: expected a list of gates, found \"x\""},
		{"version: 1\ninputt: x", "2:1: unknown key in the scenario \"inputt\": did you mean \"input\"? want one of version, name, doc, loop, tools, models, gates, system, history, input, cancel, consumer"},
		{"version: 1\nconsumer: {whatever: 1}", "2:12: unknown key in consumer \"whatever\": want one of leave_after"},
		{"version: 1\nconsumer: {leave_after: -1}", "2:25: expected a whole number, 0 or above, found the number -1"},
		{"version: 1\nconsumer: {leave_after: 1.0}", "2:25: expected a whole number, 0 or above, found the number 1.0"},
		{"version: 1\nconsumer: {leave_after: 0x1}", "2:25: expected a whole number, 0 or above, found the number 0x1"},
		{"version: 1\ncancel: {at: 1}", "2:14: expected a duration like 30ms or 1m30s, 0s or above, found the number 1"},
		{"version: 1\ncancel: {at: -1s}", "2:14: expected a duration like 30ms or 1m30s, 0s or above, found \"-1s\""},
		{"version: 1\ncancel: {}", "2:9: cancel needs exactly one of before, at, in_tool, after_events"},
		{"version: 1\ncancel: {at: 0s}", "2:14: cancel without a time: remove cancel, or set a time"},
		{"version: 1\ncancel: {at: 1s, before: true}", "2:9: cancel needs exactly one of before, at, in_tool, after_events"},
		{"version: 1\ntools: {f: {}}\ncancel: {in_tool: g}", "3:19: unknown tool \"g\": want one of [\"f\"]"},
		{"version: 1\ntools: {f: {client: maybe}}", "2:21: expected true or false, found \"maybe\""},
		{"version: 1\ntools: {f: {parameters: [1]}}", "2:25: expected a JSON Schema (a map), found a list"},
		{"version: 1\ntools: {f: [text, error]}", "2:12: expected a tool (a map), found a list"},
		{"version: 1\ntools: {f: {text: a, error: b, panic: c}}", "2:22: text and error exclude each other: keep one\ns.yaml:2:32: text and panic exclude each other: keep one"},
		{"version: 1\ntools: {f: {exit: true, delay: 1s, gate: g, ignores_cancel: true, stall: true}}", "2:67: exit and stall exclude each other: keep one"},
		{"version: 1\ntools: {f: {calls: [{returns: 1, text_b64: aGk=}]}}", "2:34: returns and text_b64 exclude each other: keep one"},
		{"version: 1\ntools: {f: {by_args: [{args: a, text: a, error_b64: aGk=}]}}", "2:42: text and error_b64 exclude each other: keep one"},
		{"version: 1\ntools: {f: {text: a, calls: [], by_args: []}}", "2:33: calls and by_args exclude each other: keep one"},
		{"version: 1\ntools: {f: {client: true, delay: 3s, text: a}}", "2:27: client and delay exclude each other: keep one\ns.yaml:2:38: client and text exclude each other: keep one"},
		{"version: 1\ntools: {f: {client: true, calls: []}, g: {client: true, by_args: []}}", "2:27: client and calls exclude each other: keep one\ns.yaml:2:57: client and by_args exclude each other: keep one"},
		{"version: 1\ngates: [a]", "2:9: no tool and no response waits for the gate \"a\": the scenario uses no gate"},
		{"version: 1\ngates: [a, 5]", "2:12: expected a string (quote it if it looks like another type), found the number 5"},
		{"version: 1\ngates: [first, frist, '']\ntools: {f: {gate: first}, g: {calls: [{gate: c}]}, h: {by_args: [{args: a, gate: b}]}}\nmodels: {m: [{gate: d}, {attempts: [{gate: first}]}]}",
			"2:16: no tool and no response waits for the gate \"frist\": did you mean \"first\"? want one of [\"b\" \"c\" \"d\" \"first\"]\ns.yaml:2:23: no tool and no response waits for the gate \"\": did you mean \"b\"? want one of [\"b\" \"c\" \"d\" \"first\"]"},
		{"version: 1\ntools: {f: {text_b64: \"?\"}}", "2:23: expected base64, found \"?\""},
		{"version: 1\ntools: {f: {returns: {a: .inf}}}", "2:26: expected a JSON number or a quoted string, found .inf"},
		{"version: 1\ntools: {f: {returns: {a: 1, a: 2}}}", "2:29: duplicate key \"a\""},
		{"version: 1\nmodels: {m: [{finish: stopp}]}", "2:23: unknown finish reason \"stopp\": did you mean \"stop\"? want one of stop, tool_calls, length, content_filter, refusal, pause, malformed_call, error, unknown"},
		{"version: 1\nmodels: {m: [{finish: []}]}", "2:23: expected a finish reason, found a list"},
		{"version: 1\nmodels: {m: [{text: a, pieces: []}]}", "2:15: pieces and text exclude each other: keep one"},
		{"version: 1\nmodels: {m: [{text: a, events: []}]}", "2:15: events and text exclude each other: keep one"},
		{"version: 1\nmodels: {m: [{calls: [], events: []}]}", "2:15: events and calls exclude each other: keep one"},
		{"version: 1\nmodels: {m: [{attempts: [], stall: true}]}", "2:29: attempts and stall exclude each other: keep one"},
		{"version: 1\nmodels: {m: [{calls: [{args: a, pieces: []}]}]}", "2:24: pieces and args exclude each other: keep one"},
		{"version: 1\nmodels: {m: [{events: [x]}]}", "2:24: expected an event (a map), found \"x\""},
		{"version: 1\nmodels: {m: [{events: [{}]}]}", "2:24: expected an event, which has a type or is a map of one kind to its members: want one of [text_delta reasoning_delta tool_call_start tool_call_delta tool_call_end part usage warning finish]"},
		{"version: 1\nmodels: {m: [{events: [{text_dleta: x}]}]}", "2:25: unknown kind of event \"text_dleta\": did you mean \"text_delta\"? want one of text_delta, reasoning_delta, tool_call_start, tool_call_delta, tool_call_end, part, usage, warning, finish"},
		{"version: 1\nmodels: {m: [{events: [{finish: stop}]}]}", "2:33: expected the members of finish, found \"stop\""},
		{"version: 1\nmodels: {m: [{events: [{text_delta: {txt: a}}]}]}", "2:24: an event \"text_delta\" has no member \"txt\", or not with this value"},
		{"version: 1\nmodels: {m: [{events: [{type: part}]}]}", "2:24: invalid event: llm: an event of type part needs a part (byte 16)"},
		{"version: 1\ninput: [{}]", "2:9: a message needs exactly one of user, system, assistant (with or without calls), calls, results, or role with parts"},
		{"version: 1\ninput: [{user: a, system: b}]", "2:9: a message needs exactly one of user, system, assistant (with or without calls), calls, results, or role with parts"},
		{"version: 1\ninput: [{user: a, calls: []}]", "2:9: a message needs exactly one of user, system, assistant (with or without calls), calls, results, or role with parts"},
		{"version: 1\ninput: [{parts: []}]", "2:9: a message needs exactly one of user, system, assistant (with or without calls), calls, results, or role with parts"},
		{"version: 1\ninput: [{role: user, parts: [5]}]", "2:9: invalid parts: llm: expected an object at parts[0] (byte 11)"},
		{"version: 1\ninput: [{role: boss}]", "2:16: unknown role \"boss\": want one of system, user, assistant, tool"},
		{"version: 2\nmodels: {m: [{finish: stop}]}", "2:15: unknown key in a response \"finish\": want one of repeat, expect, attempts, delay, gate, event_interval, reasoning, reasoning_b64, reasoning_opaque, text, text_b64, chunks, text_opaque, refusal, calls, events, chunk_size, warnings, usage, finish_reason, raw_finish_reason, finish_message, response_id, model, opaque, omit_finish, error, stall"},
		{"version: 1\nmodels: {m: [{finish_reason: stop}]}", "2:15: unknown key in a response \"finish_reason\": did you mean \"finish_message\"? want one of repeat, expect, attempts, delay, gate, pace, reasoning, reasoning_b64, reasoning_opaque, text, text_b64, pieces, text_opaque, refusal, calls, events, chunk, warnings, usage, finish, raw_finish, finish_message, response_id, model, opaque, no_finish, error, stall"},
		{"version: 2\nmodels: {m: [{calls: [{arguments: a, chunks: []}]}]}", "2:24: chunks and arguments exclude each other: keep one"},
		{"version: 2\nmodels: {m: [{calls: [{args: a}]}]}", "2:24: unknown key in a call \"args\": want one of id, name, arguments, arguments_b64, chunks, index, omit_index, single_chunk, omit_end, provider_executed, opaque"},
		{"x: 1\ny: 2", "1:1: unknown key in the scenario \"x\": want one of version, name, doc, loop, tools, models, gates, system, history, input, cancel, consumer\n" +
			"s.yaml:2:1: unknown key in the scenario \"y\": want one of version, name, doc, loop, tools, models, gates, system, history, input, cancel, consumer\n" +
			"s.yaml:1:1: missing key version: begin with version: 2"},
	} {
		s, err := fake.ParseScript("s.yaml", []byte(c.src))
		if s != nil || err == nil {
			t.Errorf("%q: got %v and %v", c.src, s, err)
			continue
		}
		if diff := cmp.Diff("s.yaml:"+c.want, err.Error()); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.src, diff)
		}
		if syntax := new(fake.SyntaxError); !errors.As(err, &syntax) {
			t.Errorf("%q: no SyntaxError: %T", c.src, err)
		}
	}
}

func TestTooManyErrors(t *testing.T) {
	var b strings.Builder
	for i := range 30 {
		fmt.Fprintf(&b, "x%d: 1\n", i)
	}
	_, err := fake.ParseScript("s.yaml", []byte(b.String()))
	check(t, "lines", 20, len(strings.Split(err.Error(), "\n")))
}

func TestParseScriptPositions(t *testing.T) {
	_, err := fake.ParseScript("x.txtar", []byte("\n\n\n\nversion: 1\nname: 5"))
	if syntax := new(fake.SyntaxError); !errors.As(err, &syntax) || syntax.Line != 6 || syntax.Col != 7 || syntax.File != "x.txtar" {
		t.Errorf("got %v", err)
	}
	s, err := fake.ParseScript("x.txtar", []byte("\n\n\n\nversion: 1\nloop: {a: 1}"))
	check(t, "error", nil, err)
	check(t, "position", []fake.Pos{{Line: 6, Col: 8}, {Line: 6, Col: 11}}, []fake.Pos{s.Loop[0].Pos, s.Loop[0].Value.Pos})
}

func TestBoundaries(t *testing.T) {
	s := parse(t, "version: 1\nconsumer: {leave_after: 0}\nmodels: {m: [{usage: {input: 0}}]}\ndoc: \"\u00a0 ~\u0085\"")
	check(t, "consumer", 0, s.StopAfter)
	check(t, "doc", "\u00a0 ~ ", s.Doc) // YAML folds a line end (U+0085) to a space
}

// Each string has the plainest YAML form that restores it.
func TestQuotes(t *testing.T) {
	for text, want := range map[string]string{
		"a": "a", "a b": "a b", "a ": "'a '", "5": "'5'", "~": "'~'", "a~": "'a~'", "true": "'true'", "a.": "a.", "30ms": "30ms", "it's": "'it''s'",
		"a\nb": `"a\nb"`, "\u007f": `"\x7F"`, "-": "'-'", "{": "'{'",
	} {
		out, err := (&fake.Script{Name: text}).YAML()
		check(t, "error", nil, err)
		check(t, text, "version: 2\nname: "+want+"\n", string(out))
	}
}

// gatesOf returns the gates of all tools and responses.
func TestAllGates(t *testing.T) {
	s := parse(t, "version: 1\ngates: [e, d, c, b, a]\ntools: {f: {gate: a}, g: {calls: [{gate: b}]}, h: {by_args: [{args: x, gate: c}]}}\nmodels: {m: [{gate: d}, {attempts: [{gate: e}]}]}")
	check(t, "gates", []string{"e", "d", "c", "b", "a"}, s.Gates)
	parse(t, "version: 1\ntools: {f: {client: false, text: a}, g: {text: a, calls: [{text: b}]}, h: {text: a, by_args: []}}")
}

func TestScriptModel(t *testing.T) {
	s := parse(t, "version: 1\nmodels: {b: [{text: b, delay: 1s}], a: [{text: a}], c: []}")
	m := s.NewModel(fake.NewClock())
	u := llm.User("u")
	check(t, "by name", "a", ask(t, m, "a", u))
	check(t, "by default", "b", ask(t, m, "", u))
	check(t, "unused", []string{`session "c": all responses`}, m.Unused())
	_, err := llm.Collect(m.Stream(t.Context(), &llm.Request{Model: "d"}))
	check(t, "unknown", "fake: session \"d\", response 1, attempt 1: unknown session (-want +got):\n- one of [\"a\" \"b\" \"c\"]\n+ \"d\"", err.Error())
	check(t, "no models", `!fake: session "", response 1, attempt 1: unknown session (-want +got):`, ask(t, (&fake.Script{}).NewModel(nil), "", u))
}

func TestValueKinds(t *testing.T) {
	var got []string
	for k := fake.Null; k <= fake.Map; k++ {
		got = append(got, k.String())
	}
	check(t, "kinds", []string{"null", "a string", "a number", "true or false", "a list", "a map"}, got)
}

func FuzzParseScript(f *testing.F) {
	f.Add([]byte(sample))
	for _, src := range refused {
		f.Add([]byte(src))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		s, err := fake.ParseScript("s.yaml", src)
		if err != nil {
			return
		}
		out, err := s.YAML()
		if err != nil {
			t.Fatal(err)
		}
		again, err := fake.ParseScript("s.yaml", out)
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if diff := cmp.Diff(s, again, noPos, noFile); diff != "" {
			t.Errorf("-first +again:\n%s\n%s", diff, out)
		}
	})
}
