package importer_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/importer"
)

// typeSamples are a response and the events of a streaming response in each protocol, with a text, reasoning, a call
// and usage as far as it has them.
var typeSamples = map[string]struct{ url, sent, body, stream string }{
	"openai-chat": {
		chatURL, chatSent,
		`{"id":"r","object":"chat.completion","model":"m","choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":"txt","reasoning_content":"think","tool_calls":[{"id":"c1","type":"function","function":{"name":"fn","arguments":"{\"x\":1}"}}]}}],"usage":{"prompt_tokens":51,"completion_tokens":71,"total_tokens":122,"prompt_tokens_details":{"cached_tokens":31},"completion_tokens_details":{"reasoning_tokens":21}}}`,
		`{"id":"r","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"role":"assistant","reasoning_content":"think"}}]}
{"id":"r","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"content":"txt"}}]}
{"id":"r","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"fn","arguments":""}}]}}]}
{"id":"r","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"x\":1}"}}]}}]}
{"id":"r","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"content":null},"finish_reason":"tool_calls"}],"usage":null}
{"id":"r","object":"chat.completion.chunk","model":"m","choices":[],"usage":{"prompt_tokens":51,"completion_tokens":71,"prompt_tokens_details":{"cached_tokens":31},"completion_tokens_details":{"reasoning_tokens":21}}}
`,
	},
	"openai-responses": {
		responses, `{"model":"m","stream":true,"input":"q"}`,
		`{"id":"r","object":"response","status":"completed","model":"m","output":[{"type":"reasoning","id":"i0","summary":[{"type":"summary_text","text":"think"}]},{"type":"message","id":"i1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"txt","annotations":[]}]},{"type":"function_call","id":"i2","call_id":"c1","name":"fn","arguments":"{\"x\":1}","status":"completed"}],"usage":{"input_tokens":51,"output_tokens":71,"total_tokens":122,"input_tokens_details":{"cached_tokens":31},"output_tokens_details":{"reasoning_tokens":21}}}`,
		`{"type":"response.created","response":{"id":"r","object":"response","status":"in_progress","model":"m","output":[],"usage":null}}
{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"i1","role":"assistant","status":"in_progress","content":[]}}
{"type":"response.output_text.delta","output_index":0,"content_index":0,"item_id":"i1","delta":"tx"}
{"type":"response.output_text.delta","output_index":0,"content_index":0,"item_id":"i1","delta":"t"}
{"type":"response.output_text.done","output_index":0,"content_index":0,"item_id":"i1","text":"txt"}
{"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"i1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"txt","annotations":[]}]}}
{"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","id":"i2","call_id":"c1","name":"fn","arguments":"","status":"in_progress"}}
{"type":"response.function_call_arguments.delta","output_index":1,"item_id":"i2","delta":"{\"x\":1}"}
{"type":"response.function_call_arguments.done","output_index":1,"item_id":"i2","arguments":"{\"x\":1}"}
{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","id":"i2","call_id":"c1","name":"fn","arguments":"{\"x\":1}","status":"completed"}}
{"type":"response.completed","response":{"id":"r","object":"response","status":"completed","model":"m","output":[{"type":"message","id":"i1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"txt","annotations":[]}]},{"type":"function_call","id":"i2","call_id":"c1","name":"fn","arguments":"{\"x\":1}","status":"completed"}],"usage":{"input_tokens":51,"output_tokens":71,"total_tokens":122,"input_tokens_details":{"cached_tokens":31},"output_tokens_details":{"reasoning_tokens":21}}}}
`,
	},
	"anthropic-messages": {
		anthropic, `{"model":"c","max_tokens":9,"messages":[{"role":"user","content":"q"}]}`,
		`{"id":"r","type":"message","role":"assistant","model":"m","content":[{"type":"thinking","thinking":"think","signature":"c2ln"},{"type":"text","text":"txt"},{"type":"tool_use","id":"c1","name":"fn","input":{"x":1}}],"stop_reason":"tool_use","usage":{"input_tokens":51,"output_tokens":71,"cache_read_input_tokens":31,"cache_creation_input_tokens":21}}`,
		`{"type":"message_start","message":{"id":"r","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"usage":{"input_tokens":51,"output_tokens":1,"cache_read_input_tokens":31}}}
{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}
{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"think"}}
{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}
{"type":"content_block_stop","index":0}
{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}
{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"txt"}}
{"type":"content_block_stop","index":1}
{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"c1","name":"fn","input":{}}}
{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"x\":1}"}}
{"type":"content_block_stop","index":2}
{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":71}}
{"type":"message_stop"}
`,
	},
	"gemini": {
		geminiSSE, `{"contents":[{"role":"user","parts":[{"text":"q"}]}]}`,
		`{"candidates":[{"index":0,"content":{"role":"model","parts":[{"text":"think","thought":true},{"text":"txt"},{"functionCall":{"id":"c1","name":"fn","args":{"x":1}}}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":51,"candidatesTokenCount":50,"cachedContentTokenCount":31,"thoughtsTokenCount":21},"modelVersion":"m","responseId":"r"}`,
		`{"candidates":[{"index":0,"content":{"role":"model","parts":[{"text":"think","thought":true},{"text":"txt"}]}}],"modelVersion":"m","responseId":"r"}
{"candidates":[{"index":0,"content":{"role":"model","parts":[{"functionCall":{"id":"c1","name":"fn","args":{"x":1}}}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":51,"candidatesTokenCount":50,"cachedContentTokenCount":31,"thoughtsTokenCount":21},"modelVersion":"m","responseId":"r"}
`,
	},
	"bedrock-converse": {
		converse, `{"messages":[{"role":"user","content":[{"text":"q"}]}]}`,
		`{"output":{"message":{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"think","signature":"c2ln"}}},{"text":"txt"},{"toolUse":{"toolUseId":"c1","name":"fn","input":{"x":1}}}]}},"stopReason":"tool_use","usage":{"inputTokens":51,"outputTokens":71,"totalTokens":122,"cacheReadInputTokens":31}}`,
		`{"messageStart":{"role":"assistant"}}
{"contentBlockDelta":{"contentBlockIndex":0,"delta":{"reasoningContent":{"text":"think"}}}}
{"contentBlockDelta":{"contentBlockIndex":0,"delta":{"reasoningContent":{"signature":"c2ln"}}}}
{"contentBlockStop":{"contentBlockIndex":0}}
{"contentBlockDelta":{"contentBlockIndex":1,"delta":{"text":"txt"}}}
{"contentBlockStop":{"contentBlockIndex":1}}
{"contentBlockStart":{"contentBlockIndex":2,"start":{"toolUse":{"toolUseId":"c1","name":"fn"}}}}
{"contentBlockDelta":{"contentBlockIndex":2,"delta":{"toolUse":{"input":"{\"x\":1}"}}}}
{"contentBlockStop":{"contentBlockIndex":2}}
{"messageStop":{"stopReason":"tool_use"}}
{"metadata":{"usage":{"inputTokens":51,"outputTokens":71,"totalTokens":122,"cacheReadInputTokens":31}}}
`,
	},
	"cohere-chat": {
		"https://api.cohere.com/v2/chat", chatSent,
		`{"id":"r","message":{"role":"assistant","tool_plan":"think","content":[{"type":"text","text":"txt"}],"tool_calls":[{"id":"c1","type":"function","function":{"name":"fn","arguments":"{\"x\":1}"}}]},"finish_reason":"TOOL_CALL","usage":{"billed_units":{"input_tokens":51},"tokens":{"input_tokens":51.0,"output_tokens":71},"cached_tokens":31}}`,
		`{"type":"message-start","id":"r","delta":{"message":{"role":"assistant","content":[],"tool_plan":"","tool_calls":[],"citations":[]}}}
{"type":"tool-plan-delta","delta":{"message":{"tool_plan":"think"}}}
{"type":"content-start","index":0,"delta":{"message":{"content":{"type":"text","text":""}}}}
{"type":"content-delta","index":0,"delta":{"message":{"content":{"text":"txt"}}}}
{"type":"content-end","index":0}
{"type":"tool-call-start","index":0,"delta":{"message":{"tool_calls":{"id":"c1","type":"function","function":{"name":"fn","arguments":""}}}}}
{"type":"tool-call-delta","index":0,"delta":{"message":{"tool_calls":{"function":{"arguments":"{\"x\":1}"}}}}}
{"type":"tool-call-end","index":0}
{"type":"message-end","delta":{"finish_reason":"TOOL_CALL","usage":{"tokens":{"input_tokens":51.0,"output_tokens":71},"cached_tokens":31}}}
`,
	},
	"ollama-chat": {
		ollama, chatSent,
		`{"model":"m","message":{"role":"assistant","content":"txt","thinking":"think","tool_calls":[{"id":"c1","function":{"name":"fn","arguments":{"x":1}}}]},"done":true,"done_reason":"stop","prompt_eval_count":51,"eval_count":71}`,
		`{"model":"m","message":{"role":"assistant","content":"","thinking":"think"},"done":false}
{"model":"m","message":{"role":"assistant","content":"txt"},"done":false}
{"model":"m","message":{"role":"assistant","content":"","tool_calls":[{"id":"c1","function":{"name":"fn","arguments":{"x":1}}}]},"done":false}
{"model":"m","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":51,"eval_count":71}
`,
	},
}

