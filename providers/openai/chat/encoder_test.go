package chat_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/openai/chat"
	"github.com/looptape/looptape/providers/protocol"
)

var chatAnswered = protocol.ResponseMeta{ID: "chatcmpl-1", Model: "gpt-4o", Created: 1700000000}

// chatWritten is the stream of such events.
func chatWritten(t interface{ Fatal(...any) }, events ...llm.Event) (data []string) {
	enc := chat.Protocol{}.NewEncoder(chatAnswered)
	write := func(name string, d []byte) {
		if name != "" {
			t.Fatal("an event with the name " + name)
		}
		data = append(data, string(d))
	}
	for _, ev := range events {
		if err := enc.Event(ev, write); err != nil {
			t.Fatal(err)
		}
	}
	if err := enc.End(write); err != nil {
		t.Fatal(err)
	}
	return data
}

// chatDeltas returns the deltas of a stream, followed by the finish reason if there is one;
// chunks without a choice are unchanged.
func chatDeltas(t *testing.T, data []string) (out []string) {
	t.Helper()
	const head = `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"gpt-4o","service_tier":"default","system_fingerprint":null,"choices":[`
	for _, d := range data {
		if d == "[DONE]" {
			out = append(out, d)
			continue
		}
		rest, ok := strings.CutPrefix(d, head)
		if !ok {
			t.Fatalf("a chunk begins otherwise: %s", d)
		}
		rest = strings.TrimPrefix(rest, `{"index":0,"delta":`)
		rest = strings.TrimSuffix(rest, `,"logprobs":null,"finish_reason":null}]}`)
		out = append(out, strings.Replace(rest, `,"logprobs":null,"finish_reason"`, "", 1))
	}
	return out
}

