package llm_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/looptape/looptape/llm"
)

func anyText() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.SampledFrom([]string{"", "a", "é😀", "<&>", "\u2028", "\x00\"\\\n", "\xff", "a\xed\xa0\x80"}),
		rapid.StringN(0, 8, 30),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 6), func(b []byte) string { return string(b) }),
	)
}

func utf8Text() *rapid.Generator[string] { return rapid.StringN(0, 8, 30) }

func anyRaw() *rapid.Generator[json.RawMessage] {
	return rapid.SampledFrom([]json.RawMessage{nil, nil, json.RawMessage(`{"a":[1,"\u00e9"]}`), json.RawMessage(`null`), json.RawMessage(`1.50`)})
}

func anyPart(depth int) *rapid.Generator[llm.Part] {
	return rapid.Custom(func(t *rapid.T) llm.Part {
		text, raw, flag := anyText(), anyRaw(), rapid.Bool()
		switch rapid.IntRange(0, 5).Draw(t, "part") {
		case 0:
			return llm.Text{Text: text.Draw(t, "text"), Refusal: flag.Draw(t, "refusal"), Opaque: raw.Draw(t, "opaque")}
		case 1:
			return llm.Reasoning{Text: text.Draw(t, "text"), Opaque: raw.Draw(t, "opaque")}
		case 2:
			m := llm.Media{MediaType: text.Draw(t, "type"), Name: text.Draw(t, "name"), URL: text.Draw(t, "url"), Digest: text.Draw(t, "digest"), Size: rapid.Int64().Draw(t, "size"), Opaque: raw.Draw(t, "opaque")}
			if flag.Draw(t, "inline") {
				m.Data = rapid.SliceOfN(rapid.Byte(), 0, 5).Draw(t, "data")
			}
			return m
		case 3:
			return llm.ToolCall{
				ID: text.Draw(t, "id"), Name: text.Draw(t, "name"), Arguments: text.Draw(t, "args"), IDGenerated: flag.Draw(t, "minted"),
				ProviderID: text.Draw(t, "provider id"), ProviderExecuted: flag.Draw(t, "executed"), Opaque: raw.Draw(t, "opaque"),
			}
		case 4:
			r := llm.ToolResult{ID: text.Draw(t, "id"), Name: text.Draw(t, "name"), IsError: flag.Draw(t, "error"), Opaque: raw.Draw(t, "opaque")}
			if depth > 0 {
				r.Content = rapid.SliceOfN(anyPart(depth-1), 0, 3).Draw(t, "content")
			}
			return r
		}
		return llm.Unknown{Kind: "new", Raw: json.RawMessage(`{"type":"new","is_error":"odd","minted":1,"size":"x","data":[1],"code":5,"input":"x","index":null,"refusal":{},"text":[],"id":1,"content":"x","part":"y"}`)}
	})
}

func anyMessage() *rapid.Generator[llm.Message] {
	return rapid.Custom(func(t *rapid.T) llm.Message {
		role := rapid.OneOf(rapid.SampledFrom([]string{"system", "user", "assistant", "tool"}), utf8Text()).Draw(t, "role")
		return llm.Message{Role: llm.Role(role), Parts: rapid.SliceOfN(anyPart(1), 0, 3).Draw(t, "parts"), Opaque: anyRaw().Draw(t, "opaque")}
	})
}

func anyUsage() *rapid.Generator[llm.Usage] {
	n := rapid.OneOf(rapid.Just[int64](0), rapid.Int64())
	return rapid.Custom(func(t *rapid.T) llm.Usage {
		return llm.Usage{InputTokens: n.Draw(t, "in"), OutputTokens: n.Draw(t, "out"), CacheReadInputTokens: n.Draw(t, "cached"), CacheCreationInputTokens: n.Draw(t, "write"), ReasoningOutputTokens: n.Draw(t, "reasoning")}
	})
}

func anyTool() *rapid.Generator[llm.Tool] {
	return rapid.Custom(func(t *rapid.T) llm.Tool {
		return llm.Tool{Name: anyText().Draw(t, "name"), Description: anyText().Draw(t, "description"), Parameters: anyRaw().Draw(t, "schema"), Strict: rapid.SampledFrom([]*bool{nil, new(true), new(false)}).Draw(t, "strict")}
	})
}

func optional[T any](g *rapid.Generator[T]) *rapid.Generator[*T] {
	return rapid.OneOf(rapid.Just[*T](nil), rapid.Map(g, func(v T) *T { return &v }))
}

