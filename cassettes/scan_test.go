package cassettes

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/cassettes/recording"
	"github.com/looptape/looptape/cassettes/redact"
)

// randomWord returns n letters and digits.
func randomWord(rnd *rand.Rand, n int) string {
	const alphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[rnd.IntN(len(alphabet))]
	}
	return string(b)
}

// bomb is a small gzip body that decompresses to a gibibyte.
func bomb() string { return strings.Repeat(gzipped(strings.Repeat("0", 1<<20)), 1<<10) }

// The scan finds secrets at these places, and does not examine others.
func TestFindSecretsPlaces(t *testing.T) {
	random := randomWord(rand.New(rand.NewPCG(7, 8)), 40)
	key := "sk-" + random
	const events = "text/event-stream"
	for _, c := range []struct {
		name, header, body, url string
		opaque                  []string
		want                    []string // place and what
	}{
		{name: "header", header: "X-Foo: " + random, want: []string{"header X-Foo: a random word"}},
		{name: "name of a header", header: "X-" + key + ": 1", want: []string{"header: a random word"}},
		{name: "opaque header", header: "X-Request-Id: " + random},
		{name: "own header", header: "X-Foo: " + random, opaque: []string{"x-foo"}},
		{name: "member", body: `{"a":[{"b":"` + random + `"}]}`, want: []string{"body /a/0/b: a random word"}},
		{name: "own pointer", body: `{"a":[{"b":"` + random + `"}]}`, opaque: []string{"/a/*/b"}},
		{name: "ids", body: `{"id":"` + random + `","call_id":"` + random + `","responseId":"` + random + `","ids":["` + random + `"]}`},
		{name: "no text", header: "\xff\xff\xff\xffid: " + random, want: []string{"header \xff\xff\xff\xffid: a random word"}},
		{name: "no ids", body: `{"paid":"` + random + `"}`, want: []string{"body /paid: a random word"}},
		{name: "thoughts", body: `{"thoughtSignature":"` + random + `","signature":"` + random + `","encrypted_content":"` + random + `"}`},
		{name: "key in a signature", body: `{"signature":"` + key + `"}`, want: []string{"body /signature: a key"}},
		{name: "key in the text of a member with data", body: `{"data":"my key: ` + key + `"}`, want: []string{"body /data: a key"}},
		{name: "key in a text about an id", body: `{"user_id":"ann ` + key + `"}`, want: []string{"body /user_id: a key"}},
		{name: "key in a picture", body: `{"image_url":"data:image/svg+xml,<svg>` + key + `</svg>"}`, want: []string{"body /image_url: a key"}},
		{name: "key in an agent's name", header: "User-Agent: agent/1 (" + key + ")", want: []string{"header User-Agent: a key"}},
		{name: "shape within data", body: `{"data":"` + random + "/" + key + `","url":"data:image/png;base64,` + key + `"}`},
		{name: "key in data that is split", header: "Content-Type: " + events, body: deltas("data: {\"data\":\"TEXT\"}\n\n", "the key "+key, 9), want: []string{"event 1 /data: a key, in parts"}},
		{name: "data that is split", header: "Content-Type: " + events, body: deltas("data: {\"data\":\"TEXT\"}\n\n", random+"/"+key, 9)},
		{name: "name of a member", body: `{"` + key + `":1}`, want: []string{"name: a key"}},
		{name: "in a member of that name", body: `{"` + key + `":{"a":"` + random + `"}}`, want: []string{"name: a key", "body /sk-" + key[3:4] + "…/a: a random word"}},
		{name: "query", url: "https://example.com/?x=" + random, want: []string{"URL: a random word"}},
		{name: "events", header: "Content-Type: " + events, body: "data: {}\n\ndata: {\"a\":\"" + key + "\"}\n\n", want: []string{"event 2 /a: a key"}},
		{name: "split", header: "Content-Type: " + events, body: deltas("data: {\"a\":\"TEXT\"}\n\n", "the key "+key, 9), want: []string{"event 1 /a: a key, in parts"}},
		{name: "header of a message", header: "Content-Type: application/vnd.amazon.eventstream", body: string(eventMessage(nil, eventHeader(":error-message", "no "+key), "{}")), want: []string{"event 1 :error-message: a key"}},
		{name: "invalid header of a message", header: "Content-Type: application/vnd.amazon.eventstream", body: string(eventMessage(nil, "\xff"+key, "{}")), want: []string{"event 1: a key"}},
		{name: "base64 in a path", url: "https://example.com/v1/files/" + strings.TrimRight(inBytes("the "+key), "=") + "/x", want: []string{"URL: a key, in base64"}},
		{name: "repeated", header: "Content-Type: " + events, body: strings.Repeat("data: {\"a\":\"x1y2z3Abc4\"}\n\n", 5)},
		{name: "gzip", header: "Content-Encoding: gzip", body: gzipped(key), want: []string{"body: a key"}},
		{name: "not brotli", header: "Content-Encoding: br", body: "x", want: []string{"body: its encoding, br, cannot be undone to look into it: the body is truncated"}},
		{name: "no body in brotli", header: "Content-Encoding: br"},
		{name: "not gzip", header: "Content-Encoding: gzip", body: "not in gzip", want: []string{"body: its encoding, gzip, cannot be undone to look into it: invalid data: gzip: invalid header"}},
		{name: "not deflate", header: "Content-Encoding: Deflate", body: "\xff\xff\xff", want: []string{"body: its encoding, deflate, cannot be undone to look into it: invalid data: flate: corrupt input before offset 1"}},
		{name: "two encodings", header: "Content-Encoding: gzip, BR", body: "x", want: []string{"body: its encoding, gzip, br, cannot be undone to look into it: unknown encoding: want gzip, deflate, br, zstd or identity"}},
		{name: "after gzip", header: "Content-Encoding: gzip", body: gzipped("x") + "y", want: []string{"body: its encoding, gzip, cannot be undone to look into it: invalid data: trailing data"}},
		{name: "after deflate", header: "Content-Encoding: deflate", body: deflated("x") + "y", want: []string{"body: its encoding, deflate, cannot be undone to look into it: invalid data: trailing data"}},
		{name: "identity", header: "Content-Encoding: identity", body: "x"},
		{name: "a bomb", header: "Content-Encoding: x-gzip", body: bomb(), want: []string{"body: its encoding, x-gzip, cannot be undone to look into it: it has more than 32 MiB"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := &recording.Interaction{Request: recording.Request{Method: "POST", URL: c.url, Header: headerOf(c.header), Body: []byte(c.body)}}
			var got []string
			for _, s := range (&redact.Rules{NotSecret: c.opaque}).FindSecrets(x) {
				got = append(got, s.Place+": "+s.What)
				if s.Part != "request" || strings.Contains(s.String(), random) || len(s.Begins) > 4 {
					t.Errorf("%+v", s)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("suspected secrets (-want +got):\n%s", diff)
			}
		})
	}
}

// A recording with a suspected secret fails. The client gets its responses, and the old file
// remains.
func TestSecretFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.tape")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	key := "sk-" + randomWord(rand.New(rand.NewPCG(9, 9)), 40)
	asked := exchange{url: endpoint, status: 200, gotHeader: jsonType, gotBody: `{"found":"` + key + `"}`}
	c, err := Open(path, &Options{Mode: Record, Transport: asked})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, got, err := asked.ask(t, c); got != asked.gotBody || err != nil {
			t.Errorf("the client got %q, %v", got, err)
		}
	}
	journal, err := os.ReadFile(JournalPath(path))
	if err != nil || strings.Contains(string(journal), key[5:]) {
		t.Errorf("the journal is %q, %v", journal, err)
	}
	err = c.Close()
	want := &redact.SecretError{File: path, Secrets: []redact.SuspectedSecret{
		{Interaction: 1, Request: "POST " + endpoint, Part: "response", Place: "body /found", What: "a key", Begins: "sk-" + key[3:4], Length: 43},
		{Interaction: 2, Request: "POST " + endpoint, Part: "response", Place: "body /found", What: "a key", Begins: "sk-" + key[3:4], Length: 43},
	}}
	var got *redact.SecretError
	if !errors.As(err, &got) || !cmp.Equal(got, want) {
		t.Errorf("the end is %v, want %v", err, want)
	}
	text := fmt.Sprintf(`%s: nothing was recorded because of suspected secrets:
  1 POST %s, response, body /found: a key (%.4s…, 43 bytes)
  2 POST %[2]s, response, body /found: a key (%.4[3]s…, 43 bytes)
Name secret fields in Options.Secret (--secret), and other fields in Options.NotSecret (--not-secret)`, path, endpoint, key)
	if diff := cmp.Diff(text, err.Error()); diff != "" {
		t.Errorf("the error (-want +got):\n%s", diff)
	}
	if old, err := os.ReadFile(path); string(old) != "old" || err != nil {
		t.Errorf("the old cassette is %q, %v", old, err)
	}
	if _, err := os.Stat(JournalPath(path)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the journal is left: %v", err)
	}
	if _, err := (&http.Client{Transport: c}).Get(endpoint); err == nil { //nolint:bodyclose,noctx // it is closed
		t.Error("a closed cassette returns a response")
	}
}
