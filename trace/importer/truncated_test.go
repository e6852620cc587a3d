package importer_test

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"github.com/looptape/looptape/cassettes/convert"
	"github.com/looptape/looptape/cassettes/recording"
	"github.com/looptape/looptape/trace/importer"
)

// A compressed body that is cut is reported in each recording of HTTP, even if its content is complete.
func TestTruncatedEncodingIsReported(t *testing.T) {
	compress := func(to func(io.Writer) io.WriteCloser) func(string) []byte {
		return func(text string) []byte {
			var b bytes.Buffer
			z := to(&b)
			_, _ = io.WriteString(z, text)
			_ = z.Close()
			return b.Bytes()
		}
	}
	encodings := map[string]func(string) []byte{
		"gzip":    compress(func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }),
		"deflate": compress(func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) }),
		"br":      compress(func(w io.Writer) io.WriteCloser { return brotli.NewWriter(w) }),
		"zstd": compress(func(w io.Writer) io.WriteCloser {
			z, _ := zstd.NewWriter(w, zstd.WithEncoderCRC(true)) // these options are valid
			return z
		}),
	}
	sent, got := `{"model":"m","messages":[`+hi+`]}`, `{"choices":[{"message":`+yo+`,"finish_reason":"stop"}]}`
	for encoding, encode := range encodings {
		for _, cut := range []int{0, 1, 4, 8} {
			for _, part := range []string{"request", "response", "refusal"} {
				x := over("POST", chatURL, sent, got)
				h, body := &x.Response.Header, &x.Response.Body
				switch part {
				case "request":
					h, body = &x.Request.Header, &x.Request.Body
				case "refusal":
					x.Response.Status = http.StatusBadRequest
				}
				if *h == nil {
					*h = http.Header{}
				}
				h.Set("Content-Encoding", encoding)
				*body = encode(string(*body))
				*body = (*body)[:len(*body)-cut]
				h.Del("Content-Length")
				for _, format := range convert.Formats() {
					file, _, err := convert.Write(format, recording.Metadata{}, []*recording.Interaction{x})
					if err != nil {
						continue // it refuses such bodies
					}
					var reports []string
					src, err := importer.Open("x", bytes.NewReader(file))
					if err != nil {
						t.Fatal(err)
					}
					for e, err := range src.Exchanges() {
						if err != nil {
							reports = append(reports, err.Error())
						}
						if e.Incomplete != nil {
							reports = append(reports, e.Incomplete.Error())
						}
					}
					want := "the body is truncated"
					if encoding == "zstd" { // whose decoder gives nothing of an incomplete block
						want = "content encoding"
					}
					if cut == 0 && reports != nil || cut > 0 && (len(reports) != 1 || !strings.Contains(reports[0], want)) {
						t.Errorf("%s, %s in %s without %d bytes: reported %q", part, encoding, format, cut, reports)
					}
				}
			}
		}
	}
}

// A body in Latin-1 is reported, although the file, which has it in base64, is UTF-8.
func TestBodyInLatin1IsReported(t *testing.T) {
	sent, got := `{"model":"m","messages":[`+hi+`]}`, `{"choices":[{"message":`+yo+`,"finish_reason":"stop"}]}`
	for name, x := range map[string]*recording.Interaction{
		"request":  over("POST", chatURL, strings.Replace(sent, "hi", "h\xe9", 1), got),
		"response": over("POST", chatURL, sent, strings.Replace(got, "yo", "y\xe9", 1)),
		"Cohere":   over("POST", "https://api.cohere.com/v2/chat", strings.Replace(sent, "hi", "h\xe9", 1), got),
	} {
		file, _, err := convert.Write(convert.VCRPy, recording.Metadata{}, []*recording.Interaction{x})
		if err != nil {
			t.Fatal(err)
		}
		src, err := importer.Open("x", bytes.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		for e, err := range src.Exchanges() {
			if err == nil {
				err = e.Incomplete
			}
			if err == nil || !strings.Contains(err.Error(), "not UTF-8") {
				t.Errorf("%s: error %v", name, err)
			}
		}
	}
}
