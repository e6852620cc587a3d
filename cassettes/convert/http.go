package convert

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/looptape/looptape/cassettes/internal/tape"
	"github.com/looptape/looptape/cassettes/recording"
)

// Defaults for data that a format omits.
const (
	defaultMethod = http.MethodGet
	defaultProto  = "HTTP/1.1"
)

// finish completes an interaction or reports why it is invalid.
func finish(x *recording.Interaction) error {
	if x.Request.Method == "" {
		x.Request.Method = defaultMethod
	}
	if !isToken(x.Request.Method) {
		return fmt.Errorf("%q is not a method such as POST", x.Request.Method)
	}
	u, err := url.Parse(x.Request.URL)
	if err != nil || u.Host == "" {
		return fmt.Errorf("%q is not a URL such as https://example.com/v1", x.Request.URL)
	}
	x.Request.URL = tape.WrittenURL(x.Request.URL)
	for _, h := range []http.Header{x.Request.Header, x.Request.Trailer, x.Response.Header, x.Response.Trailer} {
		for _, name := range slices.Sorted(maps.Keys(h)) {
			if !isToken(name) {
				return fmt.Errorf("%q is not the name of a header", name)
			}
		}
	}
	return finishResponse(&x.Response)
}

func finishResponse(r *recording.Response) error {
	r.Wait = max(r.Wait, 0)
	if r.Termination == recording.Failed {
		return nil
	}
	if r.Status < 100 || r.Status > 999 {
		return fmt.Errorf("the status of the response is %d, and has to be from 100 to 999", r.Status)
	}
	if strings.ContainsFunc(r.Reason, unicode.IsControl) {
		return fmt.Errorf("%q is not a reason phrase", r.Reason)
	}
	if r.Reason = strings.TrimSpace(r.Reason); r.Reason == http.StatusText(r.Status) {
		r.Reason = ""
	}
	if _, _, ok := http.ParseHTTPVersion(r.Proto); !ok {
		r.Proto = defaultProto
	}
	if tape.IsEvents(r.Header) {
		r.Chunks = tape.EventChunks(r.Body)
	}
	return nil
}

// isToken reports whether a word is a token (RFC 9110, 5.6.2).
func isToken(word string) bool {
	for _, c := range []byte(word) {
		if c >= utf8.RuneSelf || !unicode.IsLetter(rune(c)) && !unicode.IsDigit(rune(c)) && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return word != ""
}

// lengthUnknown reports whether the length was probably not declared, for formats without this
// information.
func lengthUnknown(r *recording.Response) bool {
	return len(r.Body) > 0 && r.Header.Get("Content-Length") == ""
}

// decoded removes the Content-Encoding of a body that is already decoded, as browsers save
// it.
func decoded(r *recording.Response) {
	gzip := bytes.HasPrefix(r.Body, []byte("\x1f\x8b"))
	switch encoding := strings.ToLower(r.Header.Get("Content-Encoding")); {
	case encoding == "", encoding == "identity", len(r.Body) == 0:
		return
	case encoding == "gzip" && gzip, encoding != "gzip" && !utf8.Valid(r.Body):
		return // still encoded
	}
	r.Header.Del("Content-Encoding")
	r.Header.Del("Content-Length")
	r.Uncompressed = true
}

// unframed removes headers of the connection.
func unframed(h http.Header) http.Header {
	h.Del("Transfer-Encoding")
	return h
}

func recordedAt(list []*recording.Interaction) time.Time {
	for _, x := range list {
		if t, err := http.ParseTime(x.Response.Header.Get("Date")); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}