// A value of another type than the API has is listed, unless the response is the same without it or has the value.
func TestValuesOfAnotherType(t *testing.T) {
	for name, c := range typeSamples {
		forms := map[string]func(lines []string) string{"bare": func(lines []string) string { return strings.Join(lines, "\n") + "\n" }}
		forms["over HTTP"] = func(lines []string) string {
			if name == "ollama-chat" || len(lines) == 1 {
				return har(c.url, c.sent, "application/json", strings.Join(lines, "\n"))
			}
			return har(c.url, c.sent, "text/event-stream", eventsOf(strings.Join(lines, "\n")+"\n"))
		}
		for form, encode := range forms {
			for kind, text := range map[string]string{"response": c.body, "stream": c.stream} {
				t.Run(name+"/"+form+"/"+kind, func(t *testing.T) {
					lines := strings.Split(strings.TrimSpace(text), "\n")
					plain, listed := decodedAs(t, encode(lines))
					for _, want := range []string{"txt", "fn", "{\"x\":1}", "think", "71"} {
						if strings.Contains(text, want) && !strings.Contains(plain, want) || listed != nil {
							t.Fatalf("decoded without %q, or listed %q: %s", want, listed, plain)
						}
					}
					if name == "bedrock-converse" && kind == "stream" && form == "over HTTP" {
						return // such a stream is binary
					}
					n := 0
					for i, line := range lines {
						var v any
						if err := json.Unmarshal([]byte(line), &v); err != nil {
							t.Fatal(err)
						}
						eachOther(v, "", func(path string, other any) {
							changed := slices.Clone(lines)
							data, err := json.Marshal(v)
							if err != nil {
								t.Fatal(err)
							}
							changed[i] = string(data)
							got, listed := decodedAs(t, encode(changed))
							replaced, err := json.Marshal(other)
							if err != nil {
								t.Fatal(err)
							}
							if n++; listed == nil && got != plain && !strings.Contains(got, strings.Trim(string(replaced), `"`)) {
								t.Errorf("%s of line %d is %s: nothing is listed, decoded %s, want %s", path, i+1, replaced, got, plain)
							}
						})
					}
					if n < 50 {
						t.Errorf("%d values", n)
					}
				})
			}
		}
	}
}

// A member that each event has is listed if it is null or missing.
func TestMissingValuesOfEvents(t *testing.T) {
	needed := map[string][]string{
		"openai-responses":   {"delta", "text", "item", "arguments", "response"},
		"anthropic-messages": {"index", "text", "thinking", "signature", "partial_json", "message"},
		"bedrock-converse":   {"contentBlockIndex", "start", "delta", "text", "input", "signature", "toolUseId", "name", "toolUse"},
		"cohere-chat":        {"tool_plan", "text", "tool_calls", "arguments", "content", "message", "function"},
	}
	union := []string{"text", "signature", "toolUse"} // of Bedrock, which may have another member
	for name, names := range needed {
		lines := strings.Split(strings.TrimSpace(typeSamples[name].stream), "\n")
		plain, _ := decodedAs(t, strings.Join(lines, "\n"))
		n := 0
		for i, line := range lines {
			var v map[string]any
			if err := json.Unmarshal([]byte(line), &v); err != nil {
				t.Fatal(err)
			}
			check := func(what string) {
				changed := slices.Clone(lines)
				data, err := json.Marshal(v)
				if err != nil {
					t.Fatal(err)
				}
				changed[i] = string(data)
				if got, listed := decodedAs(t, strings.Join(changed, "\n")); listed == nil && got != plain {
					t.Errorf("%s, %s: nothing is listed, decoded %s, want %s", name, what, got, plain)
				}
				n++
			}
			eachObject(v, func(o map[string]any) {
				for _, member := range names {
					if value, has := o[member]; has {
						o[member] = nil
						check(fmt.Sprintf("%s of line %d is null", member, i+1))
						if delete(o, member); name != "bedrock-converse" || !slices.Contains(union, member) {
							check(fmt.Sprintf("%s of line %d is missing", member, i+1))
						}
						o[member] = value
					}
				}
			})
		}
		if n < 2*len(names) {
			t.Errorf("%s: %d values", name, n)
		}
	}
}

// eachObject calls f for an object and those in it.
func eachObject(v any, f func(map[string]any)) {
	switch v := v.(type) {
	case map[string]any:
		f(v)
		for _, name := range slices.Sorted(maps.Keys(v)) {
			eachObject(v[name], f)
		}
	case []any:
		for _, inner := range v {
			eachObject(inner, f)
		}
	}
}

