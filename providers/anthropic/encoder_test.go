package anthropic_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sebdah/goldie/v2"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/anthropic"
	"github.com/looptape/looptape/providers/protocol"
)

var answer = protocol.ResponseMeta{ID: "msg_1", Model: "claude-sonnet-4-20250514", Created: 1, Input: 100}

// script is a response with each kind of block, in the form of a scenario.
var script = []llm.Event{
	llm.ReasoningDelta{Text: "Let me"}, llm.ReasoningDelta{Text: " think.", Opaque: raw(`{"signature":"EqQB"}`)},
	llm.ReasoningDelta{Opaque: raw(`{"type":"redacted_thinking","data":"EmwK"}`)},
	llm.TextDelta{}, llm.TextDelta{Text: "I look <up> "}, llm.TextDelta{Text: "x\u2028."},
	llm.Warning{Code: "w"},
	llm.PartDone{Part: llm.ToolCall{ID: "srvtoolu_1", Name: "web_search", Arguments: `{"query":"x"}`, ProviderExecuted: true}},
	llm.PartDone{Part: llm.Unknown{Kind: "web_search_tool_result", Raw: raw(`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]}`)}},
	llm.TextDelta{Text: "It is x.", Opaque: raw(`{"citations":[{"url":"u"},{"url":"v"}]}`)},
	llm.ToolCallStart{Index: 1, ID: "toolu_1", Name: "a"}, llm.ToolCallStart{Index: 2, ID: "toolu_2", Name: "b", Opaque: raw(`{"caller":{"type":"code_execution_20260120","tool_id":"srvtoolu_1"}}`)},
	llm.ToolCallDelta{Index: 1, Arguments: `{"n":`}, llm.ToolCallDelta{Index: 2, Arguments: `{}`}, llm.ToolCallDelta{Index: 1, Arguments: `1}`},
	llm.ToolCallEnd{Index: 1}, llm.ToolCallEnd{Index: 2, Arguments: `{}`},
	llm.Unknown{Kind: "novelty", Raw: raw(`{"type":"novelty"}`)},
	llm.Finish{Reason: llm.FinishToolCalls, Opaque: raw(`{"container":{"id":"container_9"}}`)},
	llm.Usage{InputTokens: 100, OutputTokens: 50, CacheReadInputTokens: 60, CacheCreationInputTokens: 30, ReasoningOutputTokens: 9},
}

// TestEncoderShape pins the form of a streaming and a non-streaming response.
func TestEncoderShape(t *testing.T) {
	wire, err := encodeStream(answer, script)
	if err != nil {
		t.Fatal(err)
	}
	turn, err := decode(strings.NewReader(wire))
	if err != nil {
		t.Fatal(err)
	}
	body, err := anthropic.Messages{}.EncodeResponse(nil, answer, turn)
	if err != nil {
		t.Fatal(err)
	}
	g := goldie.New(t, goldie.WithFixtureDir("testdata"))
	g.Assert(t, "stream", []byte(wire))
	g.Assert(t, "answer", append(body, '\n'))
}

