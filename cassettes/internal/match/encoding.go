package match

import (
	"bytes"
	"cmp"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"github.com/looptape/looptape/internal/decompress"
)

// readable are the supported content encodings (RFC 9110, 8.4.1; RFC 7932; RFC 8878).
var readable = []string{"gzip", "deflate", "br", "zstd", "identity"}

// AskReadable removes encodings that cannot be decoded from Accept-Encoding, so that the
// response can be examined.
func AskReadable(h http.Header) {
	const name = "Accept-Encoding"
	if h[name] == nil {
		return
	}
	var asked []string
	for word := range strings.SplitSeq(strings.Join(h[name], ","), ",") {
		encoding, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(word)), ";")
		if slices.Contains(readable, strings.TrimSpace(encoding)) {
			asked = append(asked, strings.TrimSpace(word))
		}
	}
	if asked == nil {
		asked = []string{"identity"}
	}
	h.Set(name, strings.Join(asked, ", "))
}

// Decoded is a body with and without its Content-Encoding.
type Decoded struct {
	Original []byte // as it was sent
	Plain    []byte
	again    encoder // nil if the body was not decoded
	Complete bool    // the body is not truncated
	// Problem is the reason why the body was not decoded. It is empty if the body was
	// decoded or has no encoding.
	Problem string
}

// problemOf describes the error for a body of which nothing can be decoded.
func problemOf(err error) string {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return "the body is truncated"
	}
	return "invalid data: " + err.Error()
}

// maxDecoded limits the size of a decoded body: a small body can decompress to any size.
const maxDecoded = 32 << 20

// Decode decodes the Content-Encoding of a body, up to its end if it is truncated. It
// leaves the body unchanged if the encoding is unknown or wrong, or if the result exceeds
// maxDecoded bytes.
func Decode(h http.Header, body []byte) Decoded {
	plain := Decoded{Original: body, Plain: body}
	encoding := ContentEncoding(h)
	if len(body) == 0 || encoding == "" {
		return plain
	}
	c, ok := codings[encoding]
	if !ok {
		plain.Problem = "unknown encoding: want " + strings.Join(readable[:len(readable)-1], ", ") + " or " + readable[len(readable)-1]
		return plain
	}
	for _, form := range c {
		from := bytes.NewReader(body)
		r, err := form.open(from)
		if err == nil {
			return plain.undone(r, from, form.again)
		}
		plain.Problem = problemOf(err)
	}
	return plain
}

// codingForm is a form of a content encoding.
type codingForm struct {
	open  func(*bytes.Reader) (io.Reader, error)
	again encoder
}

// codings are the forms of each content encoding. RFC 9110 means zlib by deflate; some servers
// send raw deflate.
var codings = map[string][]codingForm{
	"gzip": gzipForms, "x-gzip": gzipForms,
	"deflate": {
		{func(r *bytes.Reader) (io.Reader, error) { return zlib.NewReader(r) }, deflated(func(w io.Writer) compressor { return zlib.NewWriter(w) })},
		{func(r *bytes.Reader) (io.Reader, error) { return flate.NewReader(r), nil }, deflated(func(w io.Writer) compressor {
			z, _ := flate.NewWriter(w, flate.DefaultCompression) // this level is valid
			return z
		})},
	},
	"br":   {{func(r *bytes.Reader) (io.Reader, error) { return newBrotliReader(r), nil }, storedBrotli.encode}},
	"zstd": {{func(r *bytes.Reader) (io.Reader, error) { return zstd.NewReader(r, decompress.ZstdOptions...) }, storedZstd.encode}},
}

var gzipForms = []codingForm{{
	func(from *bytes.Reader) (io.Reader, error) {
		r, err := gzip.NewReader(from)
		if err != nil {
			return nil, err
		}
		r.Multistream(false)
		return &members{r, from}, nil
	},
	deflated(func(w io.Writer) compressor { return gzip.NewWriter(w) }),
}}

// brotliReader returns io.ErrUnexpectedEOF for a truncated stream, for which [brotli.Reader]
// may return io.EOF. A byte after the body distinguishes them: only a complete stream leaves it
// unread.
type brotliReader struct {
	*brotli.Reader
	after *bytes.Reader
}

func newBrotliReader(from io.Reader) *brotliReader {
	after := bytes.NewReader(make([]byte, 1))
	return &brotliReader{brotli.NewReader(io.MultiReader(from, after)), after}
}

func (r *brotliReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	switch {
	case r.after.Len() > 0:
		return n, err
	case n == 0 && err != nil && err.Error() == "brotli: excessive input":
		return 0, io.EOF
	}
	return 0, io.ErrUnexpectedEOF
}

// members reads all members of a gzip stream. Anything else after a member is an error.
type members struct {
	*gzip.Reader
	from *bytes.Reader
}

var errTrailing = errors.New("trailing data")

func (m *members) Read(p []byte) (int, error) {
	n, err := m.Reader.Read(p)
	if !errors.Is(err, io.EOF) || m.from.Len() == 0 {
		return n, err
	}
	if m.Reset(m.from) != nil {
		return n, errTrailing
	}
	m.Multistream(false)
	return n, nil
}

// ContentEncoding returns the encodings in a header, which may have several lines. It omits
// identity.
func ContentEncoding(h http.Header) string {
	values := HeaderValues(h, "Content-Encoding")
	if len(values) == 0 {
		return ""
	}
	words := strings.FieldsFunc(strings.ToLower(strings.Join(values, ",")), func(r rune) bool { return r == ',' || r == ' ' })
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "identity" }), ", ")
}

// HeaderValues returns the values of a header whose name may be in lower case.
func HeaderValues(h http.Header, name string) []string {
	if values, ok := h[name]; ok {
		return values
	}
	return h[strings.ToLower(name)]
}

func (c Decoded) undone(r io.Reader, from *bytes.Reader, again encoder) Decoded {
	plain, err := io.ReadAll(io.LimitReader(r, maxDecoded+1))
	switch {
	case err != nil && len(plain) == 0:
		c.Problem = problemOf(err)
	case len(plain) > maxDecoded:
		c.Problem = fmt.Sprintf("it has more than %d MiB", maxDecoded>>20)
	case err == nil && from.Len() > 0, err != nil && !errors.Is(err, io.ErrUnexpectedEOF):
		c.Problem = problemOf(cmp.Or(err, errTrailing))
	default:
		return Decoded{Original: c.Original, Plain: plain, again: again, Complete: err == nil}
	}
	return c
}

// Encode encodes a new body like the original. A truncated body becomes truncated again.
func (c Decoded) Encode(plain []byte) []byte {
	switch {
	case bytes.Equal(plain, c.Plain):
		return c.Original
	case c.again == nil:
		return plain
	}
	return c.again(plain, c.Complete)
}