func anySettings() *rapid.Generator[llm.Settings] {
	number := rapid.OneOf(rapid.Just(0.0), rapid.Float64())
	return rapid.Custom(func(t *rapid.T) llm.Settings {
		return llm.Settings{
			MaxTokens: rapid.IntRange(-1, 9).Draw(t, "max"), Temperature: optional(number).Draw(t, "temperature"), TopP: optional(number).Draw(t, "top p"), Seed: optional(rapid.Int64()).Draw(t, "seed"),
			StopSequences: rapid.SliceOfN(utf8Text(), 0, 3).Draw(t, "stop"), ParallelToolCalls: optional(rapid.Bool()).Draw(t, "parallel"), ReasoningEffort: anyText().Draw(t, "reasoning"), OutputSchema: anyRaw().Draw(t, "schema"),
		}
	})
}

func anySystem() *rapid.Generator[llm.System] {
	part := rapid.Custom(func(t *rapid.T) llm.SystemPart {
		return llm.SystemPart{Text: anyText().Draw(t, "text"), CacheMark: rapid.Bool().Draw(t, "mark")}
	})
	list := rapid.Map(rapid.SliceOfN(part, 0, 3), func(list []llm.SystemPart) llm.System { return list })
	return rapid.OneOf(rapid.Map(anyText(), llm.SystemText), list)
}

func anyRequest() *rapid.Generator[llm.Request] {
	choices := []llm.ToolChoice{{}, {Mode: llm.ChooseNone}, {Mode: llm.ChooseRequired}, {Mode: llm.ChooseTool, Name: "x"}, {Mode: llm.ChooseTool, Name: "\xff"}, {Mode: llm.ChooseTool}}
	return rapid.Custom(func(t *rapid.T) llm.Request {
		r := llm.Request{
			Model: anyText().Draw(t, "model"), System: anySystem().Draw(t, "system"), Messages: rapid.SliceOfN(anyMessage(), 0, 3).Draw(t, "messages"), Tools: rapid.SliceOfN(anyTool(), 0, 3).Draw(t, "tools"),
			ToolChoice: rapid.SampledFrom(choices).Draw(t, "choice"), ResponseMode: rapid.SampledFrom([]llm.ResponseMode{llm.Streaming, llm.NonStreaming}).Draw(t, "delivery"), Settings: anySettings().Draw(t, "settings"),
		}
		for _, k := range rapid.SliceOfN(utf8Text(), 0, 3).Draw(t, "extra") {
			if r.Extra == nil {
				r.Extra = map[string]json.RawMessage{}
			}
			r.Extra[k] = json.RawMessage(`[1]`)
		}
		return r
	})
}

func anyEvent() *rapid.Generator[llm.Event] {
	return rapid.Custom(func(t *rapid.T) llm.Event {
		text, raw, index := anyText(), anyRaw(), rapid.IntRange(0, 3)
		switch rapid.IntRange(0, 9).Draw(t, "event") {
		case 0:
			return llm.TextDelta{Text: text.Draw(t, "text"), Refusal: rapid.Bool().Draw(t, "refusal"), Opaque: raw.Draw(t, "opaque")}
		case 1:
			return llm.ReasoningDelta{Text: text.Draw(t, "text"), Opaque: raw.Draw(t, "opaque")}
		case 2:
			return llm.ToolCallStart{Index: index.Draw(t, "index"), ID: text.Draw(t, "id"), Name: text.Draw(t, "name"), Opaque: raw.Draw(t, "opaque")}
		case 3:
			return llm.ToolCallDelta{Index: index.Draw(t, "index"), ID: text.Draw(t, "id"), Arguments: text.Draw(t, "args")}
		case 4:
			return llm.ToolCallEnd{Index: index.Draw(t, "index"), ID: text.Draw(t, "id"), Arguments: text.Draw(t, "args"), Opaque: raw.Draw(t, "opaque")}
		case 5:
			return llm.PartDone{Part: anyPart(1).Draw(t, "part")}
		case 6:
			return anyUsage().Draw(t, "usage")
		case 7:
			return llm.Warning{Code: text.Draw(t, "code"), Message: text.Draw(t, "message")}
		case 8:
			return llm.Finish{Reason: llm.FinishReason(text.Draw(t, "reason")), Raw: text.Draw(t, "raw"), Message: text.Draw(t, "message"), ResponseID: text.Draw(t, "id"), Model: text.Draw(t, "model"), Opaque: raw.Draw(t, "opaque")}
		}
		return llm.Unknown{Kind: "new", Raw: json.RawMessage(`{"type":"new","part":5}`)}
	})
}