// A stream with a delta without its block, or with two texts of one message, is listed. Variations that providers
// send are not.
func TestFaultsOfEvents(t *testing.T) {
	without := func(name, line string) string {
		text := typeSamples[name].stream
		if !strings.Contains(text, line+"\n") {
			t.Fatalf("%s has no line %s", name, line)
		}
		return strings.Replace(text, line+"\n", "", 1)
	}
	with := func(name, old, replacement string) string {
		text := typeSamples[name].stream
		if !strings.Contains(text, old) {
			t.Fatalf("%s has no %s", name, old)
		}
		return strings.Replace(text, old, replacement, 1)
	}
	const completed = `"content":[{"type":"output_text","text":"txt","annotations":[]}]},{"type":"function_call"`
	const textDelta = `{"type":"response.output_text.delta","output_index":0,"content_index":0,"item_id":"i1","delta":"tx"}`
	finish := func(reason string) string {
		return `{"id":"r","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"a"},"finish_reason":` + reason + `}]}`
	}
	for name, c := range map[string]struct{ file, want string }{
		"Converse: no start":                  {without("bedrock-converse", `{"contentBlockStart":{"contentBlockIndex":2,"start":{"toolUse":{"toolUseId":"c1","name":"fn"}}}}`), "belongs to no contentBlockStart, at the index 2"},
		"Converse: empty start":               {with("bedrock-converse", `"toolUse":{"toolUseId":"c1","name":"fn"}`, ``), "belongs to no contentBlockStart, at the index 2"},
		"Converse: a start of a text":         {with("bedrock-converse", `{"contentBlockDelta":{"contentBlockIndex":1`, `{"contentBlockStart":{"contentBlockIndex":1,"start":{}}}`+"\n"+`{"contentBlockDelta":{"contentBlockIndex":1`), ""},
		"Converse: an empty delta":            {with("bedrock-converse", `{"text":"txt"}`, `{}`), "the stream has a delta without content, at the index 1"},
		"Converse: a text as the input":       {with("bedrock-converse", `"{\"x\":1}"`, `"{\"x\":"`), ""}, // of a truncated response
		"Converse: an object":                 {with("bedrock-converse", `"{\"x\":1}"`, `{"x":1}`), "delta.toolUse.input is an object: want a string"},
		"Cohere: no start":                    {without("cohere-chat", `{"type":"tool-call-start","index":0,"delta":{"message":{"tool_calls":{"id":"c1","type":"function","function":{"name":"fn","arguments":""}}}}}`), "a tool-call-delta that belongs to no call"},
		"Cohere: no start of a text":          {strings.ReplaceAll(without("cohere-chat", `{"type":"content-delta","index":0,"delta":{"message":{"content":{"text":"txt"}}}}`), `{"type":"tool-call-end","index":0}`, `{"type":"content-delta","index":0,"delta":{"message":{"content":{"text":"txt"}}}}`), `a content-delta without the member "call"`},
		"Responses: another text":             {with("openai-responses", completed, strings.Replace(completed, "txt", "other", 1)), "the text of response.completed is not that of the deltas"},
		"Responses: of the item":              {with("openai-responses", `"text":"txt","annotations":[]}]}}`, `"text":"other","annotations":[]}]}}`), "the text of response.output_item.done is not that of the deltas"},
		"Responses: at the end":               {with("openai-responses", `"item_id":"i1","text":"txt"`, `"item_id":"i1","text":"other"`), "the text of response.output_text.done is not that of the deltas"},
		"Responses: no output":                {with("openai-responses", `"output":[{"type":"message","id":"i1"`, `"output":[],"o":[{"type":"message","id":"i1"`), ""},
		"Responses: no deltas":                {without("openai-responses", `{"type":"response.output_text.delta","output_index":0,"content_index":0,"item_id":"i1","delta":"t"}`), "the text of response.output_text.done is not that of the deltas"},
		"Responses: only at the end":          {strings.Replace(without("openai-responses", `{"type":"response.output_text.delta","output_index":0,"content_index":0,"item_id":"i1","delta":"tx"}`), `{"type":"response.output_text.delta","output_index":0,"content_index":0,"item_id":"i1","delta":"t"}`+"\n", "", 1), ""},
		"Responses: other arguments":          {with("openai-responses", `"item_id":"i2","arguments":"{\"x\":1}"`, `"item_id":"i2","arguments":"{\"x\":2}"`), "the argument text of response.function_call_arguments.done is not that of the deltas"},
		"Responses: of the item of a call":    {with("openai-responses", `"arguments":"{\"x\":1}","status":"completed"}}`, `"arguments":"{\"x\":2}","status":"completed"}}`), "the argument text of response.output_item.done is not that of the deltas"},
		"Responses: at the end, of a call":    {with("openai-responses", `"arguments":"{\"x\":1}","status":"completed"}]`, `"arguments":"{\"x\":2}","status":"completed"}]`), "the argument text of response.completed is not that of the deltas"},
		"Responses: arguments with a space":   {with("openai-responses", `"item_id":"i2","arguments":"{\"x\":1}"`, `"item_id":"i2","arguments":"{\"x\": 1}"`), ""},
		"Responses: a lost delta":             {with("openai-responses", `"delta":"{\"x\":1}"`, `"delta":"{"`), "the argument text of response.function_call_arguments.done is not that of the deltas"},
		"Cohere: an error":                    {with("cohere-chat", `"finish_reason":"TOOL_CALL"`, `"finish_reason":"ERROR","error":"boom"`), "cohere-chat: status 200 ERROR: boom"},
		"Cohere: another index":               {with("cohere-chat", `{"type":"content-delta","index":0`, `{"type":"content-delta","index":7`), "a content-delta of the index 7, after the start of the index 0"},
		"Responses: an unknown event":         {with("openai-responses", textDelta, `{"type":"response.song.delta","output_index":0,"delta":"lost"}`+"\n"+textDelta), `a text in events of the unknown kind "response.song.delta"`},
		"Responses: an event with a text":     {with("openai-responses", textDelta, `{"type":"response.song.done","output_index":0,"text":"lost"}`+"\n"+textDelta), `an event with data that is not read, as "text"`},
		"Responses: the text of an item":      {with("openai-responses", textDelta, `{"type":"response.song.delta","output_index":0,"delta":"tx"}`+"\n"+`{"type":"response.song.delta","output_index":0,"delta":"t"}`+"\n"+textDelta), ""},
		"Responses: an unknown state":         {with("openai-responses", textDelta, `{"type":"response.song.in_progress","output_index":0,"item_id":"x"}`+"\n"+textDelta), ""},
		"Responses: another item":             {with("openai-responses", textDelta, `{"type":"response.reasoning_text.delta","output_index":7,"delta":"lost"}`+"\n"+textDelta), "a response.reasoning_text.delta of the item 7, which has not begun"},
		"Chat: null members":                  {with("openai-chat", `"delta":{"content":"txt"}`, `"delta":{"role":null,"content":"txt","refusal":null,"tool_calls":null,"function_call":null,"reasoning":null,"audio":null},"logprobs":null,"finish_reason":null`), ""},
		"Chat: other members":                 {with("openai-chat", `"delta":{"content":"txt"}`, `"delta":{"content":"txt"},"obfuscation":"x","matched_stop":7`), ""},
		"Chat: only another member":           {with("openai-chat", `"delta":{"content":"txt"}`, `"delta":{"annotations":[{"type":"url_citation","text":"a"}]}`), ""},
		"Chat: empty choices":                 {with("openai-chat", `"choices":[{"index":0,"delta":{"content":"txt"}}]`, `"choices":[],"prompt_filter_results":[{"prompt_index":0}]`), ""},
		"Chat: choices is null":               {with("openai-chat", `"choices":[],"usage"`, `"choices":null,"usage"`), ""},
		"Chat: a scalar among the calls":      {with("openai-chat", `"tool_calls":[{"index":0,"function"`, `"tool_calls":["lost",{"index":0,"function"`), "choices[0].delta.tool_calls[0] is a string: want an object"},
		"Chat: a list as the finish reason":   {typed(chatURL, chatSent, eventsOf(with("openai-chat", `"finish_reason":"tool_calls"`, `"finish_reason":["tool_calls"]`))+"data: [DONE]\n\n"), "choices[0].finish_reason is a list: want a string"},
		"Chat: a number as the finish reason": {typed(chatURL, chatSent, finish(`7`)), "choices[0].finish_reason is 7: want a string"},
		"Chat: a finish reason in a body":     {finish(`{"type":"stop"}`), `choices[0].finish_reason has no member that is read, and has "type"`},
		"Chat: a finish reason in a list":     {"[" + finish(`"stop"`) + "," + finish(`["stop"]`) + "]", "choices[0].finish_reason is a list: want a string"},
		"Chat: an unknown finish reason":      {finish(`{"reason":"stop","finish_reason":null}`), "choices[0].finish_reason"},
		"Chat: a choice as the finish reason": {finish(`{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}`), ""},
		"Chat: a finish reason":               {finish(`"stop"`), ""},
		"Gemini: null members":                {with("gemini", `{"text":"txt"}`, `{"text":"txt","thought":null,"functionCall":null,"thoughtSignature":null}`), ""},
		"Gemini: names in snake case":         {with("gemini", `"usageMetadata":{"promptTokenCount":51,`, `"usage_metadata":{"prompt_token_count":51,"prompt_tokens_details":[{"modality":"TEXT","token_count":51}],"traffic_type":"ON_DEMAND",`), ""},
		"Gemini: a count as a text":           {with("gemini", `"promptTokenCount":51`, `"promptTokenCount":"51"`), "usageMetadata.promptTokenCount is a string: want a whole number of at least 0"},
		"Gemini: a negative count":            {with("gemini", `"promptTokenCount":51`, `"promptTokenCount":-1`), "usageMetadata.promptTokenCount is -1: want a whole number of at least 0"},
		"Gemini: an object as the reason":     {with("gemini", `"thought":true},{"text":"txt"}]}`, `"thought":true},{"text":"txt"}]},"finishReason":{"reason":"STOP"}`), "candidates[0].finishReason is an object: want a string or the number of an enumeration"},
	} {
		isReported(t, name, c.file, c.want)
	}
}

