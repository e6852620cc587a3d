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

// readable are the encodings that can be undone.
var readable = []string{"gzip", "deflate", "identity"}

// askReadable cuts what a client accepts to what can be undone, so that the answer can
// be looked into.
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

// coded is a body whose Content-Encoding is undone.
type Decoded struct {
	Original []byte // as it was sent
	Plain    []byte
	again    func(io.Writer) compressor // nil if nothing was undone
	Complete bool                       // it was not cut
	// left says why an encoding was not undone; it is empty if it was, or if there is none.
	Problem string
}

// otherEncoding says that an encoding is not what the header says.
const otherEncoding = "the body is in another one"

// mostPlain is how many bytes a body has at most whose encoding is undone: a small one
// may hold so many that no memory is enough.
const mostPlain = 32 << 20

// compressor is what gzip, zlib and flate have in common.
type compressor interface {
	io.WriteCloser
	Flush() error
}

// decode undoes the Content-Encoding of a body as far as the body goes. A body whose
// encoding is not known, or is not what is said, or that has more than mostPlain bytes,
// is left as it is.
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
	case "deflate": // RFC 9110 means zlib; some send it bare
		if r, err := zlib.NewReader(from); err == nil {
			return plain.undone(r, from, func(w io.Writer) compressor { return zlib.NewWriter(w) })
		}
		from.Reset(body)
		return plain.undone(flate.NewReader(from), from, func(w io.Writer) compressor {
			z, _ := flate.NewWriter(w, flate.DefaultCompression) // it knows this level
			return z
		})
	default:
		plain.Problem = "have it sent in " + strings.Join(readable, " or ")
	}
	return plain
}

// members reads all members of gzip. What is behind one has to begin as another one.
type members struct {
	*gzip.Reader
	from *bytes.Reader
}

// errBehind says that something else is behind the end of what is encoded.
var errBehind = errors.New("something else is in it, or behind it")

func (m *members) Read(p []byte) (int, error) {
	n, err := m.Reader.Read(p)
	if !errors.Is(err, io.EOF) || m.from.Len() == 0 {
		return n, err
	}
	if m.Reset(m.from) != nil {
		return n, errBehind
	}
	m.Multistream(false)
	return n, nil
}

// encodingOf is the Content-Encoding in a header, which may be in several lines; identity
// is none.
func ContentEncoding(h http.Header) string {
	values := HeaderValues(h, "Content-Encoding")
	if len(values) == 0 {
		return ""
	}
	words := strings.FieldsFunc(strings.ToLower(strings.Join(values, ",")), func(r rune) bool { return r == ',' || r == ' ' })
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "identity" }), ", ")
}

// valuesOf are the values of a header, whose name may be in lower case: Get finds it only
// as HTTP/1.1 writes it.
func HeaderValues(h http.Header, name string) []string {
	if values, ok := h[name]; ok {
		return values
	}
	return h[strings.ToLower(name)]
}

// undone is the body that a reader makes of an encoded one, which it reads from.
func (c Decoded) undone(r io.Reader, from *bytes.Reader, again func(io.Writer) compressor) Decoded {
	plain, err := io.ReadAll(io.LimitReader(r, mostPlain+1))
	switch {
	case err != nil && len(plain) == 0:
		c.Problem = otherEncoding
	case len(plain) > mostPlain:
		c.Problem = fmt.Sprintf("it has more than %d MiB", mostPlain>>20)
	case err == nil && from.Len() > 0, err != nil && !errors.Is(err, io.ErrUnexpectedEOF):
		c.Problem = errBehind.Error()
	default:
		return Decoded{Original: c.Original, Plain: plain, again: again, Complete: err == nil}
	}
	return c
}

// encode is the body with the Content-Encoding for what it says now. What was cut is
// cut again.
func (c Decoded) Encode(plain []byte) []byte {
	switch {
	case bytes.Equal(plain, c.Plain):
		return c.Original
	case c.again == nil:
		return plain
	}
	var out bytes.Buffer
	z := c.again(&out)
	_, _ = z.Write(plain) // a buffer takes everything
	if !c.Complete {
		_ = z.Flush() // the same
		return out.Bytes()
	}
	_ = z.Close() // the same
	return out.Bytes()
}