// bothWays checks that what is written is JSON, is read back as it was, and is
// written again as the same bytes.
func bothWays[T any](t *testing.T, gen *rapid.Generator[T], write func(*T) []byte, read func([]byte) (T, error)) {
	rapid.Check(t, func(t *rapid.T) {
		v := gen.Draw(t, "value")
		b := write(&v)
		if !json.Valid(b) {
			t.Fatalf("not JSON: %s", b)
		}
		got, err := read(b)
		if err != nil {
			t.Fatalf("%v: %s", err, b)
		}
		if diff := cmp.Diff(v, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("read back (-want +got):\n%s\n%s", diff, b)
		}
		if again := write(&got); !bytes.Equal(b, again) {
			t.Fatalf("written again:\n%s\nfirst:\n%s", again, b)
		}
		// Members in another order mean the same.
		var turned bytes.Buffer
		reorder(&turned, b)
		if got, err = read(turned.Bytes()); err != nil {
			t.Fatalf("%v: %s", err, turned.Bytes())
		}
		if !bytes.Contains(b, []byte(`"new"`)) { // what is not known is kept in its order
			if again := write(&got); !bytes.Equal(b, again) {
				t.Fatalf("of other order:\n%s\nfirst:\n%s", again, b)
			}
		}
	})
}

// reorder writes an object with its members in reverse order.
func reorder(to *bytes.Buffer, raw json.RawMessage) {
	d := json.NewDecoder(bytes.NewReader(raw))
	token, err := d.Token()
	if err != nil || token != json.Delim('{') {
		to.Write(raw)
		return
	}
	var members []string
	for d.More() {
		key, err := d.Token()
		if err != nil {
			break
		}
		var value json.RawMessage
		if d.Decode(&value) != nil {
			break
		}
		name, _ := json.Marshal(key)
		members = append(members, string(name)+":"+string(value))
	}
	slices.Reverse(members)
	to.WriteString("{" + strings.Join(members, ",") + "}")
}

func unmarshal[T any](b []byte) (v T, err error) {
	err = json.Unmarshal(b, &v)
	return v, err
}

func TestJSONBothWays(t *testing.T) {
	t.Run("message", func(t *testing.T) {
		bothWays(t, anyMessage(), func(m *llm.Message) []byte { return m.AppendJSON(nil) }, unmarshal[llm.Message])
	})
	t.Run("part", func(t *testing.T) {
		bothWays(t, anyPart(2), func(p *llm.Part) []byte { return llm.AppendPart(nil, *p) }, llm.UnmarshalPart)
	})
	t.Run("event", func(t *testing.T) {
		bothWays(t, anyEvent(), func(e *llm.Event) []byte { return llm.AppendEvent(nil, *e) }, llm.UnmarshalEvent)
	})
	t.Run("usage", func(t *testing.T) {
		bothWays(t, anyUsage(), func(u *llm.Usage) []byte { return u.AppendJSON(nil) }, unmarshal[llm.Usage])
	})
	t.Run("tool", func(t *testing.T) {
		bothWays(t, anyTool(), func(v *llm.Tool) []byte { return v.AppendJSON(nil) }, unmarshal[llm.Tool])
	})
	t.Run("settings", func(t *testing.T) {
		bothWays(t, anySettings(), func(s *llm.Settings) []byte { return s.AppendJSON(nil) }, unmarshal[llm.Settings])
	})
	t.Run("request", func(t *testing.T) {
		bothWays(t, anyRequest(), func(r *llm.Request) []byte { return r.AppendJSON(nil) }, unmarshal[llm.Request])
	})
}

