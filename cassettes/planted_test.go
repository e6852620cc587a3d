package cassettes

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/cassettes/internal/match"
	"github.com/looptape/looptape/cassettes/recording"
)

// plant is an interaction that contains a secret.
type plant struct {
	name string
	// make returns the request and the response with this secret; a header has one value per
	// line.
	make func(s string) exchange
}

type exchange struct {
	url, header, body string
	// Of the response.
	status    int
	gotHeader string
	gotBody   string
	failure   error
	bytewise  bool
}

const (
	jsonType   = "Content-Type: application/json\n"
	formType   = "Content-Type: application/x-www-form-urlencoded\n"
	eventsType = "Content-Type: text/event-stream\n"
	endpoint   = "https://api.example.com/v1/chat"
)

func bearer(s string) string { return "Authorization: Bearer " + s + "\n" }

func inBytes(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

// escapedAll returns the content of a JSON string with all characters escaped.
func escapedAll(s string) string {
	out := ""
	for _, c := range []byte(s) {
		out += fmt.Sprintf(`\u%04x`, c)
	}
	return out
}

func inJSON(s string) string {
	b, _ := json.Marshal(s) // a string always goes
	return string(b[1 : len(b)-1])
}

func percentAll(s string) string {
	out := ""
	for _, c := range []byte(s) {
		out += fmt.Sprintf("%%%02x", c)
	}
	return out
}

func packed(with func(io.Writer) io.WriteCloser, s string) string {
	var b bytes.Buffer
	w := with(&b)
	_, _ = w.Write([]byte(s)) // to a buffer
	_ = w.Close()             // the same
	return b.String()
}

func gzipped(s string) string {
	return packed(func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }, s)
}

func deflated(s string) string {
	return packed(func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) }, s)
}

// deltas returns events that contain a string in parts of n bytes. The form contains the place
// of the part, as a JSON string or plain, and may contain the place of its number.
func deltas(form, s string, n int) string {
	out := ""
	for i := 0; len(s) > 0; i++ {
		k := min(n, len(s))
		out += strings.NewReplacer("TEXT", inJSON(s[:k]), "PLAIN", s[:k], "NUMBER", fmt.Sprint(i)).Replace(form)
		s = s[k:]
	}
	return out
}