// An event, a choice or a delta with none but members that its protocol does not have is listed. Positions, data about the
// service, padding and empty values are no content.
func TestOtherMembersOfEvents(t *testing.T) {
	const lost, novel = `"novel":{"value":"lost"}`, `without a member that is read; it has "novel"`
	for name, c := range map[string]struct{ protocol, event, want string }{
		"Chat: an event":                {"openai-chat", `{` + lost + `}`, "an event " + novel},
		"Chat: with an id":              {"openai-chat", `{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","system_fingerprint":"f","choices":[],` + lost + `}`, "an event " + novel},
		"Chat: next to a usage":         {"openai-chat", `{"choices":[],"usage":{"prompt_tokens":51},` + lost + `}`, ""},
		"Chat: a choice":                {"openai-chat", `{"choices":[{"index":0,"delta":{},"logprobs":null,` + lost + `}]}`, `choices[0] has no member that is read, and has "novel"`},
		"Chat: a delta":                 {"openai-chat", `{"choices":[{"index":0,"delta":{"role":"assistant","content":"","novel":"lost"}}]}`, "a delta " + novel},
		"Chat: next to a text":          {"openai-chat", `{"choices":[{"index":0,"delta":{"content":"txt","novel":"x"}}]}`, ""},
		"Chat: a number":                {"openai-chat", `{"choices":[{"index":0,"delta":{"content":"","novel":7}}],"novel":7}`, ""},
		"Chat: filters of the prompt":   {"openai-chat", `{"choices":[],"created":0,"id":"","model":"","object":"","prompt_filter_results":[{"prompt_index":0,"content_filter_results":{"hate":{"filtered":false,"severity":"safe"}}}]}`, ""},
		"Chat: filters of the response": {"openai-chat", `{"choices":[{"content_filter_offsets":{"check_offset":1},"content_filter_results":{"hate":{"filtered":false}},"finish_reason":null,"index":0}],"created":0,"id":"","model":"","object":""}`, ""},
		"Chat: padding":                 {"openai-chat", `{"id":"c","object":"chat.completion.chunk","choices":[],"obfuscation":"x","p":"abc"}`, ""},
		"Chat: nothing":                 {"openai-chat", `{}`, ""},
		"Chat: a ping":                  {"openai-chat", `{"type":"ping","cost":"0"}`, ""},
		"Chat: progress":                {"openai-chat", `{"choices":[],"prompt_progress":{"total":9,"processed":3}}`, ""},
		"Chat: a bill of Copilot":       {"openai-chat", `{"id":"c","object":"chat.completion.chunk","model":"m","choices":[],"copilot_usage":{"token_details":[{"batch_size":1,"token_type":"input"}],"total_nano_aiu":5}}`, ""},
		"Chat: padding of Copilot":      {"openai-chat", `{"choices":[{"index":0,"delta":{"role":"assistant","content":"","padding":"abc"}}]}`, ""},
		"Chat: usage of parts":          {"openai-chat", `{"choices":[],"usage_breakdown":{"models":[{"model":"m","usage":{"prompt_tokens":51}}]}}`, ""},
		"Chat: warnings of watsonx":     {"openai-chat", `{"id":"c","model_id":"m","model":"m","choices":[],"model_version":"1.0.0","created_at":"2025","system":{"warnings":[{"message":"x","id":"disclaimer_warning"}]}}`, ""},
		"Chat: data of gateways":        {"openai-chat", `{"id":"c","model":"m","choices":[],"debug":{"echo_upstream_body":{"model":"m","messages":[{"role":"user","content":"q"}]}},"hook_results":{"before_request_hooks":[{"verdict":true}]},"generationId":"g","provider_metadata":{"gateway":{"a":"b"}}}`, ""},
		"Chat: results of searches":     {"openai-chat", `{"choices":[],"web_search":[{"title":"t"}],"search_info":{"search_results":[{"url":"u"}]},"references":[{"url":"u"}],"sources":[{"source":{"name":"f"}}]}`, ""},
		"Chat: a filter that failed":    {"openai-chat", `{"choices":[{"index":0,"delta":{},"content_filter_result":{"error":{"code":"content_filter_error"}}}]}`, ""},
		"Chat: the raw output":          {"openai-chat", `{"choices":[{"index":0,"delta":{},"raw_output":{"completion":"x"}}]}`, ""},
		"Chat: members without values":  {"openai-chat", `{"choices":[{"index":0,"delta":{"role":"assistant","content":"","novel":{"a":null,"b":[]},"more":[{"a":7,"b":[false]}]}}]}`, ""},
		"Chat: an unknown usage":        {"openai-chat", `{"choices":[],"novel":{"prompt_tokens":51}}`, "an event " + novel},
		"Chat: steps of Perplexity":     {"openai-chat", `{"object":"chat.reasoning","choices":[{"index":0,"delta":{"role":"assistant","content":"","reasoning_steps":[{"thought":"x","type":"web_search","web_search":{"search_keywords":["a"],"search_results":[{"title":"t","url":"u"}]}}]}}]}`, ""},
		"Chat: a note of Hunyuan":       {"openai-chat", `{"id":"c","object":"chat.completion.chunk","model":"m","choices":[],"note":"made by a model"}`, ""},
		"Chat: a search of Hunyuan":     {"openai-chat", `{"choices":[{"index":0,"delta":{"role":"assistant","content":"","processes":{"message":"x","num":3}}}],"note":"x"}`, ""},
		"Chat: sources of Writer":       {"openai-chat", `{"choices":[{"index":0,"delta":{"role":"assistant","content":"","graph_data":{"sources":[{"file_id":"f","snippet":"s"}],"status":"processing"}}}]}`, ""},
		"Chat: searches of Venice":      {"openai-chat", `{"id":"c","choices":[],"venice_parameters":{"enable_web_search":"auto","web_search_citations":[{"title":"t","content":"x"}]}}`, ""},
		"Chat: data of accounts":        {"openai-chat", `{"id":"c","choices":[],"user_tier":"free","session_id":"s","conversation_id":"c","thread_id":"t"}`, ""},
		"Chat: data of xAI and Zhipu":   {"openai-chat", `{"id":"c","choices":[],"debug_output":{"attempts":1,"request":"r"},"content_filter":[{"level":3,"role":"user"}]}`, ""},
		"Chat: ids in a delta":          {"openai-chat", `{"choices":[{"index":0,"delta":{"role":"assistant","content":"","chat_id":"x","message_id":"y"}}]}`, ""},
		"Chat: data of local servers":   {"openai-chat", `{"choices":[],"__verbose":{"prompt":"p"},"sglext":{"a":[1]},"model_info":{"arch":"x"},"runtime":{"name":"r"}}`, ""},
		"Gemini: an event":              {"gemini", `{"responseId":"r","modelVersion":"m","novel":["lost"]}`, "an event " + novel},
		"Gemini: a candidate":           {"gemini", `{"candidates":[{"index":0,` + lost + `}]}`, `candidates[0] has no member that is read, and has "novel"`},
		"Gemini: sources":               {"gemini", `{"candidates":[{"index":0,"groundingMetadata":{"webSearchQueries":["q"]},"urlContextMetadata":{"urlMetadata":[]}}]}`, ""},
		"Gemini: usage":                 {"gemini", `{"usageMetadata":{"promptTokenCount":51},"modelVersion":"m"}`, ""},
		"Anthropic: an event":           {"anthropic-messages", `{"type":"ping",` + lost + `}`, "an event " + novel},
		"Anthropic: a message_delta":    {"anthropic-messages", `{"type":"message_delta",` + lost + `}`, "an event " + novel},
		"Anthropic: a delta":            {"anthropic-messages", `{"type":"message_delta","delta":{` + lost + `}}`, `delta has no member that is read, and has "novel"`},
		"Anthropic: a container":        {"anthropic-messages", `{"type":"message_delta","delta":{"stop_reason":null,"stop_sequence":null,"container":{"id":"x"}},"context_management":{"applied_edits":[]}}`, ""},
		"Anthropic: a bill of Copilot":  {"anthropic-messages", `{"type":"ping","copilot_usage":{"token_details":[{"token_type":"input"}]}}`, ""},
		"Anthropic: a ping with a cost": {"anthropic-messages", `{"type":"ping","cost":"0.1"}`, ""},
		"Anthropic: of a session":       {"anthropic-messages", `{"type":"ping","session_id":"s","timestamp":"2025"}`, ""},
		"Anthropic: still alive":        {"anthropic-messages", `{"type":"keepalive","sequence_number":3}`, ""},
		"Anthropic: an unknown kind":    {"anthropic-messages", `{"type":"song",` + lost + `}`, `an event of the unknown kind "song"`},
		"Anthropic: an unknown delta":   {"anthropic-messages", `{"type":"song","delta":{"text":"lost"}}`, `an event of the unknown kind "song"`},
		"Responses: a heartbeat":        {"openai-responses", `{"type":"response.heartbeat","timestamp":"2025","sequence_number":3}`, ""},
		"Responses: without a type":     {"openai-responses", `{` + lost + `}`, "an event " + novel},
		"Responses: an unknown type":    {"openai-responses", `{"type":"response.song.done","output_index":0,` + lost + `}`, "an event " + novel},
		"Responses: a part":             {"openai-responses", `{"type":"response.content_part.added","output_index":0,"content_index":0,` + lost + `}`, "an event " + novel},
		"Responses: a search":           {"openai-responses", `{"type":"response.web_search_call.searching","output_index":0,"item_id":"w","sequence_number":3}`, ""},
		"Responses: a picture":          {"openai-responses", `{"type":"response.image_generation_call.partial_image","output_index":0,"item_id":"g","partial_image_index":0,"partial_image_b64":"eA==","size":"1024x1024","quality":"high"}`, ""},
		"Responses: no arguments": {"openai-responses", `{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"f","call_id":"c0","name":"fn","arguments":""}}
{"type":"response.function_call_arguments.done","output_index":0,"item_id":"f","name":"fn","arguments":""}`, ""},
		"Responses: limits of Codex":   {"openai-responses", `{"type":"codex.rate_limits","plan_type":"plus","rate_limits":{"allowed":true},"credits":{"balance":"0"}}`, ""},
		"Responses: still alive":       {"openai-responses", `{"type":"keepalive","sequence_number":3}`, ""},
		"Converse: metadata":           {"bedrock-converse", `{"metadata":{"p":"abc",` + lost + `}}`, "an event " + novel},
		"Converse: metrics":            {"bedrock-converse", `{"metadata":{"metrics":{"latencyMs":9},"p":"abc"}}`, ""},
		"Cohere: the end of a content": {"cohere-chat", `{"type":"content-end","index":0,` + lost + `}`, "an event " + novel},
		"Cohere: a debug event":        {"cohere-chat", `{"type":"debug","prompt":"the prompt"}`, ""},
	} {
		first, rest, _ := strings.Cut(typeSamples[c.protocol].stream, "\n")
		isReported(t, name, first+"\n"+c.event+"\n"+rest, c.want)
	}
}

