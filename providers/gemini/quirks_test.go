package gemini_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/looptape/looptape/llm"
	common "github.com/looptape/looptape/providers/internal/codec"
	"github.com/looptape/looptape/providers/protocol"
)

// sse is a stream of these chunks.
func chunks(data ...string) string {
	var b strings.Builder
	for _, d := range data {
		b.WriteString("data: " + d + "\r\n\r\n")
	}
	return b.String()
}

// say is a chunk of these parts; the members in more come after the content.
func say(parts, more string) string {
	return `{"candidates":[{"content":{"parts":[` + parts + `],"role":"model"}` + more + `,"index":0}]}`
}

const stop = `,"finishReason":"STOP"`

func opaque(s string) json.RawMessage { return json.RawMessage(s) }

func done(reason llm.FinishReason, raw string, parts ...llm.Part) *llm.Response {
	return &llm.Response{Parts: parts, FinishReason: reason, RawFinishReason: raw}
}

func stopped(parts ...llm.Part) *llm.Response { return done(llm.FinishStop, "STOP", parts...) }

func text(s string) llm.Text { return llm.Text{Text: s} }

func call(id, name, args string) llm.ToolCall {
	return llm.ToolCall{ID: id, Name: name, Arguments: args}
}

func warned(t *llm.Response, codes ...string) *llm.Response {
	for _, c := range codes {
		t.Warnings = append(t.Warnings, llm.Warning{Code: c})
	}
	return t
}

// quirk is what the wire shows of a row of the list of quirks.
type quirk struct {
	id   string
	wire string        // a stream
	body string        // the non-streaming form, if possible
	turn *llm.Response // what comes out, or came before the error
	err  error         // an *llm.APIError is compared
	why  string        // why there is nothing to show
	test func(*testing.T)
}

