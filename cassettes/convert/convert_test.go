package convert_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/looptape/looptape/cassettes/convert"
	"github.com/looptape/looptape/cassettes/internal/match"
	"github.com/looptape/looptape/cassettes/internal/tape"
	"github.com/looptape/looptape/cassettes/recording"
)

// read parses a recording and returns its interactions and metadata.
func read(name string, src []byte) ([]*recording.Interaction, recording.Metadata, error) {
	r, err := convert.Parse(name, src)
	if err != nil {
		return nil, recording.Metadata{}, err
	}
	return r.Interactions, r.Metadata, nil
}

// cannot lists what each format cannot represent of the interactions drawn below. The other
// formats have one sign for a decompressed body, and it may be missing.
var cannot = map[convert.Format][]string{
	convert.Cassette: nil,
	convert.GoVCR1: {
		"the session", "the Host of the request", "whether the request declared its length", "the trailer of the request", "the trailer of the response", "the protocol", "whether the response declared its length",
		"that the transport decompressed the body", "the chunks of the body and their times", "how the response ended",
		"the request without a response", "when it was recorded", "what recorded it", "the servers of the proxy",
	},
	convert.GoVCR2: {
		"the session", "the chunks of the body and their times", "how the response ended",
		"the request without a response", "when it was recorded", "what recorded it", "the servers of the proxy",
	},
	convert.HAR: {
		"the session", "the trailer of the request", "the trailer of the response", "whether the response declared its length",
		"that the transport decompressed the body", "the chunks of the body and their times", "how the response ended", "the servers of the proxy",
	},
	convert.VCRPy: {
		"the session", "the encoding of the URL", "the trailer of the request", "the trailer of the response", "the protocol", "whether the response declared its length",
		"that the transport decompressed the body", "the time to the header", "the chunks of the body and their times", "how the response ended",
		"the request without a response", "when it was recorded", "what recorded it", "the servers of the proxy",
	},
}

// discard removes from an interaction what a format lost.
func discard(what string, x *recording.Interaction) {
	switch what {
	case "the session":
		x.Session = ""
	case "the encoding of the URL":
		x.Request.URL = tape.EscapedURL(x.Request.URL)
	case "the Host of the request":
		x.Request.Header = x.Request.Header.Clone()
		x.Request.Header.Del("Host")
	case "whether the request declared its length":
		x.Request.Header = x.Request.Header.Clone()
		x.Request.Header.Del("Transfer-Encoding")
	case "the trailer of the request":
		x.Request.Trailer = nil
	case "the trailer of the response":
		x.Response.Trailer = nil
	case "the protocol":
		x.Response.Proto = ""
	case "whether the response declared its length":
		x.Response.Chunked = false
	case "that the transport decompressed the body":
		x.Response.Uncompressed = false
	case "the time to the header":
		x.Response.Wait = 0
	case "the chunks of the body and their times":
		x.Response.Chunks = nil
	case "how the response ended":
		x.Response.Termination, x.Response.Failure = "", ""
	}
}

// without returns a recording without the lost data, without a Host that equals the host of
// the URL, and without omitted interactions.
func without(lost []convert.Loss, list []*recording.Interaction) (out []*recording.Interaction) {
	for i, x := range list {
		copied, gone := *x, false
		if match.OtherHost(&x.Request) == "" {
			discard("the Host of the request", &copied)
		}
		for _, l := range lost {
			if slices.Contains(l.Of, i+1) {
				discard(l.What, &copied)
				gone = gone || l.Interactions
			}
		}
		if !gone {
			out = append(out, &copied)
		}
	}
	return out
}

// A written file returns the same interactions, except for the reported losses.
func TestWriteThenRead(t *testing.T) {
	for _, f := range convert.Formats() {
		t.Run(string(f), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				head := recording.Metadata{Recorded: time.Unix(1e9, 0).UTC(), Recorder: "looptape 0.3.0"}
				head.Upstreams = rapid.SampledFrom([]map[string]string{nil, {"a": "https://example.com"}}).Draw(t, "upstreams")
				list := rapid.SliceOfN(rapid.Custom(drawInteraction), 1, 3).Draw(t, "list")
				text, lost, err := convert.Write(f, head, list)
				if err != nil {
					t.Fatal(err)
				}
				for _, l := range lost {
					if !slices.Contains(cannot[f], l.What) {
						t.Fatalf("lost: %v\n%s", l, text)
					}
				}
				back, _, err := read("x", text)
				if err != nil {
					t.Fatalf("%v\n%s", err, text)
				}
				want := without(lost, list)
				if diff := cmp.Diff(want, without(renumbered(lost, list), back), empty); diff != "" {
					t.Fatalf("-want +got:\n%s\n%s", diff, text)
				}
			})
		})
	}
}