// TestEncoderEvents shows single facts of a stream.
func TestEncoderEvents(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer protocol.ResponseMeta
		events []llm.Event
		has    []string
		hasNot []string
	}{
		{"nothing", protocol.ResponseMeta{}, nil, []string{
			`"output_tokens":0,`, `{"type": "ping"}`, `{"type":"message_delta","delta":{"stop_reason":null,"stop_sequence":null},"usage":{"input_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0}}`,
			`{"type":"message_stop"}`,
		}, []string{"content_block"}},
		{"input alone", protocol.ResponseMeta{Input: 7}, nil, []string{`"usage":{"input_tokens":7,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"cache_creation":{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":0},"output_tokens":1,`}, nil},
		{"usage first", protocol.ResponseMeta{Input: 7}, []llm.Event{llm.Usage{InputTokens: 9, OutputTokens: 3, CacheReadInputTokens: 2}}, []string{`"usage":{"input_tokens":7,"cache_creation_input_tokens":0,"cache_read_input_tokens":2,"cache_creation":{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":0},"output_tokens":3,`}, nil},
		{"a text with a mark", protocol.ResponseMeta{}, []llm.Event{llm.TextDelta{Opaque: raw(`{"cache_control":{"type":"ephemeral"}}`)}}, []string{`{"type":"text","text":"","cache_control":{"type":"ephemeral"}}`, "content_block_stop"}, []string{"text_delta"}},
		{"calls by id, the last and the first", protocol.ResponseMeta{}, []llm.Event{
			llm.ToolCallStart{ID: "a", Name: "f"}, llm.ToolCallStart{ID: "b", Name: "g"}, llm.ToolCallStart{ID: "c", Name: "h"},
			llm.ToolCallDelta{Arguments: "C"}, llm.ToolCallDelta{ID: "b", Arguments: "B"}, llm.ToolCallEnd{}, llm.ToolCallEnd{ID: "c"},
		}, []string{
			`"index":2,"delta":{"type":"input_json_delta","partial_json":"C"}`, `"index":1,"delta":{"type":"input_json_delta","partial_json":"B"}`,
			"{\"type\":\"content_block_stop\",\"index\":0}\n\nevent: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":2}",
		}, []string{`{"type":"content_block_stop","index":1}`}},
		{"the first of two, by id and by index", protocol.ResponseMeta{}, []llm.Event{
			llm.ToolCallStart{Index: 1, ID: "a", Name: "f"}, llm.ToolCallStart{Index: 2, ID: "b", Name: "g"}, llm.ToolCallDelta{ID: "a", Arguments: "A"}, llm.ToolCallDelta{Index: 1, Arguments: "1"},
		}, []string{`"index":0,"delta":{"type":"input_json_delta","partial_json":"A"}`, `"index":0,"delta":{"type":"input_json_delta","partial_json":"1"}`}, nil},
		{"a call of MCP has no caller", protocol.ResponseMeta{}, []llm.Event{llm.PartDone{Part: llm.ToolCall{ID: "a", Name: "f", ProviderExecuted: true, Opaque: raw(`{"type":"mcp_tool_use"}`)}}},
			[]string{`{"type":"mcp_tool_use","id":"a","name":"f","input":{}}`}, nil},
		{"an index used again", protocol.ResponseMeta{}, []llm.Event{llm.ToolCallStart{Index: 1, ID: "a", Name: "f"}, llm.ToolCallStart{Index: 1, ID: "b", Name: "g"}, llm.ToolCallDelta{Index: 1, Arguments: "B"}},
			[]string{`"index":1,"delta":{"type":"input_json_delta","partial_json":"B"}`}, nil},
		{"arguments at the end", protocol.ResponseMeta{}, []llm.Event{llm.ToolCallStart{Index: 1, ID: "a", Name: "f"}, llm.ToolCallDelta{Index: 1, Arguments: `{"a"`}, llm.ToolCallEnd{Index: 1, Arguments: `{"a":1}`}},
			[]string{`"partial_json":":1}"`}, nil},
		{"a finish that has no word", protocol.ResponseMeta{}, []llm.Event{llm.Finish{Reason: llm.FinishError, Raw: "end_turn"}}, []string{`"stop_reason":null`}, nil},
		{"a finish of another protocol", protocol.ResponseMeta{}, []llm.Event{llm.Finish{Reason: llm.FinishStop, Raw: "STOP"}}, []string{`"stop_reason":"end_turn"`}, nil},
		{"a pause", protocol.ResponseMeta{}, []llm.Event{llm.Finish{Reason: llm.FinishPause}}, []string{`"stop_reason":"pause_turn"`}, nil},
		{"a limit", protocol.ResponseMeta{}, []llm.Event{llm.Finish{Reason: llm.FinishLength, Raw: "MAX_TOKENS"}}, []string{`"stop_reason":"max_tokens"`}, nil},
		{"calls", protocol.ResponseMeta{}, []llm.Event{llm.Finish{Reason: llm.FinishToolCalls, Raw: "tool_calls"}}, []string{`"stop_reason":"tool_use"`}, nil},
		{"a redacted thought with a text", protocol.ResponseMeta{}, []llm.Event{llm.ReasoningDelta{Text: "a", Opaque: raw(`{"type":"redacted_thinking","data":"d"}`)}},
			[]string{`{"type":"thinking_delta","thinking":"a"}}`, `"index":1,"content_block":{"type":"redacted_thinking","data":"d"}`}, nil},
		{"a filter", protocol.ResponseMeta{}, []llm.Event{llm.Finish{Reason: llm.FinishContentFilter, Message: "why"}}, []string{`"stop_reason":"refusal","stop_sequence":null,"stop_details":{"type":"refusal","category":null,"explanation":"why"}`}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			wire, err := encodeStream(c.answer, c.events)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range c.has {
				if !strings.Contains(wire, s) {
					t.Errorf("no %s in\n%s", s, wire)
				}
			}
			for _, s := range c.hasNot {
				if strings.Contains(wire, s) {
					t.Errorf("there is %s in\n%s", s, wire)
				}
			}
			if n := strings.Count(wire, `{"type": "ping"}`); n != 1 {
				t.Errorf("%d pings", n)
			}
		})
	}
}

