package anthropic_test

import (
	"strings"
	"testing"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/anthropic"
)

// testContinued checks that a paused response goes back unchanged, with its container.
func testContinued(t *testing.T) {
	got := encodeRequest(t, &llm.Request{Model: "m", Messages: []llm.Message{
		llm.User("Look for x."),
		{Role: llm.RoleAssistant, Parts: []llm.Part{llm.Text{Text: "Searching."}}, Opaque: raw(`{"container":{"id":"container_9","expires_at":"2026"}}`)},
	}})
	want := `{"model":"m","max_tokens":4096,"messages":[{"role":"user","content":[{"type":"text","text":"Look for x."}]},` +
		`{"role":"assistant","content":[{"type":"text","text":"Searching."}]}],"container":"container_9","stream":true}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// testUnanswered shows that the refusal of an unanswered call reaches the caller.
func testUnanswered(t *testing.T) {
	const text = "messages.22: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1."
	e := anthropic.Messages{}.DecodeError(400, nil, anthropic.Messages{}.EncodeError(&llm.APIError{Status: 400, Message: text}))
	if e.Message != text || e.Retryable || e.Code != "invalid_request_error" {
		t.Errorf("the error is %+v", e)
	}
}

// testArguments checks what is sent back for arguments that are not a JSON object (SA-20).
func testArguments(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{``, `{}`},
		{`city: Paris`, `{}`},
		{`{"a":1} please`, `{}`},
		{`["Paris"]`, `{}`},
		{`"Paris"`, `{}`},
		{`null`, `{}`},
		{`{"a":"` + "\xff" + `"}`, `{}`},
		{` {"a": 1} `, `{"a":1}`},
		{`{"a":1,"a":2}`, `{"a":1,"a":2}`},
		{`{"s":"\ud83d"}`, `{"s":"\ufffd"}`},
		{`{"s":"\uDE00\uD83Dx"}`, `{"s":"\ufffd\ufffdx"}`},
		{`{"s":"\ud83d\u0041"}`, `{"s":"\ufffd\u0041"}`},
		{`{"s":"\ud83d\ude00\\ud83d\dca"}`, `{}`},
		{`{"s":"\uD83D\uDE00\\ud83d"}`, `{"s":"\uD83D\uDE00\\ud83d"}`},
		{`{"\ud83d":"\n\ud83d\n"}`, `{"\ufffd":"\n\ufffd\n"}`},
		{`{"s":"\u0064\udbff"}`, `{"s":"\u0064\ufffd"}`},
		{strings.Repeat(`{"a":`, 499) + `{}` + strings.Repeat(`}`, 499), strings.Repeat(`{"a":`, 499) + `{}` + strings.Repeat(`}`, 499)},
		{strings.Repeat(`{"a":`, 500) + `{}` + strings.Repeat(`}`, 500), `{}`},
		{strings.Repeat(`{"a":`, 10000) + `1` + strings.Repeat(`}`, 10000), `{}`},
		{`{"a":"` + strings.Repeat(`[`, 600) + `\"{"}`, `{"a":"` + strings.Repeat(`[`, 600) + `\"{"}`},
	} {
		got := encodeRequest(t, &llm.Request{Messages: []llm.Message{llm.User("x"), llm.Assistant(call("toolu_1", "f", c.args))}})
		if !strings.Contains(got, `"input":`+c.want+`}`) {
			t.Errorf("arguments %.60q: the request is %.300s, want the input %.60s", c.args, got, c.want)
		}
	}
}
