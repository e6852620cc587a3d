package cassettes

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/looptape/looptape/cassettes/internal/tape"
	"github.com/looptape/looptape/cassettes/recording"
	"github.com/looptape/looptape/cassettes/redact"
)

// longKey is a secret that a request names and a stream repeats.
const longKey = "Zq7pw2Lm91Xc4Vb8Nn3Kk6Jj5Hh0Gg"

// padded returns events that divide text, each with this size at least.
func padded(text string, piece, size int) []byte {
	var out bytes.Buffer
	for len(text) > 0 {
		n := min(piece, len(text))
		fmt.Fprintf(&out, "data: {\"delta\":%q,\"pad\":%q}\n\n", text[:n], strings.Repeat("pad ", size/4))
		text = text[n:]
	}
	return out.Bytes()
}

// recordStream records a stream with a key, and returns the path and the error of Close.
func recordStream(t *testing.T, events []byte, part int, o Options) (path string, err error) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "x.tape")
	now := time.Unix(1e9, 0)
	o.Mode, o.Now = Record, func() time.Time {
		now = now.Add(7 * time.Millisecond)
		return now
	}
	o.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
		h := http.Header{"Content-Type": {"text/event-stream"}}
		return &http.Response{StatusCode: 200, Proto: "HTTP/1.1", Header: h, Body: io.NopCloser(bytes.NewReader(events)), ContentLength: -1, Trailer: http.Header{"X-Sum": {"7"}}, Request: r}, nil
	})
	c, err := Open(path, &o)
	if err != nil {
		t.Fatal(err)
	}
	c.parts = tape.PartSize{Size: part, Overlap: 4 << 10}
	if got := askWithKey(t, c); !bytes.Equal(got, events) {
		t.Errorf("the client got other events: %d bytes, want %d", len(got), len(events))
	}
	return path, c.Close()
}

func askWithKey(t *testing.T, to http.RoundTripper) []byte {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://example.com/", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"Authorization": {"Bearer " + longKey}, "Content-Type": {"application/json"}}
	resp, err := to.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil {
		t.Fatal(err)
	}
	return text
}

// A stream that is recorded in parts has the same cassette as one that is recorded as a whole, also if
// secrets are divided over events at the borders of the parts.
func TestLongStreamInParts(t *testing.T) {
	for name, events := range map[string][]byte{
		"small events":   padded(strings.Repeat("the key "+longKey+" again, ", 120), 3, 40),
		"CRLF":           bytes.ReplaceAll(padded(strings.Repeat("the key "+longKey+" again, ", 120), 3, 40), []byte("\n"), []byte("\r\n")),
		"large events":   padded(strings.Repeat("the key "+longKey+" again, ", 30), 4, 150),
		"a large one":    append(padded("the key "+longKey, 7, 1000), padded("a", 1, 20_000)...),
		"no end":         append(padded(strings.Repeat("many words ", 40), 9, 2000), "data: the key "+longKey...),
		"no empty line":  append(padded(strings.Repeat("many words ", 40), 9, 2000), "data: the end\n"...),
		"the key at end": append(padded(strings.Repeat("many words ", 40), 9, 2000), "data: "+longKey[:12]...),
	} {
		t.Run(name, func(t *testing.T) {
			whole, err := recordStream(t, events, 1<<30, Options{})
			if err != nil {
				t.Fatal(err)
			}
			want, err := os.ReadFile(whole)
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range []Options{{}, {MaxBody: 32 << 10}, {MaxBody: 4 << 10}} {
				parts, err := recordStream(t, events, 1<<14, o)
				if o.MaxBody == 4<<10 && name == "a large one" && err != nil {
					continue // one event is longer than MaxBody
				}
				if err != nil {
					t.Fatal(err)
				}
				got, err := os.ReadFile(parts)
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(want, got) {
					t.Errorf("at most %d bytes: the cassettes differ: %d bytes as a whole, %d in parts", o.MaxBody, len(want), len(got))
				}
				if bytes.Contains(got, []byte(longKey[:8])) {
					t.Error("the key is on disk")
				}
			}
		})
	}
}

