package match

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// bombBody is a small gzip body that decompresses to a gibibyte.
func bombBody() string { return strings.Repeat(gzippedText(strings.Repeat("0", 1<<20)), 1<<10) }

// A body that decompresses to more than the limit costs bounded memory and is left unchanged.
func TestBomb(t *testing.T) {
	body := []byte(bombBody())
	h := http.Header{"Content-Encoding": {"gzip"}}
	var was, now runtime.MemStats
	runtime.ReadMemStats(&was)
	got := Decode(h, body)
	runtime.ReadMemStats(&now)
	if string(got.Plain) != string(body) || got.again != nil || got.Problem == "" {
		t.Errorf("%d of %d bytes are left, for %q", len(got.Plain), len(body), got.Problem)
	}
	if cost := (now.TotalAlloc - was.TotalAlloc) >> 20; cost > 8*maxDecoded>>20 {
		t.Errorf("it cost %d MiB", cost)
	}
}

// A body of exactly the limit is decompressed.
func TestDecodeLimit(t *testing.T) {
	for more, want := range []bool{true, false} {
		body := gzippedText(strings.Repeat("0", maxDecoded+more))
		got := Decode(http.Header{"Content-Encoding": {"gzip"}}, []byte(body))
		if undone := len(got.Plain) == maxDecoded && got.Complete && got.Problem == ""; undone != want {
			t.Errorf("%d bytes more: %d bytes, left: %q", more, len(got.Plain), got.Problem)
		}
	}
}

// AskReadable replaces the encodings that a client accepts.
func TestAskReadable(t *testing.T) {
	for _, c := range []struct{ accepts, want []string }{
		{nil, nil},
		{[]string{"gzip"}, []string{"gzip"}},
		{[]string{"gzip, deflate, br, zstd"}, []string{"gzip, deflate"}},
		{[]string{"br;q=1.0, GZIP;q=0.8 ,*;q=0.1", "identity ; q=0"}, []string{"GZIP;q=0.8, identity ; q=0"}},
		{[]string{"br"}, []string{"identity"}},
		{[]string{"*"}, []string{"identity"}},
		{[]string{""}, []string{"identity"}},
	} {
		h := http.Header{}
		for _, v := range c.accepts {
			h.Add("Accept-Encoding", v)
		}
		AskReadable(h)
		if diff := cmp.Diff(c.want, h["Accept-Encoding"]); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.accepts, diff)
		}
	}
}

func gzippedText(s string) string {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, _ = z.Write([]byte(s)) // a buffer takes everything
	_ = z.Close()             // the same
	return out.String()
}
