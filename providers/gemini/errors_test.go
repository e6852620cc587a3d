package gemini_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/gemini"
	"github.com/looptape/looptape/providers/protocol"
)

func TestDecodeError(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
		want   llm.APIError
	}{
		"in an array":              {429, `[{"error":{"code":429,"message":"slow","status":"RESOURCE_EXHAUSTED"}}]`, llm.APIError{Status: 429, Code: "RESOURCE_EXHAUSTED", Message: "slow", Retryable: true}},
		"a reason":                 {400, `{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT","details":[{"@type":"…ErrorInfo","reason":"API_KEY_INVALID","metadata":{"reason":"x"}},{"retryDelay":"x"},{"retryDelay":"-1s"},{"retryDelay":7},1]}}`, llm.APIError{Status: 400, Code: "API_KEY_INVALID", Message: "API key not valid."}},
		"a success":                {200, `{"error":{"code":503,"status":"UNAVAILABLE"}}`, llm.APIError{Status: 503, Code: "UNAVAILABLE", Message: "Service Unavailable", Retryable: true}},
		"a status and no number":   {200, `{"error":{"message":"m","status":"DEADLINE_EXCEEDED"}}`, llm.APIError{Code: "DEADLINE_EXCEEDED", Message: "m", Retryable: true}},
		"another, and no number":   {200, `{"error":{"message":"m","status":"NOT_FOUND"}}`, llm.APIError{Code: "NOT_FOUND", Message: "m"}},
		"a number next to it":      {200, `{"error":{"code":400,"message":"m","status":"UNAVAILABLE"}}`, llm.APIError{Status: 400, Code: "UNAVAILABLE", Message: "m"}},
		"a code that is a word":    {200, `{"error":{"code":"busy","message":"m","new":1}}`, llm.APIError{Code: "busy", Message: "m"}},
		"members of other types":   {418, `{"error":{"code":true,"message":1,"status":2,"details":3}}`, llm.APIError{Status: 418, Message: "I'm a teapot"}},
		"an error that is a text":  {200, `{"error":"no","error_type":"bad","more":1}`, llm.APIError{Code: "bad", Message: "no"}},
		"an error that is a value": {200, `{"error":7}`, llm.APIError{Message: "7"}},
		"an error of its own type": {200, `{"error":{"status":"ABORTED","message":"m"},"error_type":"bad"}`, llm.APIError{Code: "ABORTED", Message: "m", Retryable: true}},
		"no error":                 {500, `{"message":"m"}`, llm.APIError{Status: 500, Message: `{"message":"m"}`, Retryable: true}},
		"an empty array":           {500, `[]`, llm.APIError{Status: 500, Message: `[]`, Retryable: true}},
		"an array of something":    {500, `[1]`, llm.APIError{Status: 500, Message: `[1]`, Retryable: true}},
		"not JSON":                 {502, "<html>\xff", llm.APIError{Status: 502, Message: "<html>\xff", Retryable: true}},
		"nothing":                  {399, "", llm.APIError{}},
	} {
		if diff := cmp.Diff(&c.want, codec.DecodeError(c.status, nil, []byte(c.body))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for _, word := range []string{"UNAVAILABLE", "RESOURCE_EXHAUSTED", "INTERNAL", "DEADLINE_EXCEEDED", "ABORTED"} {
		if e := codec.DecodeError(200, nil, []byte(`{"error":{"status":"`+word+`"}}`)); !e.Retryable {
			t.Errorf("%s is worth a retry", word)
		}
	}
}

func TestEncodeError(t *testing.T) {
	for name, c := range map[string]struct {
		e    llm.APIError
		want string
		back *llm.APIError // if another
	}{
		"a status":     {llm.APIError{Status: 400, Code: "INVALID_ARGUMENT", Message: "* <no>\n"}, `{"error":{"code":400,"message":"* <no>\n","status":"INVALID_ARGUMENT"}}`, nil},
		"its word":     {llm.APIError{Status: 404, Message: "m"}, `{"error":{"code":404,"message":"m","status":"NOT_FOUND"}}`, &llm.APIError{Status: 404, Code: "NOT_FOUND", Message: "m"}},
		"another word": {llm.APIError{Status: 400, Code: "FAILED_PRECONDITION", Message: "m"}, `{"error":{"code":400,"message":"m","status":"FAILED_PRECONDITION"}}`, nil},
		"a reason": {
			llm.APIError{Status: 400, Code: "API_KEY_INVALID", Message: "API key not valid. Please pass a valid API key."},
			`{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID","domain":"googleapis.com","metadata":{"service":"generativelanguage.googleapis.com"}}]}}`, nil,
		},
		"a field": {
			llm.APIError{Status: 400, Code: "INVALID_ARGUMENT", Message: `Invalid JSON payload received. Unknown name "id" at 'contents[1].parts[0]': Cannot find field.`},
			`{"error":{"code":400,"message":"Invalid JSON payload received. Unknown name \"id\" at 'contents[1].parts[0]': Cannot find field.","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"contents[1].parts[0]","description":"Invalid JSON payload received. Unknown name \"id\" at 'contents[1].parts[0]': Cannot find field."}]}]}}`, nil,
		},
		"a value":      {llm.APIError{Status: 400, Code: "INVALID_ARGUMENT", Message: `Invalid value at 'a' (T), ""`}, `{"error":{"code":400,"message":"Invalid value at 'a' (T), \"\"","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"a","description":"Invalid value at 'a' (T), \"\""}]}]}}`, nil},
		"no field":     {llm.APIError{Status: 400, Code: "INVALID_ARGUMENT", Message: `Invalid value at 'a`}, `{"error":{"code":400,"message":"Invalid value at 'a","status":"INVALID_ARGUMENT"}}`, nil},
		"no such":      {llm.APIError{Status: 400, Code: "INVALID_ARGUMENT", Message: `Something at 'a'`}, `{"error":{"code":400,"message":"Something at 'a'","status":"INVALID_ARGUMENT"}}`, nil},
		"a wait":       {llm.APIError{Status: 429, Code: "RESOURCE_EXHAUSTED", Message: "m", Retryable: true, RetryAfter: 1500 * time.Millisecond}, `{"error":{"code":429,"message":"m","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"1.5s"}]}}`, nil},
		"other status": {llm.APIError{Status: 529, Message: "m"}, `{"error":{"code":529,"message":"m","status":"UNKNOWN"}}`, &llm.APIError{Status: 529, Code: "UNKNOWN", Message: "m", Retryable: true}},
		"another":      {llm.APIError{Status: 413, Message: "m"}, `{"error":{"code":413,"message":"m","status":"INVALID_ARGUMENT"}}`, &llm.APIError{Status: 413, Code: "INVALID_ARGUMENT", Message: "m"}},
		"none":         {llm.APIError{Status: 399, Message: "m"}, `{"error":{"code":500,"message":"m","status":"INTERNAL"}}`, &llm.APIError{Status: 500, Code: "INTERNAL", Message: "m", Retryable: true}},
	} {
		got := codec.EncodeError(&c.e)
		if diff := cmp.Diff(c.want, string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if c.back == nil {
			c.back = &c.e
		}
		if diff := cmp.Diff(c.back, codec.DecodeError(c.back.Status, nil, got)); diff != "" {
			t.Errorf("%s read again (-want +got):\n%s", name, diff)
		}
	}
}

// Over HTTP: the request, and an error without the key.
func TestClient(t *testing.T) {
	const key = "AIzaSyPlantedKey"
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("x-goog-api-key") != key:
			w.WriteHeader(http.StatusForbidden)
		case r.URL.String() == "/v1beta/models/m:streamGenerateContent?alt=sse":
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = w.Write([]byte(chunks(say(`{"text":"streamed"}`, stop))))
		case r.URL.String() == "/v1beta/models/m:generateContent":
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(say(`{"text":"whole"}`, stop)))
		default:
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write(codec.EncodeError(&llm.APIError{Status: 400, Code: "API_KEY_INVALID", Message: "no: " + key}))
		}
	}))
	t.Cleanup(s.Close)
	c := &protocol.Client{Protocol: codec, BaseURL: s.URL + "/v1beta", HTTP: s.Client(), Authorize: gemini.Key(key)}
	for delivery, want := range map[llm.ResponseMode]string{llm.Streaming: "streamed", llm.NonStreaming: "whole"} {
		turn, err := llm.Collect(c.Stream(t.Context(), &llm.Request{Model: "m", ResponseMode: delivery, Messages: []llm.Message{llm.User("hi")}}))
		if err != nil || turn.Text() != want {
			t.Errorf("%q, %v", turn.Text(), err)
		}
	}
	_, err := llm.Collect(c.Stream(t.Context(), &llm.Request{Model: "x", Messages: []llm.Message{llm.User("hi")}}))
	if e := apiError(t, err); e.Code != "API_KEY_INVALID" || e.Provider != "gemini" || strings.Contains(err.Error(), key) {
		t.Errorf("the error is %v", err)
	}
}
