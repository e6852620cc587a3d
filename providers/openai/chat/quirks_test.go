package chat_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/internal/sse"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/openai/chat"
	"github.com/looptape/looptape/providers/protocol"
)

// chatTurn reads a stream as the client does.
func chatTurn(from io.Reader) (*llm.Response, error) {
	var acc llm.Accumulator
	emit := func(ev llm.Event) { acc.Add(ev) }
	events := sse.NewReader(from, 8<<20)
	dec := chat.Protocol{}.NewDecoder()
	for {
		ev, err := events.Next()
		if errors.Is(err, io.EOF) {
			return chatEnded(&acc, dec.End(emit))
		}
		if err != nil {
			return acc.Response(), err
		}
		done, err := dec.Event(ev.Name, ev.Data, emit)
		if err != nil {
			return acc.Response(), err
		}
		if done {
			return chatEnded(&acc, dec.End(emit))
		}
	}
}

func chatEnded(acc *llm.Accumulator, err error) (*llm.Response, error) { return acc.Response(), err }

// chatAnswer reads a non-streaming response.
func chatAnswer(body string) (*llm.Response, error) {
	var acc llm.Accumulator
	err := chat.Protocol{}.DecodeResponse([]byte(body), func(ev llm.Event) { acc.Add(ev) })
	return acc.Response(), err
}

// chatWant is what a row must come to. The error is its text.
type chatWant struct {
	parts    []llm.Part
	finish   llm.FinishReason
	raw      string
	usage    llm.Usage
	warnings string // the codes
	err      string
}