// An event after the one at which the codec stops is listed if it has content. Servers repeat the end, and send pings.
func TestEventsAfterTheEnd(t *testing.T) {
	const after = "after its end, which is not read"
	end := func(name string) string {
		lines := strings.Split(strings.TrimSpace(typeSamples[name].stream), "\n")
		return lines[len(lines)-1]
	}
	for name, c := range map[string]struct{ protocol, more, want string }{
		"Anthropic: a call":            {"anthropic-messages", `{"type":"content_block_start","index":9,"content_block":{"type":"tool_use","id":"t","name":"f","input":{}}}`, after},
		"Anthropic: a usage":           {"anthropic-messages", `{"type":"message_delta","delta":{},"usage":{"output_tokens":9}}`, after},
		"Anthropic: an error":          {"anthropic-messages", `{"type":"error","error":{"type":"overloaded_error","message":"x"}}`, after},
		"Anthropic: a ping":            {"anthropic-messages", `{"type":"ping"}`, ""},
		"Anthropic: the end again":     {"anthropic-messages", `{"type":"message_stop"}`, ""},
		"Responses: an item":           {"openai-responses", `{"type":"response.output_item.done","output_index":9,"item":{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}}`, after},
		"Responses: a failure":         {"openai-responses", `{"type":"response.failed","response":{"id":"r","status":"failed","error":{"code":"server_error","message":"x"}}}`, after},
		"Responses: an error":          {"openai-responses", `{"type":"error","code":"server_error","message":"x"}`, after},
		"Responses: another end":       {"openai-responses", strings.Replace(end("openai-responses"), `"txt"`, `"lost"`, 1), after},
		"Responses: the end again":     {"openai-responses", end("openai-responses"), ""},
		"Responses: an unknown event":  {"openai-responses", `{"type":"keepalive","sequence_number":9}`, ""},
		"Responses: nothing, [DONE]":   {"openai-responses", "[DONE]", ""},
		"Anthropic: nothing, [DONE]":   {"anthropic-messages", "[DONE]", ""},
		"Anthropic: nothing, no event": {"anthropic-messages", "", ""},
	} {
		stream := eventsOf(typeSamples[c.protocol].stream)
		if c.more != "" {
			stream += "data: " + c.more + "\n\n"
		}
		isReported(t, name, stream, c.want)
	}
}

