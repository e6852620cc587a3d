package cassettes_test

import (
	"io"
	"net/http"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/looptape/looptape/cassettes"
)

// Recording a large body, sent or received, allocates memory for a few copies of the body and
// for the positions of its strings. Most of it is released before more is allocated.
func TestMemoryOfLargeBodies(t *testing.T) {
	const size = 2 << 20
	fill := func(text string) string { return strings.Repeat(text, size/len(text)) }
	for name, c := range map[string]struct {
		kind, body string
		most       float64 // how many bytes are taken for one of the body
	}{
		"text":   {"text/plain", fill("The weather in Bern is fine, and stays so for the whole day.\n"), 9},
		"bytes":  {"application/octet-stream", fill("\x00\x01\x02\x03\x04\x05\x06\x07"), 11},
		"JSON":   {"application/json", "[" + fill(`{"role":"user","content":"The weather in Bern is fine, and stays so."},`) + "0]", 50},
		"events": {"text/event-stream", fill("data: {\"delta\":\"The weather in Bern is fine, and stays so.\"}\n\n"), 55},
	} {
		for _, sent := range []bool{false, true} {
			var asks io.Reader
			answers := c.body
			if sent {
				asks, answers = io.MultiReader(strings.NewReader(c.body)), "" // of a length that is not known
			}
			rec := open(t, filepath.Join(t.TempDir(), "m.tape"), cassettes.Options{Mode: cassettes.Record, Transport: answering(func(r *http.Request) (*http.Response, error) {
				resp := reply(r, strings.NewReader(answers))
				resp.Header.Set("Content-Type", c.kind)
				return resp, nil
			})})
			req, _ := http.NewRequestWithContext(t.Context(), "POST", "http://example.com/", asks)
			req.Header.Set("Content-Type", c.kind)
			before := taken()
			resp, err := rec.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, resp.Body); err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close() // it is read
			if err := rec.Close(); err != nil {
				t.Fatal(err)
			}
			if took := float64(taken()-before) / size; took > c.most {
				t.Errorf("%s, sent: %t: %.1f bytes are taken for one of the body, want %g at most", name, sent, took, c.most)
			}
		}
	}
}

// taken returns the number of bytes that the program has allocated.
func taken() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}
