package match

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
)

// encoders write each encoding. Its name may be in upper case.
var encoders = map[string]func(io.Writer) compressor{
	"gzip":    func(w io.Writer) compressor { return gzip.NewWriter(w) },
	"x-gzip":  func(w io.Writer) compressor { return gzip.NewWriter(w) },
	"Deflate": func(w io.Writer) compressor { return zlib.NewWriter(w) },
	"BR":      func(w io.Writer) compressor { return brotli.NewWriterLevel(w, 5) },
	"zstd":    func(w io.Writer) compressor { z, _ := zstd.NewWriter(w); return z },
}

// A body that decompresses to more than the limit costs bounded memory and is left unchanged.
func TestBomb(t *testing.T) {
	mebibyte := make([]byte, 1<<20)
	bodies := map[string]string{"gzip": strings.Repeat(gzippedText(string(mebibyte)), 1<<10)} // a gibibyte in many members
	for name, encode := range encoders {
		var body bytes.Buffer
		z := encode(&body)
		for range 160 {
			_, _ = z.Write(mebibyte) // a buffer takes everything
		}
		_ = z.Close() // the same
		bodies[name+" "] = body.String()
	}
	bodies["gzip, br"] = bodies["BR "]
	for name, body := range bodies {
		h := http.Header{"Content-Encoding": {strings.TrimSpace(name)}}
		var was, now runtime.MemStats
		runtime.ReadMemStats(&was)
		got := Decode(h, []byte(body))
		runtime.ReadMemStats(&now)
		if string(got.Plain) != body || got.again != nil || got.Complete || got.Problem == "" {
			t.Errorf("%s: %d of %d bytes are left, for %q", name, len(got.Plain), len(body), got.Problem)
		}
		if cost := (now.TotalAlloc - was.TotalAlloc) >> 20; cost > 8*maxDecoded>>20 {
			t.Errorf("%s cost %d MiB", name, cost)
		}
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

// Decode decodes each encoding, and Encode encodes another body in the same encoding. A body
// without its end is decoded up to there.
func TestDecodeEncodings(t *testing.T) {
	const text = `{"messages":[{"role":"user","content":"How is the weather?"}]}`
	for name, encode := range encoders {
		h := http.Header{"Content-Encoding": {name}}
		var body bytes.Buffer
		z := encode(&body)
		_, _ = io.WriteString(z, text) // a buffer takes everything
		_ = z.Flush()                  // the same
		begun := body.Len()
		_ = z.Close() // the same
		whole := Decode(h, body.Bytes())
		if string(whole.Plain) != text || !whole.Complete || whole.Problem != "" {
			t.Errorf("%s: %q, %v", name, whole.Plain, whole.Problem)
		}
		cut := Decode(h, body.Bytes()[:begun])
		if string(cut.Plain) != text || cut.Complete {
			t.Errorf("%s, truncated: %q, %v", name, cut.Plain, cut.Problem)
		}
		for _, n := range []int{1, storedBlock - 1, storedBlock, storedBlock + 1, 3 * storedBlock, 1 << 20} {
			for _, from := range []Decoded{whole, cut} {
				want := strings.Repeat("other, ", n)[:n]
				if got := Decode(h, from.Encode([]byte(want))); string(got.Plain) != want || got.Complete != from.Complete {
					t.Errorf("%s, complete %v, %d bytes encoded again: %d bytes, complete %v, %v", name, from.Complete, n, len(got.Plain), got.Complete, got.Problem)
				}
			}
		}
		if empty := Decode(h, whole.Encode(nil)); len(empty.Plain) > 0 || !empty.Complete || empty.Problem != "" {
			t.Errorf("%s, nothing encoded again: %q, %v", name, empty.Plain, empty.Problem)
		}
		for _, wrong := range []string{body.String() + "xxxx", "text"} {
			if got := Decode(h, []byte(wrong)); got.Problem == "" || string(got.Plain) != wrong {
				t.Errorf("%s: %q is read as %q", name, wrong, got.Plain)
			}
		}
	}
}

// AskReadable replaces the encodings that a client accepts.
func TestAskReadable(t *testing.T) {
	for _, c := range []struct{ accepts, want []string }{
		{nil, nil},
		{[]string{"gzip"}, []string{"gzip"}},
		{[]string{"gzip, deflate, br, zstd"}, []string{"gzip, deflate, br, zstd"}},
		{[]string{"compress;q=1.0, GZIP;q=0.8 ,*;q=0.1", "identity ; q=0"}, []string{"GZIP;q=0.8, identity ; q=0"}},
		{[]string{"compress"}, []string{"identity"}},
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
