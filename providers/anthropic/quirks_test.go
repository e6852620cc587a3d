package anthropic_test

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/protocol"
)

// quirk is a row of the list of what Anthropic and compatible servers send.
type quirk struct {
	id       string
	wire     string // server-sent events
	buffered string // the non-streaming form, if there is one
	want     llm.Response
	warnings string
	err      func(error) bool
	test     func(*testing.T) // if the bytes of a response cannot show it
}

const (
	begin     = `{"type":"message_start","message":{"model":"m","id":"msg_1","type":"message","role":"assistant","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":10,"output_tokens":1}}}`
	endTool   = `{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":5}}`
	endTurn   = `{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":5}}`
	msgStop   = `{"type":"message_stop"}`
	textStart = `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`
	stop0     = `{"type":"content_block_stop","index":0}`
	stop1     = `{"type":"content_block_stop","index":1}`
	head      = `{"model":"m","id":"msg_1","type":"message","role":"assistant","content":[`
	tail      = `],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":10,"output_tokens":5}}`
	weather   = `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_1","name":"weather","input":{}}}`
)

func input(index, piece string) string {
	return `{"type":"content_block_delta","index":` + index + `,"delta":{"type":"input_json_delta","partial_json":` + piece + `}}`
}

func says(text string) string {
	return `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":` + text + `}}`
}

// turn is a response that ended with tool_use, unless the raw reason is another.
func turn(parts ...llm.Part) llm.Response {
	return llm.Response{
		Parts: parts, FinishReason: llm.FinishToolCalls, RawFinishReason: "tool_use", ResponseID: "msg_1", Model: "m",
		Usage: llm.Usage{InputTokens: 10, OutputTokens: 5},
	}
}

func ended(finish llm.FinishReason, rawFinish string, parts ...llm.Part) llm.Response {
	t := turn(parts...)
	t.FinishReason, t.RawFinishReason = finish, rawFinish
	return t
}

func partial(parts ...llm.Part) llm.Response {
	return llm.Response{Parts: parts, FinishReason: llm.FinishUnknown, Usage: llm.Usage{InputTokens: 10, OutputTokens: 1}}
}

func call(id, name, args string) llm.ToolCall {
	return llm.ToolCall{ID: id, Name: name, Arguments: args}
}

func is(target error) func(error) bool { return func(err error) bool { return errors.Is(err, target) } }