var plants = []plant{
	{"bearer", func(s string) exchange { return exchange{header: bearer(s)} }},
	{"no scheme", func(s string) exchange { return exchange{header: "Authorization: " + s + "\n"} }},
	{"proxy", func(s string) exchange {
		return exchange{header: "Proxy-Authorization: Basic " + inBytes("u:"+s) + "\n"}
	}},
	{"basic, and decoded", func(s string) exchange {
		return exchange{header: "Authorization: Basic " + inBytes("user:"+s) + "\n", gotBody: "no such password: " + s}
	}},
	{"basic without padding, and decoded", func(s string) exchange {
		return exchange{header: "Authorization: Basic " + strings.TrimRight(inBytes("user:"+s), "=") + "\n", gotBody: "no such password: " + s}
	}},
	{"basic without a password", func(s string) exchange {
		return exchange{header: "Authorization: Basic " + inBytes(s+":") + "\n", gotBody: "no such user: " + s}
	}},
	{"keys in headers of others", func(s string) exchange {
		return exchange{header: "X-Auth-Key: " + s + "\nDd-Application-Key: " + s + "\nHelicone-Auth: Bearer " + s + "\nX-Auth: " + s + "\n"}
	}},
	{"cookies", func(s string) exchange { return exchange{header: "Cookie: theme=dark; session=" + s + "; x\n"} }},
	{"set-cookie", func(s string) exchange {
		return exchange{gotHeader: "Set-Cookie: theme=dark\nSet-Cookie: session=" + s + "; Path=/; HttpOnly\n", gotBody: "{\"session\":\"" + inJSON(s) + "\"}"}
	}},
	{"keys in headers", func(s string) exchange {
		return exchange{header: "X-Api-Key: " + s + "\nApi-Key: " + s + "\nX-Goog-Api-Key: " + s + "\nOcp-Apim-Subscription-Key: " + s + "\nX-Auth-Token: " + s + "\n"}
	}},
	{"query", func(s string) exchange { return exchange{url: endpoint + "?alt=sse&key=" + url.QueryEscape(s)} }},
	{"query, echoed", func(s string) exchange {
		return exchange{url: endpoint + "?access_token=" + percentAll(s) + "#x", gotHeader: "Location: /next?again=" + url.QueryEscape(s) + "\n", gotBody: "bad token " + s}
	}},
	{"query, its names escaped", func(s string) exchange {
		return exchange{url: endpoint + "?api%5Fkey=" + url.QueryEscape(s) + "&%6Bey=" + url.QueryEscape(s) + "&auth[token]=" + url.QueryEscape(s) + "&auth%5Btoken%5D=" + url.QueryEscape(s)}
	}},
	{"userinfo", func(s string) exchange {
		return exchange{url: "https://" + url.UserPassword("me", s).String() + "@example.com/x", gotBody: s}
	}},
	{"signed URL", func(s string) exchange {
		return exchange{gotHeader: jsonType, gotBody: `{"data":[{"url":"https://store.example.com/a.png?se=1&sig=` + inJSON(url.QueryEscape(s)) + `&sv=2"}]}`}
	}},
	{"URL in a URL", func(s string) exchange {
		inner := "https://app.example.com/cb?access_token=" + url.QueryEscape(s)
		return exchange{url: endpoint + "?a=1&redirect_uri=" + url.QueryEscape(inner) + "&b=%20", body: "see " + endpoint + "?next=" + url.QueryEscape("/login?u="+url.QueryEscape(inner)) + ", and " + s}
	}},
	{"userinfo of a URL in a URL", func(s string) exchange {
		return exchange{url: endpoint + "/" + url.QueryEscape("https://"+url.UserPassword("me", s).String()+"@example.com/x"), gotBody: s}
	}},
	{"path", func(s string) exchange {
		return exchange{url: "https://example.com/bot" + url.PathEscape(s) + "/x", header: bearer(s)}
	}},
	{"failure", func(s string) exchange {
		return exchange{url: endpoint + "?token=" + url.QueryEscape(s), failure: errors.New(`Post "` + endpoint + "?token=" + url.QueryEscape(s) + `": no route, by ` + s)}
	}},
	{"JSON", func(s string) exchange {
		return exchange{header: jsonType, body: `{"grant":[{"client_secret":"` + inJSON(s) + `"}]}`, gotHeader: jsonType, gotBody: `{"access_token": "` + inJSON(s+"A") + `", "refreshToken": "` + escapedAll(s+"B") + `"}`}
	}},
	{"object in JSON", func(s string) exchange {
		return exchange{header: jsonType, body: `{"secret":{"value":"` + inJSON(s) + `"},"api_key":[{"value":"` + inJSON(s) + `"}]}`}
	}},
	{"XML", func(s string) exchange {
		x := strings.NewReplacer("<", "", ">", "", "&", "", `"`, "").Replace(s)
		return exchange{body: "<a><w:password type=\"x\">\n" + x + " </w:password><api-key>" + x + "</api-key></a>"}
	}},
	{"JSON in JSON", func(s string) exchange {
		return exchange{header: jsonType, body: `{"arguments":"{\"password\":\"` + inJSON(inJSON(s)) + `\"}"}`}
	}},
	{"JSON that is cut", func(s string) exchange {
		return exchange{gotHeader: jsonType, gotBody: `{"id": 1, "access_token": "` + inJSON(s) + `", "expires`}
	}},
	{"form", func(s string) exchange {
		return exchange{header: formType, body: "a=1&client_secret=" + url.QueryEscape(s) + "&echo=" + percentAll(s)}
	}},
	{"JSON that is said to be a form", func(s string) exchange {
		return exchange{header: formType, body: `{"api_key":"` + inJSON(s) + `","prompt":"it is ` + inJSON(s) + `"}`}
	}},
	{"JSON that is said to be a form, and cut", func(s string) exchange {
		return exchange{header: formType, body: `{"api_key":"` + inJSON(s) + `","prompt":"it`}
	}},
	{"text that is said to be a form", func(s string) exchange {
		return exchange{header: formType + bearer(s), body: "it is " + strings.ReplaceAll(s, "&", "%26") + "\nor " + percentAll(s) + "."}
	}},
	{"name in a form", func(s string) exchange {
		return exchange{header: formType + bearer(s), body: url.QueryEscape(s) + "=1&a=&" + percentAll(s)}
	}},
	{"parts", func(s string) exchange {
		return exchange{header: "Content-Type: multipart/form-data; boundary=xyz\n", body: "--xyz\r\nContent-Disposition: form-data; name=\"api_key\"\r\n\r\n" + s + "\r\n--xyz--\r\n"}
	}},
	{"parts with linefeeds", func(s string) exchange {
		return exchange{header: "Content-Type: multipart/form-data; boundary=xyz\n", body: "--xyz\nContent-Disposition: form-data; name=\"api_key\"\n\n" + s + "\n--xyz--\n"}
	}},
	{"echo, escaped", func(s string) exchange {
		return exchange{header: bearer(s), status: 401, gotHeader: jsonType, gotBody: `{"error":{"message":"bad key ` + escapedAll(s) + `.", "was": "` + inJSON(s) + `"}}`}
	}},
	{"echo, escaped in a text", func(s string) exchange {
		return exchange{header: bearer(s), gotBody: `bad key "` + strings.ReplaceAll(inJSON(s), "/", `\/`) + `"`}
	}},
	{"echo, in percent", func(s string) exchange {
		return exchange{header: bearer(s), gotHeader: "X-Was: " + percentAll(s) + "\n", gotBody: "see https://example.com/" + url.PathEscape(percentAll(s))}
	}},
	{"echo, in base64", func(s string) exchange {
		return exchange{header: bearer(s), gotBody: inBytes(s) + " " + inBytes("x"+s+"y") + " " + base64.URLEncoding.EncodeToString([]byte("yy"+s))}
	}},
	{"echo, in a trailer", func(s string) exchange {
		return exchange{header: bearer(s) + jsonType + "Trailer-X-Sum: " + s + "\n", body: "{}"}
	}},
	{"split in Chat", func(s string) exchange {
		form := `data: {"choices":[{"delta":{"content":"TEXT"},"index":0}]}` + "\n\n" + `data: {"choices":[{"delta":{"content":"other"},"index":1}]}` + "\n\n"
		return exchange{header: bearer(s), gotHeader: eventsType, gotBody: deltas(form, "your key: "+s+", yes", 7) + "data: [DONE]\n\n"}
	}},
	{"split in Messages", func(s string) exchange {
		form := "event: content_block_delta\r\ndata: {\"type\":\"content_block_delta\",\"index\":2,\"delta\":{\"type\":\"text_delta\",\"text\":\"TEXT\"}}\r\n\r\n"
		return exchange{header: "X-Api-Key: " + s + "\n", gotHeader: eventsType, gotBody: deltas(form, s+s, 3), bytewise: true}
	}},
	{"split arguments", func(s string) exchange {
		form := `data: {"type":"x","sequence_number":NUMBER,"output_index":1,"delta":"TEXT"}` + "\n\n"
		return exchange{gotHeader: eventsType, gotBody: deltas(form, `{"a":1,"api_key":"`+inJSON(s)+`"}`, 4)}
	}},
	{"split in texts", func(s string) exchange {
		return exchange{header: bearer(s), gotHeader: eventsType, gotBody: deltas("event: x\ndata: PLAIN\n\n", s, 5) + "data: " + s + "\n\n"}
	}},
	{"split in lines", func(s string) exchange {
		return exchange{header: bearer(s), gotHeader: "Content-Type: application/x-ndjson\n", gotBody: deltas(`{"message":{"content":"TEXT"},"done":false}`+"\n", s, 6)}
	}},
	{"split in lines, the first one empty", func(s string) exchange {
		return exchange{header: bearer(s), gotHeader: "Content-Type: application/x-ndjson\n", gotBody: "\r\n" + deltas(`{"message":{"content":"TEXT"},"done":false}`+"\r\n", s, 6)}
	}},
	{"split after a byte order mark", func(s string) exchange {
		return exchange{header: bearer(s), gotHeader: eventsType, gotBody: "\uFEFF" + deltas("data: {\"t\":\"TEXT\"}\n\n", s, 5)}
	}},
	{"split by mixed newlines", func(s string) exchange {
		return exchange{header: bearer(s), gotHeader: eventsType, gotBody: deltas("data: {\"t\":\"TEXT\"}\n\nid: NUMBER\r\ndata: {\"u\":\"TEXT\"}\r\n\r\n: x\r\r", s, 5)}
	}},
	{"split in elements", func(s string) exchange {
		list := deltas(`,{"candidates":[{"content":{"parts":[{"text":"TEXT"}]}}]}`+"\n", s, 9)
		return exchange{header: bearer(s), gotHeader: jsonType, gotBody: "[" + list[1:] + "]"}
	}},
	{"chunks", func(s string) exchange { return exchange{header: bearer(s), gotBody: "it was " + s, bytewise: true} }},
	{"gzip", func(s string) exchange {
		return exchange{header: jsonType + "Content-Encoding: gzip\n", body: gzipped(`{"api_key":"` + inJSON(s) + `"}`), gotHeader: "Content-Encoding: gzip\n", gotBody: gzipped("no: " + s)}
	}},
	{"gzip in two headers", func(s string) exchange {
		return exchange{header: bearer(s), gotHeader: "Content-Encoding: identity\nContent-Encoding: gzip\n", gotBody: gzipped("no: " + s)}
	}},
	{"gzip, its header in lower case", func(s string) exchange {
		return exchange{header: bearer(s) + "lower-content-encoding: gzip\nlower-content-type: application/x-www-form-urlencoded\n", body: gzipped("pwd=" + url.QueryEscape(s))}
	}},
	{"gzip of events", func(s string) exchange {
		return exchange{header: bearer(s), gotHeader: eventsType + "Content-Encoding: gzip\n", gotBody: gzipped(deltas("data: {\"t\":\"TEXT\"}\n\n", s, 5))}
	}},
	{"deflate", func(s string) exchange {
		return exchange{header: bearer(s), gotHeader: "Content-Encoding: deflate\n", gotBody: deflated("no: " + s)}
	}},
	{"headers of messages of Amazon", func(s string) exchange {
		return exchange{header: bearer(s), gotHeader: "Content-Type: application/vnd.amazon.eventstream\n", gotBody: string(eventMessage(nil, eventHeader(":message-type", "error")+eventHeader(":error-message", "no "+s), ""))}
	}},
	{"messages of Amazon", func(s string) exchange {
		var body []byte
		all := s
		for len(s) > 0 {
			k := min(6, len(s))
			body = eventMessage(body, "\x01a\x07\x00\x01b", `{"bytes":"`+inBytes(`{"delta":{"text":"`+inJSON(s[:k])+`"}}`)+`","p":"abc"}`)
			s = s[k:]
		}
		return exchange{header: bearer(all), gotHeader: "Content-Type: application/vnd.amazon.eventstream\n", gotBody: string(body)}
	}},
}