func TestJSONForms(t *testing.T) {
	for _, c := range []struct {
		name string
		v    any
		want string
	}{
		{"a plain message", llm.User("<é>"), `{"role":"user","parts":[{"type":"text","text":"<é>"}]}`},
		{"no parts", llm.Message{Role: "tool"}, `{"role":"tool","parts":[]}`},
		{"a call and a result", llm.Message{Role: "x", Parts: []llm.Part{
			llm.ToolCall{ID: "a", Arguments: "{}"}, llm.ToolResult{ID: "a", Content: []llm.Part{llm.Text{}}},
		}}, `{"role":"x","parts":[{"type":"tool_call","id":"a","name":"","arguments":"{}"},{"type":"tool_result","tool_call_id":"a","content":[{"type":"text","text":""}]}]}`},
		{"arguments that are not UTF-8", llm.Message{Parts: []llm.Part{llm.ToolCall{Arguments: "\xff"}}}, `{"role":"","parts":[{"type":"tool_call","id":"","name":"","arguments_b64":"/w=="}]}`},
		{"usage", llm.Usage{OutputTokens: 2, ReasoningOutputTokens: 1}, `{"input_tokens":0,"output_tokens":2,"reasoning_output_tokens":1}`},
		{"a tool", llm.Tool{Name: "t", Parameters: json.RawMessage(` { "type" : "object" } `), Strict: new(false)}, `{"name":"t","parameters":{"type":"object"},"strict":false}`},
		{"no settings", llm.Settings{}, `{}`},
		{"settings", llm.Settings{MaxTokens: 5, Temperature: new(0.0), StopSequences: []string{"a", "b"}, ParallelToolCalls: new(true)}, `{"max_tokens":5,"temperature":0,"stop_sequences":["a","b"],"parallel_tool_calls":true}`},
		{"an empty request", &llm.Request{}, `{"model":"","messages":[]}`},
		{"a system prompt of no parts", &llm.Request{System: llm.System{}}, `{"model":"","messages":[]}`},
		{"a system prompt that is not UTF-8", &llm.Request{System: llm.SystemText("\xff")}, `{"model":"","system_b64":"/w==","messages":[]}`},
		{"a system prompt with a mark", &llm.Request{System: llm.System{{Text: "s", CacheMark: true}}}, `{"model":"","system":[{"text":"s","cache_mark":true}],"messages":[]}`},
		{"a system prompt of two parts", &llm.Request{System: llm.System{{Text: "s"}, {Text: "\xff"}}}, `{"model":"","system":[{"text":"s"},{"text_b64":"/w=="}],"messages":[]}`},
		{"an empty part", &llm.Request{System: llm.System{{}}}, `{"model":"","system":[{"text":""}],"messages":[]}`},
		{"a request", &llm.Request{
			Model: "m", System: llm.SystemText("s"), Messages: []llm.Message{{Role: "user"}, {Role: "tool"}}, Tools: []llm.Tool{{Name: "t"}, {Name: "u"}}, ToolChoice: llm.ToolChoice{Mode: llm.ChooseTool, Name: "t"},
			ResponseMode: llm.NonStreaming, Settings: llm.Settings{Seed: new(int64(1))}, Extra: map[string]json.RawMessage{"b": nil, "a": json.RawMessage("1")},
		}, `{"model":"m","system":"s","messages":[{"role":"user","parts":[]},{"role":"tool","parts":[]}],"tools":[{"name":"t"},{"name":"u"}],"tool_choice":"tool:t","response_mode":"buffered","settings":{"seed":1},"extra":{"a":1,"b":null}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, ok := c.v.(json.Marshaler)
			if !ok {
				t.Fatalf("%T does not implement json.Marshaler", c.v)
			}
			got, err := m.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, string(got)); diff != "" {
				t.Errorf("JSON (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAppendParts(t *testing.T) {
	const a, b = `{"type":"text","text":"a"}`, `{"type":"reasoning","text":"b"}`
	for want, parts := range map[string][]llm.Part{
		"[]":                    nil,
		"[" + a + "]":           {llm.Text{Text: "a"}},
		"[" + a + "," + b + "]": {llm.Text{Text: "a"}, llm.Reasoning{Text: "b"}},
	} {
		if diff := cmp.Diff(want, string(llm.AppendParts(nil, parts))); diff != "" {
			t.Errorf("JSON (-want +got):\n%s", diff)
		}
	}
}

func TestJSONErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`[]`, "llm: expected an object (byte 1)"},
		{"{\"model\":\"\xff\"}", "llm: the JSON text is not UTF-8"},
		{`{} {}`, "llm: something follows the JSON value (byte 4)"},
		{`{"messages":{}}`, "llm: expected an array at messages (byte 13)"},
		{`{"messages":[{"parts":[{"type":"media","data":"-"}]}]}`, "llm: not base64: data at messages[0].parts[0].data (byte 50)"},
		{`{"messages":[{"parts":[5]}]}`, "llm: expected an object at messages[0].parts[0] (byte 24)"},
		{`{"messages":[{"role":"user","content":"hi"}]}`, `llm: a message has no "parts" at messages[0] (byte 44)`},
		{`{"tools":5}`, "llm: expected an array at tools (byte 10)"},
		{`{"tools":[5]}`, "llm: expected an object at tools[0] (byte 11)"},
		{`{"tool_choice":"x"}`, "llm: tool_choice is none of auto, required, none and tool:NAME at tool_choice (byte 19)"},
		{`{"settings":[]}`, "llm: expected an object at settings (byte 13)"},
		{`{"extra":[]}`, "llm: expected an object at extra (byte 10)"},
	} {
		var r llm.Request
		err := r.UnmarshalJSON([]byte(c.text))
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: got %v, want %s", c.text, err, c.want)
		}
	}
	for _, text := range []string{`{"type":"part"}`, `{"type":"part","part":[]}`, `[]`, `{"type":"usage","input_tokens":1.5}`} {
		if ev, err := llm.UnmarshalEvent([]byte(text)); err == nil {
			t.Errorf("%s: read as %v", text, ev)
		}
	}
}

func TestJSONReading(t *testing.T) {
	var m llm.Message
	if err := json.Unmarshal([]byte(`{"new":[1],"parts":null,"role":"user"}`), &m); err != nil || m.Role != llm.RoleUser || m.Parts != nil {
		t.Errorf("got %+v and %v", m, err)
	}
	p, err := llm.UnmarshalPart([]byte(`{"text":"a","x":{"text":"b"},"type":"text"}`))
	if diff := cmp.Diff(llm.Part(llm.Text{Text: "a"}), p); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	p, err = llm.UnmarshalPart([]byte(` { "type" : "new", "a" : 1 } `))
	if diff := cmp.Diff(llm.Part(llm.Unknown{Kind: "new", Raw: json.RawMessage(`{"type":"new","a":1}`)}), p); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	var u llm.Usage
	if err := json.Unmarshal([]byte(`{"input_tokens":1,"other":{},"output_tokens":2}`), &u); err != nil || u != (llm.Usage{InputTokens: 1, OutputTokens: 2}) {
		t.Errorf("got %+v and %v", u, err)
	}
	for text, want := range map[string]llm.ToolChoice{"auto": {}, "none": {Mode: llm.ChooseNone}, "required": {Mode: llm.ChooseRequired}, "tool:x": {Mode: llm.ChooseTool, Name: "x"}, "tool:": {Mode: llm.ChooseTool}} {
		var got llm.ToolChoice
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want || got.String() != text {
			t.Errorf("UnmarshalText(%q) = %+v, %v; written as %q", text, got, err, got.String())
		}
	}
	var choice llm.ToolChoice
	if err := choice.UnmarshalText([]byte("any")); err == nil {
		t.Error("UnmarshalText(any): got no error")
	}
}

// A part or an event that this version does not know is the same after it was written and read,
// also if its JSON has the type of one that it knows.
func TestUnknownKept(t *testing.T) {
	t.Parallel()
	for _, want := range []llm.Unknown{
		{Kind: "new", Raw: json.RawMessage(`{"type":"new","a":1}`)},
		{Kind: "responses:text", Raw: json.RawMessage(`{"type":"text","text":"a","state":"done"}`)},
		{Kind: "chat:tool_call", Raw: json.RawMessage(`{"type":"tool_call","id":"c1"}`)},
		{Kind: "responses:new", Raw: json.RawMessage(`{"type":"new"}`)},
		{Kind: "usage", Raw: json.RawMessage(`{"type":"usage","input_tokens":"many"}`)},
		{Kind: "text", Raw: json.RawMessage(`{"type":"text","text":[]}`)},
		{Kind: "unknown", Raw: json.RawMessage(`{"type":"unknown","kind":"x","raw":{"type":"text","text":"a"}}`)},
		{Kind: "unknown", Raw: json.RawMessage(`{"type":"unknown"}`)},
		{Kind: "none", Raw: json.RawMessage(`{"a":1}`)},
		{Kind: "", Raw: json.RawMessage(`{"a":1}`)},
		{Kind: "no object", Raw: json.RawMessage(`[1]`)},
		{Kind: "\xff", Raw: json.RawMessage(`"a"`)},
	} {
		part, err := llm.UnmarshalPart(llm.AppendPart(nil, want))
		if diff := cmp.Diff(llm.Part(want), part); err != nil || diff != "" {
			t.Errorf("part (-want +got):\n%s, %v", diff, err)
		}
		event, err := llm.UnmarshalEvent(llm.AppendEvent(nil, want))
		if diff := cmp.Diff(llm.Event(want), event); err != nil || diff != "" {
			t.Errorf("event (-want +got):\n%s, %v", diff, err)
		}
	}
}
