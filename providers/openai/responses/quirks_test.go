package responses_test

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/internal/sse"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/openai/responses"
	"github.com/looptape/looptape/providers/protocol"
)

const (
	created   = `{"type":"response.created","response":{"id":"resp_1","object":"response","status":"in_progress","model":"gpt-5-2025-08-07","output":[],"usage":null,"error":null},"sequence_number":0}`
	completed = `{"type":"response.completed","response":{"id":"resp_1","status":"completed","model":"gpt-5-2025-08-07","output":[],"error":null,"incomplete_details":null,"usage":{"input_tokens":10,"input_tokens_details":{"cached_tokens":4},"output_tokens":7,"output_tokens_details":{"reasoning_tokens":3},"total_tokens":17}}}`
)

var usage = llm.Usage{InputTokens: 10, OutputTokens: 7, CacheReadInputTokens: 4, ReasoningOutputTokens: 3}

// completedWith is the last event with these items in its output.
func completedWith(items string) string {
	return strings.Replace(completed, `"output":[]`, `"output":[`+items+`]`, 1)
}

// responsesQuirk is the wire data and the expected result.
type responsesQuirk struct {
	id       string // of the row, and after a space what of it
	wire     string // a stream
	body     string // or a non-streaming response
	want     []llm.Part
	finish   llm.FinishReason // "" is stop
	raw      string           // "" is completed
	warnings string
	usage    llm.Usage // nil means as in completed
	err      *llm.APIError
	broken   error
	test     func(t *testing.T) // or what a request shows
}

func call(id, args, opaque string) llm.ToolCall {
	c := llm.ToolCall{ID: id, Name: "f", Arguments: args}
	if opaque != "" {
		c.Opaque = raw(opaque)
	}
	return c
}

// added, delta and so on are events of a call.
func added(index int, item string) string {
	return fmt.Sprintf(`{"type":"response.output_item.added","output_index":%d,"item":{"type":"function_call","status":"in_progress","arguments":"",%s}}`, index, item)
}

func delta(index int, args string) string {
	return fmt.Sprintf(`{"type":"response.function_call_arguments.delta","output_index":%d,"item_id":"fc_1","delta":%q,"obfuscation":"x"}`, index, args)
}

func argsDone(index int, args string) string {
	return fmt.Sprintf(`{"type":"response.function_call_arguments.done","output_index":%d,"item_id":"fc_1","arguments":%q}`, index, args)
}

func itemDone(index int, item, args string) string {
	return fmt.Sprintf(`{"type":"response.output_item.done","output_index":%d,"item":{"type":"function_call","status":"completed","arguments":%q,%s}}`, index, args, item)
}

const fc1, fc2 = `"id":"fc_1","call_id":"call_1","name":"f"`, `"id":"fc_2","call_id":"call_2","name":"f"`

func item1(args string) string {
	return fmt.Sprintf(`{"type":"function_call","status":"completed","arguments":%q,%s}`, args, fc1)
}

// unended is an item, or the end of one, that is incomplete.
func unended(text string) string {
	return strings.Replace(text, `"status":"completed"`, `"status":"incomplete"`, 1)
}

func textDelta(index int, text string) string {
	return fmt.Sprintf(`{"type":"response.output_text.delta","item_id":"msg_1","output_index":%d,"content_index":0,"delta":%q,"logprobs":[]}`, index, text)
}

const (
	messageAdded = `{"type":"response.output_item.added","output_index":0,"item":{"id":"msg_1","type":"message","status":"in_progress","content":[],"role":"assistant"}}`
	messageDone  = `{"type":"response.output_item.done","output_index":0,"item":{"id":"msg_1","type":"message","status":"completed","content":[{"type":"output_text","annotations":[],"logprobs":[],"text":"Hello"}],"role":"assistant"}}`
	rs1          = `{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"gAAAA1"}`
	rs2          = `{"type":"reasoning","id":"rs_2","status":"completed","encrypted_content":"gAAAA2","summary":[{"type":"summary_text","text":"One."},{"type":"summary_text","text":"Two."}],"content":[]}`
	cut          = `{"a":1,"b`
	whole        = `{"a":1}`
)

