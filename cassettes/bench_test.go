package cassettes_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/looptape/looptape/cassettes"
	"github.com/looptape/looptape/cassettes/recording"
)

// interaction is a request of 2 KB and a response of 4 KB of server-sent events.
func interaction(n int) *recording.Interaction {
	var events strings.Builder
	var chunks []recording.Chunk
	for i := range 27 {
		ev := fmt.Sprintf("data: {\"id\":\"chatcmpl-%d\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"word %d of the answer\"},\"finish_reason\":null}]}\n\n", n, i)
		events.WriteString(ev)
		chunks = append(chunks, recording.Chunk{After: 12 * time.Millisecond, Len: len(ev)})
	}
	return &recording.Interaction{
		Request:  recording.Request{Method: "POST", URL: "https://api.example.com/v1/chat/completions", Header: http.Header{"Content-Type": {"application/json"}}, Body: []byte(body(n))},
		Response: recording.Response{Status: 200, Proto: "HTTP/1.1", Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: []byte(events.String()), Chunks: chunks, Chunked: true, Wait: 300 * time.Millisecond},
	}
}

func body(n int) string {
	var b strings.Builder
	_, _ = fmt.Fprintf(&b, `{"model":"m","stream":true,"messages":[{"role":"system","content":"You are number %d."}`, n)
	for i := range 16 {
		_, _ = fmt.Fprintf(&b, `,{"role":"user","content":"This is message %d, which goes on for a while, as messages do, up to here."}`, i)
	}
	return b.String() + `]}`
}

func written(b *testing.B, n int) string {
	b.Helper()
	list := make([]*recording.Interaction, n)
	for i := range list {
		list[i] = interaction(i)
	}
	path := filepath.Join(b.TempDir(), "b.tape")
	if err := cassettes.Replace(path, cassettes.Encode(recording.Metadata{}, nil, list)); err != nil {
		b.Fatal(err)
	}
	return path
}

func BenchmarkOpen(b *testing.B) {
	for _, n := range []int{10, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			path := written(b, n)
			info, err := os.Stat(path)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := cassettes.Open(path, nil); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/interaction")
			b.ReportMetric(float64(info.Size())/float64(n), "B/interaction")
		})
	}
}

func BenchmarkReplay(b *testing.B) {
	for _, n := range []int{10, 100, 1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			path := written(b, n)
			bodies := make([]string, n)
			for i := range bodies {
				bodies[i] = body(i)
			}
			b.ReportAllocs()
			var c *cassettes.Cassette
			for i := 0; b.Loop(); i++ {
				if i%n == 0 {
					b.StopTimer()
					var err error
					if c, err = cassettes.Open(path, nil); err != nil {
						b.Fatal(err)
					}
					b.StartTimer()
				}
				req, err := http.NewRequestWithContext(b.Context(), "POST", "https://api.example.com/v1/chat/completions", strings.NewReader(bodies[i%n]))
				if err != nil {
					b.Fatal(err)
				}
				req.Header.Set("Content-Type", "application/json")
				resp, err := c.RoundTrip(req)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := io.Copy(io.Discard, resp.Body); err != nil {
					b.Fatal(err)
				}
				_ = resp.Body.Close() // it is read
			}
		})
	}
}
