package anthropic_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/anthropic"
	"github.com/looptape/looptape/providers/internal/codec"
	"github.com/looptape/looptape/providers/protocol"
)

// hasError reports whether an error is this [*llm.APIError].
func hasError(want llm.APIError) func(error) bool {
	return func(err error) bool {
		e, ok := errors.AsType[*llm.APIError](err)
		return ok && cmp.Equal(want, *e)
	}
}

func testErrors(t *testing.T) {
	page := "<html>" + strings.Repeat("x", 1000)
	for _, c := range []struct {
		name   string
		status int
		body   string
		want   llm.APIError
	}{
		{"429", 429, `{"type":"error","error":{"type":"rate_limit_error","message":"slow down"},"request_id":"req_1"}`,
			llm.APIError{Code: "rate_limit_error", Message: "slow down", RequestID: "req_1", Retryable: true}},
		{"529", 529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, llm.APIError{Code: "overloaded_error", Message: "Overloaded", Retryable: true}},
		{"500", 500, `{"type":"error","error":{"type":"api_error","message":"oops"}}`, llm.APIError{Code: "api_error", Message: "oops", Retryable: true}},
		{"502", 502, page, llm.APIError{Message: codec.Beginning([]byte(page)), Retryable: true}},
		{"503", 503, "", llm.APIError{Retryable: true}},
		{"400", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"bad"}}`, llm.APIError{Code: "invalid_request_error", Message: "bad"}},
		{"400 of an overloaded gateway", 400, `{"error":{"type":"overloaded_error","message":"busy"}}`, llm.APIError{Code: "overloaded_error", Message: "busy", Retryable: true}},
		{"403 with a type that passes elsewhere", 403, `{"error":{"type":"api_error","message":"no"}}`, llm.APIError{Code: "api_error", Message: "no"}},
		{"401", 401, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`, llm.APIError{Code: "authentication_error", Message: "invalid x-api-key"}},
		{"413", 413, `{"type":"error","error":{"type":"request_too_large","message":"big"}}`, llm.APIError{Code: "request_too_large", Message: "big"}},
		{"a text under error", 404, `{"error":"no such page","error_type":"gone"}`, llm.APIError{Code: "gone", Message: "no such page"}},
		{"a message alone", 403, `{"message":"denied","other":[1]}`, llm.APIError{Message: "denied"}},
		{"an error that is null", 400, `{"error":null}`, llm.APIError{Message: `{"error":null}`}},
		{"JSON that is not an error", 400, `{"a":1}`, llm.APIError{Message: `{"a":1}`}},
		{"an array", 400, `[1]`, llm.APIError{Message: `[1]`}},
		{"data after it", 400, `{"error":{"message":"x"}} y`, llm.APIError{Message: `{"error":{"message":"x"}} y`}},
		{"not UTF-8", 400, "{\"message\":\"\xff\"}", llm.APIError{Message: "{\"message\":\"\xff\"}"}},
		{"200, of a type that may pass", 200, `{"error":{"type":"overloaded_error","message":"x","more":1}}`, llm.APIError{Code: "overloaded_error", Message: "x", Retryable: true}},
		{"200, a time-out", 200, `{"error":{"type":"timeout_error","message":"x"}}`, llm.APIError{Code: "timeout_error", Message: "x", Retryable: true}},
		{"300", 300, `{"error":{"type":"timeout_error","message":"x"}}`, llm.APIError{Code: "timeout_error", Message: "x"}},
		{"299", 299, `{"error":{"type":"timeout_error","message":"x"}}`, llm.APIError{Code: "timeout_error", Message: "x", Retryable: true}},
		{"200, of one that may not", 200, `{"error":{"type":"invalid_request_error","message":"x"}}`, llm.APIError{Code: "invalid_request_error", Message: "x"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.want.Status = c.status
			got := anthropic.Messages{}.DecodeError(c.status, nil, []byte(c.body))
			if diff := cmp.Diff(c.want, *got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// testNoAnswer decodes bodies that are not a response, with status 200.
func testNoAnswer(t *testing.T) {
	for _, c := range []struct {
		body string
		is   func(error) bool
	}{
		{"<html>", begins("the response does not have the format of the protocol; it begins with \"<html>\"")},
		{"", begins("the response is empty")},
		{" \n", begins("the response is empty")},
		{"[]", begins("the response does not")},
		{"{}", begins("the response does not")},
		{`{"type":"message","content":[]`, begins("the response does not")},
		{`{"type":"message","content":{}}`, func(err error) bool { return strings.Contains(err.Error(), "expected an array at content") }},
		{"{\"type\":\"message\",\"id\":\"\xff\"}", begins("the response does not")},
		{`{"type":"completion","completion":"x"}`, begins("the response does not")},
		{`{"error":"busy","error_type":"overloaded_error"}`, hasError(llm.APIError{Code: "overloaded_error", Message: "busy", Retryable: true})},
		{`{"type":"error","error":{"type":"invalid_request_error","message":"bad"}}`, hasError(llm.APIError{Code: "invalid_request_error", Message: "bad"})},
		{`{"type":"error"}`, hasError(llm.APIError{})},
	} {
		got, err := decodeBuffered(c.body)
		if err == nil || !c.is(err) || len(got.Parts) > 0 {
			t.Errorf("%q: parts %v, error %v", c.body, got.Parts, err)
		}
	}
	if _, err := decodeBuffered(`{"type":"message","error":null,"content":[]}`); err != nil {
		t.Errorf("a response whose error is null: %v", err)
	}
}

func begins(with string) func(error) bool {
	return func(err error) bool { return strings.HasPrefix(err.Error(), with) }
}

func TestEncodeError(t *testing.T) {
	for status, kind := range map[int]string{
		400: "invalid_request_error", 401: "authentication_error", 402: "billing_error", 403: "permission_error", 404: "not_found_error",
		413: "request_too_large", 422: "invalid_request_error", 429: "rate_limit_error", 499: "invalid_request_error", 500: "api_error",
		504: "timeout_error", 529: "overloaded_error", 0: "api_error",
	} {
		got := string(anthropic.Messages{}.EncodeError(&llm.APIError{Status: status, Message: "a <b> \"c\""}))
		if want := `{"type":"error","error":{"type":"` + kind + `","message":"a <b> \"c\""}}`; got != want {
			t.Errorf("status %d: got %s, want %s", status, got, want)
		}
	}
	e := &llm.APIError{Status: 400, Code: "x_error", Message: "m", RequestID: "req_1"}
	body := anthropic.Messages{}.EncodeError(e)
	if got, want := string(body), `{"type":"error","error":{"type":"x_error","message":"m"},"request_id":"req_1"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if diff := cmp.Diff(e, anthropic.Messages{}.DecodeError(400, nil, body)); diff != "" {
		t.Errorf("read again (-want +got):\n%s", diff)
	}
}

// TestKey shows that the key is sent, and kept out of what goes wrong.
func TestKey(t *testing.T) {
	const key = "sk-ant-planted-0123456789"
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got := []string{r.URL.Path, r.Header.Get("X-Api-Key"), r.Header.Get("Anthropic-Version")}
		if diff := cmp.Diff([]string{"/v1/messages", key, "2023-06-01"}, got); diff != "" {
			t.Errorf("the request (-want +got):\n%s", diff)
		}
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = w.Write(anthropic.Messages{}.EncodeError(&llm.APIError{Status: 401, Message: "invalid x-api-key: " + key}))
	}))
	defer s.Close()
	c := &protocol.Client{Protocol: anthropic.Messages{}, BaseURL: s.URL, HTTP: s.Client(), Authorize: anthropic.Key(key)}
	_, err := llm.Collect(c.Stream(t.Context(), &llm.Request{Messages: []llm.Message{llm.User("hi")}}))
	if err == nil || strings.Contains(err.Error(), "planted") || !strings.Contains(err.Error(), "authentication_error") {
		t.Errorf("the error is %v", err)
	}
	c.Authorize = anthropic.Key("")
	if _, err := llm.Collect(c.Stream(t.Context(), &llm.Request{Messages: []llm.Message{llm.User("hi")}})); err == nil || !strings.Contains(err.Error(), "empty API key") {
		t.Errorf("without a key: %v", err)
	}
}