// The usage that a tool has recorded is listed if it is no count.
func TestUsageOfRecords(t *testing.T) {
	langfuse := func(usage string) string {
		return `[{"id":"o","parentObservationId":null,"traceId":"t","type":"GENERATION","startTime":"2026-01-01T00:00:00Z","input":[{"role":"user","content":"q"}],"output":{"role":"assistant","content":"a"},` + usage + `}]`
	}
	codex := func(total string) string {
		return `{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"s"}}
{"timestamp":"2026-01-01T00:00:00Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"q"}]}}
{"timestamp":"2026-01-01T00:00:00Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]}}
{"timestamp":"2026-01-01T00:00:00Z","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":` + total + `}}}
`
	}
	atif := func(metrics, final string) string {
		return `{"schema_version":"ATIF-v1.5","session_id":"s","agent":{"name":"a"},"steps":[{"step_id":1,"source":"user","message":"q"},{"step_id":2,"source":"agent","message":"b","metrics":` + metrics + `}],"final_metrics":` + final + `}`
	}
	claude := func(usage string) string {
		return `{"type":"user","uuid":"1","parentUuid":null,"sessionId":"s","message":{"role":"user","content":"q"}}
{"type":"assistant","uuid":"2","parentUuid":"1","sessionId":"s","message":{"id":"m","role":"assistant","content":[{"type":"text","text":"a"}],"usage":` + usage + `}}
`
	}
	langChain := func(members string) string {
		return `[{"type":"human","content":"q"},{"type":"ai","content":"a","additional_kwargs":{},` + members + `}]`
	}
	langSmith := func(outputs, extra string) string {
		return `[{"id":"r","trace_id":"t","run_type":"llm","start_time":"2026-01-01T00:00:00","inputs":{"messages":[{"role":"user","content":"q"}]},"outputs":{"choices":[{"index":0,"message":{"role":"assistant","content":"a"},"finish_reason":"stop"}]` + outputs + `},"extra":` + extra + `}]`
	}
	adk := func(usage string) string {
		return `{"id":"s","app_name":"a","user_id":"u","events":[{"author":"user","content":{"role":"user","parts":[{"text":"q"}]}},{"author":"a","content":{"role":"model","parts":[{"text":"a"}]},"usage_metadata":` + usage + `}]}`
	}
	tau2 := func(usage string) string {
		return `{"id":"s","task_id":"t","termination_reason":"user_stop","duration":1,"reward_info":{"reward":1},"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a","usage":` + usage + `}]}`
	}
	agentSDK := func(usage string) string {
		return `{"type":"user","session_id":"s","parent_tool_use_id":null,"message":{"role":"user","content":"q"}}
{"type":"assistant","session_id":"s","parent_tool_use_id":null,"message":{"id":"m","role":"assistant","content":[{"type":"text","text":"a"}]}}
{"type":"result","subtype":"success","session_id":"s","result":"a","usage":` + usage + `}
`
	}
	managed := func(usage string) string {
		return `[{"type":"user.message","id":"1","processed_at":"2026-01-01T00:00:00Z","content":[{"type":"text","text":"q"}]},{"type":"agent.message","id":"2","processed_at":"2026-01-01T00:00:00Z","content":[{"type":"text","text":"a"}]},{"type":"span.model_request_end","id":"3","processed_at":"2026-01-01T00:00:00Z","model_usage":` + usage + `}]`
	}
	openInference := func(attributes string) string {
		return `[{"context":{"trace_id":"1","span_id":"1"},"attributes":{"openinference.span.kind":"LLM","llm.input_messages.0.message.role":"user","llm.input_messages.0.message.content":"q",` + attributes + `}}]`
	}
	otel := func(value string) string {
		return `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"1","spanId":"1","name":"chat m","attributes":[{"key":"gen_ai.operation.name","value":{"stringValue":"chat"}},{"key":"gen_ai.input.messages","value":{"stringValue":"[{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"content\":\"q\"}]}]"}},{"key":"gen_ai.usage.input_tokens","value":` + value + `}]}]}]}]}`
	}
	const noCount = "want a whole number of at least 0"
	for name, c := range map[string]struct{ file, want string }{
		"LangChain":                   {langChain(`"usage_metadata":{"input_tokens":5,"output_tokens":7,"total_tokens":12,"input_token_details":{"cache_read":3,"audio":null},"output_token_details":{"reasoning":1}}`), ""},
		"LangChain: a string":         {langChain(`"usage_metadata":"91"`), "usage_metadata is a string: want an object with counts"},
		"LangChain: a list":           {langChain(`"usage_metadata":{"input_tokens":[5],"output_tokens":7}`), "usage_metadata.input_tokens is a list: " + noCount},
		"LangChain: details":          {langChain(`"usage_metadata":{"input_tokens":5,"output_tokens":7,"input_token_details":{"cache_read":"many"}}`), "usage_metadata.input_token_details.cache_read is a string: " + noCount},
		"LangChain: of the provider":  {langChain(`"response_metadata":{"token_usage":{"prompt_tokens":-5,"completion_tokens":7}}`), "response_metadata.token_usage.prompt_tokens is -5: " + noCount},
		"LangSmith":                   {langSmith(`,"usage_metadata":{"input_tokens":5,"output_tokens":7,"input_cost":0.5}`, `{"metadata":{"usage_metadata":{"input_tokens":5}}}`), ""},
		"LangSmith: a fraction":       {langSmith(`,"usage_metadata":{"input_tokens":0.5,"output_tokens":7}`, `{}`), "outputs.usage_metadata.input_tokens is 0.5: " + noCount},
		"LangSmith: extra":            {langSmith(``, `{"metadata":{"usage_metadata":{"input_tokens":{"value":5}}}}`), "extra.metadata.usage_metadata.input_tokens is an object: " + noCount},
		"LangSmith: of the provider":  {langSmith(`,"usage":{"prompt_tokens":"many"}`, `{}`), "usage.prompt_tokens is a string: " + noCount},
		"ADK":                         {adk(`{"prompt_token_count":5,"candidates_token_count":7,"prompt_tokens_details":[{"modality":"TEXT","token_count":5}]}`), ""},
		"ADK: a list":                 {adk(`[5]`), "events[1]: usage_metadata is a list: want an object with counts"},
		"ADK: a negative number":      {adk(`{"prompt_token_count":-5}`), "usage_metadata.prompt_token_count is -5: " + noCount},
		"tau2":                        {tau2(`{"completion_tokens":7,"prompt_tokens":5}`), ""},
		"tau2: null":                  {tau2(`null`), ""},
		"tau2: a string":              {tau2(`{"completion_tokens":7,"prompt_tokens":"many"}`), "messages[1]: usage.prompt_tokens is a string: " + noCount},
		"agent SDK":                   {agentSDK(`{"input_tokens":5,"output_tokens":7,"server_tool_use":{"web_search_requests":0}}`), ""},
		"agent SDK: a list":           {agentSDK(`{"input_tokens":[5],"output_tokens":7}`), "usage.input_tokens is a list: " + noCount},
		"managed agents":              {managed(`{"input_tokens":5,"output_tokens":7,"cache_creation":null}`), ""},
		"managed agents: a string":    {managed(`{"input_tokens":"many","output_tokens":7}`), "model_usage.input_tokens is a string: " + noCount},
		"OpenInference":               {openInference(`"llm.token_count.prompt":5,"llm.token_count.completion":7.0`), ""},
		"OpenInference: a string":     {openInference(`"llm.token_count.prompt":"many"`), "llm.token_count.prompt is a string: " + noCount},
		"OpenTelemetry":               {otel(`{"intValue":"5"}`), ""},
		"OpenTelemetry: a double":     {otel(`{"doubleValue":0.5}`), "gen_ai.usage.input_tokens is 0.5: " + noCount},
		"OpenTelemetry: a list":       {otel(`{"arrayValue":{"values":[{"intValue":"5"}]}}`), "gen_ai.usage.input_tokens is a list: " + noCount},
		"Langfuse":                    {langfuse(`"usageDetails":{"input":5,"output":7,"total":12,"input_cached_tokens":3}`), ""},
		"Langfuse: counts as strings": {langfuse(`"usageDetails":{"input":"5","output":"7"}`), ""},
		"Langfuse: another unit":      {langfuse(`"usage":{"unit":"IMAGES","input":1,"inputCost":0.25}`), ""},
		"Langfuse: a string":          {langfuse(`"usageDetails":"91"`), "usageDetails is a string: want an object with counts"},
		"Langfuse: a list":            {langfuse(`"usageDetails":{"input":[5],"output":7}`), "usageDetails.input is a list: want a whole number"},
		"Langfuse: a negative number": {langfuse(`"usage":{"input":-5,"output":7}`), "usage.input is -5: want a whole number"},
		"Codex":                       {codex(`{"input_tokens":5,"cached_input_tokens":3,"output_tokens":7}`), ""},
		"Codex: a string":             {codex(`"91 in"`), "file:4: payload.info.total_token_usage is a string"},
		"Codex: an object":            {codex(`{"input_tokens":{"value":5},"output_tokens":7}`), "payload.info.total_token_usage.input_tokens is an object"},
		"ATIF":                        {atif(`{"prompt_tokens":5,"completion_tokens":7,"cost_usd":0.5,"completion_token_ids":[1],"logprobs":[-0.5]}`, `{"total_prompt_tokens":5,"total_steps":2}`), ""},
		"ATIF: no metrics":            {atif(`null`, `null`), ""},
		"ATIF: a string":              {atif(`"91 tokens"`, `null`), "steps[1]: metrics is a string: want an object with counts"},
		"ATIF: a list":                {atif(`{"prompt_tokens":[5]}`, `null`), "metrics.prompt_tokens is a list"},
		"ATIF: final":                 {atif(`null`, `{"total_prompt_tokens":{"value":5}}`), "final_metrics.total_prompt_tokens is an object"},
		"Claude Code":                 {claude(`{"input_tokens":5,"output_tokens":7,"server_tool_use":{"web_search_requests":0},"service_tier":null}`), ""},
		"Claude Code: a string":       {claude(`{"input_tokens":5,"output_tokens":"many"}`), "message.usage.output_tokens is a string"},
	} {
		isReported(t, name, c.file, c.want)
	}
}

