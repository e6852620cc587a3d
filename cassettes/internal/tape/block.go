package tape

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"hash/crc32"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/looptape/looptape/cassettes/recording"
	"github.com/looptape/looptape/internal/jsonio"
)

// The lines of an interaction, in this order:
//
//	=== NUMBER [@SESSION] METHOD URL -> STATUS WAIT    the session and the method as in a query
//	> NAME: VALUE            a header of the request; NAME:: BASE64 if it is not plain
//	>> NAME: VALUE           a trailer of the request
//	>
//	> …                      its body
//	< PROTO STATUS REASON
//	< NAME: VALUE            and so on, for the response
//	<< NAME: VALUE
//	<
//	< …
//	<! TERMINATION FAILURE   if the response is incomplete
//	--- > FORM LENGTH CRC < FORM LENGTH CRC [WORD…] metadata CRC key KEY [bare KEY]
//
// The words are chunked, uncompressed, and chunks with the parts of the response's
// body, if its form does not contain them. The metadata CRC is from metadataSum.

const headerReserve = 1 << 10

func appendInteraction(dst []byte, n int, x *recording.Interaction, key string) []byte {
	bodies := len(x.Request.Body) + len(x.Response.Body)
	dst = slices.Grow(dst, bodies+bodies/16+headerReserve) // the lines may be longer
	from := len(dst)
	dst, sent := appendStart(dst, n, x)
	got := formText
	if r := &x.Response; r.Status != 0 {
		dst, got = appendBody(dst, '<', r.Body, IsEvents(r.Header), r.Chunks)
	}
	dst = appendTermination(dst, &x.Response)
	return appendFooter(dst, &x.Response, metadataSum(dst[from:]), sent, infoOf(got, x.Response.Body), key)
}

// appendStart appends the lines before the body of the response, and describes the body of the request.
func appendStart(dst []byte, n int, x *recording.Interaction) (out []byte, sent bodyInfo) {
	dst = appendTitle(dst, n, x)
	dst = appendHeader(dst, ">", x.Request.Header, x.Request.Trailer)
	dst, form := appendBody(dst, '>', x.Request.Body, false, nil)
	if r := &x.Response; r.Status != 0 {
		dst = fmt.Appendf(dst, "< %s %d", r.Proto, r.Status)
		dst = append(appendText(dst, r.StatusText(), encodedReason), '\n')
		dst = appendHeader(dst, "<", r.Header, r.Trailer)
	}
	return dst, infoOf(form, x.Request.Body)
}

func appendTermination(dst []byte, r *recording.Response) []byte {
	if r.Termination == "" {
		return dst
	}
	dst = append(append(dst, terminationPrefix...), r.Termination...)
	if r.Failure != "" {
		dst = jsonio.AppendString(append(dst, ' '), r.Failure)
	}
	return append(dst, '\n')
}

func appendFooter(dst []byte, r *recording.Response, metadata uint32, sent, got bodyInfo, key string) []byte {
	dst = fmt.Appendf(dst, "--- > %s < %s", sent, got)
	if r.Chunked {
		dst = append(dst, " chunked"...)
	}
	if r.Uncompressed {
		dst = append(dst, " uncompressed"...)
	}
	if !got.form.isEvents() && len(r.Chunks) > 0 {
		dst = appendChunks(append(dst, " chunks "...), r.Chunks)
	}
	return fmt.Appendf(dst, " metadata %08x key %s\n", metadata, key)
}

// metadataSum returns the checksum of an interaction without its number, bodies, last line and
// line ends.
func metadataSum(text []byte) (sum uint32) {
	b := &block{rest: text}
	_, line, _ := bytes.Cut(b.next()[len("=== "):], []byte(" "))
	for {
		sum = crc32.Update(sum, castagnoli, line)
		if len(line) == 1 {
			b.lines(line[0]) // a body
		}
		if len(b.rest) == 0 || b.begins("--- ") {
			return sum
		}
		line = b.next()
	}
}

