package cassettes_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/cassettes"
	"github.com/looptape/looptape/cassettes/recording"
)

// zipped returns strings compressed by gzip, one part each.
func zipped(texts ...string) (parts []string) {
	var out strings.Builder
	z := gzip.NewWriter(&out)
	for _, text := range texts {
		_, _ = io.WriteString(z, text) // a builder takes everything
		_ = z.Flush()                  // the same
		parts = append(parts, out.String())
		out.Reset()
	}
	return parts
}

// The times of a stream are kept for all line ends, also if it is compressed.
func TestTimesOfStreams(t *testing.T) {
	const gap = 100 * time.Millisecond
	for name, c := range map[string]struct {
		encoding string
		parts    []string // as they come, a gap before each
		want     []string // of the replay; nil is the same
		file     string   // its content
	}{
		"LF":        {"", []string{"data: 1\n\n", "data: 2\n\n"}, nil, "\n< +100ms data: 1\n< +100ms data: 2\n"},
		"CR LF":     {"", []string{"data: 1\r\n\r\n", "data: 2\r\n\r\n"}, nil, "\n< +100ms data: 1\n< +100ms data: 2\n"},
		"CR":        {"", []string{"data: 1\r\r", "data: 2\r\r", "data: 3"}, nil, " chunks 9+100ms,9+100ms,7+100ms "},
		"mixed":     {"", []string{"data: 1\n\n", "data: 2\r\n\r\n", "data: 3\n\r\n", "data: 4\n\n"}, nil, " chunks 9+100ms,11+100ms,10+100ms,9+100ms "},
		"in parts":  {"", []string{"data: 1\r\n", "\r\ndata", ": 2\n\n\n"}, []string{"", "data: 1\r\n\r\n", "data: 2\n\n\n"}, " chunks 11+200ms,9+100ms,1+0ms "},
		"encoded":   {"gzip", zipped("data: 1\n\n", "data: 2\n\n", "data: 3\n\n"), nil, "+100ms,"},
		"identical": {"identity", []string{"data: 1", "\n\n"}, []string{"", "data: 1\n\n"}, "\n< +200ms data: 1\n"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "e.tape")
				// read is what comes until each gap has passed.
				read := func(c *cassettes.Cassette) (got []string) {
					req, _ := http.NewRequestWithContext(t.Context(), "GET", "http://example.com/", nil)
					resp, err := c.RoundTrip(req)
					if err != nil {
						t.Fatal(err)
					}
					begin := time.Now() //nolint:forbidigo // of a bubble
					buf := make([]byte, 100)
					for {
						n, err := resp.Body.Read(buf)
						at := int(time.Since(begin) / gap) //nolint:forbidigo // of a bubble
						if n > 0 {
							got = append(got, slices.Repeat([]string{""}, max(at-len(got), 0))...)
							got[at-1] += string(buf[:n])
						}
						if err != nil {
							_ = resp.Body.Close() // it was read
							return got
						}
					}
				}
				rec := open(t, path, cassettes.Options{Mode: cassettes.Record, Transport: answering(func(r *http.Request) (*http.Response, error) {
					from, to := io.Pipe()
					go func() {
						for _, part := range c.parts {
							time.Sleep(gap)                 //nolint:forbidigo // of a bubble
							_, _ = io.WriteString(to, part) // it is read to its end
						}
						_ = to.Close()
					}()
					h := http.Header{"Content-Type": {"text/event-stream"}}
					if c.encoding != "" {
						h.Set("Content-Encoding", c.encoding)
					}
					return &http.Response{StatusCode: 200, Proto: "HTTP/1.1", Header: h, Body: from, ContentLength: -1, Request: r}, nil
				})})
				read(rec)
				if err := rec.Close(); err != nil {
					t.Fatal(err)
				}
				f, err := cassettes.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				x, err := f.Interaction(0)
				if err != nil || !strings.Contains(string(cassettes.Encode(f.Metadata, nil, []*recording.Interaction{x})), c.file) {
					t.Errorf("the file has not %q: %v\n%+v", c.file, err, x)
				}
				want := c.want
				if want == nil {
					want = c.parts
				}
				if diff := cmp.Diff(want, read(open(t, path, cassettes.Options{DelayFactor: 1}))); diff != "" {
					t.Errorf("replayed (-want +got):\n%s", diff)
				}
			})
		})
	}
}