func TestChatStreamsWritten(t *testing.T) {
	const role, roleOfText = `{"role":"assistant","content":null,"refusal":null}`, `{"role":"assistant","content":"","refusal":null}`
	for _, c := range []struct {
		name   string
		events []llm.Event
		want   []string
	}{
		{"nothing", nil, []string{"[DONE]"}},
		{
			"text", []llm.Event{llm.TextDelta{}, llm.TextDelta{Text: "a"}, llm.Usage{InputTokens: 5, OutputTokens: 1}, llm.TextDelta{Text: "b"}, llm.Warning{Code: "x"}, llm.Unknown{Kind: "x"}, llm.Usage{OutputTokens: 3, CacheReadInputTokens: 2, CacheCreationInputTokens: 4, ReasoningOutputTokens: 1}, llm.Finish{Reason: llm.FinishStop}},
			[]string{
				roleOfText, `{"content":"a"}`, `{"content":"b"}`, `{}:"stop"}]}`,
				`],"usage":{"prompt_tokens":5,"completion_tokens":3,"total_tokens":8,"prompt_tokens_details":{"cached_tokens":2,"audio_tokens":0,"cache_write_tokens":4},"completion_tokens_details":{"reasoning_tokens":1,"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}}}`,
				"[DONE]",
			},
		},
		{
			"a refusal", []llm.Event{llm.TextDelta{Text: "no", Refusal: true}, llm.Finish{Reason: llm.FinishRefusal}},
			[]string{role, `{"refusal":"no"}`, `{}:"stop"}]}`, "[DONE]"},
		},
		{"a finish alone, in the provider's word", []llm.Event{llm.Finish{Reason: llm.FinishStop, Raw: "eos", Opaque: chatOpaque(`{"audio":{"id":"a"}}`)}}, []string{role, `{"audio":{"id":"a"}}:"eos"}]}`, "[DONE]"}},
		{"no reason", []llm.Event{llm.Finish{Reason: llm.FinishUnknown}}, []string{role, `{}`, "[DONE]"}},
		{
			"reasoning waits for its field", []llm.Event{llm.ReasoningDelta{Text: "a"}, llm.ReasoningDelta{}, llm.ReasoningDelta{Text: "b"}, llm.ReasoningDelta{Opaque: chatOpaque(`{"field":"reasoning","reasoning_details":[{"a": 1}]}`)}, llm.TextDelta{Text: "c"}},
			[]string{role, `{"reasoning":"a"}`, `{"reasoning":"b"}`, `{"reasoning_details":[{"a":1}]}`, `{"content":"c"}`, "[DONE]"},
		},
		{
			"or for what follows", []llm.Event{llm.ReasoningDelta{Text: "a"}, llm.TextDelta{Text: "b"}, llm.ReasoningDelta{Text: "c"}, llm.ToolCallStart{ID: "1", Name: "f"}, llm.ReasoningDelta{Text: "d"}, llm.Finish{Reason: llm.FinishStop}},
			[]string{role, `{"reasoning_content":"a"}`, `{"content":"b"}`, `{"reasoning_content":"c"}`, `{"tool_calls":[{"index":0,"id":"1","type":"function","function":{"name":"f","arguments":""}}]}`, `{"reasoning_content":"d"}`, `{}:"stop"}]}`, "[DONE]"},
		},
		{"or for the end", []llm.Event{llm.ReasoningDelta{Text: "a"}}, []string{role, `{"reasoning_content":"a"}`, "[DONE]"}},
		{
			"details alone, an empty field, thinking among the texts", []llm.Event{
				llm.ReasoningDelta{Text: "a", Opaque: chatOpaque(`{"reasoning_details":[1]}`)}, llm.ReasoningDelta{Opaque: chatOpaque(`{"field":"reasoning_content"}`)}, llm.ReasoningDelta{Text: "b", Opaque: chatOpaque(`{"field":"content"}`)}, llm.ReasoningDelta{Text: "c", Opaque: chatOpaque(`{"signature":"s"}`)},
			},
			[]string{role, `{"reasoning_details":[1]}`, `{"reasoning_content":""}`, `{"content":[{"type":"thinking","thinking":[{"type":"text","text":"b"}]}]}`, `{"reasoning_content":"c"}`, "[DONE]"},
		},
		{
			"calls by turns", []llm.Event{
				llm.ToolCallStart{Index: 1, ID: "1"}, llm.ToolCallStart{Index: 2, ID: "2", Name: "g", Opaque: chatOpaque(`{"chat:x":1,"chat:id":"no"}`)}, llm.ToolCallDelta{Index: 1, Arguments: "{"}, llm.ToolCallStart{Index: 1, Name: "f", Opaque: chatOpaque(`{"chat:y":1}`)}, llm.ToolCallDelta{ID: "1", Arguments: ""},
				llm.ToolCallDelta{ID: "1", Arguments: "}"}, llm.ToolCallDelta{Arguments: "{}"}, llm.ToolCallEnd{Index: 1}, llm.ToolCallEnd{Opaque: chatOpaque(`{"chat:z":1}`)}, llm.ToolCallDelta{Arguments: "dropped"}, llm.ToolCallEnd{ID: "1"},
			},
			[]string{
				role, `{"tool_calls":[{"index":0,"id":"1","type":"function","function":{"arguments":""}}]}`, `{"tool_calls":[{"index":1,"id":"2","type":"function","function":{"name":"g","arguments":""},"x":1}]}`,
				`{"tool_calls":[{"index":0,"function":{"arguments":"{"}}]}`, `{"tool_calls":[{"index":0,"function":{"name":"f"},"y":1}]}`, `{"tool_calls":[{"index":0,"function":{"arguments":"}"}}]}`, `{"tool_calls":[{"index":1,"function":{"arguments":"{}"}}]}`,
				`{"tool_calls":[{"index":1,"z":1}]}`, "[DONE]",
			},
		},
		{
			"starts that open another call", []llm.Event{
				llm.ToolCallStart{Index: 1, ID: "1", Name: "f"}, llm.ToolCallStart{Index: 1, ID: "1", Name: "f"}, llm.ToolCallStart{Name: "h"}, llm.ToolCallStart{Name: "i"}, llm.ToolCallStart{Index: 4, ID: "4"}, llm.ToolCallEnd{Index: 4}, llm.ToolCallStart{Index: 4, Name: "j"}, llm.ToolCallStart{Index: 5}, llm.ToolCallStart{Index: 5},
			},
			[]string{
				role, `{"tool_calls":[{"index":0,"id":"1","type":"function","function":{"name":"f","arguments":""}}]}`, `{"tool_calls":[{"index":1,"id":"1","type":"function","function":{"name":"f","arguments":""}}]}`, `{"tool_calls":[{"index":2,"type":"function","function":{"name":"h","arguments":""}}]}`,
				`{"tool_calls":[{"index":3,"type":"function","function":{"name":"i","arguments":""}}]}`, `{"tool_calls":[{"index":4,"id":"4","type":"function","function":{"arguments":""}}]}`, `{"tool_calls":[{"index":5,"type":"function","function":{"name":"j","arguments":""}}]}`,
				`{"tool_calls":[{"index":6,"type":"function","function":{"arguments":""}}]}`, `{"tool_calls":[{"index":7,"type":"function","function":{"arguments":""}}]}`, "[DONE]",
			},
		},
		{
			"ends with the arguments", []llm.Event{
				llm.ToolCallStart{Index: 1, ID: "1", Name: "f"}, llm.ToolCallDelta{Index: 1, Arguments: `{"a"`}, llm.ToolCallEnd{Index: 1, Arguments: `{"a":1}`}, llm.ToolCallStart{Index: 2, ID: "2", Name: "f"}, llm.ToolCallEnd{Index: 2, Arguments: `{}`}, llm.ToolCallStart{Index: 3, ID: "3", Name: "f"}, llm.ToolCallDelta{Index: 3, Arguments: `{}`}, llm.ToolCallEnd{Index: 3, Arguments: `{}`},
			},
			[]string{
				role, `{"tool_calls":[{"index":0,"id":"1","type":"function","function":{"name":"f","arguments":""}}]}`, `{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\""}}]}`, `{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]}`,
				`{"tool_calls":[{"index":1,"id":"2","type":"function","function":{"name":"f","arguments":""}}]}`, `{"tool_calls":[{"index":1,"function":{"arguments":"{}"}}]}`, `{"tool_calls":[{"index":2,"id":"3","type":"function","function":{"name":"f","arguments":""}}]}`, `{"tool_calls":[{"index":2,"function":{"arguments":"{}"}}]}`, "[DONE]",
			},
		},
		{
			"whole parts", []llm.Event{
				llm.PartDone{Part: chatText("a")}, llm.PartDone{Part: llm.Reasoning{Text: "b"}}, llm.PartDone{Part: llm.Reasoning{Text: "c"}}, llm.PartDone{Part: chatCallOf("1", "f", "{}")}, llm.ToolCallDelta{Arguments: "dropped"},
				llm.PartDone{Part: llm.ToolCall{ID: "2", Name: "sh", Arguments: "ls", Opaque: chatOpaque(`{"type":"custom"}`)}}, llm.ToolCallStart{ID: "3", Name: "sh", Opaque: chatOpaque(`{"type":"custom"}`)}, llm.ToolCallDelta{Arguments: "ls"},
			},
			[]string{
				roleOfText, `{"content":"a"}`, `{"reasoning_content":"b"}`, `{"reasoning_content":"c"}`, `{"tool_calls":[{"index":0,"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]}`, `{"tool_calls":[{"index":1,"id":"2","type":"custom","custom":{"name":"sh","input":"ls"}}]}`,
				`{"tool_calls":[{"index":2,"id":"3","type":"custom","custom":{"name":"sh","input":""}}]}`, `{"tool_calls":[{"index":2,"custom":{"input":"ls"}}]}`, "[DONE]",
			},
		},
	} {
		data := chatWritten(t, c.events...)
		if diff := cmp.Diff(c.want, chatDeltas(t, data)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestChatCannotStream(t *testing.T) {
	for want, ev := range map[string]llm.Event{
		"a Chat Completions response cannot contain image/png":                    llm.PartDone{Part: llm.Media{MediaType: "image/png"}},
		"a Chat Completions response cannot contain a tool result":                llm.PartDone{Part: llm.ToolResult{}},
		"a Chat Completions response cannot contain a part of the type x":         llm.PartDone{Part: llm.Unknown{Kind: "x"}},
		"a Chat Completions response cannot contain a call that the provider ran": llm.PartDone{Part: llm.ToolCall{ProviderExecuted: true}},
		"a Chat Completions response cannot contain nothing":                      llm.PartDone{},
		`the call "1": the arguments of its end differ from its deltas`:           llm.ToolCallEnd{Arguments: "{}"},
	} {
		enc := chat.Protocol{}.NewEncoder(chatAnswered)
		write := func(string, []byte) {}
		for _, before := range []llm.Event{llm.ToolCallStart{ID: "1"}, llm.ToolCallDelta{Arguments: "x"}} {
			if err := enc.Event(before, write); err != nil {
				t.Fatal(err)
			}
		}
		if err := enc.Event(ev, write); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestChatResponsesWritten(t *testing.T) {
	const usage = `"usage":{"prompt_tokens":5,"completion_tokens":3,"total_tokens":8,"prompt_tokens_details":{"cached_tokens":2,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":1,"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}},"service_tier":"default","system_fingerprint":null}`
	for _, c := range []struct {
		name string
		turn llm.Response
		want string
	}{
		{
			"text", llm.Response{Parts: chatParts(chatText("a")), FinishReason: llm.FinishStop, RawFinishReason: "eos", Opaque: chatOpaque(`{"chat:x":1}`)},
			`{"role":"assistant","content":"a","refusal":null,"x":1},"logprobs":null,"finish_reason":"eos"}]`,
		},
		{
			"calls", llm.Response{Parts: chatParts(llm.Reasoning{Text: "r"}, chatCallOf(strings.Repeat("i", 50), "", "{\"a\":\"\\ud83d\"}")), FinishReason: llm.FinishToolCalls},
			`{"role":"assistant","content":null,"refusal":null,"reasoning_content":"r","tool_calls":[{"id":"` + strings.Repeat("i", 50) + `","type":"function","function":{"name":"","arguments":"{\"a\":\"\\ud83d\"}"}}]},"logprobs":null,"finish_reason":"tool_calls"}]`,
		},
		{
			"a refusal", llm.Response{Parts: chatParts(llm.Text{Text: "no", Refusal: true}), FinishReason: llm.FinishRefusal},
			`{"role":"assistant","content":null,"refusal":"no"},"logprobs":null,"finish_reason":"stop"}]`,
		},
		{"nothing", llm.Response{FinishReason: llm.FinishUnknown}, `{"role":"assistant","content":null,"refusal":null},"logprobs":null,"finish_reason":null}]`},
		{"not even a reason", llm.Response{}, `{"role":"assistant","content":null,"refusal":null},"logprobs":null,"finish_reason":null}]`},
	} {
		c.turn.Usage = llm.Usage{InputTokens: 5, OutputTokens: 3, CacheReadInputTokens: 2, ReasoningOutputTokens: 1}
		got, err := chat.Protocol{}.EncodeResponse([]byte("before "), chatAnswered, &c.turn)
		want := `before {"id":"chatcmpl-1","object":"chat.completion","created":1700000000,"model":"gpt-4o","choices":[{"index":0,"message":` + c.want + "," + usage
		if diff := cmp.Diff(want, string(got)); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", c.name, err, diff)
		}
	}
	_, err := chat.Protocol{}.EncodeResponse(nil, chatAnswered, &llm.Response{Parts: chatParts(llm.Media{MediaType: "image/png"})})
	if err == nil || err.Error() != "parts[0]: a Chat Completions assistant message cannot contain image/png" {
		t.Errorf("got %v", err)
	}
}