func (want chatWant) hold(t *testing.T, name string, turn *llm.Response, err error) {
	t.Helper()
	got := chatWant{parts: turn.Parts, finish: turn.FinishReason, raw: turn.RawFinishReason, usage: turn.Usage}
	for _, w := range turn.Warnings {
		got.warnings = strings.TrimSpace(got.warnings + " " + w.Code)
	}
	if err != nil {
		got.err = err.Error()
		want.finish, want.warnings = got.finish, got.warnings // not compared after an error
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(chatWant{})); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// chatStream makes events of data and the mark.
func chatStream(data ...string) string { return chatCut(append(data, "[DONE]")...) }

// chatCut is a stream without the mark.
func chatCut(data ...string) string {
	var out []byte
	for _, d := range data {
		out = sse.Append(out, "", []byte(d))
	}
	return string(out)
}

// chatDelta is a chunk with a delta's members; a second one is the finish reason.
func chatDelta(members string, finish ...string) string {
	reason := "null"
	if len(finish) > 0 {
		reason = `"` + finish[0] + `"`
	}
	return `{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{` + members + `},"logprobs":null,"finish_reason":` + reason + `}]}`
}

func chatCalls(calls string, finish ...string) string {
	return chatDelta(`"tool_calls":[`+calls+`]`, finish...)
}

// chatWhole is a non-streaming response.
func chatWhole(message, finish string) string {
	return `{"id":"c1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant",` + message + `},"finish_reason":` + finish + `}]}`
}

func chatCallOf(id, name, args string) llm.ToolCall {
	return llm.ToolCall{ID: id, Name: name, Arguments: args}
}

func chatParts(p ...llm.Part) []llm.Part { return p }

func chatText(text string) llm.Part { return llm.Text{Text: text} }

func chatOpaque(text string) json.RawMessage { return json.RawMessage(text) }

const (
	chatCall1 = `{"index":0,"id":"call_1","type":"function","function":{"name":"f","arguments":"{}"}}`
	chatCall2 = `{"index":1,"id":"call_2","type":"function","function":{"name":"g","arguments":"{\"a\":1}"}}`
)

var chatBoth = chatParts(chatCallOf("call_1", "f", "{}"), chatCallOf("call_2", "g", `{"a":1}`))

// chatQuirks are the rows of quirks that the protocol of Chat Completions shows. A row may have
// several streams; bodies are non-streaming forms. The codec does not change what only the loop
// can repair.
var chatQuirks = []struct {
	id     string
	wires  []string
	bodies []string
	want   chatWant
}{
	{
		id:     "QO-01",
		wires:  []string{chatStream(chatCalls(chatCall1), chatCalls(chatCall2), chatDelta("", "stop"))},
		bodies: []string{chatWhole(`"content":null,"tool_calls":[`+chatCall1+","+chatCall2+"]", `"stop"`)},
		want:   chatWant{parts: chatBoth, finish: llm.FinishStop},
	},
	{
		id:     "QO-02",
		wires:  []string{chatStream(chatDelta(`"content":"Hi"`), chatDelta(`"tool_calls":[]`, "tool_calls")), chatStream(chatDelta(`"content":"Hi"`), chatDelta("", "tool_calls"))},
		bodies: []string{chatWhole(`"content":"Hi"`, `"tool_calls"`), chatWhole(`"content":"Hi","tool_calls":[]`, `"tool_calls"`), chatWhole(`"content":"Hi","tool_calls":null`, `"tool_calls"`)},
		want:   chatWant{parts: chatParts(chatText("Hi")), finish: llm.FinishToolCalls, warnings: llm.WarnNoCalls},
	},
	{
		id: "QO-03",
		wires: []string{chatStream(chatCalls(chatCall1), chatCalls(`{"index":1,"id":"call_2","type":"function","function":{"name":"g","arguments":"{\"path\""}}`),
			chatCalls(`{"index":1,"function":{"arguments":":\"a"}}`), chatDelta("", "length"))},
		bodies: []string{chatWhole(`"content":null,"tool_calls":[`+chatCall1+`,{"id":"call_2","type":"function","function":{"name":"g","arguments":"{\"path\":\"a"}}]`, `"length"`)},
		want:   chatWant{parts: chatParts(chatCallOf("call_1", "f", "{}"), chatCallOf("call_2", "g", `{"path":"a`)), finish: llm.FinishLength},
	},
	{
		id: "QO-04",
		wires: []string{
			chatStream(chatCalls(`{"id":"call_1","function":{"name":"f","arguments":"{"}}`), chatCalls(`{"id":"call_2","function":{"name":"g","arguments":"{\"a\""}}`),
				chatCalls(`{"function":{"arguments":":1}"}}`), chatCalls(`{"id":"call_1","function":{"arguments":"}"}}`), chatDelta("", "tool_calls")),
			// Neither index nor id: whole calls, one after another.
			strings.ReplaceAll(chatStream(chatCalls(chatCall1), chatCalls(`{"index":null,"id":"call_2","function":{"name":"g","arguments":"{\"a\":1}"}}`), chatDelta("", "tool_calls")), `"index":0,"id":"call_1"`, `"id":"call_1"`),
		},
		want: chatWant{parts: chatBoth, finish: llm.FinishToolCalls},
	},
	{
		id: "QO-05",
		wires: []string{
			chatStream(chatCalls(chatCall1), chatCalls(`{"index":0,"id":"call_2","function":{"name":"g","arguments":"{\"a\":"}}`), chatCalls(`{"index":0,"function":{"arguments":"1}"}}`), chatDelta("", "tool_calls")),
			chatStream(chatCalls(`{"index":0,"id":"call_1","function":{"name":"f","arguments":"{"}}`), chatCalls(`{"index":0,"id":"call_2","function":{"name":"g","arguments":"{\"a\":1}"}}`),
				chatCalls(`{"index":0,"id":"call_1","function":{"arguments":"}"}}`), chatDelta("", "tool_calls")),
		},
		want: chatWant{parts: chatBoth, finish: llm.FinishToolCalls},
	},
	{
		id: "QO-06",
		wires: []string{
			chatStream(chatCalls(chatCall1), chatCalls(strings.Replace(chatCall2, `"index":1`, `"index":2`, 1)), chatDelta("", "tool_calls")),
			chatStream(chatCalls(`{"index":0}`), chatCalls(strings.Replace(chatCall1, `"index":0`, `"index":1`, 1)), chatCalls(strings.Replace(chatCall2, `"index":1`, `"index":2`, 1)), chatDelta("", "tool_calls")),
		},
		want: chatWant{parts: chatBoth, finish: llm.FinishToolCalls},
	},
	{
		id: "QO-07",
		wires: []string{
			chatStream(chatCalls(`{"index":0,"id":"","function":{"name":"f","arguments":"{}"}}`), chatCalls(`{"index":1,"function":{"name":"g","arguments":""}}`),
				chatCalls(`{"index":1,"id":null,"function":{"arguments":"{\"a\":1}"}}`), chatDelta("", "tool_calls")),
			chatStream(chatCalls(`{"function":{"name":"f","arguments":"{}"}},{"function":{"name":"g","arguments":"{\"a\":1}"}}`), chatDelta("", "tool_calls")),
		},
		bodies: []string{chatWhole(`"tool_calls":[{"id":"","function":{"name":"f","arguments":"{}"}},{"function":{"name":"g","arguments":"{\"a\":1}"}}]`, `"tool_calls"`)},
		want:   chatWant{parts: chatParts(chatCallOf("", "f", "{}"), chatCallOf("", "g", `{"a":1}`)), finish: llm.FinishToolCalls},
	},
	{
		id:    "QO-08", // the run generates another id for the later one
		wires: []string{chatStream(chatCalls(strings.Replace(chatCall1, "call_1", "functions.f:0", 1)), chatDelta("", "tool_calls"))},
		want:  chatWant{parts: chatParts(chatCallOf("functions.f:0", "f", "{}")), finish: llm.FinishToolCalls},
	},
	{
		id:    "QO-09",
		wires: []string{chatStream(chatCalls(chatCall1), chatCalls(strings.Replace(chatCall2, "call_2", "call_1", 1)), chatDelta("", "tool_calls"))},
		bodies: []string{
			chatWhole(`"tool_calls":[`+chatCall1+`,`+strings.Replace(chatCall2, "call_2", "call_1", 1)+`]`, `"tool_calls"`),
			chatWhole(`"tool_calls":[{"id":"call_1","function":{"name":"f","arguments":"{}"}},{"id":"call_1","function":{"name":"g","arguments":"{\"a\":1}"}}]`, `"tool_calls"`),
		},
		want: chatWant{parts: chatParts(chatCallOf("call_1", "f", "{}"), chatCallOf("call_1", "g", `{"a":1}`)), finish: llm.FinishToolCalls},
	},
	{
		id: "QO-10",
		wires: []string{
			chatStream(chatCalls(`{"index":0,"id":"call_1","function":{"name":null,"arguments":"{"}}`), chatCalls(`{"index":0,"function":{"name":"f","arguments":"}"}}`), chatCalls(chatCall2), chatDelta("", "tool_calls")),
			chatStream(chatCalls(`{"index":0,"function":{"name":"","arguments":"{"}}`), chatCalls(`{"index":0,"function":{"arguments":"}"}}`), chatCalls(`{"index":0,"id":"call_1","function":{"name":"f"}}`), chatCalls(chatCall2), chatDelta("", "tool_calls")),
			chatStream(chatCalls(`{"index":0,"id":"call_1","function":{"arguments":"{}"}}`), chatCalls(chatCall2), chatCalls(`{"index":0,"function":{"name":"f","arguments":""}}`), chatDelta("", "tool_calls")),
		},
		want: chatWant{parts: chatBoth, finish: llm.FinishToolCalls},
	},
	{
		id:    "QO-11",
		wires: []string{chatStream(chatCalls(chatCall1+","+chatCall2, "tool_calls"))},
		want:  chatWant{parts: chatBoth, finish: llm.FinishToolCalls},
	},
	{
		id: "QO-12",
		wires: []string{chatStream(chatCalls(`{"index":0,"id":"call_1","function":{"name":"f","arguments":"{\"a"}}`), chatCalls(`{"index":0,"function":{"arguments":"{\"a\":1"}}`),
			chatCalls(`{"index":0,"function":{"arguments":"{\"a\":1}"}}`), chatDelta("", "tool_calls"))},
		want: chatWant{parts: chatParts(chatCallOf("call_1", "f", `{"a":1}`)), finish: llm.FinishToolCalls, warnings: llm.WarnRepeatedArguments},
	},
	{
		id: "QO-13",
		wires: []string{chatStream(chatCalls(`{"index":0,"id":"call_1","function":{"name":"f","arguments":"{\"a\""}}`), chatCalls(`{"index":0,"function":{"arguments":":1}"}}`),
			chatCalls(`{"index":0,"function":{"arguments":"{\"a\":1}"}}`), chatDelta("", "tool_calls"))},
		want: chatWant{parts: chatParts(chatCallOf("call_1", "f", `{"a":1}`)), finish: llm.FinishToolCalls, warnings: llm.WarnRepeatedArguments},
	},
	{
		id: "QO-14",
		wires: []string{chatStream(chatCalls(`{"index":0,"id":"call_1","function":{"name":"f","arguments":"{}"}}`), chatCalls(`{"index":0,"function":{"arguments":"{\"a\":1}"}}`),
			chatCalls(`{"index":1,"id":"call_2","function":{"name":"f","arguments":"{\"b\":2}"}}`), chatCalls(`{"index":1,"function":{"arguments":" \n"}}`),
			chatCalls(`{"index":2,"id":"call_3","function":{"name":"f","arguments":"1"}}`), chatCalls(`{"index":2,"function":{"arguments":"2"}}`), chatDelta("", "tool_calls"))},
		want: chatWant{
			parts:  chatParts(chatCallOf("call_1", "f", `{"a":1}`), chatCallOf("call_2", "f", "{\"b\":2} \n"), chatCallOf("call_3", "f", "12")),
			finish: llm.FinishToolCalls, warnings: llm.WarnRepeatedArguments,
		},
	},
	{
		id: "QO-15",
		wires: []string{
			chatStream(chatCalls(`{"index":0,"id":"call_1","function":{"name":"f","arguments":""}}`), chatDelta("", "tool_calls")),
			chatStream(chatCalls(`{"index":0,"id":"call_1","function":{"name":"f"}}`), chatDelta("", "tool_calls")),
			chatStream(chatCalls(`{"index":0,"id":"call_1","function":{"name":"f","arguments":null}}`), chatDelta("", "tool_calls")),
		},
		bodies: []string{chatWhole(`"tool_calls":[{"id":"call_1","type":"function","function":{"name":"f","arguments":""}}]`, `"tool_calls"`)},
		want:   chatWant{parts: chatParts(chatCallOf("call_1", "f", "")), finish: llm.FinishToolCalls},
	},
	{
		id:     "QO-16",
		wires:  []string{chatStream(chatCalls(`{"index":0,"id":"call_1","function":{"name":"f","arguments":{"q":"x"}}}`), chatDelta("", "tool_calls"))},
		bodies: []string{chatWhole(`"tool_calls":[{"id":"call_1","function":{"name":"f","arguments":{"q":"x"}}}]`, `"tool_calls"`)},
		want:   chatWant{parts: chatParts(chatCallOf("call_1", "f", `{"q":"x"}`)), finish: llm.FinishToolCalls},
	},
	{
		id: "QO-17",
		wires: []string{
			chatStream(chatCalls(chatCall1), chatCalls(`{"index":1,"id":"call_2","function":{"name":"g","arguments":"{\"a\":"}}`), chatCalls(`{"index":1,"function":{"arguments":"1}"}}`, "tool_calls")),
			// The reason comes before the delta, and the index after it.
			chatStream(`{"choices":[{"finish_reason":"tool_calls","delta":{"tool_calls":[` + chatCall1 + "," + chatCall2 + `]},"index":0}]}`),
		},
		want: chatWant{parts: chatBoth, finish: llm.FinishToolCalls},
	},
	{
		id: "QO-18",
		wires: []string{
			chatStream(chatDelta(`"content":"Hi"`), `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"x_groq":{"id":"r","usage":{"queue_time":0.1,"prompt_tokens":30,"completion_tokens":12,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":5}}}}`),
			chatStream(chatDelta(`"content":"Hi"`), `{"choices":[{"index":0,"delta":{},"finish_reason":"stop","usage":{"prompt_tokens":30,"completion_tokens":12,"total_tokens":42,"cached_tokens":4,"completion_tokens_details":{"reasoning_tokens":5}}}]}`),
			chatStream(chatDelta(`"content":"Hi"`), `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"x_groq":{"usage":{"prompt_tokens":7,"completion_tokens":7}}}`, `{"choices":[],"x_groq":null,"usage":{"prompt_tokens":30,"completion_tokens":12,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":5}}}`),
			chatStream(chatDelta(`"content":"Hi"`), chatDelta("", "stop"), `{"choices":[],"usage":{"prompt_tokens":30,"completion_tokens":12,"total_tokens":42,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":5}}}`),
			chatStream(`{"choices":[{"index":0,"delta":{"content":"Hi"}}],"usage":{"prompt_tokens":30,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":4}}}`,
				`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"completion_tokens":12,"completion_tokens_details":{"reasoning_tokens":5}}}`, `{"choices":[],"usage":null}`),
		},
		bodies: []string{`{"choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":30,"completion_tokens":12,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":5}}}`},
		want:   chatWant{parts: chatParts(chatText("Hi")), finish: llm.FinishStop, usage: llm.Usage{InputTokens: 30, OutputTokens: 12, CacheReadInputTokens: 4, ReasoningOutputTokens: 5}},
	},
	{
		id: "QO-19", // see TestChatAzure for the id
		wires: []string{chatStream(`{"id":"","model":"","object":"","choices":[],"prompt_filter_results":[{"prompt_index":0,"content_filter_results":{}}]}`,
			chatDelta(`"content":"Hi"`), `{"id":"","model":"","object":"","choices":[{"index":0,"finish_reason":null,"content_filter_results":{},"content_filter_offsets":{"check_offset":1}}]}`, chatDelta("", "stop"))},
		want: chatWant{parts: chatParts(chatText("Hi")), finish: llm.FinishStop},
	},
	{
		id: "QO-20",
		wires: []string{
			chatStream(chatDelta(`"content":"I will look."`), chatCalls(chatCall1), `{"id":"c1","error":{"code":502,"message":"Provider returned error"},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]}`),
			chatStream(chatDelta(`"content":"I will look."`), chatCalls(chatCall1), `{"choices":[],"error":{"code":"502","message":"Provider returned error"}}`),
			chatStream(chatDelta(`"content":"I will look."`), chatCalls(chatCall1), `{"object":"error","message":"Provider returned error","code":502}`),
		},
		want: chatWant{parts: chatParts(chatText("I will look."), chatCallOf("call_1", "f", "{}")), err: "status 502 502: Provider returned error"},
	},
	{
		id:    "QO-21",
		wires: []string{chatCut(chatDelta(`"content":"Hi"`), chatCalls(chatCall1))},
		want:  chatWant{parts: chatParts(chatText("Hi"), chatCallOf("call_1", "f", "{}")), err: protocol.ErrTruncated.Error()},
	},
	{
		id:    "QO-22",
		wires: []string{chatCut(chatCalls(chatCall1), chatCalls(chatCall2), chatDelta("", "tool_calls"))},
		want:  chatWant{parts: chatBoth, finish: llm.FinishToolCalls},
	},
	{
		id:     "QO-23", // the warning is a policy's
		wires:  []string{chatStream(chatDelta(`"content":"<tool_call>{\"name\""`), chatDelta(`"content":":\"f\"}</tool_call>"`), chatDelta("", "stop"))},
		bodies: []string{chatWhole(`"content":"<tool_call>{\"name\":\"f\"}</tool_call>"`, `"stop"`)},
		want:   chatWant{parts: chatParts(chatText(`<tool_call>{"name":"f"}</tool_call>`)), finish: llm.FinishStop},
	},
	{
		id: "QO-24",
		wires: []string{
			chatStream(chatDelta(`"role":"assistant","content":null,"refusal":null,"x_groq":{"id":"r"},"audio":null,"function_call":null`),
				`{"choices":[{"index":0,"delta":{"refusal":"I can't"},"logprobs":{"content":[]},"native_finish_reason":null}],"obfuscation":"aa","provider":"p","timings":{"n":1.5},"latency_checkpoint":{}}`, chatDelta(`"refusal":" do that."`), chatDelta("", "stop")),
		},
		bodies: []string{chatWhole(`"content":null,"refusal":"I can't do that.","annotations":[]`, `"stop"`)},
		want:   chatWant{parts: chatParts(llm.Text{Text: "I can't do that.", Refusal: true}), finish: llm.FinishStop},
	},
	{
		id:     "QO-25",
		wires:  []string{chatStream(chatCalls(chatCall1), chatCalls(`{"index":1,"id":"call_2","function":{"name":"g","arguments":"{\"x\":"}}`))},
		bodies: []string{chatWhole(`"tool_calls":[`+chatCall1+`,{"id":"call_2","function":{"name":"g","arguments":"{\"x\":"}}]`, "null")},
		want:   chatWant{parts: chatParts(chatCallOf("call_1", "f", "{}"), chatCallOf("call_2", "g", `{"x":`)), finish: llm.FinishUnknown, warnings: llm.WarnNoFinish},
	},
	{
		id: "QO-26",
		wires: []string{chatStream(chatCalls(chatCall1), chatCalls(chatCall2), chatDelta(`"content":""`, "tool_calls"),
			`{"id":"c1","choices":[{"index":0,"delta":{"content":"","role":"assistant"},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":30,"completion_tokens":12,"total_tokens":42}}`)},
		want: chatWant{parts: chatBoth, finish: llm.FinishToolCalls, usage: llm.Usage{InputTokens: 30, OutputTokens: 12}},
	},
	{
		id: "QO-27",
		wires: []string{
			chatStream(chatCalls(chatCall1), chatCalls(`{"index":1,"id":"call_2","function":{"name":"g","arguments":"{\"a\""}}`), chatCalls(`{"index":1,"id":"","function":{"name":"","arguments":":1}"}}`), chatDelta("", "tool_calls")),
			chatStream(chatCalls(chatCall1), chatCalls(`{"id":"call_2","function":{"name":"g","arguments":"{\"a\""}}`), chatCalls(`{"id":"","function":{"name":"","arguments":":1}"}}`), chatDelta("", "tool_calls")),
		},
		want: chatWant{parts: chatBoth, finish: llm.FinishToolCalls},
	},
	{
		id: "QO-28",
		wires: []string{
			chatStream(chatDelta(`"content":[{"type":"thinking","thinking":[{"type":"text","text":"First, "}]}]`),
				chatDelta(`"content":[{"type":"thinking","thinking":[{"type":"text","text":"the "},{"type":"text","text":"list."}],"closed":true},{"type":"text","text":"Here "},{"type":"reference","text":"no","reference_ids":[1]},7]`),
				chatDelta(`"content":"it is."`), chatDelta("", "stop")),
		},
		bodies: []string{chatWhole(`"content":[{"type":"thinking","thinking":[{"type":"text","text":"First, the list."}]},{"type":"text","text":"Here it is."}]`, `"stop"`)},
		want: chatWant{
			parts:  chatParts(llm.Reasoning{Text: "First, the list.", Opaque: chatOpaque(`{"field":"content"}`)}, chatText("Here it is.")),
			finish: llm.FinishStop,
		},
	},
	{
		id: "QO-29",
		wires: []string{
			chatStream(chatDelta(`"role":"assistant","content":null,"reasoning_content":""`), chatDelta(`"content":null,"reasoning_content":"I need "`), chatDelta(`"reasoning_content":"it.","content":""`), chatDelta(`"content":"One moment.","reasoning_content":null`), chatCalls(chatCall1), chatDelta("", "tool_calls")),
			// The same text in two fields.
			chatStream(chatDelta(`"reasoning_content":"I need it.","reasoning":"I need it."`), chatDelta(`"content":"One moment."`), chatCalls(chatCall1), chatDelta("", "tool_calls")),
		},
		bodies: []string{chatWhole(`"content":"One moment.","reasoning_content":"I need it.","tool_calls":[`+chatCall1+`]`, `"tool_calls"`)},
		want: chatWant{
			parts:  chatParts(llm.Reasoning{Text: "I need it.", Opaque: chatOpaque(`{"field":"reasoning_content"}`)}, chatText("One moment."), chatCallOf("call_1", "f", "{}")),
			finish: llm.FinishToolCalls,
		},
	},
	{
		id: "QO-30", // the loop's echo has a placeholder
		wires: []string{
			chatStream(chatCalls(`{"index":0,"id":"call_1","function":{"name":"","arguments":"{\"x\":1}"}}`), chatCalls(chatCall2), chatDelta("", "tool_calls")),
			chatStream(chatCalls(`{"index":0,"id":"call_1","function":{"arguments":"{\"x\""}}`), chatCalls(`{"index":0,"function":{"arguments":":1}"}}`), chatCalls(chatCall2), chatDelta("", "tool_calls")),
		},
		bodies: []string{chatWhole(`"tool_calls":[{"id":"call_1","function":{"name":"","arguments":"{\"x\":1}"}},`+chatCall2+`]`, `"tool_calls"`)},
		want:   chatWant{parts: chatParts(chatCallOf("call_1", "", `{"x":1}`), chatCallOf("call_2", "g", `{"a":1}`)), finish: llm.FinishToolCalls},
	},
	{
		id:    "QO-31", // what was asked does not change what came
		wires: []string{chatStream(chatCalls(chatCall1), chatCalls(chatCall2), chatDelta("", "tool_calls"))},
		want:  chatWant{parts: chatBoth, finish: llm.FinishToolCalls},
	},
	{
		id: "QT-01",
		wires: []string{
			strings.ReplaceAll(chatStream(chatDelta("\"content\":\"a\u2028b\u0085c\""), chatDelta("", "stop")), "\n", "\r\n"),
			strings.ReplaceAll(chatStream(chatDelta("\"content\":\"a\u2028b\u0085c\""), chatDelta("", "stop")), "\n", "\r"),
		},
		want: chatWant{parts: chatParts(chatText("a\u2028b\u0085c")), finish: llm.FinishStop},
	},
	{
		id: "QT-02",
		wires: []string{
			"\ufeff: OPENROUTER PROCESSING\n\nretry: 3\nid: 7\ndata:" + chatDelta(`"content":"Hi"`) + "\n\n: x\ndata: {\"choices\":[{\"index\":0,\ndata: \"delta\":{},\ndata: \"finish_reason\":\"stop\"}]}\n\n: OPENROUTER PROCESSING\n\ndata:[DONE]\n\n",
			"event: message\ndata: " + chatDelta(`"content":"Hi"`, "stop") + "\n\ndata:\n\ndata:  [DONE] \n\n",
		},
		want: chatWant{parts: chatParts(chatText("Hi")), finish: llm.FinishStop},
	},
	{
		id:    "QT-03",
		wires: []string{chatStream(chatDelta(`"content":"`+strings.Repeat("x", 100<<10)+`"`), chatDelta("", "stop"))},
		want:  chatWant{parts: chatParts(chatText(strings.Repeat("x", 100<<10))), finish: llm.FinishStop},
	},
	{
		id:    "QT-04", // TestChatAnyCut cuts all of these
		wires: []string{chatStream(chatCalls(`{"index":0,"id":"call_1","function":{"name":"f","arguments":"{\"s\":\"\\u00e9é\ud83d\ude00\\\\n\"}"}}`), chatDelta("", "tool_calls"))},
		want:  chatWant{parts: chatParts(chatCallOf("call_1", "f", `{"s":"\u00e9é😀\\n"}`)), finish: llm.FinishToolCalls},
	},
	{
		id: "QT-08", // as a stream; bodies are in TestChatNotAResponse
		wires: []string{
			chatStream(chatDelta(`"content":"Hi"`), `{"error":"Input is too long","error_type":"validation"}`),
		},
		want: chatWant{parts: chatParts(chatText("Hi")), err: "no response validation: Input is too long"},
	},
	{
		id: "QT-09",
		wires: []string{chatStream(chatCalls(`{"index":0,"id":"call_1","function":{"name":"f","arguments":"not JSON"}}`), chatCalls(`{"index":1,"id":"call_2","function":{"name":"f","arguments":[1]}}`),
			chatCalls(`{"index":2,"id":"call_3","function":{"name":"f","arguments":"{\"a\":\"\\ud83d\"} x"}}`), chatCalls(`{"index":3,"id":"call_4","function":{"name":"f","arguments":"{\"a\":\"\ud83d\"}"}}`), chatDelta("", "tool_calls"))},
		want: chatWant{
			parts:  chatParts(chatCallOf("call_1", "f", "not JSON"), chatCallOf("call_2", "f", "[1]"), chatCallOf("call_3", "f", `{"a":"\ud83d"} x`), chatCallOf("call_4", "f", "{\"a\":\"\ufffd\"}")),
			finish: llm.FinishToolCalls,
		},
	},
	{
		id:    "QT-11",
		wires: []string{chatStream(chatDelta(`"content":"Hi"`), chatDelta("", "stop")) + "data: not read any more\n\n"},
		want:  chatWant{parts: chatParts(chatText("Hi")), finish: llm.FinishStop},
	},
}

// chatElsewhere are the rows that are not the codec's, or have a test of their own.
var chatElsewhere = map[string]string{
	"QT-05": "TestChatReset", "QT-06": "TestChatErrors", "QT-07": "TestChatErrors", "QT-10": "the deadline is the loop's",
}

func TestChatQuirks(t *testing.T) {
	seen := map[string]bool{}
	for id := range chatElsewhere {
		seen[id] = true
	}
	for _, q := range chatQuirks {
		seen[q.id] = true
		t.Run(q.id, func(t *testing.T) {
			for i, wire := range q.wires {
				turn, err := chatTurn(strings.NewReader(wire))
				q.want.hold(t, fmt.Sprint("wire ", i), turn, err)
			}
			for i, body := range q.bodies {
				turn, err := chatAnswer(body)
				q.want.hold(t, fmt.Sprint("body ", i), turn, err)
			}
		})
	}
	for i := 1; i <= 42; i++ {
		id := fmt.Sprintf("QO-%02d", i)
		if i > 31 {
			id = fmt.Sprintf("QT-%02d", i-31)
		}
		if !seen[id] {
			t.Errorf("no row shows %s", id)
		}
	}
}

// TestChatAnyCut cuts each wire at each place, and into bytes.
func TestChatAnyCut(t *testing.T) {
	for _, q := range chatQuirks {
		if q.id == "QT-03" {
			continue // long; TestLimits of the reader of events cuts such
		}
		for i, wire := range q.wires {
			turn, err := chatTurn(iotest.OneByteReader(strings.NewReader(wire)))
			q.want.hold(t, fmt.Sprint(q.id, " wire ", i, " byte by byte"), turn, err)
			for _, at := range cutPositions(wire) {
				two := io.MultiReader(strings.NewReader(wire[:at]), strings.NewReader(wire[at:]))
				turn, err := chatTurn(two)
				q.want.hold(t, fmt.Sprint(q.id, " wire ", i, " cut at ", at), turn, err)
			}
			if t.Failed() {
				return
			}
		}
	}
}

// cutPositions returns where a stream is cut in two: around each line break and at every
// seventh byte. With more than 100 rapid checks (.ci/soak properties) it returns all positions.
func cutPositions(wire string) (at []int) {
	all := false
	if f := flag.Lookup("rapid.checks"); f != nil {
		n, err := strconv.Atoi(f.Value.String())
		all = err == nil && n > 100
	}
	for i := range len(wire) {
		if all || i%7 == 0 || strings.Contains(wire[max(0, i-2):min(len(wire), i+2)], "\n") {
			at = append(at, i)
		}
	}
	return at
}

// TestChatReset is quirk QT-05: the error of the connection comes through, and no
// call has ended.
func TestChatReset(t *testing.T) {
	reset := errors.New("connection reset")
	wire := chatCut(chatCalls(chatCall1), chatDelta("", "tool_calls"))
	turn, err := chatTurn(io.MultiReader(strings.NewReader(wire), iotest.ErrReader(reset)))
	if !errors.Is(err, reset) || !slices.ContainsFunc(turn.Warnings, func(w llm.Warning) bool { return w.Code == llm.WarnNoCallEnd }) {
		t.Errorf("got %v and %+v", err, turn.Warnings)
	}
}

func TestChatAzure(t *testing.T) {
	wire := chatStream(`{"id":"","model":"","choices":[]}`, chatDelta(`"content":"Hi"`, "stop"), `{"id":"other","model":"other","choices":[]}`)
	turn, err := chatTurn(strings.NewReader(wire))
	if err != nil || turn.ResponseID != "c1" || turn.Model != "m" {
		t.Errorf("got %q, %q and %v", turn.ResponseID, turn.Model, err)
	}
}

func TestChatNotAResponse(t *testing.T) {
	for body, want := range map[string]string{
		"":                  "the response is empty",
		" \n":               "the response is empty",
		"<html>520</html>":  `the response does not have the format of the protocol; it begins with "<html>520</html>"`,
		`[]`:                `the response does not have the format of the protocol; it begins with "[]"`,
		`{"id":"x"}`:        `the response does not have the format of the protocol; it begins with "{\"id\":\"x\"}"`,
		`{"choices":{}}`:    `the response does not have the format of the protocol; it begins with "{\"choices\":{}}"`,
		`{"error":null}`:    `the response does not have the format of the protocol; it begins with "{\"error\":null}"`,
		`{"choices":[{"mes`: `the response does not have the format of the protocol; it begins with "{\"choices\":[{\"mes"`,
		`{"error":"too long","error_type":"validation"}`: "no response validation: too long",
		`{"object":"error","message":"bad","code":400}`:  "status 400 400: bad",
	} {
		var got []llm.Event
		err := chat.Protocol{}.DecodeResponse([]byte(body), func(ev llm.Event) { got = append(got, ev) })
		if err == nil || err.Error() != want || got != nil {
			t.Errorf("%q: got %v and %v, want %s", body, got, err, want)
		}
	}
	_, err := chatTurn(strings.NewReader("data: {\"choices\":[{]}\n\n"))
	const want = `an event is not a Chat Completions chunk: expected a member's name in double quotes at choices[0] (byte 14); it begins with "{\"choices\":[{]}"`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	if _, err := chatTurn(bytes.NewReader([]byte("data: oh no\n\n"))); err == nil {
		t.Error("an event that is not JSON gives no error")
	}
}