// eachOther calls f for each value in v, except v, with values of other types in its place.
func eachOther(v any, path string, f func(path string, other any)) {
	at := func(path string, value any, set func(any)) {
		for _, other := range othersOf(value) {
			set(other)
			f(path, other)
		}
		set(value)
		eachOther(value, path, f)
	}
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			at(path+"."+name, v[name], func(x any) { v[name] = x })
		}
	case []any:
		for i := range v {
			at(fmt.Sprintf("%s[%d]", path, i), v[i], func(x any) { v[i] = x })
		}
	}
}

func othersOf(value any) []any {
	others := []any{[]any{value}, map[string]any{"value": value}, map[string]any{"value": map[string]any{"value": value}}}
	switch value.(type) {
	case bool:
		return append(others, fmt.Sprint(value), 987)
	case nil:
		return nil // the API has either a value or null
	case string:
		return append(others, true, 987)
	case float64:
		return append(others, true, fmt.Sprint(value), -987, 0.5)
	}
	return append(others, true, 987, "987")
}

// decodedAs returns the responses that a file has, without their opaque data, and what is listed.
func decodedAs(t *testing.T, file string) (decoded string, listed []string) {
	t.Helper()
	s, err := importer.Open("file", strings.NewReader(file))
	if err != nil {
		return "", []string{err.Error()}
	}
	if listed = unknownIn(t, file); listed != nil {
		return "", listed
	}
	var b strings.Builder
	for run, err := range s.Runs() {
		if err != nil {
			return "", []string{err.Error()}
		}
		for _, m := range run.Messages {
			for _, p := range m.Parts {
				switch p := p.(type) {
				case llm.Text:
					fmt.Fprintf(&b, "text %s\n", p.Text)
				case llm.Reasoning:
					fmt.Fprintf(&b, "reasoning %s\n", p.Text)
				case llm.ToolCall:
					fmt.Fprintf(&b, "call %s %s %s\n", p.ID, p.Name, p.Arguments)
				default:
					fmt.Fprintf(&b, "%T\n", p)
				}
			}
		}
		fmt.Fprintf(&b, "usage %s\n", run.Meta["usage"])
	}
	return b.String(), nil
}

// Arguments of Chat Completions that are neither a text nor an object are listed, in lists and over HTTP.
func TestArgumentsOfOtherTypes(t *testing.T) {
	message := func(name, args string) string {
		if name == "function_call" {
			return `{"role":"assistant","content":null,"function_call":{"name":"f","arguments":` + args + `}}`
		}
		return `{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":` + args + `}}]}`
	}
	results := map[string]string{"function_call": `{"role":"function","name":"f","content":"r"}`, "tool_calls": `{"role":"tool","tool_call_id":"a","content":"r"}`}
	for name, result := range results {
		for args, isListed := range map[string]bool{`"{}"`: false, `{"a":1}`: false, `null`: false, `""`: false, `"7"`: false, `7`: true, `[1]`: true, `true`: true} {
			m := message(name, args)
			sent := `{"model":"m","messages":[{"role":"user","content":"q"},` + m + `,` + result + `]}`
			response := `{"choices":[{"message":` + m + `,"finish_reason":"tool_calls"}]}`
			delta := strings.Replace(m, `"tool_calls":[{`, `"tool_calls":[{"index":0,`, 1)
			stream := `data: {"id":"r","choices":[{"index":0,"delta":` + delta + `,"finish_reason":null}]}` + "\n\n" + `data: {"id":"r","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}` + "\n\ndata: [DONE]\n\n"
			done := `{"choices":[{"message":{"role":"assistant","content":"d"},"finish_reason":"stop"}]}`
			for form, file := range map[string]string{
				"list": `[{"role":"user","content":"q"},` + m + `,` + result + `]`, "request": sent, "response": response, "stream": stream,
				"request over HTTP": typed(chatURL, sent, done), "response over HTTP": typed(chatURL, chatSent, response), "stream over HTTP": typed(chatURL, chatSent, stream),
			} {
				want := ""
				if isListed {
					want = "arguments"
				}
				isReported(t, name+" "+args+" in a "+form, file, want)
			}
		}
	}
}

// The name of a message of Chat Completions that is not a string is listed, in lists and over HTTP.
func TestNamesOfOtherTypes(t *testing.T) {
	const call = `{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}`
	const done = `{"choices":[{"message":{"role":"assistant","content":"d"},"finish_reason":"stop"}]}`
	for name, isListed := range map[string]bool{`"f"`: false, `null`: false, `7`: true, `["f"]`: true, `{"v":"f"}`: true} {
		for member, messages := range map[string]string{
			"[2].name": `[{"role":"user","content":"q"},` + call + `,{"role":"tool","tool_call_id":"a","name":` + name + `,"content":"r"}]`,
			"[0].name": `[{"role":"user","name":` + name + `,"content":"q"},` + call + `,{"role":"tool","tool_call_id":"a","content":"r"}]`,
		} {
			for form, file := range map[string]string{"a list": messages, "a request over HTTP": typed(chatURL, `{"model":"m","messages":`+messages+`}`, done)} {
				want := ""
				if isListed {
					want = member
				}
				isReported(t, name+" as "+member+" in "+form, file, want)
			}
		}
	}
}

