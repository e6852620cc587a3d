package chat_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/openai"
	"github.com/looptape/looptape/providers/openai/chat"
)

// TestChatErrors has the forms of errors, including those of the quirks QT-06 and
// QT-07.
func TestChatErrors(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		want   llm.APIError
	}{
		{429, `{"error":{"message":"Slow down","type":"requests","param":null,"code":"rate_limit_exceeded"}}`, llm.APIError{Status: 429, Code: "rate_limit_exceeded", Message: "Slow down", Retryable: true}},
		{429, `{"error":{"message":"No money","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`, llm.APIError{Status: 429, Code: "insufficient_quota", Message: "No money"}},
		{429, `{"error":{"message":"No money","type":"insufficient_quota","code":null}}`, llm.APIError{Status: 429, Code: "insufficient_quota", Message: "No money"}},
		{400, `{"error":{"message":"Bad","type":"invalid_request_error","param":"messages","code":null}}`, llm.APIError{Status: 400, Code: "invalid_request_error", Message: "Bad"}},
		{400, `{"error":{"message":"Bad","type":"server_error"}}`, llm.APIError{Status: 400, Code: "server_error", Message: "Bad"}},
		{500, `{"error":{"message":"Ours","type":"server_error","code":null}}`, llm.APIError{Status: 500, Code: "server_error", Message: "Ours", Retryable: true}},
		{503, `{"error":{"message":"Busy","code":503,"metadata":{"raw":"upstream is down","provider_name":"p"}}}`, llm.APIError{Status: 503, Code: "503", Message: "Busy: upstream is down", Retryable: true}},
		{503, `{"error":{"metadata":{"raw":"upstream is down"}}}`, llm.APIError{Status: 503, Message: "upstream is down", Retryable: true}},
		{503, `{"error":{"message":"Busy","metadata":[]}}`, llm.APIError{Status: 503, Message: "Busy", Retryable: true}},
		{404, `{"object":"error","message":"The model does not exist.","type":"NotFoundError","param":null,"code":404}`, llm.APIError{Status: 404, Code: "NotFoundError", Message: "The model does not exist."}},
		{422, `{"error":"Input is too long","error_type":"validation"}`, llm.APIError{Status: 422, Code: "validation", Message: "Input is too long"}},
		{422, `{"detail":[{"loc":["body"],"msg":"field required"}]}`, llm.APIError{Status: 422, Message: `[{"loc":["body"],"msg":"field required"}]`}},
		{403, `{"detail":"Forbidden"}`, llm.APIError{Status: 403, Message: "Forbidden"}},
		{400, `{"object":"error","message":"Not the same number","type":"invalid_request_message_order","code":"3230"}`, llm.APIError{Status: 400, Code: "3230", Message: "Not the same number"}},
		{400, `[{"error":{"code":400,"message":"Bad","status":"INVALID_ARGUMENT"}}]`, llm.APIError{Status: 400, Code: "INVALID_ARGUMENT", Message: "Bad"}},
		{502, `<html>Bad gateway</html>`, llm.APIError{Status: 502, Message: "<html>Bad gateway</html>", Retryable: true}},
		{520, ``, llm.APIError{Status: 520, Retryable: true}},
		{500, `"oh"`, llm.APIError{Status: 500, Message: `"oh"`, Retryable: true}},
		{500, `[]`, llm.APIError{Status: 500, Message: `[]`, Retryable: true}},
		{500, `{}`, llm.APIError{Status: 500, Message: `{}`, Retryable: true}},
		{500, `{"error":{"message":"a"`, llm.APIError{Status: 500, Message: `{"error":{"message":"a"`, Retryable: true}},
		{200, `{"error":{"message":"Busy","code":503}}`, llm.APIError{Status: 503, Code: "503", Message: "Busy", Retryable: true}},
		{200, `{"error":{"message":"Busy","code":99}}`, llm.APIError{Status: 200, Code: "99", Message: "Busy"}},
		{200, `{"error":{"message":"Busy","code":100}}`, llm.APIError{Status: 100, Code: "100", Message: "Busy"}},
		{200, `{"error":{"message":"Busy","code":599}}`, llm.APIError{Status: 599, Code: "599", Message: "Busy", Retryable: true}},
		{200, `{"error":{"message":"Busy","code":600}}`, llm.APIError{Status: 200, Code: "600", Message: "Busy"}},
		{399, `{"error":{"message":"Busy","code":400}}`, llm.APIError{Status: 400, Code: "400", Message: "Busy"}},
		{400, `{"error":{"message":"Busy","code":500}}`, llm.APIError{Status: 400, Code: "500", Message: "Busy"}},
		{200, `{"error":{"message":"Busy","type":"overloaded_error"}}`, llm.APIError{Status: 200, Code: "overloaded_error", Message: "Busy", Retryable: true}},
		{200, `{"error":{"message":"Busy","type":"x","code":"timeout"}}`, llm.APIError{Status: 200, Code: "timeout", Message: "Busy", Retryable: true}},
		{200, `{"error":{"message":"Bad","type":"x"}}`, llm.APIError{Status: 200, Code: "x", Message: "Bad"}},
		{400, `{"message":"outer","error":{"message":"inner","code":null,"type":null}}`, llm.APIError{Status: 400, Message: "inner"}},
		{400, `{"error":"outer","message":"better"}`, llm.APIError{Status: 400, Message: "better"}},
	} {
		got := chat.Protocol{}.DecodeError(c.status, http.Header{}, []byte(c.body))
		if diff := cmp.Diff(&c.want, got); diff != "" {
			t.Errorf("%d %s (-want +got):\n%s", c.status, c.body, diff)
		}
	}
}

