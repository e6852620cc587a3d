package responses_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/openai/responses"
)

// Streams of servers that leave events or members out.
func TestResponsesUnusualStreams(t *testing.T) {
	message := `{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"output_text","text":"Hello","annotations":[7]}]}`
	hello := llm.Text{Text: "Hello", Opaque: raw(`{"id":"msg_1","annotations":[7]}`)}
	thoughtAdded := `{"type":"response.output_item.added","output_index":0,"item":{"id":"rs_1","type":"reasoning","encrypted_content":"gA"}}`
	rs := raw(`{"id":"rs_1","encrypted_content":"gA"}`)
	search := `{"id":"ws_1","type":"web_search_call","status":"in_progress"}`
	searched := llm.ToolCall{ID: "ws_1", Name: "web_search", ProviderExecuted: true, Opaque: raw(search)}
	for _, c := range []responsesQuirk{
		{id: "a message in the last event alone", wire: stream(created, completedWith(message)), want: []llm.Part{hello}},
		{id: "a message that only the last event ends", wire: stream(created, messageAdded, textDelta(0, "Hello"), completedWith(message)), want: []llm.Part{hello}},
		{id: "a message without deltas", wire: stream(created, messageAdded, `{"type":"response.output_item.done","output_index":0,"item":`+message+`}`, completedWith(message)), want: []llm.Part{hello}},
		{id: "a message that nothing ends", wire: stream(created, messageAdded, textDelta(0, "Hello"), completed), want: helloParts},
		{id: "a message that says nothing", wire: stream(created, messageAdded, completed)},
		{id: "text in text.done alone", wire: stream(created, messageAdded, `{"type":"response.output_text.done","output_index":0,"content_index":0,"text":"Hello"}`, completed), want: helloParts},
		{id: "text in text.done and empty deltas", wire: stream(created, messageAdded, `{"type":"response.output_text.done","output_index":0,"content_index":0,"text":"Hello","refusal":"","arguments":"","input":""}`, completed), want: helloParts},
		{id: "a message with what is empty", wire: stream(created, completedWith(`{"type":"message","content":[{"type":"output_text","text":"Hello","refusal":""}]}`)), want: []llm.Part{llm.Text{Text: "Hello"}}},
		{id: "a call with what is empty", wire: stream(created, completedWith(`{"type":"function_call","call_id":"call_1","name":"f","arguments":"{}","input":""}`)), want: []llm.Part{call("call_1", "{}", "")}, finish: llm.FinishToolCalls},
		{id: "a summary in sections with two numbers", wire: stream(created, `{"type":"response.reasoning_summary_text.delta","delta":"a","summary_index":0,"content_index":0}`, `{"type":"response.reasoning_summary_text.delta","delta":"b","summary_index":1,"content_index":0}`, completed), want: []llm.Part{llm.Reasoning{Text: "a\n\nb", Opaque: raw(`{"summary":[{"type":"summary_text","text":"a"},{"type":"summary_text","text":"b"}]}`)}}},
		{id: "refusal in refusal.done alone", wire: stream(created, `{"type":"response.refusal.done","refusal":"No"}`, completed), want: []llm.Part{llm.Text{Text: "No", Refusal: true}}},
		{id: "a content part without its item", wire: stream(created, `{"type":"response.content_part.done","part":{"type":"output_text","annotations":[1]}}`, `{"type":"response.content_part.done","part":null}`, textDelta(0, "a"), completed), want: []llm.Part{llm.Text{Text: "a"}}},
		{id: "a content that is one text", wire: stream(created, messageAdded, textDelta(0, "Hello"), completedWith(`{"type":"message","content":"Hello"}`)), want: []llm.Part{llm.Text{Text: "Hello"}}},
		{id: "no output_item.added, no index", wire: stream(created, `{"type":"response.output_text.delta","delta":"Hel"}`, `{"type":"response.output_text.delta","delta":"lo"}`, completed), want: []llm.Part{llm.Text{Text: "Hello"}}},
		{id: "reasoning that nothing ends", wire: stream(created, thoughtAdded, completed), want: []llm.Part{llm.Reasoning{Opaque: rs}}},
		{id: "reasoning that ends with the next item", wire: stream(created, thoughtAdded, strings.ReplaceAll(messageAdded, `"output_index":0`, `"output_index":1`), textDelta(1, "Hello"), `{"type":"response.output_item.done","output_index":0,"item":`+rs1+`}`, completed), want: []llm.Part{llm.Reasoning{Opaque: rs}, helloParts[0]}},
		{id: "reasoning without an item", wire: stream(created, `{"type":"response.reasoning_text.delta","delta":"Hm"}`, `{"type":"response.reasoning_text.delta","delta":"m."}`, textDelta(1, "Hello"), completed), want: []llm.Part{llm.Reasoning{Text: "Hmm."}, llm.Text{Text: "Hello"}}},
		{id: "reasoning that says nothing", wire: stream(created, `{"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning"}}`, completed)},
		{id: "reasoning that only the last event ends", wire: stream(created, `{"type":"response.reasoning_text.delta","delta":"Hm"}`, completedWith(rs1)), want: []llm.Part{llm.Reasoning{Text: "Hm", Opaque: raw(`{"id":"rs_1","encrypted_content":"gAAAA1","summary":[]}`)}}},
		{id: "an item of the provider that nothing ends", wire: stream(created, `{"type":"response.output_item.added","output_index":0,"item":`+search+`}`, completed), want: []llm.Part{searched}},
		{id: "an item of the provider that only the last event ends", wire: stream(created, `{"type":"response.output_item.added","output_index":0,"item":`+search+`}`, completedWith(`{"id":"ws_1","type":"web_search_call","action":{"q":1}}`)), want: []llm.Part{llm.ToolCall{ID: "ws_1", Name: "web_search", Arguments: `{"q":1}`, ProviderExecuted: true, Opaque: raw(`{"id":"ws_1","type":"web_search_call","action":{"q":1}}`)}}},
		{id: "two items of the provider", wire: stream(created, `{"type":"response.output_item.done","output_index":0,"item":`+search+`}`, `{"type":"response.output_item.done","output_index":1,"item":`+search+`}`, completedWith(search+`,`+search)), want: []llm.Part{searched, searched}},
		{id: "a call without a word of what it is", wire: stream(created, delta(0, `{"a":`), delta(0, `1}`), completed), want: []llm.Part{llm.ToolCall{Arguments: whole}}, finish: llm.FinishToolCalls, warnings: llm.WarnNoCallEnd},
		{id: "a call that only the last event names", wire: stream(created, delta(0, whole), completedWith(item1(whole))), want: []llm.Part{call("call_1", whole, fcOpaque)}, finish: llm.FinishToolCalls, warnings: llm.WarnNoCallEnd},
		{id: "a call that output_item.done names", wire: stream(created, delta(0, `{"a"`), delta(0, `:1}`), itemDone(0, fc1, whole), completed), want: []llm.Part{call("call_1", whole, fcOpaque)}, finish: llm.FinishToolCalls},
		{id: "a call whose name comes last", wire: stream(created, added(0, `"id":"fc_1","call_id":"call_1"`), delta(0, whole), itemDone(0, fc1, whole), completed), want: []llm.Part{call("call_1", whole, fcOpaque)}, finish: llm.FinishToolCalls},
		{id: "arguments that come with the item", wire: stream(created, strings.Replace(added(0, fc1), `"arguments":""`, `"arguments":"{\"a\":1}"`, 1), itemDone(0, fc1, whole), completed), want: []llm.Part{call("call_1", whole, fcOpaque)}, finish: llm.FinishToolCalls},
		{id: "ids that come twice", wire: stream(created, added(0, fc1), added(1, fc1), delta(0, `{"a":1`), delta(1, `{"b":2`), itemDone(1, fc1, `{"b":2}`), itemDone(0, fc1, whole), completedWith(item1(whole)+","+item1(`{"b":2}`))), want: []llm.Part{call("call_1", whole, fcOpaque), call("call_1", `{"b":2}`, fcOpaque)}, finish: llm.FinishToolCalls},
		{id: "an end at another index", wire: stream(created, added(0, fc1), added(1, fc2), itemDone(0, fc2, `{"b":2}`), itemDone(0, fc1, whole), completed), want: []llm.Part{call("call_1", whole, fcOpaque), call("call_2", `{"b":2}`, `{"id":"fc_2"}`)}, finish: llm.FinishToolCalls},
		{id: "a custom call", wire: stream(created, `{"type":"response.output_item.added","output_index":0,"item":{"type":"custom_tool_call","id":"ctc_1","call_id":"call_1","name":"f","input":""}}`, `{"type":"response.custom_tool_call_input.delta","output_index":0,"delta":"SELECT"}`, `{"type":"response.custom_tool_call_input.done","output_index":0,"input":"SELECT 1"}`, completed), want: []llm.Part{call("call_1", "SELECT 1", `{"type":"custom_tool_call","id":"ctc_1"}`)}, finish: llm.FinishToolCalls, warnings: llm.WarnNoCallEnd},
		{id: "a custom call without a word of what it is", wire: stream(created, `{"type":"response.custom_tool_call_input.delta","output_index":0,"delta":"x"}`, completed), want: []llm.Part{llm.ToolCall{Arguments: "x", Opaque: raw(`{"type":"custom_tool_call"}`)}}, finish: llm.FinishToolCalls, warnings: llm.WarnNoCallEnd},
		{id: "events that say nothing", wire: stream(created, `{"type":"response.output_item.added"}`, `{"type":"response.output_item.done","item":1}`, `{"type":"error.not","error":null}`, `{"error":null}`, `{"type":"response.in_progress","response":null}`, `{"type":"response.function_call_arguments.delta","delta":null,"output_index":"x","x":[1]}`, strings.Replace(completed, `"output":[]`, `"output":null`, 1)), want: []llm.Part{llm.ToolCall{}}, finish: llm.FinishToolCalls, warnings: llm.WarnNoCallEnd},
		{id: "another reason", wire: stream(created, `{"type":"response.incomplete","response":{"status":"completed","incomplete_details":{"reason":"content_filter"},"usage":{"input_tokens":1}}}`), finish: llm.FinishContentFilter, raw: "-", usage: llm.Usage{InputTokens: 1}},
		{id: "an old name of the limit", wire: stream(created, `{"type":"response.incomplete","response":{"incomplete_details":{"reason":"max_tokens"},"usage":{"input_tokens":1}}}`), finish: llm.FinishLength, raw: "max_tokens", usage: llm.Usage{InputTokens: 1}},
		{id: "no reason", wire: stream(created, `{"type":"response.incomplete","response":{"usage":{"input_tokens":1}}}`), finish: llm.FinishUnknown, raw: "incomplete", usage: llm.Usage{InputTokens: 1}},
		{id: "given up", wire: stream(created, `{"type":"response.cancelled","response":{"usage":{"input_tokens":1}}}`), finish: llm.FinishUnknown, raw: "cancelled", usage: llm.Usage{InputTokens: 1}},
		{id: "a status of its own", wire: stream(created, `{"type":"response.completed","response":{"status":"queued","usage":{"input_tokens":1}}}`), finish: llm.FinishUnknown, raw: "queued", usage: llm.Usage{InputTokens: 1}},
	} {
		t.Run(c.id, func(t *testing.T) {
			turn, err := readStream(strings.NewReader(c.wire))
			if c.raw == "-" {
				c.raw, turn.RawFinishReason = "none", turn.RawFinishReason+"none"
			}
			c.hold(t, turn, err)
		})
	}
}

