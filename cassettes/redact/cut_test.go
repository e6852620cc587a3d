package redact

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/looptape/looptape/cassettes/recording"
)

// In text that is not JSON, values in arrays and objects under a secret name are redacted as
// in JSON: S is a secret, N is not.
func TestNested(t *testing.T) {
	for _, text := range []string{
		`{"password":["S`,
		`{"password":{"value":"S`,
		`{"password": {"a": "N", "value" : "S", "b": ["N", {"value": "N"}], "c": "N"}, "N`,
		"{\"password\": [\n  \"S\",\n\t[\"S\", 12, -1.5e+3, true, false, null],\r\n  {\"value\": \"S\", \"a\": \"N\"}, \"S\"], \"a\": [\"N\"],",
		`{"password":["S"],}`,
		")]}'\n" + `{"password":["S"]}`,
		`cb({"password":["S"],"a":["N"]});`,
		`{'password': ['S', 'S'], 'a': 'N'}`,
		`{"arguments":"{\"password\":[\"S\"],\"a\":[\"N\"]`,
		`{"arguments":"{\"password\":[\n\"S`,
		`{"arguments":"{\"password\":[\"S","a":["N"]}x`,
		`{"authorization":["Bearer S"],`,
		`{"a":["N"],"password":["S"],"b":["N"],"api_key":["S"],"value":"N","c":{"value":"N"},`,
		`{"password":{"password":["S"],"value":["N"]},`,
		`{"token":["S","auto"],"key":{"value":"S"},"a":"auto",`,
		`{"password":[ my "N"],`,
		`{"password":[ my, "api_key":["S"], "a":["N"],`,
		`x password: ["N"], "max_tokens": ["N"], "password": N`,
		`{"password":["S"]]]}{}, "api_key":["S`,
	} {
		x := &recording.Interaction{Request: recording.Request{Body: []byte(strings.NewReplacer("S", "k3y1s2x", "N", "n3n1n2n").Replace(text))}}
		got := (&Rules{}).Redacted(x)
		want := strings.NewReplacer("S", Placeholder("k3y1s2x"), "N", "n3n1n2n").Replace(text)
		if strings.Contains(text, "token") { // half a secret is long
			x.Request.Body = []byte(strings.ReplaceAll(text, "S", "k3y1s2x4"))
			got, want = (&Rules{}).Redacted(x), strings.ReplaceAll(text, "S", Placeholder("k3y1s2x4"))
		}
		if string(got.Request.Body) != want {
			t.Errorf("%s\nis %s\nwant %s", text, got.Request.Body, want)
		}
	}
}

// Values in arrays and objects are examined once, however deep they are.
func TestNestedOnce(t *testing.T) {
	for _, begin := range []string{`{"password":["1",`, `{"password":{"value":"1",`} {
		if got := len((&Rules{}).assigned(&leaf{text: strings.Repeat(begin, 100)})); got != 100 {
			t.Errorf("in %s…: %d values, want 100", begin, got)
		}
	}
}

// In truncated XML, a long word with a digit is redacted.
func TestTruncatedElements(t *testing.T) {
	const secret = "k3y1s2x4"
	for _, c := range [][2]string{
		{"<a><Password>" + secret, "<a><Password>" + Placeholder(secret)},
		{"<w:password type='x'>\n" + secret + " <", "<w:password type='x'>\n" + Placeholder(secret) + " <"},
		{"<password>" + secret + "</", "<password>" + Placeholder(secret) + "</"},
		{"<password>my own</", "<password>" + Placeholder("my own") + "</"},
		{"<token>" + secret, "<token>" + Placeholder(secret)},
		{"<token>abcdefg1", "<token>abcdefg1"},
		{"<user> <password> as told 1", "<user> <password> as told 1"},
		{"https://<user>:<password>@host", "https://<user>:<password>@host"},
		{"<password>k3y1s2x", "<password>k3y1s2x"},
	} {
		x := &recording.Interaction{Request: recording.Request{Body: []byte(c[0])}}
		if got := string((&Rules{}).Redacted(x).Request.Body); got != c[1] {
			t.Errorf("%s\nis %s\nwant %s", c[0], got, c[1])
		}
	}
}