func TestChatErrorsWritten(t *testing.T) {
	for _, c := range []struct {
		err  llm.APIError
		want string
	}{
		{llm.APIError{Status: 429, Code: "rate_limit_exceeded", Message: "Slow \"down\""}, `{"error":{"message":"Slow \"down\"","type":"requests","param":null,"code":"rate_limit_exceeded"}}`},
		{llm.APIError{Status: 429, Code: "insufficient_quota", Message: "No"}, `{"error":{"message":"No","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`},
		{llm.APIError{Status: 404, Code: "model_not_found", Message: "No"}, `{"error":{"message":"No","type":"invalid_request_error","param":null,"code":"model_not_found"}}`},
		{llm.APIError{Status: 400, Code: "invalid_request_error", Message: "No"}, `{"error":{"message":"No","type":"invalid_request_error","param":null,"code":null}}`},
		{llm.APIError{Status: 499, Message: "No"}, `{"error":{"message":"No","type":"invalid_request_error","param":null,"code":null}}`},
		{llm.APIError{Status: 500, Code: "server_error", Message: "No"}, `{"error":{"message":"No","type":"server_error","param":null,"code":null}}`},
	} {
		if diff := cmp.Diff(c.want, string(chat.Protocol{}.EncodeError(&c.err))); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	const want = `{"error":{"message":"m","type":"t","param":"messages[0].role","code":"c"}}`
	got := openai.Error{Message: "m", Type: "t", Param: "messages[0].role", Code: "c"}.AppendJSON(nil)
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestChatGivenUp has reasons that are errors, and words of their own.
func TestChatFinishReasons(t *testing.T) {
	for word, want := range map[string]chatWant{
		"stop":                          {finish: llm.FinishStop},
		"length":                        {finish: llm.FinishLength},
		"content_filter":                {finish: llm.FinishContentFilter},
		"tool_calls":                    {finish: llm.FinishToolCalls, warnings: llm.WarnNoCalls},
		"function_call":                 {finish: llm.FinishToolCalls, raw: "function_call", warnings: llm.WarnNoCalls},
		"eos_token":                     {finish: llm.FinishStop, raw: "eos_token"},
		"eos":                           {finish: llm.FinishStop, raw: "eos"},
		"stop_sequence":                 {finish: llm.FinishStop, raw: "stop_sequence"},
		"end_turn":                      {finish: llm.FinishStop, raw: "end_turn"},
		"max_tokens":                    {finish: llm.FinishLength, raw: "max_tokens"},
		"model_length":                  {finish: llm.FinishLength, raw: "model_length"},
		"model_context_window_exceeded": {finish: llm.FinishLength, raw: "model_context_window_exceeded"},
		"sensitive":                     {finish: llm.FinishContentFilter, raw: "sensitive"},
		"new":                           {finish: llm.FinishUnknown, raw: "new"},
		"error":                         {err: "no response error: the provider aborted the response"},
		"network_error":                 {err: "no response network_error: the provider aborted the response"},
		"insufficient_system_resource":  {err: "no response insufficient_system_resource: the provider aborted the response"},
	} {
		want.parts = chatParts(chatText("Hi"))
		turn, err := chatTurn(strings.NewReader(chatStream(chatDelta(`"content":"Hi"`, word))))
		want.hold(t, word, turn, err)
		turn, err = chatAnswer(chatWhole(`"content":"Hi"`, `"`+word+`"`))
		want.hold(t, word, turn, err)
	}
}
