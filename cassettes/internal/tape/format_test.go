package tape

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/looptape/looptape/cassettes/recording"
)

func drawHeader(t *rapid.T, name string) http.Header {
	h := http.Header{}
	for range rapid.IntRange(0, 3).Draw(t, name) {
		field := rapid.SampledFrom([]string{"Content-Type", "X-One", "Set-Cookie", "A"}).Draw(t, name+" name")
		h[field] = append(h[field], rapid.SampledFrom([]string{"", "text/event-stream", "a: b", " a", "☕", "\xff", "a\tb", ": x"}).Draw(t, name+" value"))
	}
	return h
}

func drawPieces(t *rapid.T, body []byte, events bool) (chunks []recording.Chunk) {
	wait := func() time.Duration {
		return time.Duration(rapid.IntRange(0, 5000).Draw(t, "wait")) * time.Millisecond
	}
	if events {
		for _, ev := range SplitEvents(body) {
			chunks = append(chunks, recording.Chunk{After: wait(), Len: len(ev)})
		}
		return chunks
	}
	for n := len(body); n > 0; {
		k := rapid.IntRange(1, n).Draw(t, "piece")
		chunks = append(chunks, recording.Chunk{After: wait(), Len: k})
		n -= k
	}
	return chunks
}

func drawInteraction(t *rapid.T) *recording.Interaction {
	x := &recording.Interaction{
		Session: rapid.SampledFrom([]string{"", "writer", "a.b-c_1", "my session", "@", "a\n=== 2 b%20\x1b☕\xff", strings.Repeat("long", 1000)}).Draw(t, "session"),
		Request: recording.Request{
			Method: rapid.SampledFrom([]string{"GET", "POST", "M-SEARCH", "@A B", "A->\nB"}).Draw(t, "method"),
			URL:    rapid.SampledFrom([]string{"https://example.com/", "http://127.0.0.1:80/v1?key=%20a&b=c#d", "https://example.com/->/@x"}).Draw(t, "url"),
			Header: drawHeader(t, "request header"), Body: drawBody(t, "request"),
		},
	}
	r := &x.Response
	r.Termination = rapid.SampledFrom([]recording.Termination{"", "", recording.Failed, recording.Truncated, recording.Canceled}).Draw(t, "ending")
	r.Wait = time.Duration(rapid.IntRange(0, 100000).Draw(t, "wait")) * time.Millisecond
	if r.Termination == recording.Failed || r.Termination == recording.Truncated {
		r.Failure = rapid.SampledFrom([]string{"", "EOF", "a \"b\"\nc ☕"}).Draw(t, "failure")
	}
	if r.Termination == recording.Failed {
		return x
	}
	r.Status = rapid.SampledFrom([]int{200, 404, 299, 599, 1, 999}).Draw(t, "status")
	r.Reason = rapid.SampledFrom([]string{"", "Fine  by me", "caf\xe9", ":: b", " a\t"}).Draw(t, "reason")
	r.Proto = rapid.SampledFrom([]string{"HTTP/1.1", "HTTP/2.0"}).Draw(t, "proto")
	r.Header, r.Body = drawHeader(t, "response header"), drawBody(t, "response")
	if rapid.Bool().Draw(t, "has trailers") {
		r.Trailer = http.Header{"X-Sum": {"1", ""}}
		x.Request.Trailer = http.Header{"X-Sent": {"2"}}
	}
	r.Chunked, r.Uncompressed = rapid.Bool().Draw(t, "chunked"), rapid.Bool().Draw(t, "uncompressed")
	if rapid.Bool().Draw(t, "has chunks") {
		r.Chunks = drawPieces(t, r.Body, IsEvents(r.Header))
	}
	return x
}

// drawFile draws a file with its interactions.
func drawFile(t *rapid.T) (text []byte, head recording.Metadata, list []*recording.Interaction) {
	head = recording.Metadata{Recorded: time.Unix(1e9, 0).UTC(), Recorder: rapid.SampledFrom([]string{"", "looptape 0.3.0"}).Draw(t, "by"), Match: rapid.SampledFrom([]string{"", "1 a b"}).Draw(t, "match"), Upstreams: rapid.SampledFrom([]map[string]string{nil, {"a": "https://example.com", "b": "x"}}).Draw(t, "upstreams")}
	text = metadataText(head)
	for i := range rapid.IntRange(0, 4).Draw(t, "interactions") {
		list = append(list, drawInteraction(t))
		text = append(appendInteraction(text, i+1, list[i], keyText(keysOf(i))), '\n')
	}
	return appendFoot(text, len(list)), head, list
}

// keysOf returns keys that distinguish interactions. Every second one has a bare key, and two
// of three have a key of the exact bytes.
func keysOf(i int) Keys { return Keys{Exact: uint64(i), Bare: uint64(i % 2), Sent: uint64(i % 3)} }

// empty makes nil and empty values equal.
var empty = cmp.Transformer("empty", func(b []byte) string { return string(b) })

func TestFileBothWays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, head, want := drawFile(t)
		f, err := Parse("x.tape", text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if diff := cmp.Diff(head, f.Metadata); diff != "" {
			t.Fatalf("the head (-want +got):\n%s", diff)
		}
		if f.Len() != len(want) {
			t.Fatalf("%d interactions, want %d\n%s", f.Len(), len(want), text)
		}
		for i, x := range want {
			got, err := f.Interaction(i)
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			if diff := cmp.Diff(x, got, empty); diff != "" {
				t.Fatalf("interaction %d (-want +got):\n%s\n%s", i, diff, text)
			}
			answer, err := answerOf(f, i)
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			if diff := cmp.Diff(&x.Response, answer, empty); diff != "" {
				t.Fatalf("the response of interaction %d (-want +got):\n%s\n%s", i, diff, text)
			}
			if f.keys[i] != keysOf(i) {
				t.Fatalf("the keys of interaction %d are %v", i, f.keys[i])
			}
		}
	})
}

// answerOf returns the response that File.Answer reads, with the rest from its stream.
func answerOf(f *File, i int) (*recording.Response, error) {
	r, events, err := f.Answer(i)
	if err == nil {
		r.Wait, err = f.Wait(i)
	}
	for err == nil && events != nil {
		after, event, failed := events.Next()
		if failed == io.EOF {
			return r, nil
		}
		r.Body, r.Chunks, err = append(r.Body, event...), append(r.Chunks, recording.Chunk{After: after, Len: len(event)}), failed
	}
	return r, err
}

// Every truncation and every flipped bit is detected.
func TestDamage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, _, _ := drawFile(t)
		n := rapid.IntRange(0, len(text)-1).Draw(t, "place")
		if _, err := Parse("x.tape", text[:n]); err == nil {
			t.Fatalf("cut at byte %d:\n%s", n, text[:n])
		}
		flipped := bytes.Clone(text)
		flipped[n] ^= byte(1) << rapid.IntRange(0, 7).Draw(t, "bit")
		_, err := Parse("x.tape", flipped)
		var at *recording.FormatError
		if !errors.As(err, &at) || at.File != "x.tape" || at.Line == 0 {
			t.Fatalf("flipped at byte %d: %v", n, err)
		}
	})
}