func appendTitle(dst []byte, n int, x *recording.Interaction) []byte {
	session, end := "", string(x.Response.Termination)
	if x.Session != "" {
		session = "@" + url.QueryEscape(x.Session) + " "
	}
	if x.Response.Status != 0 {
		end = strconv.Itoa(x.Response.Status)
	}
	method, to := url.QueryEscape(x.Request.Method), WrittenURL(x.Request.URL)
	return fmt.Appendf(dst, "=== %d %s%s %s -> %s %s\n", n, session, method, to, end, x.Response.Wait.Round(time.Millisecond))
}

// appendHeader appends a header, a trailer and the line that ends them.
func appendHeader(dst []byte, mark string, header, trailer http.Header) []byte {
	prefix := mark
	for _, h := range []http.Header{header, trailer} {
		for _, name := range slices.Sorted(maps.Keys(h)) {
			for _, v := range h[name] {
				dst = append(append(append(append(dst, prefix...), ' '), name...), ':')
				dst = append(appendText(dst, v, encodedValue), '\n')
			}
		}
		prefix += mark
	}
	return append(append(dst, mark...), '\n')
}

// The marks that precede a reason phrase and a header value in base64.
const (
	encodedReason = " :: "
	encodedValue  = ": "
)

// appendText appends a string after a space, or in base64 after a mark.
func appendText(dst []byte, text, mark string) []byte {
	switch {
	case text == "":
		return dst
	case isPlain(text) && !(mark[0] == ' ' && strings.HasPrefix(text, mark[1:])):
		return append(append(dst, ' '), text...)
	}
	return base64.StdEncoding.AppendEncode(append(dst, mark...), []byte(text))
}

// isPlain reports whether a header value needs no encoding.
func isPlain(v string) bool {
	control := func(c rune) bool { return c < ' ' || c == 0x7f }
	return !strings.ContainsFunc(v, control) && utf8.ValidString(v) && strings.TrimSpace(v) == v
}

// IsEvents reports whether a body with this header is a stream of server-sent events.
func IsEvents(h http.Header) bool {
	return strings.HasPrefix(strings.ToLower(h.Get("Content-Type")), "text/event-stream")
}

func appendChunks(dst []byte, chunks []recording.Chunk) []byte {
	var waits rounder
	for i, p := range chunks {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = fmt.Appendf(dst, "%d+%dms", p.Len, waits.next(p))
	}
	return dst
}

// Keys identify a redacted request.
type Keys struct {
	Exact uint64
	// Bare ignores differences between secrets. It is 0 if the request contains no secret.
	Bare uint64
	// Sent is the key of the exact bytes. It is 0 if missing.
	Sent uint64
}

const (
	bareWord = "bare"
	sentWord = "sent"
)

func keyText(k Keys) string {
	text := fmt.Sprintf("%016x", k.Exact)
	if k.Bare != 0 {
		text += fmt.Sprintf(" %s %016x", bareWord, k.Bare)
	}
	if k.Sent != 0 {
		text += fmt.Sprintf(" %s %016x", sentWord, k.Sent)
	}
	return text
}

// WrittenURL returns a URL as cassettes contain it: spaces and unprintable characters are
// percent-encoded.
func WrittenURL(text string) string {
	return escaped(text, func(r rune) bool { return r == ' ' || r == utf8.RuneError || !unicode.IsPrint(r) })
}

// EscapedURL returns a URL with all non-ASCII characters percent-encoded.
func EscapedURL(text string) string {
	return escaped(text, func(r rune) bool { return r <= ' ' || r >= 0x7f })
}

func escaped(text string, escape func(rune) bool) string {
	if strings.IndexFunc(text, escape) < 0 {
		return text
	}
	var out []byte
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		if escape(r) {
			for _, c := range []byte(text[:n]) {
				out = fmt.Appendf(out, "%%%02X", c)
			}
		} else {
			out = append(out, text[:n]...)
		}
		text = text[n:]
	}
	return string(out)
}