// headerOf reads the lines of a header.
func headerOf(lines string) http.Header {
	h := http.Header{}
	for line := range strings.Lines(lines) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		if as, lower := strings.CutPrefix(name, "lower-"); lower {
			h[as] = append(h[as], value)
			continue
		}
		h.Add(name, value)
	}
	return h
}

// RoundTrip returns the response of the exchange and checks that the request is unchanged.
func (x exchange) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if string(body) != x.body || r.URL.String() != x.url || !cmp.Equal(r.Header, headerOf(x.header)) {
		return nil, errors.New("the network got another request")
	}
	if x.failure != nil {
		return nil, x.failure
	}
	var from io.Reader = strings.NewReader(x.gotBody)
	if x.bytewise {
		from = iotest.OneByteReader(from)
	}
	h := headerOf(x.gotHeader)
	h.Set("Content-Length", fmt.Sprint(len(x.gotBody)))
	return &http.Response{StatusCode: x.status, Proto: "HTTP/1.1", Header: h, Body: io.NopCloser(from), ContentLength: -1, Request: r}, nil
}

// with returns an exchange with a secret.
func (p plant) with(s string) exchange {
	x := p.make(s)
	if x.url == "" {
		x.url = endpoint
	}
	if x.status == 0 {
		x.status = 200
	}
	return x
}