// A stream with only its end: the names come from its events.
func TestResponsesBareStream(t *testing.T) {
	turn, err := readStream(strings.NewReader("event: response.completed\ndata: {}\n\n"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&llm.Response{FinishReason: llm.FinishStop, RawFinishReason: "completed"}, turn); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	turn, err = readStream(strings.NewReader(stream(added(0, fc1), delta(0, cut), "[DONE]")))
	if err != nil || codes(turn.Warnings) != llm.WarnNoCallEnd+" "+llm.WarnNoFinish || len(turn.Calls()) != 1 {
		t.Errorf("got %+v, %v", turn, err)
	}
}

func TestResponsesBrokenStreams(t *testing.T) {
	for wire, want := range map[string]string{
		stream(`{"type":"response.created"`): "openai-responses: an event: the text ends too early",
		stream(`[1]`):                        "openai-responses: an event: expected an object (byte 1); it begins with \"[1]\"",
		stream(`{"type":"response.created","response":{"output":1}}`):                                                                                  "openai-responses: response.created: expected an array at response.output",
		stream(`{"type":"response.completed","response":{"output":[1]}}`):                                                                              "openai-responses: response.completed: expected an object at response.output[0]",
		stream(`{"type":"response.completed","response":{"output":[{"type":"reasoning","summary":1}]}}`):                                               "openai-responses: response.completed: expected an array at response.output[0].summary",
		stream(`{"type":"response.completed","response":{"output":[{"type":"message","content":[1]}]}}`):                                               "openai-responses: response.completed: expected an object at response.output[0].content[0]",
		stream(`{"type":"response.output_item.done","item":{"type":"reasoning","content":[1]}}`):                                                       "expected an object at item.content[0]",
		stream(messageAdded, textDelta(0, "x"), `{"type":"response.output_item.done","output_index":0,"item":{"type":"message","content":7}}`):         "expected an array at item.content",
		stream(`{"type":"response.reasoning_text.delta","delta":"x"}`, `{"type":"response.output_item.done","item":{"type":"reasoning","summary":1}}`): "expected an array at item.summary",
		stream(messageAdded, textDelta(0, "x"), `{"type":"response.completed","response":{"output":[{"type":"message","content":7}]}}`):                "expected an array at response.output[0].content",
		stream(`{"type":"response.failed"}`):   "the response failed without a message",
		stream(`{"type":"error"}`):             "no response",
		stream(`{"message":"Out of memory."}`): "Out of memory.",
	} {
		turn, err := readStream(strings.NewReader(wire))
		if err == nil || !strings.Contains(err.Error(), want) || turn == nil {
			t.Errorf("%s: got %v, want %s", wire, err, want)
		}
	}
	// What came last is an event that is not read to its end: the item was broken from the beginning.
	turn, err := readStream(strings.NewReader(stream(`{"type":"response.output_item.added","item":{"type":"reasoning","summary":1}}`, completed)))
	if err != nil || len(turn.Parts) != 0 {
		t.Errorf("got %+v, %v", turn, err)
	}
}

func TestResponsesBrokenResponses(t *testing.T) {
	for body, want := range map[string]string{
		``:               "the response is empty",
		`{"output":[1]}`: "openai-responses: the response: expected an object at output[0]",
		`{"output":1}`:   "openai-responses: the response: expected an array at output",
		`{"output":[{},{"type":"reasoning","summary":1}]}`: "openai-responses: the response: output[1]: expected an array at output[1].summary",
		`{"output":[],"status":"comp`:                      "the response does not have the format of the protocol",
		`{"output":[],"status":"failed"}`:                  "the response failed without a message",
		`{"status":"failed","error":{"code":"c"}}`:         "no response c",
		`{"error":{"message":"m","status":503}}`:           "status 503 503: m",
		`{"object":"error","message":"m","code":400}`:      "status 400 400: m",
		`{"detail":""}`:         "the response does not have the format of the protocol",
		"{\"status\":\"\xff\"}": "the response does not have the format of the protocol",
	} {
		if _, err := readAnswer(body); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", body, err, want)
		}
	}
	turn, err := readAnswer(`{"output":null}`)
	if err != nil || turn.FinishReason != llm.FinishUnknown || turn.RawFinishReason != "" {
		t.Errorf("got %+v, %v", turn, err)
	}
	turn, err = readAnswer(`{"status":"completed","output":[{"type":"message","content":[{"type":"output_audio","x":1},{"type":"output_text","text":"a"}]}]}`)
	if diff := cmp.Diff([]llm.Part{unknown("output_audio", `{"type":"output_audio","x":1}`), llm.Text{Text: "a"}}, turn.Parts); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// Adjacent complete parts stay separate, as in a response.
func TestResponsesCompleteParts(t *testing.T) {
	parts := []llm.Part{llm.Text{Text: "a"}, llm.Text{Text: "b"}, llm.Reasoning{Text: "c"}, llm.Reasoning{Text: "d"}, llm.ToolCall{ID: "ig_1", Name: "image_generation", ProviderExecuted: true}}
	var events []llm.Event
	for _, p := range parts {
		events = append(events, llm.PartDone{Part: p})
	}
	want := &llm.Response{Parts: parts}
	for i, wire := range []string{writeStream(t, answer, append(events, llm.PartDone{Part: llm.ToolResult{ID: "x", Opaque: raw(`{"type":"mcp_list_tools"}`)}}, llm.Finish{Reason: llm.FinishStop})...), encodeAnswer(t, &llm.Response{FinishReason: llm.FinishStop, Parts: append(parts, llm.ToolResult{ID: "x", Opaque: raw(`{"type":"mcp_list_tools"}`)})})} {
		got, err := readStream(strings.NewReader(wire))
		if i == 1 {
			got, err = readAnswer(wire)
		}
		if err != nil {
			t.Fatal(err)
		}
		last := len(got.Parts) - 1
		if diff := cmp.Diff(unknown("mcp_list_tools", `{"type":"mcp_list_tools"}`), got.Parts[last]); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		got.Parts = got.Parts[:last]
		if diff := cmp.Diff(bare(want), bare(got)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// An error goes the whole way: into a stream and back.
func TestResponsesErrorsBothWays(t *testing.T) {
	e := &llm.APIError{Status: 429, Code: "rate_limit_exceeded", Message: "Slow down."}
	body := responses.Protocol{}.EncodeError(e)
	got := responses.Protocol{}.DecodeError(429, nil, body)
	e.Retryable = true
	if diff := cmp.Diff(e, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	_, err := readStream(strings.NewReader(stream(`{"type":"error",` + string(body[1:]))))
	e.Status = 0
	if diff := cmp.Diff(error(e), err); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// An item without a type is not another one, and a call that no event announced is the one in
// the last event.
func TestResponsesItemsFoundAgain(t *testing.T) {
	for added, c := range map[string]struct{ output, want string }{
		`{}`:                       {`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]}`, "a []"},
		`{"type":"function_call"}`: {`{"type":"function_call","call_id":"c1","name":"f","arguments":"{}"}`, " [c1 f {}]"},
	} {
		turn, err := readStream(strings.NewReader(stream(
			`{"type":"response.output_item.added","output_index":0,"item":`+added+`}`,
			`{"type":"response.completed","response":{"status":"completed","output":[`+c.output+`]}}`,
		)))
		if err != nil {
			t.Fatal(err)
		}
		got := turn.Text() + " ["
		for _, call := range turn.Calls() {
			got += call.ID + " " + call.Name + " " + call.Arguments
		}
		if got += "]"; got != c.want {
			t.Errorf("%s: got %q, want %q", added, got, c.want)
		}
	}
}
