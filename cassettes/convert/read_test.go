package convert_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/cassettes"
	"github.com/looptape/looptape/cassettes/convert"
	"github.com/looptape/looptape/cassettes/recording"
)

const vcrTop = "---\nversion: 1\ninteractions:\n"

// vcrOf returns a go-vcr cassette with one interaction of these lines.
func vcrOf(request, response string) string {
	return vcrTop + "- request:\n    method: GET\n    url: http://a.example/\n" + request + "  response:\n    code: 200\n" + response
}

// harOf returns a HAR file with one entry of these members.
func harOf(creator, request, response string) string {
	return `{"log": {"creator": {"name": "` + creator + `"}, "entries": [
{"time": 12.5, "startedDateTime": "2026-01-02T03:04:05.678+01:00", "timings": {"receive": 2.5},
"request": {"method": "GET", "url": "http://a.example/"` + request + `},
"response": {"status": 200` + response + `}}]}}`
}

// vcrpyOf returns a vcrpy cassette with one interaction of these lines.
func vcrpyOf(request, response string) string {
	return "interactions:\n- request:\n    method: GET\n    uri: http://a.example/\n" + request + "  response:\n    status: {code: 200, message: OK}\n" + response + "version: 1\n"
}

// traceOf returns a httprr trace with a request and its response.
func traceOf(sent, got string) string {
	return fmt.Sprintf("httprr trace v1\n%d %d\n", len(sent), len(got)) + sent + got
}

// answer is the content of the files below after the changes of do.
func answer(do func(x *recording.Interaction)) *recording.Interaction {
	x := &recording.Interaction{
		Request:  recording.Request{Method: "GET", URL: "http://a.example/", Header: http.Header{}},
		Response: recording.Response{Status: 200, Proto: "HTTP/1.1", Header: http.Header{}},
	}
	if do != nil {
		do(x)
	}
	return x
}

func body(text string) func(x *recording.Interaction) {
	return func(x *recording.Interaction) { x.Response.Body, x.Response.Chunked = []byte(text), len(text) > 0 }
}