var quirks = []quirk{
	{
		id:       "QA-01",
		wire:     stream(begin, weather, input("0", `""`), input("0", `"{\"city\":"`), input("0", `"\"Paris\"}"`), stop0, endTool, msgStop),
		buffered: head + `{"type":"tool_use","id":"toolu_1","name":"weather","input":{"city":"Paris"}}` + tail,
		want:     turn(call("toolu_1", "weather", `{"city":"Paris"}`)),
	},
	{
		id: "QA-02",
		wire: stream(begin, `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_1","name":"weather","input":{"city":"Paris"},"caller":{"type":"direct"}}}`,
			stop0, `{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_2","name":"now","input":{}}}`, input("1", `""`), stop1, endTool, msgStop),
		buffered: head + `{"type":"tool_use","id":"toolu_1","name":"weather","input":{"city":"Paris"},"caller":{"type":"direct"}},{"type":"tool_use","id":"toolu_2","name":"now","input":{}}` + tail,
		want:     turn(call("toolu_1", "weather", `{"city":"Paris"}`), call("toolu_2", "now", `{}`)),
	},
	{
		id:       "QA-03",
		wire:     stream(begin, weather, input("0", `"{\"city\":\"Paris\"}"`), stop0),
		want:     partial(call("toolu_1", "weather", `{"city":"Paris"}`)),
		warnings: llm.WarnNoFinish,
		err:      is(protocol.ErrTruncated),
	},
	{
		id:       "QA-04",
		wire:     stream(begin, textStart, says(`"The"`), `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_1"}`),
		want:     partial(llm.Text{Text: "The"}),
		warnings: llm.WarnNoFinish,
		err:      hasError(llm.APIError{Code: "overloaded_error", Message: "Overloaded", RequestID: "req_1", Retryable: true}),
	},
	{
		id: "QA-05",
		wire: "event: ping\ndata: {\"type\": \"ping\"}\n\nevent: ping\ndata: \n\nevent: novelty\ndata: not JSON\n\n" + stream(begin, `{"type":"novelty","index":7}`, textStart, says(`"Hello"`),
			`{"type":"content_block_delta","index":0,"delta":{"type":"novel_delta","text":{"x":1},"novel":2}}`, `{"type":"ping"}`, says(`"."`), stop0,
			`{"type":"content_block_start","index":1,"content_block":{"type":"novel_block","text":5, "name":[1]}}`, `{"type":"content_block_delta","index":1,"delta":{"type":"text_stuff","text":"no"}}`, stop1, endTurn, msgStop),
		buffered: head + `{"type":"text","text":"Hello."},{"type":"novel_block","text":5, "name":[1]}],"stop_reason":"end_turn","usage":{"input_tokens":10,"output_tokens":5}}`,
		want:     ended(llm.FinishStop, "end_turn", llm.Text{Text: "Hello."}, llm.Unknown{Kind: "novel_block", Raw: raw(`{"type":"novel_block","text":5,"name":[1]}`)}),
	},
	{
		id: "QA-06",
		wire: stream(`{"type":"message_start","message":{"model":"m","id":"msg_1","usage":{"input_tokens":10,"cache_read_input_tokens":60,"cache_creation_input_tokens":30,"output_tokens":1}}}`,
			`{"type":"message_delta","delta":{"stop_reason":null},"usage":{"output_tokens":15}}`,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":12,"cache_read_input_tokens":null,"output_tokens":40,"output_tokens_details":{"thinking_tokens":9}}}`, msgStop),
		buffered: `{"type":"message","id":"msg_1","model":"m","content":[],"stop_reason":"end_turn","usage":{"input_tokens":12,"cache_read_input_tokens":60,"cache_creation_input_tokens":30,"output_tokens":40,"output_tokens_details":{"thinking_tokens":9}}}`,
		want: func() llm.Response {
			t := ended(llm.FinishStop, "end_turn")
			t.Usage = llm.Usage{InputTokens: 102, OutputTokens: 40, CacheReadInputTokens: 60, CacheCreationInputTokens: 30, ReasoningOutputTokens: 9}
			return t
		}(),
	},
	{
		id: "QA-07",
		wire: stream(begin, textStart, says(`"Searching."`), stop0,
			`{"type":"message_delta","delta":{"stop_reason":"pause_turn","container":{"id":"container_9","expires_at":"2026-03-03T19:38:14Z"}},"usage":{"output_tokens":5}}`, msgStop),
		buffered: head + `{"type":"text","text":"Searching."}],"container":{"id":"container_9","expires_at":"2026-03-03T19:38:14Z"},"stop_reason":"pause_turn","usage":{"input_tokens":10,"output_tokens":5}}`,
		want: func() llm.Response {
			t := ended(llm.FinishPause, "pause_turn", llm.Text{Text: "Searching."})
			t.Opaque = raw(`{"container":{"id":"container_9","expires_at":"2026-03-03T19:38:14Z"}}`)
			return t
		}(),
		test: testContinued,
	},
	{
		id:       "QA-08",
		wire:     stream(begin, weather, `{"type":"message_delta","delta":{"stop_reason":"max_tokens"},"usage":{"output_tokens":5}}`, msgStop),
		want:     ended(llm.FinishLength, "max_tokens", call("toolu_1", "weather", `{}`)),
		warnings: llm.WarnNoCallEnd,
	},
	{
		id:       "QA-08, the context is full",
		wire:     stream(begin, weather, input("0", `"{\"ci"`), stop0, `{"type":"message_delta","delta":{"stop_reason":"model_context_window_exceeded"},"usage":{"output_tokens":5}}`, msgStop),
		buffered: head + `{"type":"tool_use","id":"toolu_1","name":"weather","input":"{\"ci"}],"stop_reason":"model_context_window_exceeded","usage":{"input_tokens":10,"output_tokens":5}}`,
		want:     ended(llm.FinishLength, "model_context_window_exceeded", call("toolu_1", "weather", `{"ci`)),
	},
	{id: "QA-09", test: testUnanswered},
	{
		id: "QA-10",
		wire: stream(begin, weather, input("0", `""`), input("0", `"{}"`), stop0,
			`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_2","name":"weather","input":{}}}`, input("1", `""`), input("1", `"city\":"`), input("1", `"\"Oslo\"}"`), stop1, endTool, msgStop),
		want: turn(call("toolu_1", "weather", `{}`), call("toolu_2", "weather", `city":"Oslo"}`)),
	},
	{
		id: "QA-11",
		wire: stream(begin, weather, input("0", `"{\"x\":1}"`),
			`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_2","name":"now","input":{"y":2}}}`, endTool, msgStop),
		want:     turn(call("toolu_1", "weather", `{"x":1}`), call("toolu_2", "now", `{"y":2}`)),
		warnings: llm.WarnNoCallEnd + " " + llm.WarnNoCallEnd,
	},
	{
		id: "QA-12",
		wire: stream(begin, `{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Let me"}}`, `{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":" think."}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"Eq"}}`, `{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"QB"}}`, stop0,
			`{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"EmwK"}}`, stop1,
			`{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"toolu_1","name":"a","input":{"n":1}}}`, `{"type":"content_block_stop","index":2}`,
			`{"type":"content_block_start","index":3,"content_block":{"type":"thinking","thinking":"Once more.","signature":"ErUB"}}`, `{"type":"content_block_stop","index":3}`,
			`{"type":"content_block_start","index":4,"content_block":{"type":"thinking","thinking":"","signature":""}}`, `{"type":"content_block_delta","index":4,"delta":{"type":"signature_delta","signature":"Ez"}}`, `{"type":"content_block_stop","index":4}`, endTool, msgStop),
		buffered: head + `{"type":"thinking","thinking":"Let me think.","signature":"EqQB"},{"type":"redacted_thinking","data":"EmwK"},{"type":"tool_use","id":"toolu_1","name":"a","input":{"n":1}},` +
			`{"type":"thinking","thinking":"Once more.","signature":"ErUB"},{"type":"thinking","thinking":"","signature":"Ez"}` + tail,
		want: turn(
			llm.Reasoning{Text: "Let me think.", Opaque: raw(`{"signature":"EqQB"}`)},
			llm.Reasoning{Opaque: raw(`{"type":"redacted_thinking","data":"EmwK"}`)},
			call("toolu_1", "a", `{"n":1}`),
			llm.Reasoning{Text: "Once more.", Opaque: raw(`{"signature":"ErUB"}`)},
			llm.Reasoning{Opaque: raw(`{"signature":"Ez"}`)},
		),
	},
	{
		id:       "QA-13",
		wire:     stream(begin, weather, input("0", `"{}"`), stop0, endTool, "[DONE]"),
		want:     turn(call("toolu_1", "weather", `{}`)),
		warnings: "missing_message_stop",
	},
	{
		id:       "QA-13",
		wire:     stream(begin, weather, input("0", `"{}"`), stop0, endTool),
		want:     turn(call("toolu_1", "weather", `{}`)),
		warnings: "missing_message_stop",
	},
	{
		id: "QA-14",
		wire: stream(begin, `{"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{},"caller":{"type":"direct"}}}`,
			input("0", `""`), input("0", `"{\"query\":"`), input("0", `"\"x\"}"`), stop0,
			`{"type":"content_block_start","index":1,"content_block":{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"url":"https://example.com","encrypted_content":"EpQB"}]}}`, stop1,
			`{"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}`, `{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"So: "}}`, `{"type":"content_block_stop","index":2}`,
			`{"type":"content_block_start","index":3,"content_block":{"citations":[],"type":"text","text":""}}`, `{"type":"content_block_delta","index":3,"delta":{"type":"citations_delta","citation":{"url":"https://example.com"}}}`,
			`{"type":"content_block_delta","index":3,"delta":{"type":"text_delta","text":"It is x."}}`, `{"type":"content_block_delta","index":3,"delta":{"type":"citations_delta","citation":{"url":"b"}}}`, `{"type":"content_block_stop","index":3}`,
			`{"type":"content_block_start","index":4,"content_block":{"type":"mcp_tool_use","id":"mcptoolu_1","name":"echo","server_name":"s","input":{"a":1}}}`, `{"type":"content_block_stop","index":4}`,
			`{"type":"content_block_start","index":5,"content_block":{"type":"mcp_tool_result","tool_use_id":"mcptoolu_1","is_error":false,"content":[]}}`, `{"type":"content_block_stop","index":5}`,
			`{"type":"content_block_start","index":6,"content_block":{"type":"tool_use","id":"toolu_1","name":"a","input":{"n":1},"caller":{"type":"code_execution_20260120","tool_id":"srvtoolu_1"}}}`, `{"type":"content_block_stop","index":6}`, endTool, msgStop),
		buffered: head + `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"x"}},{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"url":"https://example.com","encrypted_content":"EpQB"}]},` +
			`{"type":"text","text":"So: "},{"type":"text","text":"It is x.","citations":[{"url":"https://example.com"},{"url":"b"}]},{"type":"mcp_tool_use","id":"mcptoolu_1","name":"echo","server_name":"s","input":{"a":1}},` +
			`{"type":"mcp_tool_result","tool_use_id":"mcptoolu_1","is_error":false,"content":[]},{"type":"tool_use","id":"toolu_1","name":"a","input":{"n":1},"caller":{"type":"code_execution_20260120","tool_id":"srvtoolu_1"}}` + tail,
		want: turn(
			llm.ToolCall{ID: "srvtoolu_1", Name: "web_search", Arguments: `{"query":"x"}`, ProviderExecuted: true},
			llm.Unknown{Kind: "web_search_tool_result", Raw: raw(`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"url":"https://example.com","encrypted_content":"EpQB"}]}`)},
			llm.Text{Text: "So: ", Opaque: raw(`{}`)},
			llm.Text{Text: "It is x.", Opaque: raw(`{"citations":[{"url":"https://example.com"},{"url":"b"}]}`)},
			llm.ToolCall{ID: "mcptoolu_1", Name: "echo", Arguments: `{"a":1}`, ProviderExecuted: true, Opaque: raw(`{"type":"mcp_tool_use","server_name":"s"}`)},
			llm.Unknown{Kind: "mcp_tool_result", Raw: raw(`{"type":"mcp_tool_result","tool_use_id":"mcptoolu_1","is_error":false,"content":[]}`)},
			llm.ToolCall{ID: "toolu_1", Name: "a", Arguments: `{"n":1}`, Opaque: raw(`{"caller":{"type":"code_execution_20260120","tool_id":"srvtoolu_1"}}`)},
		),
	},
	{
		id:       "refusal",
		wire:     stream(begin, `{"type":"ping"}`, `{"type":"message_delta","delta":{"stop_reason":"refusal","stop_sequence":null,"stop_details":{"type":"refusal","category":"cyber","explanation":"Not this."}},"usage":{"output_tokens":5}}`, msgStop),
		buffered: `{"type":"message","id":"msg_1","model":"m","content":[],"stop_reason":"refusal","stop_details":{"type":"refusal","category":"cyber","explanation":"Not this."},"usage":{"input_tokens":10,"output_tokens":5}}`,
		want: func() llm.Response {
			t := ended(llm.FinishRefusal, "")
			t.FinishMessage = "Not this."
			return t
		}(),
	},
	{
		id:   "QT-01",
		wire: strings.ReplaceAll(stream(begin, textStart, says("\"a\u2028b\u0085c\""), stop0), "\n", "\r\n") + strings.ReplaceAll(stream(endTurn, msgStop), "\n", "\r"),
		want: ended(llm.FinishStop, "end_turn", llm.Text{Text: "a\u2028b\u0085c"}),
	},
	{
		id: "QT-02",
		wire: "\ufeff: comment\nretry: 10\nid: 1\nevent:message_start\ndata:" + begin + "\n\n: again\n\n" + stream(textStart) +
			"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\ndata: \"index\":0,\"delta\":{\"type\":\"text_delta\",\ndata: \"text\":\"Hello\"}}\n\n" + stream(endTurn, msgStop),
		want: ended(llm.FinishStop, "end_turn", llm.Text{Text: "Hello"}),
	},
	{
		id:   "QT-03",
		wire: stream(begin, textStart, says(`"`+strings.Repeat("a", 70<<10)+`"`), says(`"`+strings.Repeat("b", 1<<20)+`"`), endTurn, msgStop),
		want: ended(llm.FinishStop, "end_turn", llm.Text{Text: strings.Repeat("a", 70<<10) + strings.Repeat("b", 1<<20)}),
	},
	{
		id:   "QT-04",
		wire: stream(begin, weather, input("0", `"{\"s\":\"é\\u00e9😀\\n\"}"`), stop0, endTool, msgStop),
		want: turn(call("toolu_1", "weather", `{"s":"é\u00e9😀\n"}`)),
	},
	{id: "QT-05", test: testReset},
	{id: "QT-06", test: testErrors},
	{id: "QT-07", test: testErrors},
	{id: "QT-08", test: testNoAnswer},
	{
		id: "QT-09",
		wire: stream(begin, weather, input("0", `"{\"s\":\"\\ud83d\"}"`), stop0,
			`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_2","name":"b","input":{}}}`, input("1", `"[1] please"`), stop1, endTool, msgStop),
		buffered: head + `{"type":"tool_use","id":"toolu_1","name":"weather","input":{"s":"\ud83d"}},{"type":"tool_use","id":"toolu_2","name":"b","input":"[1] please"}` + tail,
		want:     turn(call("toolu_1", "weather", `{"s":"\ud83d"}`), call("toolu_2", "b", `[1] please`)),
		test:     testArguments,
	},
	{id: "QT-10", test: testPings},
	{id: "QT-11", test: testMark},
}

func TestQuirks(t *testing.T) {
	for _, q := range quirks {
		t.Run(q.id, func(t *testing.T) {
			if q.wire != "" {
				got, err := decode(strings.NewReader(q.wire))
				q.hold(t, "streamed", got, err)
			}
			if q.buffered != "" {
				got, err := decodeBuffered(q.buffered)
				q.hold(t, "non-streaming", got, err)
			}
			if q.test != nil {
				q.test(t)
			}
		})
	}
}

func (q quirk) hold(t *testing.T, form string, got *llm.Response, err error) {
	t.Helper()
	if diff := cmp.Diff(q.want, *got, cmpopts.IgnoreFields(llm.Response{}, "Warnings")); diff != "" {
		t.Errorf("%s (-want +got):\n%s", form, diff)
	}
	if codes := codes(got); codes != q.warnings {
		t.Errorf("%s: warnings %q, want %q", form, codes, q.warnings)
	}
	if (err != nil) != (q.err != nil) || err != nil && !q.err(err) {
		t.Errorf("%s: error %v", form, err)
	}
}

// TestEveryQuirk fails where a row of the list is not here.
func TestEveryQuirk(t *testing.T) {
	for _, group := range []struct {
		prefix string
		n      int
	}{{"QA", 14}, {"QT", 11}} {
		for i := range group.n {
			id := group.prefix + "-" + string([]byte{byte('0' + (i+1)/10), byte('0' + (i+1)%10)})
			if !slices.ContainsFunc(quirks, func(q quirk) bool { return q.id == id && (q.wire != "" || q.test != nil) }) {
				t.Errorf("nothing shows the quirk %s", id)
			}
		}
	}
}

// TestCuts reads each quirk in two chunks, split at each byte, and byte by byte: the
// response is the same (QT-04).
func TestCuts(t *testing.T) {
	for _, q := range quirks {
		if q.wire == "" || len(q.wire) > 64<<10 {
			continue
		}
		want, wantErr := decode(strings.NewReader(q.wire))
		same := func(how string, from io.Reader) {
			got, err := decode(from)
			if !reflect.DeepEqual(want, got) || (err == nil) != (wantErr == nil) {
				t.Errorf("%s, %s: error %v, response (-whole +cut):\n%s", q.id, how, err, cmp.Diff(want, got))
			}
		}
		same("byte by byte", iotest.OneByteReader(strings.NewReader(q.wire)))
		for i := range q.wire {
			same("cut", io.MultiReader(strings.NewReader(q.wire[:i]), strings.NewReader(q.wire[i:])))
		}
	}
}

func testReset(t *testing.T) {
	half := stream(begin, weather, input("0", `"{}"`))
	got, err := decode(io.MultiReader(strings.NewReader(half), iotest.ErrReader(io.ErrUnexpectedEOF)))
	if !errors.Is(err, io.ErrUnexpectedEOF) || got.FinishReason != llm.FinishUnknown {
		t.Errorf("finish %q, error %v", got.FinishReason, err)
	}
}

// testPings checks that pings give no event, so that they do not count as progress.
func testPings(t *testing.T) {
	got, err := decode(strings.NewReader(strings.Repeat(stream(`{"type":"ping"}`), 100)))
	if !errors.Is(err, protocol.ErrTruncated) || len(got.Parts) > 0 {
		t.Errorf("parts %v, error %v", got.Parts, err)
	}
}

// testMark shows that nothing is read after message_stop.
func testMark(t *testing.T) {
	after := iotest.ErrReader(errors.New("the connection was read after the mark"))
	got, err := decode(io.MultiReader(bytes.NewReader([]byte(stream(begin, endTurn, msgStop))), after))
	if err != nil || got.FinishReason != llm.FinishStop {
		t.Errorf("finish %q, error %v", got.FinishReason, err)
	}
}