var fcOpaque = `{"id":"fc_1"}`

var responsesQuirks = []responsesQuirk{
	{
		id:     "QR-01 streamed",
		wire:   stream(created, added(0, fc1), delta(0, `{"a"`), delta(0, `:1}`), argsDone(0, whole), itemDone(0, fc1, whole), completedWith(item1(whole))),
		want:   []llm.Part{call("call_1", whole, fcOpaque)},
		finish: llm.FinishToolCalls,
	},
	{
		id:     "QR-01 non-streaming",
		body:   `{"id":"resp_1","status":"completed","model":"gpt-5-2025-08-07","output":[` + item1(whole) + `],"usage":{"input_tokens":10,"input_tokens_details":{"cached_tokens":4},"output_tokens":7,"output_tokens_details":{"reasoning_tokens":3}}}`,
		want:   []llm.Part{call("call_1", whole, fcOpaque)},
		finish: llm.FinishToolCalls,
	},
	{
		id: "QR-02 streamed",
		wire: stream(created,
			`{"type":"response.output_item.added","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"gAAAA0"}}`,
			`{"type":"response.output_item.done","output_index":0,"item":`+rs1+`}`,
			added(1, fc1), delta(1, whole), itemDone(1, fc1, whole),
			`{"type":"response.output_item.added","output_index":2,"item":{"id":"rs_2","type":"reasoning","summary":[]}}`,
			`{"type":"response.reasoning_summary_part.added","output_index":2,"summary_index":0,"part":{"type":"summary_text","text":""}}`,
			`{"type":"response.reasoning_summary_text.delta","output_index":2,"summary_index":0,"delta":"One"}`,
			`{"type":"response.reasoning_summary_text.delta","output_index":2,"summary_index":0,"delta":"."}`,
			`{"type":"response.reasoning_summary_text.done","output_index":2,"summary_index":0,"text":"One."}`,
			`{"type":"response.reasoning_summary_text.delta","output_index":2,"summary_index":1,"delta":"Two."}`,
			`{"type":"response.output_item.done","output_index":2,"item":`+rs2+`}`,
			added(3, fc2), delta(3, whole), itemDone(3, fc2, whole), completed),
		want: []llm.Part{
			llm.Reasoning{Opaque: raw(`{"id":"rs_1","encrypted_content":"gAAAA1","summary":[]}`)},
			call("call_1", whole, fcOpaque),
			llm.Reasoning{Text: "One.\n\nTwo.", Opaque: raw(`{"id":"rs_2","encrypted_content":"gAAAA2","summary":[{"type":"summary_text","text":"One."},{"type":"summary_text","text":"Two."}]}`)},
			call("call_2", whole, `{"id":"fc_2"}`),
		},
		finish: llm.FinishToolCalls,
	},
	{
		id:   "QR-02 non-streaming, and echoed in place",
		test: testReasoningEcho,
	},
	{
		id:     "QR-03 incomplete",
		wire:   stream(created, added(0, fc1), delta(0, cut), `{"type":"response.incomplete","response":{"id":"resp_1","model":"gpt-5-2025-08-07","status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"usage":{"input_tokens":10,"output_tokens":7}}}`),
		want:   []llm.Part{call("call_1", cut, fcOpaque)},
		finish: llm.FinishLength, raw: "max_output_tokens",
		usage: llm.Usage{InputTokens: 10, OutputTokens: 7}, warnings: llm.WarnNoCallEnd,
	},
	{
		id:     "QR-03 said to be completed",
		wire:   stream(created, added(0, fc1), delta(0, cut), argsDone(0, cut), completedWith(item1(cut))),
		want:   []llm.Part{call("call_1", cut, fcOpaque)},
		finish: llm.FinishToolCalls, warnings: llm.WarnNoCallEnd,
	},
	{
		id:     "QR-03 non-streaming",
		body:   `{"id":"resp_1","model":"gpt-5-2025-08-07","status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[` + item1(cut) + `],"usage":{"input_tokens":10,"output_tokens":7}}`,
		want:   []llm.Part{call("call_1", cut, fcOpaque)},
		finish: llm.FinishLength, raw: "max_output_tokens", usage: llm.Usage{InputTokens: 10, OutputTokens: 7},
	},
	{
		id:     "QR-03 non-streaming, with the status in the item",
		body:   `{"id":"resp_1","model":"gpt-5-2025-08-07","status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[` + unended(item1(whole)) + `,` + unended(strings.ReplaceAll(item1(cut), "_1", "_2")) + `],"usage":{"input_tokens":10,"output_tokens":7}}`,
		want:   []llm.Part{call("call_1", whole, fcOpaque), call("call_2", cut, `{"id":"fc_2"}`)},
		finish: llm.FinishLength, raw: "max_output_tokens", usage: llm.Usage{InputTokens: 10, OutputTokens: 7},
		warnings: llm.WarnNoCallEnd + " " + llm.WarnNoCallEnd,
	},
	{
		id:     "QR-03 the end of the item has the status",
		wire:   stream(created, added(0, fc1), delta(0, cut), argsDone(0, cut), unended(itemDone(0, fc1, cut)), completed),
		want:   []llm.Part{call("call_1", cut, fcOpaque)},
		finish: llm.FinishToolCalls, warnings: llm.WarnNoCallEnd,
	},
	{
		id:     "QR-04",
		wire:   stream(created, added(0, fc1), delta(0, `{"a"`), delta(0, `:1}`), added(1, fc2), delta(1, `{}`), itemDone(1, fc2, `{}`), completed),
		want:   []llm.Part{call("call_1", whole, fcOpaque), call("call_2", `{}`, `{"id":"fc_2"}`)},
		finish: llm.FinishToolCalls, warnings: llm.WarnNoCallEnd,
	},
	{
		id:     "QR-05 a delta lost",
		wire:   stream(created, added(0, fc1), delta(0, `{"city":`), delta(0, `,"unit":"C"}`), argsDone(0, `{"city":"Paris","unit":"C"}`), itemDone(0, fc1, cut), completed),
		want:   []llm.Part{call("call_1", `{"city":"Paris","unit":"C"}`, fcOpaque)},
		finish: llm.FinishToolCalls, warnings: responses.WarnArguments,
	},
	{
		id:     "QR-05 cut in the last event",
		wire:   stream(created, added(0, fc1), delta(0, whole), argsDone(0, whole), itemDone(0, fc1, whole), completedWith(item1(cut))),
		want:   []llm.Part{call("call_1", whole, fcOpaque)},
		finish: llm.FinishToolCalls,
	},
	{
		id:     "QR-05 the last event counts most",
		wire:   stream(created, added(0, fc1), delta(0, `{"a":1}`), argsDone(0, `{"a":2}`), itemDone(0, fc1, `{"a":3}`), completedWith(item1(`{"a":4}`))),
		want:   []llm.Part{call("call_1", `{"a":4}`, fcOpaque)},
		finish: llm.FinishToolCalls, warnings: responses.WarnArguments,
	},
	{
		id:     "QR-05 then the item",
		wire:   stream(created, added(0, fc1), delta(0, `{"a":1}`), argsDone(0, `{"a":2}`), itemDone(0, fc1, `{"a":3}`), completed),
		want:   []llm.Part{call("call_1", `{"a":3}`, fcOpaque)},
		finish: llm.FinishToolCalls, warnings: responses.WarnArguments,
	},
	{
		id:     "QR-05 then the arguments",
		wire:   stream(created, added(0, fc1), delta(0, `{"a":1}`), argsDone(0, `{"a":2}`), completedWith(item1(cut))),
		want:   []llm.Part{call("call_1", `{"a":2}`, fcOpaque)},
		finish: llm.FinishToolCalls, warnings: responses.WarnArguments,
	},
	{
		id:     "QR-05 none is whole",
		wire:   stream(created, added(0, fc1), delta(0, `{"city":`), delta(0, `,"unit":"C"}`), argsDone(0, cut), itemDone(0, fc1, `1`), completedWith(item1(`[1]`))),
		want:   []llm.Part{call("call_1", `{"city":,"unit":"C"}`, fcOpaque)},
		finish: llm.FinishToolCalls,
	},
	{
		id:     "QR-05 none is whole, and no delta came",
		wire:   stream(created, added(0, fc1), argsDone(0, cut), itemDone(0, fc1, ""), completed),
		want:   []llm.Part{call("call_1", cut, fcOpaque)},
		finish: llm.FinishToolCalls,
	},
	{
		id:     "QR-06 in arguments.done",
		wire:   stream(created, added(0, fc1), argsDone(0, whole), itemDone(0, fc1, ""), completed),
		want:   []llm.Part{call("call_1", whole, fcOpaque)},
		finish: llm.FinishToolCalls,
	},
	{
		id:     "QR-06 in output_item.done",
		wire:   stream(created, added(0, fc1), itemDone(0, fc1, whole), completed),
		want:   []llm.Part{call("call_1", whole, fcOpaque)},
		finish: llm.FinishToolCalls,
	},
	{
		id:     "QR-06 in output_item.done alone",
		wire:   stream(created, itemDone(0, fc1, whole), completed),
		want:   []llm.Part{call("call_1", whole, fcOpaque)},
		finish: llm.FinishToolCalls,
	},
	{
		id:     "QR-06 in the last event alone",
		wire:   stream(created, completedWith(item1(whole))),
		want:   []llm.Part{call("call_1", whole, fcOpaque)},
		finish: llm.FinishToolCalls,
	},
	{id: "QR-07", test: testRefusalReported},
	{
		id:   "QR-08 an error and then failed",
		wire: stream(created, added(0, fc1), delta(0, whole), itemDone(0, fc1, whole), `{"type":"error","sequence_number":2,"error":{"type":"insufficient_quota","code":"insufficient_quota","message":"You exceeded your current quota.","param":null}}`, `{"type":"response.failed","response":{"id":"resp_1","status":"failed","error":{"code":"insufficient_quota","message":"again"}}}`),
		err:  &llm.APIError{Code: "insufficient_quota", Message: "You exceeded your current quota."},
		want: []llm.Part{call("call_1", whole, fcOpaque)},
	},
	{
		id:   "QR-08 an error in addition to its type",
		wire: stream(created, messageAdded, textDelta(0, "Hel"), `{"type":"error","code":"rate_limit_exceeded","message":"Slow down.","param":null,"sequence_number":4}`),
		err:  &llm.APIError{Code: "rate_limit_exceeded", Message: "Slow down.", Retryable: true},
		want: []llm.Part{llm.Text{Text: "Hel"}},
	},
	{
		id:   "QR-08 an error with a type and no code",
		wire: stream(created, `{"type":"error","error":{"type":"server_error","code":null,"message":"Oops."}}`),
		err:  &llm.APIError{Code: "server_error", Message: "Oops.", Retryable: true},
	},
	{
		id:   "QR-08 failed alone",
		wire: stream(created, added(0, fc1), delta(0, whole), `{"type":"response.failed","response":{"id":"resp_1","status":"failed","error":{"code":"server_error","message":"Sorry."},"output":[]}}`),
		err:  &llm.APIError{Code: "server_error", Message: "Sorry.", Retryable: true},
		want: []llm.Part{call("call_1", whole, fcOpaque)},
	},
	{
		id:   "QR-08 failed without a reason",
		wire: stream(created, `{"type":"response.failed","response":{"id":"resp_1","status":"failed","error":null}}`),
		err:  &llm.APIError{Message: "the response failed without a message"},
	},
	{
		id:   "QR-08 non-streaming",
		body: `{"id":"resp_1","status":"failed","error":{"code":"server_error","message":"Sorry."},"output":[]}`,
		err:  &llm.APIError{Code: "server_error", Message: "Sorry.", Retryable: true},
	},
	{
		id: "QR-09 item ids change",
		wire: stream(created, added(0, fc1),
			`{"type":"response.function_call_arguments.delta","output_index":0,"item_id":"x1","delta":"{\"a\""}`,
			added(1, fc2),
			`{"type":"response.function_call_arguments.delta","output_index":1,"item_id":"x2","delta":"{\"b\""}`,
			`{"type":"response.function_call_arguments.delta","output_index":0,"item_id":"x3","delta":":1}"}`,
			`{"type":"response.function_call_arguments.delta","output_index":1,"item_id":"x1","delta":":2}"}`,
			itemDone(0, `"id":"x5","call_id":"call_1","name":"f"`, whole), itemDone(1, `"id":"x6","call_id":"call_2","name":"f"`, `{"b":2}`), completed),
		want:   []llm.Part{call("call_1", whole, fcOpaque), call("call_2", `{"b":2}`, `{"id":"fc_2"}`)},
		finish: llm.FinishToolCalls,
	},
	{
		id:     "QR-09 the index starts again",
		wire:   stream(created, added(0, fc1), delta(0, whole), added(0, fc2), delta(0, `{"b"`), delta(0, `:2}`), itemDone(0, fc2, `{"b":2}`), completed),
		want:   []llm.Part{call("call_1", whole, fcOpaque), call("call_2", `{"b":2}`, `{"id":"fc_2"}`)},
		finish: llm.FinishToolCalls, warnings: llm.WarnNoCallEnd,
	},
	{
		id:     "QR-09 a text and a call at one index",
		wire:   stream(created, messageAdded, textDelta(0, "Hel"), textDelta(0, "lo"), added(0, fc1), delta(0, whole), messageDone, itemDone(0, fc1, whole), completedWith(`{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"output_text","text":"Hello"}]},`+item1(whole))),
		want:   []llm.Part{llm.Text{Text: "Hello", Opaque: raw(`{"id":"msg_1"}`)}, call("call_1", whole, fcOpaque)},
		finish: llm.FinishToolCalls,
	},
	{
		id: "QR-09 reasoning and a call at one index",
		wire: stream(created,
			`{"type":"response.output_item.added","output_index":0,"item":{"id":"rs_2","type":"reasoning","summary":[],"encrypted_content":"gAAAA2"}}`,
			`{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":0,"delta":"One"}`,
			`{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":0,"delta":"."}`,
			`{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":1,"delta":"Two."}`,
			added(0, fc1), delta(0, whole), itemDone(0, fc1, whole),
			`{"type":"response.output_item.added","output_index":0,"item":{"id":"rs_3","type":"reasoning","summary":[],"encrypted_content":"gAAAA3"}}`,
			`{"type":"response.reasoning_text.delta","output_index":0,"content_index":0,"delta":"Three."}`,
			added(0, fc2), delta(0, whole), itemDone(0, fc2, whole), completed),
		want: []llm.Part{
			llm.Reasoning{Text: "One.\n\nTwo.", Opaque: raw(`{"id":"rs_2","encrypted_content":"gAAAA2","summary":[{"type":"summary_text","text":"One."},{"type":"summary_text","text":"Two."}]}`)},
			call("call_1", whole, fcOpaque),
			llm.Reasoning{Text: "Three.", Opaque: raw(`{"id":"rs_3","encrypted_content":"gAAAA3","summary":[]}`)},
			call("call_2", whole, `{"id":"fc_2"}`),
		},
		finish: llm.FinishToolCalls,
	},
	{
		id:   "QR-10",
		wire: stream(created, messageAdded, textDelta(0, "Hel"), textDelta(0, "lo"), messageDone, completed),
		want: []llm.Part{llm.Text{Text: "Hello", Opaque: raw(`{"id":"msg_1"}`)}},
	},
	{
		id: "QR-10 with pieces that have notes",
		wire: stream(created, messageAdded,
			`{"type":"response.content_part.added","output_index":0,"content_index":0,"part":{"type":"output_text","annotations":[],"text":""}}`, textDelta(0, "Hel"),
			`{"type":"response.content_part.done","output_index":0,"content_index":0,"part":{"type":"output_text","annotations":[1],"text":"Hel"}}`,
			`{"type":"response.output_text.done","output_index":0,"content_index":1,"text":"lo"}`,
			`{"type":"response.refusal.delta","output_index":0,"content_index":2,"delta":"N"}`, `{"type":"response.refusal.delta","output_index":0,"content_index":2,"delta":"o"}`,
			`{"type":"response.refusal.done","output_index":0,"content_index":2,"refusal":"No"}`,
			`{"type":"response.output_item.done","output_index":0,"item":{"id":"msg_1","type":"message","phase":"x","content":[{"type":"output_text","text":"Hel","annotations":[1]},{"type":"output_text","text":"lo"},{"type":"refusal","refusal":"No","logprobs":[2]}]}}`, completed),
		want: []llm.Part{llm.Text{Text: "Hel", Opaque: raw(`{"id":"msg_1","annotations":[1]}`)}, llm.Text{Text: "lo", Opaque: raw(`{"id":"msg_1"}`)}, llm.Text{Text: "No", Refusal: true, Opaque: raw(`{"id":"msg_1","phase":"x","logprobs":[2]}`)}},
	},
	{
		id:     "the tool parallel",
		wire:   stream(created, added(0, `"id":"fc_1","call_id":"call_1","name":"multi_tool_use.parallel"`), itemDone(0, `"id":"fc_1","call_id":"call_1","name":"multi_tool_use.parallel"`, `{"tool_uses":[{"recipient_name":"functions.f","parameters":{}}]}`), completed),
		want:   []llm.Part{llm.ToolCall{ID: "call_1", Name: "multi_tool_use.parallel", Arguments: `{"tool_uses":[{"recipient_name":"functions.f","parameters":{}}]}`, Opaque: raw(fcOpaque)}},
		finish: llm.FinishToolCalls,
	},

	{id: "QT-01 CRLF", wire: strings.ReplaceAll(plainHello, "\n", "\r\n"), want: helloParts},
	{id: "QT-01 CR", wire: strings.ReplaceAll(plainHello, "\n", "\r"), want: helloParts},
	{
		id:   "QT-01 line separators within JSON",
		wire: stream(created, messageAdded, "{\"type\":\"response.output_text.delta\",\"output_index\":0,\"delta\":\"a\u2028b\u0085c\"}", completed),
		want: []llm.Part{llm.Text{Text: "a\u2028b\u0085c", Opaque: raw(`{"id":"msg_1"}`)}},
	},
	{
		id:   "QT-02",
		wire: "\ufeff: PROCESSING\n\nretry: 10\nid: 7\ndata:" + created + "\n\n:\n" + "event: response.output_text.delta\ndata: {\"output_index\":0,\ndata: \"delta\":\"Hello\"}\n\n" + stream(completed),
		want: []llm.Part{llm.Text{Text: "Hello"}},
	},
	{
		id:   "QT-03",
		wire: stream(created, messageAdded, textDelta(0, strings.Repeat("x", 2<<20)), completed),
		want: []llm.Part{llm.Text{Text: strings.Repeat("x", 2<<20), Opaque: raw(`{"id":"msg_1"}`)}},
	},
	{
		id:     "QT-04",
		wire:   stream(created, added(0, fc1), delta(0, `{"s":"\u00e9`), delta(0, `é\`), delta(0, `n"}`), itemDone(0, fc1, `{"s":"\u00e9é\n"}`), completed),
		want:   []llm.Part{call("call_1", `{"s":"\u00e9é\n"}`, fcOpaque)},
		finish: llm.FinishToolCalls,
	},
	{
		id:     "QT-05 within an event",
		wire:   stream(created, added(0, fc1), delta(0, whole), itemDone(0, fc1, whole)) + `data: {"type":"respo`,
		want:   []llm.Part{call("call_1", whole, fcOpaque)},
		broken: errAny,
	},
	{
		id:     "QT-05 between events",
		wire:   stream(created, messageAdded, textDelta(0, "Hel")),
		want:   []llm.Part{llm.Text{Text: "Hel"}},
		broken: protocol.ErrTruncated,
	},
	{id: "QT-05 before the first event", wire: "", broken: protocol.ErrTruncated},
	{id: "QT-06", test: testStatusRetried},
	{id: "QT-07", test: testStatusFinal},
	{id: "QT-08 an answer that is none", body: "<html>520</html>", broken: errAny},
	{id: "QT-08 nothing", body: " \n", broken: errAny},
	{id: "QT-08 JSON that is none", body: `{"choices":[{"message":{"content":"hi"}}]}`, broken: errAny},
	{id: "QT-08 a list", body: `[{"output":[]}]`, broken: errAny},
	{
		id: "QT-08 an error with success", body: `{"error":"Input validation error","error_type":"validation"}`,
		err: &llm.APIError{Code: "validation", Message: "Input validation error"},
	},
	{
		id:     "QT-09 arguments of all kinds",
		wire:   stream(created, added(0, fc1), delta(0, `not JSON`), itemDone(0, fc1, `not JSON`), added(1, fc2), delta(1, `{"s":"\ud83d"} x`), itemDone(1, fc2, `{"s":"\ud83d"} x`), completed),
		want:   []llm.Part{call("call_1", `not JSON`, fcOpaque), call("call_2", `{"s":"\ud83d"} x`, `{"id":"fc_2"}`)},
		finish: llm.FinishToolCalls,
	},
	{
		id:     "QT-09 an object instead of its text",
		wire:   stream(created, added(0, fc1), `{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","arguments":{"a":1},`+fc1+`}}`, completed),
		want:   []llm.Part{call("call_1", whole, fcOpaque)},
		finish: llm.FinishToolCalls,
	},
	{
		id:     "QT-09 nested deeply",
		wire:   stream(created, added(0, fc1), delta(0, strings.Repeat("[", 20000)), itemDone(0, fc1, strings.Repeat("[", 20000)), completed),
		want:   []llm.Part{call("call_1", strings.Repeat("[", 20000), fcOpaque)},
		finish: llm.FinishToolCalls,
	},
	{
		id:   "QT-09 text that is not UTF-8",
		wire: stream(created, messageAdded, strings.Replace(textDelta(0, "XYZ"), "XYZ", "a\xffb\\ud83d", 1), completed),
		want: []llm.Part{llm.Text{Text: "a\ufffdb\ufffd", Opaque: raw(`{"id":"msg_1"}`)}},
	},
	{id: "QT-10", test: testPings},
	{id: "QT-11", test: testNothingAwaited},
}

// errAny means any error that the provider did not send.
var errAny = errors.New("any")

var (
	plainHello = stream(created, messageAdded, textDelta(0, "Hel"), textDelta(0, "lo"), messageDone, completed)
	helloParts = []llm.Part{llm.Text{Text: "Hello", Opaque: raw(`{"id":"msg_1"}`)}}
)

func TestResponsesQuirks(t *testing.T) {
	for _, q := range responsesQuirks {
		t.Run(q.id, func(t *testing.T) {
			if q.test != nil {
				q.test(t)
				return
			}
			var turn *llm.Response
			var err error
			if q.body != "" {
				turn, err = readAnswer(q.body)
			} else {
				turn, err = readStream(strings.NewReader(q.wire))
			}
			q.hold(t, turn, err)
		})
	}
}

func (q *responsesQuirk) hold(t *testing.T, turn *llm.Response, err error) {
	t.Helper()
	if diff := cmp.Diff(q.want, turn.Parts); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
	if q.err != nil {
		told, _ := errors.AsType[*llm.APIError](err)
		if diff := cmp.Diff(q.err, told); diff != "" {
			t.Errorf("error (-want +got):\n%s", diff)
		}
		return
	}
	if q.broken != nil {
		if err == nil || q.broken != errAny && !errors.Is(err, q.broken) {
			t.Errorf("got error %v, want %v", err, q.broken)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	want := llm.Response{FinishReason: q.finish, RawFinishReason: q.raw, ResponseID: "resp_1", Model: "gpt-5-2025-08-07", Usage: q.usage}
	if want.FinishReason == "" {
		want.FinishReason = llm.FinishStop
	}
	if want.RawFinishReason == "" {
		want.RawFinishReason = "completed"
	}
	if want.Usage == (llm.Usage{}) {
		want.Usage = usage
	}
	got := llm.Response{FinishReason: turn.FinishReason, RawFinishReason: turn.RawFinishReason, ResponseID: turn.ResponseID, Model: turn.Model, Usage: turn.Usage}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("response (-want +got):\n%s", diff)
	}
	if got := codes(turn.Warnings); got != q.warnings {
		t.Errorf("got warnings %q, want %q", got, q.warnings)
	}
}

// Every row of the protocol, and every one for all of them, is shown here.
func TestResponsesQuirksAreComplete(t *testing.T) {
	shown := map[string]bool{}
	for _, q := range responsesQuirks {
		id, _, _ := strings.Cut(q.id, " ")
		shown[id] = true
	}
	for prefix, n := range map[string]int{"QR": 10, "QT": 11} {
		for i := range n {
			if id := fmt.Sprintf("%s-%02d", prefix, i+1); !shown[id] {
				t.Errorf("nothing shows %s", id)
			}
		}
	}
}

// The response is the same however the bytes are cut (INV-10): byte by byte, and in two at
// each place. The result depends only on the events, so for most places it is
// enough that these are the same.
func TestResponsesAnyCut(t *testing.T) {
	for _, q := range responsesQuirks {
		if q.wire == "" || len(q.wire) > 100<<10 {
			continue
		}
		t.Run(q.id, func(t *testing.T) {
			whole := allEvents(strings.NewReader(q.wire))
			want, wantErr := readStream(strings.NewReader(q.wire))
			same := func(how string, from io.Reader) {
				got, err := readStream(from)
				if !reflect.DeepEqual(want, got) || fmt.Sprint(err) != fmt.Sprint(wantErr) {
					t.Fatalf("%s: %v, want %v (-whole +cut):\n%s", how, err, wantErr, cmp.Diff(want, got))
				}
			}
			same("byte by byte", iotest.OneByteReader(strings.NewReader(q.wire)))
			for _, i := range cutPositions(q.wire) {
				if os.Getenv("LOOPTAPE_QUICK") != "" {
					break // mutants are found by the cuts between bytes above
				}
				cut := func() io.Reader { return io.MultiReader(strings.NewReader(q.wire[:i]), strings.NewReader(q.wire[i:])) }
				if got := allEvents(cut()); got != whole {
					t.Fatalf("cut at %d: got %s, want %s", i, got, whole)
				}
				if i%61 == 0 || i%7 == 0 && len(q.wire) < 2<<10 {
					same(fmt.Sprint("cut at ", i), cut())
				}
			}
		})
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

// allEvents returns the events of a stream, and how it ends, as one text.
func allEvents(from io.Reader) string {
	var b strings.Builder
	events := sse.NewReader(from, 32<<20)
	for {
		ev, err := events.Next()
		if err != nil {
			return b.String() + err.Error()
		}
		b.WriteString(ev.Name)
		b.Write(ev.Data)
		b.WriteByte(0)
	}
}