var quirks = []quirk{
	{
		id: "QG-01", wire: chunks(say(`{"functionCall":{"name":"weather","args":{"city": "Paris"}}}`, stop)),
		body: say(`{"functionCall":{"name":"weather","args":{"city": "Paris"}}}`, stop),
		turn: stopped(call("", "weather", `{"city":"Paris"}`)),
	},
	{
		id:   "QG-02",
		wire: chunks(say(`{"functionCall":{"name":"a","args":{"x": 1},"id":"8hd01vsf"}}`, ""), say(`{"text":""}`, stop)),
		body: say(`{"functionCall":{"name":"a","args":{"x":1},"id":"8hd01vsf"}},{"text":""}`, stop),
		turn: stopped(call("8hd01vsf", "a", `{"x":1}`)),
	},
	{
		id:   "QG-03",
		wire: chunks(say(`{"functionCall":{"name":"a","args":{"n":1}}},{"functionCall":{"name":"a","args":{"n":2}}}`, stop)),
		body: say(`{"functionCall":{"name":"a","args":{"n":1}}},{"functionCall":{"name":"a","args":{"n":2}}}`, stop),
		turn: stopped(call("", "a", `{"n":1}`), call("", "a", `{"n":2}`)),
		test: testIDs,
	},
	{
		id: "QG-04",
		wire: chunks(
			say(`{"text":"Once"}`, ""), say(`{"text":" more."}`, ""), say(`{"text":"","thoughtSignature":"CpcB2"}`, ""),
			say(`{"functionCall":{"name":"a","args":{}},"thoughtSignature":"CpcB3"},{"functionCall":{"name":"b"}}`, stop),
		),
		body: say(`{"text":"Once more.","thoughtSignature":"CpcB2"},{"functionCall":{"name":"a","args":{}},"thoughtSignature":"CpcB3"},{"functionCall":{"name":"b"}}`, stop),
		turn: stopped(
			llm.Text{Text: "Once more.", Opaque: opaque(`{"thoughtSignature":"CpcB2"}`)},
			llm.ToolCall{Name: "a", Arguments: "{}", Opaque: opaque(`{"thoughtSignature":"CpcB3"}`)}, call("", "b", "{}"),
		),
		test: testSignatures,
	},
	{id: "QG-05", why: "the server refuses such a request; testIDs shows that as many results are sent as there are calls", test: testIDs},
	{
		id:   "QG-06",
		wire: chunks(say(`{"text":"I will call a."}`, ""), `{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL","finishMessage":"Malformed function call: print(","index":0}]}`),
		body: say(`{"text":"I will call a."}`, `,"finishReason":"MALFORMED_FUNCTION_CALL","finishMessage":"Malformed function call: print("`),
		turn: func() *llm.Response {
			t := done(llm.FinishMalformedCall, "MALFORMED_FUNCTION_CALL", text("I will call a."))
			t.FinishMessage = "Malformed function call: print("
			return t
		}(),
	},
	{
		id: "QG-07", wire: chunks(`{"candidates":[{"finishReason":"STOP","index":0}]}`),
		body: `{"candidates":[{"finishReason":"STOP","index":0}]}`, turn: stopped(),
	},
	{
		id: "QG-07", wire: chunks(`{"candidates":[{"content":{"role":"model"},"finishReason":"STOP"}]}`),
		body: `{"candidates":[{"content":{"role":"model","parts":null},"finishReason":"STOP"}]}`, turn: stopped(),
	},
	{
		id: "QG-08", wire: chunks(say("", stop)), body: say(`{"text":""}`, stop), turn: stopped(),
	},
	{
		id:   "QG-08",
		wire: chunks(`{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},"usageMetadata":{"promptTokenCount":7}}`),
		body: `{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},"usageMetadata":{"promptTokenCount":7}}`,
		turn: warned(&llm.Response{FinishReason: llm.FinishUnknown, Usage: llm.Usage{InputTokens: 7}}, llm.WarnNoFinish),
		err:  &llm.APIError{Code: "PROHIBITED_CONTENT", Message: "the prompt was blocked"},
	},
	{
		id: "QG-08", body: `{"usageMetadata":{"promptTokenCount":7}}`,
		turn: warned(&llm.Response{FinishReason: llm.FinishUnknown, Usage: llm.Usage{InputTokens: 7}}, llm.WarnNoFinish),
	},
	{
		id: "QG-09",
		wire: chunks(
			`{"candidates":[{"content":{"parts":[{"text":"One, "}]}}],"usageMetadata":{"promptTokenCount":30,"totalTokenCount":30}}`,
			`{"candidates":[{"content":{"parts":[{"text":"two."}]}}],"usageMetadata":{"promptTokenCount":30,"candidatesTokenCount":4,"thoughtsTokenCount":2,"cachedContentTokenCount":5,"toolUsePromptTokenCount":3}}`,
			`{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":30,"candidatesTokenCount":7}}`,
			`{"usageMetadata":{"promptTokenCount":30}}`,
		),
		turn: func() *llm.Response {
			t := stopped(text("One, two."))
			t.Usage = llm.Usage{InputTokens: 33, OutputTokens: 9, CacheReadInputTokens: 5, ReasoningOutputTokens: 2}
			return t
		}(),
	},
	{
		id: "QG-09", wire: chunks(say(`{"text":"One, "}`, ""), say(`{"functionCall":{"name":"a"}}`, "")),
		turn: warned(done(llm.FinishUnknown, "", text("One, "), call("", "a", "{}")), llm.WarnNoFinish), err: protocol.ErrTruncated,
	},
	{
		id: "QG-10",
		wire: chunks(
			say(`{"functionCall":{"name":"read","willContinue":true},"thoughtSignature":"Cg"}`, ""),
			say(`{"functionCall":{"partialArgs":[{"jsonPath":"$.q","stringValue":"ab","willContinue":true}],"willContinue":true}}`, ""),
			say(`{"functionCall":{"partialArgs":[{"jsonPath":"$.q","stringValue":"c"},{"jsonPath":"$.n","numberValue":1.5}],"willContinue":true}}`, ""),
			say(`{"functionCall":{"partialArgs":[{"jsonPath":"$.a.b[0]","boolValue":true},{"jsonPath":"$.a.b[1]","nullValue":"NULL_VALUE"}],"willContinue":true}}`, ""),
			say(`{"functionCall":{}}`, ""),
			say(`{"functionCall":{"name":"theme"}}`, ""),
			say(`{"text":""}`, stop),
		),
		turn: stopped(
			llm.ToolCall{Name: "read", Arguments: `{"q":"abc","n":1.5,"a":{"b":[true,null]}}`, Opaque: opaque(`{"thoughtSignature":"Cg"}`)},
			call("", "theme", "{}"),
		),
	},
	{
		id: "QG-11", wire: chunks(say(`{"functionCall":{"name":"a"}}`, `,"finishReason":"UNEXPECTED_TOOL_CALL","finishMessage":"Unexpected tool call: a"`)),
		body: say(`{"functionCall":{"name":"a"}}`, `,"finishReason":"UNEXPECTED_TOOL_CALL","finishMessage":"Unexpected tool call: a"`),
		turn: func() *llm.Response {
			t := done(llm.FinishMalformedCall, "UNEXPECTED_TOOL_CALL", call("", "a", "{}"))
			t.FinishMessage = "Unexpected tool call: a"
			return t
		}(),
	},
	{
		id: "QG-12", wire: chunks(say(`{"text":"The"}`, ""), `{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}`),
		turn: warned(done(llm.FinishUnknown, "", text("The")), llm.WarnNoFinish),
		err:  &llm.APIError{Status: 503, Code: "UNAVAILABLE", Message: "The model is overloaded.", Retryable: true},
	},
	{
		id: "QG-12", wire: "{\"error\":{\"code\":503,\r\n\"message\":\"The model is overloaded.\",\r\n\"status\":\"UNAVAILABLE\"}}\r\n",
		body: `{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}`,
		turn: warned(done(llm.FinishUnknown, ""), llm.WarnNoFinish),
		err:  &llm.APIError{Status: 503, Code: "UNAVAILABLE", Message: "The model is overloaded.", Retryable: true},
	},

	{id: "QT-01", wire: strings.ReplaceAll(chunks(say(`{"text":"a\u2028b"}`, ""), say("{\"text\":\"\u2028\u0085\"}", stop)), "\r\n", "\n"), turn: stopped(text("a\u2028b\u2028\u0085"))},
	{id: "QT-01", wire: strings.ReplaceAll(chunks(say(`{"text":"a"}`, ""), say(`{"text":"b"}`, stop)), "\r\n", "\r"), turn: stopped(text("ab"))},
	{
		id:   "QT-02",
		wire: "\ufeff: hello\nretry: 5\nid: 1\ndata:{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\"}]},\ndata:\"finishReason\":\"STOP\"}]}\n\n: bye\n",
		turn: stopped(text("a")),
	},
	{id: "QT-03", test: testLongLines},
	{id: "QT-04", wire: chunks(say(`{"text":"é \u00e9 \ud83d\ude00 😀"}`, stop)), turn: stopped(text("é é 😀 😀"))},
	{
		id: "QT-05", wire: "data: " + say(`{"functionCall":{"name":"a"}}`, "") + "\n\ndata: {\"candidates\":[{\"cont",
		turn: warned(done(llm.FinishUnknown, "", call("", "a", "{}")), llm.WarnNoFinish), err: errAny,
	},
	{id: "QT-06", test: testRetries},
	{id: "QT-07", test: testRefusals},
	{id: "QT-08", test: testBodies},
	{
		id: "QT-09",
		wire: chunks(say(`{"functionCall":{"name":"a","args":[1]}},{"functionCall":{"name":"b","args":{"a":1,"a":2}}},`+
			`{"functionCall":{"name":"c","args":{"s":"\ud83d"}}},{"functionCall":{"name":"d","args":"{\"a\":1} x"}},`+
			`{"functionCall":{"name":"e","args":`+strings.Repeat("[", 500)+strings.Repeat("]", 500)+`}}`, stop)),
		turn: stopped(call("", "a", "[1]"), call("", "b", `{"a":1,"a":2}`), call("", "c", `{"s":"\ud83d"}`),
			call("", "d", `{"a":1} x`), call("", "e", strings.Repeat("[", 500)+strings.Repeat("]", 500))),
		test: testEchoedArguments,
	},
	{id: "QT-10", why: "a stall is ended by the loop's deadline"},
	{
		id: "QT-11", wire: chunks(say(`{"text":"a"}`, stop), "[DONE]", say(`{"text":"b"}`, stop)), turn: stopped(text("a")),
		why: "Gemini has no terminal mark; a gateway's is heeded",
	},
}

