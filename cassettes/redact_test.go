package cassettes

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/cassettes/internal/match"
	"github.com/looptape/looptape/cassettes/internal/tape"
	"github.com/looptape/looptape/cassettes/recording"
	"github.com/looptape/looptape/cassettes/redact"
)

func TestMark(t *testing.T) {
	for secret, want := range map[string]string{
		"":                            "[redacted #e 0 chars]",
		"secret":                      "[redacted #2 6 chars]",
		"pässwörd":                    "[redacted #46 8 chars]",
		"abcdefghijklmnop":            "[redacted #f39d 16 chars]",
		strings.Repeat("abcdefg", 10): "[redacted #583a 70 chars]",
	} {
		got := redact.Placeholder(secret)
		if got != want {
			t.Errorf("the mark of %q is %s, want %s", secret, got, want)
		}
		if !match.HasPlaceholder(got) || !match.HasPlaceholder(url.PathEscape(got)+"a") || !match.HasPlaceholder("a"+url.QueryEscape(got)) || match.HasPlaceholder(got[1:]) {
			t.Errorf("%s is not reported as a placeholder", got)
		}
	}
}

// The file contains the requests and responses with MARK as the placeholder of the secret.
func TestRedacted(t *testing.T) {
	const secret = "s3cretS3cret/s3cret="
	for _, c := range []struct {
		name        string
		header      string
		in, out     string // of the body
		inURL       string
		outURL      string
		headerOut   string
		contentType string
	}{
		{name: "scheme", header: "Authorization: Bearer " + secret, headerOut: "Authorization: Bearer MARK"},
		{name: "scheme alone", header: "Authorization: bearer", headerOut: "Authorization: " + redact.Placeholder("bearer")},
		{name: "scheme of old", header: "Authorization: AWS4-HMAC-SHA256 " + secret, headerOut: "Authorization: AWS4-HMAC-SHA256 MARK"},
		{name: "two words", header: "X-Password: my " + secret, headerOut: "X-Password: " + redact.Placeholder("my "+secret)},
		{name: "redacted", header: "Authorization: Bearer " + redact.Placeholder("x"), headerOut: "Authorization: Bearer " + redact.Placeholder("x")},
		{name: "cookies", header: "Cookie: a=" + secret + "; b=" + secret + ";c; d=", headerOut: "Cookie: a=MARK; b=MARK;" + redact.Placeholder("c") + "; d="},
		{name: "set-cookie", header: "Set-Cookie: a=" + secret + "; Path=/; Expires=x", headerOut: "Set-Cookie: a=MARK; Path=/; Expires=x"},
		{name: "set-cookie in lines", header: "Set-Cookie: a=k1; Path=/\nb=k2 \r\nk3\n\nc=; Secure\nd=k4=", headerOut: "Set-Cookie: a=" + redact.Placeholder("k1") + "; Path=/\nb=" + redact.Placeholder("k2") + " \r\n" + redact.Placeholder("k3") + "\n\nc=; Secure\nd=" + redact.Placeholder("k4=")},
		{name: "set-cookie after commas", header: "Set-Cookie: a=k1; Expires=Wed, 21 Oct 2026 07:28:00 GMT; Path=/,b=k2, \tc=k3; Max-Age=1, d=\"k4\"", headerOut: "Set-Cookie: a=" + redact.Placeholder("k1") + "; Expires=Wed, 21 Oct 2026 07:28:00 GMT; Path=/,b=" + redact.Placeholder("k2") + ", \tc=" + redact.Placeholder("k3") + "; Max-Age=1, d=" + redact.Placeholder(`"k4"`)},
		{name: "set-cookie with commas", header: "Set-Cookie: a=k1,b=k2, k3; Path=/, k4", headerOut: "Set-Cookie: a=" + redact.Placeholder("k1,b=k2, k3") + "; Path=/, k4"},
		{name: "limits", header: "X-Ratelimit-Remaining-Tokens: 12345678", headerOut: "X-Ratelimit-Remaining-Tokens: 12345678"},
		{name: "tokens", header: "X-Csrf-Token: " + secret, headerOut: "X-Csrf-Token: MARK"},
		{name: "query", inURL: "https://a.b/c?a=1&key=" + url.QueryEscape(secret) + "&key=&b=%20", outURL: "https://a.b/c?a=1&key=URLMARK&key=&b=%20"},
		{name: "userinfo", inURL: "https://u:" + url.PathEscape(secret) + "@a.b/c@d", outURL: "https://" + match.EscapedPlaceholder(redact.Placeholder("u:"+secret)) + "@a.b/c@d"},
		{name: "members", in: `{ "api_key" : "` + secret + `", "apiKey": ["` + secret + `", {"a": 1}], "key": "` + "sort" + `", "max_tokens": 12, "secrets": 1 }`, out: `{ "api_key" : "MARK", "apiKey": ["MARK", {"a": 1}], "key": "sort", "max_tokens": 12, "secrets": 1 }`},
		{name: "named values", in: `[{"name":"password","value":"hunter two"},{"key":"Authorization","value":"Bearer ` + secret + `"},{"name":"city","value":"Paris"},{"name":"api_key","value":{"value":"k"}},{"name":"max_tokens","value":4096}]`,
			out: `[{"name":"password","value":"` + redact.Placeholder("hunter two") + `"},{"key":"Authorization","value":"Bearer MARK"},{"name":"city","value":"Paris"},{"name":"api_key","value":{"value":"k"}},{"name":"max_tokens","value":4096}]`},
		{name: "named values of AWS", in: `[{"Key":"DB_PASSWORD","Value":"Tr0ub4dor&3xyz"},{"Key":"Stage","Value":"Tr0ub4dor"}]`,
			out: `[{"Key":"DB_PASSWORD","Value":"` + redact.Placeholder("Tr0ub4dor&3xyz") + `"},{"Key":"Stage","Value":"Tr0ub4dor"}]`},
		{name: "schema", in: `{"properties":{"password":{"type":"string"}},"required":["password"]}`, out: `{"properties":{"password":{"type":"string"}},"required":["password"]}`},
		{name: "logprobs", in: `{"token":"Hello there","logprob":-1}`, out: `{"token":"Hello there","logprob":-1}`},
		{name: "short", in: `{"password":"abc","a":"abc"}`, out: `{"password":"` + redact.Placeholder("abc") + `","a":"abc"}`},
		{name: "scheme in JSON", in: `{"headers":{"Authorization":"Bearer ` + secret + `"}}`, out: `{"headers":{"Authorization":"Bearer MARK"}}`},
		{name: "a word without a digit", in: "password=abcdefgh", out: "password=abcdefgh"},
		{name: "random under a harmless name", in: `{"key":"` + secret + `","token":["` + secret + `"],"value":"x"}, token=` + secret + ` key: "` + secret + `"`, out: `{"key":"MARK","token":["MARK"],"value":"x"}, token=MARK key: "MARK"`},
		{name: "harmless under these names", in: `{"key":"ArrowUp","a":{"key":"PROJ-12345"},"b":{"key":"report_v2_2024.pdf"},"c":{"token":"gpt4o-mini"},"d":{"key":"toolu_01A2b3C4d5"},"token":12345678}`, out: `{"key":"ArrowUp","a":{"key":"PROJ-12345"},"b":{"key":"report_v2_2024.pdf"},"c":{"token":"gpt4o-mini"},"d":{"key":"toolu_01A2b3C4d5"},"token":12345678}`},
		{name: "random in a header", header: "X-Key: 9f86d081884c7d659a2feaa0c55ad015", headerOut: "X-Key: " + redact.Placeholder("9f86d081884c7d659a2feaa0c55ad015")},
		{name: "random signature", header: "X-Signature: " + secret, headerOut: "X-Signature: MARK"},
		{name: "harmless header", header: "Surrogate-Key: homepage", headerOut: "Surrogate-Key: homepage"},
		{name: "key of an attempt", header: "Idempotency-Key: " + secret, headerOut: "Idempotency-Key: " + secret},
		{name: "code", inURL: "https://a.b/?code=" + url.QueryEscape(secret) + "&key=1", outURL: "https://a.b/?code=URLMARK&key=" + match.EscapedPlaceholder(redact.Placeholder("1"))},
		{name: "harmless code", inURL: "https://a.b/?code=iso-8859-1", outURL: "https://a.b/?code=iso-8859-1"},
		{name: "numbers", in: `{"password":1234567890,"a":[-12,1234567890,12345678901,1.5e300],"secret":1}`, out: `{"password":"` + redact.Placeholder("1234567890") + `","a":[-12,"` + redact.Placeholder("1234567890") + `","` + redact.Placeholder("1234567890") + `1",1.5e300],"secret":1}`},
		{name: "user", header: "Authorization: Basic " + inBytes("s3cretS3cret9:pw"), headerOut: "Authorization: Basic " + redact.Placeholder(inBytes("s3cretS3cret9:pw")), in: "no user s3cretS3cret9, username", out: "no user " + redact.Placeholder("s3cretS3cret9") + ", username"},
		{name: "value", in: `{"name":"a","value":"` + secret + `"}`, out: `{"name":"a","value":"` + secret + `"}`},
		{name: "name", in: `{"password":"` + secret + `","` + secret + `":1}`, out: `{"password":"MARK","MARK":1}`},
		{name: "prose", in: "password: required. The secret: none. authorization=Bearer", out: "password: required. The secret: none. authorization=Bearer"},
		{name: "words", in: "export MY_API_KEY=" + secret + "; Authorization: Bearer " + secret + "\napi_key : '" + secret + "'", out: "export MY_API_KEY=MARK; Authorization: Bearer MARK\napi_key : 'MARK'"},
		{name: "code", in: `x = {\"password\": \"` + secret + `\", \"pin\": 1}, "password": 12, "api_key": null`, out: `x = {\"password\": \"MARK\", \"pin\": 1}, "password": 12, "api_key": null`},
		{name: "URL in a text", in: `see [it](https://a.b/c?sig=` + url.QueryEscape(secret) + `) or https://a.b/` + url.PathEscape(secret) + ` or ` + secret, out: `see [it](https://a.b/c?sig=URLMARK) or https://a.b/URLMARK or MARK`},
		{name: "form", contentType: "application/x-www-form-urlencoded", in: "a=%20&token=" + url.QueryEscape(secret) + "&%zz=1&b", out: "a=%20&token=" + url.QueryEscape("MARK") + "&%zz=1&b"},
		{name: "longer lines", contentType: "text/event-stream", in: "data: x s3cretS3cret\ndata: /s3cret= y\nid: " + secret + "\n\n: " + secret + "\n\n", header: "Api-Key: s3cretS3cret\n/s3cret=", headerOut: "Api-Key: " + redact.Placeholder("s3cretS3cret\n/s3cret="), out: "data: x " + redact.Placeholder("s3cretS3cret\n/s3cret=") + " y\nid: " + secret + "\n\n: " + secret + "\n\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			marked := strings.NewReplacer("URLMARK", match.EscapedPlaceholder(redact.Placeholder(secret)), url.QueryEscape("MARK"), url.QueryEscape(redact.Placeholder(secret)))
			if c.contentType == "" {
				marked = strings.NewReplacer("URLMARK", match.EscapedPlaceholder(redact.Placeholder(secret)), "MARK", redact.Placeholder(secret))
			}
			h := http.Header{}
			if name, value, ok := strings.Cut(c.header, ": "); ok {
				h.Set(name, value)
			}
			if c.contentType != "" {
				h.Set("Content-Type", c.contentType)
			}
			x := &recording.Interaction{Request: recording.Request{URL: c.inURL, Header: h, Body: []byte(c.in)}}
			got := (&Options{}).Redacted(x)
			want := &recording.Interaction{Request: recording.Request{URL: marked.Replace(c.outURL), Header: h.Clone(), Body: []byte(marked.Replace(c.out))}}
			if name, value, ok := strings.Cut(c.headerOut, ": "); ok {
				want.Request.Header.Set(name, marked.Replace(value))
			}
			if diff := cmp.Diff(want, got, empty); diff != "" {
				t.Errorf("redacted (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(got, (&Options{}).Redacted(got), empty); diff != "" {
				t.Errorf("redacted twice (-once +twice):\n%s", diff)
			}
		})
	}
}