// replaysEvents checks that the replay of a recording has these bytes.
func replaysEvents(t *testing.T, path string, events []byte) {
	t.Helper()
	c, err := Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := askWithKey(t, c); !bytes.Equal(got, events) {
		t.Errorf("the replay has %d bytes, want %d", len(got), len(events))
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// A long stream is replayed as it was recorded.
func TestLongStreamReplayed(t *testing.T) {
	events := padded(strings.Repeat("many words ", 12), 1, 1000)
	path, err := recordStream(t, events, 1<<14, Options{MaxBody: 1 << 14})
	if err != nil {
		t.Fatal(err)
	}
	replaysEvents(t, path, events)
}

// A secret that a late event names fails the recording, because earlier events have it.
func TestLongStreamLateSecret(t *testing.T) {
	padding := padded(strings.Repeat("many words ", 40), 9, 2000)
	for name, first := range map[string][]byte{
		"in one event": padded("the word is hunter-Two22", 100, 10),
		"in events":    padded("the word is hunter-Two22", 3, 10),
	} {
		t.Run(name, func(t *testing.T) {
			events := append(append(first, padding...), "data: {\"password\":\"hunter-Two22\"}\n\n"...)
			path, err := recordStream(t, events, 1<<14, Options{MaxBody: 1 << 14})
			if _, ok := errors.AsType[*redact.SecretError](err); !ok {
				t.Errorf("Close returned %v, want a SecretError", err)
			}
			if list, err := os.ReadDir(filepath.Dir(path)); err != nil || len(list) > 0 {
				t.Errorf("files remain: %v, %v", list, err)
			}
		})
	}
}

// A suspected secret in a long stream fails the recording.
func TestLongStreamSuspectedSecret(t *testing.T) {
	padding := padded(strings.Repeat("many words ", 40), 9, 2000)
	key := "sk-ant-" + strings.Repeat("abcdefghij0123456789", 2)
	for name, events := range map[string][]byte{
		"first":  append(padded(key, 5, 10), padding...),
		"middle": append(append(bytes.Clone(padding), padded(key, 5, 10)...), padding...),
		"last":   append(bytes.Clone(padding), padded(key, 5, 10)...),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := recordStream(t, events, 1<<14, Options{MaxBody: 1 << 14})
			if _, ok := errors.AsType[*redact.SecretError](err); !ok {
				t.Errorf("Close returned %v, want a SecretError", err)
			}
		})
	}
}

// A stream that cannot be recorded in parts reaches the client, and Close returns the reason.
func TestLongStreamNotRecorded(t *testing.T) {
	padding := padded(strings.Repeat("many words ", 40), 9, 2000)
	for name, c := range map[string]struct {
		events []byte
		rules  redact.Rules
		want   string
	}{
		"one event":          {events: padded("a", 1, 2<<20), want: "its event has more than 16384 bytes"},
		"control characters": {events: append(bytes.Clone(padding), "data: \x01\n\n"...), want: "its events contain control characters"},
		"a redactor": {events: padding, want: "Redact of the options has changed the number of events", rules: redact.Rules{Redact: []redact.Redactor{redact.RedactorFunc(func(x *recording.Interaction) {
			x.Response.Body = append(x.Response.Body, "data: more\n\n"...)
		})}}},
	} {
		t.Run(name, func(t *testing.T) {
			path, err := recordStream(t, c.events, 1<<14, Options{MaxBody: 1 << 14, Rules: c.rules})
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "interaction 1 is not recorded") {
				t.Errorf("Close returned %v, want %q", err, c.want)
			}
			if _, err := os.Stat(path); err == nil {
				t.Error("there is a cassette")
			}
		})
	}
}

// A stream that fits but cannot be recorded in parts is recorded as a whole.
func TestLongStreamRecordedAsAWhole(t *testing.T) {
	events := append(padded(strings.Repeat("many words ", 40), 9, 2000), "data: \x01\n\n"...)
	path, err := recordStream(t, events, 1<<14, Options{})
	if err != nil {
		t.Fatal(err)
	}
	replaysEvents(t, path, events)
}