func TestEncoderErrors(t *testing.T) {
	start := llm.ToolCallStart{Index: 1, ID: "a", Name: "f"}
	for _, c := range []struct {
		events []llm.Event
		want   string
	}{
		{[]llm.Event{llm.ToolCallDelta{Index: 1, ID: "a"}}, `an event of the call "a" (index 1), but no call is open`},
		{[]llm.Event{start, llm.ToolCallEnd{}, llm.ToolCallEnd{ID: "b"}}, `an event of the call "b" (index 0), but no call is open`},
		{[]llm.Event{llm.ToolCallStart{Index: 1, ID: "a"}, llm.ToolCallStart{Index: 1, Name: "f"}}, `the call "a": Anthropic Messages has the name of a call only in its start`},
		{[]llm.Event{start, llm.ToolCallDelta{Arguments: "x"}, llm.ToolCallEnd{Arguments: "y"}}, `the call "a": the arguments of its end differ from its deltas`},
		{[]llm.Event{llm.PartDone{Part: llm.Media{MediaType: "image/png"}}}, "a response of Anthropic Messages contains no image/png"},
		{[]llm.Event{llm.PartDone{Part: llm.ToolResult{}}}, "a response of Anthropic Messages contains no tool result: use llm.Unknown for a result of the provider"},
		{[]llm.Event{llm.PartDone{Part: llm.Unknown{Kind: "x", Raw: raw(`1`)}}}, `the part of the kind "x" is not a JSON object: use the whole object`},
	} {
		if _, err := encodeStream(answer, c.events); err == nil || err.Error() != c.want {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
	_, err := anthropic.Messages{}.EncodeResponse(nil, answer, &llm.Response{Parts: []llm.Part{llm.Text{Text: "x"}, llm.Media{MediaType: "image/png"}}})
	if want := "parts[1]: a response of Anthropic Messages contains no image/png"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestEncodeResponseInput checks the arguments in a non-streaming response.
func TestEncodeResponseInput(t *testing.T) {
	deep := strings.Repeat(`[`, 501) + strings.Repeat(`]`, 501)
	for args, want := range map[string]string{
		"": `{}`, " \t": `{}`, "\r\n{\"a\": 1} ": `{"a": 1}`, `"s"`: `"\"s\""`, `{"a":`: `"{\"a\":"`, deep: `"` + deep + `"`, deep[1:1001]: deep[1:1001], "7": "7",
	} {
		body, err := anthropic.Messages{}.EncodeResponse(nil, answer, &llm.Response{Parts: []llm.Part{call("a", "f", args)}})
		if err != nil || !strings.Contains(string(body), `"name":"f","input":`+want+`,"caller":{"type":"direct"}}`) {
			t.Errorf("arguments %.40q: error %v, %.400s", args, err, body)
		}
	}
}

// every is a delta with the members of all types.
func every(kind, index string) string {
	return `{"type":"content_block_delta","index":` + index + `,"delta":{"text":"a","type":"` + kind + `","thinking":"b","signature":"c","partial_json":"d"}}`
}

// TestDecodeUnexpectedEvents checks unexpected streams that no quirk lists.
func TestDecodeUnexpectedEvents(t *testing.T) {
	text := func(parts ...llm.Part) []llm.Part { return parts }
	for _, c := range []struct {
		name  string
		data  []string
		parts []llm.Part
		warns string
	}{
		{"with names of events and without", []string{begin, textStart, says(`"a"`), endTurn, msgStop}, text(llm.Text{Text: "a"}), ""},
		{"message_start twice", []string{begin, begin, textStart, says(`"a"`), endTurn, msgStop}, text(llm.Text{Text: "a"}), ""},
		{"a delta without a start", []string{begin, says(`"a"`), input("0", `"{}"`), `{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"b"}}`, stop0, endTurn, msgStop},
			text(llm.Text{Text: "a"}, llm.Reasoning{Text: "b"}), ""},
		{"text in the start of a block", []string{begin, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"a"}}`, says(`"b"`), stop0, endTurn, msgStop}, text(llm.Text{Text: "ab"}), ""},
		{"blocks of one index without ends", []string{begin, weather, textStart, says(`"a"`), weather, input("0", `"{}"`), stop0, endTool, msgStop},
			text(call("toolu_1", "weather", "{}"), llm.Text{Text: "a"}, call("toolu_1", "weather", "{}")), llm.WarnNoCallEnd},
		{"all members in each delta", []string{
			begin, `{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}`,
			every("thinking_delta", "0"), every("signature_delta", "0"), stop0,
			`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`, every("text_delta", "1"), stop1,
			strings.Replace(weather, `"index":0`, `"index":2`, 1), every("input_json_delta", "2"), endTurn, msgStop,
		}, text(llm.Reasoning{Text: "b", Opaque: raw(`{"signature":"c"}`)}, llm.Text{Text: "a"}, call("toolu_1", "weather", "d")), llm.WarnNoCallEnd},
		{"two blocks of text", []string{begin, textStart, says(`"a"`), stop0, textStart, says(`"b"`), stop0, textStart, stop0, textStart, says(`"c"`), endTurn, msgStop},
			text(llm.Text{Text: "a", Opaque: raw(`{}`)}, llm.Text{Text: "b", Opaque: raw(`{}`)}, llm.Text{Text: "c"}), ""},
		{"citations in the start and after it", []string{begin, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"a","citations":[{"x":1}],"more":2}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"citations_delta"}}`, `{"type":"content_block_delta","index":0,"delta":{"type":"citations_delta","citation":{"x": 3}}}`, endTurn, msgStop},
			text(llm.Text{Text: "a", Opaque: raw(`{"anthropic":{"more":2},"citations":[{"x":3}]}`)}), ""},
		{"a signature in the start and after it", []string{begin, `{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"a","signature":"A","more":1}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"B"}}`, endTurn, msgStop}, text(llm.Reasoning{Text: "a", Opaque: raw(`{"signature":"B","anthropic":{"more":1}}`)}), ""},
		{"a search that was not ended", []string{begin, `{"type":"content_block_start","index":3,"content_block":{"type":"server_tool_use","id":"s","name":"n","input":{"a":1}}}`, endTurn, msgStop},
			text(llm.ToolCall{ID: "s", Name: "n", Arguments: `{"a":1}`, ProviderExecuted: true}), ""},
		{"content in message_start", []string{`{"type":"message_start","message":{"id":"x","content":[{"type":"tool_use","id":"a","name":"f","input":{}}],"error":null},"error":null}`, `{"type":"message_delta","delta":{"stop_reason":"tool_use"}}`, msgStop},
			text(call("a", "f", "{}")), ""},
		{"compaction", []string{begin, `{"type":"content_block_start","index":0,"content_block":{"type":"compaction","content":null,"n":1}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"compaction_delta","content":"A \"sum","n":2}}`, `{"type":"content_block_delta","index":0,"delta":{"type":"compaction_delta","content":"mary\"","encrypted_content":"E"}}`,
			stop0, textStart, says(`"a"`), endTurn, msgStop},
			text(llm.Unknown{Kind: "compaction", Raw: raw(`{"type":"compaction","content":"A \"summary\"","n":1,"encrypted_content":"E"}`)}, llm.Text{Text: "a"}), ""},
		{"an unknown block that was not ended", []string{begin, `{"type":"content_block_start","index":0,"content_block":{"type":"novel"}}`, `{"type":"content_block_delta","index":0,"delta":{"type":"novel_delta","x":{}}}`, endTurn, msgStop},
			text(llm.Unknown{Kind: "novel", Raw: raw(`{"type":"novel","x":{}}`)}), ""},
		{"an unknown block between texts", []string{begin, textStart, says(`"a"`), stop0, `{"type":"content_block_start","index":0,"content_block":{"type":"novel"}}`, stop0, textStart, says(`"b"`), endTurn, msgStop},
			text(llm.Text{Text: "a"}, llm.Unknown{Kind: "novel", Raw: raw(`{"type":"novel"}`)}, llm.Text{Text: "b"}), ""},
		{"no stop reason", []string{begin, msgStop}, nil, llm.WarnNoFinish},
		{"members that are not what they should be", []string{`{"type":"message_start","message":5,"usage":6,"index":"x","content_block":7,"delta":8}`, begin, `{"type":"content_block_start","index":0}`,
			`{"type":"message_delta","delta":{"stop_reason":5,"stop_details":6,"container":null},"usage":{"input_tokens":"x","output_tokens":1e99,"output_tokens_details":5}}`,
			`{"type":"message_delta","delta":{"stop_details":{"category":null,"explanation":null}},"usage":{"output_tokens_details":{"more":1}}}`, endTurn, msgStop}, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, wire := range []string{stream(c.data...), "data: " + strings.Join(c.data, "\n\ndata: ") + "\n\n"} {
				got, err := decode(strings.NewReader(wire))
				if diff := cmp.Diff(c.parts, got.Parts); diff != "" || err != nil || codes(got) != c.warns {
					t.Errorf("error %v, warnings %q (-want +got):\n%s", err, codes(got), diff)
				}
			}
		})
	}
}