// ask sends the request of an exchange.
func (x exchange) ask(t *testing.T, c *Cassette) (header http.Header, body string, err error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, x.url, strings.NewReader(x.body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = headerOf(x.header)
	resp, err := c.RoundTrip(req)
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = resp.Body.Close() }() // it was read
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(headerOf(x.header), req.Header); diff != "" {
		t.Errorf("the caller's request changed (-want +got):\n%s", diff)
	}
	return resp.Header, string(text), nil
}

// planted returns a secret with characters that have many encodings.
func planted(rnd *rand.Rand) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_+/=.~"
	b := []byte("pl4")
	for range 17 + rnd.IntN(60) {
		b = append(b, alphabet[rnd.IntN(len(alphabet))])
	}
	return string(b)
}

// None of 200 secrets is written to disk. A client with other secrets gets its responses, and
// the recorded client gets unchanged ones.
func TestPlantedSecrets(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for n := range 6 * len(plants) { // more than 200
		p := plants[n%len(plants)]
		secret, other := planted(rnd), planted(rnd)
		if n%3 == 0 && !strings.HasPrefix(p.name, "cookies") {
			secret = `<"` + secret + `&>`
		}
		t.Run(fmt.Sprintf("%d %s", n, p.name), func(t *testing.T) { plantAndReplay(t, p, secret, other) })
	}
}