// At the end of a response, the beginning of a secret is redacted too.
func TestTruncatedSecrets(t *testing.T) {
	const secret = "zk1-Aa0Bb1Cc2/Dd3Ee4"
	mark := Placeholder(secret)
	events, lines := "text/event-stream", "application/x-ndjson"
	for _, c := range []struct{ contentType, in, out string }{
		{"", "invalid key zk1-Aa0Bb1Cc2/Dd3Ee", "invalid key " + mark},
		{"", "invalid key zk1-Aa0B", "invalid key " + mark},
		{"", "invalid key zk1-Aa0", "invalid key zk1-Aa0"},
		{"", "invalid key zk1-Aa0B.", "invalid key zk1-Aa0B."},
		{"", `{"error": "invalid key zk1-Aa0B`, `{"error": "invalid key ` + mark},
		{"", `{"error": "invalid key zk1-Aa0B"}`, `{"error": "invalid key zk1-Aa0B"}`},
		{"", `{"error": "invalid key zk1-Aa0Bb1Cc2\/D`, `{"error": "invalid key ` + mark},
		{"", "at " + url.PathEscape(secret)[:18], "at " + mark},
		{"", "at " + base64.StdEncoding.EncodeToString([]byte(secret))[:10], "at " + mark},
		{lines, "{\"a\":\"zk1-Aa0B\"}\n{\"a\":\"zk1-Aa0B", "{\"a\":\"zk1-Aa0B\"}\n{\"a\":\"" + mark},
		{events, "data: zk1-Aa0B\n\ndata: {\"a\":\"zk1-Aa0B", "data: zk1-Aa0B\n\ndata: {\"a\":\"" + mark},
		{events, "data: {\"a\":\"is zk1-\"}\n\ndata: {\"a\":\"Aa0Bb1C\"}\n\ndata: [DONE]\n\n", "data: {\"a\":\"is " + mark + "\"}\n\ndata: {\"a\":\"\"}\n\ndata: [DONE]\n\n"},
	} {
		x := &recording.Interaction{
			Request:  recording.Request{Header: http.Header{"X-Api-Key": {secret}, "Content-Type": {c.contentType}}, Body: []byte(c.in)},
			Response: recording.Response{Header: http.Header{"Content-Type": {c.contentType}}, Body: []byte(c.in), Trailer: http.Header{"A": {"zk1-Aa0B"}}, Failure: "zk1-Aa0B"},
		}
		got := (&Rules{}).Redacted(x)
		if string(got.Response.Body) != c.out || string(got.Request.Body) != c.in || got.Response.Trailer.Get("A")+got.Response.Failure != "zk1-Aa0Bzk1-Aa0B" {
			t.Errorf("%s: %s\nis %s\nwant %s, and nothing else changed:\n%+v", c.contentType, c.in, got.Response.Body, c.out, got)
		}
	}
	x := &recording.Interaction{Request: recording.Request{Header: http.Header{"X-Api-Key": {"2345678]a1"}}, Body: []byte("2345678]")}, Response: recording.Response{Body: []byte("[12345678]")}}
	if got := (&Rules{}).Redacted(x); string(got.Request.Body) != "2345678]" {
		t.Errorf("with a response that ends with the same the request is %s", got.Request.Body)
	}
	clean, _ := (&Rules{}).ScrubbedMetadata(recording.Metadata{Recorder: "zk1-Aa0B", Upstreams: map[string]string{"a": "https://" + secret + "@x/"}})
	if clean.Recorder != "zk1-Aa0B" {
		t.Errorf("the head is by %s", clean.Recorder)
	}
}
