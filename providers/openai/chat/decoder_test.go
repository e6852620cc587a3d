package chat_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/openai/chat"
)

// chatEvents are the events that a stream of such data gives.
func chatEvents(t *testing.T, data ...string) (events []llm.Event) {
	t.Helper()
	dec := chat.Protocol{}.NewDecoder()
	emit := func(ev llm.Event) { events = append(events, ev) }
	for _, d := range data {
		if done, err := dec.Event("", []byte(d), emit); done || err != nil {
			t.Fatalf("%s: %v, %v", d, done, err)
		}
	}
	if done, err := dec.Event("", []byte("[DONE]"), emit); !done || err != nil {
		t.Fatalf("the mark: %v, %v", done, err)
	}
	if err := dec.End(emit); err != nil {
		t.Fatal(err)
	}
	return events
}

func chatReason(opaque string) llm.Event { return llm.ReasoningDelta{Opaque: chatOpaque(opaque)} }

// TestChatEvents checks when each event is emitted: text and arguments immediately, opaque
// data of reasoning at its end, the ends of calls and the finish last.
func TestChatEvents(t *testing.T) {
	unknown := []llm.Event{llm.Warning{Code: llm.WarnNoFinish, Message: "the response ended without a finish reason"}, llm.Finish{Reason: llm.FinishUnknown}}
	stop := llm.Finish{Reason: llm.FinishStop, ResponseID: "c1", Model: "m"}
	for _, c := range []struct {
		name string
		data []string
		want []llm.Event
	}{
		{"nothing", nil, unknown},
		{"nothing that counts", []string{"", " ", `{}`, `{"choices":null}`, `{"choices":[null,1,{}]}`, `{"choices":[{"delta":null}],"usage":{}}`, `{"error":null}`, `{"choices":[{"delta":{"content":{},"refusal":1,"tool_calls":[1,{"index":"0"},{"function":1}],"function_call":[],"audio":1,"reasoning":1,"reasoning_details":{}}}]}`, `{"choices":[{"delta":{"tool_calls":{},"content":[{"type":"text","text":1}]}}]}`}, unknown},
		{
			"another choice", []string{
				`{"id":"c1","model":"m","choices":[{"delta":{"content":"no"},"finish_reason":"length","index":1},{"index":0,"delta":{"content":"yes"}},{"index":2,"delta":{"content":"no","tool_calls":[` + chatCall1 + `]}}]}`,
				chatDelta("", "stop"),
			},
			[]llm.Event{llm.TextDelta{Text: "yes"}, stop},
		},
		{
			"reasoning between texts", []string{chatDelta(`"reasoning":"a","content":"b"`), chatDelta(`"content":"c","reasoning":"d"`), chatDelta("", "stop")},
			[]llm.Event{
				llm.ReasoningDelta{Text: "a"}, chatReason(`{"field":"reasoning"}`), llm.TextDelta{Text: "b"},
				llm.ReasoningDelta{Text: "d"}, chatReason(`{"field":"reasoning"}`), llm.TextDelta{Text: "c"}, stop,
			},
		},
		{
			"another field", []string{chatDelta(`"reasoning":"a"`), chatDelta(`"reasoning_content":"b"`), chatDelta("", "stop")},
			[]llm.Event{llm.ReasoningDelta{Text: "a"}, chatReason(`{"field":"reasoning"}`), llm.ReasoningDelta{Text: "b"}, chatReason(`{"field":"reasoning_content"}`), stop},
		},
		{
			"an empty field of reasoning goes back with a call", []string{chatDelta(`"reasoning_content":""`), chatCalls(chatCall1), chatDelta("", "stop")},
			[]llm.Event{chatReason(`{"field":"reasoning_content"}`), llm.ToolCallStart{Index: 1, ID: "call_1", Name: "f"}, llm.ToolCallDelta{Index: 1, Arguments: "{}"}, llm.ToolCallEnd{Index: 1}, stop},
		},
		{
			"a custom call without a name next to a call", []string{chatCalls(`{"index":0,"id":"c","function":{"name":"f","arguments":"{}"},"custom":{"name":"","input":""}}`), chatDelta("", "stop")},
			[]llm.Event{llm.ToolCallStart{Index: 1, ID: "c", Name: "f"}, llm.ToolCallDelta{Index: 1, Arguments: "{}"}, llm.ToolCallEnd{Index: 1}, stop},
		},
		{
			"but not without, nor another one, nor twice", []string{chatDelta(`"reasoning_content":""`), chatDelta(`"content":"a"`), chatDelta("", "stop")},
			[]llm.Event{llm.TextDelta{Text: "a"}, stop},
		},
		{
			"nor another one", []string{chatDelta(`"reasoning":""`), chatCalls(chatCall1), chatDelta("", "stop")},
			[]llm.Event{llm.ToolCallStart{Index: 1, ID: "call_1", Name: "f"}, llm.ToolCallDelta{Index: 1, Arguments: "{}"}, llm.ToolCallEnd{Index: 1}, stop},
		},
		{
			"nor one that had text", []string{chatDelta(`"reasoning_content":"a"`), chatDelta(`"reasoning_content":""`), chatCalls(chatCall1), chatCalls(chatCall2), chatDelta("", "stop")},
			[]llm.Event{
				llm.ReasoningDelta{Text: "a"}, chatReason(`{"field":"reasoning_content"}`), llm.ToolCallStart{Index: 1, ID: "call_1", Name: "f"}, llm.ToolCallDelta{Index: 1, Arguments: "{}"},
				llm.ToolCallStart{Index: 2, ID: "call_2", Name: "g"}, llm.ToolCallDelta{Index: 2, Arguments: `{"a":1}`}, llm.ToolCallEnd{Index: 1}, llm.ToolCallEnd{Index: 2}, stop,
			},
		},
		{
			"an empty field once", []string{chatDelta(`"reasoning_content":""`), chatCalls(chatCall1 + "," + chatCall2), chatDelta("", "stop")},
			[]llm.Event{
				chatReason(`{"field":"reasoning_content"}`), llm.ToolCallStart{Index: 1, ID: "call_1", Name: "f"}, llm.ToolCallDelta{Index: 1, Arguments: "{}"},
				llm.ToolCallStart{Index: 2, ID: "call_2", Name: "g"}, llm.ToolCallDelta{Index: 2, Arguments: `{"a":1}`}, llm.ToolCallEnd{Index: 1}, llm.ToolCallEnd{Index: 2}, stop,
			},
		},
		{
			"details are joined by type and index", []string{
				chatDelta(`"reasoning":"a","reasoning_details":[{"type":"reasoning.text","text":"a","signature":"","format":null,"index":0}]`),
				chatDelta(`"reasoning":"\"b","reasoning_details":[{"type":"reasoning.text","text":"\"b","signature":null,"format":"x","index":0}]`),
				chatDelta(`"reasoning":"","reasoning_details":[{"type":"reasoning.text","text":"","signature":"s","index":0,"new":1}]`),
				chatDelta(`"reasoning":"","reasoning_details":[{"type":"reasoning.text","text":"","signature":"","index":0}]`),
				chatDelta("", "stop"),
			},
			[]llm.Event{
				llm.ReasoningDelta{Text: "a"}, llm.ReasoningDelta{Text: `"b`},
				chatReason(`{"field":"reasoning","reasoning_details":[{"type":"reasoning.text","text":"a\"b","signature":"s","format":"x","index":0,"new":1}]}`), stop,
			},
		},
		{
			"details that are apart", []string{
				chatDelta(`"reasoning_details":[{"type":"reasoning.summary","summary":"a","id":"r1","index":0},{"type":"reasoning.summary","summary":"b","id":"r2","index":0}]`),
				chatDelta(`"reasoning_details":[{"type":"reasoning.summary","summary":"c","index":0},{"type":"reasoning.summary","summary":"d","id":"r2","index":1},7]`),
				chatDelta(`"reasoning_details":[{"type":"reasoning.text","text":"e","index":1},{"type":"reasoning.encrypted","data":"x","index":1},{"type":"reasoning.encrypted","data": "y","index":1}]`),
				chatDelta("", "stop"),
			},
			[]llm.Event{
				llm.ReasoningDelta{Text: "ab"}, llm.ReasoningDelta{Text: "cd"}, llm.ReasoningDelta{Text: "e"},
				chatReason(`{"reasoning_details":[{"type":"reasoning.summary","summary":"a","id":"r1","index":0},{"type":"reasoning.summary","summary":"bc","id":"r2","index":0},{"type":"reasoning.summary","summary":"d","id":"r2","index":1},` +
					`{"type":"reasoning.text","text":"e","index":1},{"type":"reasoning.encrypted","data":"x","index":1},{"type":"reasoning.encrypted","data":"y","index":1}]}`),
				stop,
			},
		},
		{
			"an id that comes later joins", []string{
				chatDelta(`"reasoning_details":[{"type":"reasoning.text","text":"a"}]`), chatDelta(`"reasoning_details":[{"type":"reasoning.text","text":"b","id":"r"}]`), chatDelta("", "stop"),
			},
			[]llm.Event{llm.ReasoningDelta{Text: "a"}, llm.ReasoningDelta{Text: "b"}, chatReason(`{"reasoning_details":[{"type":"reasoning.text","text":"ab","id":"r"}]}`), stop},
		},
		{
			"details after calls, none empty", []string{
				chatCalls(chatCall1), chatDelta(`"reasoning_details":[]`), chatDelta(`"reasoning_details":[{"type":"reasoning.encrypted","data":"x","id":"call_1"}]`), chatDelta("", "stop"),
			},
			[]llm.Event{
				llm.ToolCallStart{Index: 1, ID: "call_1", Name: "f"}, llm.ToolCallDelta{Index: 1, Arguments: "{}"}, chatReason(`{"reasoning_details":[{"type":"reasoning.encrypted","data":"x","id":"call_1"}]}`), llm.ToolCallEnd{Index: 1}, stop,
			},
		},
		{
			"each part has its own details", []string{
				chatDelta(`"reasoning":"a","reasoning_details":[{"type":"reasoning.text","text":"a"}]`), chatDelta(`"content":"b"`), chatDelta(`"reasoning":"c","reasoning_details":[{"type":"reasoning.text","text":"c"}]`), chatDelta("", "stop"),
			},
			[]llm.Event{
				llm.ReasoningDelta{Text: "a"}, chatReason(`{"field":"reasoning","reasoning_details":[{"type":"reasoning.text","text":"a"}]}`), llm.TextDelta{Text: "b"},
				llm.ReasoningDelta{Text: "c"}, chatReason(`{"field":"reasoning","reasoning_details":[{"type":"reasoning.text","text":"c"}]}`), stop,
			},
		},
		{
			"opaque members of calls", []string{
				chatCalls(`{"index":0,"id":"1","function":{"name":"f"},"extra_content":{"a":1},"x":null}`), chatCalls(`{"index":1,"id":"2","function":{"name":"g"}}`),
				chatCalls(`{"index":1,"y":"z"}`), chatCalls(`{"index":2,"id":"3","type":"custom","custom":{"name":"sh","input":"ls"}}`), chatDelta("", "stop"),
			},
			[]llm.Event{
				llm.ToolCallStart{Index: 1, ID: "1", Name: "f", Opaque: chatOpaque(`{"extra_content":{"a":1}}`)}, llm.ToolCallStart{Index: 2, ID: "2", Name: "g"},
				llm.ToolCallStart{Index: 3, ID: "3", Name: "sh", Opaque: chatOpaque(`{"type":"custom"}`)}, llm.ToolCallDelta{Index: 3, Arguments: "ls"},
				llm.ToolCallEnd{Index: 1}, llm.ToolCallEnd{Index: 2, Opaque: chatOpaque(`{"chat:y":"z"}`)}, llm.ToolCallEnd{Index: 3}, stop,
			},
		},
		{
			"a call without a name before one with a name", []string{
				chatCalls(`{"index":0,"function":{"arguments":"{"}}`), chatCalls(chatCall2), chatCalls(`{"index":0,"function":{"arguments":"}"}}`), chatDelta("", "stop"),
			},
			[]llm.Event{
				llm.ToolCallStart{Index: 1}, llm.ToolCallDelta{Index: 1, Arguments: "{"}, llm.ToolCallStart{Index: 2, ID: "call_2", Name: "g"}, llm.ToolCallDelta{Index: 2, Arguments: `{"a":1}`},
				llm.ToolCallDelta{Index: 1, Arguments: "}"}, llm.ToolCallEnd{Index: 1}, llm.ToolCallEnd{Index: 2}, stop,
			},
		},
		{
			"a call without a name", []string{chatCalls(`{"index":0,"function":{"arguments":"{"}}`), chatCalls(`{"index":0,"function":{"arguments":"}"}}`), chatDelta("", "stop")},
			[]llm.Event{llm.ToolCallStart{Index: 1}, llm.ToolCallDelta{Index: 1, Arguments: "{}"}, llm.ToolCallEnd{Index: 1}, stop},
		},
		{
			"an id that comes after the name, and then another", []string{
				chatCalls(`{"index":0,"function":{"name":"f"}}`), chatCalls(`{"index":0,"id":"1","function":{"arguments":"{}"}}`), chatCalls(`{"index":0,"id":"2","function":{"name":"g"}}`), chatDelta("", "stop"),
			},
			[]llm.Event{
				llm.ToolCallStart{Index: 1, Name: "f"}, llm.ToolCallDelta{Index: 1, Arguments: "{}"}, llm.ToolCallStart{Index: 2, ID: "2", Name: "g"}, llm.ToolCallEnd{Index: 1}, llm.ToolCallEnd{Index: 2}, stop,
			},
		},
		{
			"an id after a call without one, each with its name", []string{chatCalls(`{"index":0,"function":{"name":"f"}}`), chatCalls(`{"index":0,"id":"2","function":{"name":"g"}}`), chatDelta("", "stop")},
			[]llm.Event{llm.ToolCallStart{Index: 1, Name: "f"}, llm.ToolCallStart{Index: 2, ID: "2", Name: "g"}, llm.ToolCallEnd{Index: 1}, llm.ToolCallEnd{Index: 2}, stop},
		},
		{
			"a name without index and id for the call that has none", []string{chatCalls(`{"id":"1"}`), chatCalls(`{"function":{"name":"f"}}`), chatDelta("", "stop")},
			[]llm.Event{llm.ToolCallStart{Index: 1, ID: "1"}, llm.ToolCallStart{Index: 1, Name: "f"}, llm.ToolCallEnd{Index: 1}, stop},
		},
		{
			"all indexes of one digit", []string{chatCalls(`{"index":9,"id":"1","function":{"name":"f","arguments":"{"}}`), chatCalls(`{"index":8,"id":"2","function":{"name":"g"}}`), chatCalls(`{"index":9,"function":{"arguments":"}"}}`), chatDelta("", "stop")},
			[]llm.Event{
				llm.ToolCallStart{Index: 1, ID: "1", Name: "f"}, llm.ToolCallDelta{Index: 1, Arguments: "{"}, llm.ToolCallStart{Index: 2, ID: "2", Name: "g"}, llm.ToolCallDelta{Index: 1, Arguments: "}"}, llm.ToolCallEnd{Index: 1}, llm.ToolCallEnd{Index: 2}, stop,
			},
		},
		{
			"a refusal among the elements of a content", []string{chatDelta(`"content":[{"type":"refusal","refusal":"no"},{"type":"text","text":"a"}]`), chatDelta("", "stop")},
			[]llm.Event{llm.TextDelta{Text: "no", Refusal: true}, llm.TextDelta{Text: "a"}, stop},
		},
		{
			"a function call as it was before there were several", []string{chatDelta(`"function_call":{"name":"f","arguments":"{"}`), chatDelta(`"function_call":{"arguments":"}"}`, "stop")},
			[]llm.Event{llm.ToolCallStart{Index: 1, Name: "f"}, llm.ToolCallDelta{Index: 1, Arguments: "{"}, llm.ToolCallDelta{Index: 1, Arguments: "}"}, llm.ToolCallEnd{Index: 1}, stop},
		},
		{
			"a spoken answer", []string{chatDelta(`"audio":{"id":"audio_1","transcript":"Hel"}`), chatDelta(`"audio":{"transcript":"lo","data":"AA"}`), chatDelta("", "stop")},
			[]llm.Event{llm.TextDelta{Text: "Hel"}, llm.TextDelta{Text: "lo"}, llm.Finish{Reason: llm.FinishStop, ResponseID: "c1", Model: "m", Opaque: chatOpaque(`{"audio":{"data":"AA","id":"audio_1","transcript":"Hello"}}`)}},
		},
		{
			"usage of all kinds", []string{
				`{"usage":{"prompt_tokens":1.0,"completion_tokens":"2","total_tokens":null,"prompt_tokens_details":null,"completion_tokens_details":[]}}`,
				`{"usage":{"prompt_tokens":-1,"completion_tokens":9007199254740994,"prompt_cache_hit_tokens":3,"cache_creation_input_tokens":4}}`,
				`{"usage":{"prompt_tokens_details":{"cached_tokens":5,"cache_write_tokens":6},"prompt_cache_hit_tokens":3,"cache_creation_input_tokens":4,"completion_tokens":9007199254740992}}`,
				`{"usage":{"completion_tokens_details":{"reasoning_tokens":6},"completion_tokens":5,"prompt_tokens":1,"total_tokens":6}}`,
				`{"usage":{"completion_tokens_details":{"reasoning_tokens":5},"completion_tokens":5,"prompt_tokens":1,"total_tokens":11}}`,
				`{"usage":{"completion_tokens_details":{"reasoning_tokens":5},"completion_tokens":5,"prompt_tokens":1,"total_tokens":6}}`,
				`{"usage":{"input_tokens":1,"output_tokens":2,"input_tokens_details":{"cached_tokens":1},"output_tokens_details":{"reasoning_tokens":1}}}`,
				`{"usage":{"prompt_tokens":13,"completion_tokens":9,"completion_tokens_details":{"reasoning_tokens":5},"input_tokens":0,"output_tokens":0,"output_tokens_details":{"reasoning_tokens":0}}}`,
				`{"usage":7}`,
			},
			append([]llm.Event{
				llm.Usage{InputTokens: 1}, llm.Usage{CacheReadInputTokens: 3, CacheCreationInputTokens: 4}, llm.Usage{CacheReadInputTokens: 5, CacheCreationInputTokens: 6, OutputTokens: 1 << 53},
				llm.Usage{InputTokens: 1, OutputTokens: 11, ReasoningOutputTokens: 6}, llm.Usage{InputTokens: 1, OutputTokens: 10, ReasoningOutputTokens: 5}, llm.Usage{InputTokens: 1, OutputTokens: 5, ReasoningOutputTokens: 5}, llm.Usage{InputTokens: 1, OutputTokens: 2, CacheReadInputTokens: 1, ReasoningOutputTokens: 1},
				llm.Usage{InputTokens: 13, OutputTokens: 9, ReasoningOutputTokens: 5},
			}, unknown...),
		},
		{
			"text that is not UTF-8, in arguments", []string{chatCalls("{\"index\":0,\"id\":\"1\",\"function\":{\"name\":\"f\",\"arguments\":\"\xff\"}}"), chatDelta("", "stop")},
			[]llm.Event{llm.ToolCallStart{Index: 1, ID: "1", Name: "f"}, llm.ToolCallDelta{Index: 1, Arguments: "\xff"}, llm.ToolCallEnd{Index: 1}, stop},
		},
	} {
		if diff := cmp.Diff(c.want, chatEvents(t, c.data...)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// TestChatCompleteDetails checks that a non-streaming response has separate details.
func TestChatCompleteDetails(t *testing.T) {
	const details = `[{"type":"reasoning.text","text":"a","index":0},{"type":"reasoning.text","text":"b","index":0}]`
	turn, err := chatAnswer(chatWhole(`"content":"c","reasoning_details":`+details, `"stop"`))
	chatWant{parts: chatParts(llm.Reasoning{Text: "ab", Opaque: chatOpaque(`{"reasoning_details":` + details + `}`)}, chatText("c")), finish: llm.FinishStop}.hold(t, "details", turn, err)
}

// TestChatDataIsCopied checks that a decoder keeps no reference to its input.
func TestChatDataIsCopied(t *testing.T) {
	dec := chat.Protocol{}.NewDecoder()
	data := []byte(chatDelta(`"content":"Hello"`, "stop"))
	var got llm.Event
	if _, err := dec.Event("", data, func(ev llm.Event) { got = ev }); err != nil {
		t.Fatal(err)
	}
	copy(data, strings.Repeat("x", len(data)))
	if diff := cmp.Diff(llm.Event(llm.TextDelta{Text: "Hello"}), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