func plantAndReplay(t *testing.T, p plant, secret, other string) {
	path := secretPath(t, 0)
	x := p.with(secret)
	c, err := Open(path, &Options{Mode: Record, Transport: x})
	if err != nil {
		t.Fatal(err)
	}
	_, live, err := x.ask(t, c)
	if !errors.Is(err, x.failure) || live != x.gotBody && err == nil {
		t.Errorf("the client got %q, %v", live, err)
	}
	journal, err := os.ReadFile(JournalPath(path))
	if err != nil {
		t.Fatal(err)
	}
	grep(t, "the journal", secret, string(journal))
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	grep(t, "the file", secret, string(text))
	f, err := Parse(path, text)
	if err != nil {
		t.Fatal(err)
	}
	on, err := f.Interaction(0)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range texts(on) {
		grep(t, "what is encoded", secret, text)
	}
	total := 0
	for _, piece := range on.Response.Chunks {
		total += piece.Len
	}
	if on.Response.Chunks != nil && total != len(on.Response.Body) {
		t.Errorf("the chunks have %d bytes, the body %d", total, len(on.Response.Body))
	}
	play, err := Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	h, again, err := p.with(other).ask(t, play)
	if again != string(on.Response.Body) || (err != nil) != (x.failure != nil) {
		t.Errorf("the replay is %q, %v", again, err)
	}
	if err == nil && h.Get("Content-Length") != fmt.Sprint(len(again)) {
		t.Errorf("of %d bytes, Content-Length is %q", len(again), h.Get("Content-Length"))
	}
	if err := play.Close(); err != nil {
		t.Error(err)
	}
}