// errAny means an error of any type.
var errAny = errors.New("any")

func TestQuirks(t *testing.T) {
	for i, q := range quirks {
		t.Run(fmt.Sprintf("%s/%d", q.id, i), func(t *testing.T) {
			if q.wire == "" && q.body == "" && q.test == nil && q.why == "" {
				t.Fatal("nothing shows this quirk")
			}
			if q.wire != "" {
				got, _, err := stream(strings.NewReader(q.wire))
				q.hold(t, got, err)
				cuts(t, q.wire)
			}
			if q.body != "" {
				got, err := whole([]byte(q.body))
				q.hold(t, got, err)
			}
			if q.test != nil {
				q.test(t)
			}
		})
	}
}

func (q *quirk) hold(t *testing.T, got *llm.Response, err error) {
	t.Helper()
	if diff := cmp.Diff(q.turn, got, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(llm.Warning{}, "Message")); diff != "" {
		t.Errorf("the response (-want +got):\n%s", diff)
	}
	want, isAPI := errors.AsType[*llm.APIError](q.err)
	switch {
	case isAPI:
		if diff := cmp.Diff(want, apiError(t, err)); diff != "" {
			t.Errorf("the error (-want +got):\n%s", diff)
		}
	case q.err == errAny && err == nil:
		t.Error("got no error")
	case q.err != errAny && !errors.Is(err, q.err):
		t.Errorf("the error is %v, want %v", err, q.err)
	}
}