// renumbered returns the losses with the numbers of the remaining interactions.
func renumbered(lost []convert.Loss, list []*recording.Interaction) (out []convert.Loss) {
	var gone []int
	for _, l := range lost {
		if l.Interactions {
			gone = l.Of
		}
	}
	number, left := map[int]int{}, 0
	for i := range list {
		if !slices.Contains(gone, i+1) {
			left++
			number[i+1] = left
		}
	}
	for _, l := range lost {
		moved := convert.Loss{What: l.What}
		for _, n := range l.Of {
			if number[n] > 0 {
				moved.Of = append(moved.Of, number[n])
			}
		}
		if len(moved.Of) > 0 && !l.Interactions {
			out = append(out, moved)
		}
	}
	return out
}

// bodyText are strings for bodies that are hard to write.
var bodyText = []string{
	"", " ", "\n", "\r\n", "\r", "\t", "\n\n", "a", "☕", "😀", "\x00", "\x7f", "\xff", "\xed\xa0\x80", "\ufeff", "\u0085", "\u2028", "␊", "~", "null", "1", "true", "2001-01-01", "- ", ": ", "#", "'", `"`, `\`, "|", ">", "---\n", "...", "&a", "*a", "!!str", "%",
	"data: ", "data: x\n\n", "event: x\r\ndata: y\r\n\r\n", "{", "}", `"\ud83d"`, `{"a":1}`, "<&>", "a=b&c=%20d", "\x1f\x8b\x08",
}

func drawBody(t *rapid.T, name string) []byte {
	if rapid.Bool().Draw(t, name+" of any bytes") {
		return rapid.SliceOf(rapid.Byte()).Draw(t, name)
	}
	var out []byte
	for range rapid.IntRange(0, 8).Draw(t, name+" pieces") {
		out = append(out, rapid.SampledFrom(bodyText).Draw(t, name)...)
	}
	return out
}

func drawHeader(t *rapid.T, name string) http.Header {
	h := http.Header{}
	for range rapid.IntRange(0, 3).Draw(t, name) {
		field := rapid.SampledFrom([]string{"Content-Type", "X-One", "Set-Cookie", "A"}).Draw(t, name+" name")
		h[field] = append(h[field], rapid.SampledFrom([]string{"", "text/event-stream", "application/x-www-form-urlencoded", "a: b", " a", "☕", "a\tb", ": x", "1", "~", "<"}).Draw(t, name+" value"))
	}
	return h
}

func drawInteraction(t *rapid.T) *recording.Interaction {
	x := &recording.Interaction{
		Session: rapid.SampledFrom([]string{"", "writer"}).Draw(t, "session"),
		Request: recording.Request{
			Method: rapid.SampledFrom([]string{"GET", "POST"}).Draw(t, "method"),
			URL:    rapid.SampledFrom([]string{"https://example.com/", "http://127.0.0.1:80/v1?key=%20a&b=c#d", "https://example.com/-%3E/@x", "https://example.com/?q=ä%C3%A4"}).Draw(t, "url"),
			Header: drawHeader(t, "request header"), Body: drawBody(t, "request"),
		},
	}
	if host := rapid.SampledFrom([]string{"", "example.com", "other.example:80"}).Draw(t, "host"); host != "" {
		x.Request.Header.Set("Host", host)
	}
	if len(x.Request.Body) > 0 && rapid.Bool().Draw(t, "request without length") {
		x.Request.Header.Set("Transfer-Encoding", "chunked")
	}
	r := &x.Response
	r.Wait = time.Duration(rapid.IntRange(0, 100000).Draw(t, "wait")) * time.Millisecond
	r.Termination = rapid.SampledFrom([]recording.Termination{"", "", recording.Failed, recording.Truncated, recording.Canceled}).Draw(t, "ending")
	if r.Termination == recording.Failed {
		r.Failure = rapid.SampledFrom([]string{"", "EOF", "a \"b\"\nc ☕"}).Draw(t, "failure")
		return x
	}
	r.Status = rapid.SampledFrom([]int{200, 404, 299, 599}).Draw(t, "status")
	r.Reason = rapid.SampledFrom([]string{"", "Fine  by me"}).Draw(t, "reason")
	r.Proto = rapid.SampledFrom([]string{"HTTP/1.1", "HTTP/2.0"}).Draw(t, "proto")
	r.Header, r.Body = drawHeader(t, "response header"), drawBody(t, "response")
	if rapid.Bool().Draw(t, "has trailers") {
		r.Trailer = http.Header{"X-Sum": {"1", ""}}
		x.Request.Trailer = http.Header{"X-Sent": {"2"}}
	}
	r.Chunked, r.Uncompressed = rapid.Bool().Draw(t, "chunked"), rapid.Bool().Draw(t, "uncompressed")
	if len(r.Body) > 0 && rapid.Bool().Draw(t, "has chunks") {
		r.Chunks = []recording.Chunk{{After: 20 * time.Millisecond, Len: len(r.Body)}}
	}
	return x
}