// texts returns all strings of an interaction after decoding: each string, and for each path
// in the JSON of its events the joined string.
func texts(x *recording.Interaction) []string {
	list := []string{x.Request.URL, x.Response.Failure}
	for _, h := range []http.Header{x.Request.Header, x.Request.Trailer, x.Response.Header, x.Response.Trailer} {
		for _, values := range h {
			list = append(list, values...)
		}
	}
	for _, body := range []string{string(match.Decode(x.Request.Header, x.Request.Body).Plain), string(match.Decode(x.Response.Header, x.Response.Body).Plain)} {
		list = append(list, body)
		at := map[string]string{}
		for _, m := range append(jsonIn.FindAllString(body, -1), flatIn.FindAllString(body, -1)...) {
			var v any
			if json.Unmarshal([]byte(m), &v) == nil {
				collect(at, "", v)
			}
		}
		var whole any
		if json.Unmarshal([]byte(body), &whole) == nil {
			collect(at, "", whole)
		}
		for _, text := range at {
			list = append(list, text)
		}
	}
	return list
}

// Patterns for objects on a line and in binary data.
var (
	jsonIn = regexp.MustCompile(`\{[^\r\n]*\}`)
	flatIn = regexp.MustCompile(`\{[^{}]*\}`)
)

// collect adds the strings of a value to those at the same paths. All elements of an array
// have one path. The choices of a response are distinguished by their index.
func collect(at map[string]string, path string, v any) {
	switch v := v.(type) {
	case string:
		at[path] += v
		if b, err := base64.StdEncoding.DecodeString(v); err == nil {
			var inner any
			if json.Unmarshal(b, &inner) == nil {
				collect(at, path, inner)
			}
		}
	case []any:
		for _, e := range v {
			collect(at, path+"/*", e)
		}
	case map[string]any:
		for name, e := range v {
			collect(at, fmt.Sprint(path, "/", name, v["index"]), e)
			at[path+" names"] += name
		}
	}
}

// grep searches a string for a secret: unchanged, percent-encoded and in base64.
func grep(t *testing.T, where, secret, text string) {
	t.Helper()
	if contains(text, secret) {
		t.Errorf("%s has the secret %s: %.600q", where, secret, text)
	}
}

// contains reports whether text contains a secret in one of these encodings.
func contains(text, secret string) bool {
	views := []string{text}
	for v := text; ; {
		plain, err := url.PathUnescape(regexp.MustCompile(`%([^0-9a-fA-F]|.[^0-9a-fA-F]|.?$)`).ReplaceAllString(v, "%25$1"))
		if err != nil || plain == v {
			break
		}
		v = plain
		views = append(views, v)
	}
	for _, v := range views {
		for _, word := range regexp.MustCompile(`[A-Za-z0-9+/_-]{16,}`).FindAllString(v, -1) {
			std := strings.NewReplacer("-", "+", "_", "/").Replace(word)
			for shift := range min(4, len(std)) {
				b, _ := base64.RawStdEncoding.DecodeString(std[shift : shift+(len(std)-shift)/4*4]) // as far as it goes
				views = append(views, string(b))
			}
		}
	}
	for _, v := range views {
		for _, s := range []string{secret, inJSON(secret), escapedAll(secret), inJSON(inJSON(secret)), inJSON(inJSON(inJSON(secret)))} {
			if strings.Contains(v, s) {
				return true
			}
		}
	}
	return false
}

// eventHeader returns a header of such a message with a string.
func eventHeader(name, value string) string {
	return string(rune(len(name))) + name + "\x07" + string(binary.BigEndian.AppendUint16(nil, uint16(len(value)))) + value
}

// eventMessage appends a message of the Amazon event stream format.
func eventMessage(dst []byte, headers, payload string) []byte {
	from := len(dst)
	dst = binary.BigEndian.AppendUint32(dst, uint32(16+len(headers)+len(payload)))
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(headers)))
	dst = binary.BigEndian.AppendUint32(dst, crc32.ChecksumIEEE(dst[from:]))
	dst = append(append(dst, headers...), payload...)
	return binary.BigEndian.AppendUint32(dst, crc32.ChecksumIEEE(dst[from:]))
}