// Each quirk of Gemini and of any provider has a row.
func TestQuirksTableIsComplete(t *testing.T) {
	var ids []string
	for _, q := range quirks {
		ids = append(ids, q.id)
	}
	for _, of := range []struct {
		kind string
		n    int
	}{{"QG", 12}, {"QT", 11}} {
		for i := 1; i <= of.n; i++ {
			if id := fmt.Sprintf("%s-%02d", of.kind, i); !slices.Contains(ids, id) {
				t.Errorf("the quirk %s is not in the table", id)
			}
		}
	}
	doc, err := os.ReadFile(shared(t, "quirks.md"))
	if err != nil {
		t.Skipf("the list itself is not here to compare with: %v", err)
	}
	for _, m := range regexp.MustCompile(`(?m)^\| (Q[GT]-\d+) \|`).FindAllSubmatch(doc, -1) {
		if !slices.Contains(ids, string(m[1])) {
			t.Errorf("the quirk %s of the list is not in the table", m[1])
		}
	}
}

func testLongLines(t *testing.T) {
	long := strings.Repeat("é", 1<<20)
	got, _, err := stream(strings.NewReader(chunks(say(`{"text":"`+long+`"}`, stop))))
	if err != nil || got.Text() != long {
		t.Errorf("got %d bytes, %v", len(got.Text()), err)
	}
}

