package wire_test

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/scenario"
	"github.com/looptape/looptape/trace/check"
)

// played is a scenario that was played over the wire: loop, codec, HTTP, server and script.
type played struct {
	*scenario.Result
	report    wire.Report
	exchanges []exchanged
}

// exchanged is a request with its response on the wire.
type exchanged struct {
	request []byte
	answer  []byte // status, content type and body

	response *http.Response // nil if there was no response
	body     []byte
	err      error // that ended the body
}

func loadScenario(t testing.TB, name string) *fake.Script {
	t.Helper()
	return parse(t, filepath.Join("testdata", "scenarios", name+".yaml"))
}

func parse(t testing.TB, path string) *fake.Script {
	t.Helper()
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := scenario.Parse(path, src)
	if err != nil {
		t.Fatal(err)
	}
	return f.Script
}

// play plays a scenario through a protocol.
func play(t testing.TB, name, protocol string, responseMode llm.ResponseMode, quirks ...wire.Quirk) *played {
	t.Helper()
	return playScript(t, nil, loadScenario(t, name), protocol, responseMode, quirks...)
}

// playScript plays a script. With a change to the configuration, responses are read as they
// arrive and need not end, and time is that of the bubble; see playInBubble.
func playScript(t testing.TB, live func(*loop.Config), script *fake.Script, protocol string, responseMode llm.ResponseMode, quirks ...wire.Quirk) *played {
	t.Helper()
	out := &played{}
	tape := &recorder{out: out, live: live != nil}
	cfg := wire.Config{Quirks: quirks}
	if live != nil {
		cfg.Wait = loop.SystemClock{}.Sleep
	}
	var server *wire.Server
	o, err := scenario.Run(t.Context(), script, &scenario.Options{
		Adjust: func(c *loop.Config) {
			c.ResponseMode = responseMode
			c.Model = cmp.Or(c.Model, "some-model")
			if live != nil {
				c.Clock = loop.SystemClock{}
				live(c)
			}
		},
		Model: func(script *fake.Model) llm.Model {
			cfg.Model = script
			server = wire.New(cfg)
			client, stop := server.Pipe()
			t.Cleanup(stop)
			tape.to = client.Transport
			return clientsOf(pipeURL, "main", &http.Client{Transport: tape})[protocol]
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	out.Result, out.report = o, server.Report()
	return out
}

// recorder records the requests and responses.
type recorder struct {
	to   http.RoundTripper
	out  *played
	live bool
}

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	x := exchanged{}
	if req.Body != nil {
		x.request, _ = io.ReadAll(req.Body)
		req.Body = io.NopCloser(bytes.NewReader(x.request))
	}
	resp, err := r.to.RoundTrip(req)
	if err != nil {
		x.answer = []byte("no answer\n")
		r.out.exchanges = append(r.out.exchanges, x)
		return nil, err
	}
	x.answer = fmt.Appendf(nil, "%d %s\n", resp.StatusCode, resp.Header.Get("Content-Type"))
	for _, name := range []string{"Retry-After", "Retry-After-Ms", "X-Should-Retry", "Date", "Location"} {
		if v := resp.Header.Get(name); v != "" && (name != "Date" || strings.HasPrefix(v, "Sat, 01 Jan 2000")) {
			x.answer = fmt.Appendf(x.answer, "%s: %s\n", name, v)
		}
	}
	if r.live {
		head := *resp
		x.response = &head
		r.out.exchanges = append(r.out.exchanges, x)
		resp.Body = &follower{resp.Body, &r.out.exchanges[len(r.out.exchanges)-1]}
		return resp, nil
	}
	body, err := io.ReadAll(resp.Body) // all of it: these responses end
	_ = resp.Body.Close()
	x.answer = append(x.answer, body...)
	x.response, x.body, x.err = resp, body, err
	resp.Body = io.NopCloser(&broken{bytes.NewReader(body), err})
	if err != nil {
		x.answer = append(x.answer, "[the connection breaks]\n"...)
	}
	r.out.exchanges = append(r.out.exchanges, x)
	return resp, nil
}

// broken ends with an error, unless it is nil.
type broken struct {
	io.Reader
	err error
}

func (b *broken) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err == io.EOF && b.err != nil {
		err = b.err
	}
	return n, err
}

// checkInvariants checks what every run must hold.
func (o *played) checkInvariants(t *testing.T) {
	t.Helper()
	for _, p := range o.problems() {
		t.Error(p)
	}
}

// problems returns the requirements of every run that this run violates.
func (o *played) problems() (list []string) {
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	c := check.New(nil)
	for _, ev := range o.Events {
		c.Add(ev)
	}
	for _, v := range c.Done() {
		add("%s: event %d: %s", v.Invariant, v.Event, v.Message)
	}
	if len(o.MutatedRequests) > 0 {
		add("INV-06: %q", o.MutatedRequests)
	}
	for _, v := range o.report.Violations {
		add("the server saw that request %d breaks %s: %s", v.Request, v.Invariant, v.Message)
	}
	for _, r := range o.report.RejectedRequests {
		add("the server refused request %d by %s: %s", r.Request, r.ID, r.Message)
	}
	return list
}

// responseModes are the response modes by their names in goldens.
var responseModes = map[string]llm.ResponseMode{"streaming": llm.Streaming, "non-streaming": llm.NonStreaming}

// golden returns the requests, the responses and the trace of a run.
func (o *played) golden(title string) string {
	var b strings.Builder
	section := func(name string, text []byte) { fmt.Fprintf(&b, "-- %s %s --\n%s", title, name, printable(text)) }
	for i, x := range o.exchanges {
		section("request "+strconv.Itoa(i+1), x.request)
		section("response "+strconv.Itoa(i+1), x.answer)
	}
	section("trace", []byte(o.Trace()))
	return b.String()
}

// talks matches the ids of Responses.
var talks = regexp.MustCompile(`_([0-9a-f]{16})[0-9a-f]{8}`)

// anyTalk returns text with ids that do not depend on the conversation.
func anyTalk(text []byte) []byte { return talks.ReplaceAll(text, []byte("_$1")) }

// maxLine is the number of bytes of a line in a golden of testdata/plain.
const maxLine = 4000

// printable returns text with escapes for unprintable characters and a final line feed. It
// truncates long lines.
func printable(text []byte) []byte {
	var out []byte
	for line := range bytes.Lines(text) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		if len(line) > maxLine {
			line = fmt.Appendf(slices.Clone(line[:200]), "… (%d bytes)", len(line))
		}
		out = append(append(out, escaped(line)...), '\n')
	}
	return out
}

// escaped returns a line with escapes for unprintable characters.
func escaped(line []byte) (out []byte) {
	for len(line) > 0 {
		r, n := utf8.DecodeRune(line)
		if r < ' ' || r == utf8.RuneError && n == 1 || r == '\u2028' || r == '\u0085' || r == '\ufeff' {
			q := strconv.QuoteToASCII(string(line[:n]))
			out = append(out, q[1:len(q)-1]...)
		} else {
			out = append(out, line[:n]...)
		}
		line = line[n:]
	}
	return out
}