// TestStreamEvents shows the events themselves: calls are counted from 1.
func TestStreamEvents(t *testing.T) {
	var got []llm.Event
	dec := anthropic.Messages{}.NewDecoder()
	for _, data := range []string{begin, weather, input("0", `""`), input("0", `"{}"`), stop0, endTool, msgStop} {
		if _, err := dec.Event("", []byte(data), func(ev llm.Event) { got = append(got, ev) }); err != nil {
			t.Fatal(err)
		}
	}
	if err := dec.End(func(ev llm.Event) { got = append(got, ev) }); err != nil {
		t.Fatal(err)
	}
	want := []llm.Event{
		llm.Usage{InputTokens: 10, OutputTokens: 1}, llm.ToolCallStart{Index: 1, ID: "toolu_1", Name: "weather"}, llm.ToolCallDelta{Index: 1, Arguments: "{}"}, llm.ToolCallEnd{Index: 1},
		llm.Usage{InputTokens: 10, OutputTokens: 5}, llm.Finish{Reason: llm.FinishToolCalls, Raw: "tool_use", ResponseID: "msg_1", Model: "m"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestStreamErrors(t *testing.T) {
	for _, c := range []struct{ wire, want string }{
		{"data: x\n\n", `the event "": expected an object (byte 1)`},
		{"event: message_start\ndata: [\n\n", `the event "message_start": expected an object (byte 1)`},
		{"event: content_block_start\ndata: {\"content_block\":{\"type\":\"text\",\"text\":5}}\n\n", `the event "content_block_start": expected a string at content_block.text (byte 40)`},
		{"event: x\ndata: {\"a\":\"\xff\"}\n\n", `the event "x" is not UTF-8`},
		{"event: error\ndata: {\"error\":\"busy\"}\n\n", "no response: busy"},
		{"event: error\ndata: {\"message\":\"busy\"}\n\n", "no response: busy"},
		{"data: {\"error\":{\"type\":\"api_error\",\"message\":\"busy\"}}\n\n", "no response api_error: busy"},
		{"", protocol.ErrTruncated.Error()},
		{stream(begin, "[DONE]"), protocol.ErrTruncated.Error()},
		{"event: message_stop\ndata: x\n\n", `the event "message_stop": expected an object (byte 1)`},
	} {
		if _, err := decode(strings.NewReader(c.wire)); err == nil || err.Error() != c.want {
			t.Errorf("%q:\ngot  %v\nwant %s", c.wire, err, c.want)
		}
	}
	// Without a type, the name of the event is its type.
	if got, err := decode(strings.NewReader(stream(begin, endTurn) + "event: message_stop\ndata: {}\n\n")); err != nil || len(got.Warnings) > 0 {
		t.Errorf("a message_stop without a type: %v, %v", err, got.Warnings)
	}
}