// Options name further fields. Redactors of the caller run last.
func TestRedactMore(t *testing.T) {
	o := &redact.Rules{
		Secret: []string{"X-Tenant", "/user/*/pin", "code"},
		Redact: []redact.Redactor{redact.RedactorFunc(func(x *recording.Interaction) {
			x.Request.Body = []byte(strings.ReplaceAll(string(x.Request.Body), "Ann", "NAME"))
		})},
	}
	got := o.Redacted(&recording.Interaction{Request: recording.Request{
		URL:    "https://a.b/?code=4711",
		Header: http.Header{"X-Tenant": {"acme corporation"}, "Content-Encoding": {"gzip"}, "Content-Length": {"1"}},
		Body:   []byte(gzipped(`{"user":[{"pin":"1234","name":"Ann"}],"pin":"1","echo":"acme corporation"}`)),
	}})
	body := match.Decode(got.Request.Header, got.Request.Body)
	want := `{"user":[{"pin":"` + redact.Placeholder("1234") + `","name":"NAME"}],"pin":"1","echo":"` + redact.Placeholder("acme corporation") + `"}`
	if diff := cmp.Diff(want, string(body.Plain)); diff != "" || !body.Complete {
		t.Errorf("body (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("https://a.b/?code="+match.EscapedPlaceholder(redact.Placeholder("4711")), got.Request.URL); diff != "" {
		t.Errorf("URL (-want +got):\n%s", diff)
	}
	if got := got.Request.Header.Get("X-Tenant"); got != redact.Placeholder("acme corporation") {
		t.Errorf("the header is %q", got)
	}
}

// The lengths of the chunks add up to the body, and the chunks of events are the events.
func TestRedactedChunks(t *testing.T) {
	const secret = "s3cretS3cret"
	for _, c := range []struct {
		header http.Header
		body   string
		chunks []recording.Chunk
		want   []recording.Chunk
	}{
		{http.Header{"Content-Type": {"text/event-stream"}}, "data: " + secret + "\n\ndata: x\n\n", []recording.Chunk{{After: 1, Len: 20}, {After: 2, Len: 9}}, []recording.Chunk{{After: 1, Len: 31}, {After: 2, Len: 9}}},
		{http.Header{}, "0123" + secret + "4567", []recording.Chunk{{After: 1, Len: 10}, {After: 2, Len: 0}, {After: 3, Len: 10}}, []recording.Chunk{{After: 1, Len: 15}, {After: 2, Len: 0}, {After: 3, Len: 16}}},
	} {
		x := &recording.Interaction{Request: recording.Request{Header: http.Header{"Api-Key": {secret}}}, Response: recording.Response{Header: c.header, Body: []byte(c.body), Chunks: c.chunks}}
		got := (&Options{}).Redacted(x)
		if diff := cmp.Diff(c.want, got.Response.Chunks); diff != "" {
			t.Errorf("chunks of %q (-want +got):\n%s", got.Response.Body, diff)
		}
	}
}

// A compressed body that was truncated remains truncated.
func TestRedactCutBody(t *testing.T) {
	secret := "s3cretS3cret"
	for _, with := range []string{"gzip", "deflate"} {
		body := gzipped(secret + strings.Repeat(" text", 2000))
		if with == "deflate" {
			body = deflated(secret + strings.Repeat(" text", 2000))
		}
		x := &recording.Interaction{Request: recording.Request{Header: http.Header{"Api-Key": {secret}}}, Response: recording.Response{Header: http.Header{"Content-Encoding": {with}}, Body: []byte(body[:len(body)-8])}}
		got := (&Options{}).Redacted(x)
		c := match.Decode(got.Response.Header, got.Response.Body)
		if c.Complete || bytes.Equal(c.Plain, c.Original) || !strings.HasPrefix(string(c.Plain), redact.Placeholder(secret)) {
			t.Errorf("%s: whole %t, %.80q", with, c.Complete, c.Plain)
		}
	}
}

// Redaction keeps the form of a body, a second redaction changes nothing, and the chunks add
// up to the body.
func FuzzRedact(f *testing.F) {
	for _, p := range plants {
		x := p.make("s3cretS3cret")
		f.Add(0, x.header, x.body)
		f.Add(1, x.gotHeader, x.gotBody)
	}
	f.Add(1, "Cookie: 0=000 0000", "0")                                                     // a word before a mark
	f.Add(-136, "Cookie:00000000", "100000000000000000000000000000")                        // a number
	f.Add(0, "", "{\"\":\"\\bpasswd\\\":\\\"\x84\"}")                                       // no UTF-8
	f.Add(2, "Content-Encoding: gzip", "\x1f\x8b\bA000000RRRRRRRR2001J,Ȍ\xcfN\xadT\xb2R20") // packed, and a form by chance
	kinds := []string{"application/json", "text/event-stream", "application/x-www-form-urlencoded", "text/plain", "multipart/form-data; boundary=xyz", "application/vnd.amazon.eventstream", ""}
	f.Fuzz(func(t *testing.T, kind int, header, body string) {
		h := headerOf(header)
		h.Set("Content-Type", kinds[uint(kind)%uint(len(kinds))])
		x := &recording.Interaction{Request: recording.Request{URL: "https://example.com/?" + header, Header: h, Body: []byte(body)}, Response: recording.Response{Header: h, Body: []byte(body), Chunked: true}}
		x.Response.Chunks = chunksOf(&x.Response, []arrival{{time.Millisecond, len(body) / 3}, {time.Second, len(body)}})
		o := &Options{}
		once := o.Redacted(x)
		_ = o.FindSecrets(once) // it does not panic
		if diff := cmp.Diff(once, o.Redacted(once), empty); diff != "" {
			t.Errorf("redacted twice (-once +twice):\n%s", diff)
		}
		if json.Valid([]byte(body)) && !json.Valid(once.Request.Body) {
			t.Errorf("%q was JSON, and is %q", body, once.Request.Body)
		}
		was, now := tape.SplitEvents([]byte(body)), tape.SplitEvents(once.Response.Body)
		if tape.IsEvents(h) && len(was) != len(now) {
			t.Errorf("%q had %d events, and %q has %d", body, len(was), once.Response.Body, len(now))
		}
		if _, err := url.ParseQuery(body); err == nil && kind == 2 && match.ContentEncoding(h) == "" {
			if _, err := url.ParseQuery(string(once.Request.Body)); err != nil {
				t.Errorf("%q was a form, and %q is not: %v", body, once.Request.Body, err)
			}
		}
		total := 0
		for _, p := range once.Response.Chunks {
			total += p.Len
		}
		if once.Response.Chunks != nil && total != len(once.Response.Body) {
			t.Errorf("the chunks have %d bytes of %d", total, len(once.Response.Body))
		}
	})
}
