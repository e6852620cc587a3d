package cassettes

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"io"
	"net/http"
	"strings"
)

// coded is a body whose Content-Encoding is undone.
type coded struct {
	body  []byte // as it was sent
	plain []byte
	again func(io.Writer) compressor // nil if there is nothing to undo
	whole bool                       // it was not cut
}

// compressor is what gzip, zlib and flate have in common.
type compressor interface {
	io.WriteCloser
	Flush() error
}

// decode undoes the Content-Encoding of a body as far as the body goes. A body whose
// encoding is not known, or is not what is said, is left as it is.
func decode(h http.Header, body []byte) coded {
	plain := coded{body: body, plain: body}
	switch strings.ToLower(h.Get("Content-Encoding")) {
	case "gzip", "x-gzip":
		if r, err := gzip.NewReader(bytes.NewReader(body)); err == nil {
			return plain.undone(r, func(w io.Writer) compressor { return gzip.NewWriter(w) })
		}
	case "deflate": // RFC 9110 means zlib; some send it bare
		if r, err := zlib.NewReader(bytes.NewReader(body)); err == nil {
			return plain.undone(r, func(w io.Writer) compressor { return zlib.NewWriter(w) })
		}
		return plain.undone(flate.NewReader(bytes.NewReader(body)), func(w io.Writer) compressor {
			z, _ := flate.NewWriter(w, flate.DefaultCompression) // it knows this level
			return z
		})
	}
	return plain
}

// undone is the body that a reader makes of an encoded one.
func (c coded) undone(r io.Reader, again func(io.Writer) compressor) coded {
	plain, err := io.ReadAll(r)
	if err != nil && len(plain) == 0 && len(c.body) > 0 {
		return c
	}
	return coded{body: c.body, plain: plain, again: again, whole: err == nil}
}

// encode is the body with the Content-Encoding for what it says now. What was cut is
// cut again.
func (c coded) encode(plain []byte) []byte {
	switch {
	case bytes.Equal(plain, c.plain):
		return c.body
	case c.again == nil:
		return plain
	}
	var out bytes.Buffer
	z := c.again(&out)
	_, _ = z.Write(plain) // a buffer takes everything
	if !c.whole {
		_ = z.Flush() // the same
		return out.Bytes()
	}
	_ = z.Close() // the same
	return out.Bytes()
}