func testRetries(t *testing.T) {
	body := `{"error":{"code":429,"message":"Quota exceeded.","status":"RESOURCE_EXHAUSTED","details":[` +
		`{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerMinutePerProject"}]},` +
		`{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.5s"}]}}`
	want := &llm.APIError{Status: 429, Code: "RESOURCE_EXHAUSTED", Message: "Quota exceeded.", Retryable: true, RetryAfter: 34500 * time.Millisecond}
	if diff := cmp.Diff(want, codec.DecodeError(429, nil, []byte(body))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	daily := codec.DecodeError(429, nil, []byte(strings.Replace(body, "PerMinute", "PerDay", 1)))
	if daily.Retryable || daily.Code != "DAILY_QUOTA_EXCEEDED" {
		t.Errorf("a quota for a day: %+v", daily)
	}
	for _, status := range []int{500, 502, 503, 529} {
		if e := codec.DecodeError(status, nil, nil); !e.Retryable || e.Status != status {
			t.Errorf("status %d: %+v", status, e)
		}
	}
}

func testRefusals(t *testing.T) {
	for _, status := range []int{400, 401, 403, 404, 413} {
		e := codec.DecodeError(status, nil, []byte(`{"error":{"code":1,"message":"no","status":"INVALID_ARGUMENT"}}`))
		if diff := cmp.Diff(&llm.APIError{Status: status, Code: "INVALID_ARGUMENT", Message: "no"}, e); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func testBodies(t *testing.T) {
	answer := say(`{"text":"hello"}`, stop)
	for _, body := range []string{answer, "[" + say(`{"text":"hel"}`, "") + ",\r\n" + say(`{"text":"lo"}`, stop) + "]"} {
		got, err := whole([]byte(body))
		if err != nil || got.Text() != "hello" || got.FinishReason != llm.FinishStop {
			t.Errorf("%s: %+v, %v", body, got, err)
		}
	}
	for _, body := range []string{"", "<html>520</html>", `"text"`, `{}`, `{"text":"x"}`, "[]"} {
		if _, err := whole([]byte(body)); message(err) != common.UnexpectedBody([]byte(body)).Error() {
			t.Errorf("%q: %v", body, err)
		}
	}
	_, err := whole([]byte(`{"error":"too many","error_type":"overloaded"}`))
	if diff := cmp.Diff(&llm.APIError{Code: "overloaded", Message: "too many"}, apiError(t, err)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := whole([]byte(answer[:40])); !errors.Is(err, protocol.ErrTruncated) {
		t.Errorf("half a response: %v", err)
	}
	if _, err := whole([]byte(answer + "x")); err == nil || errors.Is(err, protocol.ErrTruncated) {
		t.Errorf("data after a response: %v", err)
	}
	e := codec.DecodeError(520, nil, []byte("<html>520</html>"))
	if diff := cmp.Diff(&llm.APIError{Status: 520, Message: "<html>520</html>", Retryable: true}, e); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if e := codec.DecodeError(404, nil, nil); e.Message != "Not Found" {
		t.Errorf("an empty body: %+v", e)
	}
}

// contents is the conversation on the wire.
func contents(t *testing.T, model string, messages ...llm.Message) string {
	t.Helper()
	r, err := codec.EncodeRequest(&llm.Request{Model: model, Messages: messages})
	if err != nil {
		t.Fatal(err)
	}
	var v struct{ Contents json.RawMessage }
	if err := json.Unmarshal(r.Body, &v); err != nil {
		t.Fatalf("%v: %s", err, r.Body)
	}
	return string(v.Contents)
}

func testIDs(t *testing.T) {
	minted := llm.ToolCall{ID: "loop_call_1", Name: "a", Arguments: "{}", IDGenerated: true}
	again := llm.ToolCall{ID: "loop_call_2", Name: "b", Arguments: "{}", IDGenerated: true, ProviderID: "x"}
	got := contents(t, "gemini-2.5-pro",
		llm.Assistant(minted, again, call("x", "c", "{}")),
		llm.ToolResults(llm.ToolResult{ID: "loop_call_1", Name: "a", Content: []llm.Part{text("A")}}),
		llm.ToolResults(llm.ToolResult{ID: "loop_call_2", IsError: true, Content: []llm.Part{text("B")}}, llm.ToolResult{ID: "x"}),
	)
	want := `[{"parts":[{"functionCall":{"name":"a","args":{}}},{"functionCall":{"id":"x","name":"b","args":{}}},{"functionCall":{"id":"x","name":"c","args":{}}}],"role":"model"},` +
		`{"parts":[{"functionResponse":{"name":"a","response":{"result":"A"}}},{"functionResponse":{"id":"x","name":"b","response":{"error":"B"}}},{"functionResponse":{"id":"x","name":"c","response":{"result":""}}}],"role":"user"}]`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func testSignatures(t *testing.T) {
	history := []llm.Message{
		llm.User("go"),
		llm.Assistant(
			llm.Reasoning{Text: "hm", Opaque: opaque(`{"signature":"of another","encrypted_content":"e"}`)},
			llm.Text{Text: "Once more.", Opaque: opaque(`{"thoughtSignature":"CpcB2"}`)},
			llm.ToolCall{ID: "1", Name: "a", Arguments: "{}", Opaque: opaque(`{"thoughtSignature":"CpcB3"}`)}, call("2", "b", "{}"),
		),
	}
	want := `[{"parts":[{"text":"go"}],"role":"user"},{"parts":[{"text":"Once more.","thoughtSignature":"CpcB2"},` +
		`{"functionCall":{"id":"1","name":"a","args":{}},"thoughtSignature":"CpcB3"},{"functionCall":{"id":"2","name":"b","args":{}}}],"role":"model"}]`
	for _, model := range []string{"gemini-2.5-pro", "gemini-3-pro-preview"} {
		if diff := cmp.Diff(want, contents(t, model, history...)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", model, diff)
		}
	}
	// A call that another model made has none (refusal SG-04).
	foreign := llm.Assistant(call("1", "a", "{}"), call("2", "b", "{}"))
	want = `[{"parts":[{"functionCall":{"id":"1","name":"a","args":{}}%s},{"functionCall":{"id":"2","name":"b","args":{}}}],"role":"model"}]`
	const skipped = `,"thoughtSignature":"skip_thought_signature_validator"`
	for model, sign := range map[string]string{
		"gemini-2.5-pro": "", "gemini-1.5-pro-latest": "", "gemini-exp-1206": "", "m-latest": "",
		"gemini-3-flash": skipped, "gemini-flash-latest": skipped, "publishers/google/models/gemini-10-pro": skipped,
	} {
		if diff := cmp.Diff(fmt.Sprintf(want, sign), contents(t, model, foreign)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", model, diff)
		}
	}
}

func testEchoedArguments(t *testing.T) {
	for args, want := range map[string]string{
		"":                             `{}`,
		" {\"a\" : 1} ":                `{"a":1}`,
		`[1]`:                          `{}`,
		`{"a":1} x`:                    `{}`,
		`{"a`:                          `{}`,
		"{\"a\":\"\xff\"}":             `{}`,
		`{"s":"\ud83d","\uDe00":1}`:    `{"s":"\ufffd","\ufffd":1}`,
		`{"s":"\ud83d\ude00\\ud83d"}`:  `{"s":"\ud83d\ude00\\ud83d"}`,
		`{"s":"\ud83d\ud83d\ude00\n"}`: `{"s":"\ufffd\ud83d\ude00\n"}`,
		`{"s":"\ud83dx","t":"\ud7ff"}`: `{"s":"\ufffdx","t":"\ud7ff"}`,
		`{"s":"\ud83d\n"}`:             `{"s":"\ufffd\n"}`,
		`{"s":"\uD83D\u00e9\uDBFF"}`:   `{"s":"\ufffd\u00e9\ufffd"}`,
		`{"x":` + strings.Repeat("[", 89) + strings.Repeat("]", 89) + `}`: `{"x":` + strings.Repeat("[", 89) + strings.Repeat("]", 89) + `}`,
		`{"x":` + strings.Repeat("[", 90) + strings.Repeat("]", 90) + `}`: `{}`,
		`{"x":["[[\"[[",{},{"y":[]}]}`:                                    `{"x":["[[\"[[",{},{"y":[]}]}`,
	} {
		got := contents(t, "m", llm.Assistant(call("", "a", args)))
		if want := `[{"parts":[{"functionCall":{"name":"a","args":` + want + `}}],"role":"model"}]`; got != want {
			t.Errorf("%s: got %s, want %s", args, got, want)
		}
	}
}
