package match

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
)

// readable are the supported content encodings.
var readable = []string{"gzip", "deflate", "identity"}

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
	again    func(io.Writer) compressor // nil if the body was not decoded
	Complete bool                       // the body is not truncated
	// Problem is the reason why the body was not decoded. It is empty if the body was
	// decoded or has no encoding.
	Problem string
}

const otherEncoding = "the body is in another one"

// maxDecoded limits the size of a decoded body: a small body can decompress to any size.
const maxDecoded = 32 << 20

type compressor interface {
	io.WriteCloser
	Flush() error
}

// Decode decodes the Content-Encoding of a body, up to its end if it is truncated. It
// leaves the body unchanged if the encoding is unknown or wrong, or if the result exceeds
// mostPlain bytes.
func Decode(h http.Header, body []byte) Decoded {
	plain := Decoded{Original: body, Plain: body}
	if len(body) == 0 {
		return plain
	}
	from := bytes.NewReader(body)
	switch ContentEncoding(h) {
	case "":
	case "gzip", "x-gzip":
		if r, err := gzip.NewReader(from); err == nil {
			r.Multistream(false)
			return plain.undone(&members{r, from}, from, func(w io.Writer) compressor { return gzip.NewWriter(w) })
		}
		plain.Problem = otherEncoding
	case "deflate": // RFC 9110 means zlib; some servers send raw deflate
		if r, err := zlib.NewReader(from); err == nil {
			return plain.undone(r, from, func(w io.Writer) compressor { return zlib.NewWriter(w) })
		}
		from.Reset(body)
		return plain.undone(flate.NewReader(from), from, func(w io.Writer) compressor {
			z, _ := flate.NewWriter(w, flate.DefaultCompression) // this level is valid
			return z
		})
	default:
		plain.Problem = "have it sent in " + strings.Join(readable, " or ")
	}
	return plain
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

func (c Decoded) undone(r io.Reader, from *bytes.Reader, again func(io.Writer) compressor) Decoded {
	plain, err := io.ReadAll(io.LimitReader(r, maxDecoded+1))
	switch {
	case err != nil && len(plain) == 0:
		c.Problem = otherEncoding
	case len(plain) > maxDecoded:
		c.Problem = fmt.Sprintf("it has more than %d MiB", maxDecoded>>20)
	case err == nil && from.Len() > 0, err != nil && !errors.Is(err, io.ErrUnexpectedEOF):
		c.Problem = errTrailing.Error()
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
	var out bytes.Buffer
	z := c.again(&out)
	_, _ = z.Write(plain) // a buffer accepts all bytes
	if !c.Complete {
		_ = z.Flush() // the same
		return out.Bytes()
	}
	_ = z.Close() // the same
	return out.Bytes()
}