func TestRead(t *testing.T) {
	har := func(do func(x *recording.Interaction)) *recording.Interaction {
		x := answer(do)
		x.Response.Wait = 10 * time.Millisecond
		return x
	}
	for name, c := range map[string]struct {
		src  string
		want *recording.Interaction
	}{
		"a mark of the order of bytes": {"\ufeff" + vcrOf("", "    body: x\n"), answer(body("x"))},
		"no method":                    {vcrTop + "- {request: {url: 'http://a.example/'}, response: {code: 200}}", answer(nil)},
		"binary":                       {vcrOf("", "    body: !!binary AP8=\n"), answer(body("\x00\xff"))},
		"status words":                 {vcrOf("", "    status: 200 Fine\n"), answer(func(x *recording.Interaction) { x.Response.Reason = "Fine" })},
		"usual status words":           {vcrOf("", "    status: 200 OK\n"), answer(nil)},
		"a length": {vcrOf("", "    body: x\n    headers: {Content-Length: ['1']}\n"), answer(func(x *recording.Interaction) {
			x.Response.Header.Set("Content-Length", "1")
			x.Response.Body = []byte("x")
		})},
		"headers of one name": {vcrOf("    headers: {b: [x], B: [y]}\n", ""), answer(func(x *recording.Interaction) { x.Request.Header["B"] = []string{"y", "x"} })},
		"a header that is not a list": {vcrpyOf("    headers: {a: 1}\n", "    body: {string: x}\n"), answer(func(x *recording.Interaction) {
			body("x")(x)
			x.Request.Header.Set("A", "1")
		})},
		"a time below zero":            {vcrOf("", "    duration: -1s\n"), answer(nil)},
		"an address that is not ASCII": {strings.Replace(vcrOf("", ""), "example/", "example/ü v", 1), answer(func(x *recording.Interaction) { x.Request.URL = "http://a.example/ü%20v" })},
		"events": {vcrOf("", "    headers: {Content-Type: [text/event-stream]}\n    body: \"data: 1\\r\\n\\r\\ndata\"\n"), answer(func(x *recording.Interaction) {
			body("data: 1\r\n\r\ndata")(x)
			x.Response.Header.Set("Content-Type", "text/event-stream")
			x.Response.Chunks = []recording.Chunk{{Len: 11}, {Len: 4}}
		})},
		"format 2": {strings.Replace(vcrOf("", "    content_length: -1\n    uncompressed: true\n    proto: HTTP/2.0\n    trailer: {x-sum: ['1']}\n"), "version: 1", "version: 2", 1), answer(func(x *recording.Interaction) {
			x.Response.Chunked, x.Response.Uncompressed, x.Response.Proto = true, true, "HTTP/2.0"
			x.Response.Trailer = http.Header{"X-Sum": {"1"}}
		})},
		"format 2, the host of the URL": {strings.Replace(vcrOf("    host: a.example\n    headers: {Host: [c.example]}\n", ""), "version: 1", "version: 2", 1), answer(nil)},
		"format 2, another host":        {strings.Replace(vcrOf("    host: B.example\n", ""), "version: 1", "version: 2", 1), answer(func(x *recording.Interaction) { x.Request.Header.Set("Host", "B.example") })},
		"format 2, a length":            {strings.Replace(vcrOf("    content_length: 1\n    body: q\n", ""), "version: 1", "version: 2", 1), answer(func(x *recording.Interaction) { x.Request.Body = []byte("q") })},
		"format 2, no length": {strings.Replace(vcrOf("    content_length: 0\n    body: q\n", ""), "version: 1", "version: 2", 1), answer(func(x *recording.Interaction) {
			x.Request.Header.Set("Transfer-Encoding", "chunked")
			x.Request.Body = []byte("q")
		})},
		"format 1, a host that no client of Go sends": {vcrOf("    headers: {Host: [c.example]}\n", ""), answer(nil)},

		"vcrpy": {vcrpyOf("    body: q\n", "    headers: {Transfer-Encoding: [chunked]}\n    body: {string: x}\n"), answer(func(x *recording.Interaction) {
			body("x")(x)
			x.Request.Body = []byte("q")
		})},
		"vcrpy in base64":      {vcrpyOf("", "    body: {base64_string: AP8=}\n"), answer(body("\x00\xff"))},
		"vcrpy, an empty body": {vcrpyOf("    body: null\n", "    body: {string: ''}\n"), answer(nil)},
		"vcrpy, decoded": {vcrpyOf("", "    headers: {content-encoding: [gzip]}\n    body: {string: x}\n"), answer(func(x *recording.Interaction) {
			body("x")(x)
			x.Response.Uncompressed = true
		})},
		"vcrpy, text of Python 2": {vcrpyOf("", "    body: {string: !!python/unicode 'x'}\n"), answer(body("x"))},
		"vcrpy, no version":       {strings.Replace(vcrpyOf("", "    body: {string: x}\n"), "version: 1\n", "", 1), answer(body("x"))},
		"vcrpy, a method in lower case": {strings.Replace(vcrpyOf("", "    body: {string: x}\n"), "GET", "post", 1), answer(func(x *recording.Interaction) {
			body("x")(x)
			x.Request.Method = "POST"
		})},
		"vcrpy, keys more than once": {vcrpyOf("    headers: {a: '1', b: '2', a: [!!python/str '3']}\n", "    body: {string: x, string: y}\n"), answer(func(x *recording.Interaction) {
			body("y")(x)
			x.Request.Header = http.Header{"A": {"3"}, "B": {"2"}}
		})},
		"vcrpy, tuples and bytes": {vcrpyOf("    headers: {a: !!python/tuple [1, !!binary Mg==]}\n    body: !!python/bytes cQ==\n", "    body: {string: !!python/object/new:_io.BytesIO {state: !!python/tuple [!!binary AP8=, 0, null]}}\n"), answer(func(x *recording.Interaction) {
			body("\x00\xff")(x)
			x.Request.Header = http.Header{"A": {"1", "2"}}
			x.Request.Body = []byte("q")
		})},
		"vcrpy, chunks and words of Python": {strings.NewReplacer("GET", "!!python/object/apply:http.HTTPMethod [GET]", "200", "!!python/object/apply:http.HTTPStatus [200]").Replace(vcrpyOf("    body: !!python/object/apply:builtins.iter\n      args: [[a, !!binary Yg==]]\n      state: 0\n", "    body: {string: !!python/object/apply:builtins.bytearray [\"\\xFFx\", latin-1]}\n")), answer(func(x *recording.Interaction) {
			body("\xffx")(x)
			x.Request.Body = []byte("ab")
		})},
		"vcrpy, no bytes": {vcrpyOf("    body: !!python/object/apply:builtins.bytearray []\n", "    body: {string: !!python/object/new:_io.StringIO {state: ['', \"\\n\", 0, null]}}\n"), answer(nil)},
		"vcrpy, a value in an alias": {vcrpyOf("    headers: &h {a: [b]}\n    body: &b {c: !!python/none }\n", "    headers: *h\n    parsed_body: [*b, *b]\n"), answer(func(x *recording.Interaction) {
			body(`[{"c":null},{"c":null}]`)(x)
			x.Request.Header, x.Response.Header = http.Header{"A": {"b"}}, http.Header{"A": {"b"}}
			x.Request.Body = []byte(`{"c":null}`)
		})},
		"vcrpy, parsed bodies": {vcrpyOf("    body: other\n    parsed_body: {b: [1, 'two'], a: null}\n", "    parsed_body: false\n"), answer(func(x *recording.Interaction) {
			body("false")(x)
			x.Request.Body = []byte(`{"b":[1,"two"],"a":null}`)
		})},
		"vcrpy, no parsed body": {vcrpyOf("    body: q\n    parsed_body:\n", "    body: {string: x}\n    parsed_body: null\n"), answer(func(x *recording.Interaction) {
			body("x")(x)
			x.Request.Body = []byte("q")
		})},
		"vcrpy, values that only a client of JSON sends": {vcrpyOf("    body: [{string: 1}]\n", "    body: {string: x}\n"), answer(func(x *recording.Interaction) {
			body("x")(x)
			x.Request.Body = []byte(`[{"string":1}]`)
		})},
		"vcrpy in JSON with a value": {`{"interactions": [{"request": {"method": "GET", "uri": "http://a.example/"}, "response": {"status": {"code": 200}, "parsed_body": [1e5, 1.5E-3, 12345678901234567890, "1e5"]}}]}`, answer(body(`[1e+5,1.5e-3,12345678901234567890,"1e5"]`))},
		"vcrpy in JSON":              {`{"version": 1, "interactions": [{"request": {"method": "GET", "uri": "http://a.example/", "body": null}, "response": {"status": {"code": 200}, "body": {"string": "\ud83d\ude00\ud83d"}}}]}`, answer(body("😀\ufffd"))},

		"HAR": {harOf("", `, "postData": {"text": "q"}`, `, "httpVersion": "h2", "content": {"text": "x"}, "headers": [{"name": ":status", "value": "200"}, {"name": "a", "value": "1"}, {"name": "a", "value": ["2"]}]`), har(func(x *recording.Interaction) {
			body("x")(x)
			x.Response.Proto, x.Request.Body = "HTTP/2.0", []byte("q")
			x.Response.Header["A"] = []string{"1", "2"}
		})},
		"HAR, headers in lines": {harOf("", "", `, "headers": [{"name": "set-cookie", "value": "a=1; Path=/\nb=2"}, {"name": "Set-Cookie", "value": ["c=3"]}]`), har(func(x *recording.Interaction) {
			x.Response.Header["Set-Cookie"] = []string{"c=3", "a=1; Path=/", "b=2"}
		})},
		"HAR, a mark of the order of bytes": {"\ufeff" + harOf("", "", ""), har(nil)},
		"HAR, no time to receive":           {strings.NewReplacer("12.5", "10", "2.5", "-1").Replace(harOf("", "", "")), har(nil)},
		"HAR, no content":                   {harOf("", "", `, "httpVersion": "http/3"`), har(func(x *recording.Interaction) { x.Response.Proto = "HTTP/3.0" })},
		"HAR, escapes":                      {harOf("", "", `, "con\u0074ent": {"te\u0078t": "\u0022\n\ud83d\ude00\ud800"}`), har(body("\"\n😀\ufffd"))},
		"HAR, not UTF-8":                    {harOf("", "", ", \"content\": {\"text\": \"\xff\xfe\"}"), har(body("\ufffd\ufffd"))},
		"HAR, two texts":                    {harOf("", "", `, "content": {"text": "x", "text": "y"}`), har(body("y"))},
		"HAR, a text in another case":       {harOf("", "", `, "content": {"text": "x", "Text": "y"}`), har(body("y"))},
		"HAR, bodies of unknown sizes":      {harOf("", `, "bodySize": -1`, `, "bodySize": 155, "content": {"size": -1}`), har(nil)},
		"HAR, a type of no body":            {harOf("", `, "bodySize": -1, "postData": {"mimeType": "application/json"}`, ""), har(nil)},
		"HAR, empty bodies":                 {harOf("", `, "bodySize": 0, "postData": {"text": ""}`, `, "content": {"size": 0, "text": ""}`), har(nil)},
		"HAR, bodies with other sizes": {harOf("", `, "bodySize": 9, "postData": {"text": "q"}`, `, "content": {"size": 0, "text": "x"}`), har(func(x *recording.Interaction) {
			body("x")(x)
			x.Request.Body = []byte("q")
		})},
		"HAR, a form with its size":     {harOf("", `, "bodySize": 3, "postData": {"params": [{"name": "a", "value": "1"}]}`, ""), har(func(x *recording.Interaction) { x.Request.Body = []byte("a=1") })},
		"HAR, the size of a saved copy": {strings.Replace(harOf("", "", `, "content": {"size": 4}`), "200", "304", 1), har(func(x *recording.Interaction) { x.Response.Status = 304 })},
		"HAR, no body by its status":    {strings.Replace(harOf("", "", `, "content": {"size": 4, "text": ""}`), "200", "204", 1), har(func(x *recording.Interaction) { x.Response.Status = 204 })},
		"HAR, a length without a body by its status": {strings.Replace(harOf("", `, "headers": [{"name": "Content-Length", "value": "0"}]`, `, "bodySize": 9, "headers": [{"name": "Content-Length", "value": "9"}]`), "200", "304", 1), har(func(x *recording.Interaction) {
			x.Request.Header.Set("Content-Length", "0")
			x.Response.Header.Set("Content-Length", "9")
			x.Response.Status = 304
		})},
		"HAR, a redirect, whose body browsers do not keep": {strings.Replace(harOf("", "", `, "bodySize": 9, "content": {"size": 0}, "headers": [{"name": "Content-Length", "value": "9"}]`), "200", "302", 1), har(func(x *recording.Interaction) {
			x.Response.Header.Set("Content-Length", "9")
			x.Response.Status = 302
		})},
		"HAR, nothing that was compressed": {harOf("", "", `, "bodySize": 20, "content": {"size": 0, "text": ""}, "headers": [{"name": "Content-Length", "value": "20"}, {"name": "Content-Encoding", "value": "gzip"}]`), har(func(x *recording.Interaction) {
			x.Response.Header.Set("Content-Length", "20")
			x.Response.Header.Set("Content-Encoding", "gzip")
		})},
		"HAR, no content before an error": {harOf("", "", `, "_error": "net::ERR_FAILED", "content": {"size": 0}, "headers": [{"name": "Content-Length", "value": "9"}]`), har(func(x *recording.Interaction) {
			x.Response.Header.Set("Content-Length", "9")
			x.Response.Termination, x.Response.Failure = recording.Truncated, "net::ERR_FAILED"
		})},
		"HAR, an answer to HEAD": {strings.Replace(harOf("", "", `, "content": {"size": 4}`), "GET", "HEAD", 1), har(func(x *recording.Interaction) { x.Request.Method = "HEAD" })},
		"Polly.JS, no chunks": {harOf("Polly.JS", "", `, "content": {"size": 2, "text": "[]"}, "headers": [{"name": "content-encoding", "value": "gzip"}]`), har(func(x *recording.Interaction) {
			x.Response.Header.Set("Content-Encoding", "gzip")
		})},
		"HAR, a text and null":      {harOf("", "", `, "content": {"text": "x", "text": null}`), har(nil)},
		"HAR, content that is null": {harOf("", `, "postData": null`, `, "content": {"text": "x"}, "content": null`), har(body("x"))},
		"vcrpy in JSON, two bodies, not UTF-8": {
			`{"version": 1, "interactions": [{"request": {"method": "GET", "uri": "http://a.example/"}, "response": {"status": {"code": 200}, "body": {"string": "x", "string": "` + "\xff\xfe" + `"}}}]}`,
			answer(body("\ufffd\ufffd")),
		},
		"HAR in base64":                     {harOf("", "", `, "content": {"text": "AP8=", "encoding": "base64"}`), har(body("\x00\xff"))},
		"HAR, a form":                       {harOf("", `, "postData": {"params": [{"name": "a b", "value": "&"}, {"name": "c", "value": ""}]}`, ""), har(func(x *recording.Interaction) { x.Request.Body = []byte("a+b=%26&c=") })},
		"HAR, a form with its type":         {harOf("", `, "postData": {"mimeType": "Application/X-WWW-Form-URLencoded; charset=utf-8", "text": "", "params": [{"name": "a", "value": "1"}]}`, ""), har(func(x *recording.Interaction) { x.Request.Body = []byte("a=1") })},
		"HAR, a form with its text":         {harOf("", `, "postData": {"mimeType": "multipart/form-data", "text": "--x", "params": [{"name": "a", "fileName": "b"}]}`, ""), har(func(x *recording.Interaction) { x.Request.Body = []byte("--x") })},
		"HAR, a WebSocket without messages": {strings.Replace(harOf("", "", ""), `"time"`, `"_webSocketMessages": [], "time"`, 1), har(nil)},
		"HAR, decoded": {harOf("", "", `, "content": {"text": "x"}, "headers": [{"name": "content-encoding", "value": "GZIP"}, {"name": "content-length", "value": "21"}]`), har(func(x *recording.Interaction) {
			body("x")(x)
			x.Response.Uncompressed = true
		})},
		"HAR, bytes decoded": {harOf("", "", `, "content": {"text": "AP8=", "encoding": "base64"}, "headers": [{"name": "content-encoding", "value": "gzip"}]`), har(func(x *recording.Interaction) {
			body("\x00\xff")(x)
			x.Response.Uncompressed = true
		})},
		"HAR, still encoded": {harOf("", "", `, "content": {"text": "AP8=", "encoding": "base64"}, "headers": [{"name": "content-encoding", "value": "br"}]`), har(func(x *recording.Interaction) {
			body("\x00\xff")(x)
			x.Response.Header.Set("Content-Encoding", "br")
		})},
		"HAR, no encoding": {harOf("", "", `, "content": {"text": "x"}, "headers": [{"name": "content-encoding", "value": "identity"}]`), har(func(x *recording.Interaction) {
			body("x")(x)
			x.Response.Header.Set("Content-Encoding", "identity")
		})},
		"Polly.JS": {harOf("Polly.JS", "", `, "content": {"text": "[\"1f\",\"8b08\"]"}, "headers": [{"name": "content-encoding", "value": "gzip"}]`), har(func(x *recording.Interaction) {
			body("\x1f\x8b\x08")(x)
			x.Response.Header.Set("Content-Encoding", "gzip")
		})},
		"Polly.JS in base64": {harOf("Polly.JS", "", `, "content": {"text": "[\"H4s=\",\"CA==\"]", "encoding": "base64"}, "headers": [{"name": "content-encoding", "value": "gzip"}]`), har(func(x *recording.Interaction) {
			body("\x1f\x8b\x08")(x)
			x.Response.Header.Set("Content-Encoding", "gzip")
		})},
		"Polly.JS, decoded": {harOf("Polly.JS", "", `, "content": {"text": "x"}, "headers": [{"name": "content-encoding", "value": "gzip"}]`), har(func(x *recording.Interaction) {
			body("x")(x)
			x.Response.Uncompressed = true
		})},
		"Polly.JS, a list as text": {harOf("Polly.JS", "", `, "content": {"text": "[\"1f\"]"}`), har(body(`["1f"]`))},
		"a list as text": {harOf("another", "", `, "content": {"text": "[\"1f\"]"}, "headers": [{"name": "content-encoding", "value": "identity"}]`), har(func(x *recording.Interaction) {
			body(`["1f"]`)(x)
			x.Response.Header.Set("Content-Encoding", "identity")
		})},
		"HAR, no response": {strings.Replace(harOf("", "", `, "_error": "net::ERR_FAILED"`), "200", "0", 1), har(func(x *recording.Interaction) {
			x.Response = recording.Response{Termination: recording.Failed, Failure: "net::ERR_FAILED"}
		})},
		"HAR, cut": {harOf("", "", `, "_error": "net::ERR_FAILED", "content": {"text": "x"}`), har(func(x *recording.Interaction) {
			body("x")(x)
			x.Response.Termination, x.Response.Failure = recording.Truncated, "net::ERR_FAILED"
		})},

		"httprr": {traceOf("POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nA: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
			"HTTP/1.1 200 Fine\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n1\r\nx\r\n0\r\nX-Sum: 7\r\n\r\n"), answer(func(x *recording.Interaction) {
			body("x")(x)
			x.Request.Method, x.Response.Reason = "POST", "Fine"
			x.Request.Header.Set("A", "1")
			x.Request.Header.Set("Transfer-Encoding", "chunked")
			x.Response.Trailer = http.Header{"X-Sum": {"7"}}
		})},
		"httprr of HTTP/2": {traceOf("GET http://a.example/ HTTP/1.1\r\n\r\n", "HTTP/2.0 200 OK\r\nConnection: close\r\n\r\n"), answer(func(x *recording.Interaction) { x.Response.Proto = "HTTP/2.0" })},
	} {
		t.Run(name, func(t *testing.T) {
			list, _, err := read("x", []byte(c.src))
			if err != nil || len(list) != 1 {
				t.Fatalf("%d interactions, want 1; %v", len(list), err)
			}
			if diff := cmp.Diff(c.want, list[0], empty); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// A small file that decompresses to more than the limit is an error.
func TestReadCompressedLimit(t *testing.T) {
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	if _, err := io.WriteString(w, strings.Repeat(" ", 1<<20)); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	const want = "the file has more than 32 MiB after decompression: decompress it before"
	if _, err := convert.Parse("x", bytes.Repeat(zipped.Bytes(), 33)); err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}

// A compressed file is read like its content, and is not rewritten.
func TestReadCompressed(t *testing.T) {
	src := vcrpyOf("", "    body: {string: x}\n")
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	if _, err := io.WriteString(w, src); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	file := zipped.Bytes()
	r, err := convert.Parse("x", file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]*recording.Interaction{answer(body("x"))}, r.Interactions, empty); diff != "" || r.Lines[0] != 2 {
		t.Errorf("lines %v (-want +got):\n%s", r.Lines, diff)
	}
	if _, err := r.Rewrite(r.Interactions); err == nil || err.Error() != "unsupported output format" {
		t.Errorf("rewritten: %v", err)
	}
	if _, err := convert.Parse("x", file[:len(file)-2]); err == nil || err.Error() != "x: unexpected EOF" {
		t.Errorf("truncated: %v", err)
	}
}

// Read returns the metadata of a file, or else the first date in it.
func TestReadMetadata(t *testing.T) {
	for src, want := range map[string]recording.Metadata{
		harOf("a", "", ""): {Recorder: "a", Recorded: time.Date(2026, 1, 2, 2, 4, 5, 678e6, time.UTC)},
		strings.Replace(harOf("a", "", ""), "2026-", "", 1):                                                  {Recorder: "a"},
		strings.Replace(harOf("a", "", ""), "2026-", "0000-", 1):                                             {Recorder: "a"},
		strings.Replace(harOf("a", "", ""), "2026-01-02T03:04:05.678+01:00", "9999-12-31T23:59:59-01:00", 1): {Recorder: "a"},
		vcrTop + " []": {Recorder: "go-vcr"},
		vcrOf("", "    headers: {Date: ['Tue, 16 Aug 2022 13:59:35 GMT']}\n"):     {Recorder: "go-vcr", Recorded: time.Date(2022, 8, 16, 13, 59, 35, 0, time.UTC)},
		vcrpyOf("", "    headers: {Date: [yesterday]}\n    body: {string: ''}\n"): {Recorder: "vcrpy"},
		"httprr trace v1\n": {Recorder: "httprr"},
		string(cassettes.Encode(recording.Metadata{Recorder: "me", Recorded: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}, nil, nil)): {Match: "3", Recorder: "me", Recorded: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)},
	} {
		_, got, err := read("x", []byte(src))
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", src, err, diff)
		}
	}
}

func TestReadErrors(t *testing.T) {
	const unknown = "unknown format of a recording: want a cassette of looptape, go-vcr or vcrpy, a HAR file or a httprr trace"
	old := "unsupported format of vcrpy before version 1: migrate it with python -m vcr.migration FILE"
	for src, want := range map[string]string{
		"":                         "x: " + unknown,
		"hello":                    "x: " + unknown,
		"a: 1":                     "x: " + unknown,
		"{}":                       "x: " + unknown,
		"version: 2\nmodels: {}":   "x: " + unknown,
		`{"http_interactions":[]}`: "x: " + unknown,
		"- request: !!python/object:vcr.request.Request {}": "x: " + old,
		`[{"request":{},"response":{}}]`:                    "x: " + old,
		"[{}]":                                              "x: " + unknown,
		"[]":                                                "x: " + unknown,
		`[{"role":"user","content":"hi"}]`:                  "x: " + unknown,
		"[1,\n":                                             "x: " + unknown,
		`[7]`:                                               "x: " + unknown,
		"version: 3\ninteractions: []":                      "x: " + unknown + ": the version of the cassette is 3; go-vcr has 1 and 2, vcrpy 1",
		"a: b\n c: d":                                       "x:2: mapping values are not allowed in this context",
		"version: 1\ninteractions: 7":                       "x:2: cannot unmarshal !!int `7` into []yaml.Node",
		vcrTop + "- request:\n    url: http://a/\n  response:\n    code: many":                                          "x:7: interaction 1: cannot unmarshal !!str `many` into int",
		vcrOf("", "") + "- {request: {url: 'http://a/'}, response: {}}":                                                 "x:9: interaction 2: the status of the response is 0, and has to be from 100 to 999",
		vcrOf("", "") + "- {request: {url: 'http://a/'}, response: {code: 1000}}":                                       "x:9: interaction 2: the status of the response is 1000, and has to be from 100 to 999",
		vcrTop + "- {request: {url: '/v1'}, response: {code: 200}}":                                                     `x:4: interaction 1: "/v1" is not a URL such as https://example.com/v1`,
		vcrTop + "- {request: {url: 'http://a b/'}, response: {code: 200}}":                                             `x:4: interaction 1: "http://a b/" is not a URL such as https://example.com/v1`,
		vcrOf("    headers: {'a b': [c]}\n", ""):                                                                        `x:4: interaction 1: "a b" is not the name of a header`,
		vcrOf("", "    headers: {é: [c]}\n"):                                                                            `x:4: interaction 1: "é" is not the name of a header`,
		vcrOf("", "    headers: {'': [c]}\n"):                                                                           `x:4: interaction 1: "" is not the name of a header`,
		strings.Replace(vcrOf("", ""), "GET", "G T", 1):                                                                 `x:4: interaction 1: "G T" is not a method such as POST`,
		vcrOf("", "    status: \"200 a\\nb\"\n"):                                                                        `x:4: interaction 1: " a\nb" is not a reason phrase`,
		`{"log": {"entries": [{"cache": {}, "request": {"url": "http://a/"}, "response": {"status": 200}},` + "\n{}]}}": "x:2: interaction 2: \"\" is not a URL such as https://example.com/v1",
		"version: 2\ninteractions:\n- request: {uri: 'http://a/'}":                                                      "x:3: interaction 1: \"\" is not a URL such as https://example.com/v1",
		"{\"version\": 1,\n\"interactions\": [{}]}":                                                                     "x: interaction 1: \"\" is not a URL such as https://example.com/v1",
		vcrpyOf("", ""): "x:2: interaction 1: the response has no body",
		vcrpyOf("    body: !!python/object/new:_io.BytesIO\n      state: x\n", "    body: {string: ''}\n"): "x:5: interaction 1: unsupported object of Python (!!python/object/new:_io.BytesIO); record it again with a body of bytes or text",
		vcrpyOf("", "    body: [x]\n"): "x:2: interaction 1: the body of the response is neither text nor a mapping with string or base64_string",
		vcrpyOf("    body: !!python/object/apply:builtins.iter []\n", "    body: {string: ''}\n"):                                "x:5: interaction 1: missing arguments of an object of Python (!!python/object/apply:builtins.iter); record it again with a body of bytes or text",
		vcrpyOf("    body: !!python/object/apply:builtins.bytearray [☕, latin-1]\n", "    body: {string: ''}\n"):                 "x:5: interaction 1: character '☕' in the text of bytes (!!python/object/apply:builtins.bytearray); record it again with a body of bytes or text",
		vcrpyOf("    headers: {a: !!python/object:a.B {}}\n", "    body: {string: ''}\n"):                                        "x:5: interaction 1: unsupported object of Python (!!python/object:a.B); record it again with a body of bytes or text",
		vcrpyOf("", "    parsed_body:\n      at: 2026-01-02\n"):                                                                  "x:8: interaction 1: \"2026-01-02\" (!!timestamp) is not a JSON value: quote it if it is text",
		vcrpyOf("", "    parsed_body: {a: .inf}\n"):                                                                              "x:7: interaction 1: \".inf\" is not a JSON number: quote it if it is text",
		vcrpyOf("", "    parsed_body: {a: !!binary AP8=}\n"):                                                                     "x:7: interaction 1: \"AP8=\" (!!binary) is not a JSON value: quote it if it is text",
		vcrpyOf("", "    parsed_body: &a [*a]\n"):                                                                                "x:7: interaction 1: the value has more than 1000 levels or 256 MiB",
		"interactions:\n- kind: message\n  direction: sent\n  data: '{}'\n":                                                      "x: " + unknown,
		"version: 1\ninteractions:\n- kind: message\n  data: '{}'\n":                                                             "x:3: interaction 1: no request of HTTP, but kind, data: messages of WebSocket and calls of gRPC are not supported",
		strings.Replace(vcrpyOf("", "    body: {string: ''}\n"), "version: 1", "- {request_sample: {}, response_sample: {}}", 1): "x:8: interaction 2: no request of HTTP, but request_sample, response_sample: messages of WebSocket and calls of gRPC are not supported",
		vcrpyOf("", "    body: {base64_string: '*'}\n"):                                                                          "x:2: interaction 1: illegal base64 data at input byte 0",
		" \n{\n\"log\":\n}":                       "x:4: invalid character '}' looking for beginning of value",
		"{\n\"log\":\n}":                          "x:3: invalid character '}' looking for beginning of value",
		"{\"log\": {\n\"entries\": [\n{},\n[]]}}": "x:3: interaction 1: \"\" is not a URL such as https://example.com/v1",
		harOf("", `, "headers": 7`, ""):           `x:3: interaction 1: there is a JSON number where it cannot be, at "request.headers"`,
		harOf("", `, "postData": {"text": "`+strings.Repeat("x", 300)+"\"},\n\"headers\": 7", ""):                                `x:4: interaction 1: there is a JSON number where it cannot be, at "request.headers"`,
		harOf("", "", `, "content": {"size": 4}`):                                                                                "x:2: interaction 1: the body of the response: missing content of 4 bytes: export the file again with content",
		harOf("", "", `, "content": {"size": 1902, "text": ""}`):                                                                 "x:2: interaction 1: the body of the response: missing content of 1902 bytes: export the file again with content",
		harOf("", `, "bodySize": -1, "headers": [{"name": "Content-Length", "value": "155"}]`, ""):                               "x:2: interaction 1: the body of the request: missing postData of 155 bytes: export the file again with it, or without this entry",
		strings.Replace(harOf("", `, "bodySize": -1, "postData": {"mimeType": "application/json"}`, ""), "GET", "POST", 1):       "x:2: interaction 1: the body of the request: missing text of a postData of unknown size: export the file again with it, or without this entry",
		harOf("", `, "postData": {"_file": "r.json"}`, ""):                                                                       `x:2: interaction 1: the body of the request: the content is in another file, "r.json": record the file again with the content in it (of Playwright with content: "embed")`,
		harOf("", "", `, "content": {"size": -1, "_file": "a.json"}`):                                                            `x:2: interaction 1: the body of the response: the content is in another file, "a.json": record the file again with the content in it (of Playwright with content: "embed")`,
		harOf("", "", `, "bodySize": 526, "content": {"size": -1}, "headers": [{"name": "Content-Length", "value": "526"}]`):     "x:2: interaction 1: the body of the response: missing content of 526 bytes: export the file again with content",
		harOf("", "", `, "content": {"size": 0, "text": ""}, "headers": [{"name": "content-length", "value": "526"}]`):           "x:2: interaction 1: the body of the response: missing content of 526 bytes: export the file again with content",
		harOf("", "", `, "bodySize": 526, "content": {"size": 0}`):                                                               "x:2: interaction 1: the body of the response: missing content of 526 bytes: export the file again with content",
		harOf("", `, "bodySize": 64`, ""):                                                                                        "x:2: interaction 1: the body of the request: missing postData of 64 bytes: export the file again with it, or without this entry",
		harOf("", `, "bodySize": 64, "postData": {"mimeType": "application/json", "text": ""}`, ""):                              "x:2: interaction 1: the body of the request: missing postData of 64 bytes: export the file again with it, or without this entry",
		harOf("", `, "bodySize": 64, "postData": {"mimeType": "application/json", "params": []}`, ""):                            "x:2: interaction 1: the body of the request: missing postData of 64 bytes: export the file again with it, or without this entry",
		strings.Replace(harOf("", `, "bodySize": 64`, ""), `"status": 200`, `"status": 0`, 1):                                    "x:2: interaction 1: the body of the request: missing postData of 64 bytes: export the file again with it, or without this entry",
		harOf("", "", `, "content": {"text": "x", "encoding": "hex"}`):                                                           "x:2: interaction 1: the body of the response: unknown encoding \"hex\": want base64",
		harOf("", `, "postData": {"text": "*", "encoding": "base64"}`, ""):                                                       "x:2: interaction 1: the body of the request: illegal base64 data at input byte 0",
		harOf("", `, "postData": {"mimeType": "multipart/form-data; boundary=x", "params": [{"name": "a", "value": "zz"}]}`, ""): `x:2: interaction 1: the body of the request: missing text of a form of the type "multipart/form-data; boundary=x", whose fields do not show all bytes that were sent: export the file again with the text, or without this entry`,
		harOf("", `, "postData": {"text": "", "params": [{"name": "a", "fileName": "b.png"}]}`, ""):                              `x:2: interaction 1: the body of the request: missing text of a form of the type "", whose fields do not show all bytes that were sent: export the file again with the text, or without this entry`,
		strings.Replace(harOf("", "", ""), `"time"`, `"_webSocketMessages": [{"type": "send"}], "time"`, 1):                      "x:2: interaction 1: messages of WebSocket are not supported: export the file again without this entry",
		vcrOf("", "") + vcrOf("", ""): "x:10: the file has another document: make a file of each",
		harOf("Polly.JS", "", `, "content": {"text": "[\"x\"]"}, "headers": [{"name": "content-encoding", "value": "br"}]`): "x:2: interaction 1: the body of the response: encoding/hex: invalid byte: U+0078 'x'",
		"httprr trace v1\n7\n":     `x:2: interaction 1: "7" is not the lengths of a request and its response, such as 375 769`,
		"httprr trace v1\n-1 2\n":  `x:2: interaction 1: "-1 2" is not the lengths of a request and its response, such as 375 769`,
		"httprr trace v1\n1 2\nab": "x:2: interaction 1: the trace is truncated: want 3 bytes, got 2: record it again",
		traceOf("abcd", ""):        "x:2: interaction 1: the request: malformed HTTP request \"abcd\"",
		traceOf("POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\n", ""):                         "x:2: interaction 1: the body of the request: unexpected EOF",
		traceOf("GET / HTTP/1.1\r\n\r\n", "abcd"):                                           "x:2: interaction 1: the response: malformed HTTP response \"abcd\"",
		traceOf("GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab"): "x:2: interaction 1: the body of the response: unexpected EOF",
		"looptape-cassette 7\n": "x:1: unknown version of the format: got 7, want 1 to 2: use a newer looptape, or record again",
	} {
		_, _, err := read("x", []byte(src))
		if err == nil {
			t.Errorf("%s\nno error, want %s", src, want)
			continue
		}
		if diff := cmp.Diff(want, err.Error()); diff != "" {
			t.Errorf("%s\n-want +got:\n%s", src, diff)
		}
		if _, ok := errors.AsType[*recording.FormatError](err); !ok {
			t.Errorf("%s\na %T", src, err)
		}
	}
}

// The length of a body is declared as go-vcr v4 records it for a Go client.
func TestLengths(t *testing.T) {
	for want, do := range map[string]func(*recording.Response){
		"content_length: 3\n":                              nil,
		"content_length: 7\n":                              func(r *recording.Response) { r.Header.Set("Content-Length", "7") },
		"content_length: -1\n":                             func(r *recording.Response) { r.Chunked, r.Proto = true, "HTTP/2.0" },
		"content_length: -1\n        uncompressed: true\n": func(r *recording.Response) { r.Chunked, r.Uncompressed = true, true },
		"transfer_encoding:\n            - chunked\n        content_length: -1\n": func(r *recording.Response) { r.Chunked = true },
	} {
		x := answer(func(x *recording.Interaction) { x.Response.Body = []byte("abc") })
		if do != nil {
			do(&x.Response)
		}
		text, _, err := convert.Write(convert.GoVCR2, recording.Metadata{}, []*recording.Interaction{x})
		_, response, _ := strings.Cut(string(text), "response:\n")
		_, got, _ := strings.Cut(response, "proto_minor: ")
		if _, got, _ = strings.Cut(got, "\n"); err != nil || !strings.HasPrefix(strings.TrimSpace(got), want) {
			t.Errorf("%v\n%s\nwant %s", err, response, want)
		}
	}
}

// Write returns an error for interactions that a format cannot represent at all.
func TestWriteErrors(t *testing.T) {
	for want, c := range map[string]struct {
		f convert.Format
		x *recording.Interaction
	}{
		`unknown format "xml": want one of [cassette go-vcr1 go-vcr2 har vcrpy]`:                         {"xml", answer(nil)},
		`go-vcr1: interaction 1: parse ":": missing protocol scheme`:                                     {convert.GoVCR1, answer(func(x *recording.Interaction) { x.Request.URL = ":" })},
		`go-vcr2: interaction 1: parse ":": missing protocol scheme`:                                     {convert.GoVCR2, answer(func(x *recording.Interaction) { x.Request.URL = ":" })},
		`what was written cannot be read back: har:9: interaction 1: "A B" is not a method such as POST`: {convert.HAR, answer(func(x *recording.Interaction) { x.Request.Method = "A B" })},
		"vcrpy cannot hold the method of interaction 1":                                                  {convert.VCRPy, answer(func(x *recording.Interaction) { x.Request.Method = "" })},
	} {
		_, _, err := convert.Write(c.f, recording.Metadata{}, []*recording.Interaction{c.x})
		if err == nil || err.Error() != want {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
}

// Parse replaces bytes that are not UTF-8, and names the first one.
func TestInvalid(t *testing.T) {
	src := harOf("", "", ", \"content\": {\"text\": \"a\xe9\"}")
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	if _, err := io.WriteString(w, src); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"plain": src, "compressed": zipped.String()} {
		rec, err := convert.Parse("x", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("x:4: the byte 0xe9 at offset %d is not UTF-8: convert the file to UTF-8", strings.Index(src, "\xe9"))
		if got := fmt.Sprint(rec.Invalid); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	if rec, err := convert.Parse("x", []byte(harOf("", "", ", \"content\": {\"text\": \"\ufffd\"}"))); err != nil || rec.Invalid != nil {
		t.Errorf("with U+FFFD: error %v, invalid %v", err, rec.Invalid)
	}
}