// Results under a name that the format does not use are listed.
func TestResultsUnderOtherNames(t *testing.T) {
	const before, answer = `{"role":"user","content":"q"},{"role":"assistant","content":"x","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]},`, `{"role":"assistant","content":"a"}`
	langfuse := func(input string) string {
		return `[{"id":"o","traceId":"t","type":"GENERATION","parentObservationId":null,"startTime":"2026-01-01T00:00:00Z","input":` + input + `,"output":` + answer + `}]`
	}
	langSmith := func(input string) string {
		return `[{"id":"r","trace_id":"t","run_type":"llm","start_time":"2026-01-01T00:00:00","inputs":` + input + `,"outputs":{"choices":[{"index":0,"message":` + answer + `,"finish_reason":"stop"}]}}]`
	}
	const result = `{"role":"tool","tool_call_id":"a","content":"r"}`
	for message, want := range map[string]string{
		result: "",
		`{"role":"tool","tool_call_id":"a","tool_output":"r"}`:                                                                       `it has data as "tool_output"`,
		`{"role":"tool","tool_call_id":"a","content":"","observation":"r"}`:                                                          `it has data as "observation"`,
		`{"role":"tool","tool_call_id":"a","payload":"r"}`:                                                                           `it has data as "payload"`,
		`{"role":"tool","tool_call_id":"a","content":null,"stdout":["r"],"stderr":{"text":"r"}}`:                                     `it has data as "stdout", "stderr"`,
		`{"role":"tool","tool_call_id":"a","content":"","error":"e","exit_status":"ok"}`:                                             "",
		`{"role":"tool","tool_call_id":"a","requestor":"user","author":"a"}`:                                                         "",
		`{"role":"tool","tool_call_id":"a","content":"x","result":"r"}`:                                                              `the result of the call "a" has text that is not read, as "result"`,
		`{"role":"tool","tool_call_id":"a","content":"x","output":"r"}`:                                                              `the message has text that is not read, as "output"`,
		`{"role":"tool","tool_call_id":"a","content":"","exit_code":1,"stderr":"","status":"ok","metadata":{"a":1},"timestamp":"t"}`: "",
		`{"role":"tool","tool_call_id":"a","content":"r","result":"r","payload":"p"}`:                                                "",
		`{"role":"user","content":"x","results":[{"tool_call_id":"a","content":"r"}]}`:                                               `the unknown member "results"`,
		`{"role":"user","content":"x","observations":[{"toolCallId":"a","content":"r"}]}`:                                            `the unknown member "observations"`,
		`{"role":"user","content":"x","returned":{"type":"x","tool_use_id":"a","content":"r"}}`:                                      `the unknown member "returned"`,
	} {
		list := `[` + before + message + `]`
		for form, file := range map[string]string{"Langfuse": langfuse(list), "LangSmith": langSmith(`{"messages":` + list + `}`), "a list": list} {
			isReported(t, message+" in "+form, file, want)
		}
	}
	for members, want := range map[string]string{
		`"results":[{"tool_call_id":"a","content":"r"}]`:  `the results in the member "results" are not read`,
		`"tool_outputs":[{"call_id":"a","output":"r"}]`:   `the results in the member "tool_outputs" are not read`,
		`"results":[],"temperature":1,"metadata":{"a":1}`: "",
	} {
		input := `{"messages":[` + strings.TrimSuffix(before, ",") + `],` + members + `}`
		isReported(t, members+" in Langfuse", langfuse(input), want)
		isReported(t, members+" in LangSmith", langSmith(input), want)
	}
	for content, want := range map[string]string{`"content":"",`: "", `"content":null,`: "", `"content":null,"payload":"r",`: `it has data as "payload"`} {
		file := `{"id":"s","task_id":"t","termination_reason":"user_stop","duration":1,"reward_info":{"reward":1},"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"","tool_calls":[{"id":"a","name":"f","arguments":{},"requestor":"assistant"}]},{"role":"tool","id":"a",` + content + `"requestor":"assistant","error":false,"turn_idx":1,"timestamp":"t"},` + answer + `]}`
		isReported(t, content+" in tau2-bench", file, want)
	}
	isReported(t, "results that are messages, too", langfuse(`{"messages":[`+before+result+`],"results":[`+result+`]}`), "")
}

// The input of a call of Bedrock Converse is an object, and in a stream its text.
func TestInputOfConverse(t *testing.T) {
	for input, isListed := range map[string]bool{`{"x":1}`: false, `"{\"x\":1}"`: false, `null`: false, `"x"`: true, `"{\"x\":"`: true, `"7"`: true, `7`: true, `[1]`: true, `true`: true} {
		call := `{"role":"assistant","content":[{"toolUse":{"toolUseId":"a","name":"f","input":` + input + `}}]}`
		messages := `[{"role":"user","content":[{"text":"q"}]},` + call + `,{"role":"user","content":[{"toolResult":{"toolUseId":"a","content":[{"text":"r"}]}}]}]`
		response := `{"output":{"message":` + call + `},"stopReason":"tool_use","usage":{"inputTokens":1,"outputTokens":1}}`
		want := ""
		if isListed && input[0] == '"' {
			want = `the arguments of the call of "f" are not an object`
		} else if isListed {
			want = `the call of "f" has data that is not read, as "input"`
		}
		for form, file := range map[string]string{
			"list": messages, "request": `{"modelId":"m","messages":` + messages + `}`, "response": response,
			"request over HTTP": typed(converse, `{"messages":`+messages+`}`, converseDone), "response over HTTP": typed(converse, `{"messages":[{"role":"user","content":[{"text":"q"}]}]}`, response),
		} {
			isReported(t, input+" in a "+form, file, want)
		}
	}
}

// A member of a call of another type is named with its place and the type that it should have.
func TestMembersOfCallsOfOtherTypes(t *testing.T) {
	const done = `{"choices":[{"message":{"role":"assistant","content":"d"},"finish_reason":"stop"}]}`
	for _, c := range []struct{ member, inList, inRequest, inResponse string }{
		{`"function_call":[{"name":"f","arguments":"{}"}]`, "[1].function_call: expected an object", "messages[1].function_call: expected an object", "choices[0].message.function_call is a list: want an object"},
		{`"function_call":{"name":7,"arguments":"{}"}`, "[1].function_call.name: expected a string", "messages[1].function_call.name: expected a string", "choices[0].message.function_call.name is 7: want a string"},
		{`"tool_calls":[{"id":7,"type":"function","function":{"name":"f","arguments":"{}"}}]`, "[1].tool_calls[0].id: expected a string", "expected a string at messages[1].tool_calls[0].id", "choices[0].message.tool_calls[0].id"},
		{`"tool_calls":[{"id":"a","type":"function","function":{"name":["f"],"arguments":"{}"}}]`, "[1].tool_calls[0].function.name: expected a string", "expected a string at messages[1].tool_calls[0].function.name", "choices[0].message.tool_calls[0].function.name"},
		{`"tool_calls":[{"id":"a","type":["function"],"function":{"name":"f","arguments":"{}"}}]`, `the type of the call of "f" is not a string`, "expected a string at messages[1].tool_calls[0].type", "choices[0].message.tool_calls[0].type is a list: want a string"},
		{`"tool_calls":{"id":"a"}`, "[1].tool_calls: expected an array", "expected an array at messages[1].tool_calls", "choices[0].message.tool_calls is an object: want a list"},
	} {
		list := `[{"role":"user","content":"q"},{"role":"assistant","content":"x",` + c.member + `}]`
		response := `{"choices":[{"message":{"role":"assistant","content":"x",` + c.member + `},"finish_reason":"stop"}]}`
		for file, want := range map[string]string{
			list:     c.inList,
			response: c.inResponse,
			typed(chatURL, `{"model":"m","messages":`+list+`}`, done): c.inRequest,
			typed(chatURL, chatSent, response):                        c.inResponse,
		} {
			if got := unknownIn(t, file); len(got) == 0 || !strings.Contains(got[0], want) {
				t.Errorf("%s: listed %q, want %q first", file, got, want)
			}
		}
	}
}
