package cassettes

import (
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

// BenchmarkRecord measures a recording of 500 KB with its redaction and scan.
func BenchmarkRecord(b *testing.B) {
	var events strings.Builder
	for i := range 3000 {
		_, _ = fmt.Fprintf(&events, "data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"word %d of the answer\"},\"finish_reason\":null}]}\n\n", i)
	}
	x := exchange{url: endpoint, status: 200, header: jsonType + bearer("s3cretS3cret1234"), body: `{"model":"m","messages":[{"role":"user","content":"` + strings.Repeat("This is a message, which goes on for a while. ", 1000) + `"}]}`, gotHeader: eventsType, gotBody: events.String()}
	b.SetBytes(int64(len(x.body) + len(x.gotBody)))
	c, err := Open(filepath.Join(b.TempDir(), "b.tape"), &Options{Mode: Record, Transport: x})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, x.url, strings.NewReader(x.body))
		if err != nil {
			b.Fatal(err)
		}
		req.Header = headerOf(x.header)
		resp, err := c.RoundTrip(req)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			b.Fatal(err)
		}
		if err := resp.Body.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	if err := c.Close(); err != nil {
		b.Fatal(err)
	}
}
