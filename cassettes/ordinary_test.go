package cassettes

import (
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/looptape/looptape/cassettes/recording"
	"github.com/looptape/looptape/cassettes/redact"
)

// A key that is an ordinary word stops a recording before the request is sent.
func TestRecordOrdinaryKey(t *testing.T) {
	for key, want := range map[string]string{"Bearer assistant": "the header Authorization has an ordinary word as its secret", "Bearer s3cretS3cret": "", "Bearer test": ""} {
		sent := false
		c, err := Open(filepath.Join(t.TempDir(), "a.tape"), &Options{Mode: Record, Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			sent = true
			return &http.Response{StatusCode: 200, Proto: "HTTP/1.1", Header: http.Header{}, Body: io.NopCloser(strings.NewReader("")), Request: r}, nil
		})})
		if err != nil {
			t.Fatal(err)
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, endpoint, strings.NewReader(`{"messages":[{"role":"assistant"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", key)
		resp, err := c.RoundTrip(req)
		if resp != nil {
			_ = resp.Body.Close() // it is empty
		}
		if text := errorText(err); sent != (want == "") || !strings.Contains(text, want) || strings.Contains(text, "assistant") {
			t.Errorf("with %s: sent %t, error %q, want %q", key, sent, text, want)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// Names of members with words of a protocol cannot be names of secrets.
func TestRecordProtocolNameAsSecret(t *testing.T) {
	for name, ok := range map[string]bool{"role": false, "finish-reason": false, "/user/role": true, "tenant": true} {
		c, err := Open(filepath.Join(t.TempDir(), "a.tape"), &Options{Mode: Record, Rules: redact.Rules{Secret: []string{name}}})
		if (err == nil) != ok {
			t.Errorf("with the name %q: %v", name, err)
		}
		if err == nil {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// Redaction keeps names of members, words of a protocol, ordinary words, counts, and what a replay has
// to send back.
func TestRedactionKeeps(t *testing.T) {
	const body = `{"model":"m","max_tokens":4096,"usage":{"prompt_tokens":12345,"token_count":67890,"total_tokens":99999},"token_type":"bearer","auth":"required",` +
		`"messages":[{"role":"assistant","metadata":{"password":"required","pass":true,"page_token":"q7Xz92LmPa8Kd31R","session_id":"123e4567-e89b-12d3-a456-426614174000"}}],` +
		`"finish_reason":"tool_calls","signature":"Zk3v9QmT7sLb2XwYc8RpHd4NfGj6KuAe","thoughtSignature":"Zk3v9QmT7sLb2XwYc8RpHd4NfGj6KuAe","encrypted_content":"Zk3v9QmT7sLb2XwYc8RpHd4NfGj6KuAe",` +
		`"request_id":"Zk3v9QmT7sLb2XwYc8RpHd4NfGj6KuAe","sha256":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","public_key":"words","s3cretmessages":1}`
	x := &recording.Interaction{Request: recording.Request{
		Header: http.Header{"X-Api-Key": {"s3cretmessages"}, "X-Ratelimit-Remaining-Tokens": {"12345678"}, "Access-Control-Allow-Credentials": {"true"}, "Content-Type": {"application/json"}}, Body: []byte(body),
	}}
	got := (&redact.Rules{}).Redacted(x)
	if string(got.Request.Body) != body {
		t.Errorf("got %s\nwant %s", got.Request.Body, body)
	}
	for name, want := range map[string]string{"X-Api-Key": redact.Placeholder("s3cretmessages"), "X-Ratelimit-Remaining-Tokens": "12345678", "Access-Control-Allow-Credentials": "true"} {
		if got := got.Request.Header.Get(name); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

// A secret in the name of a JSON member fails the recording: redaction does not change names.
func TestRecordSecretInName(t *testing.T) {
	for name, c := range map[string]struct {
		key, request, response string
		rules                  redact.Rules
		fails                  bool
	}{
		"a random key in a request":  {key: "Bearer Zq7pw2Lm91Xc", request: `{"Zq7pw2Lm91Xc":1}`, fails: true},
		"a random key in a response": {key: "Bearer Zq7pw2Lm91Xc", response: `{"a":{"the Zq7pw2Lm91Xc":1}}`, fails: true},
		"a long key":                 {key: "Bearer correct-horse-battery-1", response: `{"correct-horse-battery-1":1}`, fails: true},
		"a configured secret":        {request: `{"tenant":"acme-Zq7pw2Lm91"}`, response: `{"acme-Zq7pw2Lm91":{}}`, rules: redact.Rules{Secret: []string{"tenant"}}, fails: true},
		"a word":                     {key: "Bearer test-key", response: `{"test-key":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.tape")
			o := &Options{Mode: Record, Rules: c.rules, Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: 200, Proto: "HTTP/1.1", Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(c.response)), Request: r}, nil
			})}
			to, err := Open(path, o)
			if err != nil {
				t.Fatal(err)
			}
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, endpoint, strings.NewReader(c.request))
			if err != nil {
				t.Fatal(err)
			}
			req.Header = http.Header{"Content-Type": {"application/json"}, "Authorization": {c.key}}
			resp, err := to.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(resp.Body); string(got) != c.response || err != nil {
				t.Errorf("the client read %q, %v", got, err)
			}
			_ = resp.Body.Close() // it was read
			err = to.Close()
			if _, failed := errors.AsType[*redact.SecretError](err); failed != c.fails || !failed && err != nil {
				t.Errorf("Close returned %v, want a SecretError: %t", err, c.fails)
			}
		})
	}
}
