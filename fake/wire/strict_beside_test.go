package wire_test

import (
	"cmp"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire"
)

// Anthropic requires the version of its API in a header or, for Bedrock and Vertex AI, in the
// body.
func TestStrictVersion(t *testing.T) {
	for _, c := range []struct {
		header, body string
		want         int
	}{
		{"", claudeBody("some-model", claudeUser), http.StatusBadRequest},
		{"2023-06-01", claudeBody("some-model", claudeUser), http.StatusOK},
		{"", claudeBody("some-model", claudeUser, `"anthropic_version":"vertex-2023-10-16"`), http.StatusOK},
	} {
		s := wire.New(wire.Config{Model: fake.NewModel(fake.Response{Text: "ok"})})
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, strictPaths["SA"], strings.NewReader(c.body))
		r.Header.Set("X-Api-Key", "some-key")
		r.Header.Set("Anthropic-Version", c.header)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code != c.want || c.want != http.StatusOK && !strings.Contains(w.Body.String(), "anthropic-version: header is required") {
			t.Errorf("with %q, %s: %d %s", c.header, c.body, w.Code, w.Body)
		}
	}
}

// Requests that no rule describes are rejected as the providers do, without an id.
func TestStrictWithoutRule(t *testing.T) {
	const chat, responses, messages, generate = "SO", "SR", "SA", "SG"
	long := strings.Repeat("n", 65)
	for name, c := range map[string]struct {
		to, body   string
		status     int
		kind       string
		param      string
		code       string
		saidInPart string
	}{
		"no JSON for Chat Completions":       {to: chat, body: "{", saidInPart: "The body of the request is not valid JSON: "},
		"no JSON for Responses":              {to: responses, body: "{", saidInPart: "The body of the request is not valid JSON: "},
		"no JSON for Anthropic":              {to: messages, body: "{", saidInPart: "The request body is not valid JSON: "},
		"no JSON for Gemini":                 {to: generate, body: "{", kind: "INVALID_ARGUMENT", saidInPart: "Invalid JSON payload received. "},
		"no messages":                        {to: chat, body: `{"messages":null}`, param: "messages", code: "missing_required_parameter", saidInPart: "Missing required parameter: 'messages'."},
		"an empty list of tools":             {to: chat, body: chatBody("some-model", chatUser, `"tools":[]`), param: "tools", code: "empty_array"},
		"a long name":                        {to: chat, body: chatBody("some-model", chatUser, chatTool(long, "")), param: "tools[0].function.name", code: "string_above_max_length"},
		"an unknown role":                    {to: chat, body: chatBody("some-model", `{"role":"model","content":"hi"}`), param: "messages[0].role", code: "invalid_value"},
		"a bad name of a call":               {to: chat, body: chatBody("some-model", chatUser+","+chatCallAs("call_1", "a b")), param: "messages[1].tool_calls[0].function.name", code: "invalid_value"},
		"another kind of value":              {to: chat, body: chatBody("some-model", `{"role":"user","content":5}`), saidInPart: "Chat Completions"},
		"an empty name on Responses":         {to: responses, body: responsesBody(itemUser + `,{"type":"function_call","call_id":"c","name":"","arguments":""}`), param: "input[1].name", code: "empty_string"},
		"another kind of value on Responses": {to: responses, body: `{"model":"some-model","input":5}`},
		"arguments that are not a string":    {to: chat, body: chatBody("some-model", chatUser+","+strings.ReplaceAll(chatCalled, `"{}"`, `{}`)+","+chatOne+","+chatTwo), param: "messages[1].tool_calls[0].function.arguments", code: "invalid_type", saidInPart: "Invalid type for 'messages[1].tool_calls[0].function.arguments': expected a string, but got an object instead."},
		"a call without a type":              {to: chat, body: chatBody("some-model", chatUser+","+strings.ReplaceAll(chatCalled, `"type":"function",`, "")+","+chatOne+","+chatTwo), param: "messages[1].tool_calls[0].type", code: "missing_required_parameter", saidInPart: "Missing required parameter: 'messages[1].tool_calls[0].type'."},
		"input that is a text":               {to: messages, body: claudeBody("some-model", claudeUser+","+strings.ReplaceAll(claudeCalled, `"input":{}`, `"input":"{}"`)+","+claudeResults(claudeOne, claudeTwo)), saidInPart: "messages.1.content.1.tool_use.input: Input should be a valid dictionary"},
		"a text of space":                    {to: messages, body: claudeBody("some-model", `{"role":"user","content":" \n"}`), saidInPart: "messages: text content blocks must contain non-whitespace text"},
		"a blank text next to another":       {to: messages, body: claudeBody("some-model", claudeMessage("user", `{"type":"text","text":"hi"}`, `{"type":"text","text":" "}`)), saidInPart: "messages: text content blocks must contain non-whitespace text"},
		"an unknown model of Anthropic":      {to: messages, body: claudeBody("x", ""), status: 404, kind: "not_found_error", saidInPart: "model: x"},
		"no messages of Anthropic":           {to: messages, body: `{"max_tokens":1}`, saidInPart: "messages: Field required"},
		"an empty list of messages":          {to: messages, body: claudeBody("some-model", ""), saidInPart: "messages: at least one message is required"},
		"no schema":                          {to: messages, body: claudeBody("some-model", claudeUser, claudeTools(claudeTool("f", ""))), saidInPart: "tools.0.custom.input_schema: Field required"},
		"a schema of another type":           {to: messages, body: claudeBody("some-model", claudeUser, claudeTools(claudeTool("f", `,"input_schema":{}`))), saidInPart: "tools.0.custom.input_schema.type: Input should be 'object'"},
	} {
		t.Run(name, func(t *testing.T) {
			s := wire.New(wire.Config{Model: fake.NewModel(fake.Response{Text: "ok"}), Models: []string{"some-model", ""}})
			w := post(t, s, cmp.Or(strictPaths[c.to], c.to), c.body)
			if w.Code != cmp.Or(c.status, http.StatusBadRequest) {
				t.Fatalf("%d %s", w.Code, w.Body)
			}
			r := s.Report().RejectedRequests
			if len(r) != 1 || !strings.Contains(r[0].Message, c.saidInPart) {
				t.Fatalf("the report is %+v", r)
			}
			want := wire.RejectedRequest{Request: 1, Protocol: r[0].Protocol, Session: r[0].Session, Status: w.Code, Type: cmp.Or(c.kind, "invalid_request_error"), Param: c.param, Code: c.code, Message: r[0].Message}
			if diff := gocmp.Diff(want, r[0]); diff != "" {
				t.Errorf("the report (-want +got):\n%s", diff)
			}
		})
	}
}
